"""Marks by grader models, one or a panel: what each type of grader asks, and what a reply is worth."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
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
"""The name of the bake-off's own grader model in details and reasons."""

_MEETS = "Say VALID if the answer meets the rubric, INVALID if it does not."
_BY_CRITERIA = "Score the answer on each of these criteria, one by one."


@dataclass(frozen=True)
class GraderOpinion:
    """One grader model's mark: passed or not, a score from 0 to 1, its reply in one word, and why.

    `in_full` is the reply where there is room for more than a word.
    """

    passed: bool
    score: float
    said: str
    reason: str = ""
    in_full: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PanelMember:
    """A grader model of the panel, with its opinion or the reason it has none."""

    model: str | None
    opinion: GraderOpinion | None
    error: str = ""

    @property
    def name(self) -> str:
        """The model's name in the task."""
        return self.model or DEFAULT

    def to_dict(self) -> dict[str, Any]:
        """The member in a grade's details."""
        one = self.opinion
        if one is None:
            return {"model": self.name, "error": self.error}
        return {
            "model": self.name,
            "passed": one.passed,
            "score": one.score,
            "said": one.said,
            "reason": one.reason,
            **one.details,
        }

    def __str__(self) -> str:
        return f"{self.name}: {self.error}" if self.opinion is None else f"{self.name} {self.opinion.said}"


AskMember = Callable[[str | None], Awaitable[GraderOpinion]]
"""Asks one model of a panel; raises UngradableAnswer when its reply is not an opinion."""


async def ask_panel(models: Sequence[str | None], ask: AskMember) -> list[PanelMember]:
    """Every model's opinion, asked at once; an unreadable reply is an error of that member alone.

    Any other error leaves only when every model has replied, since a reply in flight is paid for and must
    be stored. Of several errors, that of the first model in the list leaves.
    """
    found = await asyncio.gather(*(_ask_member(model, ask) for model in models), return_exceptions=True)
    members = []
    for member in found:
        if isinstance(member, BaseException):
            raise member
        members.append(member)
    return members


async def _ask_member(model: str | None, ask: AskMember) -> PanelMember:
    try:
        return PanelMember(model, await ask(model))
    except UngradableAnswer as exc:
        return PanelMember(model, None, str(exc))


def decide_by_panel(
    members: Sequence[PanelMember], panel: Panel, passes: Callable[[float], bool] | None
) -> Mark:
    """The mark of a grader model, or of a panel.

    `passes` tells whether a mean score suffices; None for graders that only know yes and no, whose votes
    can be tied. Without an opinion from a majority of the panel, the answer is ungradable.
    """
    opinions = [member.opinion for member in members if member.opinion is not None]
    if len(members) == 1 and opinions:
        [one] = opinions
        said = one.in_full or one.said
        reason = f"{said}: {one.reason}" if one.reason else said
        return Mark(one.passed, one.score, reason, {"members": [members[0].to_dict()]})
    if 2 * len(opinions) <= len(members):
        raise UngradableAnswer("; ".join(str(member) for member in members if member.error))
    score = sum(one.score for one in opinions) / len(opinions)
    passed = _decide_votes(opinions, score, panel, passes)
    ayes = sum(one.passed for one in opinions)
    reason = f"{ayes} of {len(opinions)} pass ({', '.join(map(str, members))})"
    if panel == "mean":
        reason = f"mean score {score:.2f}, {reason}"
    details = {"members": [member.to_dict() for member in members], "agreement": agreement(opinions)}
    return Mark(passed, score, reason, details)


def agreement(opinions: Sequence[GraderOpinion]) -> float | None:
    """The share of pairs that agree on passed or not; None without a pair."""
    pairs = [a.passed == b.passed for a, b in combinations(opinions, 2)]
    return sum(pairs) / len(pairs) if pairs else None


def _decide_votes(
    opinions: Sequence[GraderOpinion], score: float, panel: Panel, passes: Callable[[float], bool] | None
) -> bool:
    ayes = sum(one.passed for one in opinions)
    is_tied = 2 * ayes == len(opinions)
    if passes is not None and (panel == "mean" or is_tied):
        return passes(score)
    if is_tied:
        raise UngradableAnswer(f"the panel is evenly split: {ayes} of {len(opinions)} pass")
    return 2 * ayes > len(opinions)


@dataclass(frozen=True)
class ModelGraderSpec:
    """How one type of grader works: what it asks, what a reply is worth, and which mean score passes.

    `choices` are the replies that a simulated grader model may choose from.
    """

    brief: Callable[[Any], GraderBrief]
    weigh: Callable[[Any, GraderReply[Any]], GraderOpinion]
    passes: Callable[[Any], Callable[[float], bool]] | None = None
    choices: Callable[[Any], tuple[str, ...]] | None = None


async def mark_by_models(grader: Any, answer: AnswerToGrade, context: GradingContext) -> Mark:
    """The mark of the grader's model or panel."""
    refuse_unfit(answer.text)
    spec = _SPECS[grader.type]
    prompt, read = model_prompt(grader, answer), spec.brief(grader).form.read

    async def ask(model: str | None) -> GraderOpinion:
        return spec.weigh(grader, await context.consult(model, prompt, read))

    passes = None if spec.passes is None else spec.passes(grader)
    return decide_by_panel(await ask_panel(grader.asked_models, ask), grader.panel, passes)


def model_prompt(grader: Any, answer: AnswerToGrade) -> Prompt:
    """The prompt about an answer to the grader's models."""
    spec = _SPECS[grader.type]
    shown = ShownText("answer", "The answer to grade", answer.text, "answer")
    prompt = grader_prompt(grader, answer, spec.brief(grader), [shown])
    about = replace(prompt.about, graded_text=answer.text)
    if spec.choices is not None:
        about = replace(about, choices=spec.choices(grader))
    if isinstance(grader, RubricGrader | CriteriaGrader):
        about = replace(about, scale=(grader.low, grader.high))
    return replace(prompt, about=about)


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
    examples = []
    for one in grader.examples:
        reply = json.dumps({"reason": one.justification, "scores": one.scores}, ensure_ascii=False)
        examples.append(_example(one, reply))
    form = criteria_form(names, grader.low, grader.high)
    return GraderBrief(grader.rubric or "", form, _criteria_text(grader), examples_text(examples))


def _criteria_text(grader: CriteriaGrader) -> str:
    """The criteria without their weights: a grader should not know how its scores are combined."""
    lines = [f"{_BY_CRITERIA} {grader.low} is the worst, {grader.high} the best:"]
    for criterion in grader.criteria:
        description = f": {criterion.description}" if criterion.description else ""
        lines.append(f"- {criterion.name}{description}")
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
    examples = []
    for one in grader.examples:
        word = "YES" if one.answer else "NO"
        examples.append(_example(one, f"ANSWER={word} {_because(one)}"))
    ask = "Say YES or NO to that, of the answer to grade."
    return GraderBrief(grader.rubric, boolean_form(), ask, examples_text(examples))


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
    """Whether a mean score from 0 to 1, put back on the scale, reaches the threshold."""
    return lambda share: grader.passes(grader.low + share * (grader.high - grader.low))


def _criteria_names(grader: CriteriaGrader) -> tuple[str, ...]:
    return tuple(criterion.name for criterion in grader.criteria)


_SPECS: Mapping[str, ModelGraderSpec] = {
    "verdict": ModelGraderSpec(_verdict_brief, _weigh_verdict),
    "rubric": ModelGraderSpec(_rubric_brief, _weigh_rubric, _scale_passes),
    "criteria": ModelGraderSpec(_criteria_brief, _weigh_criteria, _scale_passes, _criteria_names),
    "categorical": ModelGraderSpec(_category_brief, _weigh_category, choices=_passing_first),
    "boolean": ModelGraderSpec(_boolean_brief, _weigh_boolean),
}
