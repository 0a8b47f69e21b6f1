"""Whether a file or folder is the user's own: what a stranger planted is not obeyed."""

import os
import stat
from pathlib import Path

from evalq.errors import Refused

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def is_owned(path: Path) -> bool:
    """Whether a path, and the target if it is a link, belong to the user or to root."""
    if os.name != "posix":
        return True  # elsewhere the owner does not show who wrote it
    trusted = (0, os.geteuid())
    return path.lstat().st_uid in trusted and path.stat().st_uid in trusted


def find_distrust(path: Path) -> str:
    """Why others may have written a file or folder, and what to do; "" if only the user or root can."""
    if not is_owned(path):
        return f"it belongs to another user; if you trust it: chown -h {os.geteuid()} '{path}'"
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & _WRITABLE_BY_OTHERS:
        return f"other users may change it (mode {mode:04o}); if you trust it: chmod go-w '{path}'"
    return ""


def refuse_planted(path: Path) -> None:
    """Raise Refused if others may have written a file or folder; a missing one is fine."""
    try:
        reason = find_distrust(path)
    except OSError:
        return
    if reason:
        raise Refused(f"{path} is not used: {reason}")
