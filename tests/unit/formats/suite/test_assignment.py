"""Who answers the evals of a suite: judges what is asked in words, the tested system its requests."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from evalq.definitions.judge import HttpJudge
from evalq.errors import InputError
from evalq.formats.suite.assignment import Assignment, assign_judges
from evalq.formats.suite.read import Suite
from evalq.settings import Settings

Make = Callable[..., Suite]

ASKED = {"id": "a", "input": "x", "expected": "y"}
REQUEST = {
    "id": "r",
    "baseline": {"output": {"status": 200}},
    "current": {
        "input": {"path": "/v1", "headers": {"Authorization": "Bearer {{test_token}}"}},
        "execution": {"type": "http", "base_url": "{{api_base_url}}"},
    },
}


def answer(
    suite: Suite, *names: str, settings: Settings, values: Mapping[str, str] | None = None
) -> list[Assignment]:
    return assign_judges(suite, suite.evals, names, settings=settings, values=values or {})


def shown(found: list[Assignment]) -> dict[str, str]:
    return {one.judge.name: "".join(each.id for each in one.evals) for one in found}


def test_judges_answer_words_and_the_system_its_requests(make_suite: Make, settings: Settings) -> None:
    values = {"api_base_url": "http://127.0.0.1:8123/"}
    found = answer(make_suite(REQUEST, ASKED), "sim", "real", settings=settings, values=values)
    assert shown(found) == {"sim": "a", "real": "a", "http-127.0.0.1-8123": "r"}
    system = found[-1]
    assert isinstance(system.judge, HttpJudge)
    assert (system.judge.url, system.is_system, system.key) == ("http://127.0.0.1:8123", True, "http")
    assert system.judge.variables_env == {"test_token": "EVALQ_VAR_TEST_TOKEN"}


def test_the_system_of_the_settings_at_that_address_is_taken(make_suite: Make, settings: Settings) -> None:
    values = {"api_base_url": "http://127.0.0.1:8000/"}
    (found,) = answer(make_suite(REQUEST), settings=settings, values=values)
    assert (found.judge.name, found.key) == ("api", "api")


def test_a_system_named_as_a_judge_answers_the_requests(make_suite: Make, settings: Settings) -> None:
    found = answer(make_suite(REQUEST, ASKED), "sim", "api", settings=settings)
    assert shown(found) == {"sim": "a", "api": "r"}


def test_simulations_stand_in_for_a_system_without_an_address(make_suite: Make, settings: Settings) -> None:
    assert shown(answer(make_suite(REQUEST, ASKED), "sim", settings=settings)) == {"sim": "ra"}


def test_a_model_does_not_stand_in_for_a_system(make_suite: Make, settings: Settings) -> None:
    with pytest.raises(
        InputError,
        match=r"r is a request, but the address .*--var api_base_url=http",
    ):
        answer(make_suite(REQUEST, ASKED), "real", settings=settings)


def test_a_request_without_a_base_url_goes_to_the_usual_variable(
    make_suite: Make, settings: Settings
) -> None:
    bare = {**REQUEST, "current": {"input": {"path": "/v1"}}}
    (found,) = answer(make_suite(bare), settings=settings, values={"base_url": "https://example.org"})
    assert found.judge.model == "https://example.org"


def test_a_link_local_address_is_refused_with_its_line(make_suite: Make, settings: Settings) -> None:
    with pytest.raises(InputError, match=r"eval-suite\.yaml:1: the base URL is a link-local address"):
        answer(make_suite(REQUEST), settings=settings, values={"api_base_url": "http://169.254.169.254"})


@pytest.mark.parametrize(
    ("body", "own", "named", "expected"),
    [
        ({"config": {"model": "sim"}}, [], (), ["sim"]),
        ({"config": {"judges": ["sim", "sim2"]}}, [], (), ["sim", "sim2"]),
        ({"config": {"model": "sim"}}, ["sim2"], ("real",), ["real"]),
        ({}, ["sim2"], (), ["sim2"]),
    ],
)
def test_judges_come_from_the_command_the_suite_or_the_settings(
    make_suite: Make,
    settings: Settings,
    body: Any,
    own: list[str],
    named: tuple[str, ...],
    expected: list[str],
) -> None:
    usual = settings.model_copy(update={"default_judges": own})
    assert list(shown(answer(make_suite(ASKED, **body), *named, settings=usual))) == expected


def test_a_run_without_judges_says_where_to_name_them(make_suite: Make, settings: Settings) -> None:
    with pytest.raises(InputError, match=r"no judge is named; give --judges a,b; or write config.model"):
        answer(make_suite(ASKED), settings=settings)


SKILL = {
    "id": "s",
    "baseline": {"output": "x"},
    "current": {
        "input": {"text": "hello"},
        "execution": {"type": "skill", "skill_name": "review", "parameters": {"depth": 2}},
    },
}
RUNNER = {"provider": "command", "command": ["./run-skill"]}


def with_judges(settings: Settings, **judges: Any) -> Settings:
    written = {name: judge.model_dump(exclude={"name"}) for name, judge in settings.judges.items()}
    return Settings.model_validate({"judges": {**written, **judges}})


@pytest.mark.parametrize("name", ["review", "skills"])
def test_a_skill_is_run_by_the_program_of_its_name_or_by_the_one_for_all(
    make_suite: Make, settings: Settings, name: str
) -> None:
    found = answer(make_suite(SKILL, ASKED), "real", settings=with_judges(settings, **{name: RUNNER}))
    assert shown(found) == {"real": "a", name: "s"}
    assert [one.is_system for one in found] == [False, True]
    assert found[1].key == name


def test_programs_named_as_judges_run_the_skills(make_suite: Make, settings: Settings) -> None:
    both = with_judges(settings, mine=RUNNER, review=RUNNER)
    assert shown(answer(make_suite(SKILL), "real", "mine", settings=both)) == {"mine": "s"}


def test_a_model_is_never_asked_to_pretend_a_skill(make_suite: Make, settings: Settings) -> None:
    with pytest.raises(InputError) as caught:
        answer(make_suite(SKILL), "real", settings=settings)
    message = str(caught.value)
    assert "s runs the skill 'review', but no judge can run it" in message
    assert "provider: command" in message


def test_simulations_stand_in_for_a_skill(make_suite: Make, settings: Settings) -> None:
    assert shown(answer(make_suite(SKILL), "sim", settings=settings)) == {"sim": "s"}


def test_a_program_gets_the_skill_its_parameters_and_its_input(make_suite: Make) -> None:
    (one,) = make_suite(SKILL).evals
    assert one.case.inputs["skill"] == {
        "name": "review",
        "parameters": {"depth": 2},
        "input": {"text": "hello"},
    }
