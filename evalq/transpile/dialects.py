"""The names agentv's versions have had for the same things."""

ASSERTION_KEYS = ("assertions", "assert", "evaluators", "graders")

# Every type of agentv 4.42, by which the others are known.
TYPES = frozenset(
    {
        "code-grader",
        "composite",
        "contains",
        "contains-all",
        "contains-any",
        "cost",
        "ends-with",
        "equals",
        "execution-metrics",
        "field-accuracy",
        "icontains",
        "icontains-all",
        "icontains-any",
        "include",
        "is-json",
        "latency",
        "llm-grader",
        "regex",
        "rubrics",
        "skill-trigger",
        "starts-with",
        "token-usage",
        "tool-trajectory",
    }
)

_ALIASES = {
    "agent-judge": "llm-grader",
    "assert-set": "composite",
    "code": "code-grader",
    "code-judge": "code-grader",
    "llm-judge": "llm-grader",
    "llm-rubric": "llm-grader",
    "rubric": "rubrics",
    "script": "code-grader",
    "skill-used": "skill-trigger",
    "trigger-judge": "skill-trigger",
}


def normal_type(written: str) -> tuple[str, bool]:
    """The type in the words of agentv 4.42, and whether its name denies it: not-contains, not-skill-used."""
    name = _plain(written)
    if name in TYPES:
        return name, False
    denied = _plain(name.removeprefix("not-"))
    return (denied, True) if name.startswith("not-") and denied in TYPES else (name, False)


def _plain(name: str) -> str:
    dashed = name.strip().replace("_", "-")
    return _ALIASES.get(dashed, dashed)
