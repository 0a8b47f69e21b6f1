"""Transpiles an EVAL.yaml byte for byte as agentv's own transpiler does, for `--compat`.

Like the original it reads the raw document: only its own dialect, no line numbers, no inheritance.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evalq.errors import InputError, Problem
from evalq.formats.agentv.javascript_values import (
    UNDEFINED,
    WHITE_SPACE,
    Undefined,
    as_json,
    as_text,
    is_number,
    is_truthy,
    join,
    property_of,
    yaml_value,
)
from evalq.formats.agentv.skill_evals import NO_SKILL, SkillEval, SkillEvals, Transpilation, safe_name
from evalq.formats.document import load_document

KEYS = ("id", "prompt", "expected_output", "files", "assertions", "should_trigger")

Describe = Callable[[Any], list[str]]


@dataclass(frozen=True)
class Dialect:
    """What differs between versions of agentv's transpiler.

    `trigger` is the type that says whether a skill should trigger; `describe` gives the lines of every other
    assertion; `merges` says whether its YAML parser knows merge keys.
    """

    trigger: str
    describe: Describe
    merges: bool = False


def load_as_agentv(path: Path, dialect: Dialect | None = None) -> Any:
    """Load a document as agentv's parser does: strict YAML 1.2, with merge keys in later versions only."""
    return load_document(path, merges=dialect is not None and dialect.merges, plain=yaml_value).value


def transpile_as_agentv(document: Any, source: str, dialect: Dialect | None = None) -> Transpilation:
    """Build the files agentv would write, with its warnings; its errors call the file `source`.

    Without a dialect it is the first version's.
    """
    spoken = dialect or FIRST
    if not isinstance(document, dict | list):
        raise InputError(f"Invalid EVAL.yaml: expected an object in '{source}'")
    tests = property_of(document, "tests")
    if not isinstance(tests, list):
        raise InputError(f"Invalid EVAL.yaml: missing 'tests' array in '{source}'")
    suite_lines = _describe_all(_get_assertions(document), spoken)
    entries: dict[str, list[SkillEval]] = {}
    for index, test in enumerate(tests, start=1):
        for skill, entry in _transpile_test(test, index, suite_lines, spoken):
            entries.setdefault(skill, []).append(entry)
    entries = _move_strays(entries)
    documents: dict[str, SkillEvals] = {}
    for skill, found in entries.items():
        name = "evals.json" if len(entries) == 1 else f"{safe_name(skill)}.evals.json"
        documents[name] = SkillEvals(skill, tuple(found), keys=KEYS)
    warnings = [*_warn_of_deprecated(document, tests), *_warn_of_overwritten(entries, documents)]
    return Transpilation(documents, tuple(warnings))


def _get_assertions(owner: Any) -> list[Any]:
    """Return `assertions` if that is a list, else `assert`."""
    assertions, older = property_of(owner, "assertions"), property_of(owner, "assert")
    return assertions if isinstance(assertions, list) else _as_list(older)


def _describe_all(assertions: Iterable[Any], spoken: Dialect) -> list[str]:
    lines: list[str] = []
    for entry in assertions:
        if property_of(entry, "type") != spoken.trigger:
            lines += spoken.describe(entry)
    return lines


def _transpile_test(
    test: Any, index: int, suite_lines: list[str], spoken: Dialect
) -> Iterator[tuple[str, SkillEval]]:
    """Yield the test's entry for each of its triggers, even two of one skill; without any, for no skill."""
    assertions = _get_assertions(test)
    lines = [*_read_criteria(test), *_describe_all(assertions, spoken), *suite_lines]
    prompt, files = _read_input(test)
    expected = _read_expected(property_of(test, "expected_output"))
    entry = SkillEval(index, prompt, tuple(lines), expected, tuple(files))
    triggers = [one for one in assertions if property_of(one, "type") == spoken.trigger]
    if not triggers:
        yield NO_SKILL, entry
    for trigger in triggers:
        skill = property_of(trigger, "skill")
        wanted = property_of(trigger, "should_trigger") is not False
        yield skill if isinstance(skill, str) else NO_SKILL, replace(entry, should_trigger=wanted)


def _read_criteria(test: Any) -> list[str]:
    criteria = property_of(test, "criteria")
    text = criteria.strip(WHITE_SPACE) if isinstance(criteria, str) else ""
    return [text] if text else []


def _read_input(test: Any) -> tuple[str, list[str]]:
    """Read the last text of any user message, and input_files with the files of all user messages."""
    files = [path for path in _as_list(property_of(test, "input_files")) if isinstance(path, str)]
    written = property_of(test, "input")
    prompt = written if isinstance(written, str) else ""
    for message in _as_list(written):
        if property_of(message, "role") == "user":
            texts, attached = _read_content(property_of(message, "content"))
            prompt = texts[-1] if texts else prompt
            files += attached
    return prompt, files


def _read_content(content: Any) -> tuple[list[str], list[str]]:
    """Return the texts and the files of a message."""
    if isinstance(content, str):
        return [content], []
    found: dict[str, list[str]] = {"text": [], "file": []}
    for block in _as_list(content):
        kind, value = property_of(block, "type"), property_of(block, "value")
        if isinstance(value, str) and kind in ("text", "file"):
            found[kind].append(value)
    return found["text"], found["file"]


def _read_expected(written: Any) -> str | None:
    if written is None or isinstance(written, Undefined):
        return None
    if not isinstance(written, list):
        return written if isinstance(written, str) else as_json(written)
    for message in reversed(written):
        content = property_of(message, "content")
        if isinstance(content, str):
            return content
    return None


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _move_strays(entries: dict[str, list[SkillEval]]) -> dict[str, list[SkillEval]]:
    """Move tests of no skill behind those of the largest skill, if there is one with a name."""
    named = {skill: found for skill, found in entries.items() if skill != NO_SKILL}
    dominant = max(named, key=lambda skill: len(named[skill]), default="")
    if not dominant or NO_SKILL not in entries:
        return entries
    named[dominant] = named[dominant] + entries[NO_SKILL]
    return named


def _warn_of_deprecated(document: Any, tests: list[Any]) -> Iterator[Problem]:
    if _uses_assert(document):
        yield Problem("'assert' is deprecated at the suite level. Use 'assertions' instead.")
    for index, test in enumerate(tests, start=1):
        if _uses_assert(test):
            written = property_of(test, "id")
            name = index if written is None or isinstance(written, Undefined) else written
            yield Problem(f"Test '{as_text(name)}': 'assert' is deprecated. Use 'assertions' instead.")


def _warn_of_overwritten(skills: Iterable[str], documents: dict[str, SkillEvals]) -> Iterator[Problem]:
    """Warn that agentv overwrites one of its own files, which agentv itself does not."""
    kept = {document.skill_name for document in documents.values()}
    for skill in skills:
        if skill not in kept:
            yield Problem(f"the evals of skill {skill!r} are lost: another skill's file has the same name")


def _uses_assert(owner: Any) -> bool:
    has_new = not isinstance(property_of(owner, "assertions"), Undefined)
    return not has_new and not isinstance(property_of(owner, "assert"), Undefined)


def describe(entry: Any) -> list[str]:
    """Return the lines of one assertion; none if agentv drops it silently."""
    kind = property_of(entry, "type")
    by_type = _BY_NAME.get(kind) if isinstance(kind, str) else None
    return by_type(entry) if by_type else describe_unknown(entry, kind)


def describe_unknown(entry: Any, kind: Any) -> list[str]:
    """Return the line of a type without a template: its criteria, its prompt, or its name."""
    for key in ("criteria", "prompt"):
        text = property_of(entry, key)
        if isinstance(text, str):
            return [text]
    return [f"{as_text(kind)} assertion"] if is_truthy(kind) else []


def _describe_value(template: str) -> Describe:
    return lambda entry: [template.format(as_text(property_of(entry, "value")))]


def _describe_values(template: str) -> Describe:
    def describe(entry: Any) -> list[str]:
        value = property_of(entry, "value")
        text = join(value, "', '") if isinstance(value, list) else as_text(value)
        return [template.format(text)]

    return describe


def _describe_text(key: str) -> Describe:
    def describe(entry: Any) -> list[str]:
        text = property_of(entry, key)
        return [text] if isinstance(text, str) else []

    return describe


def _describe_always(text: str) -> Describe:
    return lambda _: [text]


def describe_rubrics(entry: Any) -> list[str]:
    """Return a line for each rubric, or else the prompt."""
    rubrics = property_of(entry, "rubrics")
    if not isinstance(rubrics, list) or not rubrics:
        return _describe_text("prompt")(entry)
    outcomes = [first_written(rubric, "outcome", "criteria", "id") for rubric in rubrics]
    return [outcome for outcome in outcomes if isinstance(outcome, str)]


def first_written(owner: Any, *keys: str) -> Any:
    """Return `a ?? b ?? c`: the first value that is neither null nor undefined."""
    for key in keys:
        value = property_of(owner, key)
        if value is not None and value is not UNDEFINED:
            return value
    return UNDEFINED


def _describe_code_judge(entry: Any) -> list[str]:
    command = property_of(entry, "command")
    name = first_written(entry, "name")
    if name is UNDEFINED:
        name = join(command, " ") if isinstance(command, list) else first_written(entry, "command")
    if not is_truthy(name):
        return ["Code judge assertion"]
    description = property_of(entry, "description")
    if isinstance(description, str):
        return [f"{as_text(name)}: {description}"]
    return [as_text(name)]


def _describe_list(key: str, part: str, template: str, otherwise: str) -> Describe:
    def describe(entry: Any) -> list[str]:
        entries = property_of(entry, key)
        found = [property_of(one, part) for one in _as_list(entries)]
        text = join([value for value in found if is_truthy(value)], ", ")
        return [template.format(text) if text else otherwise]

    return describe


def _describe_limit(key: str, template: str, otherwise: str) -> Describe:
    def describe(entry: Any) -> list[str]:
        limit = property_of(entry, key)
        return [template.format(as_text(limit)) if is_number(limit) else otherwise]

    return describe


TEMPLATES: dict[str, Describe] = {
    "agent-judge": describe_rubrics,
    "code-judge": _describe_code_judge,
    "contains": _describe_value("Output contains '{}'"),
    "contains-all": _describe_values("Output contains all of: '{}'"),
    "contains-any": _describe_values("Output contains any of: '{}'"),
    "cost": _describe_limit("budget", "Cost under ${}", "Cost within budget"),
    "ends-with": _describe_value("Output ends with '{}'"),
    "equals": _describe_value("Output exactly equals: {}"),
    "execution-metrics": _describe_always("Execution within metric bounds"),
    "field-accuracy": _describe_list(
        "fields", "path", "Fields {} match expected values", "Fields match expected values"
    ),
    "icontains": _describe_value("Output contains (case-insensitive) '{}'"),
    "is-json": _describe_always("Output is valid JSON"),
    "latency": _describe_limit("threshold", "Response time under {}ms", "Response time within threshold"),
    "llm-judge": _describe_text("prompt"),
    "regex": _describe_value("Output matches regex: {}"),
    "rubrics": _describe_text("criteria"),
    "starts-with": _describe_value("Output starts with '{}'"),
    "token-usage": _describe_always("Token usage within limits"),
    "tool-trajectory": _describe_list(
        "expected", "tool", "Agent called tools in order: {}", "Agent followed expected tool trajectory"
    ),
}


def with_underscores(templates: dict[str, Describe]) -> dict[str, Describe]:
    """Add the names with underscores; they may replace the dashes of every type that has a template."""
    return {**templates, **{name.replace("-", "_"): template for name, template in templates.items()}}


_BY_NAME = with_underscores(TEMPLATES)

FIRST = Dialect("trigger-judge", describe)
"""The first version, of March 2026."""
