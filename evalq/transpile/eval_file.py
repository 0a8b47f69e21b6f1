"""What an EVAL.yaml says, whichever of agentv's dialects it is written in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evalq.errors import Problem


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
