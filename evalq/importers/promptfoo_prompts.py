"""The prompts of a promptfoo configuration: texts, chats, and the files they are in."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from evalq.definitions.json_text import load_json
from evalq.definitions.validation import split_remedy
from evalq.definitions.yaml_anchors import load_anchored_yaml
from evalq.errors import InputError
from evalq.importers.attachments import Attachments
from evalq.importers.paths import Place
from evalq.importers.promptfoo_text import check_plain, names_in
from evalq.transpile.nodes import Node

SCHEME = "file://"
_ROLES = ("system", "user", "assistant")
_TEXTS = (".txt", ".md", ".j2", ".json", ".yaml", ".yml", "")
_BETWEEN = "\n---\n"


@dataclass(frozen=True)
class Template:
    """One prompt: its name, and the messages it consists of, each a role and a text to be filled in."""

    label: str
    messages: tuple[tuple[str, str], ...]

    @property
    def names(self) -> list[str]:
        """The variables it takes."""
        return list(dict.fromkeys(name for _, text in self.messages for name in names_in(text)))


def read_prompts(document: Node, attachments: Attachments) -> list[Template]:
    """Every prompt that can be filled in here; those that are programs are losses."""
    written = document.get("prompts")
    found: list[Template] = []
    for node, label in _written(written) if written else ():
        try:
            found += _templates(node, label or f"prompt-{len(found) + 1}", attachments)
        except ValueError as exc:
            message, remedy = split_remedy(str(exc))
            attachments.losses.note(node.problem(f"a prompt is left out: {message}", remedy))
    return found


def _written(prompts: Node) -> Iterator[tuple[Node, str]]:
    """Each prompt with its label: of a text, a list, or a mapping from prompts to labels."""
    if isinstance(prompts.value, str):
        yield prompts, ""
    elif isinstance(prompts.value, dict):
        for key, label in prompts.value.items():
            yield Node(prompts.located, (*prompts.loc, key), key), str(label)
    else:
        for item in prompts.items():
            yield _one(item)


def _one(item: Node) -> tuple[Node, str]:
    if isinstance(item.value, str):
        return item, ""
    label = item.get("label", "display", "id")
    named = label.value if label and isinstance(label.value, str) else ""
    content = item.get("raw", "content", "id", "file")
    return (content or item), named.removeprefix(SCHEME)


def _templates(node: Node, label: str, attachments: Attachments) -> list[Template]:
    if not isinstance(node.value, str):
        raise ValueError("it is no text; write it as one, or as file://…")
    text = node.value
    if not _is_file(text):
        return [_template(label, text, "")]
    path = text.removeprefix(SCHEME)
    suffix = PurePath(path).suffix.lower()
    if suffix not in _TEXTS or "*" in path:
        raise ValueError(f"{path!r} is a program or a pattern; name one file of text")
    content = attachments.text(path, Place(node.file, node.line))
    if content is None:
        return []
    parts = content.split(_BETWEEN) if suffix in (".txt", ".md", "") else [content]
    names = [label] if len(parts) == 1 else [f"{label}-{number}" for number in range(1, len(parts) + 1)]
    return [_template(name, part, suffix) for name, part in zip(names, parts, strict=True) if part.strip()]


def _is_file(text: str) -> bool:
    if text.startswith("exec:"):
        return True
    return text.startswith(SCHEME) and "\n" not in text


def _template(label: str, text: str, suffix: str) -> Template:
    """A chat where the text is one in JSON, or in YAML by its file's name; one message of the user's else."""
    messages = _chat(text, suffix)
    for _, content in messages or ():
        check_plain(content)
    if messages is None:
        check_plain(text)
        messages = [("user", text.strip())]
    return Template(label, tuple(messages))


def _chat(text: str, suffix: str) -> list[tuple[str, str]] | None:
    is_json, is_yaml = text.lstrip().startswith("["), suffix in (".yaml", ".yml")
    if not (is_json or is_yaml):
        return None
    try:
        value: Any = (load_json(text, "") if is_json else load_anchored_yaml(text, "")).value
    except InputError:
        return None
    if not isinstance(value, list) or not all(isinstance(one, dict) and "role" in one for one in value):
        return None
    return [_message(one) for one in value]


def _message(written: dict[str, Any]) -> tuple[str, str]:
    role, content = written.get("role"), written.get("content")
    if role not in _ROLES:
        raise ValueError(f"a message of role {role!r}; write system, user or assistant")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if not isinstance(content, str):
        raise ValueError("a message whose content is no text; write it as one")
    return str(role), content
