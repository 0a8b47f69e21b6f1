"""The graders by type: one small function each."""

from collections.abc import Callable, Mapping
from typing import Any

from evalq.grading.checks.baseline import mark_numeric_delta
from evalq.grading.checks.fields import mark_field_accuracy
from evalq.grading.checks.json_checks import mark_is_json, mark_json_path, mark_json_schema
from evalq.grading.checks.limits import mark_cost, mark_latency, mark_token_usage
from evalq.grading.checks.nearness import mark_levenshtein
from evalq.grading.checks.numbers import mark_numeric
from evalq.grading.checks.patterns import mark_matches, mark_not_matches
from evalq.grading.checks.refusal import mark_refusal
from evalq.grading.checks.structure import mark_structural_match
from evalq.grading.checks.texts import (
    mark_contains,
    mark_contains_all,
    mark_ends_with,
    mark_equals,
    mark_max_words,
    mark_min_words,
    mark_not_contains,
    mark_semantic,
    mark_starts_with,
)
from evalq.grading.checks.tools import mark_max_tool_calls, mark_skill_triggered, mark_tool_trajectory
from evalq.grading.code import mark_function_output
from evalq.grading.decision import mark_decision
from evalq.grading.model_graders import mark_by_models
from evalq.grading.pairwise import mark_pairwise
from evalq.grading.retrieval import mark_hit_at_k, mark_mrr
from evalq.grading.subject import Bench, Mark, Subject

Check = Callable[[Any, Subject], Mark]
"""Looks at nothing but the answer, the case and what the call took."""

Examination = Callable[[Any, Subject, Bench], Mark]
"""Needs more than the answer: a grader model, the sandbox, or another judge's answer."""

CHECKS: Mapping[str, Check] = {
    "contains": mark_contains,
    "icontains": mark_contains,
    "not_contains": mark_not_contains,
    "contains_any": mark_contains,
    "icontains_any": mark_contains,
    "contains_all": mark_contains_all,
    "icontains_all": mark_contains_all,
    "starts_with": mark_starts_with,
    "ends_with": mark_ends_with,
    "equals": mark_equals,
    "exact_match": mark_equals,
    "matches": mark_matches,
    "regex": mark_matches,
    "not_matches": mark_not_matches,
    "min_tokens": mark_min_words,
    "min_words": mark_min_words,
    "max_tokens": mark_max_words,
    "max_words": mark_max_words,
    "is_json": mark_is_json,
    "json_schema": mark_json_schema,
    "json_path": mark_json_path,
    "numeric": mark_numeric,
    "numeric_delta": mark_numeric_delta,
    "structural_match": mark_structural_match,
    "semantic": mark_semantic,
    "field_accuracy": mark_field_accuracy,
    "levenshtein": mark_levenshtein,
    "latency": mark_latency,
    "cost": mark_cost,
    "token_usage": mark_token_usage,
    "tool_trajectory": mark_tool_trajectory,
    "max_tool_calls": mark_max_tool_calls,
    "skill_triggered": mark_skill_triggered,
    "refusal": mark_refusal,
    "decision": mark_decision,
    "hit_at_k": mark_hit_at_k,
    "mrr": mark_mrr,
}

EXAMINATIONS: Mapping[str, Examination] = {
    "function_output": mark_function_output,
    "boolean": mark_by_models,
    "categorical": mark_by_models,
    "criteria": mark_by_models,
    "pairwise": mark_pairwise,
    "rubric": mark_by_models,
    "verdict": mark_by_models,
}
