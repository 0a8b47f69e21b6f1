"""Marking what the call took: time, dollars, tokens."""

from decimal import Decimal

from evalq.definitions.graders.limits import Cost, Latency, TokenUsage
from evalq.errors import UngradableAnswer
from evalq.grading.subject import Mark, Subject, mark


def mark_latency(grader: Latency, subject: Subject) -> Mark:
    """Passed within the limit."""
    took = subject.completion.latency_ms
    return mark(took <= grader.threshold, f"{took} ms, at most {grader.threshold:g} wanted")


def mark_cost(grader: Cost, subject: Subject) -> Mark:
    """Passed within the budget."""
    cost = subject.completion.cost_usd
    return mark(cost <= Decimal(repr(grader.budget)), f"${cost:f}, at most ${grader.budget:f} wanted")


def mark_token_usage(grader: TokenUsage, subject: Subject) -> Mark:
    """Passed when no limit is passed; a provider that counts no tokens leaves nothing to check."""
    usage = subject.completion.usage
    if not usage.input_tokens and not usage.output_tokens:
        raise UngradableAnswer("the provider did not say how many tokens the answer took")
    limits = {
        "tokens": (usage.input_tokens + usage.output_tokens, grader.max_total),
        "input tokens": (usage.input_tokens, grader.max_input),
        "output tokens": (usage.output_tokens, grader.max_output),
    }
    counted = {name: (took, limit) for name, (took, limit) in limits.items() if limit is not None}
    reasons = [f"{took} {name}, at most {limit} wanted" for name, (took, limit) in counted.items()]
    return mark(all(took <= limit for took, limit in counted.values()), "; ".join(reasons))
