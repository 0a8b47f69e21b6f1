"""What a simulated model says to a prompt, and how many tokens that is."""

import json
import re
from collections.abc import Callable

from evalq.simulator.chance import draw
from evalq.simulator.exchange import CHARS_PER_TOKEN, Asked, Finish, Reply
from evalq.simulator.profile import Profile

_SAY = re.compile(r'\bsay ("(?:[^"\\]|\\.)*")', re.IGNORECASE | re.DOTALL)
_VERDICTS = ("VALID", "INVALID")

Recall = Callable[..., str | None]
"""KnownCases.answer, or anything with its form."""


def make_reply(asked: Asked, profile: Profile, fault: str, *, seed: str, recall: Recall) -> Reply:
    """The reply to a call with this fault ("" for none); what is longer than the limit ends there."""
    text = _text(asked, profile, seed, recall)
    if fault in ("empty", "blocked", "refusal"):
        return _unsaid(asked, profile, fault)  # type: ignore[arg-type]
    wanted = _tokens(text) + profile.thinking_tokens
    if fault == "truncated":
        # The limit was hit, so all of it is billed, whatever there is to see.
        cut = "" if profile.thinking_tokens else text[: len(text) // 2]
        return _cut(asked, profile, cut, asked.max_tokens or wanted)
    if asked.max_tokens is not None and wanted > asked.max_tokens:
        room = max(0, asked.max_tokens - profile.thinking_tokens)
        return _cut(asked, profile, text[: room * CHARS_PER_TOKEN], asked.max_tokens)
    return _whole(asked, profile, text)


def echo(user: str) -> str:
    """What the prompt asks to be said, as in: say "yes"; otherwise ok."""
    found = _SAY.search(user) if '"' in user else None
    if not found:
        return "ok"
    try:
        return str(json.loads(found[1], strict=False))
    except ValueError:
        return found[1][1:-1]


def _text(asked: Asked, profile: Profile, seed: str, recall: Recall) -> str:
    text = _said(asked, profile, seed, recall)
    if asked.is_structured and text in _VERDICTS:
        return json.dumps({"reason": "simulated", "verdict": text})
    return text


def _said(asked: Asked, profile: Profile, seed: str, recall: Recall) -> str:
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


def _tokens(text: str) -> int:
    return -(-len(text) // CHARS_PER_TOKEN)


def _unsaid(asked: Asked, profile: Profile, finish: Finish) -> Reply:
    """Even silence has tokens, unless the prompt was not let through."""
    spoken = 0 if finish == "blocked" else 1
    return Reply("", finish, asked.input_tokens, spoken, profile.thinking_tokens * spoken)


def _cut(asked: Asked, profile: Profile, text: str, billed: int) -> Reply:
    thinking = min(profile.thinking_tokens, billed)
    return Reply(text, "length", asked.input_tokens, billed - thinking, thinking)


def _whole(asked: Asked, profile: Profile, text: str) -> Reply:
    tokens = _tokens(text) if profile.output_tokens is None else profile.output_tokens
    if asked.max_tokens is not None:
        tokens = min(tokens, asked.max_tokens - profile.thinking_tokens)
    return Reply(text, "stop", asked.input_tokens, tokens, profile.thinking_tokens)
