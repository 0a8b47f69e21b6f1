"""What agentv 4's transpiler does otherwise than its first version, for `--compat agentv@4`."""

from typing import Any

from evalq.formats.agentv.compat import (
    TEMPLATES,
    Describe,
    Dialect,
    describe_rubrics,
    describe_unknown,
    first_written,
    with_underscores,
)
from evalq.formats.agentv.javascript_values import UNDEFINED, as_text, is_truthy, property_of

_REMOVED = ("agent-judge", "llm-judge", "code-judge")
_SCRIPT_SUFFIXES = (".ts", ".js", ".mts", ".mjs")
# The line agentv writes, to the letter: the agent that grades follows it.
_RUN = (
    "Run `agentv eval assert {} --agent-output <agent_output> --agent-input <original_prompt>` and check the "
    "result.{} The command accepts --agent-output (the agent's full response text) and --agent-input (the "
    'original user prompt). It returns JSON on stdout: {{"score": 0-1, "reasoning": "..."}}. A score >= 0.5 '
    "means pass (exit 0); below 0.5 means fail (exit 1)."
)


def describe_four(entry: Any) -> list[str]:
    """Return the lines of one assertion; none if agentv drops it silently."""
    kind = property_of(entry, "type")
    template = _BY_NAME.get(kind) if isinstance(kind, str) else None
    if template:
        return template(entry)
    if property_of(entry, "command") is not UNDEFINED and is_truthy(kind):
        name = _script_name(entry)
        return [_instruct(as_text(kind) if name is None else name)]
    return describe_unknown(entry, kind)


def _describe_code_grader(entry: Any) -> list[str]:
    name = first_written(entry, "name")
    if name is UNDEFINED:
        name = _script_name(entry) or "code-grader"
    description = property_of(entry, "description")
    return [_instruct(as_text(name), description if isinstance(description, str) else "")]


def _script_name(entry: Any) -> str | None:
    """The stem of the first argument of the command that is a script."""
    command = property_of(entry, "command")
    for argument in command if isinstance(command, list) else ():
        name = argument.rpartition("/")[2] if isinstance(argument, str) else ""
        stem, dot, suffix = name.rpartition(".")
        if stem and dot + suffix in _SCRIPT_SUFFIXES:
            return stem
    return None


def _instruct(name: str, description: str = "") -> str:
    return _RUN.format(name, f" This grader: {description}." if description else "")


def _templates() -> dict[str, Describe]:
    kept = {name: template for name, template in TEMPLATES.items() if name not in _REMOVED}
    return {**kept, "llm-grader": describe_rubrics, "code-grader": _describe_code_grader}


_BY_NAME = with_underscores(_templates())

FOUR = Dialect("skill-trigger", describe_four, merges=True)
"""Version 4, as of June 2026."""
