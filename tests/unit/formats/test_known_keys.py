"""A misspelt key is an error that says what to write; a key that is lost is listed."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from evalq.cli.import_export import transpile
from evalq.errors import InputError
from evalq.formats.known_formats import FORMATS
from evalq.formats.known_keys import guess_key

LOADERS: dict[str, Any] = {one.name: one.load for one in FORMATS}

TYPO = """\
tests:
  - id: a
    input: Hi
    assert:
      - {type: skill-trigger, skill: s, should_triger: false}
"""


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refusal(name: str, file: str, text: str) -> str:
    Path(file).write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        LOADERS[name](Path(file), Path())
    return str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("should_triger", "should_trigger"),
        ("shouldTrigger", "should_trigger"),
        ("should-trigger", "should_trigger"),
        ("asserts", "assert"),
        ("treshold", "threshold"),
        ("owner", None),
        ("expected", None),
    ],
)
def test_a_key_is_guessed_only_if_it_is_near(wrong: str, right: str | None) -> None:
    assert guess_key(wrong, ("should_trigger", "assert", "threshold", "expected_output")) == right


def test_should_triger_is_not_taken_for_true() -> None:
    assert refusal("EVAL.yaml", "EVAL.yaml", TYPO) == (
        "EVAL.yaml:5: unknown key 'should_triger'; write should_trigger"
    )


def test_the_transpiler_refuses_it_and_warns_in_compatible_mode() -> None:
    Path("EVAL.yaml").write_text(TYPO, "utf-8")
    with pytest.raises(InputError, match=r"EVAL\.yaml:5: unknown key 'should_triger'"):
        CliRunner(catch_exceptions=False).invoke(transpile, ["EVAL.yaml"])
    result = CliRunner(catch_exceptions=False).invoke(transpile, ["EVAL.yaml", "--compat", "agentv"])
    assert result.exit_code == 0
    assert "Warning: EVAL.yaml:5: unknown key 'should_triger'; write should_trigger" in result.stderr


def test_an_unknown_key_is_listed_as_lost() -> None:
    Path("EVAL.yaml").write_text(TYPO.replace("should_triger", "should_trigger") + "owner: me\n", "utf-8")
    assert "EVAL.yaml:6: owner is not taken over" in LOADERS["EVAL.yaml"](Path("EVAL.yaml"), Path()).warnings


def test_misspelt_keys_of_promptfoo_are_refused_together() -> None:
    text = "prompts: [Hi]\ntests:\n  - asserts: []\n    treshold: 0.5\n    assert: [{type: is-json}]\n"
    assert refusal("promptfoo", "promptfooconfig.yaml", text).splitlines() == [
        "promptfooconfig.yaml:3: unknown key 'asserts'; write assert",
        "promptfooconfig.yaml:4: unknown key 'treshold'; write threshold",
    ]


def test_every_loss_of_promptfoo_is_listed() -> None:
    Path("promptfooconfig.yaml").write_text(
        """\
prompts: [Hi]
evaluateOptions: {repeat: 2, maxConcurrency: 1}
tests:
  - prompts: [a]
    assertScoringFunction: file://x.js
    options: {}
    provider: p
    assert: [{type: llm-rubric, value: Good, provider: q, rubricPrompt: r}]
""",
        "utf-8",
    )
    lost = "\n".join(LOADERS["promptfoo"](Path("promptfooconfig.yaml"), Path()).warnings)
    for what in (
        "evaluateOptions.maxConcurrency is",
        "prompts of a test is",
        "assertScoringFunction of a test is",
        "options of a test is",
        "provider of a test is",
        "provider of a check is",
        "rubricPrompt of a check is",
    ):
        assert f"{what} not taken over" in lost


def test_a_misspelt_column_of_promptfoo_is_refused() -> None:
    Path("tests.csv").write_text("x,__expectd\n1,one\n", "utf-8")
    text = "prompts: [Hi]\ntests: tests.csv\n"
    assert "tests.csv:1: unknown column '__expectd'; write __expected" in refusal(
        "promptfoo", "promptfooconfig.yaml", text
    )


def test_a_misspelt_key_of_evals_json_is_refused() -> None:
    text = '{"skill_name": "s",\n "evals": [\n {"prompt": "p",\n "shoud_trigger": false}]}'
    assert refusal("evals.json", "evals.json", text) == (
        "evals.json:4: unknown key 'shoud_trigger'; write should_trigger"
    )


SHAPES = [
    ("- {$ref: other.yaml}", "other.yaml:1: eval_suite is not a mapping", "eval_suite: null\n"),
    ("- {$ref: other.yaml}", "a suite that is referred to lists no evals", "eval_suite: {name: x}\n"),
    ("- {id: a, input: Hi, grader: {$ref: g, config: 3}}", "config of a grader is not a mapping", ""),
    (
        "- {id: a, input: Hi, grader: {type: model, config: {criteria: [a]}}}",
        "a criterion is not a mapping",
        "",
    ),
    (
        "- {id: a, current: {input: {type: weird, content: x}}, baseline: {output: x}}",
        "input.type: Input should be 'prompt', 'file' or 'api_call'; write type: prompt",
        "",
    ),
]


@pytest.mark.parametrize(("entry", "message", "other"), SHAPES)
def test_a_wrong_shape_in_a_suite_is_refused_with_its_place(entry: str, message: str, other: str) -> None:
    Path("config").mkdir()
    Path("config/graders.yaml").write_text("graders: {g: {type: code, config: {method: contains}}}\n")
    Path("other.yaml").write_text(other)
    found = refusal("suite", "eval-suite.yaml", f"eval_suite:\n  name: s\n  evals:\n    {entry}\n")
    assert message in found
    assert "pydantic" not in found
