"""Reads an EVAL.yaml, in any of agentv's dialects, into one shape; every problem names its file and line."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalq.definitions.files import display_path
from evalq.definitions.located import Located
from evalq.errors import InputError, Problem
from evalq.formats.agentv.eval_yaml import Assertion, EvalFile, EvalTest, EvalTurn, PromptMessage
from evalq.formats.agentv.key_check import TEST_KEYS, check_suite, check_test
from evalq.formats.agentv.sections import read_assertions, read_execution, read_messages
from evalq.formats.document import Node, load_document, root_node, text_of
from evalq.formats.known_keys import KeyFindings
from evalq.formats.paths import repository_of

MAX_FILLED_CHARS = 64_000_000

_SCHEME = "file://"
_INPUT_KEYS = ("input", "input_messages")
_EXPECTED_KEYS = ("expected_output", "expected_messages")
_CRITERIA_KEYS = ("criteria", "expected_outcome")
_SUITE_TEXTS = ("name", "description", "category", "version", "author", "license")
_TEST_TEXTS = (
    "mode",
    "aggregation",
    "on_turn_failure",
    "conversation_id",
    "suite",
    "on_dependency_failure",
)
# Not ${{ NAME }}: that names an environment variable, and stays as written.
_PLACEHOLDER = re.compile(r"(?<!\$)\{\{\s*([A-Za-z_][\w-]*(?:\.[\w-]+)*)\s*\}\}")


def read_eval_yaml(path: Path) -> EvalFile:
    """Read the EVAL.yaml at `path` (or its JSON or JSONL twin), and the files of tests it names."""
    return read_eval_document(load_document(path), path)


def read_eval_document(located: Located, path: Path) -> EvalFile:
    """Read a loaded document; files it names are resolved from `path`."""
    document = root_node(located)
    if not isinstance(document.value, dict | list):
        document.refuse("not an EVAL.yaml", "write a mapping with tests:")
    keys = KeyFindings()
    nodes = list(_find_tests(document, path))
    _refuse_misspelt(document, nodes, keys)
    suite = _Suite(document)
    return EvalFile(
        file=located.file,
        tests=_read_tests(suite, nodes),
        unknown_keys=tuple(keys.unknown),
        messages=suite.messages,
        input_files=suite.input_files,
        assertions=suite.assertions,
        execution=suite.execution,
        tags=_read_tags(document),
        requires=document.get_mapping("requires"),
        metadata=document.get_mapping("metadata"),
        preprocessors=tuple(item.value for item in document.get_items("preprocessors")),
        workspace=document.get_value("workspace"),
        runs_per_query=_read_runs_per_query(document),
        trigger_threshold=_read_trigger_threshold(document),
        fields=document.value if isinstance(document.value, dict) else {},
        **{name: document.get_text(name) for name in _SUITE_TEXTS},
    )


def _refuse_misspelt(document: Node, tests: Sequence[Node], keys: KeyFindings) -> None:
    """Raise InputError for keys that are nearly known ones: ignoring them would change what is marked."""
    check_suite(document, keys)
    for test in tests:
        check_test(test, keys)
    keys.refuse_misspelt()


class _Suite:
    """What all tests of a file share, filled in with a test's variables where it has some."""

    def __init__(self, document: Node) -> None:
        self.document = document
        self.input = document.get(*_INPUT_KEYS)
        self.messages = read_messages(self.input)
        self.assertions = read_assertions(document)
        self.execution = read_execution(document)
        self.input_files = _read_input_files(document)
        self.filler = _VariableFiller()

    def fill(self, node: Node, variables: Mapping[str, Any]) -> Node:
        """Return the same part with a test's variables in it."""
        try:
            return Node(node.located, node.loc, self.filler.fill(node.value, variables))
        except ValueError as exc:
            node.refuse(str(exc), "shorten the variables, or name them less often")

    def messages_for(self, variables: Mapping[str, Any]) -> tuple[PromptMessage, ...]:
        """Return the messages that precede those of a test with these variables."""
        if self.input is None or not variables:
            return self.messages
        return read_messages(self.fill(self.input, variables))

    def assertions_for(self, variables: Mapping[str, Any]) -> tuple[Assertion, ...]:
        """Return the assertions that follow those of a test with these variables."""
        if not (variables and self.assertions):
            return self.assertions
        kept = {key: value for key, value in self.document.value.items() if key not in TEST_KEYS}
        return read_assertions(self.fill(Node(self.document.located, (), kept), variables))

    def input_for(self, test: Node, variables: Mapping[str, Any]) -> Node | None:
        """Return a test's own input, else the first of the suite's prompts, else the variable `input`."""
        own = test.get(*_INPUT_KEYS)
        if own is not None:
            return own
        prompts = self.document.get_items("prompts")
        if prompts and isinstance(prompts[0].value, str):
            first = prompts[0]
            return Node(first.located, first.loc, self.filler.fill_template(first.value, variables))
        written = test.get("vars")
        return written.get("input") if written else None


class _VariableFiller:
    """Fills variables in, up to a limit for the whole file: many placeholders may name one long variable."""

    def __init__(self) -> None:
        self._chars_left = MAX_FILLED_CHARS

    def fill(self, value: Any, variables: Mapping[str, Any]) -> Any:
        """Replace every known `{{name}}` or `{{name.part}}` in a value; unknown ones stay."""
        if not variables:
            return value
        if isinstance(value, str):
            return _PLACEHOLDER.sub(lambda found: self._replacement(found, variables), value)
        if isinstance(value, list):
            return [self.fill(item, variables) for item in value]
        if isinstance(value, dict):
            return {key: self.fill(item, variables) for key, item in value.items()}
        return value

    def fill_template(self, template: str, variables: Mapping[str, Any]) -> Any:
        """Return the variable itself where the template is one placeholder, else the text filled in."""
        alone = _PLACEHOLDER.fullmatch(template.strip())
        found = _look_up(alone[1], variables) if alone else None
        return self.fill(template, variables) if found is None else found

    def _replacement(self, found: re.Match[str], variables: Mapping[str, Any]) -> str:
        value = _look_up(found[1], variables)
        text = found[0] if value is None else text_of(value)
        self._chars_left -= len(text)
        if self._chars_left < 0:
            raise ValueError("the variables filled in are too long")
        return text


def _look_up(path: str, variables: Mapping[str, Any]) -> Any:
    value: Any = variables
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _read_tests(suite: _Suite, nodes: Sequence[Node]) -> tuple[EvalTest, ...]:
    """Read every test; report the problems of all of them together."""
    tests: list[EvalTest] = []
    problems: list[Problem] = []
    for index, node in enumerate(nodes, start=1):
        try:
            tests.append(_read_test(node, index, suite))
        except InputError as exc:
            problems += exc.problems
    if problems:
        raise InputError(*problems)
    return tuple(tests)


def _find_tests(document: Node, path: Path) -> Iterator[Node]:
    """Yield every test of the document at `path`, including those in files it names.

    A file is followed one step, and only inside the document's repository.
    """
    tests = _get_tests(document, "list them under tests:")
    if isinstance(tests.value, str):
        yield from _follow(tests, tests.value, path.parent)
        return
    for test in tests.items():
        reference = _get_reference(test)
        if reference is None:
            yield test
        else:
            yield from _follow(test, reference, path.parent)


def _get_tests(document: Node, remedy: str) -> Node:
    """Return the list of tests: the document itself, or what one of its keys holds."""
    tests = document if isinstance(document.value, list) else document.get(*TEST_KEYS)
    if tests is None:
        document.refuse("no tests", remedy)
    return tests


def _get_reference(test: Node) -> str | None:
    """Return the path where an entry is one: `file://cases.yaml`, or a mapping with `include`."""
    if isinstance(test.value, str) and test.value.startswith(_SCHEME):
        return test.value
    include = test.get("include")
    if include is None:
        return None
    if test.get("type") and test.mapping()["type"] != "tests":
        test.refuse("only tests can be included, not a whole suite", "transpile that file by itself")
    return include.text()


def _follow(node: Node, reference: str, folder: Path) -> Iterator[Node]:
    """Yield the tests of the file, or of the files that a pattern matches in the order of their names."""
    name = reference.removeprefix(_SCHEME)
    for found in _find_files(node, name, folder):
        _check_file(node, found, folder)
        yield from _get_tests(root_node(load_document(found)), "write a list of tests").items()


def _find_files(node: Node, name: str, folder: Path) -> list[Path]:
    """Return the file beside the document or else at the top of its repository, or all that match."""
    repository = repository_of(folder)
    if not any(sign in name for sign in "*?["):
        there = [root / name for root in (folder, repository) if (root / name).is_file()]
        return there[:1] or [folder / name]
    matches = _match_files(node, name, folder)
    if not matches and not name.startswith(".."):
        matches = _match_files(node, name, repository)
    if not matches:
        node.refuse(f"no file matches {name!r}", "check the pattern")
    return matches


def _match_files(node: Node, name: str, root: Path) -> list[Path]:
    start, pattern = _split_pattern(node, name, root)
    return sorted(found for found in start.glob(pattern) if found.is_file())


def _split_pattern(node: Node, name: str, root: Path) -> tuple[Path, str]:
    """The folder that a pattern starts from, inside the repository, and the rest of the pattern."""
    parts = list(Path(name).parts)
    start = root.resolve()
    while parts and parts[0] == "..":
        start = start.parent
        parts.pop(0)
    if Path(name).is_absolute() or ".." in parts or not start.is_relative_to(repository_of(root)):
        node.refuse(f"{name!r} leaves the repository of the file", "name files inside the repository")
    return start, "/".join(parts)


def _check_file(node: Node, found: Path, folder: Path) -> None:
    repository = repository_of(folder)
    if not found.resolve().is_relative_to(repository):
        remedy = "name a file inside the repository, the nearest folder above with .git or evalq.yaml"
        node.refuse(f"{str(node.value)!r} is outside the repository of the file", remedy)
    inside = folder.resolve() if found.resolve().is_relative_to(folder.resolve()) else repository
    if any(part.startswith(".") for part in found.resolve().relative_to(inside).parts):
        node.refuse(f"{str(node.value)!r} is hidden, and may hold secrets", "name a file of tests")
    if not found.is_file():
        node.refuse(f"no such file: {display_path(found)}", "name a file of tests: YAML, JSON or JSONL")


def _read_test(written: Node, index: int, suite: _Suite) -> EvalTest:
    if not isinstance(written.value, dict):
        written.refuse("a test that is not a mapping", "write it as 'id: …', 'input: …' lines")
    variables = written.get_mapping("vars")
    node = suite.fill(written, variables)
    execution = read_execution(node)
    inherits = not execution.skip_defaults
    return EvalTest(
        index=index,
        id=_read_id(node),
        criteria=_read_criteria(node),
        messages=read_messages(suite.input_for(node, variables)),
        suite_messages=suite.messages_for(variables) if inherits else (),
        input_files=_read_input_files(node) or (suite.input_files if inherits else ()),
        expected_output=node.get_value(*_EXPECTED_KEYS),
        expected_messages=read_messages(node.get(*_EXPECTED_KEYS), "assistant"),
        assertions=read_assertions(node),
        suite_assertions=suite.assertions_for(variables) if inherits else (),
        execution=execution,
        turns=_read_turns(node),
        window_size=node.get_count("window_size"),
        vars=variables,
        metadata=node.get_mapping("metadata"),
        workspace=node.get_value("workspace"),
        depends_on=tuple(text_of(item.value) for item in node.get_items("depends_on")),
        fields=written.value,
        file=node.file,
        line=node.line,
        **{name: node.get_text(name) for name in _TEST_TEXTS},
    )


def _read_id(node: Node) -> str | int | float | None:
    value = node.get_value("id")
    if value is None or isinstance(value, str | int | float):
        return value
    return text_of(value)


def _read_criteria(node: Node) -> tuple[str, ...]:
    """Read one text or several, without the white space around them."""
    for key in _CRITERIA_KEYS:
        written = node.get(key)
        if written and written.value:
            texts = written.texts() if isinstance(written.value, list) else (written.text(),)
            return tuple(text.strip() for text in texts if text.strip())
    return ()


def _read_turns(node: Node) -> tuple[EvalTurn, ...]:
    return tuple(
        EvalTurn(
            messages=read_messages(turn.get(*_INPUT_KEYS)),
            expected_output=turn.get_value(*_EXPECTED_KEYS),
            expected_messages=read_messages(turn.get(*_EXPECTED_KEYS), "assistant"),
            assertions=read_assertions(turn),
        )
        for turn in node.get_items("turns")
    )


def _read_input_files(node: Node) -> tuple[str, ...]:
    return tuple(item.text() for item in node.get_items("input_files"))


def _read_tags(document: Node) -> tuple[str, ...]:
    """Read a list of tags, or one tag, or tags with values: `team: billing`."""
    tags = document.get_value("tags")
    if isinstance(tags, dict):
        return tuple(f"{name}: {text_of(value)}" for name, value in tags.items())
    if isinstance(tags, str):
        return (tags,)
    return tuple(text_of(item.value) for item in document.get_items("tags"))


def _read_runs_per_query(document: Node) -> int | None:
    found = _find_run_setting(document, "runs_per_query")
    return found.count() if found else None


def _read_trigger_threshold(document: Node) -> float | None:
    found = _find_run_setting(document, "trigger_threshold")
    return found.share() if found else None


def _find_run_setting(document: Node, name: str) -> Node | None:
    """Find a setting for run_eval.py at the top, or in the block of execution or of metadata."""
    for owner in (document, document.get("execution"), document.get("metadata")):
        found = owner.get(name) if owner else None
        if found is not None:
            return found
    return None
