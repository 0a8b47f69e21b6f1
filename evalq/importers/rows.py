"""stub"""

from pathlib import Path
from typing import Any


def recognises(path: Path) -> bool:
    return False


def load(path: Path, root: Path, *, trigger_mode: Any = "tool_calls") -> Any:
    raise NotImplementedError
