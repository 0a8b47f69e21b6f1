"""What reviewers read: model text harmless to the terminal, rubrics filled in, names that can be names."""

from typing import Any

import pytest

from evalq.definitions.evalset import CaseMessage, EvalCase
from evalq.definitions.graders import Human
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError
from evalq.grading.people import human_grader
from evalq.review.files import agreement_words, item_text
from evalq.review.items import Answer, ItemView, render_rubric, reviewer_name, show_item
from evalq.review.status import RaterAgreement
from evalq.store.reviews import ItemRow

HOSTILE = "\x1b]0;owned\x07\x1b[2J\u202eevil\r\nfine"


def viewed(case: EvalCase, answers: list[Answer], **fields: Any) -> ItemView:
    task = TaskConfig.model_validate(
        {
            "name": "essays",
            "description": "short essays",
            "system_prompt": "Be brief.",
            "user_template": "About {topic}.",
            "graders": [{"type": "human", **fields}],
        }
    )
    row = ItemRow(1, "0a1b2c3d4e5f", 7, "human", case.id, 1, 1, 5, True, "essays", "", "", 0, 0)
    return show_item(row, task, case, human_grader(task, case, "human"), answers)


CASE = EvalCase(id="c\x1b[1m", inputs={"topic": HOSTILE}, expected={"answer": HOSTILE, "also": 1})


def test_nothing_on_the_screen_moves_the_cursor() -> None:
    text = item_text(viewed(CASE, [Answer("A", HOSTILE)], rubric="{topic}"))
    assert not [char for char in text if char != "\n" and not char.isprintable()]
    assert "evil\nfine" in text


def test_answers_to_rank_have_their_letters() -> None:
    view = viewed(CASE, [Answer("A", "one"), Answer("B", "")], rating_scale="ranking")
    text = item_text(view)
    for words in ("── answer A\none", "── answer B\n(empty)", "the letters A to B", "Rank the answers"):
        assert words in text
    assert "answer" not in view.to_dict()


def test_criteria_and_options_are_listed() -> None:
    likert = {"type": "likert", "criteria": ["Accurate", "Kind"]}
    assert "criterion 2: Kind" in item_text(viewed(CASE, [Answer("A", "x")], rating_scale=likert))
    options = [
        {"value": True, "label": "Ship", "description": "it can go out"},
        {"value": False, "label": "Hold"},
    ]
    binary = {"type": "binary", "options": options}
    assert "Ship: it can go out" in item_text(viewed(CASE, [Answer("A", "x")], rating_scale=binary))


def test_what_was_said_before_is_part_of_the_question() -> None:
    turns = [("user", "Hello"), ("assistant", "Yes?"), ("user", "Bye")]
    messages = [CaseMessage(role=role, content=text) for role, text in turns]  # type: ignore[arg-type]
    view = viewed(EvalCase(id="c", inputs={}, messages=messages), [Answer("A", "x")])
    assert view.question == "user: Hello\n\nassistant: Yes?\n\nuser: Bye"


def test_an_adjudicator_sees_what_was_said() -> None:
    view = viewed(CASE, [Answer("A", "x")], rating_scale="likert")
    assert "── reviewers said\n1\n5" in item_text(ItemView(**{**vars(view), "ratings": (1, 5)}))


def test_a_rubric_knows_the_task_and_the_case_and_leaves_the_rest() -> None:
    grader = Human.model_validate(
        {
            "type": "human",
            "rating_scale": {"type": "likert", "criteria": ["Accurate"]},
            "rubric": "{task_description}|{requirements}|{input_summary}|{topic}|{expected}"
            "|{criterion_1_name}|{criterion_2_name}|{be/generous}|{topic!r}|{{",
        }
    )
    task = TaskConfig.model_validate(
        {"name": "t", "system_prompt": "Be brief.", "user_template": "x", "graders": [{"type": "human"}]}
    )
    case = EvalCase(id="c", inputs={"topic": "{expected}", "n": 2}, expected={"answer": "yes"})
    assert render_rubric(grader, task, case) == (
        "t|Be brief.|topic: {expected}\nn: 2|{expected}|yes"
        "|Accurate|{criterion_2_name}|{be/generous}|{topic!r}|{{"
    )


@pytest.mark.parametrize(
    ("agreement", "words"),
    [
        (RaterAgreement("kappa", 0.613, 0.4, 0.82, 30, 2), "κ 0.61 [0.40, 0.82]"),
        (RaterAgreement("alpha", 0.5, None, None, 1, 3), "α 0.50"),
        (RaterAgreement("alpha", None, None, None, 4, 3), "α undefined"),
        (RaterAgreement("alpha", None, None, None, 0, 1), "–"),
    ],
)
def test_agreement_in_words(agreement: RaterAgreement, words: str) -> None:
    assert agreement_words(agreement) == words


def test_a_reviewer_is_who_they_say_then_the_environment_then_the_login() -> None:
    assert reviewer_name("ann", {"EVALQ_REVIEWER": "bob"}) == "ann"
    assert reviewer_name(None, {"EVALQ_REVIEWER": "bob"}) == "bob"
    assert reviewer_name(None, {})


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\nb", "a\x1bb", "\ud800"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="needs a name"):
        reviewer_name(name, {})
