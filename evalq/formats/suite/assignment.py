"""Who answers each eval of a suite: the judges, the tested system, or the program that runs a skill."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from evalq.definitions.catalogue import all_judges, pick_judges, with_models
from evalq.definitions.definition import split_remedy
from evalq.definitions.judge import CommandJudge, HttpJudge, JudgeConfig, PythonJudge
from evalq.definitions.template import fill_placeholders, find_placeholders, variable_of
from evalq.errors import InputError, Problem
from evalq.formats.suite.evals import SuiteEval
from evalq.formats.suite.read import Suite
from evalq.formats.suite.requests import check_base_url
from evalq.settings import Settings

SYSTEM = "http"
"""The name that baselines use for a tested system, whatever address it has today."""

SKILL_RUNNER = "skills"
"""The judge of evalq.yaml that runs every skill without a judge of its own name."""

BASE_URLS = ("api_base_url", "base_url")
"""The placeholders that give the address of the tested system when the file does not."""


@dataclass(frozen=True)
class Assignment:
    """A judge and the evals it answers."""

    judge: JudgeConfig
    evals: tuple[SuiteEval, ...]
    is_system: bool = False
    is_named: bool = True

    @property
    def key(self) -> str:
        """The name baselines are kept under: the judge's, or one for a system at any address."""
        return self.judge.name if self.is_named else SYSTEM


def assign_judges(
    suite: Suite,
    evals: Sequence[SuiteEval],
    names: Sequence[str],
    *,
    settings: Settings,
    values: Mapping[str, str],
) -> list[Assignment]:
    """Assign prompts to the judges, requests to the tested system and skills to the programs that run them.

    Requests without a base URL, and skills that nothing runs, go to the judges if those are all simulated.
    Raises InputError, with file and line, for evals that no judge can answer.
    """
    judges = _pick_judges(suite, names, settings)
    systems = [judge for judge in judges if _is_system(judge)]
    speakers = [judge for judge in judges if judge not in systems]
    found: dict[str, tuple[JudgeConfig, list[SuiteEval]]] = {}
    problems: list[Problem] = []
    for one in evals:
        try:
            answering: Sequence[JudgeConfig] = systems
            if one.request is None or not systems:
                answering = _judges_for(one, speakers, settings, values)
        except InputError as exc:
            problems += exc.problems
            continue
        for judge in answering:
            found.setdefault(judge.name, (judge, []))[1].append(one)
    if problems:
        raise InputError(*dict.fromkeys(problems))
    speaker_names = [judge.name for judge in speakers]
    known = {*settings.judges, *speaker_names}
    pairs = sorted(found.values(), key=lambda pair: pair[0].name not in speaker_names)
    assignments = []
    for judge, theirs in pairs:
        is_system = judge.name not in speaker_names
        assignments.append(_assignment(judge, theirs, is_system=is_system, is_named=judge.name in known))
    return assignments


def _pick_judges(suite: Suite, names: Sequence[str], settings: Settings) -> list[JudgeConfig]:
    """The judges of the command line, else of the suite, else of the settings."""
    wanted = list(names) or list(suite.config.named_judges) or settings.default_judges
    if not wanted:
        return []
    return pick_judges(wanted, with_models(all_judges(settings.judges), wanted))


def _judges_for(
    one: SuiteEval, speakers: Sequence[JudgeConfig], settings: Settings, values: Mapping[str, str]
) -> Sequence[JudgeConfig]:
    if one.skill is not None:
        return _skill_runners(one, one.skill, speakers, settings)
    if one.request is None:
        if not speakers:
            remedy = "give --judges a,b; or write config.model in the suite, or default_judges in evalq.yaml"
            raise one.place.error("no judge is named", remedy)
        return speakers
    url = base_url_of(one, values)
    if url is not None:
        return [_system_at(url, one, settings)]
    if speakers and all(judge.provider == "simulated" for judge in speakers):
        return speakers
    missing = (find_placeholders(one.base_url or "") or [BASE_URLS[0]])[0]
    message = f"{one.id} is a request, but the address of the tested system is missing"
    raise one.place.error(message, f"give --var {missing}=http://…, or set {variable_of(missing)}")


def _skill_runners(
    one: SuiteEval, skill: str, speakers: Sequence[JudgeConfig], settings: Settings
) -> Sequence[JudgeConfig]:
    """The judges that run a skill: programs among those named, else the one evalq.yaml has for it.

    A model alone can only pretend to run a skill, so it is never asked.
    """
    programs = [judge for judge in speakers if isinstance(judge, CommandJudge | PythonJudge)]
    if programs:
        return programs
    for name in (skill, SKILL_RUNNER):
        judge = settings.judges.get(name)
        if isinstance(judge, CommandJudge | PythonJudge):
            return [judge]
    if speakers and all(judge.provider == "simulated" for judge in speakers):
        return speakers
    remedy = f"add a judge {skill!r} or {SKILL_RUNNER!r} with provider: command to evalq.yaml, or name one"
    raise one.place.error(f"{one.id} runs the skill {skill!r}, but no judge can run it", remedy)


def base_url_of(one: SuiteEval, values: Mapping[str, str]) -> str | None:
    """The base URL of a request; None when neither the file nor a variable gives it."""
    written = one.base_url
    for name in BASE_URLS:
        written = written or values.get(name)
    if not written:
        return None
    url = str(fill_placeholders(written, values))
    return None if find_placeholders(url) else url


def _system_at(url: str, one: SuiteEval, settings: Settings) -> JudgeConfig:
    """The tested system as a judge: the one evalq.yaml has at this address, else a new one."""
    try:
        checked = check_base_url(url)
    except ValueError as exc:
        raise one.place.error(*split_remedy(str(exc))) from None
    for judge in settings.judges.values():
        if isinstance(judge, HttpJudge) and judge.exchange and judge.url.rstrip("/") == checked:
            return judge
    parts = urlsplit(checked)
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", f"http-{parts.netloc}{parts.path}").strip("-")[:100]
    return HttpJudge(provider="http", name=name, url=checked, exchange=True)


def _assignment(
    judge: JudgeConfig, evals: Sequence[SuiteEval], *, is_system: bool, is_named: bool
) -> Assignment:
    """A system fills the placeholders of its requests itself, so no message carries their values."""
    if not isinstance(judge, HttpJudge) or not judge.exchange:
        return Assignment(judge, tuple(evals), is_system=is_system, is_named=is_named)
    names = find_placeholders([one.request.document() for one in evals if one.request])
    variables = {name: variable_of(name) for name in names}
    system = judge.model_copy(update={"variables_env": {**variables, **judge.variables_env}})
    return Assignment(system, tuple(evals), is_system=True, is_named=is_named)


def _is_system(judge: JudgeConfig) -> bool:
    return isinstance(judge, HttpJudge) and judge.exchange
