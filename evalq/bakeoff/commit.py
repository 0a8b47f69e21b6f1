"""The git commit of the user's project, stored so that a run's prompts can be found again."""

import subprocess
from pathlib import Path

_DEFINITIONS = ("tasks", "evalsets", "evalq.yaml")
"""New files that a run may depend on; a new report beside them changes nothing."""
_NOT_THE_LOG = ":(exclude,glob)**/holdout-runs.log"
"""Every look at a holdout writes to its log, which is no part of what was run."""


def commit_sha(root: Path) -> str | None:
    """The commit checked out in a folder, `-dirty` if its files differ from it; None outside a repository."""
    sha = _git(root, "rev-parse", "HEAD")
    if not sha:
        return None
    changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", _NOT_THE_LOG)
    added = _git(root, "ls-files", "--others", "--exclude-standard", "--", *_DEFINITIONS, _NOT_THE_LOG)
    return f"{sha}-dirty" if changed or added else sha


def _git(root: Path, *arguments: str) -> str | None:
    """What a git command prints; None if it fails."""
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", *arguments],  # noqa: S607 - the user's own git, wherever it is
            cwd=root,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
