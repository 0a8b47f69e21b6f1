"""Eva prompts as tasks and evalsets: the cases of an eval.yml, and the requests of its triggering block."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from evalq.definitions.definition import NAME_REMEDY, did_you_mean, is_name, limit_problems, split_remedy
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import LoadedEvalSet, display_path
from evalq.definitions.graders import GraderConfig
from evalq.definitions.loaded import LoadedTask, TriggerMode
from evalq.definitions.located import Loc, Located, load_json
from evalq.definitions.task import TaskConfig
from evalq.definitions.template import names_builtin_rubric
from evalq.errors import InputError, Problem
from evalq.formats.eva.eval_file import Assertion, Case, EvalFile, read_eval
from evalq.formats.eva.prompt import (
    EVAL,
    META,
    PROMPT,
    PromptFolder,
    PromptMeta,
    as_texts,
    fill,
    find_prompt,
    is_prompt_folder,
    read_meta,
    unfilled,
)
from evalq.formats.paths import Place, read_inside
from evalq.formats.problems import each_made, gathered
from evalq.formats.skills.trigger_cases import Skill, trigger_case, trigger_task

_GRADER: TypeAdapter[GraderConfig] = TypeAdapter(GraderConfig)

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
"""The parameter of our grader that holds what an assertion looks for."""


def graders_of(
    case: Case, exam: EvalFile, folder: PromptFolder, *, place_of: Callable[[int], Place]
) -> list[GraderConfig]:
    """What marks a case's answers; `place_of` says where its assertions are written."""
    checks = [_check(one, folder, place_of(number)) for number, one in enumerate(case.asserts)]
    return [*checks, _rubric(case, exam)] if case.rubric is not None else checks


def _check(assertion: Assertion, folder: PromptFolder, place: Place) -> GraderConfig:
    op, value = assertion.op, assertion.value
    if op == "json_schema" and isinstance(value, str):
        value = load_json(read_inside(value, folder.roots, place=place), value).value
    try:
        return _GRADER.validate_python({"type": op, _PARAMETERS[op]: value})
    except ValidationError as exc:
        message, remedy = split_remedy(exc.errors()[0]["msg"].removeprefix("Value error, "))
        raise place.error(f"{op}: {message}", remedy or "change the value") from None


def _rubric(case: Case, exam: EvalFile) -> GraderConfig:
    fields: dict[str, Any] = {
        "type": "rubric",
        "rubric": _as_plain_text(case.rubric or ""),
        "pass_threshold": exam.threshold_of(case),
    }
    model = exam.grader_of(case)
    return _GRADER.validate_python({**fields, "model": model} if model else fields)


def _as_plain_text(rubric: str) -> str:
    """A rubric that means itself: ours may have names in braces, or be the name of a built-in one."""
    text = rubric.replace("{", "{{").replace("}", "}}")
    return f"{text}." if names_builtin_rubric(text) else text


CASES, TRIGGERING = "eval", "triggering"
"""What the two evalsets of a prompt are called."""

MAX_TOKENS = 8192
"""Of an answer; eva sets no limit."""


@dataclass(frozen=True)
class EvaPrompt:
    """A prompt with all that its evaluation needs; `located` is its eval.yml."""

    folder: PromptFolder
    meta: PromptMeta
    text: str
    exam: EvalFile
    located: Located

    @property
    def skill(self) -> Skill:
        """What it says of itself."""
        return Skill(self.folder.id, self.meta.says, tuple(self.meta.triggers), tuple(self.meta.not_for))

    def place(self, *loc: str | int) -> Place:
        """Where a part of its eval.yml is written."""
        return Place(self.located.file, self.located.line_of(loc))

    def model_of(self, case: Case) -> str | None:
        """The model that answers a case: its own, the file's, the prompt's."""
        return self.exam.model_of(case) or self.meta.model


def recognises(path: Path) -> bool:
    """True for a prompt's folder, and for its eval.yml or meta.yml."""
    return is_prompt_folder(path.parent if path.name in (EVAL, META) and path.is_file() else path)


def load_prompt(path: Path, root: Path) -> EvaPrompt:
    """The prompt at a path; InputError with the problems of all its files."""
    folder = find_prompt(path, root)
    if not is_name(folder.id):
        raise InputError(Problem(f"the folder's name {folder.id!r} names no task", NAME_REMEDY))
    problems: list[Problem] = []
    meta = gathered(lambda: read_meta(folder.located(META)), problems)
    text = gathered(lambda: folder.text(PROMPT), problems)
    located = gathered(lambda: folder.located(EVAL), problems)
    exam = gathered(lambda: read_eval(located), problems) if located is not None else None
    if meta is None or text is None or located is None or exam is None:
        raise InputError(*limit_problems(problems))
    return EvaPrompt(folder, meta, text, exam, located)


def load(path: Path, root: Path, *, trigger_mode: TriggerMode = "description") -> LoadedTask:
    """A prompt's cases for a bake-off; its requests, decided by description, when it has nothing else."""
    del trigger_mode
    prompt = load_prompt(path, root)
    requests = triggering_set(prompt)
    if not prompt.exam.cases:
        return requests or _nothing_asked(prompt)
    note = (f"{prompt.located.file}: its triggering block is not part of this; see `evalq triggers`",)
    return _imported(prompt, list(enumerate(prompt.exam.cases)), warnings=note if requests else ())


def case_sets(prompt: EvaPrompt, only: str | None = None) -> list[LoadedTask]:
    """The cases, or the one named: one set for each model with the same time to answer."""
    chosen = [(at, case) for at, case in enumerate(prompt.exam.cases) if only in (None, case.name)]
    if only is not None and not chosen:
        known = did_you_mean(only, [case.name for case in prompt.exam.cases])
        raise prompt.place().error(f"there is no case {only!r}", known or "add it under cases:")
    groups: dict[tuple[str | None, float | None], list[tuple[int, Case]]] = {}
    for at, case in chosen:
        groups.setdefault((prompt.model_of(case), prompt.exam.timeout_of(case)), []).append((at, case))
    return each_made(lambda group: _imported(prompt, group), groups.values())


def triggering_set(prompt: EvaPrompt) -> LoadedTask | None:
    """The requests; None when there are none."""
    block = prompt.exam.triggering
    if block is None or not block.queries:
        return None
    if not prompt.skill.description:
        file = display_path(prompt.folder.path(META))
        raise InputError(Problem("neither description nor summary to decide by", "add description: …", file))
    cases = [trigger_case(prompt.skill, query, should_trigger=should) for query, should in block.queries]
    lists = [
        (name, at) for name in ("should_match", "should_not_match") for at in range(len(getattr(block, name)))
    ]
    lines = {
        case.id: prompt.located.line_of(("triggering", *loc)) for case, loc in zip(cases, lists, strict=True)
    }
    model = prompt.exam.trigger_model
    return LoadedTask(
        trigger_task(prompt.folder.id, prompt.meta.summary),
        LoadedEvalSet(EvalSet(name=TRIGGERING, cases=cases), prompt.located.file, lines),
        judges=(model,) if model else (),
        deadline_s=prompt.exam.defaults.timeout_s,
    )


def case_of(prompt: EvaPrompt, at: int, case: Case) -> EvalCase:
    """A case with its prompt rendered and its graders; InputError naming where what is missing."""
    values = case_values(prompt, at, case)
    optional = [one.name for one in prompt.meta.inputs if not one.required]
    place = prompt.place("cases", at)
    open_names = unfilled(prompt.text, values, optional)
    if open_names:
        names = ", ".join(f"{{{{{name}}}}} (line {line})" for name, line in open_names)
        remedy = "add it to the case's inputs, or declare it in meta.yml without required: true"
        raise place.error(f"case {case.name!r} gives no value for {names} of {PROMPT}", remedy)
    return EvalCase(
        id=case.name,
        inputs={"prompt": fill(prompt.text, as_texts(values, optional))},
        graders=graders_of(
            case,
            prompt.exam,
            prompt.folder,
            place_of=lambda number: prompt.place("cases", at, "assert", number),
        ),
    )


def case_values(prompt: EvaPrompt, at: int, case: Case) -> dict[str, object]:
    """A case's variables: those of the file it names, under those written in it."""
    loc: Loc = ("cases", at, "inputs_from")
    named = prompt.folder.inputs(case.inputs_from, place=prompt.place(*loc)).value if case.inputs_from else {}
    return {**named, **(case.inputs or {})}


def _imported(
    prompt: EvaPrompt, cases: Sequence[tuple[int, Case]], *, warnings: tuple[str, ...] = ()
) -> LoadedTask:
    made = each_made(lambda one: case_of(prompt, *one), cases)
    models = dict.fromkeys(model for _, case in cases if (model := prompt.model_of(case)))
    times = [prompt.exam.timeout_of(case) for _, case in cases]
    lines = {case.name: prompt.located.line_of(("cases", at)) for at, case in cases}
    return LoadedTask(
        _task(prompt),
        LoadedEvalSet(EvalSet(name=CASES, cases=made), prompt.located.file, lines),
        judges=tuple(models),
        warnings=warnings,
        deadline_s=max((time for time in times if time is not None), default=None),
    )


def _task(prompt: EvaPrompt) -> TaskConfig:
    return TaskConfig(
        name=prompt.folder.id,
        description=prompt.meta.summary,
        system_prompt="",
        user_template="{prompt}",
        max_tokens=MAX_TOKENS,
    )


def _nothing_asked(prompt: EvaPrompt) -> LoadedTask:
    raise prompt.place().error("neither cases nor requests to ask", "add cases: or triggering:")
