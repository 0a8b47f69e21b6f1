from dataclasses import replace

from evalq.reports.final import render_plain, render_plain_strata
from evalq.results import BakeOffResult, PassK, Rate


def _rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines() if not line.startswith("#")]


def test_a_pipe_gets_tab_separated_rows_under_one_heading(result: BakeOffResult) -> None:
    heading, *rows = _rows(render_plain(result))
    assert heading[:3] == ["rank", "judge", "pass_pct"]
    assert [row[1] for row in rows] == [run.judge for run in result.runs]
    assert {len(row) for row in rows} == {len(heading)}


def test_rows_hold_plain_numbers(result: BakeOffResult) -> None:
    row = dict(zip(*[_rows(render_plain(result))[place] for place in (0, 3)], strict=True))
    assert (row["pass_pct"], row["delta_pp"], row["delta_low"], row["n"]) == ("60.2", "-22.6", "-34.0", "93")


def test_an_excluded_judge_has_a_reason_and_no_rate(result: BakeOffResult) -> None:
    row = _rows(render_plain(result))[-1]
    assert row[0] == "-"
    assert row[2:5] == ["-", "-", "-"]
    assert row[-3:] == ["93/93 empty outputs", "900", "142/gemini-2.5-flash"]


def test_remarks_are_comments_in_ascii(result: BakeOffResult) -> None:
    remarks = [line.split("\t")[0] for line in render_plain(result).splitlines() if line.startswith("#")]
    assert remarks == ["# tie", "# kappa", "# cost", "# warning", "# next", "# next", "# next"]
    assert render_plain(result).isascii()


def test_interim_numbers_are_labelled(result: BakeOffResult) -> None:
    assert "# interim\tINTERIM 465 of 465 jobs done, paused" in render_plain(replace(result, state="paused"))


def test_metrics_are_shares_with_interval_and_n(result: BakeOffResult) -> None:
    metrics = {"mrr": Rate(93, 0.7123, 0.61, 0.79), "hit_at_1": Rate(0, None, None, None)}
    runs = (replace(result.runs[0], metrics=metrics, p95_latency_ms=None), *result.runs[1:])
    output = render_plain(replace(result, runs=runs))
    assert "# metric\tgrok-4.3\tmrr\t0.712\t0.610\t0.790\t93" in output
    assert "# metric\tgrok-4.3\thit_at_1\t-\t-\t-\t0" in output


def test_a_name_cannot_shift_columns_or_move_the_cursor(
    hostile: str, forbidden: frozenset[str], result: BakeOffResult
) -> None:
    runs = (replace(result.runs[0], judge=f"a\tb\nc{hostile}"), *result.runs[1:])
    output = render_plain(replace(result, runs=runs))
    assert not set(output) & forbidden
    assert {len(row) for row in _rows(output)} == {18}


def test_strata_are_one_row_each(result: BakeOffResult) -> None:
    heading, *rows = _rows(render_plain_strata(result))
    assert heading == ["judge", "stratum", "pass_pct", "ci_low", "ci_high", "n", "method", "few"]
    assert rows[0][3:] == ["60.0", "99.0", "18", "wilson", "-"]
    assert rows[1][-3:] == ["7", "wilson", "few"]
    assert rows[2] == ["grok-4.3", "negative_DE", "-", "-", "-", "0", "wilson", "few"]


def test_strata_end_with_micro_and_macro(result: BakeOffResult) -> None:
    macro = Rate(93, 0.8, 0.7, 0.9, "wilson_stratified")
    rows = _rows(render_plain_strata(replace(result, runs=(replace(result.runs[0], macro=macro),))))
    assert rows[-2] == ["grok-4.3", "(micro)", "82.8", "73.9", "89.1", "93", "wilson", "-"]
    assert rows[-1] == ["grok-4.3", "(macro)", "80.0", "70.0", "90.0", "93", "wilson_stratified", "-"]


def test_a_lead_has_its_adjusted_p_and_its_n(result: BakeOffResult) -> None:
    row = dict(zip(*[_rows(render_plain(result))[place] for place in (0, 3)], strict=True))
    assert (row["ci_method"], row["delta_p_holm"], row["delta_n"]) == ("wilson", "0.0003", "93")


def test_every_k_of_several_samples_is_a_comment(result: BakeOffResult) -> None:
    entries = (
        PassK(1, 0.9, 0.9, 0.8, 93, 0, (0.8, 0.95), (0.8, 0.95), (0.7, 0.9)),
        PassK(3, None, None, None, 0, 93),
    )
    output = render_plain(replace(result, runs=(replace(result.runs[0], pass_k=entries),)))
    numbers = "0.900\t0.800\t0.950\t0.800\t0.700\t0.900\t0.900\t0.800\t0.950"
    assert f"# pass_k\tgrok-4.3\t1\t{numbers}\t93\t0" in output
    assert "# pass_k\tgrok-4.3\t3\t-\t-\t-\t-\t-\t-\t-\t-\t-\t0\t93" in output
