"""Sorts tests by the skill they try, and words each of them for that skill's evals.json."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NoReturn

from evalq.errors import InputError, Problem
from evalq.formats.agentv.assertion_text import all_worded
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
from evalq.formats.agentv.skill_evals import NO_SKILL, Document, EvalCase, Transpilation, safe_name


def prompt_of(test: EvalTest) -> str:
    """The text of the last user message that has any; a conversation's is that of its last turn."""
    asked = [message.text for message in all_messages(test) if message.role == "user"]
    return next((text for text in reversed(asked) if text), "")


def files_of(test: EvalTest) -> tuple[str, ...]:
    """Every attached file, of all messages; those listed as input_files come first."""
    attached = (path for message in all_messages(test) for path in message.files)
    return (*test.input_files, *attached)


def expected_output_of(test: EvalTest) -> str | None:
    """The last message expected that has a text; None where nothing is expected, or only files are named."""
    messages = test.expected_messages
    if not messages and test.turns:
        messages = test.turns[-1].expected_messages
    texts = [message.text for message in messages if _has_text(message)]
    return next((text for text in reversed(texts) if text), "" if texts else None)


def all_messages(test: EvalTest) -> tuple[PromptMessage, ...]:
    """All that is asked, in order: the suite's messages, the test's, and those of its turns."""
    turns = (message for turn in test.turns for message in turn.messages)
    return (*test.suite_messages, *test.messages, *turns)


def _has_text(message: PromptMessage) -> bool:
    return any(block.type == "text" for block in message.blocks)


MAX_OUTPUT_CHARS = 64_000_000
MAX_REPEATED = 1_000_000


@dataclass(frozen=True)
class _Entry:
    """A test as it is written for any skill, and the skills it names."""

    case: EvalCase
    triggers: list[Trigger]
    warnings: list[Problem]


def transpile(eval_file: EvalFile) -> Transpilation:
    """One document for each skill; tests that name none go with the skill that most tests name."""
    if not eval_file.tests:
        raise InputError(Problem("no tests", "list them under tests:", eval_file.file, 1))
    _check_repeated(eval_file)
    entries = _entries(eval_file)
    _check_length(eval_file, entries)
    documents = _documents(eval_file, entries)
    warnings = [warning for entry in entries for warning in entry.warnings]
    warnings += [*_shared_ids(entries), *_unnamed(entries)]
    return Transpilation(documents, tuple(dict.fromkeys(warnings)))


def _entries(eval_file: EvalFile) -> list[_Entry]:
    """Every test's entry; the problems of all of them are told at once."""
    entries: list[_Entry] = []
    problems: list[Problem] = []
    for test in eval_file.tests:
        try:
            entries.append(_entry(test))
        except InputError as exc:
            problems += exc.problems
    if problems:
        raise InputError(*dict.fromkeys(problems))
    return entries


def _entry(test: EvalTest) -> _Entry:
    lines, warnings = all_worded(_spoken(test))
    case = EvalCase(
        id=_numeric_id(test),
        prompt=prompt_of(test),
        assertions=(*test.criteria, *lines),
        expected_output=expected_output_of(test),
        files=files_of(test),
        file=test.file,
        line=test.line,
    )
    return _Entry(case, find_triggers(test), [*_losses(test, case), *warnings])


def _spoken(test: EvalTest) -> list[Assertion]:
    """The checks that become lines, the suite's last: all but the triggers of what the prompt asks."""
    earlier = [assertion for turn in test.turns[:-1] for assertion in turn.assertions]
    others = (*final_assertions(test), *test.suite_assertions)
    return [*earlier, *(assertion for assertion in others if assertion.type != TRIGGER)]


def _numeric_id(test: EvalTest) -> int | float:
    if isinstance(test.id, int | float) and not isinstance(test.id, bool):
        return test.id
    return test.index


def _losses(test: EvalTest, case: EvalCase) -> Iterable[Problem]:
    """What one prompt and one text cannot hold."""
    if not case.prompt:
        yield test.problem("no user message with a text: the prompt is empty", "add input:")
    if len(test.turns) > 1:
        yield test.problem(f"{len(test.turns)} turns: the prompt is the last one's")
    if case.expected_output is None and test.expected_messages:
        yield test.problem("expected_output has no text: left out", "write the text expected")


def _documents(eval_file: EvalFile, entries: list[_Entry]) -> dict[str, Document]:
    cases = _by_skill(entries)
    names = _file_names(cases)
    return {
        names[skill]: Document(skill, tuple(found), eval_file.runs_per_query, eval_file.trigger_threshold)
        for skill, found in cases.items()
    }


def _by_skill(entries: list[_Entry]) -> dict[str, list[EvalCase]]:
    """Each skill's entries in the order of the tests, the skills in the order they are first named."""
    named = Counter(trigger.skill for entry in entries for trigger in entry.triggers if trigger.skill)
    dominant = max(named, key=lambda skill: named[skill], default=NO_SKILL)  # the first of several
    cases: dict[str, list[EvalCase]] = {skill: [] for skill in named or [NO_SKILL]}
    for entry in entries:
        for skill, case in _placed(entry, dominant).items():
            cases[skill].append(case)
    return cases


def _placed(entry: _Entry, dominant: str) -> dict[str, EvalCase]:
    """The entry for each skill it belongs to; a trigger that names no skill means the dominant one."""
    placed = {
        trigger.skill or dominant: replace(entry.case, should_trigger=trigger.should_trigger)
        for trigger in sorted(entry.triggers, key=lambda trigger: bool(trigger.skill))
    }
    return placed or {dominant: entry.case}


def _file_names(skills: Iterable[str]) -> dict[str, str]:
    """`evals.json` for one skill, `SKILL.evals.json` for several, `_no-skill.json` for none."""
    skills = list(skills)
    if skills == [NO_SKILL]:
        return {NO_SKILL: f"{NO_SKILL}.json"}
    if len(skills) == 1:
        return {skills[0]: "evals.json"}
    return dict(zip(skills, _apart(safe_name(skill) for skill in skills), strict=True))


def _apart(stems: Iterable[str]) -> Iterable[str]:
    """A file name for each stem; a number sets apart what differs in letter case alone, or not at all."""
    taken: set[str] = set()
    counts: Counter[str] = Counter()
    for stem in stems:
        name = stem
        while name.lower() in taken:
            counts[stem.lower()] += 1
            name = f"{stem}-{counts[stem.lower()] + 1}"
        taken.add(name.lower())
        yield f"{name}.evals.json"


def _shared_ids(entries: list[_Entry]) -> Iterable[Problem]:
    first: dict[int | float, EvalCase] = {}
    for entry in entries:
        earlier = first.setdefault(entry.case.id, entry.case)
        if earlier is not entry.case:
            message = f"id {entry.case.id} is that of line {earlier.line} too"
            yield Problem(message, "number all tests, or none", entry.case.file, entry.case.line)


def _unnamed(entries: list[_Entry]) -> Iterable[Problem]:
    for entry in entries:
        for trigger in entry.triggers:
            if not trigger.skill:
                message = "a trigger that names no skill: taken for the one most tests name"
                yield trigger.assertion.problem(message, "add skill: NAME")


def _check_repeated(eval_file: EvalFile) -> None:
    """Refuse, before it is made, what a long suite repeated in each of many tests would come to."""
    repeated = sum(len(test.suite_assertions) + len(test.suite_messages) for test in eval_file.tests)
    if repeated > MAX_REPEATED:
        _refuse_length(eval_file, f"the suite's checks and messages come to {repeated:,} in all tests")


def _check_length(eval_file: EvalFile, entries: list[_Entry]) -> None:
    chars = sum(
        (len(entry.case.prompt) + sum(map(len, entry.case.assertions))) * max(len(entry.triggers), 1)
        for entry in entries
    )
    if chars > MAX_OUTPUT_CHARS:
        _refuse_length(eval_file, f"the evals come to {chars:,} characters")


def _refuse_length(eval_file: EvalFile, message: str) -> NoReturn:
    raise InputError(Problem(message, "split the file, or shorten the suite's part", eval_file.file, 1))
