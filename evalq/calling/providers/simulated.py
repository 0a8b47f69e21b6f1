"""Simulated judges: deterministic stand-ins, right or wrong by design, in the task's real format."""

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from random import Random
from statistics import NormalDist
from typing import Any

from evalq.definitions.judge import SimulatedJudge
from evalq.errors import ProviderFault
from evalq.records import CaseContext, Completion, CompletionState, Prompt, ReplyForm, Usage

_SECTION = re.compile(r"^\[(\w+)\]", re.MULTILINE)
_OPENINGS = (
    "The sources disagree",
    "These two statements cannot both hold",
    "There is a conflict here",
    "One source contradicts the other",
)
_REASON = "simulated"
_NORMAL = NormalDist()
_SLOW_FACTOR = 5


class SimulatedAdapter:
    """Draws everything from (seed, judge, case, sample): the same question has the same answer, always."""

    def __init__(self, judge: SimulatedJudge, environ: Mapping[str, str]) -> None:
        del environ  # needs no key
        self._judge = judge

    async def complete(self, prompt: Prompt) -> Completion:
        """One answer, after the simulated latency."""
        about = prompt.about
        trouble = self._trouble(about)
        latency_ms = self._latency_ms(about, is_slow=trouble == "slow")
        await asyncio.sleep(latency_ms / 1000 * self._judge.time_scale)
        if trouble == "error":
            raise ProviderFault("transient", "simulated overload")
        state, text = self._answer(prompt, trouble)
        return Completion(state, text, _count_usage(prompt, text), latency_ms, model=self._judge.model)

    def _rng(self, about: CaseContext, what: str) -> Random:
        key = f"{about.seed}/{self._judge.name}/{about.case_id}/{about.sample}/{about.graded_text}/{what}"
        return seeded(key)

    def _trouble(self, about: CaseContext) -> str | None:
        """The misbehaviour this call has, if any. An error passes with the next attempt's own draw."""
        draw = self._rng(about, f"trouble/{about.attempt}").random()
        for name, share in self._judge.misbehaviour:
            if draw < share:
                return str(name)
            draw -= share
        return None

    def _latency_ms(self, about: CaseContext, *, is_slow: bool) -> int:
        quantiles = self._judge.latency_ms
        spread: float = quantiles.p95 / quantiles.p50
        z = self._rng(about, f"latency/{about.attempt}").gauss(0, 1) / _NORMAL.inv_cdf(0.95)
        stretch = float(spread**z) * (_SLOW_FACTOR if is_slow else 1)
        return max(1, round(quantiles.p50 * stretch))

    def _answer(self, prompt: Prompt, trouble: str | None) -> tuple[CompletionState, str]:
        about = prompt.about
        if about.case_id in self._judge.answers and not about.graded_text:
            text = self._judge.answers[about.case_id]
            return ("answered" if text.strip() else "empty"), text
        text = self._text(prompt)
        match trouble:
            case "empty":
                return "empty", ""
            case "refused":
                return "refused", "I can't help with that."
            case "truncated":
                return "truncated", text[: len(text) // 2]
            case "malformed":
                return "answered", f"Sure! Here is what I found: {text[:40]}"
        return "answered", text

    def _text(self, prompt: Prompt) -> str:
        about, judge = prompt.about, self._judge
        is_right = self._is_right(about)
        if about.graded_text:
            aloud = prompt.user if judge.echo else ""
            return grader_reply(about, is_right=is_right, is_structured=judge.structured, aloud=aloud)
        rng = self._rng(about, "answer")
        if is_right:
            return right_answer(about, rng)
        labels = other_labels(prompt.system, _expected_text(about))
        return rng.choice(labels) if labels else wrong_answer(about, rng)

    def _is_right(self, about: CaseContext) -> bool:
        """A latent ability model: case difficulty shared by all, taste shared by the family, and luck."""
        judge = self._judge
        shared, family = judge.shared_difficulty, min(judge.family_likeness, 1 - judge.shared_difficulty)
        difficulty = seeded(f"{about.task}/{about.case_id}").gauss(0, 1)
        taste = seeded(f"{judge.family}/{about.task}/{about.case_id}").gauss(0, 1)
        luck = self._rng(about, "right").gauss(0, 1)
        latent = shared**0.5 * difficulty + family**0.5 * taste + (1 - shared - family) ** 0.5 * luck
        return _NORMAL.cdf(latent) < self._accuracy(about)

    def _accuracy(self, about: CaseContext) -> float:
        by_stratum = self._judge.accuracy_by_stratum
        names = ("_".join(about.stratum.values()), *about.stratum.values())
        return next((by_stratum[name] for name in names if name in by_stratum), self._judge.accuracy)


def seeded(key: str) -> Random:
    """A generator that depends on nothing but the key."""
    return Random(hashlib.sha256(key.encode()).digest())  # noqa: S311 - a simulation, not a secret


def _count_usage(prompt: Prompt, text: str) -> Usage:
    """About four characters a token, a few tokens for the envelope."""
    tokens_in = (len(prompt.system) + len(prompt.user)) // 4 + 8
    tokens_out = min(len(text) // 4 + (4 if text else 0), prompt.max_tokens)
    return Usage(tokens_in, tokens_out, raw={"input_tokens": tokens_in, "output_tokens": tokens_out})


def right_answer(about: CaseContext, rng: Random) -> str:
    """The expected answer in the task's form."""
    if about.answer_form == "findings":
        return _to_json([_make_true_finding(about, rng)] if about.is_positive else [])
    if about.answer_form == "ranking":
        relevant = [str(item) for item in about.expected.get("relevant", [])]
        return _to_json([*relevant[:1], *_make_other_ids(rng), *relevant[1:]])
    if about.answer_form == "decision":
        return _make_decision(about, rng, is_right=True)
    return _expected_text(about)


def wrong_answer(about: CaseContext, rng: Random) -> str:
    """A plausible wrong answer in the task's form."""
    if about.answer_form == "findings":
        misses = about.is_positive and rng.random() < 0.6
        return _to_json([] if misses else [_make_false_finding(about, rng)])
    if about.answer_form == "ranking":
        return _to_json(_make_other_ids(rng))
    if about.answer_form == "decision":
        return _make_decision(about, rng, is_right=False)
    return "none of these" if _expected_text(about) != "none of these" else "something else"


def other_labels(system_prompt: str, expected: str) -> list[str]:
    """The labels a prompt lists, one a line, without the expected one; none if that is not among them."""
    labels = [line[2:].strip() for line in system_prompt.splitlines() if line.startswith("- ")]
    return [label for label in labels if label != expected] if expected in labels else []


def _make_true_finding(about: CaseContext, rng: Random) -> dict[str, Any]:
    quotes = about.expected.get("quotes")
    if not quotes:
        quotes = [{"source": "?", "quote": str(phrase)} for phrase in about.expected.get("any_of", [])]
    contradiction = rng.choice(_OPENINGS)
    if why := str(about.expected.get("why", "")):
        contradiction += f": {why}"
    return {"contradiction": contradiction, "quotes": quotes}


def _make_false_finding(about: CaseContext, rng: Random) -> dict[str, Any]:
    """Quotes of the sources' opening words, which contradict nothing."""
    sections = _SECTION.split(str(about.inputs.get("sources", "")))[1:]
    quotes = []
    for label, text in zip(sections[::2], sections[1::2], strict=True):
        if text.strip():
            quotes.append({"source": label, "quote": text.strip().splitlines()[0][:24]})
    return {"contradiction": f"{rng.choice(_OPENINGS)} about what they describe.", "quotes": quotes}


def _make_decision(about: CaseContext, rng: Random, *, is_right: bool) -> str:
    """One of the choices, each written as `KEY=choice`: an expected one, or another."""
    wanted = about.expected.get("decision", [])
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    fitting = [choice for choice in about.choices if (choice.partition("=")[2] in names) == is_right]
    return f"{rng.choice(fitting or about.choices)} REASON=simulated"


def _make_other_ids(rng: Random) -> list[str]:
    return [f"other-{rng.randrange(1000):03d}" for _ in range(5)]


def _expected_text(about: CaseContext) -> str:
    if "answer" in about.expected:
        return str(about.expected["answer"])
    return next((str(phrase) for phrase in about.expected.get("any_of", [])), "")


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def grader_reply(about: CaseContext, *, is_right: bool, is_structured: bool = False, aloud: str = "") -> str:
    """The mark when right, the opposite when wrong: as a JSON object, or on a last line of its own.

    `aloud` is what the grader says first; in an object that is its reason.
    """
    key, value = _MARKS.get(about.reply_form, _mark_verdict)(about, is_right)
    if is_structured:
        return json.dumps({"reason": aloud or _REASON, key: value}, ensure_ascii=False)
    return f"{aloud}\n{_format_mark(key, value)}" if aloud else _format_mark(key, value)


def _format_mark(key: str, value: Any) -> str:
    if key == "verdict":
        return str(value)
    if key == "scores":
        return json.dumps({"reason": _REASON, key: value}, ensure_ascii=False)
    return f"{key.upper()}={value} REASON={_REASON}"


def _mark_verdict(about: CaseContext, is_right: bool) -> tuple[str, Any]:
    return "verdict", "VALID" if _is_true(about, about.graded_text) == is_right else "INVALID"


def _mark_score(about: CaseContext, is_right: bool) -> tuple[str, Any]:
    return "score", _one_score(about, "", is_good=_is_true(about, about.graded_text) == is_right)


def _mark_criteria(about: CaseContext, is_right: bool) -> tuple[str, Any]:
    is_good = _is_true(about, about.graded_text) == is_right
    return "scores", {name: _one_score(about, name, is_good=is_good) for name in about.choices}


def _mark_category(about: CaseContext, is_right: bool) -> tuple[str, Any]:
    """The first of the choices is the best one, the last the worst."""
    return "category", about.choices[0 if _is_true(about, about.graded_text) == is_right else -1]


def _mark_boolean(about: CaseContext, is_right: bool) -> tuple[str, Any]:
    return "answer", "YES" if _is_true(about, about.graded_text) == is_right else "NO"


def _mark_preference(about: CaseContext, is_right: bool) -> tuple[str, Any]:
    """The true answer of two; a wrong grader takes the other, or the first of two equals."""
    first, second = (_is_true(about, text) for text in about.choices)
    truth = "TIE"
    if first != second:
        truth = "A" if first else "B"
    if is_right:
        return "winner", truth
    return "winner", {"TIE": "A", "A": "B", "B": "A"}[truth]


_MARKS: Mapping[ReplyForm, Callable[[CaseContext, bool], tuple[str, Any]]] = {
    "verdict": _mark_verdict,
    "score": _mark_score,
    "criteria": _mark_criteria,
    "category": _mark_category,
    "boolean": _mark_boolean,
    "preference": _mark_preference,
}


def _one_score(about: CaseContext, name: str, *, is_good: bool) -> int:
    """The end of the scale or the score next to it; by the case, so that the same answer scores the same."""
    low, high = about.scale
    step = int(high - low > 2 and Random(f"{about.case_id}/{name}").random() < 0.5)  # noqa: S311 - no secret
    return high - step if is_good else low + step


def _is_true(about: CaseContext, text: str) -> bool:
    """Whether a text holds one of the expected phrases, plainly or escaped as in JSON."""
    wanted = [str(phrase) for phrase in about.expected.get("any_of", [])]
    phrases = wanted or [str(about.expected.get("answer", ""))]
    return any(phrase and (phrase in text or _escape(phrase) in text) for phrase in phrases)


def _escape(phrase: str) -> str:
    return json.dumps(phrase, ensure_ascii=False)[1:-1]
