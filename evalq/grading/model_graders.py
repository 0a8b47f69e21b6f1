"""Marking by grader models: what each type asks, and what its replies come to."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from evalq.definitions.graders.model import (
    BooleanGrader,
    CategoricalGrader,
    CriteriaGrader,
    Example,
    Panel,
    RubricGrader,
    VerdictGrader,
)
from evalq.errors import UngradableAnswer
from evalq.grading.grader import AnswerToGrade, GradingContext, Mark
from evalq.grading.prompts import GraderBrief, ShownText, examples_text, grader_prompt, refuse_unfit
from evalq.grading.replies import (
    GraderReply,
    boolean_form,
    category_form,
    criteria_form,
    score_form,
    verdict_form,
)
from evalq.records import Prompt

DEFAULT = "default"
"""What the bake-off's own grader model is called where others have names."""


@dataclass(frozen=True)
class GraderOpinion:
    """One grader model's mark: passed or not, a score from 0 to 1, what it said in one word, and why.

    `in_full` is what it said where there is room for it.
    """

    passed: bool
    score: float
    said: str
    reason: str = ""
    in_full: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Member:
    """A grader model of the panel, with its opinion or why it has none."""

    model: str | None
    opinion: GraderOpinion | None
    error: str = ""

    @property
    def name(self) -> str:
        """The model's name in the task."""
        return self.model or DEFAULT

    def to_dict(self) -> dict[str, Any]:
        """As details have it."""
        if self.opinion is None:
            return {"model": self.name, "error": self.error}
        one = self.opinion
        known = {"model": self.name, "passed": one.passed, "score": one.score, "said": one.said}
        return {**known, "reason": one.reason, **one.details}


def hear(models: Sequence[str | None], ask: Callable[[str | None], GraderOpinion]) -> list[Member]:
    """Every model's opinion; one that cannot be had is an error of that member alone."""
    members = []
    for model in models:
        try:
            members.append(Member(model, ask(model)))
        except UngradableAnswer as exc:
            members.append(Member(model, None, str(exc)))
    return members


def decide(members: Sequence[Member], panel: Panel, passes: Callable[[float], bool] | None) -> Mark:
    """The mark of a grader model, or of a panel.

    `passes` says of a mean score whether it suffices; None for graders that know yes and no only, whose
    votes can be tied for good. A panel of which no majority answered decides nothing.
    """
    opinions = [member.opinion for member in members if member.opinion is not None]
    if len(members) == 1 and opinions:
        [one] = opinions
        said = one.in_full or one.said
        reason = f"{said}: {one.reason}" if one.reason else said
        return Mark(one.passed, one.score, reason, {"members": [members[0].to_dict()]})
    if 2 * len(opinions) <= len(members):
        raise UngradableAnswer("; ".join(_in_words(member) for member in members if member.error))
    score = sum(one.score for one in opinions) / len(opinions)
    passed = _passed(opinions, score, panel, passes)
    details = {"members": [member.to_dict() for member in members], "agreement": agreement(opinions)}
    return Mark(passed, score, _panel_reason(members, opinions, score, panel), details)


def agreement(opinions: Sequence[GraderOpinion]) -> float | None:
    """The share of pairs that agree on passed or not; None without a pair."""
    pairs = [a.passed == b.passed for a, b in combinations(opinions, 2)]
    return sum(pairs) / len(pairs) if pairs else None


def _passed(
    opinions: Sequence[GraderOpinion], score: float, panel: Panel, passes: Callable[[float], bool] | None
) -> bool:
    ayes = sum(one.passed for one in opinions)
    is_tied = 2 * ayes == len(opinions)
    if passes is not None and (panel == "mean" or is_tied):
        return passes(score)
    if is_tied:
        raise UngradableAnswer(f"the panel is evenly split: {ayes} of {len(opinions)} pass")
    return 2 * ayes > len(opinions)


def _panel_reason(
    members: Sequence[Member], opinions: Sequence[GraderOpinion], score: float, panel: Panel
) -> str:
    each = ", ".join(_in_words(member) for member in members)
    ayes = sum(one.passed for one in opinions)
    mean = f"mean score {score:.2f}, " if panel == "mean" else ""
    return f"{mean}{ayes} of {len(opinions)} pass ({each})"


def _in_words(member: Member) -> str:
    if member.opinion is None:
        return f"{member.name}: {member.error}"
    return f"{member.name} {member.opinion.said}"


_MEETS = "Say VALID if the answer meets the rubric, INVALID if it does not."
_BY_CRITERIA = "Score the answer on each of these criteria, one by one."


@dataclass(frozen=True)
class ModelGraderSpec:
    """What a type of grader does its own way: what it asks, and what a reply is worth.

    `choices` are what a stand-in for a grader model may choose from.
    """

    brief: Callable[[Any], GraderBrief]
    weigh: Callable[[Any, GraderReply[Any]], GraderOpinion]
    passes: Callable[[Any], Callable[[float], bool]] | None = None
    choices: Callable[[Any], tuple[str, ...]] | None = None


def mark_by_models(grader: Any, answer: AnswerToGrade, context: GradingContext) -> Mark:
    """The mark of the grader's model or panel."""
    refuse_unfit(answer.text)
    examiner = _SPECS[grader.type]
    prompt, read = model_prompt(grader, answer), examiner.brief(grader).form.read
    members = hear(
        grader.asked_models, lambda model: examiner.weigh(grader, context.consult(model, prompt, read))
    )
    return decide(members, grader.panel, examiner.passes and examiner.passes(grader))


def model_prompt(grader: Any, answer: AnswerToGrade) -> Prompt:
    """What the grader's models are asked about an answer."""
    examiner = _SPECS[grader.type]
    shown = ShownText("answer", "The answer to grade", answer.text, "answer")
    prompt = grader_prompt(grader, answer, examiner.brief(grader), [shown])
    choices = examiner.choices(grader) if examiner.choices else ()
    scale = (grader.low, grader.high) if hasattr(grader, "range") else prompt.about.scale
    return replace(
        prompt,
        about=replace(prompt.about, graded_text=answer.text, choices=choices, scale=scale),
    )


def _verdict_brief(grader: VerdictGrader) -> GraderBrief:
    examples = [_example(one, f"{one.justification}\n{one.verdict}".strip()) for one in grader.examples]
    return GraderBrief(grader.rubric, verdict_form(), _MEETS, examples_text(examples))


def _weigh_verdict(grader: VerdictGrader, reply: GraderReply[str]) -> GraderOpinion:
    del grader
    passed = reply.value == "VALID"
    return GraderOpinion(passed, float(passed), reply.value, reply.reason, f"says {reply.value}")


def _rubric_brief(grader: RubricGrader) -> GraderBrief:
    examples = [_example(one, f"SCORE={one.score} {_because(one)}") for one in grader.examples]
    scale = f"Score the answer by the rubric: {grader.low} is the worst, {grader.high} the best."
    return GraderBrief(grader.rubric, score_form(grader.low, grader.high), scale, examples_text(examples))


def _weigh_rubric(grader: RubricGrader, reply: GraderReply[int]) -> GraderOpinion:
    passed, score = grader.passes(reply.value), grader.share(reply.value)
    in_full = f"scores {reply.value} of {grader.high}"
    return GraderOpinion(passed, score, f"{reply.value}", reply.reason, in_full, {"value": reply.value})


def _criteria_brief(grader: CriteriaGrader) -> GraderBrief:
    names = [criterion.name for criterion in grader.criteria]
    examples = [
        _example(one, json.dumps({"reason": one.justification, "scores": one.scores}, ensure_ascii=False))
        for one in grader.examples
    ]
    form = criteria_form(names, grader.low, grader.high)
    return GraderBrief(grader.rubric or "", form, _criteria_text(grader), examples_text(examples))


def _criteria_text(grader: CriteriaGrader) -> str:
    """The criteria without their weights: a grader need not know what its scores come to."""
    scale = f"{_BY_CRITERIA} {grader.low} is the worst, {grader.high} the best:"
    lines = [scale]
    for criterion in grader.criteria:
        lines.append(f"- {criterion.name}" + (f": {criterion.description}" if criterion.description else ""))
        lines += [f"    {score}: {text}" for score, text in criterion.levels.items()]
    return "\n".join(lines)


def _weigh_criteria(grader: CriteriaGrader, reply: GraderReply[dict[str, int]]) -> GraderOpinion:
    mean = grader.mean(reply.value)
    passed, score = grader.passes(mean), grader.share(mean)
    each = ", ".join(f"{name} {value}" for name, value in reply.value.items())
    in_full = f"mean {mean:.2f} of {grader.high} ({each})"
    return GraderOpinion(
        passed, score, f"{mean:.2f}", reply.reason, in_full, {"value": mean, "scores": reply.value}
    )


def _category_brief(grader: CategoricalGrader) -> GraderBrief:
    examples = [_example(one, f"CATEGORY={one.category} {_because(one)}") for one in grader.examples]
    names = list(grader.categories)
    listed = f"Put the answer into one of these categories by the rubric: {', '.join(names)}."
    return GraderBrief(grader.rubric, category_form(names), listed, examples_text(examples))


def _weigh_category(grader: CategoricalGrader, reply: GraderReply[str]) -> GraderOpinion:
    passed = reply.value in grader.pass_categories
    in_full = f"category {reply.value}"
    return GraderOpinion(passed, grader.score(reply.value), reply.value, reply.reason, in_full)


def _passing_first(grader: CategoricalGrader) -> tuple[str, ...]:
    return tuple(sorted(grader.categories, key=lambda name: name not in grader.pass_categories))


def _boolean_brief(grader: BooleanGrader) -> GraderBrief:
    examples = [
        _example(one, f"ANSWER={'YES' if one.answer else 'NO'} {_because(one)}") for one in grader.examples
    ]
    return GraderBrief(
        grader.rubric,
        boolean_form(),
        "Say YES or NO to that, of the answer to grade.",
        examples_text(examples),
    )


def _weigh_boolean(grader: BooleanGrader, reply: GraderReply[str]) -> GraderOpinion:
    del grader
    passed = reply.value == "YES"
    return GraderOpinion(passed, float(passed), reply.value, reply.reason, f"says {reply.value}")


def _example(example: Example, reply: str) -> tuple[Mapping[str, str], str]:
    asked = {"Asked": example.input} if example.input else {}
    return {**asked, "Answer": example.output}, reply


def _because(example: Example) -> str:
    return f"REASON={' '.join(example.justification.split()) or 'by the rubric'}"


def _scale_passes(grader: RubricGrader | CriteriaGrader) -> Callable[[float], bool]:
    """Of a mean of shares: back on the scale, where the threshold is."""
    return lambda share: grader.passes(grader.low + share * (grader.high - grader.low))


def _names(grader: CriteriaGrader) -> tuple[str, ...]:
    return tuple(criterion.name for criterion in grader.criteria)


_SPECS: Mapping[str, ModelGraderSpec] = {
    "verdict": ModelGraderSpec(_verdict_brief, _weigh_verdict),
    "rubric": ModelGraderSpec(_rubric_brief, _weigh_rubric, _scale_passes),
    "criteria": ModelGraderSpec(_criteria_brief, _weigh_criteria, _scale_passes, _names),
    "categorical": ModelGraderSpec(_category_brief, _weigh_category, choices=_passing_first),
    "boolean": ModelGraderSpec(_boolean_brief, _weigh_boolean),
}
