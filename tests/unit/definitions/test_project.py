from pathlib import Path

import pytest

from evalq.definitions.project import find_evalset, find_task, list_evalsets, list_tasks
from evalq.definitions.shipped import shipped_path
from evalq.errors import InputError


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in (
        "tasks/audit.yaml",
        "tasks/v1.2.json",
        "evalsets/audit/dev.csv",
        "evalsets/audit/corpus/n.jsonl",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", "utf-8")
    return tmp_path


def test_a_name_is_found_in_the_project(root: Path) -> None:
    assert find_task("audit", root) == root / "tasks" / "audit.yaml"
    assert find_task("v1.2", root) == root / "tasks" / "v1.2.json"
    assert find_evalset("dev", "audit", root) == root / "evalsets" / "audit" / "dev.csv"


def test_a_name_is_found_among_the_shipped(root: Path) -> None:
    assert find_task("mail_classify", root) == shipped_path("tasks") / "mail_classify.yaml"
    assert find_evalset("dev-30", "mail_classify", root).is_relative_to(shipped_path("evalsets"))


def test_the_project_s_own_hides_a_shipped_one(root: Path) -> None:
    own = root / "tasks" / "mail_classify.yaml"
    own.write_text("", "utf-8")
    assert find_task("mail_classify", root) == own
    assert list_tasks(root)["mail_classify"] == own


def test_an_existing_path_is_taken_as_it_is(root: Path) -> None:
    (root / "mine.yaml").write_text("", "utf-8")
    assert find_task("mine.yaml", root) == Path("mine.yaml")
    assert find_evalset("evalsets/audit/dev.csv", "other", root) == Path("evalsets/audit/dev.csv")


@pytest.mark.parametrize("wanted", ["tasks/audti.yaml", "audti.yaml", "./audti"])
def test_a_path_that_is_not_there_is_answered_with_near_names(root: Path, wanted: str) -> None:
    with pytest.raises(InputError, match="no such task file; did you mean 'audit'") as caught:
        find_task(wanted, root)
    assert str(caught.value).startswith(wanted)


def test_an_unknown_name_is_answered_with_near_names_and_where_it_looked(root: Path) -> None:
    with pytest.raises(InputError) as caught:
        find_evalset("dve", "audit", root)
    message = str(caught.value)
    assert message.startswith(f"no evalset 'dve'; looked in {Path('evalsets/audit')} and ")
    assert message.endswith("did you mean 'dev'? (known: dev)")


def test_where_nothing_is_the_remedy_is_to_begin(root: Path) -> None:
    with pytest.raises(InputError, match="evalq init NAME"):
        find_evalset("dev", "nothing_of_this_name", root)
    with pytest.raises(InputError, match=r"no such evalset file; check the path"):
        find_evalset("dev.csv", "nothing_of_this_name", root)


def test_a_name_with_two_files_must_be_told_apart(root: Path) -> None:
    (root / "evalsets" / "audit" / "dev.yaml").write_text("", "utf-8")
    with pytest.raises(InputError, match=r"'dev' may mean dev\.csv and dev\.yaml; name one by its path"):
        find_evalset("dev", "audit", root)


def test_lists_hold_the_project_s_and_the_shipped_but_no_corpora(root: Path) -> None:
    assert list(list_tasks(root))[:2] == ["audit", "v1.2"]
    assert "mail_classify" in list_tasks(root)
    assert list(list_evalsets("audit", root)) == ["dev"]
