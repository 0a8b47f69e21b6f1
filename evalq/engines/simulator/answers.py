"""What a simulated model says to a prompt, and how many tokens that is."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from evalq.calling.providers.simulated import grader_reply, right_answer, wrong_answer
from evalq.definitions.evalset import EvalCase
from evalq.definitions.files import load_evalset, load_task
from evalq.definitions.project import find_evalset, find_task
from evalq.definitions.prompt import answer_prompt, describe_case
from evalq.definitions.task import TaskConfig
from evalq.engines.simulator.exchange import (
    CHARS_PER_TOKEN,
    Finish,
    ModelReply,
    ModelRequest,
    draw,
    generator,
)
from evalq.engines.simulator.profile import KnownSet, Profile
from evalq.grading.grade import grader_calls
from evalq.grading.prompts import without_nonce
from evalq.records import CaseContext, Prompt

_SAY = re.compile(r'\bsay ("(?:[^"\\]|\\.)*")', re.IGNORECASE | re.DOTALL)
_VERDICTS = ("VALID", "INVALID")

Recall = Callable[..., str | None]
"""KnownCases.answer, or anything with its form."""


def make_reply(asked: ModelRequest, profile: Profile, fault: str, *, seed: str, recall: Recall) -> ModelReply:
    """The reply to a call with this fault ("" for none); what is longer than the limit ends there."""
    text = _write_text(asked, profile, seed, recall)
    if fault in ("empty", "blocked", "refusal"):
        return _reply_without_text(asked, profile, fault)  # type: ignore[arg-type]
    wanted = _count_tokens(text) + profile.thinking_tokens
    if fault == "truncated":
        # The limit was hit, so all of it is billed, whatever there is to see.
        cut = "" if profile.thinking_tokens else text[: len(text) // 2]
        return _reply_cut_off(asked, profile, cut, asked.max_tokens or wanted)
    if asked.max_tokens is not None and wanted > asked.max_tokens:
        room = max(0, asked.max_tokens - profile.thinking_tokens)
        return _reply_cut_off(asked, profile, text[: room * CHARS_PER_TOKEN], asked.max_tokens)
    return _reply_in_full(asked, profile, text)


def echo(user: str) -> str:
    """The text that the prompt asks for, as in: say "yes"; otherwise ok."""
    found = _SAY.search(user) if '"' in user else None
    if not found:
        return "ok"
    try:
        return str(json.loads(found[1], strict=False))
    except ValueError:
        return found[1][1:-1]


def _write_text(asked: ModelRequest, profile: Profile, seed: str, recall: Recall) -> str:
    text = _choose_text(asked, profile, seed, recall)
    if asked.is_structured and text in _VERDICTS:
        return json.dumps({"reason": "simulated", "verdict": text})
    return text


def _choose_text(asked: ModelRequest, profile: Profile, seed: str, recall: Recall) -> str:
    if profile.fixed is not None:
        return profile.fixed
    if profile.answer == "verdict":
        return _VERDICTS[draw(seed, "verdict") >= profile.valid]
    if profile.answer == "cases":
        known = recall(
            asked.user,
            model=asked.model,
            seed=seed,
            accuracy=profile.accuracy,
            is_structured=asked.is_structured,
        )
        return echo(asked.user) if known is None else known
    return echo(asked.user)


def _count_tokens(text: str) -> int:
    return -(-len(text) // CHARS_PER_TOKEN)


def _reply_without_text(asked: ModelRequest, profile: Profile, finish: Finish) -> ModelReply:
    """A reply without text: it is billed a token, unless the prompt was blocked."""
    spoken = 0 if finish == "blocked" else 1
    return ModelReply("", finish, asked.input_tokens, spoken, profile.thinking_tokens * spoken)


def _reply_cut_off(asked: ModelRequest, profile: Profile, text: str, billed: int) -> ModelReply:
    thinking = min(profile.thinking_tokens, billed)
    return ModelReply(text, "length", asked.input_tokens, billed - thinking, thinking)


def _reply_in_full(asked: ModelRequest, profile: Profile, text: str) -> ModelReply:
    tokens = _count_tokens(text) if profile.output_tokens is None else profile.output_tokens
    if asked.max_tokens is not None:
        tokens = min(tokens, asked.max_tokens - profile.thinking_tokens)
    return ModelReply(text, "stop", asked.input_tokens, tokens, profile.thinking_tokens)


_GAP = "\x00graded\x00"
_KEY_CHARS = 96


class _Frame(NamedTuple):
    """The prompt to a grader on one case, before and after what is graded."""

    before: str
    after: str
    about: CaseContext


class KnownCases:
    """Answers a known case's prompt rightly or wrongly, and a grader's prompt on one by the truth."""

    def __init__(self, sets: Iterable[tuple[TaskConfig, Iterable[EvalCase]]] = ()) -> None:
        self._abouts: dict[str, CaseContext] = {}
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
        graded = self._find_graded(without_nonce(user)) if self._frames else None
        if graded is None:
            return None
        return grader_reply(graded, is_right=draw(seed, "right") < accuracy, is_structured=is_structured)

    def _learn(self, task: TaskConfig, cases: list[EvalCase]) -> None:
        for case in cases:
            self._abouts[answer_prompt(task, case).user.strip()] = describe_case(task, case)
        by_place: dict[int, list[_Frame]] = {}
        for case in cases:
            for place, frame in enumerate(_make_frames(task, case)):
                by_place.setdefault(place, []).append(frame)
        self._frames += [_FrameIndex(frames) for frames in by_place.values()]

    def _find_graded(self, user: str) -> CaseContext | None:
        for index in self._frames:
            if found := index.find(user):
                return found
        return None


class _FrameIndex:
    """Frames by how they begin: as many characters as it takes to get past what all of them share."""

    def __init__(self, frames: list[_Frame]) -> None:
        shared = _shared_chars([frame.before for frame in frames])
        self._length = min(shared + _KEY_CHARS, *(len(frame.before) for frame in frames), 1_000_000)
        self._frames: dict[str, list[_Frame]] = {}
        for frame in frames:
            self._frames.setdefault(frame.before[: self._length], []).append(frame)

    def find(self, user: str) -> CaseContext | None:
        """The case of a grader's prompt, with the text under grading."""
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


def _make_frames(task: TaskConfig, case: EvalCase) -> Iterable[_Frame]:
    """The prompts to graders on a case, except comparisons, which hold another answer too."""
    asked = (question.prompt for question in grader_calls(task, case, _GAP))
    prompts = {prompt.user: prompt for prompt in asked if prompt.about.reply_form != "preference"}
    return (_make_frame(prompt) for prompt in prompts.values())


def _make_frame(prompt: Prompt) -> _Frame:
    """The text around the graded one; a rubric that shows it twice is cut at the first and the last."""
    parts = without_nonce(prompt.user).split(_GAP)
    return _Frame(parts[0], parts[-1].rstrip(), prompt.about)
