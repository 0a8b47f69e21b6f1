"""What a bake-off prints before it spends: the same for one task and for several."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from evalq.cli.main import evalq

JUDGE = "sim-grok-4.3"
SELF_GRADED = f"WARNING  {JUDGE} is on trial and grades its own answers; name another with --grader-model"


@pytest.mark.parametrize(
    "sets",
    [
        ["--task", "knowledge_audit", "--eval-set", "dev-93"],
        ["--task", "knowledge_audit,mail_classify"],
    ],
)
def test_a_judge_that_grades_itself_is_announced_before_anything_is_paid(
    sets: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--judges", JUDGE, "--grader-model", JUDGE, "--dry-run"]
    done = CliRunner().invoke(evalq, ["bake-off", *sets, *options], catch_exceptions=False)
    assert done.exit_code == 0
    assert f"✓ grader {JUDGE}" in done.stdout
    lines = done.stderr.splitlines()
    assert lines[0].startswith("knowledge_audit · dev-93 · 1 judge: ")
    assert SELF_GRADED in lines
