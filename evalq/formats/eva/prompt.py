"""An eva prompt's folder: its files, its meta.yml, and its text with the variables filled in."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from evalq.definitions.definition import validate
from evalq.definitions.files import display_path
from evalq.definitions.located import Located, is_storable
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError, Problem
from evalq.formats.document import root_node
from evalq.formats.known_keys import KeyFindings, list_nodes
from evalq.formats.paths import Place, read_inside

Status = Literal["draft", "tested", "ready"]
META, PROMPT, EVAL, INPUTS = "meta.yml", "prompt.xml", "eval.yml", "inputs.yml"

_FIELD = re.compile(r"\{\{([^{}\n]{1,200})\}\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_ROOT_SIGNS = ("evalq.yaml", ".git")


@dataclass(frozen=True)
class PromptFolder:
    """A prompt's folder and its repository; its files are read from nowhere else."""

    folder: Path
    root: Path

    @property
    def id(self) -> str:
        """The prompt's id: the name of its folder."""
        return self.folder.resolve().name

    @property
    def roots(self) -> tuple[Path, Path]:
        """The folders in which a path written in one of its files is tried, in this order."""
        return self.root, self.folder

    def path(self, name: str) -> Path:
        """Return the path of one of its own files."""
        return self.folder / name

    def has(self, name: str) -> bool:
        """Whether one of its own files exists."""
        return self.path(name).exists()

    def read_text(self, name: str) -> str:
        """Read one of its own files."""
        place = Place(display_path(self.path(name)))
        text = read_inside(name, (self.folder, self.root), place=place)
        if not is_storable(text):
            raise place.error("a NUL in the text", "save the file as plain UTF-8 text")
        return text

    def load_yaml(self, name: str) -> Located:
        """Load one of its own YAML files, with the line of every part."""
        return load_yaml(self.read_text(name), display_path(self.path(name)))

    def load_inputs(self, folder: str, *, place: Place | None = None) -> Located:
        """Load the inputs.yml of a folder in the repository, or else in the prompt's own folder."""
        written = f"{folder.rstrip('/')}/{INPUTS}"
        located = load_yaml(read_inside(written, self.roots, place=place), written)
        if isinstance(located.value, dict | None):
            return Located(located.value or {}, located.lines, located.file)
        raise InputError(located.problem((), "not a mapping of variables", "write NAME: value lines"))


def is_prompt_folder(path: Path) -> bool:
    """Whether a folder has a prompt and its exam."""
    return all((path / name).exists() for name in (PROMPT, EVAL))


def find_prompt(path: Path, root: Path) -> PromptFolder:
    """Find a prompt by its folder, one of its files, or its id under `prompts`."""
    folder = path.parent if path.name in (META, PROMPT, EVAL) and not path.is_dir() else path
    if not folder.is_dir() and len(path.parts) == 1 and (root / "prompts" / path).is_dir():
        folder = root / "prompts" / path
    if not folder.is_dir():
        raise InputError(
            Problem("no such prompt folder", "name a folder with meta.yml in it", display_path(path))
        )
    return PromptFolder(folder, _find_root(folder))


def find_prompts(path: Path, root: Path) -> list[PromptFolder]:
    """Find the prompt at a path, or all prompts in a folder of prompts."""
    inside = sorted(one for one in path.iterdir() if _looks_like_prompt(one)) if path.is_dir() else []
    if inside and not _looks_like_prompt(path):
        return [PromptFolder(one, _find_root(one)) for one in inside]
    return [find_prompt(path, root)]


def _looks_like_prompt(path: Path) -> bool:
    """Whether a folder looks like a prompt's, even if a file is missing."""
    return path.is_dir() and any((path / name).exists() for name in (META, PROMPT, EVAL))


def _find_root(folder: Path) -> Path:
    """Find the repository of a prompt: the folder that holds `prompts`, or the nearest with a sign of one."""
    here = folder.resolve()
    if here.parent.name == "prompts":
        return here.parent.parent
    for parent in here.parents:
        if any((parent / sign).exists() for sign in _ROOT_SIGNS):
            return parent
    return here


def find_variables(text: str) -> dict[str, int]:
    """Find the names in double braces, each with its first line."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        for match in _FIELD.finditer(line):
            if _NAME.fullmatch(match[1]):
                found.setdefault(match[1], number)
    return found


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace every `{{name}}` by its value, in one pass: values are not filled in again."""
    return _FIELD.sub(lambda match: values.get(match[1], match[0]), text)


def find_unfilled(
    text: str, values: Collection[str], optional: Collection[str] = ()
) -> list[tuple[str, int]]:
    """Find the variables that have no value, with their lines."""
    return [(name, line) for name, line in find_variables(text).items() if name not in {*values, *optional}]


def as_texts(values: Mapping[str, Any], optional: Sequence[str] = ()) -> dict[str, str]:
    """Turn values into text for a prompt: text stays, null is empty, the rest is JSON."""
    texts = dict.fromkeys(optional, "")
    texts.update({name: _as_text(value) for name, value in values.items()})
    return texts


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _refuse_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty; write a text")
    return text


def _number_as_text(value: Any) -> Any:
    """Turn a version such as 1.0, which YAML reads as a number, back into text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value


Text = Annotated[str, AfterValidator(_refuse_blank)]
TextOrNumber = Annotated[Text, BeforeValidator(_number_as_text)]


class _MetaPart(BaseModel):
    """A part of meta.yml; other tools may add keys of their own."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class PromptInput(_MetaPart):
    """A variable of the prompt."""

    name: Text
    required: bool = False


class PromotionRules(_MetaPart):
    """A prompt's own gates, in place of the usual ones."""

    min_uses: int | None = Field(default=None, ge=0)
    require_eval: bool | None = None


class PromotionState(_MetaPart):
    """A prompt's status, and the gates to the next one."""

    status: Status
    promotion: PromotionRules = PromotionRules()


class PromptMeta(_MetaPart):
    """What an evaluation needs of a meta.yml; nothing is required."""

    summary: str = ""
    description: str = ""
    triggers: list[Text] = Field(default=[])
    not_for: list[Text] = Field(default=[])
    inputs: list[PromptInput] = Field(default=[])
    model: Text | None = None

    @property
    def purpose(self) -> str:
        """What the prompt is for: its description, else its summary."""
        return self.description.strip() or self.summary.strip()


class FullMeta(PromptMeta):
    """What eva requires of a meta.yml."""

    id: Text
    title: Text
    summary: Text
    status: Status
    version: TextOrNumber
    created: TextOrNumber
    updated: TextOrNumber
    tags: list[Text] = Field(default=[])
    notes: Any = None
    promotion: PromotionRules = PromotionRules()


def read_meta(located: Located) -> PromptMeta:
    """Validate what an evaluation needs of a meta.yml; a misspelt key is an error, others are not ours."""
    refuse_misspelt_meta(located)
    return validate(PromptMeta, without_nulls(located))


def refuse_misspelt_meta(located: Located) -> None:
    """Raise InputError for keys that are nearly those of a meta.yml; all others belong to other tools."""
    meta = root_node(located)
    keys = KeyFindings()
    keys.check(meta, FullMeta.model_fields)
    keys.check(meta.get("promotion"), PromotionRules.model_fields)
    for entry in list_nodes(meta, "inputs"):
        keys.check(entry, PromptInput.model_fields)
    keys.refuse_misspelt()


def without_nulls(located: Located) -> Located:
    """Drop keys without a value; an empty file is an empty mapping."""
    value = {} if located.value is None else located.value
    if not isinstance(value, dict):
        return located
    return Located(
        {key: part for key, part in value.items() if part is not None}, located.lines, located.file
    )
