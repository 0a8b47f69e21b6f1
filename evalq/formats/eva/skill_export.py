"""Exports an eva prompt as a skill: a SKILL.md with its description, its version and its text."""

import json
from pathlib import Path

from evalq.definitions.definition import validate
from evalq.definitions.files import display_path
from evalq.errors import InputError, Problem, Refused
from evalq.formats.eva.prompt import META, PROMPT, FullMeta, PromptFolder, refuse_misspelt_meta, without_nulls

SKILL = "SKILL.md"
_SOURCE = "eva-hq"
_MAX_DESCRIPTION_CHARS = 1024


def skill_text(folder: PromptFolder, *, force: bool = False) -> str:
    """The SKILL.md of a prompt that is ready; with `force`, of any prompt with a description."""
    located = folder.load_yaml(META)
    refuse_misspelt_meta(located)
    meta = validate(FullMeta, without_nulls(located))
    if meta.status != "ready" and not force:
        raise Refused(
            f"{folder.id} is {meta.status}: only a ready prompt is exported; promote it, or give --force"
        )
    description = " ".join(meta.description.split())
    is_valid = 0 < len(description) <= _MAX_DESCRIPTION_CHARS and not set(description) & set("<>")
    if not is_valid:
        remedy = f"write one of at most {_MAX_DESCRIPTION_CHARS} characters, without < and >"
        message = "no description that a skill may have"
        line = located.line_of(("description",)) or 1
        raise InputError(Problem(message, remedy, display_path(folder.path(META)), line))
    lines = [
        "---",
        f"name: {json.dumps(folder.id)}",
        f"description: {json.dumps(description, ensure_ascii=False)}",
        "metadata:",
        f"  version: {json.dumps(meta.version)}",
        f"  source_model: {json.dumps(meta.model or '')}",
        f"  source: {json.dumps(_SOURCE)}",
        "---",
        "",
        folder.read_text(PROMPT).strip(),
        "",
    ]
    return "\n".join(lines)


def skill_folder(folder: PromptFolder) -> Path:
    """Where eva puts the skill of a prompt: dist/skills/ID of its repository."""
    return folder.root / "dist" / "skills" / folder.id
