"""Reads an EVAL.yaml into one shape, from any of agentv's dialects, with every problem placed."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalq.definitions.files import display_path, read_text
from evalq.definitions.located import Loc, Located, load_json
from evalq.definitions.yaml_text import load_anchored_yaml, plain_value
from evalq.errors import InputError, Problem
from evalq.formats.agentv.eval_file import Assertion, EvalFile, EvalTest, Filling, Message, Turn, text_of
from evalq.formats.agentv.read_parts import Node, read_assertions, read_execution, read_messages, root

TEST_KEYS = ("tests", "eval_cases", "evalcases", "evalCases")
_SCHEME = "file://"


def load_document(path: Path, *, merges: bool = True, plain: Callable[[str], Any] = plain_value) -> Located:
    """The value in a YAML, JSON or JSONL file; a JSONL file's is the list of its lines."""
    text, file = read_text(path), display_path(path)
    match path.suffix.lower():
        case ".json":
            return load_json(text, file)
        case ".jsonl":
            return _lines(text, file)
        case _:
            return load_anchored_yaml(text, file, merges=merges, plain=plain)


def tests_of(document: Node, path: Path) -> Iterator[Node]:
    """Every test of the document at `path`, those in files it names among them.

    A file is followed one step, and only inside the folder of the document.
    """
    tests = document if isinstance(document.value, list) else document.get(*TEST_KEYS)
    if tests is None:
        document.refuse("no tests", "list them under tests:")
    if isinstance(tests.value, str):
        yield from _followed(tests, tests.value, path)
        return
    for test in tests.items():
        reference = _reference(test)
        if reference is None:
            yield test
        else:
            yield from _followed(test, reference, path)


def _lines(text: str, file: str) -> Located:
    # Not splitlines(): it also splits at separators that may stand inside a JSON string.
    numbered = [(n, line) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]
    lines: dict[Loc, int] = {(): 1, **{(i,): n for i, (n, _) in enumerate(numbered)}}
    return Located([load_json(line, file, first_line=n).value for n, line in numbered], lines, file)


def _reference(test: Node) -> str | None:
    """The path where an entry of the list is one: `file://cases.yaml`, or a mapping with `include`."""
    if isinstance(test.value, str) and test.value.startswith(_SCHEME):
        return test.value
    include = test.get("include")
    if include is None:
        return None
    if test.get("type") and test.mapping()["type"] != "tests":
        test.refuse("only tests can be included, not a whole suite", "transpile that file by itself")
    return include.text()


def _followed(node: Node, reference: str, path: Path) -> Iterator[Node]:
    for found in _document_files(node, reference.removeprefix(_SCHEME), path.parent):
        listed = root(load_document(found))
        tests = listed if isinstance(listed.value, list) else listed.get(*TEST_KEYS)
        if tests is None:
            listed.refuse("no tests", "write a list of tests")
        yield from tests.items()


def _document_files(node: Node, reference: str, folder: Path) -> list[Path]:
    """The one file, or those a pattern matches, in the order of their names."""
    if not any(sign in reference for sign in "*?["):
        return [_inside(node, folder / reference, folder)]
    if Path(reference).is_absolute() or ".." in Path(reference).parts:
        node.refuse(f"{reference!r} leaves the folder of the file", "name files in or under that folder")
    matches = sorted(found for found in folder.glob(reference) if found.is_file())
    if not matches:
        node.refuse(f"no file matches {reference!r}", "check the pattern")
    return [_inside(node, found, folder) for found in matches]


def _inside(node: Node, found: Path, folder: Path) -> Path:
    if not found.resolve().is_relative_to(folder.resolve()):
        remedy = "name a file in or under that folder"
        node.refuse(f"{str(node.value)!r} is outside the folder of the file", remedy)
    if not found.is_file():
        node.refuse(f"no such file: {display_path(found)}", "name a file of tests: YAML, JSON or JSONL")
    return found


_INPUT_KEYS = ("input", "input_messages")
_EXPECTED_KEYS = ("expected_output", "expected_messages")
_CRITERIA_KEYS = ("criteria", "expected_outcome")


def read_eval_yaml(path: Path) -> EvalFile:
    """The EVAL.yaml at `path` (or its JSON or JSONL twin), and the files of tests it names."""
    return read_eval_document(load_document(path), path)


def read_eval_document(located: Located, path: Path) -> EvalFile:
    """The document as loaded; `path` is where files it names are looked for."""
    document = root(located)
    if not isinstance(document.value, dict | list):
        document.refuse("not an EVAL.yaml", "write a mapping with tests:")
    suite = _Suite(document)
    return EvalFile(
        file=located.file,
        tests=_tests(suite, path),
        messages=suite.messages,
        input_files=suite.input_files,
        assertions=suite.assertions,
        execution=suite.execution,
        tags=_tags(document),
        requires=_mapping(document, "requires"),
        metadata=_mapping(document, "metadata"),
        preprocessors=tuple(_list(document, "preprocessors")),
        workspace=_value(document, "workspace"),
        runs_per_query=_runs_per_query(document),
        trigger_threshold=_trigger_threshold(document),
        fields=document.value if isinstance(document.value, dict) else {},
        **{name: _text(document, name) for name in _SUITE_TEXTS},
    )


_SUITE_TEXTS = ("name", "description", "category", "version", "author", "license")
_TEST_TEXTS = (
    "mode",
    "aggregation",
    "on_turn_failure",
    "conversation_id",
    "suite",
    "on_dependency_failure",
)


@dataclass
class _Suite:
    """What all tests of a file share, and the variables filled in so far."""

    document: Node
    filling: Filling = field(default_factory=Filling)

    def __post_init__(self) -> None:
        self.messages = read_messages(self._input)
        self.assertions = read_assertions(self.document)
        self.execution = read_execution(self.document)
        self.input_files = _files(self.document)

    @property
    def _input(self) -> Node | None:
        return self.document.get(*_INPUT_KEYS)

    def filled(self, node: Node, variables: Mapping[str, Any]) -> Node:
        """The same part with a test's variables in it."""
        try:
            return Node(node.located, node.loc, self.filling.fill(node.value, variables))
        except ValueError as exc:
            node.refuse(str(exc), "shorten the variables, or name them less often")

    def messages_for(self, variables: Mapping[str, Any]) -> tuple[Message, ...]:
        """The messages before those of a test with these variables."""
        node = self._input
        return read_messages(self.filled(node, variables)) if node and variables else self.messages

    def assertions_for(self, variables: Mapping[str, Any]) -> tuple[Assertion, ...]:
        """The checks after those of a test with these variables."""
        if not (variables and self.assertions):
            return self.assertions
        kept = {key: value for key, value in self.document.value.items() if key not in TEST_KEYS}
        return read_assertions(self.filled(Node(self.document.located, (), kept), variables))

    def asked(self, test: Node, variables: Mapping[str, Any]) -> Node | None:
        """A test's own input, or the first of the suite's prompts, or the variable `input`."""
        own = test.get(*_INPUT_KEYS)
        if own is not None:
            return own
        prompts = self.document.get("prompts")
        first = prompts.items()[0] if prompts and prompts.items() else None
        if first is not None and isinstance(first.value, str):
            return Node(first.located, first.loc, self.filling.whole(first.value, variables))
        written = test.get("vars")
        return written.get("input") if written else None


def _tests(suite: _Suite, path: Path) -> tuple[EvalTest, ...]:
    """Every test; the problems of all of them are told at once."""
    tests: list[EvalTest] = []
    problems: list[Problem] = []
    for index, node in enumerate(tests_of(suite.document, path), start=1):
        try:
            tests.append(_test(node, index, suite))
        except InputError as exc:
            problems += exc.problems
    if problems:
        raise InputError(*problems)
    return tuple(tests)


def _test(written: Node, index: int, suite: _Suite) -> EvalTest:
    if not isinstance(written.value, dict):
        written.refuse("a test that is not a mapping", "write it as 'id: …', 'input: …' lines")
    variables = _mapping(written, "vars")
    node = suite.filled(written, variables)
    execution = read_execution(node)
    follows = not execution.skip_defaults
    window_size = node.get("window_size")
    return EvalTest(
        index=index,
        id=_id(node),
        criteria=_criteria(node),
        messages=read_messages(suite.asked(node, variables)),
        suite_messages=suite.messages_for(variables) if follows else (),
        input_files=_files(node) or (suite.input_files if follows else ()),
        expected_output=_value(node, *_EXPECTED_KEYS),
        expected_messages=read_messages(node.get(*_EXPECTED_KEYS), "assistant"),
        assertions=read_assertions(node),
        suite_assertions=suite.assertions_for(variables) if follows else (),
        execution=execution,
        turns=_turns(node),
        window_size=window_size.count() if window_size else None,
        vars=variables,
        metadata=_mapping(node, "metadata"),
        workspace=_value(node, "workspace"),
        depends_on=tuple(text_of(test_id) for test_id in _list(node, "depends_on")),
        fields=written.value,
        file=node.file,
        line=node.line,
        **{name: _text(node, name) for name in _TEST_TEXTS},
    )


def _id(node: Node) -> str | int | float | None:
    value = _value(node, "id")
    return value if value is None or isinstance(value, str | int | float) else text_of(value)


def _criteria(node: Node) -> tuple[str, ...]:
    """One text or several, without the white space around them."""
    written = next((found for key in _CRITERIA_KEYS if (found := node.get(key)) and found.value), None)
    if written is None:
        return ()
    texts = written.texts() if isinstance(written.value, list) else (written.text(),)
    return tuple(text.strip() for text in texts if text.strip())


def _turns(node: Node) -> tuple[Turn, ...]:
    turns = node.get("turns")
    return tuple(
        Turn(
            messages=read_messages(turn.get(*_INPUT_KEYS)),
            expected_output=_value(turn, *_EXPECTED_KEYS),
            expected_messages=read_messages(turn.get(*_EXPECTED_KEYS), "assistant"),
            assertions=read_assertions(turn),
        )
        for turn in (turns.items() if turns else ())
    )


def _files(node: Node) -> tuple[str, ...]:
    files = node.get("input_files")
    return files.texts() if files else ()


def _runs_per_query(document: Node) -> int | None:
    found = _beside(document, "runs_per_query")
    return found.count() if found else None


def _trigger_threshold(document: Node) -> float | None:
    found = _beside(document, "trigger_threshold")
    return found.share() if found else None


def _beside(document: Node, name: str) -> Node | None:
    """A setting for run_eval.py: at the top, or in the block of execution or of metadata."""
    places: Iterable[Node | None] = (document, document.get("execution"), document.get("metadata"))
    return next((found for place in places if place and (found := place.get(name))), None)


def _tags(document: Node) -> tuple[str, ...]:
    """A list of tags, or one tag, or tags with values: `team: billing`."""
    tags = _value(document, "tags")
    if isinstance(tags, dict):
        return tuple(f"{name}: {text_of(value)}" for name, value in tags.items())
    return (tags,) if isinstance(tags, str) else tuple(text_of(tag) for tag in _list(document, "tags"))


def _value(node: Node, *names: str) -> Any:
    found = node.get(*names)
    return found.value if found else None


def _text(node: Node, name: str) -> str | None:
    found = node.get(name)
    return text_of(found.value) if found else None


def _mapping(node: Node, name: str) -> dict[str, Any]:
    found = node.get(name)
    return found.mapping() if found else {}


def _list(node: Node, name: str) -> list[Any]:
    found = node.get(name)
    return [item.value for item in found.items()] if found else []
