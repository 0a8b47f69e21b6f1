"""Loads the evals.json of a skill as a task and an evalset: prompts, claims about the answers, triggers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import LoadedEvalSet
from evalq.definitions.graders import GraderConfig
from evalq.definitions.loaded import LoadedTask, TriggerMode
from evalq.definitions.task import TaskConfig
from evalq.errors import Problem
from evalq.formats.build import (
    MAX_SAMPLES,
    MAX_TOKENS,
    build_grader,
    plain_rubric,
    set_name,
    short_id,
    task_name,
    with_unique_ids,
)
from evalq.formats.document import Node, load_document, root_node, text_of
from evalq.formats.known_keys import KeyFindings
from evalq.formats.paths import Attachments, Place, folders_above
from evalq.formats.problems import ImportWarnings, build_each
from evalq.formats.skills.trigger_cases import (
    ANSWER,
    SKILL_FILE,
    SkillDescriptions,
    WantedTrigger,
    build_trigger_cases,
)
from evalq.formats.sniff import sniff

_PROMPT_KEYS = ("prompt", "query", "input", "question")
_CLAIM_KEYS = ("assertions", "expectations")
_EVAL_KEYS = {
    *_PROMPT_KEYS,
    *_CLAIM_KEYS,
    *("id", "name", "expected_output", "files", "should_trigger", "description"),
}
_FILE_KEYS = {"evals", "skill_name", "runs_per_query", "trigger_threshold", "name", "description"}


@dataclass(frozen=True)
class _SkillContext:
    """The skill a file is about, and what all its evals share."""

    name: str
    mode: TriggerMode
    skills: SkillDescriptions
    attachments: Attachments
    warnings: ImportWarnings


def recognises(path: Path) -> bool:
    """Recognise a document with `evals`, and the bare list of queries that run_eval.py takes."""
    seen = sniff(path)
    if seen.is_list:
        return seen.has("query") and seen.has("should_trigger") and path.suffix.lower() != ".csv"
    return seen.has("evals") and not seen.has("cases", "tests") and path.is_file()


def load(path: Path, root: Path, *, trigger_mode: TriggerMode = "tool_calls") -> LoadedTask:
    """Load the evals of the file for a bake-off; raise InputError with the problems of all of them."""
    del root  # files are looked for in the file's own folder, wherever we are
    document = root_node(load_document(path))
    evals = _get_evals(document)
    keys = _check_keys(document, evals)
    context = _build_context(document, path, trigger_mode)
    warnings = context.warnings
    cases, lines = with_unique_ids(
        build_each(lambda one: (_build_cases(one, context), one.problem("")), evals), warnings
    )
    samples = document.get_count("runs_per_query") or 1
    _warn_of_unused(document, keys, warnings)
    return LoadedTask(
        _build_task(document, path, context.name),
        LoadedEvalSet(EvalSet(name=set_name(path), cases=cases), document.file, lines),
        warnings=warnings.texts,
        samples=min(samples, MAX_SAMPLES),
    )


def _get_evals(document: Node) -> list[Node]:
    listed = document if isinstance(document.value, list) else document.get("evals")
    evals = listed.items() if listed else []
    if not evals:
        document.refuse("no evals", "list them under evals:")
    return evals


def _build_context(document: Node, path: Path, mode: TriggerMode) -> _SkillContext:
    warnings = ImportWarnings()
    folder = path.parent
    roots = [folder]
    if folder.name == "evals" and (folder.parent / SKILL_FILE).is_file():
        roots.append(folder.parent)
    named = document.get("skill_name")
    name = named.text().strip() if named else _find_enclosing_skill(folder)
    descriptions: dict[str, str] = {}
    description = document.get_value("description")
    if isinstance(description, str):
        descriptions[name] = description
    skills = SkillDescriptions(folder, warnings, descriptions)
    return _SkillContext(name, mode, skills, Attachments(roots, warnings), warnings)


def _find_enclosing_skill(folder: Path) -> str:
    """Return the name of the skill's folder that holds this one; "" outside of any."""
    for parent in folders_above(folder):
        if (parent / SKILL_FILE).is_file():
            return parent.name
    return ""


def _build_task(document: Node, path: Path, skill: str) -> TaskConfig:
    name = document.get("name")
    return TaskConfig(
        name=task_name(path, text_of(name.value) if name else skill),
        description=f"The evals of the skill {skill}" if skill else "",
        system_prompt="",
        user_template="{prompt}",
        max_tokens=MAX_TOKENS,
    )


def _build_cases(one: Node, context: _SkillContext) -> list[EvalCase]:
    """Build a case that is answered, a case whose trigger is decided by description, or both."""
    if not isinstance(one.value, dict):
        one.refuse("an eval that is not a mapping", 'write it as {"prompt": …}')
    query, wanted = _read_query(one), _read_wanted(one, context)
    graders = _build_graders(one, context)
    case_id = _build_case_id(one)
    trigger_cases: list[EvalCase] = []
    if wanted and context.mode == "tool_calls":
        fields = {"skill": wanted.skill, "should_trigger": wanted.should_trigger}
        graders.append(build_grader({"type": "skill_triggered", **fields}))
    elif wanted:
        trigger_cases = build_trigger_cases(case_id, query, [wanted], context.skills, is_all=not graders)
    elif not graders:
        one.refuse("nothing marks the answer", "add assertions, expected_output or should_trigger")
    if not graders:
        return trigger_cases
    fields = {"id": case_id, "inputs": {"prompt": _build_prompt(one, query, context)}, "graders": graders}
    if _read_expected(one):
        fields["expected"] = {"answer": _read_expected(one)}
    if trigger_cases:
        fields["stratum"] = dict(ANSWER)
    return [EvalCase.model_validate(fields), *trigger_cases]


def _build_case_id(one: Node) -> str:
    text = one.get_text("id", "name")
    return short_id(text) if text else f"eval-{one.loc[-1]}"


def _read_query(one: Node) -> str:
    query = one.get(*_PROMPT_KEYS)
    if query is None or not query.text().strip():
        one.refuse("an eval that asks nothing", 'add "prompt": "…"')
    return query.text()


def _read_wanted(one: Node, context: _SkillContext) -> WantedTrigger | None:
    should = one.get("should_trigger")
    if should is None:
        return None
    if not context.name:
        should.refuse("no skill is named that should trigger or not", 'add "skill_name": "…" at the top')
    return WantedTrigger(context.name, should.flag(), should.file, should.line)


def _build_graders(one: Node, context: _SkillContext) -> list[GraderConfig]:
    """Build a question for each claim; without any, compare with the expected answer."""
    graders: list[GraderConfig] = []
    for key in _CLAIM_KEYS:
        for claim in one.get_items(key):
            text = _read_claim(claim, context)
            if text:
                graders.append(build_grader({"type": "boolean", "rubric": plain_rubric(text)}))
    if not graders and _read_expected(one) and one.get("should_trigger") is None:
        graders.append(build_grader({"type": "verdict", "rubric": "answer_matches"}))
    return graders


def _read_claim(claim: Node, context: _SkillContext) -> str:
    """Read what must be true of an answer; warn and return "" if it is not text."""
    value: Any = claim.value
    if isinstance(value, dict):
        value = value.get("text") or value.get("assertion") or value.get("expectation")
    if isinstance(value, str) and value.strip():
        return value
    context.warnings.add(claim.problem("an assertion that is not text: left out", "write a sentence"))
    return ""


def _read_expected(one: Node) -> str:
    text = one.get_text("expected_output") or ""
    return text if text.strip() else ""


def _build_prompt(one: Node, query: str, context: _SkillContext) -> str:
    """Put the attached files before the query."""
    parts: list[str] = []
    for item in one.get_items("files"):
        parts.append(context.attachments.block(item.text(), Place(item.file, item.line)))
    return "\n\n".join(part for part in (*parts, query) if part)


def _check_keys(document: Node, evals: Sequence[Node]) -> KeyFindings:
    """Raise InputError for misspelt keys; return the unknown ones."""
    keys = KeyFindings()
    keys.check(document, _FILE_KEYS)
    for one in evals:
        keys.check(one, _EVAL_KEYS)
    keys.refuse_misspelt()
    return keys


def _warn_of_unused(document: Node, keys: KeyFindings, warnings: ImportWarnings) -> None:
    if document.get("trigger_threshold"):
        warnings.add(Problem("trigger_threshold is not taken over: every answer counts", "", document.file))
    for problem in keys.unknown:
        warnings.add(problem)
