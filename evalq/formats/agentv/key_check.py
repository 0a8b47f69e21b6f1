"""The keys of an EVAL.yaml that evalq knows, and what is misspelt or unknown among those of a file."""

from pathlib import Path

from evalq.errors import InputError, Problem
from evalq.formats.agentv.sections import ASSERTION_KEYS, TYPES, normalise_type
from evalq.formats.document import Node, load_document, root_node
from evalq.formats.known_keys import KeyFindings, list_nodes

TEST_KEYS = ("tests", "eval_cases", "evalcases", "evalCases")

_INPUT = ("input", "input_messages", "input_files")
_EXPECTED = ("expected_output", "expected_messages")
_REPEAT = ("trials", "repeat", "runs")
_MARKING = (*ASSERTION_KEYS, "rubrics")
_RUN_EVAL = ("runs_per_query", "trigger_threshold")
_SHARED = (
    *_INPUT,
    *_MARKING,
    *_REPEAT,
    "execution",
    "target",
    "targets",
    "threshold",
    "metadata",
    "workspace",
)
_SUITE = {
    *_SHARED,
    *_RUN_EVAL,
    *TEST_KEYS,
    *("name", "description", "category", "version", "author", "license", "tags", "requires"),
    *("preprocessors", "prompts", "skills"),
}
_TEST = {
    *_SHARED,
    *_EXPECTED,
    *("id", "criteria", "expected_outcome", "description", "vars", "turns", "mode", "aggregation"),
    *("on_turn_failure", "window_size", "conversation_id", "suite", "depends_on", "on_dependency_failure"),
    *("include", "type"),
}
_TURN = {*_INPUT, *_EXPECTED, *_MARKING, "criteria"}
_EXECUTION = {
    *_MARKING,
    *_REPEAT,
    *_RUN_EVAL,
    *("target", "targets", "workers", "skip_defaults", "skipDefaults", "cache", "budget_usd", "budgetUsd"),
    *("fail_on_error", "failOnError", "threshold"),
}
_TRIALS = {"count", "strategy", "cost_limit_usd", "costLimitUsd"}
_ITEM = {
    *("id", "outcome", "criteria", "description", "value", "weight", "operator", "required"),
    *("min_score", "required_min_score", "score_ranges"),
}
_ASSERTION = {
    *_MARKING,
    *("type", "name", "metric", "weight", "required", "min_score", "negate", "value", "criteria", "id"),
    *("prompt", "skill", "should_trigger", "description", "model", "target", "provider", "temperature"),
    *("max_steps", "config", "flags", "aggregator", "aggregation", "threshold", "mode", "expected"),
    *("minimums", "args_match", "fields", "budget", "max_total", "max_input", "max_output", "include"),
    *("max_cost_usd", "max_duration_ms", "max_tokens", "max_tool_calls", "max_llm_calls"),
    *("target_exploration_ratio", "exploration_tolerance"),
}
_PASSED_ON = ("code-grader", "include")
"""Types whose further keys belong to programs of the user's."""


def check_suite(document: Node, findings: KeyFindings) -> None:
    """Look at everything but the tests of a file."""
    findings.check(document, _SUITE)
    _check_shared(document, findings)


def check_test(test: Node, findings: KeyFindings) -> None:
    """Look at a test and its turns."""
    findings.check(test, _TEST)
    _check_shared(test, findings)
    for turn in list_nodes(test, "turns"):
        findings.check(turn, _TURN)
        _check_marking(turn, findings)


def find_misspelt(path: Path) -> list[Problem]:
    """Return the misspelt keys of a file, for a reader that must take it as it is."""
    findings = KeyFindings()
    try:
        document = root_node(load_document(path))
    except InputError:
        return []
    tests = document.items() if isinstance(document.value, list) else list_nodes(document, *TEST_KEYS)
    check_suite(document, findings)
    for test in tests:
        check_test(test, findings)
    return list(findings.misspelt)


def _check_shared(owner: Node, findings: KeyFindings) -> None:
    execution = owner.get("execution")
    findings.check(execution, _EXECUTION)
    for place in (owner, execution):
        if place is not None:
            findings.check(place.get(*_REPEAT), _TRIALS)
            _check_marking(place, findings)


def _check_marking(owner: Node, findings: KeyFindings) -> None:
    for assertion in list_nodes(owner, *ASSERTION_KEYS):
        _check_assertion(assertion, findings)
    _check_items(owner, findings, "rubrics")


def _check_assertion(node: Node, findings: KeyFindings) -> None:
    kind = node.get_value("type")
    normal = normalise_type(kind)[0] if isinstance(kind, str) else ""
    if not kind:
        findings.check(node, _ASSERTION, lists_unknown=False)
    elif normal in TYPES and normal not in _PASSED_ON:
        findings.check(node, _ASSERTION)
    if normal == "composite":
        _check_marking(node, findings)
    elif normal in ("rubrics", "llm-grader"):
        _check_items(node, findings, "rubrics", "criteria", "value")


def _check_items(owner: Node, findings: KeyFindings, *keys: str) -> None:
    for item in list_nodes(owner, *keys):
        findings.check(item, _ITEM)
