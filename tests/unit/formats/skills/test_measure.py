"""Which questions a measurement of triggering asks, and what would be right."""

import pytest

from evalq.definitions.fit import check_fit
from evalq.errors import InputError
from evalq.formats.skills.measure import build_questions, find_right_skills, import_questions
from evalq.formats.skills.skill_files import SkillQuery as Query
from evalq.formats.skills.trigger_cases import Skill

A, B = Skill("a", "does a"), Skill("b", "does b")
QUERIES = [Query("a", "q1", True), Query("a", "q2", False), Query("b", "q3", True), Query("b", "q1", False)]


def test_one_skill_is_asked_about_its_own_requests() -> None:
    asks = build_questions([A], QUERIES[:2])
    assert [(ask.case.id, ask.should_trigger, ask.is_own) for ask in asks] == [
        ("trigger:q1", True, True),
        ("trigger:q2", False, True),
    ]


def test_a_skill_is_also_asked_about_requests_that_another_should_get() -> None:
    asks = [ask for ask in build_questions([A, B], QUERIES) if ask.skill]
    assert [(ask.skill, ask.query, ask.should_trigger, ask.is_own) for ask in asks] == [
        ("a", "q1", True, True),
        ("a", "q2", False, True),
        ("a", "q3", False, False),
        ("b", "q3", True, True),
        ("b", "q1", False, True),
    ]


def test_of_several_skills_every_request_asks_which() -> None:
    which = {ask.query: ask.right for ask in build_questions([A, B], QUERIES) if ask.skill is None}
    assert which == {"q1": ("a",), "q2": ("b", "none"), "q3": ("b",)}


def test_a_request_nobody_wants_may_go_anywhere_it_is_not_unwanted() -> None:
    queries = [Query("a", "q", False), Query("b", "q", False)]
    assert find_right_skills("q", ["a", "b", "c"], queries) == ("c", "none")


def test_a_request_that_two_want_may_go_to_either() -> None:
    assert find_right_skills("q", ["a", "b"], [Query("a", "q", True), Query("b", "q", True)]) == ("a", "b")


def test_the_questions_make_a_task_that_fits_its_cases() -> None:
    imported = import_questions(build_questions([A, B], QUERIES), [A, B], judge="j")
    assert (imported.task.name, imported.evalset.name, imported.judges) == ("skills", "triggering", ("j",))
    assert check_fit(imported.task, imported.loaded) == []
    assert len({case.id for case in imported.evalset.cases}) == 8


def test_a_skill_that_cannot_name_a_task_is_refused() -> None:
    odd = Skill("my skill", "d")
    with pytest.raises(InputError, match="names no task"):
        import_questions(build_questions([odd], [Query("my skill", "q", True)]), [odd], judge=None)
