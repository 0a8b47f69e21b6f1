"""An eva prompt becomes a task and an evalset that say the same."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalq.definitions.rubrics import render_rubric
from evalq.errors import InputError
from evalq.formats import Format, recognise
from evalq.formats.eva.load import load, load_cases, load_prompt, load_requests

NewPrompt = Callable[..., Path]


def problems(call: Callable[..., Any], *args: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        call(*args)
    return [str(problem) for problem in caught.value.problems]


def prompt_of(imported: Any, name: str) -> str:
    return next(case.inputs["prompt"] for case in imported.evalset.cases if case.id == name)


def test_a_prompt_is_known_by_its_folder_and_by_its_files(new_prompt: NewPrompt) -> None:
    folder = new_prompt()
    for path in (folder, folder / "eval.yml", folder / "meta.yml"):
        importer = recognise(path)
        assert importer is not None
        assert importer.name == "eva"


def test_a_file_of_the_same_name_without_a_prompt_is_no_eva_file(tmp_path: Path) -> None:
    (tmp_path / "eval.yml").write_text("cases: []")
    assert recognise(tmp_path / "eval.yml") is None
    assert recognise(tmp_path) is None
    assert recognise(Path("dev-93")) is None


def test_a_case_is_the_prompt_with_its_variables_filled_in(new_prompt: NewPrompt) -> None:
    imported = load(new_prompt(), Path())
    assert imported.task.user_template == "{prompt}"
    assert prompt_of(imported, "happy") == "<prompt>\ndef f(): pass\n\nLimits: \n</prompt>\n"
    assert prompt_of(imported, "empty") == "<prompt>\n\nLimits: none\n</prompt>\n"
    assert imported.loaded.case_lines == {"happy": 3, "empty": 10}
    assert imported.judges == ("claude-opus-4-7",)
    assert imported.deadline_s == 60


def test_braces_in_a_value_are_text(new_prompt: NewPrompt) -> None:
    inputs = "{source: '{{limits}} {x} \\1', limits: '{{source}}'}"
    folder = new_prompt(eval=f"cases: [{{name: a, inputs: {inputs}, assert: [contains: x]}}]")
    text = prompt_of(load(folder, Path()), "a")
    assert text == "<prompt>\n{{limits}} {x} \\1\nLimits: {{source}}\n</prompt>\n"


def test_what_is_written_in_a_case_goes_over_what_its_file_says(new_prompt: NewPrompt) -> None:
    case = "{name: a, inputs_from: examples/happy, inputs: {source: mine}, assert: [contains: x]}"
    assert "mine" in prompt_of(load(new_prompt(eval=f"cases: [{case}]"), Path()), "a")


def test_values_that_are_no_text_are_put_in_as_json(new_prompt: NewPrompt) -> None:
    inputs = "{source: [1, true], limits: 2.5}"
    folder = new_prompt(eval=f"cases: [{{name: a, inputs: {inputs}, assert: [contains: x]}}]")
    assert "[1, true]\nLimits: 2.5" in prompt_of(load(folder, Path()), "a")


def test_inputs_are_looked_for_in_the_repository_first(new_prompt: NewPrompt) -> None:
    folder = new_prompt()
    assert "def f" in prompt_of(load(folder, Path()), "happy")
    Path("examples/happy").mkdir(parents=True)
    Path("examples/happy/inputs.yml").write_text("source: of the repository")
    assert "of the repository" in prompt_of(load(folder, Path()), "happy")


@pytest.mark.parametrize(
    ("written", "refusal"),
    [
        ("../../../outside", "leads out of its folder"),
        ("/etc", "is an absolute path"),
        ("examples/link", "leads out of its folder"),
        ("examples/pipe", "is not a regular file"),
        ("examples/none", "no file 'examples/none/inputs.yml'"),
    ],
)
def test_inputs_from_never_leads_out(
    new_prompt: NewPrompt, written: str, refusal: str, tmp_path: Path
) -> None:
    folder = new_prompt(eval=f"cases:\n- {{name: a, inputs_from: {written}, assert: [contains: x]}}\n")
    (tmp_path.parent / "outside").mkdir(exist_ok=True)
    (tmp_path.parent / "outside/inputs.yml").write_text("source: secret")
    (folder / "examples/link").symlink_to(tmp_path.parent / "outside")
    (folder / "examples/pipe").mkdir()
    os.mkfifo(folder / "examples/pipe/inputs.yml")
    (found,) = problems(load, folder, Path())
    assert found.startswith("prompts/tidy/eval.yml:2: ")
    assert refusal in found


def test_a_prompt_that_is_a_link_out_of_the_repository_is_not_read(
    new_prompt: NewPrompt, tmp_path: Path
) -> None:
    folder = new_prompt()
    (tmp_path.parent / "stolen.xml").write_text("secret {{source}} {{limits}}")
    (folder / "prompt.xml").unlink()
    (folder / "prompt.xml").symlink_to(tmp_path.parent / "stolen.xml")
    (found,) = problems(load, folder, Path())
    assert "prompts/tidy/prompt.xml: 'prompt.xml' leads out of its folder" in found


def test_a_variable_without_a_value_is_refused_where_the_case_is(new_prompt: NewPrompt) -> None:
    (found,) = problems(
        load, new_prompt(eval="cases:\n- {name: a, inputs: {}, assert: [contains: x]}"), Path()
    )
    assert found.startswith(
        "prompts/tidy/eval.yml:2: case 'a' gives no value for {{source}} (line 2) of prompt.xml"
    )


def test_the_problems_of_all_cases_are_told_together(new_prompt: NewPrompt) -> None:
    cases = "\n".join(f"- {{name: {name}, inputs: {{}}, assert: [contains: x]}}" for name in "ab")
    assert len(problems(load, new_prompt(eval=f"cases:\n{cases}\n"), Path())) == 2


def test_every_assertion_has_its_grader(new_prompt: NewPrompt) -> None:
    ops = [
        "contains: a",
        "not_contains: b",
        "contains_any: [c, d]",
        "contains_all: [e, f]",
        "matches: ^a.c$",
        "not_matches: z+",
        "min_tokens: 1",
        "max_tokens: 9",
        "json_schema: {type: object}",
    ]
    asserts = "".join(f"\n  - {op}" for op in ops)
    folder = new_prompt(eval=f"cases:\n- name: a\n  inputs: {{source: x}}\n  assert:{asserts}\n")
    (case,) = load(folder, Path()).evalset.cases
    assert [grader.type for grader in case.graders] == [op.partition(":")[0] for op in ops]
    found = [{**grader.model_dump(exclude_unset=True), "type": ""} for grader in case.graders]
    wanted = ["a", "b", ["c", "d"], ["e", "f"], "^a.c$", "z+", 1, 9, {"type": "object"}]
    assert [next(value for value in one.values() if value != "") for one in found] == wanted


def test_a_schema_may_be_a_file_inside(new_prompt: NewPrompt) -> None:
    folder = new_prompt(eval="cases:\n- {name: a, inputs: {source: x}, assert: [json_schema: s.json]}\n")
    (folder / "s.json").write_text('{"type": "array"}')
    (case,) = load(folder, Path()).evalset.cases
    assert case.graders[0].value == {"type": "array"}  # type: ignore[union-attr]


@pytest.mark.parametrize("path", ["../../../s.json", "/etc/passwd"])
def test_a_schema_outside_is_refused(new_prompt: NewPrompt, path: str) -> None:
    folder = new_prompt(
        eval=f"cases:\n- name: a\n  inputs: {{source: x}}\n  assert:\n  - json_schema: {path}\n"
    )
    (found,) = problems(load, folder, Path())
    assert found.startswith("prompts/tidy/eval.yml:5: ")


@pytest.mark.parametrize("ref", ["file:///etc/passwd", "../other.json", "https://example.org/s.json"])
def test_a_schema_that_refers_outside_is_refused(new_prompt: NewPrompt, ref: str) -> None:
    schema = f"json_schema: {{$ref: '{ref}'}}"
    folder = new_prompt(eval=f"cases:\n- name: a\n  inputs: {{source: x}}\n  assert:\n  - {schema}\n")
    (found,) = problems(load, folder, Path())
    assert "leads out of the schema" in found


def test_a_rubric_is_scored_by_the_case_s_judge_at_its_threshold(new_prompt: NewPrompt) -> None:
    case = load(new_prompt(), Path()).evalset.cases[0]
    rubric = case.graders[-1]
    assert rubric.type == "rubric"
    assert (rubric.model, rubric.pass_threshold) == ("claude-haiku-4-5-20251001", 3)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("defaults", "model", "threshold"),
    [("{}", None, 4), ("{model: m}", "m", 4), ("{model: m, judge: {model: j, pass_threshold: 5}}", "j", 5)],
)
def test_a_rubric_s_judge_falls_back_on_the_defaults(
    new_prompt: NewPrompt, defaults: str, model: str | None, threshold: int
) -> None:
    text = f"defaults: {defaults}\ncases: [{{name: a, inputs: {{source: x}}, rubric: Score it well.}}]"
    (case,) = load(new_prompt(eval=text), Path()).evalset.cases
    assert (case.graders[0].model, case.graders[0].pass_threshold) == (model, threshold)  # type: ignore[union-attr]


@pytest.mark.parametrize("rubric", ["'Is it {json} or {{x}}?'", "surgical"])
def test_a_rubric_means_what_it_says(new_prompt: NewPrompt, rubric: str) -> None:
    folder = new_prompt(eval=f"cases: [{{name: a, inputs: {{source: x}}, rubric: {rubric}}}]")
    (case,) = load(folder, Path()).evalset.cases
    text = render_rubric(case.graders[0].rubric, {})  # type: ignore[union-attr]
    assert text.rstrip(".") == rubric.strip("'")


def test_cases_are_parted_by_model_and_time(new_prompt: NewPrompt) -> None:
    case = "inputs: {source: x}, assert: [contains: x]"
    text = (
        f"defaults: {{model: m}}\ncases: [{{name: a, {case}}}, {{name: b, model: n, {case}}}, "
        f"{{name: c, timeout_s: 5, {case}}}, {{name: d, {case}}}]"
    )
    sets = load_cases(load_prompt(new_prompt(eval=text), Path()))
    assert [(one.judges, one.deadline_s, [case.id for case in one.evalset.cases]) for one in sets] == [
        (("m",), None, ["a", "d"]),
        (("n",), None, ["b"]),
        (("m",), 5, ["c"]),
    ]


def test_the_model_of_the_prompt_is_the_last_resort(new_prompt: NewPrompt) -> None:
    folder = new_prompt(eval="cases: [{name: a, inputs: {source: x}, assert: [contains: x]}]")
    assert load(folder, Path()).judges == ()
    meta = (folder / "meta.yml").read_text()
    (folder / "meta.yml").write_text(f"{meta}model: sonnet-4.6\n")
    assert load(folder, Path()).judges == ("sonnet-4.6",)


def test_one_case_may_be_asked_for(new_prompt: NewPrompt) -> None:
    prompt = load_prompt(new_prompt(), Path())
    (chosen,) = load_cases(prompt, "empty")
    assert [case.id for case in chosen.evalset.cases] == ["empty"]
    assert "there is no case 'emty'; did you mean 'empty'?" in problems(load_cases, prompt, "emty")[0]


def test_requests_are_put_with_what_the_prompt_says_of_itself(new_prompt: NewPrompt) -> None:
    imported = load_requests(load_prompt(new_prompt(), Path()))
    assert imported is not None
    first, second = imported.evalset.cases
    assert (first.id, first.expected) == ("trigger:tidy foo.py", {"decision": "YES"})
    assert (second.id, second.expected) == ("trigger:explain foo.py", {"decision": "NO"})
    text = first.inputs["prompt"]
    for part in (
        "DESCRIPTION:\nTidies one function. Use when asked to tidy.\n",
        "POSITIVE TRIGGERS:\n- tidy this\n",
        "NEGATIVE TRIGGERS (do NOT use for):\n- explaining code\n",
        "USER QUERY:\ntidy foo.py\n",
        "DECISION=<YES|NO> REASON=<one short sentence>",
    ):
        assert part in text
    assert imported.judges == ("claude-haiku-4-5-20251001",)
    assert imported.loaded.case_lines == {"trigger:tidy foo.py": 16, "trigger:explain foo.py": 17}


@pytest.mark.parametrize(
    ("text", "judges"),
    [
        ("triggering: {judge: {model: a}, should_match: [q]}\ndefaults: {model: b}", ("a",)),
        ("triggering: {should_match: [q]}\ndefaults: {model: b}", ("b",)),
        ("triggering: {should_match: [q]}", ()),
    ],
)
def test_the_judge_of_requests_falls_back_on_the_defaults(
    new_prompt: NewPrompt, text: str, judges: tuple[str, ...]
) -> None:
    imported = load_requests(load_prompt(new_prompt(eval=text), Path()))
    assert imported is not None
    assert imported.judges == judges


def test_the_summary_stands_in_for_a_description(new_prompt: NewPrompt) -> None:
    folder = new_prompt(meta="summary: Tidies.\n", eval="triggering: {should_match: [q]}")
    imported = load_requests(load_prompt(folder, Path()))
    assert imported is not None
    assert "DESCRIPTION:\nTidies.\n" in imported.evalset.cases[0].inputs["prompt"]


@pytest.mark.parametrize("lists", ["should_match: []", "should_match: [], should_not_match: []"])
def test_without_a_request_there_is_nothing_to_trigger(new_prompt: NewPrompt, lists: str) -> None:
    folder = new_prompt(eval=f"triggering: {{{lists}}}\n")
    assert load_requests(load_prompt(folder, Path())) is None


def test_a_bake_off_is_on_the_cases_and_says_what_it_leaves_out(new_prompt: NewPrompt) -> None:
    imported = load(new_prompt(), Path())
    assert imported.evalset.name == "eval"
    assert "triggering block is not part of this" in imported.warnings[0]


def test_a_bake_off_is_on_the_requests_where_there_are_no_cases(new_prompt: NewPrompt) -> None:
    imported = load(new_prompt(eval="triggering: {should_match: [q]}"), Path())
    assert (imported.evalset.name, imported.warnings) == ("triggering", ())


def test_a_long_request_has_a_short_name_of_its_own(new_prompt: NewPrompt) -> None:
    texts = [f"{'x' * 300}{end}" for end in "ab"]
    imported = load_requests(load_prompt(new_prompt(eval=f"triggering: {{should_match: {texts}}}"), Path()))
    assert imported is not None
    assert [len(case.id) for case in imported.evalset.cases] == [199, 199]
    assert len({case.id for case in imported.evalset.cases}) == 2


def test_a_folder_that_cannot_name_a_task_is_refused(new_prompt: NewPrompt) -> None:
    (found,) = problems(load, new_prompt("tidy it"), Path())
    assert "the folder's name 'tidy it' names no task" in found


def test_an_exam_of_empty_lists_is_no_bake_off(new_prompt: NewPrompt) -> None:
    (found,) = problems(load, new_prompt(eval="triggering: {should_match: []}"), Path())
    assert found.startswith("prompts/tidy/eval.yml:1: neither cases nor requests to ask")


def test_requests_without_a_description_cannot_be_decided(new_prompt: NewPrompt) -> None:
    folder = new_prompt(meta="", eval="triggering: {should_match: [q]}")
    (found,) = problems(load_requests, load_prompt(folder, Path()))
    assert found.startswith("prompts/tidy/meta.yml: neither description nor summary")


def test_a_value_that_is_nothing_is_put_in_as_nothing(new_prompt: NewPrompt) -> None:
    folder = new_prompt(eval="cases: [{name: a, inputs: {source: null}, assert: [contains: x]}]")
    assert prompt_of(load(folder, Path()), "a") == "<prompt>\n\nLimits: \n</prompt>\n"


def test_what_only_looks_like_a_variable_is_text(new_prompt: NewPrompt) -> None:
    folder = new_prompt(
        prompt="{{source}} {{ spaced }} {{#if x}} { {x} }", eval="triggering: {should_match: [q]}"
    )
    (folder / "eval.yml").write_text("cases: [{name: a, inputs: {source: s}, assert: [contains: x]}]")
    assert prompt_of(load(folder, Path()), "a") == "s {{ spaced }} {{#if x}} { {x} }"


def test_a_nul_in_a_prompt_is_refused(new_prompt: NewPrompt) -> None:
    (found,) = problems(load, new_prompt(prompt="a\x00b"), Path())
    assert found.startswith("prompts/tidy/prompt.xml: a NUL in the text")


def test_a_repository_is_known_by_its_settings_where_there_is_no_folder_of_prompts(
    new_prompt: NewPrompt, tmp_path: Path
) -> None:
    folder = new_prompt()
    (tmp_path / "deep").mkdir()
    (folder.parent / "tidy").rename(tmp_path / "deep/tidy")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/inputs.yml").write_text("source: shared")
    text = "cases: [{name: a, inputs_from: shared, assert: [contains: x]}]"
    (tmp_path / "deep/tidy/eval.yml").write_text(text)
    assert "no file 'shared/inputs.yml'" in problems(load, Path("deep/tidy"), Path())[0]
    (tmp_path / "evalq.yaml").write_text("")
    assert "shared" in prompt_of(load(Path("deep/tidy"), Path()), "a")


def test_an_importer_without_a_check_of_its_own_tells_what_keeps_it_from_loading(
    new_prompt: NewPrompt,
) -> None:
    importer = Format("bare", lambda _: True, load)
    assert importer.problems(new_prompt(), Path()) == ()
    assert (
        "cases should be a list" in importer.problems(new_prompt("other", eval="cases: 5"), Path())[0].message
    )
