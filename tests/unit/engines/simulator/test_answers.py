"""What a simulated model says, and how many tokens it bills."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from answers import grade_now

from evalq.definitions.evalset import EvalCase
from evalq.definitions.prompt import answer_prompt
from evalq.definitions.task import ScoringConfig, TaskConfig
from evalq.engines.simulator.answers import KnownCases, echo, load_known, load_set, make_reply
from evalq.engines.simulator.exchange import ModelReply, ModelRequest, text_of
from evalq.engines.simulator.profile import KnownSet, Profile
from evalq.errors import UngradableAnswer
from evalq.grading.grader import AnswerToGrade
from evalq.grading.scoring import finding_json, parse_list, read_verdict, verdict_prompt
from evalq.records import Completion, Prompt

ROOT = Path(__file__).parents[4]
SETS = [
    KnownSet(task="knowledge_audit", eval_set="dev-93"),
    KnownSet(task="mail_classify", eval_set="dev-30"),
    KnownSet(task="personal_rag_retrieval", eval_set="personal-93"),
]


def asked(user: str = "hello", **fields: object) -> ModelRequest:
    return ModelRequest("m", "system", user, f"system\n{user}", **fields)  # type: ignore[arg-type]


def reply(
    one: ModelRequest, fault: str = "", known: KnownCases | None = None, **profile: object
) -> ModelReply:
    recall = (known or KnownCases()).answer
    return make_reply(one, Profile.model_validate(profile), fault, seed=one.prompt, recall=recall)


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("hello", "ok"),
        ('Please say "yes" and no more.', "yes"),
        ('one\nSay "a \\"b\\" \\u00e9\\n"', 'a "b" é\n'),
        ('say "two\nlines"', "two\nlines"),
        ('say "bad \\x escape"', "bad \\x escape"),
        ('say ""', ""),
        ('essay "no"', "ok"),
        ('say "never closed', "ok"),
    ],
)
def test_an_echo_says_what_it_is_asked_to_say(prompt: str, answer: str) -> None:
    assert echo(prompt) == answer


def test_a_fixed_answer_is_given_to_everything() -> None:
    assert reply(asked('say "x"'), fixed="DECISION=YES").text == "DECISION=YES"


def test_verdicts_are_drawn_by_the_prompt_and_stay_the_same() -> None:
    verdicts = [reply(asked(f"{i}"), answer="verdict", valid=0.7).text for i in range(1000)]
    assert verdicts == [reply(asked(f"{i}"), answer="verdict", valid=0.7).text for i in range(1000)]
    assert 650 < verdicts.count("VALID") < 750
    assert set(verdicts) == {"VALID", "INVALID"}


def test_a_verdict_is_json_where_a_schema_is_asked_for() -> None:
    said = json.loads(reply(asked(is_structured=True), answer="verdict", valid=1.0).text)
    assert list(said) == ["reason", "verdict"]
    assert said["verdict"] == "VALID"
    assert reply(asked('say "x"', is_structured=True)).text == "x"


def test_tokens_are_counted_by_the_text_unless_set() -> None:
    plain = reply(asked('say "12345678"'))
    assert (plain.input_tokens, plain.answer_tokens, plain.output_tokens) == (
        asked('say "12345678"').input_tokens,
        2,
        2,
    )
    assert reply(asked(), output_tokens=50).output_tokens == 50
    thinking = reply(asked(), output_tokens=50, thinking_tokens=7)
    assert (thinking.answer_tokens, thinking.thinking_tokens, thinking.output_tokens) == (50, 7, 57)


def test_never_more_is_billed_than_the_limit_allows() -> None:
    one = asked('say "' + "x" * 400 + '"', max_tokens=30)
    cut = reply(one)
    assert (cut.finish, len(cut.text), cut.output_tokens) == ("length", 120, 30)
    thinking = reply(one, thinking_tokens=50)
    assert (thinking.finish, thinking.text, thinking.thinking_tokens, thinking.output_tokens) == (
        "length",
        "",
        30,
        30,
    )
    dear = reply(asked(max_tokens=30), output_tokens=50, thinking_tokens=5)
    assert (dear.finish, dear.output_tokens) == ("stop", 30)


def test_a_truncated_answer_bills_the_whole_limit() -> None:
    cut = reply(asked('say "12345678"', max_tokens=40), "truncated")
    assert (cut.finish, cut.text, cut.output_tokens) == ("length", "1234", 40)
    assert reply(asked('say "12345678"'), "truncated").output_tokens == 2
    assert reply(asked('say "12345678"', max_tokens=40), "truncated", thinking_tokens=9).text == ""


@pytest.mark.parametrize(("fault", "tokens"), [("empty", 4), ("refusal", 4), ("blocked", 0)])
def test_what_says_nothing_has_no_text(fault: str, tokens: int) -> None:
    said = reply(asked('say "x"'), fault, thinking_tokens=3)
    assert (said.text, said.finish, said.output_tokens) == ("", fault, tokens)


def test_the_text_of_a_message_is_found_in_all_its_forms() -> None:
    assert text_of("a") == "a"
    assert text_of([{"type": "text", "text": "a"}, {"type": "image"}, {"text": "b"}]) == "a\nb"
    assert text_of({"parts": [{"text": "a"}]}) == "a"
    assert text_of(None) == ""


@cache
def known() -> KnownCases:
    return load_known(SETS, ROOT)


def loaded() -> Iterator[tuple[TaskConfig, EvalCase]]:
    for one in SETS:
        task, cases = load_set(one, ROOT)
        yield from ((task, case) for case in cases)


def answer(prompt: str, accuracy: float = 1.0, model: str = "m") -> str:
    return reply(
        ModelRequest(model, "", prompt, prompt), known=known(), answer="cases", accuracy=accuracy
    ).text


def test_every_shipped_case_is_recognised_and_answered_in_its_form() -> None:
    for task, case in loaded():
        said = answer(answer_prompt(task, case).user)
        if task.answer_form() == "findings":
            assert bool(parse_list(said)) == (case.expected_type == "positive")
        elif task.answer_form() == "ranking":
            assert parse_list(said)[0] in (case.expected or {})["relevant"]
        else:
            assert said == (case.expected or {})["answer"]


def test_as_many_answers_are_right_as_the_accuracy_says() -> None:
    cases = [(task, case) for task, case in loaded() if task.answer_form() != "findings"]
    right = sum(
        answer(answer_prompt(task, case).user, accuracy=0.7) == answer(answer_prompt(task, case).user)
        for task, case in cases
    )
    assert 0.6 < right / len(cases) < 0.8


def test_another_model_is_wrong_elsewhere() -> None:
    prompts = [answer_prompt(task, case).user for task, case in loaded()]
    assert [answer(one, 0.5, "m") for one in prompts] != [answer(one, 0.5, "n") for one in prompts]


def test_a_grader_is_answered_by_the_truth() -> None:
    audits = [(task, case) for task, case in loaded() if task.name == "knowledge_audit"]
    for task, case in audits:
        for accuracy in (0.0, 1.0):
            for finding in parse_list(answer(answer_prompt(task, case).user, accuracy)):
                user = verdict_prompt(task, case, finding_json(finding)).user
                is_true = accuracy == 1.0
                assert read_verdict(answer(user)) == is_true
                assert read_verdict(answer(user, accuracy=0.0)) != is_true


def test_a_grader_is_recognised_whatever_it_is_shown_first() -> None:
    scoring = ScoringConfig(
        mode="llm_judge",
        judge_model="g",
        rubric="Is {answer} right, {answer}?\n{q}\n",
        pass_rule="exact_match",
    )
    task = TaskConfig(name="t", system_prompt="", user_template="{q}", scoring=scoring)
    cases = [EvalCase(id=f"c{i}", inputs={"q": f"q{i}"}, expected={"answer": f"a{i}"}) for i in range(9)]
    some = KnownCases([(task, cases)])
    for i, case in enumerate(cases):
        for text, verdict in ((f"a{i}", "VALID"), ("b", "INVALID")):
            user = verdict_prompt(task, case, text).user
            assert some.answer(user, model="m", seed=user, accuracy=1.0) == verdict


GRADERS = [
    {"type": "verdict", "rubric": "Is it right?"},
    {"type": "rubric", "rubric": "Is it right?", "models": ["a", "b"]},
    {"type": "criteria", "criteria": "documentation"},
    {"type": "categorical", "rubric": "What is it?", "categories": ["no", "yes"], "pass_categories": ["yes"]},
    {"type": "boolean", "question": "Is {answer} right for {q}?"},
]


@pytest.mark.parametrize("structured", [False, True])
def test_every_model_grader_is_recognised_and_answered_in_its_form(structured: bool) -> None:
    task = TaskConfig.model_validate(
        {"name": "t", "system_prompt": "", "user_template": "{q}", "graders": GRADERS}
    )
    cases = [EvalCase(id=f"c{i}", inputs={"q": f"q{i}"}, expected={"answer": f"a{i}"}) for i in range(9)]
    some = KnownCases([(task, cases)])

    class Wire:
        async def consult(self, model: str | None, prompt: Prompt, read: Callable[[str], Any]) -> Any:
            one = ModelRequest("m", "", prompt.user, prompt.user, is_structured=structured)
            return read(reply(one, known=some, answer="cases").text)

        async def answer_of(self, judge: str) -> str:
            raise AssertionError(judge)

    for i, case in enumerate(cases):
        for text, passed in ((f"it is a{i}", True), ("it is b", False)):
            grades = grade_now(AnswerToGrade(task, case, Completion("answered", text)), Wire())
            assert [grade.passed for grade in grades] == [passed] * len(GRADERS)


def test_a_stranger_prompt_is_echoed() -> None:
    assert answer('say "hello"') == "hello"
    with pytest.raises(UngradableAnswer):
        read_verdict(answer("no case of ours"))
