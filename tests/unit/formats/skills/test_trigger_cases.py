"""A skill's description is found near the file that names it."""

from pathlib import Path

import pytest

from evalq.formats.skills.trigger_cases import find_description

SKILL = "---\nname: csv\ndescription: Reads tables.\n---\n# Body\n"


@pytest.fixture
def evals(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "deep" / "evals"
    folder.mkdir(parents=True)
    return folder


def put(root: Path, place: str, text: str = SKILL) -> None:
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


@pytest.mark.parametrize(
    "place",
    [
        "skills/csv/SKILL.md",
        ".claude/skills/csv/SKILL.md",
        "deep/skills/csv/SKILL.md",
        ".agents/skills/csv/SKILL.md",
    ],
)
def test_a_skill_is_found_up_to_the_repository(evals: Path, place: str) -> None:
    put(evals.parents[1], place)
    assert find_description("csv", evals) == "Reads tables."


def test_the_skill_one_is_in_is_found(tmp_path: Path) -> None:
    put(tmp_path, "csv/SKILL.md")
    (tmp_path / "csv" / "evals").mkdir()
    (tmp_path / ".git").mkdir()
    assert find_description("csv", tmp_path / "csv" / "evals") == "Reads tables."


def test_the_skill_one_is_in_may_be_in_a_folder_of_another_name(tmp_path: Path) -> None:
    put(tmp_path, "somewhere/SKILL.md")
    assert find_description("csv", tmp_path / "somewhere") == "Reads tables."
    assert find_description("other", tmp_path / "somewhere") == ""


def test_a_description_with_colons_needs_no_quotes(evals: Path) -> None:
    put(evals, "skills/csv/SKILL.md", "---\ndescription: Reads: tables,\n  and more\nname: csv\n---\n")
    assert find_description("csv", evals) == "Reads: tables, and more"


@pytest.mark.parametrize(
    "text", ["no front matter", "---\nname: csv\n---\n", "---\nnever closed\n", "---\n- 1\n---\n"]
)
def test_a_file_without_a_description_says_nothing(evals: Path, text: str) -> None:
    put(evals, "skills/csv/SKILL.md", text)
    assert find_description("csv", evals) == ""


@pytest.mark.parametrize("name", ["../secret", "a/b", "", "absent"])
def test_a_name_that_is_none_finds_nothing(evals: Path, name: str) -> None:
    assert find_description(name, evals) == ""


def test_a_file_that_is_no_text_says_nothing(evals: Path) -> None:
    put(evals, "skills/csv/SKILL.md")
    (evals / "skills/csv/SKILL.md").write_bytes(b"---\xff")
    assert find_description("csv", evals) == ""


def test_nothing_is_looked_for_above_the_repository(evals: Path) -> None:
    put(evals.parents[2], "skills/above/SKILL.md")
    assert find_description("above", evals) == ""
