"""Marking by substring: the three pass rules without any model."""

from collections.abc import Callable, Mapping
from typing import Any

from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import PassRule
from evalq.grading.findings import finding_text, parse_list

Mark = tuple[bool, str]


def mark_strictly(rule: PassRule, case: EvalCase, answer: str) -> Mark:
    """Passed or not, and why. Raises UngradableAnswer for an answer that is not in the agreed form."""
    return _RULES[rule](case, answer)


def wanted_phrases(expected: Mapping[str, Any]) -> list[str]:
    """The phrases of which one must occur: `any_of`, or `answer` alone."""
    any_of = expected.get("any_of")
    return (
        [str(phrase) for phrase in any_of]
        if any_of
        else [str(expected["answer"])]
        if "answer" in expected
        else []
    )


def _exact_match(case: EvalCase, answer: str) -> Mark:
    wanted = str((case.expected or {}).get("answer", ""))
    passed = answer.strip() == wanted.strip()
    return passed, "equals the expected answer" if passed else f"expected {wanted!r}"


def _any_substring(case: EvalCase, answer: str) -> Mark:
    wanted = wanted_phrases(case.expected or {})
    found = next((phrase for phrase in wanted if phrase in answer), None)
    return (True, f"contains {found!r}") if found is not None else (False, f"contains none of {wanted!r}")


def _findings(case: EvalCase, answer: str) -> Mark:
    findings = parse_list(answer)
    if case.expected_type == "negative":
        return (
            (False, f"{len(findings)} findings on a negative case") if findings else (True, "rightly empty")
        )
    if not findings:
        return False, "empty on a positive case"
    wanted = wanted_phrases(case.expected or {})
    found = next((phrase for phrase in wanted for f in findings if phrase in finding_text(f)), None)
    return (
        (True, f"a finding contains {found!r}")
        if found is not None
        else (False, "no finding names the contradiction")
    )


_RULES: dict[PassRule, Callable[[EvalCase, str], Mark]] = {
    "exact_match": _exact_match,
    "any_substring": _any_substring,
    "positive_at_least_one_valid_or_empty_on_negative": _findings,
}
