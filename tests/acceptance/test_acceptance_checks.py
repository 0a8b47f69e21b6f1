"""Checks from the command line: what passes, what weighs, what errs, and what loading finds wrong."""

import json
from typing import Any

import pytest

ANSWERS = {
    "plain": '{"city": "Rome", "people": 2800000}',
    "wordy": "The city is Rome.",
    "evil": "a" * 50_000,
    "talk": "Hà Nội, of course",
}
SETTINGS = f"""\
fleet: {{processes: 1, slots: 8}}
judges:
  fixed:
    provider: simulated
    model: fixed
    time_scale: 0
    price: {{input: 1, output: 1}}
    answers: {json.dumps(ANSWERS)}
"""
TASK = """\
name: cities
system_prompt: Answer.
user_template: "{ask}"
"""
CASES = """\
cases:
- id: plain
  inputs: {ask: Rome?}
  expected: {answer: {city: Rome, people: "{{any_number}}"}}
  graders:
  - {type: is-json}
  - {type: structural-match}
  - {type: json-path, path: $.people, matches: "^(?P<n>[0-9]+)$"}
- id: wordy
  inputs: {ask: Rome?}
  graders:
  - {type: is_json}
- id: evil
  inputs: {ask: Rome?}
  graders:
  - {type: regex, pattern: "^(([a-z])+.)+[A-Z]([a-z])+$"}
- id: talk
  inputs: {}
  messages: [{role: user, content: And Vietnam?}]
  expected: {any_of: [Hanoi, Hà Nội]}
  pass_threshold: 0.7
  graders:
  - {type: contains-any, weight: 3}
  - {type: max-words, value: 2, required: false}
"""
BAKE = ("bake-off", "--task", "cities", "--eval-set", "dev", "--judges", "fixed")


@pytest.fixture(scope="module")
def cities(new_project: Any) -> Any:
    """A task that leaves marking to its cases."""
    project = new_project(SETTINGS)
    project.write("tasks/cities.yaml", TASK)
    project.write("evalsets/cities/dev.yaml", CASES)
    return project


def test_cases_are_marked_by_their_own_checks_and_a_slow_pattern_is_no_fail(cities: Any) -> None:
    [run] = cities.bake(*BAKE)["runs"]
    assert (run["n_pass"], run["n_fail"], run["n_error"]) == (2, 1, 1)


def test_a_check_s_mistake_is_told_of_with_its_line(cities: Any) -> None:
    cities.write("evalsets/cities/bad.yaml", CASES.replace("type: is_json", "type: is-jsn"))
    done = cities.run("check")
    assert done.returncode == 2
    assert (
        "evalsets/cities/bad.yaml:12: cases[1].graders[0].type cannot be 'is_jsn'; did you mean 'is_json'?"
        in (done.stdout + done.stderr)
    )


def test_a_check_without_what_it_compares_with_is_told_of_with_its_case(cities: Any) -> None:
    cities.write("evalsets/cities/bad.yaml", CASES.replace("any_of", "some_of"))
    done = cities.run("check")
    assert done.returncode == 2
    assert (
        "evalsets/cities/bad.yaml:17: case 'talk': grader 'contains_any' has no values, and the case no "
        in (done.stdout + done.stderr)
    )
