"""Reads skills and their test requests from meta.yml, SKILL.md, eval.yml, evals.json or a list."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalq.definitions.files import display_path, read_text
from evalq.definitions.located import Loc, Located, load_json
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError, Problem
from evalq.formats.eva.exam import read_exam
from evalq.formats.eva.prompt import EVAL, META, PromptFolder, find_prompt, read_meta
from evalq.formats.skills.trigger_cases import NONE, SKILL_FILE, Skill

LISTS = ("evals.json", "evals/evals.json")
_FENCE = "---"


@dataclass(frozen=True)
class SkillQuery:
    """A request, and whether it should load a skill."""

    skill: str
    text: str
    should_trigger: bool


@dataclass(frozen=True)
class SkillFile:
    """A skill as found, with the requests beside it and the judge its file names for them."""

    skill: Skill
    queries: tuple[SkillQuery, ...] = ()
    judge: str | None = None


def read_skill(path: Path, root: Path) -> SkillFile:
    """Read the skill at a path: a folder with a meta.yml or a SKILL.md, or one of these files."""
    folder = path.parent if path.name in (META, SKILL_FILE) and not path.is_dir() else path
    if path.name != SKILL_FILE and (folder / META).is_file():
        return _read_eva_skill(find_prompt(folder, root))
    if (folder / SKILL_FILE).is_file():
        skill = _build_skill(_load_front_matter(folder / SKILL_FILE), folder)
        return _add_queries(skill, find_prompt(folder, root))
    remedy = f"name a folder with {META} or {SKILL_FILE} in it, or one of these files"
    raise InputError(Problem("no skill there", remedy, display_path(path)))


def read_queries(path: Path, skills: Sequence[str]) -> list[SkillQuery]:
    """Read a JSON list of requests, or text with one on each line, `- ` before those that should not load."""
    if path.suffix.lower() == ".json":
        return list(_read_queries(load_json(read_text(path), display_path(path)), skills))
    lines = [line.strip() for line in read_text(path).split("\n")]
    skill = _only_skill(skills, Located(None, {(): 1}, display_path(path)), ())
    queries: list[SkillQuery] = []
    for line in lines:
        if line and not line.startswith("#"):
            text = line.removeprefix("- ").removeprefix("+ ").strip()
            queries.append(SkillQuery(skill, text, should_trigger=not line.startswith("- ")))
    return queries


def refuse_invalid(skills: Sequence[SkillFile], queries: Sequence[SkillQuery]) -> None:
    """Refuse skills with the same or a reserved name, and requests that are missing or contradictory."""
    problems: list[Problem] = []
    for name, count in Counter(found.skill.name for found in skills).items():
        if count > 1:
            problems.append(Problem(f"two skills are called {name!r}", "rename one"))
        if name == NONE:
            problems.append(Problem(f"a skill cannot be called {NONE!r}", "rename it"))
    wanted = {(query.skill, query.text) for query in queries if query.should_trigger}
    for query in queries:
        if not query.should_trigger and (query.skill, query.text) in wanted:
            message = f"{query.text!r} should and should not trigger {query.skill}"
            problems.append(Problem(message, "keep one of them"))
    if not queries:
        remedy = f"add triggering: to {EVAL}, write {LISTS[0]}, or give --queries FILE"
        problems.append(Problem("there is no request to try", remedy))
    if problems:
        raise InputError(*problems)


def _read_eva_skill(prompt: PromptFolder) -> SkillFile:
    meta = read_meta(prompt.load_yaml(META))
    if not meta.purpose:
        problem = Problem(
            "neither description nor summary", "add description: …", display_path(prompt.path(META))
        )
        raise InputError(problem)
    return _add_queries(Skill(prompt.id, meta.purpose, tuple(meta.triggers), tuple(meta.not_for)), prompt)


def _add_queries(skill: Skill, beside: PromptFolder) -> SkillFile:
    """Add the requests of the skill's exam, or else of the first list beside it."""
    exam = read_exam(beside.load_yaml(EVAL)) if beside.has(EVAL) else None
    if exam is None or exam.triggering is None:
        return SkillFile(skill, tuple(_read_listed_queries(beside.folder, skill.name)))
    queries = (SkillQuery(skill.name, text, should) for text, should in exam.triggering.queries)
    return SkillFile(skill, tuple(queries), exam.trigger_model)


def _load_front_matter(path: Path) -> Located:
    """Load the YAML between the first two lines of `---`."""
    lines = read_text(path).split("\n")
    ends = [at for at, line in enumerate(lines) if line.rstrip() == _FENCE]
    if len(ends) < 2 or ends[0] != 0:
        remedy = "begin with ---, name: …, description: …, ---"
        raise InputError(Problem("it does not begin with front matter", remedy, display_path(path), 1))
    # The first fence becomes an empty line, which keeps the line numbers of the file.
    return load_yaml("\n".join(["", *lines[1 : ends[1]]]), display_path(path))


def _build_skill(located: Located, folder: Path) -> Skill:
    fields = located.value if isinstance(located.value, dict) else {}
    name, description = fields.get("name") or folder.resolve().name, fields.get("description")
    if not isinstance(description, str) or not description.strip():
        remedy = "add description: …"
        raise InputError(located.problem(("description",), "no description to decide by", remedy))
    if not isinstance(name, str):
        raise InputError(located.problem(("name",), "the name is not text", "put it in quotes"))
    return Skill(name, description.strip())


def _read_listed_queries(folder: Path, name: str) -> list[SkillQuery]:
    """Read the requests of the first list that exists, skipping entries without should_trigger."""
    for listed in LISTS:
        path = folder / listed
        if path.is_file():
            return list(_read_queries(load_json(read_text(path), display_path(path)), [name]))
    return []


def _read_queries(located: Located, skills: Sequence[str]) -> Iterator[SkillQuery]:
    value: Any = located.value
    loc: Loc = ()
    if isinstance(value, dict) and "evals" in value:
        value, loc = value["evals"], ("evals",)
    if not isinstance(value, list):
        remedy = 'write [{"query": …, "should_trigger": true}]'
        raise InputError(located.problem((), "not a list of requests", remedy))
    for at, entry in enumerate(value):
        if not isinstance(entry, dict):
            remedy = 'write {"query": …, "should_trigger": true}'
            raise InputError(located.problem((*loc, at), "not a request", remedy))
        if "should_trigger" in entry:
            yield _read_query(entry, located, (*loc, at), skills)


def _read_query(entry: dict[str, Any], located: Located, loc: Loc, skills: Sequence[str]) -> SkillQuery:
    text, should = entry.get("query", entry.get("prompt")), entry["should_trigger"]
    if not isinstance(text, str) or not text.strip():
        raise InputError(located.problem(loc, "a request without a query", 'add "query": "…"'))
    if not isinstance(should, bool):
        where = (*loc, "should_trigger")
        raise InputError(located.problem(where, "neither true nor false", "write true or false"))
    skill = entry.get("skill") or _only_skill(skills, located, loc)
    if skill not in skills:
        remedy = f"one of {', '.join(skills)}"
        raise InputError(located.problem((*loc, "skill"), f"no skill {skill!r}", remedy))
    return SkillQuery(skill, text, should)


def _only_skill(skills: Sequence[str], located: Located, loc: Loc) -> str:
    if len(skills) != 1:
        message, remedy = "of several skills it names none", 'write JSON, with "skill": NAME in each request'
        raise InputError(located.problem(loc, message, remedy))
    return skills[0]
