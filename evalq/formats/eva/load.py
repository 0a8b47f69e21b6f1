"""Loads an eva prompt as a task and evalsets: the cases of its eval.yml, and its triggering requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalq.definitions.definition import NAME_REMEDY, did_you_mean, is_name, limit_problems, split_remedy
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import LoadedEvalSet, display_path
from evalq.definitions.graders import GraderConfig
from evalq.definitions.loaded import LoadedTask, TriggerMode
from evalq.definitions.located import Located, load_json
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError, Problem
from evalq.formats.build import MAX_TOKENS, build_grader, escape_rubric
from evalq.formats.eva.exam import Exam, ExamAssertion, ExamCase, read_exam
from evalq.formats.eva.prompt import (
    EVAL,
    META,
    PROMPT,
    PromptFolder,
    PromptMeta,
    as_texts,
    fill,
    find_prompt,
    find_unfilled,
    is_prompt_folder,
    read_meta,
)
from evalq.formats.paths import Place, read_inside
from evalq.formats.problems import build_each, collect_problems
from evalq.formats.skills.trigger_cases import Skill, build_trigger_case, build_trigger_task

CASES, TRIGGERING = "eval", "triggering"
"""The names of a prompt's two evalsets."""

_PARAMETERS: Mapping[str, str] = {
    "contains": "value",
    "not_contains": "value",
    "contains_any": "values",
    "contains_all": "values",
    "matches": "pattern",
    "not_matches": "pattern",
    "min_tokens": "value",
    "max_tokens": "value",
    "json_schema": "schema",
}
"""The parameter of our grader that takes an assertion's value."""


@dataclass(frozen=True)
class EvaPrompt:
    """A prompt with all that its evaluation needs; `located` is its eval.yml."""

    folder: PromptFolder
    meta: PromptMeta
    text: str
    exam: Exam
    located: Located

    @property
    def skill(self) -> Skill:
        """The prompt as a skill that requests may trigger."""
        return Skill(self.folder.id, self.meta.purpose, tuple(self.meta.triggers), tuple(self.meta.not_for))

    def place(self, *loc: str | int) -> Place:
        """Return the line of a part of its eval.yml."""
        return Place(self.located.file, self.located.line_of(loc))

    def model_of(self, case: ExamCase) -> str | None:
        """Return the model that answers a case: its own, the file's, or the prompt's."""
        return self.exam.model_of(case) or self.meta.model


def recognises(path: Path) -> bool:
    """Recognise a prompt's folder, and its eval.yml or meta.yml."""
    return is_prompt_folder(path.parent if path.name in (EVAL, META) and path.is_file() else path)


def load(path: Path, root: Path, *, trigger_mode: TriggerMode = "description") -> LoadedTask:
    """Load a prompt's cases for a bake-off; if it has none, its requests, decided by description."""
    del trigger_mode
    prompt = load_prompt(path, root)
    requests = load_requests(prompt)
    if prompt.exam.cases:
        note = f"{prompt.located.file}: its triggering block is not part of this; see `evalq triggers`"
        return _import_cases(prompt, list(enumerate(prompt.exam.cases)), warnings=(note,) if requests else ())
    if requests is None:
        raise prompt.place().error("neither cases nor requests to ask", "add cases: or triggering:")
    return requests


def load_prompt(path: Path, root: Path) -> EvaPrompt:
    """Load the prompt at a path; raise InputError with the problems of all its files."""
    folder = find_prompt(path, root)
    if not is_name(folder.id):
        raise InputError(Problem(f"the folder's name {folder.id!r} names no task", NAME_REMEDY))
    problems: list[Problem] = []
    meta = collect_problems(lambda: read_meta(folder.load_yaml(META)), problems)
    text = collect_problems(lambda: folder.read_text(PROMPT), problems)
    located = collect_problems(lambda: folder.load_yaml(EVAL), problems)
    exam = collect_problems(lambda: read_exam(located), problems) if located is not None else None
    if meta is None or text is None or located is None or exam is None:
        raise InputError(*limit_problems(problems))
    return EvaPrompt(folder, meta, text, exam, located)


def load_requests(prompt: EvaPrompt) -> LoadedTask | None:
    """Load the triggering requests; None if there are none."""
    block = prompt.exam.triggering
    if block is None or not block.queries:
        return None
    skill = prompt.skill
    if not skill.description:
        file = display_path(prompt.folder.path(META))
        raise InputError(Problem("neither description nor summary to decide by", "add description: …", file))
    cases: list[EvalCase] = []
    lines: dict[str, int] = {}
    for name in ("should_match", "should_not_match"):
        for at, query in enumerate(getattr(block, name)):
            case = build_trigger_case(skill, query, should_trigger=name == "should_match")
            cases.append(case)
            lines[case.id] = prompt.located.line_of(("triggering", name, at))
    model = prompt.exam.trigger_model
    return LoadedTask(
        build_trigger_task(prompt.folder.id, prompt.meta.summary),
        LoadedEvalSet(EvalSet(name=TRIGGERING, cases=cases), prompt.located.file, lines),
        judges=(model,) if model else (),
        deadline_s=prompt.exam.defaults.timeout_s,
    )


def load_cases(prompt: EvaPrompt, only: str | None = None) -> list[LoadedTask]:
    """Load all cases, or the one named: one set for each model and time to answer."""
    chosen = [(at, case) for at, case in enumerate(prompt.exam.cases) if only in (None, case.name)]
    if only is not None and not chosen:
        known = did_you_mean(only, [case.name for case in prompt.exam.cases])
        raise prompt.place().error(f"there is no case {only!r}", known or "add it under cases:")
    groups: dict[tuple[str | None, float | None], list[tuple[int, ExamCase]]] = {}
    for at, case in chosen:
        groups.setdefault((prompt.model_of(case), prompt.exam.timeout_of(case)), []).append((at, case))
    return build_each(lambda group: _import_cases(prompt, group), groups.values())


def _import_cases(
    prompt: EvaPrompt, numbered: Sequence[tuple[int, ExamCase]], *, warnings: tuple[str, ...] = ()
) -> LoadedTask:
    cases = build_each(lambda one: build_case(prompt, *one), numbered)
    models: dict[str, None] = {}
    deadline_s: float | None = None
    lines: dict[str, int] = {}
    for at, case in numbered:
        model, timeout_s = prompt.model_of(case), prompt.exam.timeout_of(case)
        if model:
            models[model] = None
        if timeout_s is not None:
            deadline_s = max(timeout_s, deadline_s or 0.0)
        lines[case.name] = prompt.located.line_of(("cases", at))
    task = TaskConfig(
        name=prompt.folder.id,
        description=prompt.meta.summary,
        system_prompt="",
        user_template="{prompt}",
        max_tokens=MAX_TOKENS,
    )
    return LoadedTask(
        task,
        LoadedEvalSet(EvalSet(name=CASES, cases=cases), prompt.located.file, lines),
        judges=tuple(models),
        warnings=warnings,
        deadline_s=deadline_s,
    )


def build_case(prompt: EvaPrompt, at: int, case: ExamCase) -> EvalCase:
    """Build a case with its prompt rendered and its graders; raise InputError for a missing variable."""
    values = read_values(prompt, at, case)
    optional = [one.name for one in prompt.meta.inputs if not one.required]
    missing = find_unfilled(prompt.text, values, optional)
    if missing:
        names = ", ".join(f"{{{{{name}}}}} (line {line})" for name, line in missing)
        message = f"case {case.name!r} gives no value for {names} of {PROMPT}"
        remedy = "add it to the case's inputs, or declare it in meta.yml without required: true"
        raise prompt.place("cases", at).error(message, remedy)
    return EvalCase(
        id=case.name,
        inputs={"prompt": fill(prompt.text, as_texts(values, optional))},
        graders=_build_graders(prompt, at, case),
    )


def read_values(prompt: EvaPrompt, at: int, case: ExamCase) -> dict[str, object]:
    """Read a case's variables: those in the file it names, overridden by those in the case itself."""
    values: dict[str, object] = {}
    if case.inputs_from:
        place = prompt.place("cases", at, "inputs_from")
        values.update(prompt.folder.load_inputs(case.inputs_from, place=place).value)
    values.update(case.inputs or {})
    return values


def _build_graders(prompt: EvaPrompt, at: int, case: ExamCase) -> list[GraderConfig]:
    graders: list[GraderConfig] = []
    for number, assertion in enumerate(case.asserts):
        place = prompt.place("cases", at, "assert", number)
        graders.append(_build_check(assertion, prompt.folder, place))
    if case.rubric is not None:
        rubric = {
            "type": "rubric",
            "rubric": escape_rubric(case.rubric),
            "pass_threshold": prompt.exam.threshold_of(case),
            "model": prompt.exam.grader_of(case) or None,
        }
        graders.append(build_grader(rubric))
    return graders


def _build_check(assertion: ExamAssertion, folder: PromptFolder, place: Place) -> GraderConfig:
    check, value = assertion.op, assertion.value
    if check == "json_schema" and isinstance(value, str):
        value = load_json(read_inside(value, folder.roots, place=place), value).value
    fields: dict[str, Any] = {"type": check, _PARAMETERS[check]: value}
    try:
        return build_grader(fields)
    except ValueError as exc:
        message, remedy = split_remedy(str(exc))
        raise place.error(f"{check}: {message}", remedy or "change the value") from None
