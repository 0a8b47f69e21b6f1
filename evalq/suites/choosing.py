"""Which evals of a suite are run, and by which graders: by type, tag, difficulty and type of grader."""

from collections.abc import Sequence
from dataclasses import dataclass

from evalq.definitions.graders import GraderConfig, Human
from evalq.definitions.graders.model_grader import ModelGrader
from evalq.errors import InputError, Problem
from evalq.importers.suite import Suite
from evalq.importers.suite_evals import TIMEOUT, SuiteEval, checked_graders
from evalq.importers.suite_forms import ExpectedForm, GraderForm
from evalq.importers.suite_graders import graders_of


@dataclass(frozen=True)
class Filters:
    """What an eval must be; of several values of one kind, one is enough. Nothing said: every eval."""

    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    difficulties: tuple[str, ...] = ()
    grader_type: str | None = None

    def is_wanted(self, one: SuiteEval) -> bool:
        """Whether an eval is among those asked for, graders aside."""
        about = one.about
        kinds = {one.eval_type, str(about.get("category", ""))}
        return (
            (not self.categories or bool(kinds & set(self.categories)))
            and (not self.tags or bool(set(about.get("tags", ())) & set(self.tags)))
            and (not self.difficulties or about.get("difficulty") in self.difficulties)
        )


def choose(suite: Suite, filters: Filters) -> tuple[SuiteEval, ...]:
    """The evals asked for; InputError when there are none."""
    wanted = [one for one in suite.evals if filters.is_wanted(one)]
    if filters.grader_type is not None:
        kept = (_graded_by(one, filters.grader_type, suite) for one in wanted)
        wanted = [one for one in kept if one is not None]
    if not wanted:
        raise InputError(Problem("no eval of the suite is asked for", _known(suite), suite.file))
    return tuple(wanted)


def grader_class(grader: GraderConfig) -> str:
    """What kind of grader it is to those who write suites: code, model or human."""
    if isinstance(grader, Human):
        return "human"
    return "model" if isinstance(grader, ModelGrader) else "code"


def _graded_by(one: SuiteEval, wanted: str, suite: Suite) -> SuiteEval | None:
    """The eval with its graders of one type alone; the shared stand-in where it has none; else None."""
    limit = [grader for grader in one.case.graders if grader.name == TIMEOUT]
    own = [g for g in one.case.graders if grader_class(g) == wanted and g.name != TIMEOUT]
    if not own and wanted in suite.library.overrides and one.case.graders:
        own = _stand_in(one, GraderForm.model_validate(suite.library.overrides[wanted]), suite)
    if not own:
        return None
    known = {**one.case.metadata, "grader_types": [wanted]}
    made = one.with_case(graders=[*own, *limit], metadata=known)
    return made.with_types((wanted,))


def _stand_in(one: SuiteEval, form: GraderForm, suite: Suite) -> list[GraderConfig]:
    answer = (one.case.expected or {}).get("answer")
    expected = ExpectedForm(type="none") if answer is None else ExpectedForm(type="exact", value=answer)
    if one.source is None:
        return []
    return checked_graders(one.source.located, graders_of([form], expected, suite.library))


def _known(suite: Suite) -> str:
    def values(key: str) -> set[str]:
        found = (one.about.get(key) for one in suite.evals)
        return {item for each in found for item in (each if isinstance(each, list) else [each]) if item}

    categories = {one.eval_type for one in suite.evals} | values("category")
    parts: Sequence[tuple[str, set[str]]] = (
        ("categories", categories),
        ("tags", values("tags")),
        ("difficulties", values("difficulty")),
        ("grader types", {kind for one in suite.evals for kind in one.grader_types}),
    )
    return "it has " + "; ".join(f"{name}: {', '.join(sorted(found))}" for name, found in parts if found)
