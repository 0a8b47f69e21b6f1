"""The keys file: API keys of one user, readable by nobody else, under those of the environment."""

import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from evalq.errors import InputError, Problem, Refused

PROVIDER_KEYS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "xai": "XAI_API_KEY",
    "google": "GEMINI_API_KEY",
    "gemini": "GEMINI_API_KEY",
}

_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,99}")
_VALUE = re.compile(r"[!#-&(-~]+(?: [!#-&(-~]+)*")  # what an HTTP header can carry, without quotes
_LINE = re.compile(r"(?P<name>[^=\s]+)=(?:(?P<quote>[\"'])(?P<quoted>.*)(?P=quote)|(?P<bare>\S*))")
_LOOSE = 0o7777 & ~0o600


_PLACES = {"PATH", "HOME", "LANG", "TMPDIR", "TZ", "PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE"}


def keys_file(environ: Mapping[str, str]) -> Path:
    """Where the keys are: `evalq/.env` in the user's configuration folder."""
    folder = Path(environ.get("XDG_CONFIG_HOME", ""))
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    # The specification of that variable has relative paths ignored.
    return (folder if folder.is_absolute() else home / ".config") / "evalq" / ".env"


def stored_names(environ: Mapping[str, str]) -> list[str]:
    """The variables the file has a key for."""
    path = keys_file(environ)
    return list(_entries(_read(path), path))


def load_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """The file's keys by variable, the environment's value where that has one; an empty one is unset."""
    path = keys_file(environ)
    stored = _entries(_read(path), path)
    return {
        name: environ[name] if environ.get(name, "").strip() else value for name, (_, value) in stored.items()
    }


def keys_version(environ: Mapping[str, str]) -> tuple[int, int]:
    """Tells one state of the file from the next without reading it."""
    try:
        found = keys_file(environ).stat()
    except OSError:
        return 0, 0
    return found.st_ino, found.st_mtime_ns


def environment_with_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment, with the file's keys where it is silent."""
    return {**environ, **load_keys(environ)}


def without_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """What a worker that runs strangers' code is given: where things are, and nobody's keys."""
    kept = {
        name: value
        for name, value in environ.items()
        if name in _PLACES or (name.startswith(("EVALQ_", "LC_")) and name != "EVALQ_FLOWER_AUTH")
    }
    return {**kept, "XDG_CONFIG_HOME": "/nonexistent"}  # the keys file is not to be found


def variable_of(provider_or_variable: str) -> str:
    """The variable that is meant by a provider's name or by its own."""
    name = PROVIDER_KEYS.get(provider_or_variable.lower(), provider_or_variable)
    if not _NAME.fullmatch(name):
        remedy = f"name one of {', '.join(PROVIDER_KEYS)}, or a variable such as MY_API_KEY"
        # What was given is not repeated: it may be the key itself, put in the wrong place.
        raise InputError(Problem("this is no provider and no variable", remedy))
    if _is_setting(name):
        raise InputError(Problem(f"{name} is a setting, no key", "write it into evalq.yaml, or export it"))
    return name


def store_key(environ: Mapping[str, str], name: str, value: str) -> Path:
    """Write one key, in place of an older one of its name; everything else in the file stays."""
    if not _VALUE.fullmatch(value):
        raise InputError(
            Problem(f"this is no key for {name}", "give it as it is: not empty, no quotes, no line breaks")
        )
    path = keys_file(environ)
    lines = _read(path)
    at, _ = _entries(lines, path).get(name, (len(lines), ""))
    written = f'{name}="{value}"' if " " in value else f"{name}={value}"
    _write(path, [*lines[:at], written, *lines[at + 1 :]])
    return path


def remove_key(environ: Mapping[str, str], name: str) -> bool:
    """Forget one key; whether there was one."""
    path = keys_file(environ)
    lines = _read(path)
    found = _entries(lines, path).get(name)
    if found:
        _write(path, [*lines[: found[0]], *lines[found[0] + 1 :]])
    return found is not None


def _read(path: Path) -> list[str]:
    """The file's lines, if it is the user's own and closed to all others; none without a file."""
    with _told(path):
        try:
            with path.open(encoding="utf-8") as file:
                _refuse_exposed(path, os.fstat(file.fileno()))
                return file.read().splitlines()
        except FileNotFoundError:
            return []


def _refuse_exposed(path: Path, found: os.stat_result) -> None:
    if os.name != "posix":
        return  # elsewhere a mode does not say who may read
    if found.st_uid != os.geteuid():
        raise Refused(f"{path} belongs to another user; make it yours: chown {os.geteuid()} '{path}'")
    mode = stat.S_IMODE(found.st_mode)
    if mode & _LOOSE:
        raise Refused(f"{path} holds keys and has mode {mode:04o}; close it: chmod 600 '{path}'")


def _entries(lines: Sequence[str], path: Path) -> dict[str, tuple[int, str]]:
    """Each name's line and value. A bad line is told by its number, never by what it says."""
    entries: dict[str, tuple[int, str]] = {}
    problems = []
    for at, line in enumerate(lines):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        name, value = (match["name"], match["quoted"] or match["bare"] or "") if match else ("", "")
        if wrong := _wrong(name, value, entries):
            problems.append(Problem(wrong, "mend or remove it", str(path), at + 1))
        else:
            entries[name] = (at, value)
    if problems:
        raise InputError(*problems)
    return entries


def _wrong(name: str, value: str, earlier: Mapping[str, object]) -> str:
    """What is wrong with a line; a name is shown only when it is sure to be one."""
    if not _NAME.fullmatch(name):
        return "this line is not NAME=value: a name in capitals, quotes around a value with spaces"
    if _is_setting(name):
        return f"{name} is a setting, no key: it belongs in evalq.yaml or the environment"
    if name in earlier:
        return f"{name} is written twice"
    return "" if _VALUE.fullmatch(value) else f"the value of {name} is empty, or has quotes in it"


def _is_setting(name: str) -> bool:
    """Settings rank above this file: one that slept in here would be obeyed by nobody."""
    return name.startswith("EVALQ_") and not name.startswith("EVALQ_VAR_")


def _write(path: Path, lines: Sequence[str]) -> None:
    """Replace the file in one step, mode 0600 from the first byte, in a folder of mode 0700."""
    with _told(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        target = path.resolve()
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=".env.")
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
                file.flush()
                os.fsync(descriptor)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What the system or the text's encoding refuses, in words that name the file."""
    try:
        yield
    except UnicodeDecodeError:
        raise InputError(Problem("this is not UTF-8 text", "write NAME=value lines", str(path))) from None
    except OSError as exc:
        raise InputError(Problem(f"{exc.strerror}", "check the path and its owner", str(path))) from exc
