"""The graders by type: one small function each."""

from collections.abc import Callable, Mapping
from typing import Any

from evalq.grading.code import mark_function_output
from evalq.grading.model_graders import mark_by_models
from evalq.grading.pairwise import mark_pairwise
from evalq.grading.retrieval import mark_hit_at_k, mark_mrr
from evalq.grading.subject import Bench, Mark, Subject

Check = Callable[[Any, Subject], Mark]
"""Looks at nothing but the answer, the case and what the call took."""

Examination = Callable[[Any, Subject, Bench], Mark]
"""Needs more than the answer: a grader model, the sandbox, or another judge's answer."""

CHECKS: Mapping[str, Check] = {
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
