"""The settings of a project: defaults, under `evalq.yaml`, under the environment."""

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from evalq.definitions.definition import Definition, validate
from evalq.definitions.files import load_located
from evalq.definitions.judge import Dollars, JudgeConfig
from evalq.definitions.located import Located, load_json
from evalq.definitions.schedules import AlertChannel, DriftSchedule
from evalq.errors import InputError, Problem

SETTINGS_FILE = "evalq.yaml"

_DATABASE_SCHEMES = ("postgresql://", "postgres://")
_BROKER_SCHEMES = ("redis://", "rediss://", "valkey://", "valkeys://", "redis+socket://", "unix://")


class Fleet(Definition):
    """The fleet a command starts when nothing else runs one, and how workers behave.

    A dead worker's jobs come back after `lease_s`; one told to stop leaves within `drain_s`; one that has
    grown beyond `memory_mb` begins anew.
    """

    processes: int = Field(default=2, ge=1, le=256)
    slots: int = Field(default=64, ge=1, le=1024)
    lease_s: float = Field(default=60, ge=1, le=3600)
    drain_s: float = Field(default=100, ge=0, le=3600)
    memory_mb: int = Field(default=1500, ge=1)

    @property
    def lost_after_s(self) -> float:
        """A message out for so long while its queue is empty is lost: no worker prefetches."""
        return self.lease_s / 4


class Caps(Definition):
    """Dollars a day (UTC) over all bake-offs of the fleet: for everything, and for single providers."""

    per_day_usd: Dollars | None = None
    per_provider_usd: dict[str, Dollars] = Field(default_factory=dict)

    def scopes(self) -> dict[str, Decimal]:
        """Each cap by the scope it holds for."""
        day = {} if self.per_day_usd is None else {"day": self.per_day_usd}
        return day | {f"provider:{name}": cap for name, cap in self.per_provider_usd.items()}


class Settings(Definition):
    """What `evalq.yaml` and the environment may say.

    `sandbox: unsafe` has model-written code run without a sandbox, if EVALQ_ALLOW_UNSAFE_CODE=1 says so too;
    every grade from such a run is stamped `isolation: weak`.
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
    sandbox: Literal["strong", "unsafe"] = "strong"

    @field_validator("database_url")
    @classmethod
    def _is_postgres(cls, url: str | None) -> str | None:
        return _checked_scheme(url, _DATABASE_SCHEMES, "postgresql://USER@HOST:5432/DATABASE")

    @field_validator("broker_url")
    @classmethod
    def _is_redis(cls, url: str | None) -> str | None:
        return _checked_scheme(url, _BROKER_SCHEMES, "redis://HOST:6379/0")

    @field_validator("judges", mode="before")
    @classmethod
    def _keys_are_names(cls, judges: Any) -> Any:
        if not isinstance(judges, dict):
            return judges
        return {key: _named(key, judge) for key, judge in judges.items()}


def load_settings(cwd: Path, environ: Mapping[str, str]) -> Settings:
    """The environment over the nearest `evalq.yaml` over the defaults; every problem names its source."""
    written: dict[str, Any] = {}
    problems: list[Problem] = []
    for read in _readers(cwd, environ):
        try:
            located = read()
            validate(Settings, located)
            written = _merged(written, located.value)
        except InputError as exc:
            problems += exc.problems
    if problems:
        raise InputError(*problems)
    return Settings.model_validate(written)


def project_root(cwd: Path) -> Path:
    """The folder of the nearest `evalq.yaml`, else the nearest with a `tasks` folder, else this one."""
    settings_file = _nearest_settings_file(cwd)
    if settings_file is not None:
        return settings_file.parent
    return next((folder for folder in (cwd, *cwd.parents) if (folder / "tasks").is_dir()), cwd)


def data_dir(settings: Settings, cwd: Path, environ: Mapping[str, str]) -> Path:
    """Where embedded servers and their data live: as set, in the project, else in the user's data folder."""
    if settings.data_dir is not None:
        return settings.data_dir
    root = project_root(cwd)
    if any((root / sign).exists() for sign in (SETTINGS_FILE, "tasks", ".evalq")):
        return root / ".evalq"
    shared = Path(environ.get("XDG_DATA_HOME", ""))
    # The specification of that variable has relative paths ignored.
    return (shared if shared.is_absolute() else _home(environ) / ".local" / "share") / "evalq"


def spool_dir(settings: Settings, cwd: Path, environ: Mapping[str, str]) -> Path:
    """Where a worker keeps answers while the database is away: as set, else in the data folder."""
    return settings.spool_dir or data_dir(settings, cwd, environ) / "spool"


def _nearest_settings_file(cwd: Path) -> Path | None:
    files = (folder / SETTINGS_FILE for folder in (cwd, *cwd.parents))
    return next((file for file in files if file.is_file()), None)


def _readers(cwd: Path, environ: Mapping[str, str]) -> Iterator[Callable[[], Located]]:
    """Readers of all that is written, the weakest first."""
    settings_file = _nearest_settings_file(cwd)
    if settings_file is not None:
        yield partial(_read_file, settings_file, environ)
    for variable in _VARIABLES:
        if environ.get(variable, "").strip():  # an empty variable is an unset one
            yield partial(_read_variable, variable, cwd, environ)


def _read_file(path: Path, environ: Mapping[str, str]) -> Located:
    located = load_located(path)
    value = {} if located.value is None else located.value
    return Located(_anchored(value, path.parent, environ), located.lines, located.file)


def _read_variable(variable: str, cwd: Path, environ: Mapping[str, str]) -> Located:
    keys, parse = _VARIABLES[variable]
    value: Any = parse(environ[variable].strip(), variable)
    for key in reversed(keys):
        value = {key: value}
    return Located(_anchored(value, cwd, environ), {}, variable)


def _text(text: str, _variable: str) -> str:
    return text


def _names(text: str, _variable: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _whole_number(text: str, _variable: str) -> int | str:
    """What is not a short number stays text, for the model to refuse."""
    return int(text) if text.isdecimal() and len(text) < 10 else text


def _number(text: str, _variable: str) -> float | str:
    """What is not a plain number stays text, for the model to refuse."""
    return float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) else text


def _json(text: str, variable: str) -> Any:
    return load_json(text, variable).value


_VARIABLES: dict[str, tuple[tuple[str, ...], Callable[[str, str], Any]]] = {
    "EVALQ_DATABASE_URL": (("database_url",), _text),
    "EVALQ_BROKER_URL": (("broker_url",), _text),
    "EVALQ_MAX_COST_USD": (("max_cost_usd",), _text),
    "EVALQ_CAPS_PER_DAY_USD": (("caps", "per_day_usd"), _text),
    "EVALQ_CAPS_PER_PROVIDER_USD": (("caps", "per_provider_usd"), _json),
    "EVALQ_FLEET_PROCESSES": (("fleet", "processes"), _whole_number),
    "EVALQ_FLEET_SLOTS": (("fleet", "slots"), _whole_number),
    "EVALQ_FLEET_LEASE_S": (("fleet", "lease_s"), _number),
    "EVALQ_FLEET_DRAIN_S": (("fleet", "drain_s"), _number),
    "EVALQ_FLEET_MEMORY_MB": (("fleet", "memory_mb"), _whole_number),
    "EVALQ_AMBIGUOUS_REPEATS": (("ambiguous_repeats",), _whole_number),
    "EVALQ_GRADER_MODEL": (("grader_model",), _text),
    "EVALQ_DEFAULT_JUDGES": (("default_judges",), _names),
    "EVALQ_SPOOL_DIR": (("spool_dir",), _text),
    "EVALQ_JUDGES": (("judges",), _json),
    "EVALQ_DRIFT": (("drift",), _json),
    "EVALQ_ALERTS": (("alerts",), _json),
    "EVALQ_DATA_DIR": (("data_dir",), _text),
    "EVALQ_DISPLAY": (("display",), _text),
    "EVALQ_SANDBOX": (("sandbox",), _text),
}


def _merged(weak: dict[str, Any], strong: dict[str, Any]) -> dict[str, Any]:
    """The strong one's settings over the weak one's; fleet and judges entry by entry."""
    nested = {
        key: {**weak[key], **value}
        for key, value in strong.items()
        if isinstance(value, dict) and isinstance(weak.get(key), dict)
    }
    return {**weak, **strong, **nested}


def _anchored(value: Any, folder: Path, environ: Mapping[str, str]) -> Any:
    """The same settings, their folders counted from `folder` or from home."""
    if not isinstance(value, dict):
        return value
    named = {key: value[key] for key in ("data_dir", "spool_dir") if isinstance(value.get(key), str)}
    return value | {key: str(folder / _expanded(Path(path), environ)) for key, path in named.items()}


def _expanded(path: Path, environ: Mapping[str, str]) -> Path:
    return _home(environ).joinpath(*path.parts[1:]) if path.parts[:1] == ("~",) else path


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ["HOME"]) if environ.get("HOME") else Path.home()


def _checked_scheme(url: str | None, schemes: tuple[str, ...], example: str) -> str | None:
    """The address; never shown when it is wrong, since it may hold a password."""
    if url is None or url.startswith(schemes):
        return url
    raise ValueError(f"does not begin with {' or '.join(schemes)}; write e.g. {example}")


def _named(name: str, judge: Any) -> Any:
    if not isinstance(judge, dict):
        return judge
    if judge.get("name", name) != name:
        raise ValueError(f"judge {name!r} has another name inside; remove that, the key is the name")
    return {**judge, "name": name}
