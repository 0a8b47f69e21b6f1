"""Where the tasks, evalsets and schema that come with evalq lie, in a wheel and in a checkout alike."""

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def shipped_path(relative: str) -> Path:
    """A shipped file or folder by its path in the repository, e.g. `evalsets/mail_classify`."""
    inside_wheel = _PACKAGE / "shipped"
    return (inside_wheel if inside_wheel.is_dir() else _PACKAGE.parent) / relative
