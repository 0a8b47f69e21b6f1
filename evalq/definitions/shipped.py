"""Locates the shipped tasks, evalsets and schema, in a wheel and in a checkout alike."""

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def shipped_path(relative: str) -> Path:
    """A shipped file or folder by its path in the repository, e.g. `evalsets/mail_classify`."""
    inside_wheel = _PACKAGE / "shipped"
    if inside_wheel.is_dir():
        return inside_wheel / relative
    return _PACKAGE.parent / relative
