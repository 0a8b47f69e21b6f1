"""Runs somebody names: found, set against each other, and their agreement kept where fsck accepts it."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from evalq.bakeoff.conclude import conclude, result_of
from evalq.bakeoff.fsck import check
from evalq.bakeoff.runs import agreement_of, change_between, find_runs, label_runs, past_runs
from evalq.definitions.judge import SimulatedJudge
from evalq.errors import InputError
from evalq.records import Verdict
from evalq.store.database import Database
from evalq.summary.power import spreads

Sql = Callable[..., list[tuple[Any, ...]]]
Ids = Callable[[int], list[int]]
Bake = Callable[..., int]

VERDICTS: dict[str, Verdict] = {"p": "passed", "f": "failed", "e": "errored"}


@pytest.fixture
def bake(
    db: Database,
    sql: Sql,
    record: Callable[..., int],
    judge: Callable[..., SimulatedJudge],
    run_ids: Ids,
    end_job: Callable[[int, Verdict], None],
) -> Bake:
    """Records a bake-off of judges with these verdicts, a letter a case, and concludes it."""

    def run(is_concluded: bool = True, samples: int = 1, **verdicts: str) -> int:
        (n_cases,) = {len(letters) // samples for letters in verdicts.values()}
        bakeoff_id = record(n_cases, [judge(name) for name in verdicts], samples=samples)
        jobs = "SELECT j.id, r.judge FROM jobs j JOIN runs r ON r.id = j.run_id"
        rows = sql(f"{jobs} WHERE j.bakeoff_id = %s ORDER BY r.id, j.case_id, j.sample", bakeoff_id)
        left = {name: list(letters) for name, letters in verdicts.items()}
        for job_id, name in rows:
            end_job(job_id, VERDICTS[left[name].pop(0)])
        for run_id in run_ids(bakeoff_id) if is_concluded else ():
            conclude(db, run_id)
        return bakeoff_id

    return run


def kept(sql: Sql) -> list[tuple[Any, ...]]:
    return sql("SELECT eval_run_id_a, eval_run_id_b, kappa::float, n FROM eval_kappa ORDER BY 1, 2")


def problems_of(call: Callable[[], object]) -> Sequence[str]:
    with pytest.raises(InputError) as caught:
        call()
    return [str(problem) for problem in caught.value.problems]


def test_runs_are_found_by_number_and_by_bake_off_and_judge(db: Database, bake: Bake, run_ids: Ids) -> None:
    bakeoff_id = bake(a="ppff", b="pfff")
    first, second = run_ids(bakeoff_id)
    found = find_runs(db, [str(second), "last:a", f"{bakeoff_id}:b"])
    assert [entry.run.id for entry in found] == [second, first, second]
    assert [entry.result.accuracy for entry in found] == [0.25, 0.5, 0.25]
    assert label_runs(found) == [f"b (run {second})", "a", f"b (run {second})"]


def test_every_name_that_means_no_run_is_reported(db: Database, bake: Bake) -> None:
    bake(a="pf", b="pp")
    said = problems_of(lambda: find_runs(db, ["99", "x", "last:c", "7:a", "9" * 30]))
    assert [line.split(";")[0] for line in said] == [
        "there is no run '99'",
        "'x' is not a bake-off",
        "judge 'c' is not in bake-off 1",
        "there is no bake-off 7",
        f"there is no bake-off {'9' * 18}…",
    ]


def test_agreement_across_bake_offs_is_kept_once_and_passes_fsck(
    db: Database, sql: Sql, bake: Bake, run_ids: Ids
) -> None:
    (a,), (b,) = run_ids(bake(a="ppff")), run_ids(bake(b="pfff"))
    [pair] = agreement_of(db, find_runs(db, [str(a), str(b)]), "capitals")
    assert (pair.a, pair.b, pair.n, pair.kappa, pair.flag) == ("a", "b", 4, 0.5, None)
    assert kept(sql) == [(a, b, 0.5, 4)]
    agreement_of(db, find_runs(db, [str(b), str(a)]), "capitals")
    assert kept(sql) == [(b, a, 0.5, 4)]
    assert check(db) == []


def test_agreement_within_a_bake_off_leaves_what_its_conclusion_wrote(
    db: Database, sql: Sql, bake: Bake, run_ids: Ids
) -> None:
    bakeoff_id = bake(a="ppff", b="pfff", mute="eeee")
    a, b, mute = run_ids(bakeoff_id)
    pairs = agreement_of(db, find_runs(db, [str(b), str(mute), str(a)]), "capitals")
    assert [pair.n for pair in pairs] == [0, 4, 0]
    assert [(one, other) for one, other, _, _ in kept(sql)] == [(b, a)]
    assert check(db) == []
    assert result_of(db, bakeoff_id).kappa[0].kappa == 0.5


def test_a_judge_that_agrees_with_itself_is_said_to_be_one(db: Database, bake: Bake, run_ids: Ids) -> None:
    (first,), (second,) = run_ids(bake(a="ppff")), run_ids(bake(a="ppff"))
    [pair] = agreement_of(db, find_runs(db, [str(first), str(second)]), "capitals")
    assert (pair.a, pair.b) == (f"a (run {first})", f"a (run {second})")
    assert (pair.kappa, pair.flag) == (1.0, "same_judge")


def test_runs_that_cannot_agree_are_refused_with_the_reason(
    db: Database, sql: Sql, bake: Bake, run_ids: Ids
) -> None:
    a, b = run_ids(bake(a="ppff", b="pfff"))
    (other,) = run_ids(bake(c="ppf"))
    (open_run,) = run_ids(bake(d="pfff", is_concluded=False))
    before = kept(sql)

    def refused(*ids: int, task: str = "capitals") -> Sequence[str]:
        return problems_of(lambda: agreement_of(db, find_runs(db, [str(run) for run in ids]), task))

    (sets,) = refused(a, other)
    assert f"run {other} (2/c) is on dev-3 (" in sets
    assert f"run {a} (1/a) on dev-4 (" in sets
    assert refused(a, b, task="rivers")[0].startswith(f"run {a} (1/a) is of task 'capitals', not 'rivers'")
    assert refused(a, open_run)[0].startswith(f"run {open_run} (3/d) has not concluded")
    assert refused(a, a)[0].startswith(f"run {a} is named 2 times")
    assert refused(a)[0].startswith("agreement takes two runs")
    assert kept(sql) == before


def test_agreement_on_other_cases_is_still_a_stray(db: Database, sql: Sql, bake: Bake, run_ids: Ids) -> None:
    (a,), (b,) = run_ids(bake(a="ppff")), run_ids(bake(b="ppf"))
    sql("INSERT INTO eval_kappa VALUES (%s, %s, 0.5, 3)", a, b)
    assert [finding.check for finding in check(db)] == ["stray kappa"]


def test_a_change_is_told_from_the_cases_both_runs_share(db: Database, bake: Bake, run_ids: Ids) -> None:
    (a,), (b,) = run_ids(bake(a="ppffp")), run_ids(bake(a="pfpf"))
    before, after = find_runs(db, [str(a), str(b)])
    change = change_between(db, before, after, margin=0.05)
    assert (change.found.n, change.found.diff, change.verdict) == (4, 0.0, "inconclusive")
    assert (change.a_only, change.b_only) == (("case-0001",), ("case-0002",))
    assert (change.only_in_a, change.only_in_b, change.changed) == (("case-0004",), (), ())
    assert (change.latency.n, change.latency.mean_ms) == (4, 0.0)
    assert change.a.usd_per_case == change.b.usd_per_case
    assert change.warnings == ()


def test_whatever_else_differs_between_two_runs_is_warned_of(
    db: Database, sql: Sql, bake: Bake, run_ids: Ids
) -> None:
    sampled, marked = bake(a="ppff", samples=2), bake(a="pp", is_concluded=False)
    others = "scorer_mode = 'llm_judge', grader_model = 'g', task_sha = eval_set_sha"
    sql(f"UPDATE bakeoffs SET {others} WHERE id = %s", marked)
    sql("DELETE FROM outcomes WHERE run_id = %s AND case_id = 'case-0001'", *run_ids(marked))
    before, after = find_runs(db, [f"{sampled}:a", f"{marked}:a"])
    said = change_between(db, before, after, margin=0.05).warnings
    assert said == (
        "the task itself changed between the two: its prompt, its scoring or its limits",
        "marked differently: strict_substring, then llm_judge (g)",
        "2 and 1 samples a case",
        f"{after.name} is INTERIM: 1 of 2 jobs done",
    )


def test_runs_with_nothing_in_common_cannot_be_compared(
    db: Database, sql: Sql, bake: Bake, run_ids: Ids
) -> None:
    a, mute = run_ids(bake(a="pf", mute="ee"))
    before, after = find_runs(db, [str(a), str(mute)])
    assert (
        "have a verdict on no case in common"
        in problems_of(lambda: change_between(db, before, after, margin=0.05))[0]
    )
    sql("UPDATE bakeoffs SET task_name = 'rivers' WHERE id = %s", bake(b="pf"))
    (other,) = find_runs(db, ["last:b"])
    assert (
        "compare runs of one task" in problems_of(lambda: change_between(db, before, other, margin=0.05))[0]
    )


def test_past_runs_are_those_of_concluded_bake_offs_of_several_judges(db: Database, bake: Bake) -> None:
    bake(alone="pfpf")
    bake(a="pfpf", b="pppe")
    bake(a="pf", b="pp", is_concluded=False)
    found = past_runs(db, "capitals")
    assert [(run.bakeoff_id, run.judge, len(run.tallies)) for run in found] == [(2, "a", 4), (2, "b", 3)]
    assert found[0].tallies["case-0001"] == (1, 0)
    assert [(spread.n, round(spread.between, 4)) for spread in spreads(found)] == [(3, 0.3333)]
    assert past_runs(db, "rivers") == []
