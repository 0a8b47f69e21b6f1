import pytest
from pydantic import BaseModel

from evalq.definitions.definition import MAX_PROBLEMS, did_you_mean, is_name, validate
from evalq.definitions.evalset import EvalSet
from evalq.definitions.graders.text import Levenshtein
from evalq.definitions.task import TaskConfig
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError, Problem
from evalq.settings import Settings

TASK = """\
name: audit
system_prompt: Be brief.
user_template: "{text}"
scoring: {mode: strict_substring}
"""


def problems_of(text: str, model: type[BaseModel] = TaskConfig, *others: Problem) -> list[str]:
    with pytest.raises(InputError) as caught:
        validate(model, load_yaml(text, "f.yaml"), *others)
    return [str(problem) for problem in caught.value.problems]


def problem_of(extra: str) -> str:
    (problem,) = problems_of(TASK + extra)
    return problem


def test_a_valid_file_becomes_its_model() -> None:
    assert validate(TaskConfig, load_yaml(TASK, "f.yaml")).name == "audit"


def test_an_unknown_key_is_answered_with_the_near_and_the_known_ones() -> None:
    problem = problem_of("tempature: 1\n")
    assert problem.startswith("f.yaml:5: unknown key 'tempature'; did you mean 'temperature'? (known: name, ")


def test_an_unknown_key_far_from_any_lists_the_known() -> None:
    assert "unknown key 'zzz'; (known: name," in problem_of("zzz: 1\n")


def test_an_unknown_key_deep_inside_knows_its_own_neighbours() -> None:
    problem = problem_of("graders:\n  - type: hit_at_k\n    kk: 3\n")
    assert problem == (
        "f.yaml:7: unknown key 'kk' in graders[0]; did you mean 'k'? "
        "(known: name, weight, required, negate, type, k)"
    )


def test_an_unknown_key_never_shows_a_password() -> None:
    assert "hunter2" not in problem_of('"postgresql://me:hunter2@host/db": 1\n')


def test_a_missing_key_is_named() -> None:
    (problem,) = problems_of(TASK.replace("system_prompt: Be brief.\n", ""))
    assert problem == "f.yaml:1: missing key 'system_prompt'; add system_prompt: …"


def test_a_missing_key_inside_says_where() -> None:
    (problem,) = problems_of("name: a\ncases:\n- id: x\n  inputs: {}\n- id: y\n", EvalSet)
    assert problem == "f.yaml:5: missing key 'inputs' in cases[1]; add inputs: …"


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ('max_tokens: "5"', "max_tokens should be a whole number, but is text; write digits only"),
        ("max_tokens: 1.5", "max_tokens should be a whole number, but is a number; write digits only"),
        ("max_tokens: true", "max_tokens should be a whole number, but is true or false; write digits only"),
        ("temperature: hot", "temperature should be a number, but is text; write a number"),
        ("description: 5", "description should be text, but is a whole number; put it in quotes"),
        ("description: ~", "description should be text, but is empty; put it in quotes"),
        ("default_judges: a", "default_judges should be a list, but is text; write it as a list"),
        ("default_judges: [a, {}]", "default_judges[1] should be text, but is a mapping; put it in quotes"),
        ("graders: [3]", "graders[0] should be a mapping, but is a whole number; write it as 'key: value'"),
        ("temperature: 3", "temperature: it should be less than or equal to 2; change the value"),
    ],
)
def test_wrong_types_and_bounds_say_what_is_and_what_should_be(extra: str, message: str) -> None:
    assert problem_of(extra).startswith(f"f.yaml:5: {message}")


def test_a_file_that_is_no_mapping_says_so() -> None:
    assert problems_of("- a\n")[0].startswith("f.yaml:1: the file should be a mapping, but is a list")


def test_a_bad_choice_lists_the_allowed_ones() -> None:
    (problem,) = problems_of(TASK.replace("strict_substring", "humans"))
    assert problem == "f.yaml:4: scoring.mode cannot be 'humans'; write 'llm_judge' or 'strict_substring'"


def test_a_choice_nearly_right_is_corrected() -> None:
    (problem,) = problems_of(TASK.replace("strict_substring", "strict_substr"))
    assert "write 'strict_substring'; allowed: " in problem


def test_a_bad_tag_lists_the_allowed_ones() -> None:
    problem = problem_of("graders: [{type: bleu}]\n")
    assert problem.startswith("f.yaml:5: graders[0].type cannot be 'bleu'; write ")
    assert "'hit_at_k', 'mrr', " in problem


def test_a_bad_tag_among_many_is_answered_with_the_near_ones() -> None:
    assert problem_of("graders: [{type: contians-any}]\n") == (
        "f.yaml:5: graders[0].type cannot be 'contians_any'; did you mean 'contains_any' or 'icontains_any' "
        "or 'contains_all'?"
    )


@pytest.mark.parametrize(
    ("grader", "message"),
    [
        ("type: latency\n    max_ms: '3'", "f.yaml:7: graders[0].max_ms should be a number, but is text"),
        (
            "type: contains_any\n    value:\n    - a\n    - 3",
            "f.yaml:9: graders[0].value[1] should be text, but",
        ),
        (
            "type: regex\n    flags: [i]\n    pattern: a",
            "f.yaml:7: graders[0].flags[0] cannot be 'i'; write ",
        ),
        (
            "type: regex\n    flags: i\n    value: '('",
            "f.yaml:8: graders[0].value: not a regular expression: ",
        ),
        (
            "type: json_schema\n    schema: {type: 3}",
            "f.yaml:7: graders[0].schema: not a JSON Schema at type",
        ),
        (
            "type: latency\n    limit: 3\n    max_ms: 3",
            "f.yaml:7: unknown key 'limit' in graders[0]; (known: name, ",
        ),
        ("type: cost", "f.yaml:6: missing key 'budget' in graders[0]; add budget: …"),
        (
            "type: tool_trajectory\n    mode: exact\n    expected:\n    - {tool: a, args: 3}",
            "f.yaml:9: graders[0].expected[0].args: arguments should be a mapping; write them as",
        ),
        ("type: equals\n    value: a\n    expected: b", "f.yaml:8: unknown key 'expected' in graders[0]; "),
    ],
)
def test_a_grader_s_mistake_is_placed_under_the_name_it_was_written_with(grader: str, message: str) -> None:
    assert problem_of(f"graders:\n  - {grader}\n").startswith(message)


def test_a_missing_tag_lists_the_allowed_ones() -> None:
    problem = problem_of("graders: [{k: 3}]\n")
    assert problem.startswith("f.yaml:5: missing key 'type' in graders[0]; add type: one of ")
    assert " hit_at_k, mrr, " in problem


def test_a_judge_is_checked_by_the_rules_of_its_provider() -> None:
    problems = problems_of(
        "judges:\n  a: {provider: command, command: []}\n  b: {provider: simulated}\n", Settings
    )
    assert problems == [
        "f.yaml:2: judges.a.command is empty; write at least one entry",
        "f.yaml:3: missing key 'model' in judges.b; add model: …",
    ]


def test_a_model_s_own_sentence_is_split_into_message_and_remedy() -> None:
    (problem,) = problems_of(TASK.replace("strict_substring", "llm_judge"))
    assert problem.startswith(
        "f.yaml:4: scoring: judge_model and rubric required when mode is llm_judge; add "
    )


def test_a_model_s_sentence_on_the_whole_file_has_no_place() -> None:
    (problem,) = problems_of("type: levenshtein\nthreshold: 0.9\nmax_distance: 2\n", Levenshtein)
    assert problem == "f.yaml:1: threshold and max_distance are two measures; keep one of them"


def test_a_bad_name_says_which_characters_are_good() -> None:
    (problem,) = problems_of(TASK.replace("audit", "my audit"))
    assert problem.startswith("f.yaml:1: name is not of the right form; use letters, digits,")


def test_another_pattern_is_shown() -> None:
    (problem,) = problems_of("judges: {a: {provider: python, callable: f}}", Settings)
    assert "judges.a.callable is not of the right form; write what matches ^[A-Za-z_]" in problem


def test_an_empty_and_an_overlong_text_are_told_apart() -> None:
    text = f"name: a\ncases:\n- {{id: '', inputs: {{}}}}\n- {{id: {'x' * 201}, inputs: {{}}}}\n"
    empty, long = problems_of(text, EvalSet)
    assert empty.startswith("f.yaml:3: cases[0].id is empty")
    assert long.startswith("f.yaml:4: cases[1].id: String should have at most 200 characters")


def test_all_problems_come_at_once_in_the_order_of_lines() -> None:
    problems = problems_of("zzz: 1\nname: 5\nsystem_prompt: x\nscoring: {mode: x}\n")
    assert [problem.split(": ")[0] for problem in problems] == [
        "f.yaml:1",
        "f.yaml:1",
        "f.yaml:2",
        "f.yaml:4",
    ]


def test_problems_found_beside_the_model_s_are_reported_with_them() -> None:
    other = Problem("another", file="f.yaml", line=9)
    assert problems_of(TASK, TaskConfig, other) == ["f.yaml:9: another"]
    assert problems_of(TASK + "zzz: 1", TaskConfig, other)[1] == "f.yaml:9: another"


def test_very_many_problems_are_counted_instead_of_listed() -> None:
    problems = problems_of("name: a\ncases: [" + "1," * (MAX_PROBLEMS + 5) + "]", EvalSet)
    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1] == "f.yaml: and 5 more problems"


def test_near_says_as_much_as_it_can() -> None:
    assert did_you_mean("colour", ["color", "size"]) == "did you mean 'color'? (known: color, size)"
    assert did_you_mean("x", []) == ""


def test_names_are_plain() -> None:
    assert is_name("dev-93")
    assert not is_name("dev\n")
    assert not is_name("../dev")


def test_a_judge_may_be_named_like_a_provider_or_a_key() -> None:
    text = "judges:\n  command:\n    provider: command\n    command: [x]\n    timeout: 1\n"
    (problem,) = problems_of(text, Settings)
    assert problem.startswith("f.yaml:5: unknown key 'timeout' in judges.command; did you mean 'timeout_s'?")
