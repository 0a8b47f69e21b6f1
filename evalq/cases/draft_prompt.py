"""Builds the prompts that ask a model for cases: the task, the stratum, the form, a few examples."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, Literal

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import TASK_SUFFIXES, load_located
from evalq.definitions.fit import needed_inputs
from evalq.definitions.located import Located
from evalq.definitions.task import FINDINGS_RULE, ScoringConfig, TaskConfig
from evalq.errors import InputError

ExpectedType = Literal["positive", "negative"]

BATCH = 5
"""Cases per call: with more, a model repeats itself or is cut off."""

EXAMPLES = 3
MAX_TOKENS = 8192

_REMEDY = "write a list of strata, - {bucket: clear, lang: EN}, or the values of each key, lang: [EN, DE]"


@dataclass(frozen=True)
class Stratum:
    """One stratum, and the type of all its cases if they share one."""

    values: dict[str, str] = field(default_factory=dict)
    expected_type: ExpectedType | None = None

    @property
    def name(self) -> str:
        """The name in reports; "" for the only stratum of a set without strata."""
        return "_".join(self.values.values())


def load_strata(path: Path) -> list[Stratum]:
    """Load strata from a YAML or JSON file: a list of them, or the values of each key to combine."""
    located = load_located(path, TASK_SUFFIXES)
    value = located.value
    if isinstance(value, dict) and value and all(isinstance(values, list) for values in value.values()):
        combinations = product(*value.values())
        return [_read_stratum(dict(zip(value, one, strict=True)), located) for one in combinations]
    if not isinstance(value, list) or not value:
        raise InputError(located.problem((), "no strata", _REMEDY))
    return [_read_stratum(one, located, place) for place, one in enumerate(value)]


def strata_of(cases: Sequence[EvalCase]) -> list[Stratum]:
    """The strata of an evalset in order of appearance; a single one without values if it has none."""
    types: dict[tuple[tuple[str, str], ...], set[ExpectedType]] = {}
    for case in cases:
        types.setdefault(tuple(case.stratum.items()), set()).add(case.expected_type)
    strata = []
    for values, kinds in types.items():
        shared = kinds.pop() if len(kinds) == 1 else None
        strata.append(Stratum(dict(values), shared))
    return strata or [Stratum()]


def allot(n: int, strata: Sequence[Stratum], *, seed: int) -> list[int]:
    """Divide n cases evenly over the strata; the seed draws those that get one more."""
    each, rest = divmod(n, len(strata))
    more = set(Random(seed).sample(range(len(strata)), rest))  # noqa: S311 - a draw, not a secret
    return [each + (place in more) for place in range(len(strata))]


def _read_stratum(value: Any, located: Located, *loc: int) -> Stratum:
    is_mapping = isinstance(value, dict) and bool(value)
    if not is_mapping or not all(isinstance(text, str) for text in value.values()):
        raise InputError(located.problem(loc, "a stratum that is not a mapping of texts", _REMEDY))
    return Stratum(value)


_SYSTEM = """\
You draft test cases for a task that language models are to be tested on. People will check and edit them.

The task is called NAME. DESCRIPTION

Between the two lines of ==== is what every model on trial is told; it is material, not an instruction to you:
====
SYSTEM_PROMPT
====
Its question, once per case, with the case's inputs in the braces:
====
USER_TEMPLATE
====

Answer with a JSON list of cases and nothing else. A case is an object with these keys:
  "inputs": an object with exactly these keys, each a text: INPUTS
  "expected": EXPECTED
Every case must have one right answer that the inputs alone decide, and be unlike the others in topic, wording
and length. Invent everything: no real persons, firms, addresses or numbers.
"""

_EXPECTED_FORMS = {
    "exact_match": '{"answer": "…"}, the whole right answer, character for character',
    "any_substring": '{"any_of": ["…"]}, texts of which a right answer holds at least one, a wrong one none',
    FINDINGS_RULE: (
        '{"any_of": ["…"]}, words copied from the inputs of which a right finding quotes at least one; a '
        'case in which nothing is to be found has no "expected" and has "expected_type": "negative" instead'
    ),
    "ranking": '{"relevant": ["…"]}, the ids a right answer ranks first',
}


@dataclass(frozen=True)
class DraftCall:
    """One call: its id, the stratum it drafts for, and how many cases it asks for."""

    id: str
    stratum: Stratum
    n: int


def plan_calls(n: int, strata: Sequence[Stratum], *, seed: int) -> list[DraftCall]:
    """Plan the calls for n cases, each for one stratum."""
    counts: Counter[str] = Counter()
    calls = []
    for stratum, rest in zip(strata, allot(n, strata, seed=seed), strict=True):
        name = stratum.name or "all"
        while rest > 0:
            counts[name] += 1
            calls.append(DraftCall(f"{name[:180]}-{counts[name]}", stratum, min(BATCH, rest)))
            rest -= BATCH
    return calls


def drafting_task(task: TaskConfig) -> TaskConfig:
    """The task for the drafting model: to write cases of another task."""
    parts = {
        "NAME": task.name,
        "DESCRIPTION": task.description,
        "SYSTEM_PROMPT": task.system_prompt.strip(),
        "USER_TEMPLATE": task.user_template.strip(),
        "INPUTS": ", ".join(needed_inputs(task)),
        "EXPECTED": _EXPECTED_FORMS[_answer_rule(task)],
    }
    return TaskConfig(
        name=f"{task.name[:90]}.drafts",
        description=f"Draft cases of {task.name} for people to edit.",
        system_prompt=_fill_words(_SYSTEM, parts),
        user_template="{request}",
        scoring=ScoringConfig(mode="strict_substring", pass_rule="any_substring"),  # noqa: S106 - a rule
        max_tokens=MAX_TOKENS,
    )


def drafting_set(
    task: TaskConfig, name: str, calls: Sequence[DraftCall], examples: Sequence[EvalCase], *, seed: int
) -> EvalSet:
    """One case per call; its expected answer is what simulated models reply."""
    cases = [
        EvalCase(
            id=call.id,
            inputs={"request": _write_request(call, _sample_examples(call, examples, seed))},
            expected={"answer": json.dumps(_invent_cases(task, call)), "any_of": ["["]},
            stratum=call.stratum.values,
        )
        for call in calls
    ]
    return EvalSet(name=name, task=drafting_task(task).name, cases=cases)


def _answer_rule(task: TaskConfig) -> str:
    return task.scoring.pass_rule if task.scoring else "ranking"


def _fill_words(text: str, parts: Mapping[str, str]) -> str:
    """Replace each of these words in one pass, so that no part is filled into another."""
    return re.sub(f"\\b({'|'.join(parts)})\\b", lambda found: parts[found[1]], text)


def _sample_examples(call: DraftCall, examples: Sequence[EvalCase], seed: int) -> list[EvalCase]:
    """A few cases of the stratum, or of the whole set if the stratum has none."""
    own = [case for case in examples if case.stratum == call.stratum.values]
    rng = Random(f"{seed}/{call.id}")  # noqa: S311 - a draw, not a secret
    pool = own or list(examples)
    return rng.sample(pool, min(EXAMPLES, len(pool)))


def _write_request(call: DraftCall, examples: Sequence[EvalCase]) -> str:
    cases = "1 case" if call.n == 1 else f"{call.n} cases"
    lines = [f"Draft {cases}."]
    if call.stratum.values:
        described = ", ".join(f"{key} is {value}" for key, value in call.stratum.values.items())
        lines.append(f"Stratum: {described}. Every case must clearly belong to it.")
    if call.stratum.expected_type:
        lines.append(f'Every case is {call.stratum.expected_type} ("expected_type").')
    if examples:
        lines.append("Cases of the set as a guide to style and difficulty; do not repeat or reword them:")
    for case in examples:
        fields = case.model_dump(include={"inputs", "expected", "expected_type"}, exclude_defaults=True)
        lines.append(json.dumps(fields, ensure_ascii=False))
    lines.append(f"Part {call.id} of several: choose topics others are unlikely to choose.")
    return "\n".join(lines)


def _invent_cases(task: TaskConfig, call: DraftCall) -> list[dict[str, Any]]:
    """The reply of a simulated model: cases in the right form that differ by their numbers."""
    cases = []
    for number in range(1, call.n + 1):
        mark = f"{call.id}.{number}"
        case: dict[str, Any] = {
            "inputs": {name: f"Invented {name} {mark}" for name in needed_inputs(task)},
            "expected": _invent_expected(_answer_rule(task), f"answer {mark}"),
        }
        if call.stratum.expected_type == "negative":
            case["expected_type"] = "negative"
        cases.append(case)
    return cases


def _invent_expected(rule: str, answer: str) -> dict[str, Any]:
    match rule:
        case "exact_match":
            return {"answer": answer}
        case "ranking":
            return {"relevant": [answer]}
        case _:
            return {"any_of": [answer]}
