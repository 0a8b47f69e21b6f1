"""The git commit of the user's project, stored so that a run's prompts can be found again."""

import subprocess
from pathlib import Path


def commit_sha(root: Path) -> str | None:
    """The commit checked out in a folder; None outside a repository."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"],  # noqa: S607 - the user's own git, wherever it is
            cwd=root,
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
