"""An eva prompt's folder: where its files are, what is in them, and its text with the variables filled in."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalq.definitions.files import shown
from evalq.definitions.located import Located, is_storable
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError, Problem
from evalq.importers.paths import Place, read_inside

META, PROMPT, EVAL, INPUTS = "meta.yml", "prompt.xml", "eval.yml", "inputs.yml"

_FIELD = re.compile(r"\{\{([^{}\n]{1,200})\}\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_ROOT_SIGNS = ("evalq.yaml", ".git")


@dataclass(frozen=True)
class PromptFolder:
    """A prompt's folder and the repository it is in: no file of it is read from anywhere else."""

    folder: Path
    root: Path

    @property
    def id(self) -> str:
        """The prompt's name is its folder's."""
        return self.folder.resolve().name

    @property
    def roots(self) -> tuple[Path, Path]:
        """Where a path written in one of its files is looked for, in this order."""
        return self.root, self.folder

    def path(self, name: str) -> Path:
        """One of its own files."""
        return self.folder / name

    def has(self, name: str) -> bool:
        """Whether one of its files is there."""
        return self.path(name).exists()

    def text(self, name: str) -> str:
        """What one of its own files says."""
        place = Place(shown(self.path(name)))
        text = read_inside(name, (self.folder, self.root), place=place)
        if not is_storable(text):
            raise place.error("a NUL in the text", "save the file as plain UTF-8 text")
        return text

    def located(self, name: str) -> Located:
        """One of its own YAML files, with the line of every part."""
        return load_yaml(self.text(name), shown(self.path(name)))

    def inputs(self, folder: str, *, place: Place | None = None) -> Located:
        """The variables in the inputs.yml of a folder: in the repository, else in the prompt's own folder."""
        written = f"{folder.rstrip('/')}/{INPUTS}"
        located = load_yaml(read_inside(written, self.roots, place=place), written)
        if isinstance(located.value, dict | None):
            return Located(located.value or {}, located.lines, located.file)
        raise InputError(located.problem((), "not a mapping of variables", "write NAME: value lines"))


def is_prompt_folder(path: Path) -> bool:
    """True for a folder that has a prompt and its exam."""
    return all((path / name).exists() for name in (PROMPT, EVAL))


def find_prompt(path: Path, root: Path) -> PromptFolder:
    """The prompt meant by its folder, one of its files, or its id under `prompts`."""
    folder = path.parent if path.name in (META, PROMPT, EVAL) and not path.is_dir() else path
    if not folder.is_dir() and len(path.parts) == 1 and (root / "prompts" / path).is_dir():
        folder = root / "prompts" / path
    if not folder.is_dir():
        raise InputError(Problem("no such prompt folder", "name a folder with meta.yml in it", shown(path)))
    return PromptFolder(folder, _root_of(folder))


def prompt_folders(path: Path, root: Path) -> list[PromptFolder]:
    """The prompt at a path, or all those in a folder of prompts."""
    inside = sorted(one for one in path.iterdir() if _is_prompt(one)) if path.is_dir() else []
    if inside and not _is_prompt(path):
        return [PromptFolder(one, _root_of(one)) for one in inside]
    return [find_prompt(path, root)]


def _is_prompt(path: Path) -> bool:
    """A folder that means to be one, even if a file is missing."""
    return path.is_dir() and any((path / name).exists() for name in (META, PROMPT, EVAL))


def _root_of(folder: Path) -> Path:
    """The repository a prompt is in: what holds its `prompts` folder, or the nearest that looks so."""
    here = folder.resolve()
    if here.parent.name == "prompts":
        return here.parent.parent
    parents = (parent for parent in here.parents if any((parent / sign).exists() for sign in _ROOT_SIGNS))
    return next(parents, here)


def variables(text: str) -> dict[str, int]:
    """The names in double braces, each with the line it is first on."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        for match in _FIELD.finditer(line):
            if _NAME.fullmatch(match[1]):
                found.setdefault(match[1], number)
    return found


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with every `{{name}}` replaced by its value, in one pass: a value is never filled in."""
    return _FIELD.sub(lambda match: values.get(match[1], match[0]), text)


def unfilled(text: str, values: Collection[str], optional: Collection[str] = ()) -> list[tuple[str, int]]:
    """The variables nobody has given, with their lines."""
    return [(name, line) for name, line in variables(text).items() if name not in {*values, *optional}]


def as_texts(values: Mapping[str, Any], optional: Sequence[str] = ()) -> dict[str, str]:
    """Values as they are put into a prompt: text as it is, nothing as nothing, all else as JSON."""
    return {**dict.fromkeys(optional, ""), **{name: _as_text(value) for name, value in values.items()}}


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
