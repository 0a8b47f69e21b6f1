"""What agentv's own first transpiler makes of an EVAL.yaml, its omissions and surprises included.

It reads the raw document and believes any of it: no dialect but its own, no line numbers, no inheritance.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalq.errors import InputError, Problem
from evalq.transpile.agentv_wording import property_of, wording
from evalq.transpile.documents import NO_SKILL, Document, EvalCase, Transpilation, safe_name
from evalq.transpile.eval_document import load_document
from evalq.transpile.javascript import WHITE_SPACE, Undefined, as_json, as_text, yaml_value

KEYS = ("id", "prompt", "expected_output", "files", "assertions", "should_trigger")
TRIGGER = "trigger-judge"


def load_as_agentv(path: Path) -> Any:
    """The document as agentv's parser gives it: YAML 1.2 to the letter, so a merge key is a plain key."""
    return load_document(path, merges=False, plain=yaml_value).value


def transpile_as_agentv(document: Any, source: str) -> Transpilation:
    """The files agentv would write, by name, with its warnings; `source` is the file's name in its errors."""
    if not isinstance(document, dict | list):
        raise InputError(f"Invalid EVAL.yaml: expected an object in '{source}'")
    tests = property_of(document, "tests")
    if not isinstance(tests, list):
        raise InputError(f"Invalid EVAL.yaml: missing 'tests' array in '{source}'")
    suite_lines = _lines(_assertions(document))
    cases: dict[str, list[EvalCase]] = {}
    for index, test in enumerate(tests, start=1):
        for skill, case in _placed(test, index, suite_lines):
            cases.setdefault(skill, []).append(case)
    kept = _without_strays(cases)
    documents = _documents(kept)
    warnings = [*_deprecated(document, tests), *_overwritten(kept, documents)]
    return Transpilation(documents, tuple(warnings))


def _assertions(owner: Any) -> list[Any]:
    """`assertions` if that is a list, else `assert`."""
    found = [property_of(owner, key) for key in ("assertions", "assert")]
    return next((entries for entries in found if isinstance(entries, list)), [])


def _lines(assertions: Iterable[Any]) -> list[str]:
    spoken = [entry for entry in assertions if property_of(entry, "type") != TRIGGER]
    return [line for entry in spoken for line in wording(entry)]


def _placed(test: Any, index: int, suite_lines: list[str]) -> Iterable[tuple[str, EvalCase]]:
    """The test's entry once for each of its triggers, even two of one skill; else once for no skill."""
    assertions = _assertions(test)
    case = _case(test, index, (*_criteria(test), *_lines(assertions), *suite_lines))
    triggers = [entry for entry in assertions if property_of(entry, "type") == TRIGGER]
    if not triggers:
        yield NO_SKILL, case
    for trigger in triggers:
        skill = property_of(trigger, "skill")
        wanted = property_of(trigger, "should_trigger") is not False
        yield skill if isinstance(skill, str) else NO_SKILL, replace(case, should_trigger=wanted)


def _case(test: Any, index: int, assertions: tuple[str, ...]) -> EvalCase:
    prompt, files = _asked(test)
    expected = _expected(property_of(test, "expected_output"))
    return EvalCase(index, prompt, assertions, expected, tuple(files))


def _criteria(test: Any) -> Iterable[str]:
    criteria = property_of(test, "criteria")
    text = criteria.strip(WHITE_SPACE) if isinstance(criteria, str) else ""
    return [text] if text else []


def _asked(test: Any) -> tuple[str, list[str]]:
    """The last text of any user message, and the files of all of them after input_files."""
    files = [path for path in _list(property_of(test, "input_files")) if isinstance(path, str)]
    asked = property_of(test, "input")
    prompt = asked if isinstance(asked, str) else ""
    for message in _list(asked):
        if property_of(message, "role") == "user":
            texts, attached = _content(property_of(message, "content"))
            prompt = texts[-1] if texts else prompt
            files += attached
    return prompt, files


def _content(content: Any) -> tuple[list[str], list[str]]:
    if isinstance(content, str):
        return [content], []
    found: dict[str, list[str]] = {"text": [], "file": []}
    for block in _list(content):
        kind, value = property_of(block, "type"), property_of(block, "value")
        if isinstance(value, str) and kind in ("text", "file"):
            found[kind].append(value)
    return found["text"], found["file"]


def _expected(written: Any) -> str | None:
    if written is None or isinstance(written, Undefined):
        return None
    if isinstance(written, list):
        contents = (property_of(message, "content") for message in reversed(written))
        return next((content for content in contents if isinstance(content, str)), None)
    return written if isinstance(written, str) else as_json(written)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _without_strays(cases: dict[str, list[EvalCase]]) -> dict[str, list[EvalCase]]:
    """Tests of no skill behind those of the largest skill, unless there is none, or its name is empty."""
    named = [skill for skill in cases if skill != NO_SKILL]
    dominant = max(named, key=lambda skill: len(cases[skill]), default="")
    if not dominant or NO_SKILL not in cases:
        return cases
    joined = {dominant: cases[dominant] + cases[NO_SKILL]}
    return {skill: joined.get(skill, cases[skill]) for skill in named}


def _documents(cases: dict[str, list[EvalCase]]) -> dict[str, Document]:
    """One skill's file is evals.json; of several that come out under one name the last stays."""
    is_alone = len(cases) == 1
    return {
        "evals.json" if is_alone else f"{safe_name(skill)}.evals.json": Document(
            skill, tuple(found), keys=KEYS
        )
        for skill, found in cases.items()
    }


def _deprecated(document: Any, tests: list[Any]) -> Iterable[Problem]:
    if _is_deprecated(document):
        yield Problem("'assert' is deprecated at the suite level. Use 'assertions' instead.")
    for index, test in enumerate(tests, start=1):
        if _is_deprecated(test):
            written = property_of(test, "id")
            name = index if written is None or isinstance(written, Undefined) else written
            yield Problem(f"Test '{as_text(name)}': 'assert' is deprecated. Use 'assertions' instead.")


def _overwritten(cases: Iterable[str], documents: dict[str, Document]) -> Iterable[Problem]:
    """The one thing agentv is silent about and we are not: a file of its own that it writes over."""
    kept = {document.skill_name for document in documents.values()}
    for skill in cases:
        if skill not in kept:
            yield Problem(f"the evals of skill {skill!r} are lost: another skill's file has the same name")


def _is_deprecated(owner: Any) -> bool:
    has_new = not isinstance(property_of(owner, "assertions"), Undefined)
    return not has_new and not isinstance(property_of(owner, "assert"), Undefined)
