"""Finds what would fail before anything is asked: keys, servers, imports and programs of a plan's judges."""

import shutil
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, assert_never
from urllib.parse import urlsplit

from evalq.bakeoff.plan import Plan
from evalq.calling.providers import connect
from evalq.definitions.judge import (
    CommandJudge,
    HttpJudge,
    JudgeConfig,
    ModelJudge,
    PythonJudge,
    SimulatedJudge,
)
from evalq.definitions.prompt import answer_prompt
from evalq.errors import Problem, ProviderFault
from evalq.keys import PROVIDER_KEYS
from evalq.records import Prompt

_CONNECT_S = 3.0

Role = Literal["judge", "grader"]


@dataclass(frozen=True)
class Readiness:
    """Whether a judge or a grader model can be asked, and the first question a judge would get.

    A missing key leaves the exit code 0, since a fleet's workers have keys of their own.
    """

    judge: JudgeConfig
    role: Role
    problems: tuple[Problem, ...]
    exit_code: int = 0
    case_id: str | None = None
    prompt: Prompt | None = None

    @property
    def prompt_parts(self) -> tuple[tuple[str, str], ...]:
        """The texts of the prompt by their roles, in order; none where it has no text."""
        if self.prompt is None:
            return ()
        turns = [(turn.role, turn.text) for turn in self.prompt.turns]
        parts = (("system", self.prompt.system), *turns, ("user", self.prompt.user))
        return tuple((role, text) for role, text in parts if text)

    def document(self) -> dict[str, Any]:
        """As JSON."""
        found: dict[str, Any] = {
            "judge": self.judge.name,
            "role": self.role,
            "provider": self.judge.provider,
            "model": self.judge.model,
            "ready": not self.problems,
            "problems": [{"what": one.message, "remedy": one.remedy} for one in self.problems],
        }
        if self.prompt is not None:
            parts = [{"role": role, "content": text} for role, text in self.prompt_parts]
            found["prompt"] = {"case": self.case_id, "parts": parts}
        return found


def check_readiness(plan: Plan, environ: Mapping[str, str]) -> list[Readiness]:
    """Check every judge and grader model; imports what the user named, connects to servers, asks nothing."""
    case = plan.evalset.cases[0]
    prompt = answer_prompt(plan.task, case)
    found = []
    for judge in plan.judges:
        problems, exit_code = _check(judge, environ)
        found.append(Readiness(judge, "judge", problems, exit_code, case.id, prompt))
    graders = {judge.name: judge for judge in plan.graders.values()}
    for judge in graders.values():
        problems, exit_code = _check(judge, environ)
        found.append(Readiness(judge, "grader", problems, exit_code))
    return found


def _check(judge: JudgeConfig, environ: Mapping[str, str]) -> tuple[tuple[Problem, ...], int]:
    """What would fail, and the exit code for it: 2 for what the user must mend, 6 for a silent server."""
    missing, code = list(_find_missing_variables(judge, environ)), 2
    match judge:
        case SimulatedJudge():
            broken: list[Problem] = []
        case PythonJudge():
            broken = list(_find_import_errors(judge, environ))
        case CommandJudge():
            broken = list(_find_missing_program(judge, environ))
        case ModelJudge() | HttpJudge():
            url = judge.url if isinstance(judge, HttpJudge) else judge.base_url
            broken, code = list(_find_silent_server(url)) if url else [], 6
        case _:
            assert_never(judge)
    return (*missing, *broken), code if broken else 0


def _find_missing_variables(judge: JudgeConfig, environ: Mapping[str, str]) -> Iterator[Problem]:
    named = [judge.key_name] if judge.key_name else []
    if isinstance(judge, HttpJudge):
        named += [*judge.headers_env.values(), *judge.variables_env.values()]
    providers = {variable: provider for provider, variable in reversed(PROVIDER_KEYS.items())}
    for variable in dict.fromkeys(named):
        if not environ.get(variable, "").strip():
            remedy = f"evalq keys set {providers.get(variable, variable)}"
            yield Problem(f"{judge.name} needs {variable}, which is not set", remedy)


def _find_import_errors(judge: PythonJudge, environ: Mapping[str, str]) -> Iterator[Problem]:
    try:
        connect(judge, environ)
    except ProviderFault as fault:
        yield Problem(fault.message)


def _find_missing_program(judge: CommandJudge, environ: Mapping[str, str]) -> Iterator[Problem]:
    if shutil.which(judge.command[0], path=environ.get("PATH")) is None:
        remedy = f"check the path, and that it may be run: chmod +x {judge.command[0]}"
        yield Problem(f"{judge.name}: there is no program {judge.command[0]!r}", remedy)


def _find_silent_server(url: str) -> Iterator[Problem]:
    """Open and close one connection; nothing is sent."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), timeout=_CONNECT_S):
            return
    except (OSError, ValueError) as exc:
        server = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
        reason = getattr(exc, "strerror", None) or str(exc) or type(exc).__name__
        yield Problem(f"no server answers at {server}: {reason}", "start it, or correct its address")
