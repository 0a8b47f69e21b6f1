"""Files named in a message are read from the folder and repository alone."""

import os
from pathlib import Path

import pytest

from evalq.errors import InputError
from evalq.formats import Format
from evalq.formats.known_formats import FORMATS
from evalq.formats.paths import Attachments, Place, repository_of
from evalq.formats.problems import ImportWarnings

HERE = Place("EVAL.yaml", 7)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text("the key", "utf-8")
    evals = tmp_path / "repository" / "evals"
    evals.mkdir(parents=True)
    (evals.parent / ".git").mkdir()
    (evals.parent / "skill.md").write_text("Use it.", "utf-8")
    (evals / "sales.csv").write_text("month,revenue\n", "utf-8")
    return evals.parent


def attachments(repository: Path) -> Attachments:
    folder = repository / "evals"
    return Attachments((folder, repository_of(folder)), ImportWarnings())


def test_a_file_stands_under_a_heading_with_its_path(repository: Path) -> None:
    block = attachments(repository).block("sales.csv", HERE)
    assert block == "--- file: sales.csv ---\nmonth,revenue\n--- end of file ---"


@pytest.mark.parametrize("written", [".git/config", ".env", "sub/.ssh/id", "link"])
def test_what_is_hidden_is_refused(repository: Path, written: str) -> None:
    folder = repository / "evals"
    for name in (".git/config", ".env", "sub/.ssh/id"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("secret", "utf-8")
    (folder / "link").symlink_to(".env")
    with pytest.raises(InputError, match=r"EVAL\.yaml:7: .* is hidden, and may hold secrets"):
        attachments(repository).text(written, HERE)


CONFIGURATIONS = {
    "EVAL.yaml": "tests: [{id: a, input: Hi, input_files: [PATH], criteria: Good}]",
    "promptfoo": "prompts: ['file://PATH']\ntests: [{assert: [{type: is-json}]}]",
    "evals.json": "evals: [{prompt: Hi, files: [PATH], assertions: [Good]}]",
    "suite": "[{id: a, input: {type: file, content: PATH}, expected: x}]",
}
ATTACHING = [one for one in FORMATS if one.name not in ("rows", "eva")]
TRIES = [
    (one, written)
    for one in ATTACHING
    for written in ("../skill.md", "../.git/config", "skill.md", ".git/config", "../../secret.txt")
    if one.name != "EVAL.yaml" or "skill" not in written  # it may name any file of its repository
]


@pytest.mark.parametrize(("importer", "written"), TRIES, ids=lambda one: getattr(one, "name", one))
def test_nothing_hidden_or_around_a_file_is_attached(
    repository: Path, importer: Format, written: str
) -> None:
    (repository / ".git" / "config").write_text("Use it.", "utf-8")
    (repository.parent / "secret.txt").write_text("Use it.", "utf-8")
    path = repository / "evals" / "file.yaml"
    path.write_text(CONFIGURATIONS[importer.name].replace("PATH", written), "utf-8")
    try:
        found = str(importer.load(path, repository))
    except InputError as exc:
        found = str(exc)
    assert "Use it." not in found


@pytest.mark.parametrize("written", ["../skill.md", "skill.md", "../evals/../skill.md"])
def test_a_file_of_the_repository_is_read(repository: Path, written: str) -> None:
    assert attachments(repository).text(written, HERE) == "Use it."


@pytest.mark.parametrize(
    "written", ["../../secret.txt", "/etc/passwd", "/dev/zero", "../evals", "", "a\x00b", "x" * 5000]
)
def test_a_way_out_is_refused(repository: Path, written: str) -> None:
    with pytest.raises(InputError, match=r"EVAL\.yaml:7: "):
        attachments(repository).text(written, HERE)


def test_a_link_that_leads_out_is_refused(repository: Path) -> None:
    (repository / "evals" / "link.txt").symlink_to("../../secret.txt")
    with pytest.raises(InputError, match="leads out of its folder"):
        attachments(repository).text("link.txt", HERE)


def test_a_pipe_is_refused(repository: Path) -> None:
    os.mkfifo(repository / "evals" / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        attachments(repository).text("pipe", HERE)


def test_a_file_that_is_not_there_is_a_loss(repository: Path) -> None:
    found = attachments(repository)
    assert found.block("missing.csv", HERE) == ""
    assert found.warnings.texts == ("EVAL.yaml:7: there is no file 'missing.csv': left out; check the path",)


def test_a_file_that_is_no_text_is_a_loss(repository: Path) -> None:
    (repository / "evals" / "scan.pdf").write_bytes(b"\xff\xfe\x00")
    found = attachments(repository)
    assert found.text("scan.pdf", HERE) is None
    assert "not UTF-8 text" in found.warnings.texts[0]


def test_files_have_an_end_together(repository: Path) -> None:
    found = attachments(repository)
    found._chars_left = 10
    with pytest.raises(InputError, match="too long together"):
        found.text("sales.csv", HERE)


def test_a_folder_in_no_repository_is_its_own(tmp_path: Path) -> None:
    assert repository_of(tmp_path) == tmp_path.resolve()
