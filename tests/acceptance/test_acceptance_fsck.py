"""fsck from the command line: what it says, what it repairs, and the exit codes scripts go by."""

from typing import Any

import pytest

BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-12", "--judges", "good,poor")


@pytest.fixture(scope="module")
def baked(served: Any) -> Any:
    """A project with one concluded bake-off."""
    assert served.bake(*BAKE)["id"] == 1
    return served


def test_a_bake_off_as_it_was_run_has_no_findings(baked: Any) -> None:
    done = baked.run("fsck")
    assert (done.returncode, done.stdout) == (0, ""), done.stdout
    assert done.stderr == "1 bake-off checked: nothing is wrong\nnext  evalq runs\n"


def test_a_finding_says_what_is_wrong_and_ends_with_one_until_it_is_repaired(baked: Any) -> None:
    baked.rows("UPDATE bakeoffs SET spent_usd = 0.4 WHERE id = 1 RETURNING id")
    (spent,) = baked.rows("SELECT trim_scale(sum(cost_usd))::text FROM call_journal")[0]
    line = f"bake-off 1 · money · spent 0.4 but the journal sums to {spent} · "
    found = baked.run("fsck", "last")
    assert (found.returncode, found.stdout) == (1, f"{line}would recompute it\n")
    assert "1 finding, 0 repaired, 1 can be repaired\nnext  evalq fsck last --repair\n" in found.stderr
    repaired = baked.run("fsck", "last", "--repair")
    assert (repaired.returncode, repaired.stdout) == (0, f"{line}repaired\n")
    assert "next  evalq inspect 1\n" in repaired.stderr
    assert baked.run("fsck").returncode == 0


def test_the_document_lists_checks_findings_and_repairs(baked: Any) -> None:
    clean = baked.bake("fsck")
    assert (clean["schema"], clean["ok"], clean["bakeoffs"], clean["findings"]) == (
        "evalq.fsck/1",
        True,
        1,
        [],
    )
    assert {"lease", "outcome", "money", "counts", "kappa"} <= set(clean["checked"])
    baked.rows("UPDATE bakeoffs SET result = NULL WHERE id = 1 RETURNING id")
    expected = {
        "check": "result",
        "bakeoff": 1,
        "subject": "bake-off 1",
        "found": "concluded without a result",
        "remedy": "would conclude it again",
    }
    found = baked.bake("fsck", code=1)
    assert (found["ok"], found["findings"]) == (False, [{**expected, "repaired": False}])
    repaired = baked.bake("fsck", "1", "--repair")
    assert (repaired["ok"], repaired["findings"]) == (True, [{**expected, "repaired": True}])


def test_a_lost_end_is_run_again_once_the_user_resumes(baked: Any) -> None:
    job = "(SELECT min(id) FROM jobs)"
    baked.rows(f"DELETE FROM outcomes WHERE job_id = {job} RETURNING job_id")
    repaired = baked.run("fsck", "--repair")
    assert repaired.returncode == 0
    assert "done without an outcome · repaired" in repaired.stdout
    assert "next  evalq resume 1\n" in repaired.stderr
    assert baked.bake("resume", "1")["n_done"] == 24
    assert baked.run("fsck").returncode == 0
    assert baked.rows("SELECT count(*) FROM call_journal") == [(24,)]


def test_a_bake_off_that_is_not_there_is_the_users_mistake(baked: Any) -> None:
    done = baked.run("fsck", "99")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no bake-off 99" in done.stderr
