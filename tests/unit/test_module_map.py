"""docs/modules.md is the list of every module's first sentence; EVALQ_UPDATE_DOCS=1 writes it anew."""

import ast
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAP = ROOT / "docs" / "modules.md"


def sentence(path: Path) -> str:
    doc = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return doc.splitlines()[0]


def module_map() -> str:
    lines = ["# The modules, by what they are for", ""]
    for package in ("evalq", "workers"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).with_suffix("").as_posix().replace("/__init__", "/")
            lines.append(f"- `{name}`: {sentence(path)}")
    return "\n".join(lines) + "\n"


def test_the_module_map_is_the_modules_own_words() -> None:
    if os.environ.get("EVALQ_UPDATE_DOCS"):
        MAP.write_text(module_map(), "utf-8")
    assert MAP.read_text("utf-8") == module_map(), (
        "run EVALQ_UPDATE_DOCS=1 pytest tests/unit/test_module_map.py"
    )
