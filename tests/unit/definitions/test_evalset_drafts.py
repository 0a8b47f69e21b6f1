"""Draft cases: stored nowhere else than in their files, and asked by nobody."""

from pathlib import Path

import pytest

from evalq.bakeoff.portfolio import first_set
from evalq.bakeoff.request import Request
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.project import check_project
from evalq.errors import InputError
from evalq.formats import prepare
from evalq.settings import Settings
from evalq.store.definitions import case_json, evalset_sha

TASK = "name: t\nsystem_prompt: s\nuser_template: '{q}'\nscoring: {mode: strict_substring}\n"
CASES = """\
cases:
- {id: a, inputs: {q: x}, expected: {answer: y}}
- {id: b, inputs: {q: x}, draft: true}
- {id: c, inputs: {}, draft: true}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in (("tasks/t.yaml", TASK), ("evalsets/t/draft-3.yaml", CASES)):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


def test_a_bake_off_leaves_drafts_out_and_says_so(root: Path) -> None:
    plan = prepare(Request("t", "draft-3", ["sim-haiku-4.5"]), Settings(), root)
    assert [case.id for case in plan.evalset.cases] == ["a"]
    assert plan.draft_warning == (
        "2 draft cases left out; accept them with `evalq generate --accept draft-3 --task t --all`"
    )


def test_a_set_of_drafts_alone_is_refused_with_the_command_that_accepts_them(root: Path) -> None:
    (root / "evalsets/t/draft-3.yaml").write_text("- {id: b, inputs: {q: x}, draft: true}\n", "utf-8")
    with pytest.raises(
        InputError, match=r"all 1 cases are drafts; .* evalq generate --accept draft-3 --task t"
    ):
        prepare(Request("t", "draft-3", ["sim-haiku-4.5"]), Settings(), root)


def test_a_plan_without_drafts_says_nothing_of_them(root: Path) -> None:
    (root / "evalsets/t/dev.yaml").write_text(CASES.split("- {id: b")[0], "utf-8")
    assert prepare(Request("t", "dev", ["sim-haiku-4.5"]), Settings(), root).draft_warning is None


def test_a_draft_need_not_fit_its_task_yet(root: Path) -> None:
    assert check_project([root], root).problems == ()


def test_a_case_that_is_no_draft_is_stored_as_ever() -> None:
    case = EvalCase(id="a", inputs={"q": "x"})
    assert "draft" not in case_json(case)
    accepted = EvalCase(id="a", inputs={"q": "x"}, draft=True).model_copy(update={"draft": False})
    assert evalset_sha(EvalSet(name="s", cases=[case])) == evalset_sha(EvalSet(name="s", cases=[accepted]))


def test_the_usual_set_of_a_task_is_no_draft_while_there_is_another(root: Path) -> None:
    assert first_set("t", root) == "draft-3"
    (root / "evalsets/t/ready.yaml").write_text(CASES, "utf-8")
    assert first_set("t", root) == "ready"
