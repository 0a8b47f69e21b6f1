"""The Python API warns of what the command line prints, before anything is paid for."""

import warnings
from pathlib import Path
from typing import Any

import pytest

import evalq
from evalq.errors import InputError

SETTINGS = """\
database_url: postgresql://nowhere/db
judges:
  sim: {provider: simulated, model: sim}
"""
TABLE = "question,answer,note\nHow much is 1 + 1?,2,easy\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one of two URLs, so that a bake-off is refused when it would open its session."""
    for name in ("EVALQ_DATABASE_URL", "EVALQ_BROKER_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evalq.yaml").write_text(SETTINGS, "utf-8")
    return tmp_path


def warnings_of(**asked: Any) -> list[str]:
    """What a bake-off warns of before it is refused."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(InputError, match="EVALQ_BROKER_URL"):
            evalq.bake_off(**asked)
    return [str(one.message) for one in caught]


def test_what_an_import_loses_is_a_warning(project: Path) -> None:
    (project / "sums.csv").write_text(TABLE, "utf-8")
    found = warnings_of(eval_set="sums.csv", judges=["sim"])
    assert any("columns 'note' are left out" in warning for warning in found)


@pytest.mark.usefixtures("project")
def test_a_judge_that_grades_itself_is_a_warning() -> None:
    judge = "sim-grok-4.3"
    found = warnings_of(
        task="knowledge_audit", eval_set="dev-93", judges=[judge], scorer="llm_judge", grader_model=judge
    )
    assert found == ["sim-grok-4.3 is on trial and grades its own answers; name another grader_model"]
