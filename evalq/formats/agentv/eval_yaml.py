"""An EVAL.yaml as read, the same for all of agentv's dialects: tests, messages, assertions, triggers."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalq.errors import InputError, Problem

TRIGGER = "skill-trigger"


@dataclass(frozen=True)
class Block:
    """One piece of a message: a text, or the path of a file or an image."""

    type: str
    value: str


@dataclass(frozen=True)
class PromptMessage:
    """One message: `content` as written, and as blocks; structured content is one block of JSON text."""

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
        """The paths of the files and images attached to it."""
        return tuple(block.value for block in self.blocks if block.type in ("file", "image"))


@dataclass(frozen=True)
class Assertion:
    """One assertion: its type as agentv 4.42 names it, and every field as written.

    `written` is the type as written; "" for a bare line of text, which is a rubric, and for a mapping
    without a type, whose `type` is "" too. `members` are the assertions inside a composite.
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

    def require_value(self) -> Any:
        """Return its `value`; raise InputError if it has none."""
        value = self.fields.get("value")
        if value is None:
            raise InputError(self.problem(f"{self.written} without a value", "add value:"))
        return value

    def first_text(self, *keys: str) -> str:
        """Return the first of these fields that is a text and not blank; "" if none is."""
        for key in keys:
            value = self.fields.get(key)
            if isinstance(value, str) and value.strip():
                return value
        return ""

    def first_list(self, *keys: str) -> list[Any]:
        """Return the first of these fields that is a list and not empty; an empty one if none is."""
        for key in keys:
            value = self.fields.get(key)
            if isinstance(value, list) and value:
                return value
        return []

    def problem(self, message: str, remedy: str = "") -> Problem:
        """Return a problem on its line."""
        return Problem(message, remedy, self.file, self.line)


@dataclass(frozen=True)
class Trials:
    """How often to run each test, and how to combine the results."""

    count: int
    strategy: str | None = None
    cost_limit_usd: float | None = None


@dataclass(frozen=True)
class Execution:
    """How to run tests; `fields` is the whole block as written."""

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
class EvalTurn:
    """One turn of a conversation."""

    messages: tuple[PromptMessage, ...]
    expected_output: Any = None
    expected_messages: tuple[PromptMessage, ...] = ()
    assertions: tuple[Assertion, ...] = ()


@dataclass(frozen=True)
class EvalTest:
    """One test with its variables filled in, and what the suite adds unless the test skips the defaults.

    `index` counts all tests of the file from 1. `expected_output` is as written; in `expected_messages` it
    is a list of messages, a bare value being one message of the assistant. `fields` is the test as written.
    """

    index: int
    id: str | int | float | None
    criteria: tuple[str, ...]
    messages: tuple[PromptMessage, ...]
    suite_messages: tuple[PromptMessage, ...]
    input_files: tuple[str, ...]
    expected_output: Any
    expected_messages: tuple[PromptMessage, ...]
    assertions: tuple[Assertion, ...]
    suite_assertions: tuple[Assertion, ...]
    execution: Execution
    mode: str | None = None
    turns: tuple[EvalTurn, ...] = ()
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
        """Return a problem on its first line."""
        return Problem(message, remedy, self.file, self.line)


@dataclass(frozen=True)
class EvalFile:
    """A whole EVAL.yaml; `fields` is the document as written, `unknown_keys` what nothing reads."""

    file: str
    tests: tuple[EvalTest, ...]
    messages: tuple[PromptMessage, ...] = ()
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
    unknown_keys: tuple[Problem, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Trigger:
    """A skill ("" when the assertion names none), whether it should be used, and the assertion itself."""

    skill: str
    should_trigger: bool
    assertion: Assertion


def read_trigger(assertion: Assertion) -> Trigger:
    """Read an assertion of type skill-trigger."""
    should_trigger = assertion.fields.get("should_trigger")
    if should_trigger is None:
        should_trigger = True
    if not isinstance(should_trigger, bool):
        remedy = "write true or false, without quotes"
        raise InputError(assertion.problem("should_trigger is neither true nor false", remedy))
    return Trigger(_read_skill(assertion), should_trigger != assertion.negate, assertion)


def find_triggers(test: EvalTest) -> list[Trigger]:
    """Return a test's triggers, one per skill: its own, then the suite's for the other skills."""
    own = _one_per_skill(final_assertions(test))
    named = {trigger.skill for trigger in own}
    inherited = _one_per_skill(test.suite_assertions)
    return own + [trigger for trigger in inherited if trigger.skill not in named]


def final_assertions(test: EvalTest) -> tuple[Assertion, ...]:
    """Return the assertions on the final answer: a test's own, and those of its last turn."""
    last_turn = test.turns[-1].assertions if test.turns else ()
    return (*test.assertions, *last_turn)


def _one_per_skill(assertions: Iterable[Assertion]) -> list[Trigger]:
    found: dict[str, Trigger] = {}
    for assertion in assertions:
        if assertion.type == TRIGGER:
            trigger = read_trigger(assertion)
            first = found.setdefault(trigger.skill, trigger)
            _refuse_contradiction(first, trigger)
    return list(found.values())


def _refuse_contradiction(first: Trigger, second: Trigger) -> None:
    if first.should_trigger != second.should_trigger:
        skill = f"skill {second.skill!r}" if second.skill else "the skill"
        message = f"{skill} should and should not be used, first on line {first.assertion.line}"
        raise InputError(second.assertion.problem(message, "keep one of the two"))


def _read_skill(assertion: Assertion) -> str:
    written = assertion.fields.get("skill")
    if written is None:
        written = assertion.fields.get("value")
    name: Any = written.get("name") if isinstance(written, dict) else written
    if name is None:
        return ""
    if not isinstance(name, str):
        raise InputError(assertion.problem("the skill is not a name", "write skill: NAME"))
    return name.strip()
