"""The graders of a test of an EVAL.yaml: every check becomes some, or is noted as lost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalq.definitions.graders import GraderConfig
from evalq.definitions.validation import split_remedy
from evalq.importers.eval_checks import CHECKS, Carry
from evalq.importers.eval_prompts import llm_grader
from evalq.importers.eval_rubrics import bare_lines, rubrics
from evalq.importers.eval_scene import Scene, Standing, standing_of
from evalq.transpile.eval_file import Assertion

ROWS: Mapping[str, Carry] = {**CHECKS, "llm-grader": llm_grader, "rubrics": rubrics}
"""Every type that becomes a grader."""

_LOST = {
    "code-grader": "runs a program of yours, which evalq does not: left out",
    "include": "brings in checks from elsewhere, which are not looked for: left out",
}


def graders_of(assertions: Sequence[Assertion], scene: Scene) -> list[GraderConfig]:
    """One grader at least for each check that has a counterpart; bare lines of text share one."""
    bare = [assertion for assertion in assertions if _is_bare(assertion)]
    graders: list[GraderConfig] = []
    for assertion in assertions:
        if not _is_bare(assertion):
            graders += _carried(assertion, standing_of(assertion), scene)
        elif assertion is bare[0]:
            graders += Standing().graders(bare_lines(bare))
    return graders


def _is_bare(assertion: Assertion) -> bool:
    is_line = assertion.type == "rubrics" and not assertion.written
    return is_line and bool(str(assertion.fields["criteria"]).strip())


def _carried(assertion: Assertion, standing: Standing, scene: Scene) -> list[GraderConfig]:
    if assertion.type == "composite":
        return [
            grader
            for member, own in _members(assertion, standing, scene)
            for grader in _carried(member, own, scene)
        ]
    row = ROWS.get(assertion.type)
    if row is None:
        kind = "has no type" if not assertion.written else "is a type of your own, which evalq has not"
        scene.lose(assertion, _LOST.get(assertion.type, f"{kind}: left out"))
        return []
    try:
        return standing.graders(row(assertion, scene))
    except ValueError as exc:
        message, remedy = split_remedy(str(exc))
        scene.lose(assertion, f"{message}: left out", remedy)
        return []


def _members(assertion: Assertion, standing: Standing, scene: Scene) -> Iterator[tuple[Assertion, Standing]]:
    """The checks of a composite with their share of its weight: a weighted mean can be taken apart."""
    how = _aggregator(assertion.fields)
    if how not in ("weighted_average", "average", "mean"):
        scene.lose(assertion, f"its checks are joined by {how}, which has no counterpart: left out")
        return
    if not assertion.members:
        scene.lose(assertion, "has no checks in it: left out")
    weights = [_weight(member, assertion) for member in assertion.members]
    total = sum(weights)
    if standing.required:
        scene.lose(assertion, "is required, so each of its checks is: stricter than their mean")
    for member, weight in zip(assertion.members, weights, strict=True):
        own = standing_of(member)
        yield (
            member,
            replace(
                own,
                weight=standing.weight * weight / total if total else 0.0,
                required=own.required or standing.required,
                negate=own.negate != standing.negate,
                name=own.name or standing.name,
            ),
        )


def _aggregator(fields: Mapping[str, Any]) -> str:
    """How a composite's checks become one; promptfoo's sets say it by a threshold."""
    written = fields.get("aggregator", fields.get("aggregation"))
    if written is None:
        return "weighted_average" if fields.get("threshold") is None else "threshold"
    kind = written.get("type", "weighted_average") if isinstance(written, dict) else written
    return str(kind).strip().replace("-", "_")


def _weight(member: Assertion, composite: Assertion) -> float:
    """A member's weight: as the composite says by its name, else its own."""
    aggregator = composite.fields.get("aggregator")
    by_name = aggregator.get("weights") if isinstance(aggregator, dict) else None
    weight = by_name.get(member.name) if isinstance(by_name, dict) else None
    if isinstance(weight, int | float) and not isinstance(weight, bool) and weight >= 0:
        return float(weight)
    return 1.0 if member.weight is None else float(member.weight)
