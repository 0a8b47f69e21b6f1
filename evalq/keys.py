"""The keys file: API keys that only one user can read; keys in the environment come first."""

import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from evalq.definitions.file_trust import is_owned
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
_MODES_OF_OTHERS = 0o7777 & ~0o600
_SANDBOX_ENVIRONMENT = frozenset(
    {
        *("PATH", "HOME", "LANG", "TMPDIR", "TZ", "PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE"),
        *("LC_ALL", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "LC_COLLATE", "XDG_CACHE_HOME"),
        *("EVALQ_DATABASE_URL", "EVALQ_BROKER_URL", "EVALQ_SPOOL_DIR", "EVALQ_DATA_DIR", "EVALQ_SANDBOX"),
        *("EVALQ_ALLOW_UNSAFE_CODE", "EVALQ_FLEET_LEASE_S", "EVALQ_FLEET_DRAIN_S", "EVALQ_FLEET_MEMORY_MB"),
        "EVALQ_LOG_FORMAT",
        *(
            "EVALQ_TESTING",
            "EVALQ_FLEET_PROCESSES",
            "EVALQ_FLEET_SLOTS",
            "EVALQ_PARENT_PIPE_FD",
            "EVALQ_FAILPOINTS",
        ),
    }
)


def keys_file(environ: Mapping[str, str]) -> Path:
    """Where the keys are: `evalq/.env` in the user's configuration folder."""
    folder = Path(environ.get("XDG_CONFIG_HOME", ""))
    if not folder.is_absolute():  # the XDG specification ignores relative paths
        home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
        folder = home / ".config"
    return folder / "evalq" / ".env"


def stored_names(environ: Mapping[str, str]) -> list[str]:
    """The variables the file has a key for."""
    path = keys_file(environ)
    return list(_parse(_read(path), path))


def load_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """The file's keys by variable; a value in the environment wins unless it is empty."""
    path = keys_file(environ)
    keys = {}
    for name, (_, value) in _parse(_read(path), path).items():
        keys[name] = environ[name] if environ.get(name, "").strip() else value
    return keys


def keys_version(environ: Mapping[str, str]) -> tuple[int, int]:
    """A value that changes whenever the file does."""
    try:
        found = keys_file(environ).stat()
    except OSError:
        return 0, 0
    return found.st_ino, found.st_mtime_ns


def environment_with_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment, with the file's keys added where it has none."""
    return {**environ, **load_keys(environ)}


def without_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a worker that runs untrusted code: where things are, and no key."""
    kept = {name: value for name, value in environ.items() if name in _SANDBOX_ENVIRONMENT}
    return {**kept, "XDG_CONFIG_HOME": "/nonexistent"}  # hides the keys file


def variable_of(provider_or_variable: str) -> str:
    """The variable of a provider, or the one that is named itself."""
    name = PROVIDER_KEYS.get(provider_or_variable.lower(), provider_or_variable)
    if not _NAME.fullmatch(name):
        remedy = f"name one of {', '.join(PROVIDER_KEYS)}, or a variable such as MY_API_KEY"
        # The argument is not shown: it may be the key itself, in the wrong place.
        raise InputError(Problem("this is neither a provider nor a variable", remedy))
    if _is_setting(name):
        raise InputError(Problem(f"{name} is a setting, not a key", "write it into evalq.yaml, or export it"))
    return name


def store_key(environ: Mapping[str, str], name: str, value: str) -> Path:
    """Write one key, replacing an older one of that name; everything else in the file stays."""
    if not _VALUE.fullmatch(value):
        raise InputError(
            Problem(f"this is not a key for {name}", "give it as it is: not empty, no quotes, no line breaks")
        )
    path = keys_file(environ)
    lines = _read(path)
    at, _ = _parse(lines, path).get(name, (len(lines), ""))
    written = f'{name}="{value}"' if " " in value else f"{name}={value}"
    _write(path, [*lines[:at], written, *lines[at + 1 :]])
    return path


def remove_key(environ: Mapping[str, str], name: str) -> bool:
    """Remove one key; return whether there was one."""
    path = keys_file(environ)
    lines = _read(path)
    found = _parse(lines, path).get(name)
    if found:
        _write(path, [*lines[: found[0]], *lines[found[0] + 1 :]])
    return found is not None


def _read(path: Path) -> list[str]:
    """The lines of the file, which only its owner may be able to read; none without a file."""
    with _errors_named(path):
        try:
            with path.open(encoding="utf-8") as file:
                _refuse_exposed(path, os.fstat(file.fileno()))
                return file.read().splitlines()
        except FileNotFoundError:
            return []


def _refuse_exposed(path: Path, found: os.stat_result) -> None:
    if os.name != "posix":
        return  # elsewhere the mode does not show who may read
    if found.st_uid != os.geteuid() or not is_owned(path):
        raise Refused(f"{path} belongs to another user; make it yours: chown -h {os.geteuid()} '{path}'")
    mode = stat.S_IMODE(found.st_mode)
    if mode & _MODES_OF_OTHERS:
        raise Refused(f"{path} holds keys and has mode {mode:04o}; close it: chmod 600 '{path}'")


def _parse(lines: Sequence[str], path: Path) -> dict[str, tuple[int, str]]:
    """Each name with its line and value. A bad line is reported by its number, never by its content."""
    entries: dict[str, tuple[int, str]] = {}
    problems = []
    for at, line in enumerate(lines):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        name = match["name"] if match else ""
        value = (match["quoted"] or match["bare"] or "") if match else ""
        error = _find_error(name, value, entries)
        if error:
            problems.append(Problem(error, "fix or remove it", str(path), at + 1))
        else:
            entries[name] = (at, value)
    if problems:
        raise InputError(*problems)
    return entries


def _find_error(name: str, value: str, earlier: Mapping[str, object]) -> str:
    """What is wrong with a line, or nothing; a name is shown only when it is certainly one."""
    if not _NAME.fullmatch(name):
        return "this line is not NAME=value: a name in capitals, quotes around a value with spaces"
    if _is_setting(name):
        return f"{name} is a setting, not a key: it belongs in evalq.yaml or the environment"
    if name in earlier:
        return f"{name} is written twice"
    if not _VALUE.fullmatch(value):
        return f"the value of {name} is empty, or has quotes in it"
    return ""


def _is_setting(name: str) -> bool:
    """Whether a variable is a setting, which evalq never reads from this file."""
    return name.startswith("EVALQ_") and not name.startswith("EVALQ_VAR_")


def _write(path: Path, lines: Sequence[str]) -> None:
    """Replace the file in one step, mode 0600 from the first byte, in a folder of mode 0700."""
    with _errors_named(path):
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
def _errors_named(path: Path) -> Iterator[None]:
    """Turn errors of the system or of the encoding into InputErrors that name the file."""
    try:
        yield
    except UnicodeDecodeError:
        raise InputError(Problem("this is not UTF-8 text", "write NAME=value lines", str(path))) from None
    except OSError as exc:
        raise InputError(Problem(f"{exc.strerror}", "check the path and its owner", str(path))) from exc
