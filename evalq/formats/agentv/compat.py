"""What agentv's own first transpiler makes of an EVAL.yaml, its omissions and surprises included.

It reads the raw document and believes any of it: no dialect but its own, no line numbers, no inheritance.
"""

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from evalq.definitions.yaml_text import plain_value
from evalq.errors import InputError, Problem
from evalq.formats.agentv.skill_evals import NO_SKILL, SkillEval, SkillEvals, Transpilation, safe_name
from evalq.formats.document import load_document

WHITE_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

_INTEGER = re.compile(r"[-+]?[0-9]{1,999}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_MAX_INDEX = 2**32 - 2


class Undefined:
    """What JavaScript finds where nothing is written; unlike null, which is None."""


UNDEFINED: Final = Undefined()


def yaml_value(text: str) -> Any:
    """What an unquoted word means in YAML 1.2's core schema: a leading zero does not make it text."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return plain_value(text)


def is_truthy(value: Any) -> bool:
    """False for nothing, null, false, zero and the empty text; empty lists and mappings are true."""
    if isinstance(value, list | dict):
        return True
    return not isinstance(value, Undefined) and bool(value)


def is_number(value: Any) -> bool:
    """True for a number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_text(value: Any) -> str:
    """What `${value}` prints."""
    if isinstance(value, str):
        return value
    if isinstance(value, Undefined):
        return "undefined"
    if isinstance(value, list):
        return join(value, ",")
    if isinstance(value, dict):
        return "[object Object]"
    return as_number(value) if is_number(value) else json.dumps(value)


def join(values: list[Any], separator: str) -> str:
    """What `values.join(separator)` gives: null and undefined are empty."""
    empty = (None, UNDEFINED)
    return separator.join("" if value in empty else as_text(value) for value in values)


def as_number(number: float) -> str:
    """A number's shortest digits; an exponent from 1e21 up and below 1e-6."""
    try:
        double = float(number)
    except OverflowError:
        double = math.inf if number > 0 else -math.inf
    if math.isinf(double):
        return "Infinity" if double > 0 else "-Infinity"
    sign, digits, exponent = Decimal(repr(double)).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    return ("-" if sign and double else "") + _placed_value(text, len(text) + exponent)


def _placed_value(digits: str, point: int) -> str:
    """The digits with the decimal point before the one at `point`."""
    if digits == "0":
        return "0"
    if len(digits) <= point <= 21:
        return digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{point - 1:+d}"


def as_json(value: Any) -> str:
    """What `JSON.stringify(value)` gives: compact, and keys that are whole numbers first, in their order."""
    if isinstance(value, dict):
        keys = sorted(value, key=_key_order)
        return "{" + ",".join(f"{as_json(key)}:{as_json(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(as_json(item) for item in value) + "]"
    if is_number(value):
        text = as_number(value)
        return "null" if text.endswith("Infinity") else text
    return json.dumps(value, ensure_ascii=False)


def _key_order(key: str) -> tuple[bool, int]:
    is_index = _INDEX.fullmatch(key) is not None and int(key) <= _MAX_INDEX
    return (False, int(key)) if is_index else (True, 0)


Wording = Callable[[Any], list[str]]


def property_of(owner: Any, key: str) -> Any:
    """What `owner.key` is in JavaScript: undefined on a text or a number, an error on null."""
    if owner is None:
        raise InputError(f"Cannot read properties of null (reading '{key}')")
    return owner.get(key, UNDEFINED) if isinstance(owner, dict) else UNDEFINED


def wording(entry: Any) -> list[str]:
    """The lines of one check; none where agentv drops it without a word."""
    kind = property_of(entry, "type")
    words = _BY_NAME.get(kind) if isinstance(kind, str) else None
    return words(entry) if words else _unknown(entry, kind)


def _unknown(entry: Any, kind: Any) -> list[str]:
    for key in ("criteria", "prompt"):
        text = property_of(entry, key)
        if isinstance(text, str):
            return [text]
    return [f"{as_text(kind)} assertion"] if is_truthy(kind) else []


def _with_value(template: str) -> Wording:
    return lambda entry: [template.format(as_text(property_of(entry, "value")))]


def _with_values(template: str) -> Wording:
    def words(entry: Any) -> list[str]:
        value = property_of(entry, "value")
        return [template.format(join(value, "', '") if isinstance(value, list) else as_text(value))]

    return words


def _only_text(key: str) -> Wording:
    def words(entry: Any) -> list[str]:
        text = property_of(entry, key)
        return [text] if isinstance(text, str) else []

    return words


def _always(text: str) -> Wording:
    return lambda _: [text]


def _agent_judge(entry: Any) -> list[str]:
    rubrics = property_of(entry, "rubrics")
    if not isinstance(rubrics, list) or not rubrics:
        return _only_text("prompt")(entry)
    outcomes = [_first_written(rubric, "outcome", "criteria", "id") for rubric in rubrics]
    return [outcome for outcome in outcomes if isinstance(outcome, str)]


def _first_written(owner: Any, *keys: str) -> Any:
    """`a ?? b ?? c`: the first that is neither null nor undefined."""
    found = [property_of(owner, key) for key in keys]
    return next((value for value in found if value is not None and value is not UNDEFINED), UNDEFINED)


def _code_judge(entry: Any) -> list[str]:
    command = property_of(entry, "command")
    name = _first_written(entry, "name")
    if name is UNDEFINED:
        name = join(command, " ") if isinstance(command, list) else _first_written(entry, "command")
    if not is_truthy(name):
        return ["Code judge assertion"]
    description = property_of(entry, "description")
    return [as_text(name) + (f": {description}" if isinstance(description, str) else "")]


def _listed(key: str, part: str, template: str, otherwise: str) -> Wording:
    def words(entry: Any) -> list[str]:
        entries = property_of(entry, key)
        found = [property_of(one, part) for one in (entries if isinstance(entries, list) else [])]
        text = join([value for value in found if is_truthy(value)], ", ")
        return [template.format(text) if text else otherwise]

    return words


def _limit(key: str, template: str, otherwise: str) -> Wording:
    def words(entry: Any) -> list[str]:
        limit = property_of(entry, key)
        return [template.format(as_text(limit)) if is_number(limit) else otherwise]

    return words


WORDINGS: dict[str, Wording] = {
    "agent-judge": _agent_judge,
    "code-judge": _code_judge,
    "contains": _with_value("Output contains '{}'"),
    "contains-all": _with_values("Output contains all of: '{}'"),
    "contains-any": _with_values("Output contains any of: '{}'"),
    "cost": _limit("budget", "Cost under ${}", "Cost within budget"),
    "ends-with": _with_value("Output ends with '{}'"),
    "equals": _with_value("Output exactly equals: {}"),
    "execution-metrics": _always("Execution within metric bounds"),
    "field-accuracy": _listed(
        "fields", "path", "Fields {} match expected values", "Fields match expected values"
    ),
    "icontains": _with_value("Output contains (case-insensitive) '{}'"),
    "is-json": _always("Output is valid JSON"),
    "latency": _limit("threshold", "Response time under {}ms", "Response time within threshold"),
    "llm-judge": _only_text("prompt"),
    "regex": _with_value("Output matches regex: {}"),
    "rubrics": _only_text("criteria"),
    "starts-with": _with_value("Output starts with '{}'"),
    "token-usage": _always("Token usage within limits"),
    "tool-trajectory": _listed(
        "expected", "tool", "Agent called tools in order: {}", "Agent followed expected tool trajectory"
    ),
}

# Every name with a dash may be written with underscores; the trigger's, which has no words, may not.
_BY_NAME = {**WORDINGS, **{name.replace("-", "_"): words for name, words in WORDINGS.items()}}


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
    cases: dict[str, list[SkillEval]] = {}
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


def _placed(test: Any, index: int, suite_lines: list[str]) -> Iterable[tuple[str, SkillEval]]:
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


def _case(test: Any, index: int, assertions: tuple[str, ...]) -> SkillEval:
    prompt, files = _asked(test)
    expected = _expected(property_of(test, "expected_output"))
    return SkillEval(index, prompt, assertions, expected, tuple(files))


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


def _without_strays(cases: dict[str, list[SkillEval]]) -> dict[str, list[SkillEval]]:
    """Tests of no skill behind those of the largest skill, unless there is none, or its name is empty."""
    named = [skill for skill in cases if skill != NO_SKILL]
    dominant = max(named, key=lambda skill: len(cases[skill]), default="")
    if not dominant or NO_SKILL not in cases:
        return cases
    joined = {dominant: cases[dominant] + cases[NO_SKILL]}
    return {skill: joined.get(skill, cases[skill]) for skill in named}


def _documents(cases: dict[str, list[SkillEval]]) -> dict[str, SkillEvals]:
    """One skill's file is evals.json; of several that come out under one name the last stays."""
    is_alone = len(cases) == 1
    return {
        "evals.json" if is_alone else f"{safe_name(skill)}.evals.json": SkillEvals(
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


def _overwritten(cases: Iterable[str], documents: dict[str, SkillEvals]) -> Iterable[Problem]:
    """The one thing agentv is silent about and we are not: a file of its own that it writes over."""
    kept = {document.skill_name for document in documents.values()}
    for skill in cases:
        if skill not in kept:
            yield Problem(f"the evals of skill {skill!r} are lost: another skill's file has the same name")


def _is_deprecated(owner: Any) -> bool:
    has_new = not isinstance(property_of(owner, "assertions"), Undefined)
    return not has_new and not isinstance(property_of(owner, "assert"), Undefined)
