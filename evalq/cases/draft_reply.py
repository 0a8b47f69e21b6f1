"""Reads what a model drafted, strictly: what is not in the form, does not fit or repeats is dropped."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from evalq.bakeoff.probes import QueryReply
from evalq.cases.draft_prompt import DraftCall
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import LoadedEvalSet
from evalq.definitions.fit import check_fit, needed_inputs
from evalq.definitions.located import load_json
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError

_FENCED = re.compile(r"\A```[a-zA-Z]*\s*\n(.*?)\n?\s*```\Z", re.DOTALL)
_KEYS = {"inputs", "expected", "expected_type"}


@dataclass(frozen=True)
class Dropped:
    """A drafted case, or a whole reply, that was not taken, and why."""

    question: str
    reason: str


@dataclass(frozen=True)
class Drafts:
    """The cases that were taken, all of them drafts, and what was not."""

    cases: tuple[EvalCase, ...]
    dropped: tuple[Dropped, ...]


def read_drafts(
    task: TaskConfig,
    questions: Sequence[DraftCall],
    replies: Mapping[str, QueryReply],
    *,
    known: Iterable[EvalCase] = (),
) -> Drafts:
    """Cases in the order they were asked for; one that repeats a known one or another is dropped."""
    seen = {_likeness(case.inputs) for case in known}
    cases: list[EvalCase] = []
    dropped: list[Dropped] = []
    for question in questions:
        for made in _entries(task, question, replies[question.id]):
            if isinstance(made, str):
                dropped.append(Dropped(question.id, made))
            elif (likeness := _likeness(made.inputs)) in seen:
                dropped.append(Dropped(question.id, "repeats another case"))
            else:
                seen.add(likeness)
                cases.append(made)
    return Drafts(tuple(cases), tuple(dropped))


def _entries(task: TaskConfig, question: DraftCall, reply: QueryReply) -> Iterator[EvalCase | str]:
    """Each case of a reply, or why it is none."""
    listed = _listed(reply)
    if isinstance(listed, str):
        yield listed
        return
    for entry in listed[: question.n]:
        yield _case(task, question, entry)
    if len(listed) > question.n:
        yield f"{len(listed) - question.n} more than asked for"
    elif len(listed) < question.n:
        yield f"{question.n - len(listed)} fewer than asked for"


def _listed(reply: QueryReply) -> list[Any] | str:
    if reply.text is None:
        return reply.fault
    body = reply.text.strip()
    fenced = _FENCED.match(body)
    try:
        value = load_json(fenced[1] if fenced else body, "reply").value
    except InputError as exc:
        return f"the reply cannot be read: {exc.problems[0].message}"
    return value if isinstance(value, list) else "the reply is not a JSON list"


def _case(task: TaskConfig, question: DraftCall, entry: Any) -> EvalCase | str:
    if not isinstance(entry, dict) or not isinstance(entry.get("inputs"), dict) or set(entry) - _KEYS:
        return "not an object with inputs, expected and expected_type alone"
    wanted, there = set(needed_inputs(task)), set(entry["inputs"])
    if wanted != there:
        return f"its inputs are {', '.join(sorted(there)) or 'none'}, not {', '.join(sorted(wanted))}"
    if not all(isinstance(text, str) and text.strip() for text in entry["inputs"].values()):
        return "an input that is not a text, or an empty one"
    try:
        case = EvalCase(id=_id(entry), stratum=question.stratum.values, draft=True, **entry)
    except ValidationError as exc:
        return f"not a case: {exc.errors()[0]['msg'].lower()}"
    if question.stratum.expected_type not in (None, case.expected_type):
        return f"{case.expected_type} in a stratum that is {question.stratum.expected_type}"
    misfits = check_fit(task, LoadedEvalSet(EvalSet.model_construct(name="drafts", cases=[case])))
    return misfits[0].message.partition(": ")[2] if misfits else case


def _id(entry: Mapping[str, Any]) -> str:
    text = json.dumps(entry, ensure_ascii=False, sort_keys=True)
    return f"d-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _likeness(inputs: Mapping[str, Any]) -> str:
    """The words of the inputs: what differs in case, spacing and punctuation alone is the same case."""
    text = json.dumps(inputs, ensure_ascii=False, sort_keys=True)
    return " ".join(re.findall(r"\w+", text.casefold()))
