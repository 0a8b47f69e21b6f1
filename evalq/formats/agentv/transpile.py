"""Transpiles an EVAL.yaml into the evals.json of each skill that its tests name."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from evalq.errors import InputError, Problem
from evalq.formats.agentv.assertion_text import describe_assertions
from evalq.formats.agentv.eval_yaml import (
    TRIGGER,
    Assertion,
    EvalFile,
    EvalTest,
    PromptMessage,
    Trigger,
    final_assertions,
    find_triggers,
)
from evalq.formats.agentv.skill_evals import NO_SKILL, SkillEval, SkillEvals, Transpilation, safe_name

MAX_OUTPUT_CHARS = 64_000_000
MAX_REPEATED = 1_000_000


@dataclass(frozen=True)
class _TranspiledTest:
    """A test as an entry for any skill, the triggers that say for which, and warnings."""

    entry: SkillEval
    triggers: list[Trigger]
    warnings: list[Problem]


def transpile(eval_file: EvalFile) -> Transpilation:
    """Build one document for each skill; tests that name none go to the skill named most often."""
    if not eval_file.tests:
        raise InputError(Problem("no tests", "list them under tests:", eval_file.file, 1))
    _check_repeated(eval_file)
    tests = _transpile_tests(eval_file.tests)
    _check_length(eval_file, tests)
    entries = _group_by_skill(tests)
    names = _choose_file_names(entries)
    documents: dict[str, SkillEvals] = {}
    for skill, found in entries.items():
        settings = (eval_file.runs_per_query, eval_file.trigger_threshold)
        documents[names[skill]] = SkillEvals(skill, tuple(found), *settings)
    warnings = list(eval_file.unknown_keys)
    for test in tests:
        warnings += test.warnings
    warnings += _warn_of_shared_ids(tests)
    warnings += _warn_of_unnamed_skills(tests)
    return Transpilation(documents, tuple(dict.fromkeys(warnings)))


def _transpile_tests(tests: Iterable[EvalTest]) -> list[_TranspiledTest]:
    """Transpile every test; report the problems of all of them together."""
    transpiled: list[_TranspiledTest] = []
    problems: list[Problem] = []
    for test in tests:
        try:
            transpiled.append(_transpile_test(test))
        except InputError as exc:
            problems += exc.problems
    if problems:
        raise InputError(*dict.fromkeys(problems))
    return transpiled


def _transpile_test(test: EvalTest) -> _TranspiledTest:
    lines, warnings = describe_assertions(_spoken_assertions(test))
    messages = _all_messages(test)
    files = list(test.input_files)
    for message in messages:
        files += message.files
    entry = SkillEval(
        id=_choose_id(test),
        prompt=_last_user_text(messages),
        assertions=(*test.criteria, *lines),
        expected_output=_expected_output(test),
        files=tuple(files),
        file=test.file,
        line=test.line,
    )
    return _TranspiledTest(entry, find_triggers(test), [*_warn_of_losses(test, entry), *warnings])


def _choose_id(test: EvalTest) -> int | float:
    if isinstance(test.id, int | float) and not isinstance(test.id, bool):
        return test.id
    return test.index


def _spoken_assertions(test: EvalTest) -> list[Assertion]:
    """Return the assertions that become lines, the suite's last: all but the triggers of the prompt."""
    spoken: list[Assertion] = []
    for turn in test.turns[:-1]:
        spoken += turn.assertions
    for assertion in (*final_assertions(test), *test.suite_assertions):
        if assertion.type != TRIGGER:
            spoken.append(assertion)
    return spoken


def _all_messages(test: EvalTest) -> list[PromptMessage]:
    """Return the suite's messages, the test's, and those of its turns."""
    messages = [*test.suite_messages, *test.messages]
    for turn in test.turns:
        messages += turn.messages
    return messages


def _last_user_text(messages: Sequence[PromptMessage]) -> str:
    for message in reversed(messages):
        if message.role == "user" and message.text:
            return message.text
    return ""


def _expected_output(test: EvalTest) -> str | None:
    """Return the last expected text; None if nothing is expected, or only files."""
    messages = test.expected_messages
    if not messages and test.turns:
        messages = test.turns[-1].expected_messages
    found: str | None = None
    for message in messages:
        has_text = any(block.type == "text" for block in message.blocks)
        if has_text and (message.text or found is None):
            found = message.text
    return found


def _warn_of_losses(test: EvalTest, entry: SkillEval) -> Iterator[Problem]:
    """Yield a warning for each thing that one prompt and one text cannot hold."""
    if not entry.prompt:
        yield test.problem("no user message with a text: the prompt is empty", "add input:")
    if len(test.turns) > 1:
        yield test.problem(f"{len(test.turns)} turns: the prompt is the last one's")
    if entry.expected_output is None and test.expected_messages:
        yield test.problem("expected_output has no text: left out", "write the text expected")


def _group_by_skill(tests: Sequence[_TranspiledTest]) -> dict[str, list[SkillEval]]:
    """Group entries by skill, in the order of the tests; skills come in the order first named."""
    named: Counter[str] = Counter()
    for test in tests:
        named.update(trigger.skill for trigger in test.triggers if trigger.skill)
    dominant = max(named, key=lambda skill: named[skill], default=NO_SKILL)  # the first of several
    groups: dict[str, list[SkillEval]] = {skill: [] for skill in named or [NO_SKILL]}
    for test in tests:
        for skill, entry in _entries_by_skill(test, dominant).items():
            groups[skill].append(entry)
    return groups


def _entries_by_skill(test: _TranspiledTest, dominant: str) -> dict[str, SkillEval]:
    """Return the entry for each skill it belongs to; a trigger that names no skill means the dominant one."""
    if not test.triggers:
        return {dominant: test.entry}
    entries: dict[str, SkillEval] = {}
    # Triggers that name their skill come last, and so override one that means it without naming it.
    for trigger in sorted(test.triggers, key=lambda trigger: bool(trigger.skill)):
        entries[trigger.skill or dominant] = replace(test.entry, should_trigger=trigger.should_trigger)
    return entries


def _choose_file_names(skills: Iterable[str]) -> dict[str, str]:
    """Choose `evals.json` for one skill, `SKILL.evals.json` for several, `_no-skill.json` for none.

    A number sets names apart that differ only in letter case, or not at all.
    """
    skills = list(skills)
    if skills == [NO_SKILL]:
        return {NO_SKILL: f"{NO_SKILL}.json"}
    if len(skills) == 1:
        return {skills[0]: "evals.json"}
    names: dict[str, str] = {}
    taken: set[str] = set()
    counts: Counter[str] = Counter()
    for skill in skills:
        stem = name = safe_name(skill)
        while name.lower() in taken:
            counts[stem.lower()] += 1
            name = f"{stem}-{counts[stem.lower()] + 1}"
        taken.add(name.lower())
        names[skill] = f"{name}.evals.json"
    return names


def _warn_of_shared_ids(tests: Iterable[_TranspiledTest]) -> Iterator[Problem]:
    first: dict[int | float, SkillEval] = {}
    for test in tests:
        entry = test.entry
        earlier = first.setdefault(entry.id, entry)
        if earlier is not entry:
            message = f"id {entry.id} is that of line {earlier.line} too"
            yield Problem(message, "number all tests, or none", entry.file, entry.line)


def _warn_of_unnamed_skills(tests: Iterable[_TranspiledTest]) -> Iterator[Problem]:
    for test in tests:
        for trigger in test.triggers:
            if not trigger.skill:
                message = "a trigger that names no skill: taken for the one most tests name"
                yield trigger.assertion.problem(message, "add skill: NAME")


def _check_repeated(eval_file: EvalFile) -> None:
    """Refuse a long suite with many tests before all of it is repeated for each test."""
    repeated = sum(len(test.suite_assertions) + len(test.suite_messages) for test in eval_file.tests)
    if repeated > MAX_REPEATED:
        _refuse_length(eval_file, f"the suite's checks and messages add up to {repeated:,} in all tests")


def _check_length(eval_file: EvalFile, tests: Iterable[_TranspiledTest]) -> None:
    chars = 0
    for test in tests:
        length = len(test.entry.prompt) + sum(map(len, test.entry.assertions))
        chars += length * max(len(test.triggers), 1)
    if chars > MAX_OUTPUT_CHARS:
        _refuse_length(eval_file, f"the evals have {chars:,} characters")


def _refuse_length(eval_file: EvalFile, message: str) -> NoReturn:
    raise InputError(Problem(message, "split the file, or shorten the suite's part", eval_file.file, 1))
