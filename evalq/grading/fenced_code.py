"""The fenced blocks of an answer, and the JavaScript or shell code in it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from textwrap import dedent

MAX_ANSWER_CHARS = 1_000_000
MAX_LINE_CHARS = 2000

_OPENS = re.compile(
    r"[ \t]*(?:[-*+][ \t]+|\d{1,3}[.)][ \t]+)?(?P<fence>`{3,}|~{3,})[ \t]*(?P<tag>[\w+#.-]*)(?P<rest>[^\n]*)"
)
_TAGS: Mapping[str, frozenset[str]] = {
    "javascript": frozenset({"javascript", "js", "node", "nodejs", "mjs", "cjs"}),
    "shell": frozenset({"shell", "bash", "sh", "zsh"}),
}
_DEFINITIONS: Mapping[str, str] = {
    "javascript": r"^[ \t]*+(?:export[ \t]++(?:default[ \t]++)?)?"
    r"(?:(?:async[ \t]++)?function[ \t]*+\*?[ \t]*+NAME(?![\w$])|(?:const|let|var)[ \t]++NAME(?![\w$])"
    r"|class[ \t]++NAME(?![\w$]))|exports\.NAME[ \t]*+=",
    "shell": r"^[ \t]*+(?:function[ \t]++NAME(?![\w-])|NAME[ \t]*+\([ \t]*+\))",
}


@dataclass(frozen=True)
class CodeBlock:
    """One fenced block: the language on its fence, and its text."""

    tag: str
    text: str


def fenced_blocks(text: str) -> Iterator[CodeBlock]:
    """The fenced blocks in order; a block that is never closed extends to the end."""
    tag = ""
    body: list[str] = []
    closing: re.Pattern[str] | None = None
    for line in text.split("\n"):
        if closing is None:
            opened = _OPENS.match(line[:MAX_LINE_CHARS])
            if opened is not None and "`" not in opened["rest"]:
                mark, length = re.escape(opened["fence"][0]), len(opened["fence"])
                closing = re.compile(rf"[ \t]*{mark}{{{length},}}[ \t]*$")
                tag, body = opened["tag"].lower(), []
        elif closing.match(line[:MAX_LINE_CHARS]):
            yield CodeBlock(tag, dedent("\n".join(body)))
            closing = None
        else:
            body.append(line)
    if closing is not None:
        yield CodeBlock(tag, dedent("\n".join(body)))


def extract_script(answer: str, function_name: str, language: str) -> str:
    """The JavaScript or shell code to run; empty if the answer has none.

    Blocks marked with the language count first, then unmarked ones: the last that defines the function, after
    the ones before it that do not. Without fences the whole answer counts if it defines the function. An
    empty name means a script: then the last block counts, or the whole answer.
    """
    text = answer[:MAX_ANSWER_CHARS].replace("\r\n", "\n")
    blocks = list(fenced_blocks(text))
    if not blocks:
        return text if not function_name or _defines(text, function_name, language) else ""
    for tags in (_TAGS[language], _TAGS[language] | {""}):
        found = [block.text for block in blocks if block.tag in tags]
        if not function_name and found:
            return found[-1]
        defining = [at for at, block in enumerate(found) if _defines(block, function_name, language)]
        if defining:
            before = [block for at, block in enumerate(found[: defining[-1]]) if at not in defining]
            return "\n\n".join([*before, found[defining[-1]]])
    return "\n\n".join(found)


def _defines(text: str, name: str, language: str) -> bool:
    pattern = _DEFINITIONS[language].replace("NAME", re.escape(name))
    return re.search(pattern, text, re.MULTILINE) is not None
