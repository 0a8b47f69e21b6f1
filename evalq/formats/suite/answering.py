"""Who answers the evals of a suite: the judges named, or the tested system behind a request's base URL."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from evalq.definitions.catalogue import Catalogue, all_judges, pick_judges, with_models
from evalq.definitions.judge import HttpJudge, JudgeConfig
from evalq.definitions.template import fill_placeholders, find_placeholders, variable_of
from evalq.errors import InputError, Problem
from evalq.formats.suite.evals import SuiteEval
from evalq.formats.suite.read import Suite
from evalq.formats.suite.requests import check_base_url
from evalq.settings import Settings

SYSTEM = "http"
"""The tested system, as baselines know it: a base URL is one place where it runs."""

BASE_URLS = ("api_base_url", "base_url")
"""The placeholders that say where the tested system is when a file does not."""


@dataclass(frozen=True)
class Assignment:
    """A judge and the evals it answers."""

    judge: JudgeConfig
    evals: tuple[SuiteEval, ...]
    is_system: bool = False
    is_named: bool = True

    @property
    def key(self) -> str:
        """Whose baselines are meant: a judge's by its name, a tested system's wherever it runs."""
        return self.judge.name if self.is_named else SYSTEM


def assign_judges(
    suite: Suite,
    evals: Sequence[SuiteEval],
    named: Sequence[str],
    *,
    settings: Settings,
    values: Mapping[str, str],
) -> list[Assignment]:
    """The judges named answer what is asked in words, the tested system what is requested of it.

    Requests whose base URL nobody knows go to the judges too, if those are simulations. InputError, placed,
    for an eval that nobody can answer.
    """
    judges = _judges(suite, named, settings)
    systems = [judge for judge in judges if isinstance(judge, HttpJudge) and judge.exchange]
    speakers = [judge for judge in judges if judge not in systems]
    found: dict[str, tuple[JudgeConfig, list[SuiteEval]]] = {}
    problems: list[Problem] = []
    for one in evals:
        try:
            who = systems if one.request and systems else _who(one, speakers, settings, values)
        except InputError as exc:
            problems += exc.problems
            continue
        for judge in who:
            found.setdefault(judge.name, (judge, []))[1].append(one)
    if problems:
        raise InputError(*dict.fromkeys(problems))
    order = [judge.name for judge in speakers]
    known = {*settings.judges, *order}
    ranked = sorted(found.values(), key=lambda pair: pair[0].name not in order)
    return [
        Assignment(
            _with_variables(judge, theirs),
            tuple(theirs),
            is_system=_is_system(judge),
            is_named=judge.name in known,
        )
        for judge, theirs in ranked
    ]


def base_url_of(one: SuiteEval, values: Mapping[str, str]) -> str | None:
    """Where a request goes; None when nobody has said."""
    written = one.base_url or next((values[name] for name in BASE_URLS if values.get(name)), None)
    url = fill_placeholders(written, values) if written else None
    return None if url is None or find_placeholders(url) else str(url)


def _judges(suite: Suite, named: Sequence[str], settings: Settings) -> list[JudgeConfig]:
    names = list(named) or list(suite.config.named_judges) or settings.default_judges
    known: Catalogue = with_models(all_judges(settings.judges), names)
    return pick_judges(names, known) if names else []


def _who(
    one: SuiteEval, speakers: Sequence[JudgeConfig], settings: Settings, values: Mapping[str, str]
) -> Sequence[JudgeConfig]:
    if one.request is None:
        if not speakers:
            remedy = "give --judges a,b; or write config.model in the suite, or default_judges in evalq.yaml"
            raise InputError(Problem("nobody is named to answer", remedy, one.place.file, one.place.line))
        return speakers
    url = base_url_of(one, values)
    if url is not None:
        return [_system(one, url, settings)]
    if speakers and all(judge.provider == "simulated" for judge in speakers):
        return speakers
    missing = (find_placeholders(one.base_url) if one.base_url else []) or [BASE_URLS[0]]
    remedy = f"give --var {missing[0]}=http://…, or set {variable_of(missing[0])}"
    message = f"{one.id} is a request, and nobody says where the tested system is"
    raise InputError(Problem(message, remedy, one.place.file, one.place.line))


def _system(one: SuiteEval, url: str, settings: Settings) -> JudgeConfig:
    """The tested system as a judge: the one of evalq.yaml at this address, else one made for it."""
    try:
        checked = check_base_url(url)
    except ValueError as exc:
        message, _, remedy = str(exc).partition("; ")
        raise InputError(Problem(message, remedy, one.place.file, one.place.line)) from None
    for judge in settings.judges.values():
        if isinstance(judge, HttpJudge) and judge.exchange and judge.url.rstrip("/") == checked:
            return judge
    parts = urlsplit(checked)
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", f"http-{parts.netloc}{parts.path}").strip("-")[:100]
    return HttpJudge(provider="http", name=name, url=checked, exchange=True)


def _with_variables(judge: JudgeConfig, evals: Sequence[SuiteEval]) -> JudgeConfig:
    """A system that fills the placeholders of its requests by itself: their values are in no message."""
    if not _is_system(judge) or not isinstance(judge, HttpJudge):
        return judge
    names = find_placeholders([one.request.document() for one in evals if one.request])
    own = {name: variable_of(name) for name in names}
    return judge.model_copy(update={"variables_env": {**own, **judge.variables_env}})


def _is_system(judge: JudgeConfig) -> bool:
    return isinstance(judge, HttpJudge) and judge.exchange
