"""The settings of a project: defaults, under `evalq.yaml`, under the environment."""

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from evalq.definitions.alert_channels import AlertChannel
from evalq.definitions.definition import Definition, validate
from evalq.definitions.file_trust import find_distrust, is_owned, refuse_planted
from evalq.definitions.files import load_located
from evalq.definitions.judge import Dollars, JudgeConfig
from evalq.definitions.located import Located, load_json
from evalq.definitions.model_params import find_problems
from evalq.definitions.schedules import DriftSchedule
from evalq.errors import InputError, Problem

log = logging.getLogger(__name__)

SETTINGS_FILE = "evalq.yaml"
DATA_FOLDER = ".evalq"

_DATABASE_SCHEMES = ("postgresql://", "postgres://")
_BROKER_SCHEMES = ("redis://", "rediss://", "valkey://", "valkeys://", "redis+socket://")
# Celery knows Valkey by the names of the protocol it speaks.
_CELERY_SCHEMES = {"valkey": "redis", "valkeys": "rediss"}


_AUTO_SLOTS = 512


class Fleet(Definition):
    """The fleet a command starts when no other runs, and how workers behave.

    A dead worker's jobs come back after `lease_s`; a worker that was stopped leaves within `drain_s`; one
    that has grown beyond `memory_mb` restarts. A judge is paused after `dead_after_s` of failures without an
    answer. `slots` are the calls in flight of each process; without them each judge that has no limit learns
    how many it takes. `messages` are fetched and acknowledged in batches, or one by one as Celery does.
    """

    processes: int = Field(default=2, ge=1, le=256)
    slots: int | None = Field(default=None, ge=1, le=4096)
    lease_s: float = Field(default=60, ge=1, le=3600)
    drain_s: float = Field(default=100, ge=0, le=3600)
    memory_mb: int = Field(default=1500, ge=1)
    dead_after_s: float = Field(default=60, ge=1, le=86400)
    messages: Literal["batched", "plain"] = "batched"

    @property
    def slots_per_process(self) -> int:
        """The calls in flight that one process may have."""
        return self.slots or _AUTO_SLOTS

    @property
    def lost_after_s(self) -> float:
        """After this time, a message whose queue is empty is lost: workers claim at once what they fetch."""
        return self.lease_s / 4


class Caps(Definition):
    """Dollars a day (UTC) over all bake-offs of the fleet: for everything, and for single providers."""

    per_day_usd: Dollars | None = None
    per_provider_usd: dict[str, Dollars] = Field(default_factory=dict)

    def scopes(self) -> dict[str, Decimal]:
        """Each cap by the scope it holds for."""
        scopes = {f"provider:{name}": cap for name, cap in self.per_provider_usd.items()}
        if self.per_day_usd is not None:
            scopes["day"] = self.per_day_usd
        return scopes


class Settings(Definition):
    """What `evalq.yaml` and the environment may set.

    `sandbox: unsafe` runs model-written code without a sandbox, if EVALQ_ALLOW_UNSAFE_CODE=1 is set too;
    every grade from such a run is marked `isolation: weak`.
    """

    database_url: str | None = None
    broker_url: str | None = None
    max_cost_usd: Dollars = Decimal(5)
    caps: Caps | None = None
    fleet: Fleet = Fleet()
    grader_model: str | None = None
    """The grader model of graders that name none."""
    default_judges: list[str] = Field(default=[])
    """The judges of suites that name none."""
    ambiguous_repeats: int = Field(default=1, ge=0, le=10)
    judges: dict[str, JudgeConfig] = Field(default_factory=dict)
    drift: list[DriftSchedule] = Field(default=[])
    alerts: list[AlertChannel] = Field(default=[])
    data_dir: Annotated[Path, Field(strict=False)] | None = None
    spool_dir: Annotated[Path, Field(strict=False)] | None = None
    display: Literal["auto", "rich", "plain", "none"] = "auto"
    log_format: Literal["text", "json"] = "text"
    """How workers and beat write their logs: lines for people, or one JSON object a line."""
    sandbox: Literal["strong", "unsafe"] = "strong"

    @field_validator("database_url")
    @classmethod
    def _check_database_url(cls, url: str | None) -> str | None:
        if url is not None:
            _check_scheme(url, _DATABASE_SCHEMES, "postgresql://USER@HOST:5432/DATABASE")
        return url

    @field_validator("broker_url")
    @classmethod
    def _read_broker_url(cls, url: str | None) -> str | None:
        """The URL as Celery reads it; TLS certificates are verified unless the URL says otherwise."""
        if url is None:
            return None
        _check_scheme(url, _BROKER_SCHEMES, "redis://HOST:6379/0")
        scheme, separator, rest = url.partition("://")
        scheme = _CELERY_SCHEMES.get(scheme, scheme)
        if scheme == "rediss" and "ssl_cert_reqs=" not in rest:
            rest += ("&" if "?" in rest else "?") + "ssl_cert_reqs=CERT_REQUIRED"
        return f"{scheme}{separator}{rest}"

    @field_validator("judges", mode="before")
    @classmethod
    def _name_judges(cls, judges: Any) -> Any:
        if not isinstance(judges, dict):
            return judges
        return {key: _add_name(key, judge) for key, judge in judges.items()}

    @field_validator("judges")
    @classmethod
    def _check_params(cls, judges: dict[str, JudgeConfig]) -> dict[str, JudgeConfig]:
        """Refuse parameters without a bound here, where they are written; stored judges stay readable."""
        refused = [
            InitErrorDetails(
                type=PydanticCustomError("value_error", "{what}", {"what": str(problem), "error": problem}),
                loc=(name, judge.provider, "params"),
                input=None,
            )
            for name, judge in judges.items()
            for problem in find_problems(judge)
        ]
        if refused:
            raise ValidationError.from_exception_data("judges", refused)
        return judges


def _check_scheme(url: str, schemes: tuple[str, ...], example: str) -> None:
    """Refuse a wrong address without showing it, since it may hold a password."""
    if not url.startswith(schemes):
        raise ValueError(f"does not begin with {' or '.join(schemes)}; write e.g. {example}")


def _add_name(name: str, judge: Any) -> Any:
    if not isinstance(judge, dict):
        return judge
    if judge.get("name", name) != name:
        raise ValueError(f"judge {name!r} has another name inside; remove that, the key is the name")
    return {**judge, "name": name}


def load_settings(
    cwd: Path, environ: Mapping[str, str], *, tell: Callable[[str], None] = log.warning
) -> Settings:
    """Merge the environment over the nearest `evalq.yaml`; every problem names its source.

    `tell` gets a line when that file is outside the project, or when another user's file is passed over.
    """
    written: dict[str, Any] = {}
    for located in read_sources(cwd, environ, tell=tell):
        written = _merge(written, located.value)
    return Settings.model_validate(written)


def read_sources(
    cwd: Path, environ: Mapping[str, str], *, tell: Callable[[str], None] = log.warning
) -> list[Located]:
    """The file and each variable that sets something, the weakest first; InputError with all problems."""
    found: list[Located] = []
    problems: list[Problem] = []
    for read in _list_readers(cwd, environ, tell):
        try:
            located = read()
            validate(Settings, located)
            found.append(located)
        except InputError as exc:
            problems += exc.problems
    if problems:
        raise InputError(*problems)
    return found


def project_root(cwd: Path) -> Path:
    """The folder of the nearest `evalq.yaml`, else the nearest with a `tasks` folder, else this one."""
    settings_file = _find_settings_file(cwd, tell=_stay_silent)
    if settings_file is not None:
        return settings_file.parent
    return _find_folder_with(cwd, "tasks") or cwd


def data_dir(settings: Settings, cwd: Path, environ: Mapping[str, str]) -> Path:
    """Where embedded servers and their data live; no file that a user writes later moves it.

    As set; else the nearest `.evalq` here or above; else the user's data folder if it holds data already or
    the project cannot be written to; else a new `.evalq` in the project's folder.
    """
    if settings.data_dir is not None:
        return settings.data_dir
    home = _find_folder_with(cwd, DATA_FOLDER)
    if home is not None:
        return home / DATA_FOLDER
    shared, root = user_data_dir(environ), project_root(cwd)
    if holds_data(shared) or not os.access(root, os.W_OK):
        return shared
    return root / DATA_FOLDER


def user_data_dir(environ: Mapping[str, str]) -> Path:
    """The user's own data folder, which all projects without a `.evalq` may share."""
    shared = Path(environ.get("XDG_DATA_HOME", ""))
    if not shared.is_absolute():  # the XDG specification ignores relative paths
        shared = _home(environ) / ".local" / "share"
    return shared / "evalq"


def holds_data(folder: Path) -> bool:
    """Whether embedded engines have stored something there."""
    return (folder / "postgres").is_dir()


def other_data_folders(used: Path, cwd: Path, environ: Mapping[str, str]) -> list[Path]:
    """Folders with bake-offs of their own that a command run here does not use."""
    likely = [folder / DATA_FOLDER for folder in (cwd, *cwd.parents)]
    found = []
    for folder in (*likely, user_data_dir(environ)):
        if folder.resolve() != used.resolve() and holds_data(folder) and is_owned(folder):
            found.append(folder)
    return found


def spool_dir(settings: Settings, cwd: Path, environ: Mapping[str, str]) -> Path:
    """Where a worker keeps answers while the database is away: as set, else in the data folder."""
    return settings.spool_dir or data_dir(settings, cwd, environ) / "spool"


def _find_settings_file(cwd: Path, *, tell: Callable[[str], None]) -> Path | None:
    """The nearest file that only the user or root can write; Refused for any other inside the project."""
    project = _find_folder_with(cwd, ".git") or _find_folder_with(cwd, "tasks") or cwd
    for folder in (cwd, *cwd.parents):
        file = folder / SETTINGS_FILE
        if not file.is_file():
            continue
        if folder.is_relative_to(project):
            refuse_planted(file)
            return file
        if reason := find_distrust(file):
            tell(f"{file} is passed over: {reason}")
            continue
        tell(f"settings come from {file}, which is outside the project {project}")
        return file
    return None


def _find_folder_with(cwd: Path, sign: str) -> Path | None:
    """The nearest folder that has a `tasks` or `.git` of the user's own; a stranger's makes no project."""
    for folder in (cwd, *cwd.parents):
        if (folder / sign).exists() and is_owned(folder / sign):
            return folder
    return None


def _stay_silent(_line: str) -> None:
    """For a second look at the same files."""


def _list_readers(
    cwd: Path, environ: Mapping[str, str], tell: Callable[[str], None]
) -> Iterator[Callable[[], Located]]:
    """Readers of the file and of each variable that is set, the weakest first."""
    settings_file = _find_settings_file(cwd, tell=tell)
    if settings_file is not None:
        yield partial(_read_file, settings_file, environ)
    for variable in _VARIABLES:
        if environ.get(variable, "").strip():  # an empty variable counts as unset
            yield partial(_read_variable, variable, cwd, environ)


def _read_file(path: Path, environ: Mapping[str, str]) -> Located:
    located = load_located(path)
    value = {} if located.value is None else located.value
    return Located(_resolve_folders(value, path.parent, environ), located.lines, located.file)


def _read_variable(variable: str, cwd: Path, environ: Mapping[str, str]) -> Located:
    keys, parse = _VARIABLES[variable]
    value: Any = parse(environ[variable].strip(), variable)
    for key in reversed(keys):
        value = {key: value}
    return Located(_resolve_folders(value, cwd, environ), {}, variable)


def _resolve_folders(value: Any, folder: Path, environ: Mapping[str, str]) -> Any:
    """The same settings with their folders made absolute, from `folder` or from home."""
    if not isinstance(value, dict):
        return value
    resolved = dict(value)
    for key in ("data_dir", "spool_dir"):
        if isinstance(value.get(key), str):
            path = Path(value[key])
            if path.parts[:1] == ("~",):
                path = _home(environ).joinpath(*path.parts[1:])
            resolved[key] = str(folder / path)
    return resolved


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ["HOME"]) if environ.get("HOME") else Path.home()


def _merge(weak: dict[str, Any], strong: dict[str, Any]) -> dict[str, Any]:
    """The strong settings over the weak ones; mappings such as fleet and judges key by key."""
    merged = {**weak, **strong}
    for key, value in strong.items():
        if isinstance(value, dict) and isinstance(weak.get(key), dict):
            merged[key] = {**weak[key], **value}
    return merged


def _parse_text(text: str, _variable: str) -> str:
    return text


def _parse_names(text: str, _variable: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _parse_whole_number(text: str, _variable: str) -> int | str:
    """Anything else stays text, which the model refuses."""
    return int(text) if text.isdecimal() and len(text) < 10 else text


def _parse_number(text: str, _variable: str) -> float | str:
    """Anything else stays text, which the model refuses."""
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) else text


def _parse_json(text: str, variable: str) -> Any:
    return load_json(text, variable).value


_VARIABLES: dict[str, tuple[tuple[str, ...], Callable[[str, str], Any]]] = {
    "EVALQ_DATABASE_URL": (("database_url",), _parse_text),
    "EVALQ_BROKER_URL": (("broker_url",), _parse_text),
    "EVALQ_MAX_COST_USD": (("max_cost_usd",), _parse_text),
    "EVALQ_CAPS_PER_DAY_USD": (("caps", "per_day_usd"), _parse_text),
    "EVALQ_CAPS_PER_PROVIDER_USD": (("caps", "per_provider_usd"), _parse_json),
    "EVALQ_FLEET_PROCESSES": (("fleet", "processes"), _parse_whole_number),
    "EVALQ_FLEET_SLOTS": (("fleet", "slots"), _parse_whole_number),
    "EVALQ_FLEET_LEASE_S": (("fleet", "lease_s"), _parse_number),
    "EVALQ_FLEET_DRAIN_S": (("fleet", "drain_s"), _parse_number),
    "EVALQ_FLEET_MEMORY_MB": (("fleet", "memory_mb"), _parse_whole_number),
    "EVALQ_FLEET_DEAD_AFTER_S": (("fleet", "dead_after_s"), _parse_number),
    "EVALQ_FLEET_MESSAGES": (("fleet", "messages"), _parse_text),
    "EVALQ_AMBIGUOUS_REPEATS": (("ambiguous_repeats",), _parse_whole_number),
    "EVALQ_GRADER_MODEL": (("grader_model",), _parse_text),
    "EVALQ_DEFAULT_JUDGES": (("default_judges",), _parse_names),
    "EVALQ_SPOOL_DIR": (("spool_dir",), _parse_text),
    "EVALQ_JUDGES": (("judges",), _parse_json),
    "EVALQ_DRIFT": (("drift",), _parse_json),
    "EVALQ_ALERTS": (("alerts",), _parse_json),
    "EVALQ_DATA_DIR": (("data_dir",), _parse_text),
    "EVALQ_DISPLAY": (("display",), _parse_text),
    "EVALQ_LOG_FORMAT": (("log_format",), _parse_text),
    "EVALQ_SANDBOX": (("sandbox",), _parse_text),
}
