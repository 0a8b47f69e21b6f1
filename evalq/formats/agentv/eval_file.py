"""What an EVAL.yaml says, whichever of agentv's dialects it is written in."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from evalq.errors import InputError, Problem


@dataclass(frozen=True)
class Block:
    """One piece of a message: a text, or the path of a file or an image."""

    type: str
    value: str


@dataclass(frozen=True)
class Message:
    """One message: `content` as written, and its blocks; structured content is one block of JSON text."""

    role: str
    content: Any
    blocks: tuple[Block, ...] = ()
    line: int = 0

    @property
    def text(self) -> str:
        """Its text blocks, one after the other."""
        return "".join(block.value for block in self.blocks if block.type == "text")

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of what is attached to it."""
        return tuple(block.value for block in self.blocks if block.type in ("file", "image"))


@dataclass(frozen=True)
class Assertion:
    """One check: its type in the words of agentv 4.42, and every field as it was written.

    `written` is the type as written; "" for a bare line of text, which is a rubric, and for a mapping
    without a type, whose `type` is "" too. `members` are the checks inside a composite.
    """

    type: str
    written: str
    fields: Mapping[str, Any]
    members: tuple["Assertion", ...] = ()
    name: str | None = None
    weight: float | None = None
    required: bool | float | None = None
    min_score: float | None = None
    negate: bool = False
    file: str = ""
    line: int = 0

    def problem(self, message: str, remedy: str = "") -> Problem:
        """Something to mend on its line."""
        return Problem(message, remedy, self.file, self.line)


@dataclass(frozen=True)
class Trials:
    """How often each test is asked, and how its results become one."""

    count: int
    strategy: str | None = None
    cost_limit_usd: float | None = None


@dataclass(frozen=True)
class Execution:
    """How tests are to be run; `fields` is the whole block as written."""

    target: str | None = None
    targets: tuple[Any, ...] = ()
    workers: int | None = None
    skip_defaults: bool = False
    cache: bool | None = None
    trials: Trials | None = None
    budget_usd: float | None = None
    fail_on_error: bool | None = None
    threshold: float | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Turn:
    """One turn of a conversation."""

    messages: tuple[Message, ...]
    expected_output: Any = None
    expected_messages: tuple[Message, ...] = ()
    assertions: tuple[Assertion, ...] = ()


@dataclass(frozen=True)
class EvalTest:
    """One test, its variables filled in, with what the suite adds to it: nothing when it skips the defaults.

    `index` counts all tests of the file from 1. `expected_output` is as written, and what is no message in
    it is one message of the assistant in `expected_messages`. `fields` is the test as written.
    """

    index: int
    id: str | int | float | None
    criteria: tuple[str, ...]
    messages: tuple[Message, ...]
    suite_messages: tuple[Message, ...]
    input_files: tuple[str, ...]
    expected_output: Any
    expected_messages: tuple[Message, ...]
    assertions: tuple[Assertion, ...]
    suite_assertions: tuple[Assertion, ...]
    execution: Execution
    mode: str | None = None
    turns: tuple[Turn, ...] = ()
    aggregation: str | None = None
    on_turn_failure: str | None = None
    window_size: int | None = None
    vars: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    workspace: Any = None
    conversation_id: str | None = None
    suite: str | None = None
    depends_on: tuple[str, ...] = ()
    on_dependency_failure: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    file: str = ""
    line: int = 0

    def problem(self, message: str, remedy: str = "") -> Problem:
        """Something to mend on the line it begins on."""
        return Problem(message, remedy, self.file, self.line)


@dataclass(frozen=True)
class EvalFile:
    """A whole EVAL.yaml; `fields` is the document as written."""

    file: str
    tests: tuple[EvalTest, ...]
    messages: tuple[Message, ...] = ()
    input_files: tuple[str, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    execution: Execution = field(default_factory=Execution)
    name: str | None = None
    description: str | None = None
    category: str | None = None
    version: str | None = None
    author: str | None = None
    tags: tuple[str, ...] = ()
    license: str | None = None
    requires: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    preprocessors: tuple[Any, ...] = ()
    workspace: Any = None
    runs_per_query: int | None = None
    trigger_threshold: float | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)


def text_of(value: Any) -> str:
    """Text stays as it is, numbers lose needless zeros, lists and mappings become compact JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return number_text(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def number_text(number: float) -> str:
    """Without an exponent or needless zeros: 5, 0.1, 0.0000001."""
    text = f"{Decimal(str(number)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


MAX_FILLED_CHARS = 64_000_000

# Not ${{ NAME }}: that is the environment's, and stays as written.
_PLACEHOLDER = re.compile(r"(?<!\$)\{\{\s*([A-Za-z_][\w-]*(?:\.[\w-]+)*)\s*\}\}")


class Filling:
    """Fills variables in, up to a bound over all of a file: one long variable may be named many times."""

    def __init__(self, most_chars: int = MAX_FILLED_CHARS) -> None:
        self._left = most_chars

    def fill(self, value: Any, variables: Mapping[str, Any]) -> Any:
        """The value with every `{{name}}` or `{{name.part}}` that has one replaced; others stay."""
        if not variables:
            return value
        if isinstance(value, str):
            return _PLACEHOLDER.sub(lambda found: self._text(found, variables), value)
        if isinstance(value, list):
            return [self.fill(item, variables) for item in value]
        if isinstance(value, dict):
            return {key: self.fill(item, variables) for key, item in value.items()}
        return value

    def whole(self, template: str, variables: Mapping[str, Any]) -> Any:
        """What a template that is one placeholder and nothing else stands for; else its text filled in."""
        alone = _PLACEHOLDER.fullmatch(template.strip())
        found = _look_up(alone[1], variables) if alone else None
        return self.fill(template, variables) if found is None else found

    def _text(self, found: re.Match[str], variables: Mapping[str, Any]) -> str:
        value = _look_up(found[1], variables)
        text = found[0] if value is None else text_of(value)
        self._left -= len(text)
        if self._left < 0:
            raise ValueError("the variables filled in are too long")
        return text


def _look_up(path: str, variables: Mapping[str, Any]) -> Any:
    value: Any = variables
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


ASSERTION_KEYS = ("assertions", "assert", "evaluators", "graders")

# Every type of agentv 4.42, by which the others are known.
TYPES = frozenset(
    {
        "code-grader",
        "composite",
        "contains",
        "contains-all",
        "contains-any",
        "cost",
        "ends-with",
        "equals",
        "execution-metrics",
        "field-accuracy",
        "icontains",
        "icontains-all",
        "icontains-any",
        "include",
        "is-json",
        "latency",
        "llm-grader",
        "regex",
        "rubrics",
        "skill-trigger",
        "starts-with",
        "token-usage",
        "tool-trajectory",
    }
)

_ALIASES = {
    "agent-judge": "llm-grader",
    "assert-set": "composite",
    "code": "code-grader",
    "code-judge": "code-grader",
    "llm-judge": "llm-grader",
    "llm-rubric": "llm-grader",
    "rubric": "rubrics",
    "script": "code-grader",
    "skill-used": "skill-trigger",
    "trigger-judge": "skill-trigger",
}


def normal_type(written: str) -> tuple[str, bool]:
    """The type in the words of agentv 4.42, and whether its name denies it: not-contains, not-skill-used."""
    name = _plain(written)
    if name in TYPES:
        return name, False
    denied = _plain(name.removeprefix("not-"))
    return (denied, True) if name.startswith("not-") and denied in TYPES else (name, False)


def _plain(name: str) -> str:
    dashed = name.strip().replace("_", "-")
    return _ALIASES.get(dashed, dashed)


TRIGGER = "skill-trigger"


@dataclass(frozen=True)
class Trigger:
    """A skill ("" when the check names none), whether it should be used, and the check that says so."""

    skill: str
    should_trigger: bool
    assertion: Assertion


def trigger_of(assertion: Assertion) -> Trigger:
    """The trigger a check of type skill-trigger stands for."""
    written = assertion.fields.get("should_trigger")
    wanted = True if written is None else written
    if not isinstance(wanted, bool):
        remedy = "write true or false, without quotes"
        raise InputError(assertion.problem("should_trigger is neither true nor false", remedy))
    return Trigger(_skill(assertion), wanted != assertion.negate, assertion)


def triggers_of(test: EvalTest) -> list[Trigger]:
    """A test's triggers, one for each skill: its own, then the suite's for skills it says nothing about."""
    own = _one_per_skill(asked_of(test))
    named = {trigger.skill for trigger in own}
    return own + [found for found in _one_per_skill(test.suite_assertions) if found.skill not in named]


def asked_of(test: EvalTest) -> tuple[Assertion, ...]:
    """The checks on the answer to the prompt: a test's own, and those of its last turn."""
    last = test.turns[-1].assertions if test.turns else ()
    return (*test.assertions, *last)


def _one_per_skill(assertions: Iterable[Assertion]) -> list[Trigger]:
    found: dict[str, Trigger] = {}
    for assertion in assertions:
        if assertion.type == TRIGGER:
            trigger = trigger_of(assertion)
            first = found.setdefault(trigger.skill, trigger)
            _refuse_contradiction(first, trigger)
    return list(found.values())


def _refuse_contradiction(first: Trigger, second: Trigger) -> None:
    if first.should_trigger != second.should_trigger:
        skill = f"skill {second.skill!r}" if second.skill else "the skill"
        message = f"{skill} should and should not be used, first said on line {first.assertion.line}"
        raise InputError(second.assertion.problem(message, "keep one of the two"))


def _skill(assertion: Assertion) -> str:
    written = assertion.fields.get("skill")
    if written is None:
        written = assertion.fields.get("value")
    name: Any = written.get("name") if isinstance(written, dict) else written
    if name is None:
        return ""
    if not isinstance(name, str):
        raise InputError(assertion.problem("the skill is not a name", "write skill: NAME"))
    return name.strip()
