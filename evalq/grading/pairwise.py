"""Marks by comparison: a grader model sees two answers in both orders and picks the better one."""

from dataclasses import replace

from evalq.definitions.graders.model import PairwiseGrader, PreferenceExample
from evalq.errors import UngradableAnswer
from evalq.grading.grader import AnswerToGrade, GradingContext, Mark
from evalq.grading.model_graders import GraderOpinion, ask_panel, decide_by_panel
from evalq.grading.prompts import GraderBrief, ShownText, examples_text, grader_prompt, refuse_unfit
from evalq.grading.replies import GraderReply, preference_form
from evalq.records import Prompt

_ASK = "Which of the answers A and B is better by the rubric? TIE if neither is. Their order means nothing."
_FORM = preference_form()
_SCORES = {"win": 1.0, "tie": 0.5, "loss": 0.0}


async def mark_pairwise(grader: PairwiseGrader, answer: AnswerToGrade, context: GradingContext) -> Mark:
    """Won, lost or tied against the other answer, by the grader's model or panel."""
    if grader.opponent is not None and grader.opponent == answer.judge:
        passed = grader.passes(_SCORES["tie"])
        return Mark(passed, _SCORES["tie"], f"tie: {answer.judge} is the one compared with")
    other = await _other_answer(grader, answer, context)
    refuse_unfit(answer.text)
    refuse_unfit(other)
    prompts = pair_prompts(grader, answer, other)

    async def ask(model: str | None) -> GraderOpinion:
        straight = await context.consult(model, prompts[0], _FORM.read)
        swapped = await context.consult(model, prompts[1], _FORM.read)
        return _weigh(grader, straight, swapped)

    return decide_by_panel(await ask_panel(grader.asked_models, ask), grader.panel, grader.passes)


def pair_prompts(grader: PairwiseGrader, answer: AnswerToGrade, other: str) -> tuple[Prompt, Prompt]:
    """The answer as A against the other as B, then the other way round."""
    return _prompt(grader, answer, answer.text, other), _prompt(grader, answer, other, answer.text)


async def _other_answer(grader: PairwiseGrader, answer: AnswerToGrade, context: GradingContext) -> str:
    if grader.opponent is not None:
        return await context.answer_of(grader.opponent)
    reference = answer.expected.get("answer")
    if not isinstance(reference, str) or not reference.strip():
        raise UngradableAnswer("the case has no expected.answer to compare with")
    return reference


def _prompt(grader: PairwiseGrader, answer: AnswerToGrade, first: str, second: str) -> Prompt:
    answers = [
        ShownText("answer-a", "Answer A", first, "answer_a"),
        ShownText("answer-b", "Answer B", second, "answer_b"),
    ]
    # Against the reference, showing it would give away which answer it is.
    brief = GraderBrief(
        grader.rubric,
        _FORM,
        _ASK,
        examples_text([_example(one) for one in grader.examples]),
        shows_reference=grader.opponent is not None,
    )
    prompt = grader_prompt(grader, answer, brief, answers)
    return replace(prompt, about=replace(prompt.about, graded_text=answer.text, choices=(first, second)))


def _weigh(grader: PairwiseGrader, straight: GraderReply[str], swapped: GraderReply[str]) -> GraderOpinion:
    """The opinion in two replies: `straight` with our answer as A, `swapped` with our answer as B."""
    winner, position = settle(straight.value, swapped.value)
    in_full = f"{winner} against {grader.against}"
    if position is not None:
        in_full += f", since the {position} answer is preferred in either order"
    details = {"winner": winner, "position": position, "replies": [straight.value, swapped.value]}
    score = _SCORES[winner]
    return GraderOpinion(grader.passes(score), score, winner, straight.reason, in_full, details)


def settle(straight: str, swapped: str) -> tuple[str, str | None]:
    """Win, loss or tie, and the favoured position if the order decided.

    Replies that contradict each other are a tie; the position that won in either is the favoured one.
    """
    ours = {"A": "win", "B": "loss", "TIE": "tie"}[straight]
    theirs = {"A": "loss", "B": "win", "TIE": "tie"}[swapped]
    if ours == theirs:
        return ours, None
    return "tie", "first" if "A" in (straight, swapped) else "second"


def _example(example: PreferenceExample) -> tuple[dict[str, str], str]:
    texts = {"Asked": example.input} if example.input else {}
    texts |= {"Answer A": example.output, "Answer B": example.other}
    reason = " ".join(example.justification.split()) or "by the rubric"
    return texts, f"WINNER={example.winner} REASON={reason}"
