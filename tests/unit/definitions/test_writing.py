"""Evalsets written: read back the same from every format, replaced whole or not at all, drafts accepted."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalq.definitions import writing
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import load_evalset
from evalq.definitions.writing import accept_drafts, evalset_yaml, refuse_taken, write_evalset
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
words = st.sampled_from(
    ["no", "1e3", "0o17", "007", ".inf", "12:30:45", "~", "true", "-", "&a", "\n a", "# x", "[email-1]"]
)
EDITED = """\
# Drafted on Monday.
cases:
  - id: a
    inputs: {text: x}
    # looked at by Ann
    draft: true  # a draft
  - id: b
    draft: true
    inputs: {text: y}
"""


def a_set(*ids: str, drafts: str = "") -> EvalSet:
    cases = [EvalCase(id=one, inputs={"text": f"{one}\n"}, draft=one in drafts) for one in ids]
    return EvalSet(name="mine", task="t", description="d", cases=cases)


@given(st.dictionaries(texts | words, texts | words | numbers | st.none() | st.booleans() | st.lists(words)))
def test_every_value_survives_the_way_through_yaml(inputs: dict[str, Any]) -> None:
    text = evalset_yaml(EvalSet(name="s", cases=[EvalCase(id="1", inputs=inputs)]), "f.yaml")
    assert load_yaml(text, "f.yaml").value["cases"] == [{"id": "1", "inputs": inputs}]


@pytest.mark.parametrize("suffix", [".yaml", ".json", ".jsonl"])
def test_a_set_is_read_back_as_it_was_written(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "new" / f"mine{suffix}"
    write_evalset(path, a_set("a", "b", drafts="b"))
    assert load_evalset(path).evalset.cases == a_set("a", "b", drafts="b").cases
    assert [other.name for other in path.parent.iterdir()] == [path.name]


def test_a_grader_is_written_as_it_was_said(tmp_path: Path) -> None:
    said = {"type": "rubric", "rubric": "R", "range": [0, 10], "threshold": 4}
    case = EvalCase.model_validate({"id": "1", "inputs": {}, "graders": [said]})
    write_evalset(tmp_path / "s.yaml", EvalSet(name="s", cases=[case]))
    assert load_evalset(tmp_path / "s.yaml").evalset.cases == [case]


def test_what_does_not_go_into_yaml_is_refused_with_what_to_do(tmp_path: Path) -> None:
    large = EvalSet(name="s", cases=[EvalCase(id="1", inputs={"text": "x" * 6_000_000})])
    with pytest.raises(InputError, match=r"too much for an evalset of this kind; write it as .jsonl"):
        write_evalset(tmp_path / "s.yaml", large)
    write_evalset(tmp_path / "s.jsonl", a_set("a"))
    assert [path.name for path in tmp_path.iterdir()] == ["s.jsonl"]


def test_a_name_is_taken_in_whatever_format(tmp_path: Path) -> None:
    write_evalset(tmp_path / "mine.json", a_set("a"))
    with pytest.raises(InputError, match=r"mine.json: is already there; take another name, or add to it"):
        refuse_taken(tmp_path / "mine.yaml")
    with pytest.raises(InputError, match=r"is already there; take another name$"):
        refuse_taken(tmp_path / "other" / "dev.yaml", [tmp_path / "shipped" / "dev.yaml"])
    refuse_taken(tmp_path / "yours.yaml", [tmp_path / "shipped" / "dev.yaml"])


def test_a_file_written_anew_keeps_its_first_comment_and_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(EDITED, "utf-8")
    path.chmod(0o640)
    write_evalset(path, a_set("a"))
    assert path.read_text("utf-8").startswith("# Drafted on Monday.\nname: mine\n")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real.yaml").write_text(EDITED, "utf-8")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "real.yaml")
    write_evalset(tmp_path / "link.yaml", a_set("z"))
    assert (tmp_path / "link.yaml").is_symlink()
    assert load_evalset(tmp_path / "real.yaml").evalset.cases[0].id == "z"


def test_a_folder_that_cannot_be_made_is_the_users_to_mend(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(InputError, match="cannot be written"):
        write_evalset(tmp_path / "file" / "s.yaml", a_set("a"))


def test_accepting_takes_the_mark_away_and_leaves_the_rest_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(EDITED, "utf-8")
    after = accept_drafts(path, ["a"])
    assert [case.draft for case in after.cases] == [False, True]
    assert path.read_text("utf-8") == EDITED.replace("    draft: true  # a draft\n", "")


@pytest.mark.parametrize(
    "text",
    [
        "cases:\n- {id: a, inputs: {text: x}, draft: true}\n",
        "- draft: true\n  id: a\n  inputs: {text: x}\n",
        '[{"id": "a", "inputs": {"text": "x"}, "draft": true}]\n',
    ],
)
def test_a_mark_that_is_no_line_of_its_own_goes_too(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text, "utf-8")
    accept_drafts(path, ["a"])
    assert load_evalset(path).evalset.cases == [EvalCase(id="a", inputs={"text": "x"})]


def test_a_line_that_only_looks_like_a_mark_is_not_taken_for_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text('cases:\n- id: a\n  inputs: {text: x}\n  "draft":\n    true\n', "utf-8")
    accept_drafts(path, ["a"])
    assert load_evalset(path).evalset.cases == [EvalCase(id="a", inputs={"text": "x"})]


def test_jsonl_is_accepted_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    write_evalset(path, a_set("a", "b", drafts="ab"))
    accept_drafts(path, ["b"])
    assert [case.draft for case in load_evalset(path).evalset.cases] == [True, False]


def test_only_what_can_be_read_back_may_be_written() -> None:
    assert set(writing.WRITTEN_SUFFIXES) < {".yaml", ".yml", ".json", ".jsonl", ".csv"}
