"""Marking by grader models: what each type asks, and what its replies come to."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalq.definitions.graders.model_grader import Example
from evalq.definitions.graders.model_graders import (
    BooleanGrader,
    CategoricalGrader,
    CriteriaGrader,
    RubricGrader,
    VerdictGrader,
)
from evalq.grading.fence import refuse_unfit
from evalq.grading.grader_prompt import Brief, Shown, examples_text, grader_prompt
from evalq.grading.panel import Opinion, decide, hear
from evalq.grading.replies import Reply, boolean_form, category_form, criteria_form, score_form, verdict_form
from evalq.grading.subject import Bench, Mark, Subject
from evalq.records import Prompt

_MEETS = "Say VALID if the answer meets the rubric, INVALID if it does not."
_BY_CRITERIA = "Score the answer on each of these criteria, one by one."


@dataclass(frozen=True)
class Examiner:
    """What a type of grader does its own way: what it asks, and what a reply is worth.

    `choices` are what a stand-in for a grader model may choose from.
    """

    brief: Callable[[Any], Brief]
    weigh: Callable[[Any, Reply[Any]], Opinion]
    passes: Callable[[Any], Callable[[float], bool]] | None = None
    choices: Callable[[Any], tuple[str, ...]] | None = None


def mark_by_models(grader: Any, subject: Subject, bench: Bench) -> Mark:
    """The mark of the grader's model or panel."""
    refuse_unfit(subject.answer)
    examiner = EXAMINERS[grader.type]
    prompt, read = model_prompt(grader, subject), examiner.brief(grader).form.read
    members = hear(
        grader.asked_models, lambda model: examiner.weigh(grader, bench.consult(model, prompt, read))
    )
    return decide(members, grader.panel, examiner.passes and examiner.passes(grader))


def model_prompt(grader: Any, subject: Subject) -> Prompt:
    """What the grader's models are asked about an answer."""
    examiner = EXAMINERS[grader.type]
    answer = Shown("answer", "The answer to grade", subject.answer, "answer")
    prompt = grader_prompt(grader, subject, examiner.brief(grader), [answer])
    choices = examiner.choices(grader) if examiner.choices else ()
    scale = (grader.low, grader.high) if hasattr(grader, "range") else prompt.about.scale
    return replace(
        prompt,
        about=replace(prompt.about, graded_text=subject.answer, choices=choices, scale=scale),
    )


def _verdict_brief(grader: VerdictGrader) -> Brief:
    examples = [_example(one, f"{one.justification}\n{one.verdict}".strip()) for one in grader.examples]
    return Brief(grader.rubric, verdict_form(), _MEETS, examples_text(examples))


def _weigh_verdict(grader: VerdictGrader, reply: Reply[str]) -> Opinion:
    del grader
    passed = reply.value == "VALID"
    return Opinion(passed, float(passed), reply.value, reply.reason, f"says {reply.value}")


def _rubric_brief(grader: RubricGrader) -> Brief:
    examples = [_example(one, f"SCORE={one.score} {_because(one)}") for one in grader.examples]
    scale = f"Score the answer by the rubric: {grader.low} is the worst, {grader.high} the best."
    return Brief(grader.rubric, score_form(grader.low, grader.high), scale, examples_text(examples))


def _weigh_rubric(grader: RubricGrader, reply: Reply[int]) -> Opinion:
    passed, score = grader.passes(reply.value), grader.share(reply.value)
    in_full = f"scores {reply.value} of {grader.high}"
    return Opinion(passed, score, f"{reply.value}", reply.reason, in_full, {"value": reply.value})


def _criteria_brief(grader: CriteriaGrader) -> Brief:
    names = [criterion.name for criterion in grader.criteria]
    examples = [
        _example(one, json.dumps({"reason": one.justification, "scores": one.scores}, ensure_ascii=False))
        for one in grader.examples
    ]
    form = criteria_form(names, grader.low, grader.high)
    return Brief(grader.rubric or "", form, _criteria_text(grader), examples_text(examples))


def _criteria_text(grader: CriteriaGrader) -> str:
    """The criteria without their weights: a grader need not know what its scores come to."""
    scale = f"{_BY_CRITERIA} {grader.low} is the worst, {grader.high} the best:"
    lines = [scale]
    for criterion in grader.criteria:
        lines.append(f"- {criterion.name}" + (f": {criterion.description}" if criterion.description else ""))
        lines += [f"    {score}: {text}" for score, text in criterion.levels.items()]
    return "\n".join(lines)


def _weigh_criteria(grader: CriteriaGrader, reply: Reply[dict[str, int]]) -> Opinion:
    mean = grader.mean(reply.value)
    passed, score = grader.passes(mean), grader.share(mean)
    each = ", ".join(f"{name} {value}" for name, value in reply.value.items())
    in_full = f"mean {mean:.2f} of {grader.high} ({each})"
    return Opinion(
        passed, score, f"{mean:.2f}", reply.reason, in_full, {"value": mean, "scores": reply.value}
    )


def _category_brief(grader: CategoricalGrader) -> Brief:
    examples = [_example(one, f"CATEGORY={one.category} {_because(one)}") for one in grader.examples]
    names = list(grader.categories)
    listed = f"Put the answer into one of these categories by the rubric: {', '.join(names)}."
    return Brief(grader.rubric, category_form(names), listed, examples_text(examples))


def _weigh_category(grader: CategoricalGrader, reply: Reply[str]) -> Opinion:
    passed = reply.value in grader.pass_categories
    in_full = f"category {reply.value}"
    return Opinion(passed, grader.score(reply.value), reply.value, reply.reason, in_full)


def _passing_first(grader: CategoricalGrader) -> tuple[str, ...]:
    return tuple(sorted(grader.categories, key=lambda name: name not in grader.pass_categories))


def _boolean_brief(grader: BooleanGrader) -> Brief:
    examples = [
        _example(one, f"ANSWER={'YES' if one.answer else 'NO'} {_because(one)}") for one in grader.examples
    ]
    return Brief(
        grader.rubric,
        boolean_form(),
        "Say YES or NO to that, of the answer to grade.",
        examples_text(examples),
    )


def _weigh_boolean(grader: BooleanGrader, reply: Reply[str]) -> Opinion:
    del grader
    passed = reply.value == "YES"
    return Opinion(passed, float(passed), reply.value, reply.reason, f"says {reply.value}")


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


EXAMINERS: Mapping[str, Examiner] = {
    "verdict": Examiner(_verdict_brief, _weigh_verdict),
    "rubric": Examiner(_rubric_brief, _weigh_rubric, _scale_passes),
    "criteria": Examiner(_criteria_brief, _weigh_criteria, _scale_passes, _names),
    "categorical": Examiner(_category_brief, _weigh_category, choices=_passing_first),
    "boolean": Examiner(_boolean_brief, _weigh_boolean),
}
