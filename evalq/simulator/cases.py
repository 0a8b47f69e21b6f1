"""The cases the simulator knows the answers to, recognised by their rendered prompts."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from evalq.definitions.evalset import EvalCase
from evalq.definitions.files import load_evalset, load_task
from evalq.definitions.lookup import find_evalset, find_task
from evalq.definitions.task import TaskConfig
from evalq.grading.judge_model import verdict_prompt
from evalq.providers.simulated_answers import grader_reply, right_answer, wrong_answer
from evalq.question import about, answer_prompt
from evalq.records import About
from evalq.simulator.chance import draw, generator
from evalq.simulator.profile import KnownSet

_GAP = "\x00graded\x00"
_KEY_CHARS = 96


class _Frame(NamedTuple):
    """The prompt to a grader on one case, before and after what is graded."""

    before: str
    after: str
    about: About


class KnownCases:
    """Answers a known case's prompt rightly or wrongly, and a grader's prompt on one by the truth."""

    def __init__(self, sets: Iterable[tuple[TaskConfig, Iterable[EvalCase]]] = ()) -> None:
        self._abouts: dict[str, About] = {}
        self._frames: list[_FrameIndex] = []
        for task, cases in sets:
            self._learn(task, list(cases))

    def answer(self, user: str, *, model: str, seed: str, accuracy: float) -> str | None:
        """The model's answer to this prompt; None for one that is about no known case."""
        known = self._abouts.get(user.strip())
        if known:
            # By the case, not the prompt: a reworded template leaves the same cases hard.
            is_right = draw(model, known.task, known.case_id, "right") < accuracy
            rng = generator(model, known.task, known.case_id)
            return right_answer(known, rng) if is_right else wrong_answer(known, rng)
        graded = next((one for index in self._frames if (one := index.find(user))), None)
        return grader_reply(graded, is_right=draw(seed, "right") < accuracy) if graded else None

    def _learn(self, task: TaskConfig, cases: list[EvalCase]) -> None:
        for case in cases:
            self._abouts[answer_prompt(task, case).user.strip()] = about(task, case)
        if task.scoring is not None and task.scoring.mode == "llm_judge":
            self._frames.append(_FrameIndex([_frame(task, case) for case in cases]))


class _FrameIndex:
    """Frames by how they begin: as many characters as it takes to get past what all of them share."""

    def __init__(self, frames: list[_Frame]) -> None:
        shared = _shared_chars([frame.before for frame in frames])
        self._length = min(shared + _KEY_CHARS, *(len(frame.before) for frame in frames), 1_000_000)
        self._frames: dict[str, list[_Frame]] = {}
        for frame in frames:
            self._frames.setdefault(frame.before[: self._length], []).append(frame)

    def find(self, user: str) -> About | None:
        """What a grader's prompt is about, with the text it is to grade."""
        for frame in self._frames.get(user[: self._length], ()):
            text = user.rstrip()
            if text.startswith(frame.before) and text.endswith(frame.after):
                graded = text[len(frame.before) : len(text) - len(frame.after)]
                return replace(frame.about, graded_text=graded)
        return None


def _shared_chars(texts: list[str]) -> int:
    """How many characters all of them begin with: those that the first and the last in order share."""
    pairs = zip(min(texts), max(texts), strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(map(len, texts)))


def load_known(sets: Iterable[KnownSet], root: Path) -> KnownCases:
    """The cases of these evalsets; InputError for a name that means none."""
    return KnownCases(_load(one, root) for one in sets)


def _load(one: KnownSet, root: Path) -> tuple[TaskConfig, list[EvalCase]]:
    task = load_task(find_task(one.task, root))
    return task, load_evalset(find_evalset(one.eval_set, task.name, root)).evalset.cases


def _frame(task: TaskConfig, case: EvalCase) -> _Frame:
    """A rubric may show the graded text more than once: the frame surrounds the first and the last."""
    parts = verdict_prompt(task, case, _GAP).user.split(_GAP)
    return _Frame(parts[0], parts[-1].rstrip(), about(task, case))
