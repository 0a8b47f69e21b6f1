"""Reads drafted cases from a model's reply and drops those that are malformed, do not fit or repeat."""

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
from evalq.definitions.fences import unfence
from evalq.definitions.files import LoadedEvalSet
from evalq.definitions.fit import check_fit, needed_inputs
from evalq.definitions.located import load_json
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError

_KEYS = {"inputs", "expected", "expected_type"}


@dataclass(frozen=True)
class Dropped:
    """A drafted case, or a whole reply, that was dropped, and why."""

    question: str
    reason: str


@dataclass(frozen=True)
class Drafts:
    """The cases taken, all marked draft, and those dropped."""

    cases: tuple[EvalCase, ...]
    dropped: tuple[Dropped, ...]


def read_drafts(
    task: TaskConfig,
    calls: Sequence[DraftCall],
    replies: Mapping[str, QueryReply],
    *,
    known: Iterable[EvalCase] = (),
) -> Drafts:
    """Read the cases in the order of the calls; drop one that repeats another or a known one."""
    seen = {_words_of(case.inputs) for case in known}
    cases: list[EvalCase] = []
    dropped: list[Dropped] = []
    for call in calls:
        for case in _read_reply(task, call, replies[call.id]):
            if isinstance(case, str):
                dropped.append(Dropped(call.id, case))
                continue
            words = _words_of(case.inputs)
            if words in seen:
                dropped.append(Dropped(call.id, "repeats another case"))
                continue
            seen.add(words)
            cases.append(case)
    return Drafts(tuple(cases), tuple(dropped))


def _read_reply(task: TaskConfig, call: DraftCall, reply: QueryReply) -> Iterator[EvalCase | str]:
    """Yield each case of a reply, or why it is not one."""
    entries = _parse_reply(reply)
    if isinstance(entries, str):
        yield entries
        return
    for entry in entries[: call.n]:
        yield _read_case(task, call, entry)
    if len(entries) > call.n:
        yield f"{len(entries) - call.n} more than asked for"
    elif len(entries) < call.n:
        yield f"{call.n - len(entries)} fewer than asked for"


def _parse_reply(reply: QueryReply) -> list[Any] | str:
    """The list in a reply, or why there is none."""
    if reply.text is None:
        return reply.fault
    try:
        value = load_json(unfence(reply.text), "reply").value
    except InputError as exc:
        return f"the reply cannot be read: {exc.problems[0].message}"
    return value if isinstance(value, list) else "the reply is not a JSON list"


def _read_case(task: TaskConfig, call: DraftCall, entry: Any) -> EvalCase | str:
    if not isinstance(entry, dict) or not isinstance(entry.get("inputs"), dict) or set(entry) - _KEYS:
        return "not an object with inputs, expected and expected_type alone"
    wanted, there = set(needed_inputs(task)), set(entry["inputs"])
    if wanted != there:
        return f"its inputs are {', '.join(sorted(there)) or 'none'}, not {', '.join(sorted(wanted))}"
    if not all(isinstance(text, str) and text.strip() for text in entry["inputs"].values()):
        return "an input that is not a text, or an empty one"
    try:
        case = EvalCase(id=_make_id(entry), stratum=call.stratum.values, draft=True, **entry)
    except ValidationError as exc:
        return f"not a case: {exc.errors()[0]['msg'].lower()}"
    if call.stratum.expected_type not in (None, case.expected_type):
        return f"{case.expected_type} in a stratum that is {call.stratum.expected_type}"
    misfits = check_fit(task, LoadedEvalSet(EvalSet.model_construct(name="drafts", cases=[case])))
    if misfits:
        return misfits[0].message.partition(": ")[2]
    return case


def _make_id(entry: Mapping[str, Any]) -> str:
    text = json.dumps(entry, ensure_ascii=False, sort_keys=True)
    return f"d-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _words_of(inputs: Mapping[str, Any]) -> str:
    """The words of the inputs: letter case, spacing and punctuation make no difference."""
    text = json.dumps(inputs, ensure_ascii=False, sort_keys=True)
    return " ".join(re.findall(r"\w+", text.casefold()))
