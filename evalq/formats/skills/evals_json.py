"""The evals.json of skills as a task and an evalset: prompts, what is to be true of the answers, triggers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import LoadedEvalSet
from evalq.definitions.graders import GraderConfig
from evalq.definitions.loaded import LoadedTask, TriggerMode
from evalq.definitions.task import TaskConfig
from evalq.errors import Problem
from evalq.formats.agentv.eval_file import text_of
from evalq.formats.agentv.read import load_document
from evalq.formats.agentv.read_parts import Node, root
from evalq.formats.build import made_grader, plain_rubric, set_name, task_name, with_own_ids
from evalq.formats.paths import Attachments, Place, folders_above, repository_of
from evalq.formats.problems import Losses, each_made
from evalq.formats.skills.trigger_cases import ANSWER, SKILL_FILE, Skills, Wanted, decided_cases, short_id
from evalq.formats.sniff import glance

MAX_TOKENS = 8192
MAX_SAMPLES = 1000
_ASKED = ("prompt", "query", "input", "question")
_CLAIMS = ("assertions", "expectations")
_KNOWN = {*_ASKED, *_CLAIMS, "id", "name", "expected_output", "files", "should_trigger", "description"}
_BESIDE = {"evals", "skill_name", "runs_per_query", "trigger_threshold", "name", "description"}


@dataclass(frozen=True)
class _Skill:
    """The skill a file is about, and how its triggers are decided."""

    name: str
    mode: TriggerMode
    skills: Skills
    attachments: Attachments

    @property
    def losses(self) -> Losses:
        return self.attachments.losses


def recognises(path: Path) -> bool:
    """True for a document with `evals`, and for the bare list of queries that run_eval.py takes."""
    seen = glance(path)
    if seen.is_list:
        return seen.has("query") and seen.has("should_trigger") and path.suffix.lower() != ".csv"
    return seen.has("evals") and not seen.has("cases", "tests") and path.is_file()


def load(path: Path, root: Path, *, trigger_mode: TriggerMode = "tool_calls") -> LoadedTask:
    """The evals of the file for a bake-off; InputError with the problems of all of them."""
    del root  # files are looked for in the file's own repository, wherever we are
    document = _document(path)
    evals = _evals(document)
    losses = Losses()
    skill = _skill(document, path, losses, trigger_mode)
    made = each_made(lambda one: [(case, one.problem("")) for case in _cases(one, skill)], evals)
    cases, lines = with_own_ids([pair for pairs in made for pair in pairs], losses)
    samples = document.get("runs_per_query")
    _note_unused(document, evals, losses)
    return LoadedTask(
        _task(document, path, skill.name),
        LoadedEvalSet(EvalSet(name=set_name(path), cases=cases), document.file, lines),
        warnings=losses.texts,
        samples=min(samples.count(), MAX_SAMPLES) if samples else 1,
    )


def _document(path: Path) -> Node:
    return root(load_document(path))


def _evals(document: Node) -> list[Node]:
    listed = document if isinstance(document.value, list) else document.get("evals")
    evals = listed.items() if listed else []
    if not evals:
        document.refuse("no evals", "list them under evals:")
    return evals


def _skill(document: Node, path: Path, losses: Losses, mode: TriggerMode) -> _Skill:
    named = document.get("skill_name")
    folder = path.parent
    roots = (folder, *([folder.parent] if folder.name == "evals" else []), repository_of(folder))
    described = document.get("description")
    name = named.text().strip() if named else _enclosing_skill(folder)
    own = {name: described.text()} if described and isinstance(described.value, str) else {}
    return _Skill(name, mode, Skills(folder, losses, own), Attachments(roots, losses))


def _enclosing_skill(folder: Path) -> str:
    """The name of the skill's folder we are in, "" outside of one."""
    return next((one.name for one in folders_above(folder) if (one / SKILL_FILE).is_file()), "")


def _task(document: Node, path: Path, skill: str) -> TaskConfig:
    name = document.get("name")
    return TaskConfig(
        name=task_name(path, text_of(name.value) if name else skill),
        description=f"The evals of the skill {skill}" if skill else "",
        system_prompt="",
        user_template="{prompt}",
        max_tokens=MAX_TOKENS,
    )


def _cases(one: Node, skill: _Skill) -> list[EvalCase]:
    """One case; if its trigger is decided by description, that is another."""
    if not isinstance(one.value, dict):
        one.refuse("an eval that is not a mapping", 'write it as {"prompt": …}')
    query, wanted = _query(one), _wanted(one, skill)
    graders = list(_graders(one, skill))
    case_id = _case_id(one)
    if wanted and skill.mode == "tool_calls":
        graders.append(_triggered(wanted))
    if not graders and not wanted:
        one.refuse("nothing marks the answer", "add assertions, expected_output or should_trigger")
    decided = (
        decided_cases(case_id, query, [wanted], skill.skills, is_all=not graders)
        if wanted and skill.mode == "description"
        else []
    )
    if not graders:
        return decided
    return [_answered(one, case_id, skill, graders=graders, is_one_of_two=bool(decided)), *decided]


def _case_id(one: Node) -> str:
    written = one.get("id") or one.get("name")
    return short_id(text_of(written.value)) if written and text_of(written.value) else f"eval-{one.loc[-1]}"


def _query(one: Node) -> str:
    asked = one.get(*_ASKED)
    if asked is None or not asked.text().strip():
        one.refuse("an eval that asks nothing", 'add "prompt": "…"')
    return asked.text()


def _wanted(one: Node, skill: _Skill) -> Wanted | None:
    should = one.get("should_trigger")
    if should is None:
        return None
    if not skill.name:
        should.refuse("no skill is named that should trigger or not", 'add "skill_name": "…" at the top')
    return Wanted(skill.name, should.flag(), should.file, should.line)


def _triggered(wanted: Wanted) -> GraderConfig:
    return made_grader(
        {"type": "skill_triggered", "skill": wanted.skill, "should_trigger": wanted.should_trigger}
    )


def _graders(one: Node, skill: _Skill) -> Iterator[GraderConfig]:
    """A question for each thing that is to be true; without any, whether the answer is the expected one."""
    claims = [claim for key in _CLAIMS if (listed := one.get(key)) for claim in listed.items()]
    said = [(claim, text) for claim in claims if (text := _claim(claim, skill))]
    yield from (made_grader({"type": "boolean", "rubric": plain_rubric(text)}) for _, text in said)
    if not said and _expected(one) and one.get("should_trigger") is None:
        yield made_grader({"type": "verdict", "rubric": "answer_matches"})


def _claim(claim: Node, skill: _Skill) -> str:
    """What is to be true of an answer; what says nothing is a loss."""
    value: Any = claim.value
    if isinstance(value, dict):
        value = next((value[key] for key in ("text", "assertion", "expectation") if value.get(key)), None)
    if isinstance(value, str) and value.strip():
        return value
    skill.losses.note(claim.problem("an assertion that is no text: left out", "write a sentence"))
    return ""


def _expected(one: Node) -> str:
    expected = one.get("expected_output")
    return text_of(expected.value) if expected and text_of(expected.value).strip() else ""


def _answered(
    one: Node, case_id: str, skill: _Skill, *, graders: Sequence[GraderConfig], is_one_of_two: bool
) -> EvalCase:
    fields: dict[str, Any] = {"id": case_id, "inputs": {"prompt": _prompt(one, skill)}}
    if _expected(one):
        fields["expected"] = {"answer": _expected(one)}
    if is_one_of_two:
        fields["stratum"] = dict(ANSWER)
    return EvalCase.model_validate({**fields, "graders": list(graders)})


def _prompt(one: Node, skill: _Skill) -> str:
    files = one.get("files")
    named = [(item.text(), Place(item.file, item.line)) for item in files.items()] if files else []
    blocks = [skill.attachments.block(written, place) for written, place in named]
    return "\n\n".join(text for text in (*blocks, _query(one)) if text)


def _note_unused(document: Node, evals: Sequence[Node], losses: Losses) -> None:
    if document.get("trigger_threshold"):
        losses.note(Problem("trigger_threshold is not taken over: every answer counts", "", document.file))
    beside = document.value if isinstance(document.value, dict) else {}
    for key in (key for key in beside if key not in _BESIDE):
        losses.note(Problem(f"{key} is not taken over", "", document.file, document.located.line_of((key,))))
    for one in evals:
        for key in (key for key in one.value if key not in _KNOWN):
            losses.note(one.problem(f"{key} is not taken over"))
