"""Simulated judges: deterministic stand-ins that are right or wrong by design, in the task's real format."""

import hashlib
import time
from collections.abc import Mapping
from random import Random
from statistics import NormalDist

from evalq.definitions.judge import SimulatedJudge
from evalq.errors import ProviderFault
from evalq.providers.simulated_answers import right_answer, wrong_answer
from evalq.providers.simulated_grading import grader_reply
from evalq.records import About, Completion, CompletionState, Prompt, Usage

_NORMAL = NormalDist()
_SLOW_FACTOR = 5


class SimulatedAdapter:
    """Draws everything from (seed, judge, case, sample): the same question has the same answer, always."""

    def __init__(self, judge: SimulatedJudge, environ: Mapping[str, str]) -> None:
        del environ  # needs no key
        self._judge = judge

    def complete(self, prompt: Prompt) -> Completion:
        """One answer, after the simulated latency."""
        about = prompt.about
        trouble = self._trouble(about)
        latency_ms = self._latency_ms(about, is_slow=trouble == "slow")
        time.sleep(latency_ms / 1000 * self._judge.time_scale)
        if trouble == "error":
            raise ProviderFault("transient", "simulated overload")
        state, text = self._answer(prompt, trouble)
        return Completion(state, text, _usage(prompt, text), latency_ms, model=self._judge.model)

    def _rng(self, about: About, what: str) -> Random:
        key = f"{about.seed}/{self._judge.name}/{about.case_id}/{about.sample}/{about.graded_text}/{what}"
        return seeded(key)

    def _trouble(self, about: About) -> str | None:
        """The misbehaviour this call has, if any. An error passes with the next attempt's own draw."""
        draw = self._rng(about, f"trouble/{about.attempt}").random()
        for name, share in self._judge.misbehaviour:
            if draw < share:
                return str(name)
            draw -= share
        return None

    def _latency_ms(self, about: About, *, is_slow: bool) -> int:
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
        return right_answer(about, rng) if is_right else wrong_answer(about, rng)

    def _is_right(self, about: About) -> bool:
        """A latent ability model: case difficulty shared by all, taste shared by the family, and luck."""
        judge = self._judge
        shared, family = judge.shared_difficulty, min(judge.family_likeness, 1 - judge.shared_difficulty)
        difficulty = seeded(f"{about.task}/{about.case_id}").gauss(0, 1)
        taste = seeded(f"{judge.family}/{about.task}/{about.case_id}").gauss(0, 1)
        luck = self._rng(about, "right").gauss(0, 1)
        latent = shared**0.5 * difficulty + family**0.5 * taste + (1 - shared - family) ** 0.5 * luck
        return _NORMAL.cdf(latent) < self._accuracy(about)

    def _accuracy(self, about: About) -> float:
        by_stratum = self._judge.accuracy_by_stratum
        names = ("_".join(about.stratum.values()), *about.stratum.values())
        return next((by_stratum[name] for name in names if name in by_stratum), self._judge.accuracy)


def seeded(key: str) -> Random:
    """A generator that depends on nothing but the key."""
    return Random(hashlib.sha256(key.encode()).digest())  # noqa: S311 - a simulation, not a secret


def _usage(prompt: Prompt, text: str) -> Usage:
    """About four characters a token, a few tokens for the envelope."""
    tokens_in = (len(prompt.system) + len(prompt.user)) // 4 + 8
    tokens_out = min(len(text) // 4 + (4 if text else 0), prompt.max_tokens)
    return Usage(tokens_in, tokens_out, raw={"input_tokens": tokens_in, "output_tokens": tokens_out})
