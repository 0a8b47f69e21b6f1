"""An eva prompt's folder: where its files are, what is in them, and its text with the variables filled in."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from evalq.definitions.definition import validate
from evalq.definitions.files import display_path
from evalq.definitions.located import Located, is_storable
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError, Problem
from evalq.formats.paths import Place, read_inside
from evalq.formats.problems import Notes

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
        place = Place(display_path(self.path(name)))
        text = read_inside(name, (self.folder, self.root), place=place)
        if not is_storable(text):
            raise place.error("a NUL in the text", "save the file as plain UTF-8 text")
        return text

    def located(self, name: str) -> Located:
        """One of its own YAML files, with the line of every part."""
        return load_yaml(self.text(name), display_path(self.path(name)))

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
        raise InputError(
            Problem("no such prompt folder", "name a folder with meta.yml in it", display_path(path))
        )
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


Status = Literal["draft", "tested", "ready"]
STATUSES: tuple[Status, ...] = get_args(Status)


def _is_said(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty; write a text")
    return text


def _meta_as_text(value: Any) -> Any:
    """A version 1.0 is a number to YAML and a text to everybody else."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Text = Annotated[str, AfterValidator(_is_said)]
Mark = Annotated[Text, BeforeValidator(_meta_as_text)]


class _Lenient(BaseModel):
    """What eva's own tools and others may write more into."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class Input(_Lenient):
    """A variable of the prompt."""

    name: Text
    required: bool = False


class Promotion(_Lenient):
    """Other gates than the usual ones."""

    min_uses: int | None = Field(default=None, ge=0)
    require_eval: bool | None = None


class Standing(_Lenient):
    """How far a prompt has come, and what it asks for to go further."""

    status: Status
    promotion: Promotion = Promotion()


class PromptMeta(_Lenient):
    """What an evaluation needs of it; nothing is required."""

    summary: str = ""
    description: str = ""
    triggers: list[Text] = Field(default=[])
    not_for: list[Text] = Field(default=[])
    inputs: list[Input] = Field(default=[])
    model: Text | None = None

    @property
    def says(self) -> str:
        """What the prompt is for: its description, else its summary."""
        return self.description.strip() or self.summary.strip()


class FullMeta(PromptMeta):
    """What eva demands of it."""

    id: Text
    title: Text
    summary: Text
    status: Status
    version: Mark
    created: Mark
    updated: Mark
    tags: list[Text] = Field(default=[])
    notes: Any = None
    promotion: Promotion = Promotion()


def read_meta(located: Located) -> PromptMeta:
    """What an evaluation needs."""
    return validate(PromptMeta, without_nulls(located))


def without_nulls(located: Located) -> Located:
    """A key without a value is one that is left out; a file without anything is an empty mapping."""
    value = {} if located.value is None else located.value
    if not isinstance(value, dict):
        return located
    return Located(
        {key: part for key, part in value.items() if part is not None}, located.lines, located.file
    )


LONGEST_DESCRIPTION = 1024
MANY_WORDS, TOO_MANY_WORDS = 3500, 5000
MANY_LINES = 200

_RESERVED = ("claude", "anthropic")
_SAYS_WHEN = re.compile(r"\buse when\b", re.IGNORECASE)


def check_skill(notes: Notes, meta: Located) -> None:
    """What a skill's meta.yml must be like, beyond what every prompt's must."""
    value: Mapping[str, Any] = meta.value
    name = str(value.get("id", ""))
    for word in _RESERVED:
        if word in name.lower():
            remedy = "skills may not be named so; rename the folder and id"
            notes.problem(meta.problem(("id",), f"the id holds {word!r}", remedy))
    description = value.get("description")
    if isinstance(description, str) and description.strip():
        _check_description(notes, meta, description)


def _check_description(notes: Notes, meta: Located, description: str) -> None:
    loc = ("description",)
    if len(description) > LONGEST_DESCRIPTION:
        message = f"the description has {len(description)} characters, {LONGEST_DESCRIPTION} at most are read"
        notes.problem(meta.problem(loc, message, "shorten it"))
    if "<" in description or ">" in description:
        notes.problem(meta.problem(loc, "the description holds < or >", "write it without angle brackets"))
    if not _SAYS_WHEN.search(description):
        remedy = "add a sentence that begins 'Use when'"
        notes.warning(meta.problem(loc, "the description does not say when to use it", remedy))


def check_length(notes: Notes, text: str, file: str) -> None:
    """A prompt that says something, and no more than is read with care."""
    words, lines = len(text.split()), sum(1 for line in text.splitlines() if line.strip())
    if not words:
        notes.problem(Problem("the prompt is empty", "write what the model is to do", file))
    if words >= TOO_MANY_WORDS:
        remedy = f"keep it under {TOO_MANY_WORDS}; move details into files of their own"
        notes.problem(Problem(f"{words} words are too many", remedy, file))
    elif words >= MANY_WORDS:
        notes.warning(Problem(f"{words} words are many", f"keep it under {MANY_WORDS}", file))
    if lines >= MANY_LINES:
        notes.warning(
            Problem(f"{lines} lines that are not blank are many", f"keep it under {MANY_LINES}", file)
        )
