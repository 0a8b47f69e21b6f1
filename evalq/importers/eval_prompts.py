"""The checks of an EVAL.yaml that ask a model in words of their own, and a test's criteria."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from evalq.importers.eval_rubrics import HIGHEST, by_items
from evalq.importers.eval_scene import Entry, Scene, least_score
from evalq.importers.grader_entries import plain_rubric
from evalq.importers.paths import Place
from evalq.transpile.eval_file import Assertion

_PROMPT_FILE = re.compile(r"[^\s{}]+\.(?:md|txt|markdown|j2|jinja2?|prompt)")
_PROGRAM = re.compile(r"[^\s{}]+\.(?:[cm]?[tj]s|py|sh)")
_BY_PROGRAM = "its prompt is made by a program, which is not run"
_PLACEHOLDER = re.compile(r"(?<!\$)\{\{\s*([A-Za-z_][\w.]*)\s*\}\}")
_NAMES = {
    "answer": "answer",
    "candidate_answer": "answer",
    "output": "answer",
    "output_text": "answer",
    "input": "question",
    "input_text": "question",
    "question": "question",
    "expected_output": "expected",
    "expected_output_text": "expected",
    "reference_answer": "expected",
}
"""What a prompt of agentv may name, and what ours calls it."""


def llm_grader(assertion: Assertion, scene: Scene) -> list[Entry]:
    """Its rubrics, or else its prompt, or else the test's criteria."""
    _note_unused(assertion, scene)
    fields = assertion.fields
    listed: list[Any] = next(
        (fields[key] for key in ("rubrics", "value", "criteria") if _is_list(fields.get(key))), []
    )
    prompt = next((fields[key] for key in ("prompt", "value", "criteria") if _is_text(fields.get(key))), None)
    is_prompt_first = assertion.written.replace("_", "-") == "llm-judge" and prompt
    if listed and not is_prompt_first:
        return by_items(listed, assertion)
    rubric = _prompt(prompt, assertion, scene) if prompt else None
    if isinstance(fields.get("prompt"), dict):
        scene.lose(assertion, _BY_PROGRAM)
    if not rubric and prompt and scene.criteria:
        scene.lose(assertion, "the test's criteria stand in for its prompt")
    rubric = rubric or _plain(scene.criteria)
    if not rubric:
        raise ValueError("it has neither a prompt nor criteria; write one of them")
    return [Entry({**_scored(rubric, least_score(assertion)), **_temperature(fields)})]


def by_criteria(criteria: Sequence[str], least: float) -> list[Entry]:
    """A test's own criteria, as agentv has them marked where nothing else is listed."""
    return [Entry(_scored(_plain(criteria), least))]


def _prompt(written: str, assertion: Assertion, scene: Scene) -> str | None:
    """The prompt as a rubric of ours: in place, or from the file it names."""
    text: str | None = written
    name = written.strip().removeprefix("file://")
    if _PROGRAM.fullmatch(name):
        scene.lose(assertion, _BY_PROGRAM)
        return None
    if _PROMPT_FILE.fullmatch(name):
        text = scene.attachments.text(name, Place(assertion.file, assertion.line))
    return _as_template(text, assertion, scene) if text and text.strip() else None


def _as_template(text: str, assertion: Assertion, scene: Scene) -> str:
    """What agentv would fill in, under our names; everything else is text."""
    parts, at = [], 0
    for found in _PLACEHOLDER.finditer(text):
        parts.append(_braced(text[at : found.start()]))
        parts.append(_filled(found, assertion, scene))
        at = found.end()
    return plain_rubric(text) if at == 0 else "".join([*parts, _braced(text[at:])]).strip()


def _filled(found: re.Match[str], assertion: Assertion, scene: Scene) -> str:
    name = found[1]
    if name in ("criteria", "expected_outcome"):
        return _braced("\n".join(scene.criteria))
    if name in _NAMES:
        return f"{{{_NAMES[name]}}}"
    scene.lose(assertion, f"its prompt names {found[0]}, which stays as it is")
    return _braced(found[0])


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _plain(criteria: Sequence[str]) -> str:
    return plain_rubric("\n".join(criteria)) if criteria else ""


def _scored(rubric: str, least: float) -> dict[str, Any]:
    return {"type": "rubric", "rubric": rubric, "range": [0, HIGHEST], "pass_threshold": HIGHEST * least}


def _temperature(fields: Mapping[str, Any]) -> dict[str, Any]:
    temperature = fields.get("temperature")
    return {} if temperature is None else {"temperature": temperature}


def _note_unused(assertion: Assertion, scene: Scene) -> None:
    for key in ("model", "target", "provider"):
        if assertion.fields.get(key):
            remedy = "give --grader-model, or set grader_model: in evalq.yaml"
            scene.lose(assertion, f"its {key} is not taken over: the bake-off's grader marks it", remedy)
    if assertion.fields.get("max_steps") or assertion.fields.get("config"):
        scene.lose(assertion, "is asked once, without tools: max_steps and config are left out")


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
