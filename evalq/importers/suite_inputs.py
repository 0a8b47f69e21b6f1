"""What an eval puts to the system, as a prompt: its content, the files it names, its context."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any

from evalq.importers.suite_forms import ExecutionForm, InputForm
from evalq.importers.suite_graders import as_text

Read = Callable[[str], str]
"""The text of a file by its written path."""

_INSTRUCTIONS = ("prompt", "instruction", "instructions", "question")
_FILE_NAME = re.compile(r"[\w.~/-]*/[\w.~-]+\.[A-Za-z0-9]{1,8}")


def prompt_of(form: InputForm, title: str, read: Read) -> str:
    """The prompt of an input; `title` says what is to be done where the input itself does not."""
    context = form.context if isinstance(form.context, dict) else {}
    said = form.context if isinstance(form.context, str) else ""
    if form.type == "file":
        instruction = next((str(context[key]) for key in _INSTRUCTIONS if key in context), title)
        shown = {key: value for key, value in context.items() if key not in _INSTRUCTIONS}
        files = form.content if isinstance(form.content, list) else [form.content]
        parts = [instruction, said, context_text(shown), *(_file(path, read) for path in files)]
    else:
        parts = [as_text(form.content), said, context_text(context)]
    return "\n\n".join(text for text in parts if text)


def context_text(context: Mapping[str, Any]) -> str:
    """The context, an entry a line; "" for none."""
    lines = [f"- {name}: {_value(value)}" for name, value in context.items()]
    return "\n".join(["Context:", *lines]) if lines else ""


def skill_prompt(execution: ExecutionForm | None, value: Any, read: Read) -> str:
    """The prompt of a regression that a judge answers: the skill to use, its parameters, the input."""
    name = execution.skill_name if execution else None
    parameters = execution.parameters if execution else {}
    opening = f"Use the skill {name}." if name else ""
    stated = "\n".join(["Parameters:", *(f"- {key}: {_value(item)}" for key, item in parameters.items())])
    return "\n\n".join(
        text for text in (opening, stated if parameters else "", _input_text(value, read)) if text
    )


def shape_text(baseline: Any) -> str:
    """What the reply has to look like, for outputs that are compared by their parts; "" for plain text."""
    if not isinstance(baseline, dict | list):
        return ""
    shape = json.dumps(_shape(baseline), ensure_ascii=False, indent=2)
    return f"Reply with JSON of this form and nothing else:\n{shape}"


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shape(value[0])] if value else []
    names = {bool: "true or false", int: "number", float: "number", str: "text", type(None): "null"}
    return f"<{names.get(type(value), 'value')}>"


def _input_text(value: Any, read: Read) -> str:
    if isinstance(value, str):
        return read(value) if _FILE_NAME.fullmatch(value) else value
    if not isinstance(value, dict):
        return as_text(value)
    return "\n\n".join(f"{name}:\n{_named(item, read)}" for name, item in value.items())


def _named(value: Any, read: Read) -> str:
    """An entry of an input; one that is a path of a file is what the file holds."""
    if isinstance(value, dict) and value.get("type") == "file" and isinstance(value.get("content"), str):
        return read(value["content"])
    if isinstance(value, str):
        return read(value) if _FILE_NAME.fullmatch(value) else value
    return as_text(value)


def _file(path: Any, read: Read) -> str:
    if not isinstance(path, str):
        raise ValueError("content of a file input is no path; write the path of a file, or a list of paths")
    return f"File {PurePath(path).name}:\n{read(path)}"


def _value(value: Any) -> str:
    """Texts as they are, plain lists with commas, everything else as JSON."""
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(as_text(item) for item in value)
    return as_text(value)
