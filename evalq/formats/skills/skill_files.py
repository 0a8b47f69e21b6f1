"""Skills and the requests they are tried with: from meta.yml, SKILL.md, eval.yml, evals.json or a list."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalq.definitions.files import display_path, read_text
from evalq.definitions.located import Loc, Located, load_json
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError, Problem
from evalq.formats.eva.eval_file import read_eval
from evalq.formats.eva.prompt import EVAL, META, PromptFolder, find_prompt, read_meta
from evalq.formats.skills.trigger_cases import NONE, Skill

SKILL_FILE = "SKILL.md"
LISTS = ("evals.json", "evals/evals.json")
_FENCE = "---"


@dataclass(frozen=True)
class Query:
    """A request, and whether it should load a skill."""

    skill: str
    text: str
    should_trigger: bool


@dataclass(frozen=True)
class SkillFile:
    """A skill as found, with the requests beside it and the judge its file names for them."""

    skill: Skill
    queries: tuple[Query, ...] = ()
    judge: str | None = None


def read_skill(path: Path, root: Path) -> SkillFile:
    """The skill at a path: a folder with a meta.yml or a SKILL.md, or one of these."""
    folder = path.parent if path.name in (META, SKILL_FILE) and not path.is_dir() else path
    if path.name != SKILL_FILE and (folder / META).is_file():
        return _eva_skill(find_prompt(folder, root))
    if (folder / SKILL_FILE).is_file():
        return _with_queries(_skill_of(_front_matter(folder / SKILL_FILE), folder), find_prompt(folder, root))
    remedy = f"name a folder with {META} or {SKILL_FILE} in it, or one of these files"
    raise InputError(Problem("no skill there", remedy, display_path(path)))


def read_queries(path: Path, skills: Sequence[str]) -> list[Query]:
    """The requests in a file: a JSON list, or text with one a line, `- ` before those that should not."""
    if path.suffix.lower() == ".json":
        return list(_queries(load_json(read_text(path), display_path(path)), skills))
    lines = [(line.strip(), at) for at, line in enumerate(read_text(path).split("\n"), start=1)]
    only = _only(skills, Located(None, {(): 1}, display_path(path)), ())
    return [_line_query(line, only) for line, _ in lines if line and not line.startswith("#")]


def refuse_odd(skills: Sequence[SkillFile], queries: Sequence[Query]) -> None:
    """Refuse skills that cannot be told apart, and requests that are missing or contradict each other."""
    names = [found.skill.name for found in skills]
    problems = [Problem(f"two skills are called {name!r}", "rename one") for name in _twice(names)]
    problems += [Problem(f"a skill cannot be called {NONE!r}", "rename it") for name in names if name == NONE]
    should = {(query.skill, query.text) for query in queries if query.should_trigger}
    both = [query for query in queries if not query.should_trigger and (query.skill, query.text) in should]
    problems += [
        Problem(f"{query.text!r} should and should not trigger {query.skill}", "keep one of them")
        for query in both
    ]
    if not queries:
        remedy = f"add triggering: to {EVAL}, write {LISTS[0]}, or give --queries FILE"
        problems.append(Problem("there is no request to try", remedy))
    if problems:
        raise InputError(*problems)


def _eva_skill(prompt: PromptFolder) -> SkillFile:
    meta = read_meta(prompt.located(META))
    if not meta.says:
        problem = Problem(
            "neither description nor summary", "add description: …", display_path(prompt.path(META))
        )
        raise InputError(problem)
    return _with_queries(Skill(prompt.id, meta.says, tuple(meta.triggers), tuple(meta.not_for)), prompt)


def _with_queries(skill: Skill, beside: PromptFolder) -> SkillFile:
    """The skill with the requests of its exam, or else of the first list beside it."""
    exam = read_eval(beside.located(EVAL)) if beside.has(EVAL) else None
    if exam is None or exam.triggering is None:
        return SkillFile(skill, tuple(_listed_queries(beside.folder, skill.name)))
    queries = (Query(skill.name, text, should) for text, should in exam.triggering.queries)
    return SkillFile(skill, tuple(queries), exam.trigger_model)


def _front_matter(path: Path) -> Located:
    """The YAML between the first two lines of `---`."""
    lines = read_text(path).split("\n")
    ends = [at for at, line in enumerate(lines) if line.rstrip() == _FENCE]
    if len(ends) < 2 or ends[0] != 0:
        remedy = "begin with ---, name: …, description: …, ---"
        raise InputError(Problem("it does not begin with front matter", remedy, display_path(path), 1))
    # The first fence becomes an empty line, so that lines are counted as in the file.
    return load_yaml("\n".join(["", *lines[1 : ends[1]]]), display_path(path))


def _skill_of(located: Located, folder: Path) -> Skill:
    fields = located.value if isinstance(located.value, dict) else {}
    name, description = fields.get("name") or folder.resolve().name, fields.get("description")
    if not isinstance(description, str) or not description.strip():
        raise InputError(
            located.problem(("description",), "no description to decide by", "add description: …")
        )
    if not isinstance(name, str):
        raise InputError(located.problem(("name",), "the name is not text", "put it in quotes"))
    return Skill(name, description.strip())


def _listed_queries(folder: Path, name: str) -> list[Query]:
    """The requests of the first list there is; an entry that says nothing of triggering is none."""
    path = next((folder / one for one in LISTS if (folder / one).is_file()), None)
    return list(_queries(load_json(read_text(path), display_path(path)), [name])) if path else []


def _queries(located: Located, skills: Sequence[str]) -> Iterator[Query]:
    value: Any = located.value
    loc: Loc = ()
    if isinstance(value, dict) and "evals" in value:
        value, loc = value["evals"], ("evals",)
    if not isinstance(value, list):
        raise InputError(
            located.problem((), "not a list of requests", 'write [{"query": …, "should_trigger": true}]')
        )
    for at, entry in enumerate(value):
        if not isinstance(entry, dict):
            raise InputError(
                located.problem((*loc, at), "not a request", 'write {"query": …, "should_trigger": true}')
            )
        if "should_trigger" in entry:
            yield _query(entry, located, (*loc, at), skills)


def _query(entry: dict[str, Any], located: Located, loc: Loc, skills: Sequence[str]) -> Query:
    text, should = entry.get("query", entry.get("prompt")), entry["should_trigger"]
    if not isinstance(text, str) or not text.strip():
        raise InputError(located.problem(loc, "a request without a query", 'add "query": "…"'))
    if not isinstance(should, bool):
        raise InputError(
            located.problem((*loc, "should_trigger"), "neither true nor false", "write true or false")
        )
    skill = entry.get("skill") or _only(skills, located, loc)
    if skill not in skills:
        raise InputError(
            located.problem((*loc, "skill"), f"no skill {skill!r}", f"one of {', '.join(skills)}")
        )
    return Query(skill, text, should)


def _line_query(line: str, skill: str) -> Query:
    should_not = line.startswith("- ")
    return Query(skill, line.removeprefix("- ").removeprefix("+ ").strip(), not should_not)


def _only(skills: Sequence[str], located: Located, loc: Loc) -> str:
    if len(skills) != 1:
        message, remedy = "of several skills it names none", 'write JSON, with "skill": NAME in each request'
        raise InputError(located.problem(loc, message, remedy))
    return skills[0]


def _twice(names: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if names.count(name) > 1]
