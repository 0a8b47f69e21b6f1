import json

from evalq.formats.agentv.skill_evals import SkillEval, SkillEvals, json_document, run_eval_list, safe_name


def case(prompt: str, should_trigger: bool | None, line: int = 1) -> SkillEval:
    return SkillEval(line, prompt, (), should_trigger=should_trigger, file="EVAL.yaml", line=line)


def test_a_document_is_two_spaces_letters_as_they_are_and_a_final_newline() -> None:
    text = json_document(SkillEvals("größe", (SkillEval(1, "日本", ()),)).content())
    assert text.startswith('{\n  "skill_name": "größe",\n  "evals": [\n    {\n      "id": 1,\n')
    assert text.endswith('"assertions": []\n    }\n  ]\n}\n')
    assert json.loads(text)["evals"][0]["prompt"] == "日本"


def test_run_eval_takes_only_tests_that_say_whether_to_trigger() -> None:
    queries, problems = run_eval_list(SkillEvals("s", (case("a", True), case("b", None), case("c", False))))
    assert queries == [{"query": "a", "should_trigger": True}, {"query": "c", "should_trigger": False}]
    assert problems == []


def test_run_evals_duplicates_are_merged() -> None:
    queries, problems = run_eval_list(SkillEvals("s", (case("a", True), case("b", True), case("a", True))))
    assert [query["query"] for query in queries] == ["a", "b"]
    assert problems == []


def test_of_contradicting_duplicates_the_later_counts_with_a_warning() -> None:
    queries, (problem,) = run_eval_list(SkillEvals("s", (case("a", True, 3), case("a", False, 9))))
    assert queries == [{"query": "a", "should_trigger": False}]
    assert str(problem).startswith("EVAL.yaml:9: the query of line 3 again with another should_trigger")


def test_an_empty_prompt_is_no_query() -> None:
    queries, (problem,) = run_eval_list(SkillEvals("s", (case(" \n", True, 4),)))
    assert queries == []
    assert str(problem) == "EVAL.yaml:4: an empty prompt is not a query: left out"


def test_a_skills_name_is_made_safe_for_a_file() -> None:
    assert safe_name("../Csv Analyzer:v2.json") == "___Csv_Analyzer_v2_json"
