from pathlib import Path
from typing import get_args

import pytest

from evalq.errors import InputError
from evalq.formats.suite.load import problems
from evalq.formats.suite.new_suite import GraderChoice, create_suite, list_missing_references
from evalq.formats.suite.read import read_suite


def create(
    folder: Path,
    capability: tuple[str, ...] = (),
    regression: tuple[str, ...] = (),
    grader: GraderChoice = "code",
    name: str = "Orders",
) -> list[Path]:
    return create_suite(folder, name=name, capability=capability, regression=regression, grader=grader)


def refusal(folder: Path, *capability: str) -> str:
    with pytest.raises(InputError) as caught:
        create(folder, capability)
    return str(caught.value)


def test_a_new_suite_has_one_eval_of_each_type_and_is_valid(tmp_path: Path) -> None:
    written = create(tmp_path / "evals")
    suite = read_suite(tmp_path / "evals")
    assert [(one.id, one.eval_type) for one in suite.evals] == [
        ("cap-001", "capability"),
        ("reg-001", "regression"),
    ]
    assert len(written) == 5
    assert not problems(tmp_path / "evals", tmp_path)


@pytest.mark.parametrize("grader", get_args(GraderChoice))
def test_every_kind_of_grader_makes_a_valid_eval(tmp_path: Path, grader: GraderChoice) -> None:
    create(tmp_path, ("one",), grader=grader)
    [one] = read_suite(tmp_path).evals
    assert one.grader_types == ("code" if grader == "function" else grader,)
    assert not problems(tmp_path, tmp_path)


@pytest.mark.parametrize("name", ["Feature: X", 'a "quoted" name', "ID and EXPECTED", "{{x}}"])
def test_a_name_of_any_characters_comes_back(tmp_path: Path, name: str) -> None:
    create(tmp_path, name=name)
    assert read_suite(tmp_path).name == name


def test_evals_are_added_to_a_suite_that_is_there(tmp_path: Path) -> None:
    create(tmp_path)
    before = (tmp_path / "eval-suite.yaml").read_bytes()
    [added] = create(tmp_path, ("cap-login",))
    assert added == tmp_path / "capability" / "cap-login.yaml"
    assert {one.id for one in read_suite(tmp_path).evals} == {"cap-001", "cap-login", "reg-001"}
    assert (tmp_path / "eval-suite.yaml").read_bytes() == before
    assert list_missing_references(tmp_path, [added]) == []


def test_a_suite_with_a_list_of_evals_says_what_to_add_to_it(tmp_path: Path) -> None:
    create(tmp_path)
    text = 'eval_suite:\n  name: x\n  evals:\n    - $ref: "./capability/cap-001.yaml"\n'
    (tmp_path / "eval-suite.yaml").write_text(text, "utf-8")
    added = create(tmp_path, ("cap-login",))
    assert list_missing_references(tmp_path, added) == ['- $ref: "./capability/cap-login.yaml"']


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    create(tmp_path)
    assert "capability/cap-001.yaml: is already there; take another id" in refusal(tmp_path, "new", "cap-001")
    assert not (tmp_path / "capability" / "new.yaml").exists()
    assert "the suite is there already; name the evals to add" in refusal(tmp_path)


def test_an_id_is_used_once_whatever_the_file(tmp_path: Path) -> None:
    create(tmp_path)
    assert "the id 'reg-001' is taken" in refusal(tmp_path, "reg-001")
    with pytest.raises(InputError, match="the id 'twice' is taken"):
        create(tmp_path, ("twice",), ("twice",))


@pytest.mark.parametrize("one", ["../out", "", "a b", "/abs", ".hidden", "x" * 101])
def test_an_id_that_names_no_file_is_refused(tmp_path: Path, one: str) -> None:
    assert "cannot be the id of an eval" in refusal(tmp_path, one)
    assert not list(tmp_path.iterdir())
