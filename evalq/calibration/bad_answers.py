"""Known-bad answers to put a grader to the test: nothing, "I don't know", and another case's answer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from evalq.definitions.evalset import EvalCase
from evalq.definitions.judge import SimulatedJudge
from evalq.definitions.task import TaskConfig
from evalq.grading.strict import wanted_phrases
from evalq.providers.simulated_answers import right_answer
from evalq.question import about

UNKNOWN = "I don't know."
CASES = 3
"""Cases a grader is tried on."""


@dataclass(frozen=True)
class Trial:
    """The cases, and what is answered to each by kind of bad answer; `skipped` says what is left out."""

    cases: tuple[EvalCase, ...]
    texts: Mapping[str, Mapping[str, str]]
    skipped: tuple[str, ...] = field(default=())

    def judges(self) -> list[SimulatedJudge]:
        """One simulated judge per kind, which gives just these answers."""
        return [
            SimulatedJudge(
                name=f"bad-{kind.replace('_', '-')}",
                provider="simulated",
                model=f"bad-{kind.replace('_', '-')}",
                time_scale=0.0,
                answers=dict(answers),
            )
            for kind, answers in self.texts.items()
        ]


def make_trial(task: TaskConfig, cases: Sequence[EvalCase]) -> Trial:
    """Bad answers to a few positive cases, all of them surely bad: none holds what its case asks for.

    On a negative case to find nothing is right, so such cases are no trial.
    """
    fit = [case for case in cases if case.expected_type == "positive" and not may_be_right(case, UNKNOWN)]
    others = {case.id: text for case in fit if (text := _other_answer(task, case, cases))}
    chosen = sorted(fit, key=lambda case: case.id not in others)[:CASES]
    texts = {"empty": dict.fromkeys((case.id for case in chosen), "")}
    texts["unknown"] = dict.fromkeys(texts["empty"], UNKNOWN)
    if chosen and all(case.id in others for case in chosen):
        return Trial(tuple(chosen), {**texts, "other_case": {case.id: others[case.id] for case in chosen}})
    return Trial(
        tuple(chosen), texts, ("other_case: no case has an answer that is surely wrong for another",)
    )


def may_be_right(case: EvalCase, text: str) -> bool:
    """Whether a text holds, or is a part of, anything the case asks for."""
    said = text.casefold()
    return any(phrase in said or said in phrase for phrase in _phrases(case))


def _phrases(case: EvalCase) -> Iterator[str]:
    expected = case.expected or {}
    relevant = expected.get("relevant")
    ids = relevant if isinstance(relevant, list) else []
    for phrase in (*wanted_phrases(expected), *map(str, ids)):
        if phrase.strip():
            yield phrase.strip().casefold()


def _other_answer(task: TaskConfig, case: EvalCase, cases: Sequence[EvalCase]) -> str:
    """The right answer to the next case whose answer is surely wrong for this one; "" when there is none."""
    at = next(place for place, other in enumerate(cases) if other.id == case.id)
    for other in (*cases[at + 1 :], *cases[:at]):
        if other.expected_type == "positive" and any(_phrases(other)):
            text = right_answer(about(task, other), Random(other.id))  # noqa: S311 - an answer, not a secret
            if text.strip() and not may_be_right(case, text):
                return text
    return ""
