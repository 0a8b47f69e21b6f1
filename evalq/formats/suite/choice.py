"""What a command runs of a suite: the evals its filters choose, and who answers them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalq.definitions.graders import GraderConfig, Human
from evalq.definitions.graders.model import ModelGrader
from evalq.definitions.judge import HttpJudge
from evalq.definitions.template import read_variables, variable_of
from evalq.errors import InputError, Problem
from evalq.formats.suite.assignment import Assignment, assign_judges
from evalq.formats.suite.evals import TIMEOUT, SuiteEval, checked_graders
from evalq.formats.suite.forms import ExpectedForm, GraderForm
from evalq.formats.suite.graders import graders_of
from evalq.formats.suite.load import refuse_unfit
from evalq.formats.suite.read import Suite, read_suite
from evalq.formats.suite.report_files import results_folder
from evalq.settings import Settings


@dataclass(frozen=True)
class Filters:
    """Which evals to run. One matching value of each kind is enough; an empty filter matches every eval."""

    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    difficulties: tuple[str, ...] = ()
    grader_type: str | None = None

    def match(self, one: SuiteEval) -> bool:
        """Whether an eval matches by category, tag and difficulty; its graders are not considered."""
        about = one.about
        categories = {one.eval_type, str(about.get("category", ""))}
        if self.categories and not categories & set(self.categories):
            return False
        if self.tags and not set(about.get("tags", ())) & set(self.tags):
            return False
        return not self.difficulties or about.get("difficulty") in self.difficulties


@dataclass(frozen=True)
class SuiteChoice:
    """What the command line chooses: filters, judges by name, and values for placeholders."""

    filters: Filters
    judges: tuple[str, ...]
    variables: Mapping[str, str]


@dataclass(frozen=True)
class LoadedSuite:
    """A suite, the evals chosen from it, and who answers them; nothing is priced yet."""

    suite: Suite
    evals: tuple[SuiteEval, ...]
    assignments: tuple[Assignment, ...]
    unset_variables: tuple[str, ...] = ()
    """Environment variables that its requests need and that are not set here; the fleet may have them."""


def load_suite(
    path: Path, choice: SuiteChoice, *, settings: Settings, environ: Mapping[str, str]
) -> LoadedSuite:
    """Read and check a suite and assign its judges, so every problem is reported before money is spent.

    Only values of the command line are filled into prompts: the environment may hold secrets.
    """
    suite = read_suite(path, choice.variables)
    refuse_unfit(suite)
    evals = choose_evals(suite, choice.filters)
    values = read_variables(choice.variables, environ)
    assignments = assign_judges(suite, evals, choice.judges, settings=settings, values=values)
    results_folder(suite, Path.cwd())  # refuses a folder outside the suite
    unset: list[str] = []
    for one in assignments:
        if isinstance(one.judge, HttpJudge):
            for name, variable in one.judge.variables_env.items():
                if name not in values and not environ.get(variable):
                    unset.append(variable)
    return LoadedSuite(suite, evals, tuple(assignments), tuple(dict.fromkeys(unset)))


def refuse_unset_variables(loaded: LoadedSuite, settings: Settings) -> None:
    """Raise InputError for variables set nowhere, unless a fleet elsewhere may have them."""
    if not loaded.unset_variables or settings.database_url:
        return
    problems = []
    for variable in loaded.unset_variables:
        name = variable.removeprefix(variable_of(""))
        message, remedy = f"nothing fills {{{{{name}}}}}", f"set {variable}, or give --var"
        problems.append(Problem(message, remedy, loaded.suite.file))
    raise InputError(*problems)


def parse_variables(pairs: Sequence[str]) -> dict[str, str]:
    """The `name=value` pairs of the command line; InputError for a name that is given twice, in any case."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name.isidentifier():
            # The pair itself stays out of the message: it may be a secret.
            message, remedy = "--var is not of the form name=value", "write --var api_base_url=http://…"
            raise InputError(Problem(message, remedy))
        if name.lower() in found:
            remedy = "give each name once; upper and lower case are the same"
            raise InputError(Problem(f"--var {name} is given twice", remedy))
        found[name.lower()] = value
    return found


def choose_evals(suite: Suite, filters: Filters) -> tuple[SuiteEval, ...]:
    """The evals that match; InputError when none does."""
    chosen = [one for one in suite.evals if filters.match(one)]
    if filters.grader_type is not None:
        graded = [_with_graders_of_type(one, filters.grader_type, suite) for one in chosen]
        chosen = [one for one in graded if one is not None]
    if not chosen:
        raise InputError(Problem("no eval of the suite matches", _describe_evals(suite), suite.file))
    return tuple(chosen)


def _with_graders_of_type(one: SuiteEval, wanted: str, suite: Suite) -> SuiteEval | None:
    """The eval with only its graders of one type, else the suite's override of that type, else None."""
    time_limit = [grader for grader in one.case.graders if grader.name == TIMEOUT]
    own = [g for g in one.case.graders if g.name != TIMEOUT and _grader_type(g) == wanted]
    if not own and wanted in suite.library.overrides and one.case.graders:
        own = _override_graders(one, GraderForm.model_validate(suite.library.overrides[wanted]), suite)
    if not own:
        return None
    metadata = {**one.case.metadata, "grader_types": [wanted]}
    return one.with_case(graders=[*own, *time_limit], metadata=metadata).with_types((wanted,))


def _grader_type(grader: GraderConfig) -> str:
    """The type of a grader in the words of suite files: code, model or human."""
    if isinstance(grader, Human):
        return "human"
    if isinstance(grader, ModelGrader):
        return "model"
    return "code"


def _override_graders(one: SuiteEval, form: GraderForm, suite: Suite) -> list[GraderConfig]:
    if one.source is None:
        return []
    answer = (one.case.expected or {}).get("answer")
    expected = ExpectedForm(type="none")
    if answer is not None:
        expected = ExpectedForm(type="exact", value=answer)
    return checked_graders(one.source.located, graders_of([form], expected, suite.library))


def _describe_evals(suite: Suite) -> str:
    """What can be filtered by: the categories, tags, difficulties and grader types of the suite."""
    categories: set[str] = set()
    tags: set[str] = set()
    difficulties: set[str] = set()
    grader_types: set[str] = set()
    for one in suite.evals:
        categories |= {one.eval_type, str(one.about.get("category", ""))}
        tags |= set(one.about.get("tags", ()))
        difficulties.add(str(one.about.get("difficulty", "")))
        grader_types |= set(one.grader_types)
    kinds = {
        "categories": categories,
        "tags": tags,
        "difficulties": difficulties,
        "grader types": grader_types,
    }
    parts = []
    for name, values in kinds.items():
        if values - {""}:
            parts.append(f"{name}: {', '.join(sorted(values - {''}))}")
    return "it has " + "; ".join(parts)
