"""The prompt to a grader model: the rubric, the question, the reference and the answer, each in its place."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalq.definitions.graders.model_grader import ModelGrader
from evalq.definitions.rubric import render_rubric, rubric_names
from evalq.grading.fence import SYSTEM, fenced, nonce_of, notice
from evalq.grading.replies import Form
from evalq.grading.subject import Subject
from evalq.question import about, answer_prompt
from evalq.records import Prompt


@dataclass(frozen=True)
class Shown:
    """One text put before the grader: the word on its tags, the title above it, the name in a template."""

    word: str
    title: str
    text: str
    name: str


@dataclass(frozen=True)
class Brief:
    """What a grader is told beside the material: the rubric, the criteria, examples and the form of reply."""

    rubric: str
    form: Form[Any]
    details: str = ""
    examples: str = ""
    shows_reference: bool = True

    @property
    def instructions(self) -> str:
        """All of it but the form, as one text."""
        return "\n\n".join(text for text in (self.rubric.strip(), self.details, self.examples) if text)


def grader_prompt(grader: ModelGrader, subject: Subject, brief: Brief, answers: Sequence[Shown]) -> Prompt:
    """A prompt on these answers, the same every time: everything it is made of is in its arguments."""
    question, reference = question_text(subject), reference_text(subject)
    nonce = nonce_of(
        *(subject.task.name, subject.case.id, subject.case.inputs, question, reference),
        *(brief.instructions, brief.form.demand, [shown.text for shown in answers]),
    )
    placed = _placed(answers, nonce)
    values = {"question": question, **subject.case.inputs, "expected": reference, **placed}
    told = replace(brief, rubric=render_rubric(brief.rubric, values)).instructions
    if not placed.keys().isdisjoint(rubric_names(brief.rubric)):  # it shows the answer where it wants it
        parts = [notice(nonce), told]
    else:
        context = _context(question, reference if brief.shows_reference else "")
        # The rubric and the examples first: what all prompts begin with, a provider can cache.
        parts = [told, notice(nonce), *(_block(one, nonce) for one in (*context, *answers))]
    return Prompt(
        system=SYSTEM,
        user="\n\n".join([*parts, brief.form.demand]) + "\n",
        max_tokens=grader.max_tokens,
        temperature=grader.temperature,
        reply_schema=brief.form.schema,
        about=replace(about(subject.task, subject.case), reply_form=brief.form.name),
    )


def question_text(subject: Subject) -> str:
    """What the judge was asked: its instructions and the conversation, the last word alone if that is all."""
    asked = answer_prompt(subject.task, subject.case)
    turns = [f"[{turn.role}]\n{turn.text}" for turn in asked.turns]
    system = [f"[instructions]\n{asked.system}"] if asked.system.strip() else []
    return "\n\n".join([*system, *turns, f"[user]\n{asked.user}"]) if turns or system else asked.user


def reference_text(subject: Subject) -> str:
    """What the case expects: the answer itself where nothing else is said, JSON otherwise; "" for nothing."""
    expected = subject.expected
    if set(expected) == {"answer"} and isinstance(expected["answer"], str):
        return expected["answer"]
    return json.dumps(expected, ensure_ascii=False) if expected else ""


def examples_text(examples: Sequence[tuple[Mapping[str, str], str]]) -> str:
    """Answers with the replies they deserve, numbered; "" without any."""
    if not examples:
        return ""
    shown = [
        "\n".join(
            [f"Example {number}", *(f"{title}:\n{text}" for title, text in texts.items()), f"Reply:\n{reply}"]
        )
        for number, (texts, reply) in enumerate(examples, start=1)
    ]
    return "\n\n".join(["Examples of answers and the replies they deserve:", *shown])


def _placed(answers: Sequence[Shown], nonce: str) -> dict[str, str]:
    """The answers by the names a template has for them."""
    placed = {shown.name: fenced(shown.word, shown.text, nonce) for shown in answers}
    return {**placed, "finding_json": placed["answer"]} if "answer" in placed else placed


def _context(question: str, reference: str) -> list[Shown]:
    asked = Shown("question", "What was asked", question, "question")
    expected = Shown("reference", "What was expected, for comparison", reference, "expected")
    return [asked, expected] if reference else [asked]


def _block(shown: Shown, nonce: str) -> str:
    return f"{shown.title}:\n{fenced(shown.word, shown.text, nonce)}"
