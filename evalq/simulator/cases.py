"""The cases the simulator knows the answers to, recognised by their rendered prompts."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from evalq.definitions.evalset import EvalCase
from evalq.definitions.files import load_evalset, load_task
from evalq.definitions.lookup import find_evalset, find_task
from evalq.definitions.task import TaskConfig
from evalq.grading.fence import without_nonce
from evalq.grading.questions import questions
from evalq.providers.simulated_answers import right_answer, wrong_answer
from evalq.providers.simulated_grading import grader_reply
from evalq.question import about, answer_prompt
from evalq.records import About, Prompt
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

    def answer(
        self, user: str, *, model: str, seed: str, accuracy: float, is_structured: bool = False
    ) -> str | None:
        """The model's answer to this prompt; None for one that is about no known case."""
        known = self._abouts.get(user.strip())
        if known:
            # By the case, not the prompt: a reworded template leaves the same cases hard.
            is_right = draw(model, known.task, known.case_id, "right") < accuracy
            rng = generator(model, known.task, known.case_id)
            return right_answer(known, rng) if is_right else wrong_answer(known, rng)
        graded = self._graded(without_nonce(user)) if self._frames else None
        if graded is None:
            return None
        return grader_reply(graded, is_right=draw(seed, "right") < accuracy, is_structured=is_structured)

    def _learn(self, task: TaskConfig, cases: list[EvalCase]) -> None:
        for case in cases:
            self._abouts[answer_prompt(task, case).user.strip()] = about(task, case)
        by_place: dict[int, list[_Frame]] = {}
        for case in cases:
            for place, frame in enumerate(_frames(task, case)):
                by_place.setdefault(place, []).append(frame)
        self._frames += [_FrameIndex(frames) for frames in by_place.values()]

    def _graded(self, user: str) -> About | None:
        return next((one for index in self._frames if (one := index.find(user))), None)


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
    return KnownCases(load_set(one, root) for one in sets)


def load_set(one: KnownSet, root: Path) -> tuple[TaskConfig, list[EvalCase]]:
    """One of these evalsets: its task and its cases."""
    task = load_task(find_task(one.task, root))
    return task, load_evalset(find_evalset(one.eval_set, task.name, root)).evalset.cases


def _frames(task: TaskConfig, case: EvalCase) -> Iterable[_Frame]:
    """The prompts to graders on a case, but for comparisons: those hold another answer, too."""
    asked = (question.prompt for question in questions(task, case, _GAP))
    prompts = {prompt.user: prompt for prompt in asked if prompt.about.reply_form != "preference"}
    return (_frame(prompt) for prompt in prompts.values())


def _frame(prompt: Prompt) -> _Frame:
    """A rubric may show the graded text more than once: the frame surrounds the first and the last."""
    parts = without_nonce(prompt.user).split(_GAP)
    return _Frame(parts[0], parts[-1].rstrip(), prompt.about)
