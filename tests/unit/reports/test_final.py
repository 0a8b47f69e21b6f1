from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from evalq.reports.final import render_final, render_plain, render_strata
from evalq.results import Agreement, BakeOffResult, Comparison, Decision, PassK, Rate

Show = Callable[..., str]


def _final(result: BakeOffResult, show: Show, width: int = 100, **options: Any) -> str:
    return show(render_final(result, width=width, **options), width)


def _line(text: str, *words: str) -> str:
    return next(line for line in text.splitlines() if all(word in line for word in words))


def _with_run(result: BakeOffResult, place: int, **changes: Any) -> BakeOffResult:
    runs = list(result.runs)
    runs[place] = replace(runs[place], **changes)
    return replace(result, runs=tuple(runs))


def test_a_row_has_rank_rate_interval_cost_latency_and_n(result: BakeOffResult, show: Show) -> None:
    row = _line(_final(result, show), "1 ", "grok-4.3")
    assert row.split()[:3] == ["1", "grok-4.3", "82.8%"]
    assert "●" in row
    assert row.split()[-5:] == ["74–89", "—", "0.0021", "1.84s", "93"]


def test_a_difference_to_the_first_has_the_same_sign_whichever_way_it_is_stored(
    result: BakeOffResult, show: Show
) -> None:
    output = _final(result, show)
    assert "−23 pp [−34, −13]" in _line(output, "3   sonnet-4.6")
    assert "−29 pp [−41, −19]" in _line(output, "4   gpt-5.4-mini")


def test_a_tie_is_called_a_tie(result: BakeOffResult, show: Show) -> None:
    output = _final(result, show)
    assert "cannot separate grok-4.3 from opus-4.7 at n=93" in output
    assert output.count("cannot separate") == 1


def test_a_tie_says_how_many_cases_would_settle_it(result: BakeOffResult, show: Show) -> None:
    pair = replace(result.comparisons[0], cases_needed=410)
    output = _final(replace(result, comparisons=(pair,)), show)
    expected = "cannot separate grok-4.3 from opus-4.7 at n=93, needs about 410 cases for this difference"
    assert expected in output


def test_judges_without_a_difference_are_not_promised_one(result: BakeOffResult, show: Show) -> None:
    pair = replace(result.comparisons[0], diff=0.0)
    output = " ".join(_final(replace(result, comparisons=(pair,)), show, 140).split())
    assert "opus-4.7 at n=93, no number of cases would separate them at this difference" in output


def test_many_ties_are_named_in_one_line_after_the_first(result: BakeOffResult, show: Show) -> None:
    runs = [replace(result.runs[0], judge=f"j{at}") for at in range(9)]
    pairs = [replace(result.comparisons[0], a="j0", b=f"j{at}", cases_needed=100 + at) for at in range(1, 9)]
    output = _final(replace(result, runs=tuple(runs), comparisons=tuple(pairs)), show)
    assert output.count("cannot separate") == 6
    assert "nor from j7, j8" in output


def test_a_wide_terminal_shows_the_adjusted_p(result: BakeOffResult, show: Show) -> None:
    output = _final(result, show, 120)
    assert "p (Holm)" in output
    assert "<0.001" in _line(output, "3   sonnet-4.6")
    assert "0.500" in _line(output, "2   opus-4.7")
    assert "p (Holm)" not in _final(result, show, 110)


def test_the_cases_both_answered_are_counted_where_they_are_not_all(
    result: BakeOffResult, show: Show
) -> None:
    pair = replace(result.comparisons[0], n=90)
    output = _final(replace(result, comparisons=(pair,)), show, 110)
    assert "−3 pp [−11, +4] n=90" in _line(output, "2   opus-4.7")


def test_the_heading_names_how_the_intervals_were_made(result: BakeOffResult, show: Show) -> None:
    assert "llm_judge (sonnet-4.6) · 95% CI wilson" in _final(result, show)


def test_ties_on_different_numbers_of_cases_are_named_apart(result: BakeOffResult, show: Show) -> None:
    pairs = [
        Comparison("grok-4.3", other, n, 0.03, -0.1, 0.1, 1, 1, False)
        for other, n in (("opus-4.7", 93), ("sonnet-4.6", 90), ("gpt-5.4-mini", 93))
    ]
    output = _final(replace(result, comparisons=tuple(pairs)), show)
    assert "cannot separate grok-4.3 from opus-4.7, gpt-5.4-mini at n=93" in output
    assert "cannot separate grok-4.3 from sonnet-4.6 at n=90" in output


def test_an_excluded_judge_stands_apart_with_its_reason(result: BakeOffResult, show: Show) -> None:
    row = _line(_final(result, show), "gemini-2.5-flash")
    assert row.startswith("–")
    assert all(word in row for word in ("n/a", "93/93 empty outputs", "excluded"))


@pytest.mark.parametrize("width", [60, 80])
def test_a_reason_without_room_in_the_row_gets_a_line(result: BakeOffResult, show: Show, width: int) -> None:
    assert "gemini-2.5-flash excluded: 93/93 empty outputs" in _final(result, show, width)


def test_a_reason_that_a_warning_gives_is_not_said_twice(result: BakeOffResult, show: Show) -> None:
    warned = replace(result, warnings=("gemini-2.5-flash: 93/93 empty outputs",))
    assert _final(warned, show, 80).count("93/93 empty outputs") == 1


@pytest.mark.parametrize("width", [30, 45, 60, 80, 100, 140])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_judge_row_never_wraps(result: BakeOffResult, show: Show, width: int, ascii_only: bool) -> None:
    longer = _with_run(result, 1, judge="claude-opus-4-7-20260931-thinking-high-effort-eu")
    output = _final(longer, show, width, ascii_only=ascii_only)
    table = output.split("\n\n")[1].splitlines()
    assert len(table) == 2 + len(result.runs)
    assert all(len(line) <= width for line in output.splitlines())
    assert all(line.split()[-1].isdigit() for line in table[2:])


def test_columns_leave_as_the_terminal_narrows_but_the_interval_stays(
    result: BakeOffResult, show: Show
) -> None:
    wide, middle, narrow = (_final(result, show, width) for width in (100, 99, 79))
    assert "●" in wide
    assert "●" not in middle
    assert "p95" in middle
    assert "p95" not in narrow
    assert all("74–89" in output for output in (wide, middle, narrow, _final(result, show, 45)))


def test_ascii_output_has_no_sign_outside_ascii(result: BakeOffResult, show: Show) -> None:
    output = _final(result, show, ascii_only=True)
    assert output.isascii()
    assert "--o-" in output


def test_colours_are_only_an_addition(result: BakeOffResult, show: Show) -> None:
    coloured = show(render_final(result, width=100), 100, colours=True)
    assert "\x1b[" in coloured
    assert "cannot separate" in coloured


def test_the_closest_pair_is_named_with_its_flag(result: BakeOffResult, show: Show) -> None:
    line = _line(_final(result, show), "κ", "highest")
    assert "sonnet-4.6 ↔ opus-4.7 0.66" in line
    assert "same provider, do not count as two votes" in line


def test_other_flagged_pairs_follow_and_a_long_list_is_counted(result: BakeOffResult, show: Show) -> None:
    pairs = [Agreement("a", f"b{i}", 93, i / 10, None, False, "same_provider") for i in range(6)]
    output = _final(replace(result, kappa=tuple(pairs)), show)
    assert "highest a ↔ b5 0.50, n=93" in output
    assert "a ↔ b4 0.40" in output
    assert "a ↔ b1 0.10" not in output
    assert "and 2 more pairs with a flag" in output


def test_agreement_with_a_constant_rater_is_not_available(result: BakeOffResult, show: Show) -> None:
    constant = _with_run(result, 3, n_pass=93, n_fail=0)
    pairs = (
        Agreement("grok-4.3", "gpt-5.4-mini", 93, None, None, True),
        Agreement("grok-4.3", "opus-4.7", 4, None, None, True),
    )
    output = _final(replace(constant, kappa=pairs), show)
    assert "n/a (constant) for gpt-5.4-mini, grok-4.3 ↔ opus-4.7" in output
    assert "highest" not in output


def test_an_unknown_flag_is_shown_as_it_is(result: BakeOffResult, show: Show) -> None:
    pair = Agreement("a", "b", 9, 0.5, 0.5, False, "few_cases")
    assert "(few cases)" in _final(replace(result, kappa=(pair,)), show)


def test_the_cost_line_splits_the_money_and_dates_the_prices(result: BakeOffResult, show: Show) -> None:
    expected = "0.97 of 5.00 cap: judging 0.74, scoring 0.23, cache saved 0.41   prices 2026-11-01"
    assert expected in _line(_final(result, show), "$ ", "cap")


def test_money_held_for_calls_without_an_answer_is_shown(result: BakeOffResult, show: Show) -> None:
    held = replace(result, spent_usd=Decimal("1.00"), prices_as_of=None)
    output = _final(held, show)
    assert "unsettled 0.03" in output
    assert "prices" not in output


def test_answers_without_a_verdict_are_counted_by_kind(result: BakeOffResult, show: Show) -> None:
    errors = {"malformed": 1, "call_permanent": 1, "refused": 2}
    output = _final(_with_run(result, 0, n_error=4, errors=errors), show)
    assert "grok-4.3: 4 not graded: 2 refused, 1 call permanent, 1 malformed" in output
    assert "grok-4.3: 4 not graded\n" in _squeezed(_final(_with_run(result, 0, n_error=4), show))


def _squeezed(output: str) -> str:
    return "\n".join(line.rstrip() for line in output.splitlines())


def test_warnings_runs_and_next_commands_follow_the_ranking(result: BakeOffResult, show: Show) -> None:
    *_, warning, names, more_names, commands = _final(result, show).splitlines()
    assert warning.split() == ["!", "1", "judge", "incomplete:", "exit", "3"]
    assert names.startswith("#     runs 142/grok-4.3 = 977, 142/opus-4.7 = 974, ")
    assert more_names.strip().endswith("142/gemini-2.5-flash = 900")
    assert commands.startswith("next  evalq inspect 142 --disagreements   evalq report 142 --html")


def test_the_report_ends_with_the_decision_and_its_caveats(result: BakeOffResult, show: Show) -> None:
    decision = Decision("ship", "grok-4.3", "Ship grok-4.3: it is best.", ("few cases: n=9", "dev set"))
    decided = replace(result, decision=decision)
    assert _final(decided, show, 80).splitlines()[-3:] == [
        "",
        "Ship grok-4.3: it is best.",
        "Mind: few cases: n=9; dev set.",
    ]
    assert render_plain(decided).splitlines()[-2:] == [
        "# decision\tShip grok-4.3: it is best.",
        "# caveat\tMind: few cases: n=9; dev set.",
    ]


def test_a_hostile_name_in_the_decision_is_cleaned(
    hostile: str, forbidden: frozenset[str], result: BakeOffResult, show: Show
) -> None:
    decided = replace(result, decision=Decision("ship", hostile, f"Ship {hostile}.", (hostile,)))
    assert not set(_final(decided, show, 80)) & forbidden
    assert not set(render_plain(decided)) & forbidden


def test_commands_too_long_for_a_line_get_one_each(result: BakeOffResult, show: Show) -> None:
    lines = [line.strip() for line in _final(result, show, 60).splitlines()]
    assert lines[-2:] == ["evalq report 142 --html", "evalq resume 142"]


def test_nothing_to_type_means_no_next_line(result: BakeOffResult, show: Show) -> None:
    assert "next" not in _final(replace(result, next=()), show)


def test_numbers_that_may_still_change_are_labelled(result: BakeOffResult, show: Show) -> None:
    assert "INTERIM" not in _final(result, show)
    interim = replace(result, state="running", n_done=373)
    assert "INTERIM  373 of 465 jobs done, running" in _final(interim, show)


def test_a_judge_without_a_verdict_yet_has_no_rank(result: BakeOffResult, show: Show) -> None:
    nothing = {
        "accuracy": None,
        "ci_low": None,
        "ci_high": None,
        "n_pass": 0,
        "n_fail": 0,
        "p95_latency_ms": None,
    }
    row = _line(_final(_with_run(result, 2, **nothing), show), "sonnet-4.6", "n/a")
    assert row.split() == ["–", "sonnet-4.6", "n/a", "–", "–", "–", "–", "0"]
    assert "3   gpt-5.4-mini" in _final(_with_run(result, 2, **nothing), show)


def test_a_pair_without_common_cases_has_no_difference(result: BakeOffResult, show: Show) -> None:
    pair = Comparison("grok-4.3", "opus-4.7", 0, float("nan"), float("nan"), float("nan"), 1, 1, False)
    output = _final(replace(result, comparisons=(pair,)), show)
    assert "nan" not in output.replace("anthropic", "")


def test_a_bake_off_that_has_not_begun_still_renders(result: BakeOffResult, show: Show) -> None:
    empty = replace(result, runs=(), comparisons=(), kappa=(), grader=None)
    assert "knowledge_audit · dev-93 · llm_judge\n" in _final(empty, show)


def test_several_samples_are_named_and_priced_per_answer(result: BakeOffResult, show: Show) -> None:
    output = _final(replace(result, samples=3), show)
    assert "3 samples" in output
    assert "$/answer" in output


def test_metrics_have_their_own_table_with_interval_and_n(result: BakeOffResult, show: Show) -> None:
    metrics = {"hit_at_1": Rate(93, 0.71, 0.61, 0.79), "mrr": Rate(0, None, None, None)}
    output = _final(_with_run(result, 0, metrics=metrics), show)
    assert _line(output, "hit_at_1").split() == ["hit_at_1", "grok-4.3", "0.71", "0.61–0.79", "93"]
    assert _line(output, "mrr").split() == ["mrr", "grok-4.3", "n/a", "–", "0"]


def test_several_samples_have_pass_at_k_and_pass_hat_k_with_interval_and_n(
    result: BakeOffResult, show: Show
) -> None:
    ends = (0.8, 0.95)
    last = PassK(3, 0.9, 0.62, 0.6, 90, 3, ends, (0.52, 0.72), (0.5, 0.7))
    none = PassK(3, None, None, None, 0, 93)
    runs = (replace(result.runs[0], pass_k=(last,)), replace(result.runs[1], pass_k=(none,)))
    output = _final(replace(result, samples=3, runs=runs), show)
    assert _line(output, "pass@3", "grok").split()[1:] == [
        "grok-4.3",
        "0.90",
        "0.80–0.95",
        "90",
        "(3",
        "skipped)",
    ]
    assert _line(output, "pass^3 ", "grok").split()[2:4] == ["0.60", "0.50–0.70"]
    assert _line(output, "pass^3 plain", "grok").split()[3:5] == ["0.62", "0.52–0.72"]
    assert _line(output, "pass@3", "opus").split()[2:5] == ["n/a", "–", "0"]


def test_hostile_names_and_warnings_reach_the_terminal_as_letters(
    hostile: str, forbidden: frozenset[str], result: BakeOffResult, show: Show
) -> None:
    hostile = replace(
        _with_run(result, 0, judge=hostile, errors={hostile: 2}, n_error=2),
        task=hostile,
        warnings=(hostile,),
        next=(hostile,),
    )
    output = _final(hostile, show, 140)
    assert not set(output) & forbidden
    assert "[bold]x[/bold]" in output


def test_strata_show_rate_and_n_and_mark_small_cells(result: BakeOffResult, show: Show) -> None:
    output = show(render_strata(result, width=140), 140)
    cells = ["83", "[60–99]", "18", "77", "[20–90]", "7!", "n/a", "83", "[74–89]", "93", "n/a"]
    assert _line(output, "grok-4.3").split() == ["grok-4.3", *cells]
    assert "gemini" not in output
    assert "n under 10: do not read" in output


def test_strata_that_do_not_fit_side_by_side_follow_in_blocks(result: BakeOffResult, show: Show) -> None:
    output = show(render_strata(result, width=60), 60)
    assert output.count("opus-4.7") == 2
    assert all(name in output for name in ("positive_explicit_EN", "positive_subtle_VN", "negative_DE"))


def test_a_judge_without_a_stratum_shows_nothing_there(result: BakeOffResult, show: Show) -> None:
    output = show(
        render_strata(_with_run(result, 0, per_stratum={"EN": Rate(20, 0.5, 0.3, 0.7)}), width=140), 140
    )
    cells = ["50", "[30–70]", "20", "n/a", "n/a", "n/a", "83", "[74–89]", "93", "n/a"]
    assert _line(output, "grok-4.3").split() == ["grok-4.3", *cells]


def test_strata_end_with_the_mean_over_cases_and_the_mean_over_strata(
    result: BakeOffResult, show: Show
) -> None:
    macro = Rate(91, 0.8, 0.7, 0.9, "wilson_stratified")
    output = show(render_strata(_with_run(result, 0, macro=macro), width=140), 140)
    assert _line(output, "judge").split()[-2:] == ["micro", "macro"]
    assert _line(output, "grok-4.3").split()[-6:] == ["83", "[74–89]", "91", "80", "[70–90]", "91"]


def test_an_evalset_without_strata_says_so(result: BakeOffResult, show: Show) -> None:
    assert "no strata" in show(render_strata(replace(result, runs=()), width=80))
