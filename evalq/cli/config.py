"""The config command: every setting with its value and where it comes from, secrets hidden."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.output import note, print_json, print_table, suggest
from evalq.definitions.files import display_path

if TYPE_CHECKING:
    from evalq.definitions.located import Located

SCHEMA = "evalq.config/1"
HIDDEN = "(hidden)"

_PASSWORD = re.compile(r"(?<=://)[^/?#@]*@")
_QUERY = re.compile(r"\?.*")
_NAMED_ENTRIES = ("judges",)
_COUNTED = ("drift", "alerts")
"""Lists whose entries may hold addresses with secrets in them: only their number is shown."""


@dataclass(frozen=True)
class SettingRow:
    """One setting: its value as text, and its source: a variable, a file with its line, or the default."""

    name: str
    value: str
    source: str


@click.group()
def config() -> None:
    """Show the settings in use and where each comes from."""


@config.command()
@options.as_json("The evalq.config/1 document.")
@pass_context
def show(context: Context, as_json: bool) -> int:
    """Show where everything is, and every setting with its source; secrets are hidden.

    A variable of the environment goes over evalq.yaml, which goes over the default; an option on a command
    line goes over all of them. Keys come from the environment, else from the keys file.
    """
    from evalq.settings import read_sources

    places = list(_list_places(context))
    sources = read_sources(context.cwd, context.environ, tell=note)
    settings = list(_list_settings(context, sources))
    keys = list(_list_keys(context))
    if as_json:
        parts = {"places": places, "settings": settings, "keys": keys}
        print_json({"schema": SCHEMA} | {name: [asdict(row) for row in rows] for name, rows in parts.items()})
        return 0
    for title, rows in (("place", places), ("setting", settings), ("key", keys)):
        print_table((title, "value", "source"), [(row.name, row.value, row.source) for row in rows])
        click.echo()
    suggest("evalq doctor", "evalq keys list")
    return 0


def describe_other_data(context: Context) -> list[str]:
    """One line for each other folder that holds bake-offs, with the command that lists them."""
    from evalq.settings import other_data_folders

    if context.settings.database_url:
        return []
    found = other_data_folders(context.data_dir, context.cwd, context.environ)
    return [f"other bake-offs are in {folder}: EVALQ_DATA_DIR={folder} evalq runs" for folder in found]


def _list_places(context: Context) -> Iterator[SettingRow]:
    from evalq.keys import keys_file
    from evalq.settings import SETTINGS_FILE, spool_dir

    settings = context.settings
    yield SettingRow("project", str(context.root), _explain_root(context.root))
    written = context.root / SETTINGS_FILE
    yield SettingRow("settings", str(written), "found" if written.is_file() else "not written")
    data = "holds data" if (context.data_dir / "postgres").is_dir() else "made when first needed"
    if settings.database_url:
        data = "not used: database_url is set"
    yield SettingRow("data folder", str(context.data_dir), data)
    yield SettingRow("spool folder", str(spool_dir(settings, context.cwd, context.environ)), "of the workers")
    keys = keys_file(context.environ)
    yield SettingRow("keys file", str(keys), "found" if keys.is_file() else "not written")
    for line in describe_other_data(context):
        folder, _, command = line.removeprefix("other bake-offs are in ").partition(": ")
        yield SettingRow("other data", folder, f"not used here; {command}")


def _explain_root(root: Path) -> str:
    for sign in ("evalq.yaml", "tasks"):
        if (root / sign).exists():
            return f"has {sign}"
    return "the working folder"


def _list_settings(context: Context, sources: "Sequence[Located]") -> Iterator[SettingRow]:
    """Every setting by its dotted name."""
    values = context.settings.model_dump(mode="json")
    for name, value in values.items():
        if name in _NAMED_ENTRIES:
            for key in value:
                yield SettingRow(f"{name}.{key}", value[key]["provider"], _find_source(sources, name, key))
        elif name in _COUNTED:
            yield SettingRow(name, f"{len(value)} set", _find_source(sources, name))
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                yield SettingRow(f"{name}.{key}", _show(inner), _find_source(sources, name, key))
        else:
            yield SettingRow(name, _show(value), _find_source(sources, name))


def _find_source(sources: "Sequence[Located]", *path: str) -> str:
    """The strongest source that sets this."""
    for located in reversed(sources):
        if located.written(path) != path:
            continue
        if located.file.startswith("EVALQ_"):
            return f"environment: {located.file}"
        return f"{display_path(Path(located.file))}:{located.line_of(path)}"
    return "default"


def _show(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list | Mapping):
        return ", ".join(map(str, value)) or "-"
    text = str(value)
    # An address may hold a password before its host, or a token in its query.
    return _QUERY.sub(f"?{HIDDEN}", _PASSWORD.sub(f"{HIDDEN}@", text)) if "://" in text else text


def _list_keys(context: Context) -> Iterator[SettingRow]:
    from evalq.keys import PROVIDER_KEYS, keys_file, stored_names

    stored = stored_names(context.environ)
    named = {judge.key_name for judge in context.settings.judges.values() if judge.key_name}
    for name in sorted({*PROVIDER_KEYS.values(), *named, *stored}):
        if context.environ.get(name, "").strip():
            yield SettingRow(name, HIDDEN, f"environment: {name}")
        elif name in stored:
            yield SettingRow(name, HIDDEN, str(keys_file(context.environ)))
        else:
            yield SettingRow(name, "-", f"not set; evalq keys set {name}")
