"""What a simulated judge says: right and wrong answers in each of the forms a task can ask for."""

import json
import re
from random import Random
from typing import Any

from evalq.records import About

_SECTION = re.compile(r"^\[(\w+)\]", re.MULTILINE)
_OPENINGS = (
    "The sources disagree",
    "These two statements cannot both hold",
    "There is a conflict here",
    "One source contradicts the other",
)


def right_answer(about: About, rng: Random) -> str:
    """The expected answer in the task's form."""
    if about.answer_form == "findings":
        return _json([_true_finding(about, rng)] if about.is_positive else [])
    if about.answer_form == "ranking":
        relevant = [str(item) for item in about.expected.get("relevant", [])]
        return _json([*relevant[:1], *_other_ids(rng), *relevant[1:]])
    if about.answer_form == "decision":
        return _decision(about, rng, is_right=True)
    return _expected_text(about)


def wrong_answer(about: About, rng: Random) -> str:
    """A plausible wrong answer in the task's form."""
    if about.answer_form == "findings":
        misses = about.is_positive and rng.random() < 0.6
        return _json([] if misses else [_false_finding(about, rng)])
    if about.answer_form == "ranking":
        return _json(_other_ids(rng))
    if about.answer_form == "decision":
        return _decision(about, rng, is_right=False)
    return "none of these" if _expected_text(about) != "none of these" else "something else"


def _true_finding(about: About, rng: Random) -> dict[str, Any]:
    quotes = about.expected.get("quotes") or [
        {"source": "?", "quote": str(phrase)} for phrase in about.expected.get("any_of", [])
    ]
    why = str(about.expected.get("why", ""))
    return {
        "contradiction": f"{rng.choice(_OPENINGS)}: {why}" if why else rng.choice(_OPENINGS),
        "quotes": quotes,
    }


def _false_finding(about: About, rng: Random) -> dict[str, Any]:
    """Quotes that stand in the sources but contradict nothing: their opening words."""
    sources = str(about.inputs.get("sources", ""))
    sections = _SECTION.split(sources)[1:]
    quotes = [
        {"source": label, "quote": text.strip().splitlines()[0][:24]}
        for label, text in zip(sections[::2], sections[1::2], strict=True)
        if text.strip()
    ]
    return {"contradiction": f"{rng.choice(_OPENINGS)} about what they describe.", "quotes": quotes}


def _decision(about: About, rng: Random, *, is_right: bool) -> str:
    """One of the choices, each written as `KEY=choice`, that is expected, or one that is not."""
    wanted = about.expected.get("decision", [])
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    fitting = [choice for choice in about.choices if (choice.partition("=")[2] in names) == is_right]
    return f"{rng.choice(fitting or about.choices)} REASON=simulated"


def _other_ids(rng: Random) -> list[str]:
    return [f"other-{rng.randrange(1000):03d}" for _ in range(5)]


def _expected_text(about: About) -> str:
    if "answer" in about.expected:
        return str(about.expected["answer"])
    return next((str(phrase) for phrase in about.expected.get("any_of", [])), "")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
