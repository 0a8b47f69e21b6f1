"""A set of drafts from plan to file, and the cases people accept."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalq.bakeoff.probes import QueryReplies, QueryReply
from evalq.cases.draft import (
    Drafted,
    DraftOptions,
    DraftPlan,
    StratumCount,
    accept,
    collect_drafts,
    plan_drafts,
    write_drafts,
)
from evalq.definitions.files import load_evalset
from evalq.errors import InputError, Refused

TASK = "name: t\nsystem_prompt: s\nuser_template: '{q}'\nscoring: {mode: strict_substring}\n"
DEV = """\
cases:
- {id: a, inputs: {q: x}, expected: {answer: y}, stratum: {lang: EN}}
- {id: b, inputs: {q: z}, expected: {answer: y}, stratum: {lang: DE}}
- {id: c, inputs: {q: secret draft}, expected: {answer: y}, stratum: {lang: VN}, draft: true}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in (("tasks/t.yaml", TASK), ("evalsets/t/dev.yaml", DEV)):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


def answered(plan: DraftPlan, **other: Any) -> Drafted:
    """As if a model had drafted what simulated ones do."""
    by_case = {case.id: QueryReply((case.expected or {})["answer"]) for case in plan.query().evalset.cases}
    return collect_drafts(
        plan, QueryReplies(4, "m", "concluded", Decimal(1), is_kept=False, by_case=by_case | other)
    )


def draft(root: Path, n: int = 4, **how: Any) -> Drafted:
    plan = plan_drafts(DraftOptions("t", n, "m", **how), root)
    drafted = answered(plan)
    write_drafts(plan, drafted)
    return drafted


def test_drafts_are_written_under_a_name_that_says_so(root: Path) -> None:
    drafted = draft(root)
    evalset = load_evalset(root / "evalsets/t/draft-4.yaml").evalset
    assert [case.draft for case in evalset.cases] == [True] * 4
    assert drafted.strata() == [StratumCount("EN", 2, 2), StratumCount("DE", 2, 2)]
    assert drafted.exit_code == 0
    draft(root, eval_set="more")
    assert load_evalset(root / "evalsets/t/draft-more.yaml").evalset.name == "draft-more"


def test_drafts_are_never_examples_of_drafts(root: Path) -> None:
    plan = plan_drafts(DraftOptions("t", 4, "m"), root)
    assert "secret draft" not in str(plan.query().evalset)


def test_fewer_than_wanted_ends_as_partial(root: Path) -> None:
    drafted = answered(
        plan_drafts(DraftOptions("t", 4, "m"), root), **{"DE-1": QueryReply(None, "no answer")}
    )
    assert (len(drafted.drafts.cases), drafted.exit_code) == (2, 3)
    assert drafted.document(written=True, next_commands=[])["dropped"] == [
        {"question": "DE-1", "reason": "no answer"}
    ]


@pytest.mark.parametrize("how", [{"eval_set": "holdout-9"}, {"like": "holdout-9"}])
def test_a_holdout_is_neither_written_nor_shown(root: Path, how: dict[str, str]) -> None:
    (root / "evalsets/t/holdout-9.yaml").write_text(DEV, "utf-8")
    with pytest.raises(Refused, match="is a holdout"):
        plan_drafts(DraftOptions("t", 4, "m", **how), root)


def test_drafts_are_not_overwritten_but_added_to(root: Path) -> None:
    draft(root)
    with pytest.raises(InputError, match="is already there"):
        plan_drafts(DraftOptions("t", 4, "m"), root)
    again = draft(root, append=True)
    assert [one.reason for one in again.drafts.dropped] == ["repeats another case"] * 4
    assert len(load_evalset(root / "evalsets/t/draft-4.yaml").evalset.cases) == 4


def test_a_task_without_a_set_is_drafted_for_without_strata(root: Path) -> None:
    (root / "evalsets/t/dev.yaml").unlink()
    plan = plan_drafts(DraftOptions("t", 6, "m"), root)
    assert [one.id for one in plan.calls] == ["all-1", "all-2"]
    assert plan.query().evalset.cases[0].inputs["request"].startswith("Draft 5 cases.\nPart all-1")


def test_a_name_that_cannot_be_is_refused(root: Path) -> None:
    with pytest.raises(InputError, match="'a b' cannot name an evalset"):
        plan_drafts(DraftOptions("t", 4, "m", eval_set="a b"), root)


def test_drafting_stopped_at_its_cap_ends_with_four(root: Path) -> None:
    drafted = answered(plan_drafts(DraftOptions("t", 4, "m"), root))
    assert replace(drafted, replies=replace(drafted.replies, state="capped")).exit_code == 4


def test_some_drafts_are_accepted_and_then_the_rest(root: Path) -> None:
    first = draft(root).drafts.cases[0].id
    done = accept(root, "draft-4", task=None, ids=[first], every=False)
    assert (done.task, done.ids, done.left) == ("t", (first,), 3)
    done = accept(root, str(root / "evalsets/t/draft-4.yaml"), task="t", ids=[], every=True)
    assert (len(done.ids), done.left) == (3, 0)


def test_a_draft_that_does_not_fit_its_task_is_not_accepted(root: Path) -> None:
    (root / "evalsets/t/draft-1.yaml").write_text("- {id: a, inputs: {q: x}, draft: true}\n", "utf-8")
    with pytest.raises(InputError, match=r"case 'a': pass_rule exact_match needs expected.answer"):
        accept(root, "draft-1", task="t", ids=[], every=True)
    assert load_evalset(root / "evalsets/t/draft-1.yaml").n_drafts == 1


@pytest.mark.parametrize(
    ("ids", "every", "problem"),
    [
        ((), False, "which drafts"),
        (("a",), True, "which drafts"),
        (("d",), False, "no case 'd'"),
        (("a",), False, "none of these cases is a draft"),
    ],
)
def test_what_cannot_be_accepted_is_refused(
    root: Path, ids: tuple[str, ...], every: bool, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        accept(root, "dev", task="t", ids=ids, every=every)


def test_nothing_is_accepted_in_a_holdout(root: Path) -> None:
    (root / "evalsets/t/holdout-9.yaml").write_text(DEV, "utf-8")
    with pytest.raises(Refused, match="is a holdout"):
        accept(root, "holdout-9", task="t", ids=[], every=True)
