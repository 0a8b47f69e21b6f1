"""The folder of a suite's results: by day, never over another run, with the latest in reach."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evalq.errors import InputError
from evalq.formats.suite.outcomes import Attempt, EvalOutcome, JudgeOutcomes, SuiteRun
from evalq.formats.suite.read import Suite
from evalq.formats.suite.report import report_of
from evalq.formats.suite.report_files import archive, results_folder, write_results, write_text

NOW = datetime(2024, 1, 20, 14, 30, 52, tzinfo=UTC)
ASKED = {"id": "a", "input": "x", "expected": "y"}
EVALS = (EvalOutcome("a", "A", "capability", samples=(Attempt("passed"),)),)
DOCUMENT = report_of(
    SuiteRun("S", "eval-20240120-143052", "2024-01-20T14:30:52Z", 1.0, (JudgeOutcomes("j", "m", EVALS),))
)


def test_a_run_is_written_by_day_and_time_in_every_format(tmp_path: Path) -> None:
    written = write_results(tmp_path, DOCUMENT, ["json", "markdown", "html"], now=NOW)
    assert [path.relative_to(tmp_path).as_posix() for path in written] == [
        "2024-01-20/run-143052.json",
        "2024-01-20/run-143052.md",
        "2024-01-20/run-143052.html",
    ]
    assert json.loads(written[0].read_text("utf-8")) == json.loads(json.dumps(DOCUMENT))
    assert (tmp_path / "latest").readlink() == Path("2024-01-20")


def test_a_second_run_in_the_same_second_has_a_file_of_its_own(tmp_path: Path) -> None:
    for _ in range(2):
        written = write_results(tmp_path, DOCUMENT, ["markdown"], now=NOW)
    assert written[0].name == "run-143052-2.md"


def test_latest_moves_on(tmp_path: Path) -> None:
    write_results(tmp_path, DOCUMENT, ["json"], now=NOW)
    write_results(tmp_path, DOCUMENT, ["json"], now=NOW.replace(day=21))
    assert (tmp_path / "latest").readlink() == Path("2024-01-21")


def test_a_run_can_be_archived(tmp_path: Path) -> None:
    written = write_results(tmp_path, DOCUMENT, ["json"], now=NOW)
    assert [path.relative_to(tmp_path).as_posix() for path in archive(tmp_path, written)] == [
        "archive/2024-01-20-run-143052.json"
    ]


@pytest.mark.parametrize("folder", ["../out", "/tmp/out", "link/out"])
def test_results_do_not_leave_the_suite(
    make_suite: Callable[..., Suite], tmp_path: Path, folder: str
) -> None:
    (tmp_path / "link").symlink_to(tmp_path.parent)
    suite = make_suite(ASKED, reporting={"output_dir": folder})
    with pytest.raises(InputError, match="leads out of its folder"):
        results_folder(suite, tmp_path)


def test_a_report_is_written_inside_its_folder_only(tmp_path: Path) -> None:
    assert write_text(tmp_path / "a/b.md", "x", [tmp_path], "report_path").read_text("utf-8") == "x"
    with pytest.raises(InputError, match="report_path leads out"):
        write_text(tmp_path / "../b.md", "x", [tmp_path], "report_path")
