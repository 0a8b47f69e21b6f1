"""Writes docs/reference/ from the definitions, the commands and the Python API."""

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import click
from pydantic import BaseModel

import evalq
from evalq import settings
from evalq.cli.main import GROUPS
from evalq.cli.main import evalq as program
from evalq.definitions.alert_channels import AlertChannel, Slack, Telegram, Webhook
from evalq.definitions.evalset import CaseMessage, EvalCase, EvalSet
from evalq.definitions.graders import Grader, GraderConfig
from evalq.definitions.judge import JudgeConfig, Price
from evalq.definitions.schedules import DriftSchedule
from evalq.definitions.task import ScoringConfig, TaskConfig
from tools.key_tables import key_table, markdown_table

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
TEMPLATES = Path(__file__).with_name("templates")

MADE = "<!-- Made by `make reference` from the code: change the code, not this file. -->\n\n"


def task_page() -> str:
    """The keys of a task."""
    return _fill("task.md", task=key_table(TaskConfig), scoring=key_table(ScoringConfig))


def evalset_page() -> str:
    """The keys of an evalset and the columns of a table of cases."""
    return _fill(
        "evalset.md",
        evalset=key_table(EvalSet),
        case=key_table(EvalCase),
        message=key_table(CaseMessage),
    )


def judges_page() -> str:
    """The keys of every kind of judge."""
    base = _members(JudgeConfig)[0].__mro__[2]
    by_table: dict[str, list[type[BaseModel]]] = {}
    for judge in _members(JudgeConfig):
        table = key_table(judge, without=("provider", *base.model_fields))
        by_table.setdefault(table, []).append(judge)
    kinds = [_judge_part(judges, table) for table, judges in by_table.items()]
    return _fill("judges.md", common=key_table(base), price=key_table(Price), kinds="\n".join(kinds))


def _judge_part(judges: list[type[BaseModel]], table: str) -> str:
    """One kind of judge, or several that share their keys."""
    lines = []
    for judge in judges:
        [provider] = get_args(judge.model_fields["provider"].annotation)
        lines += [f"## provider: {provider}", "", _summary(judge), ""]
    return "\n".join([*lines, table])


def graders_page() -> str:
    """Every grader type with its keys."""
    parts = []
    for grader in _members(GraderConfig):
        names = get_args(grader.model_fields["type"].annotation)
        title = ", ".join(f"`{name}`" for name in names)
        table = key_table(grader, without=(*Grader.model_fields, "type"), words=False)
        has_keys = table.count("\n") > 2
        parts.append(f"## {title}\n\n{_summary(grader)}\n" + (f"\n{table}" if has_keys else ""))
    common = key_table(Grader, words=False)
    return _fill("graders.md", common=common, graders="\n".join(parts))


def settings_page() -> str:
    """Every setting with its variable."""
    variables = [(f"`{name}`", f"`{'.'.join(keys)}`") for name, (keys, _) in settings._VARIABLES.items()]
    channels = "\n".join(
        f"### {kind.__name__.lower()}\n\n{_summary(kind)}\n\n{key_table(kind)}"
        for kind in (Telegram, Slack, Webhook)
    )
    return _fill(
        "settings.md",
        settings=key_table(settings.Settings),
        variables=markdown_table(("variable", "sets"), variables),
        fleet=key_table(settings.Fleet),
        caps=key_table(settings.Caps),
        drift=key_table(DriftSchedule),
        alerts=key_table(AlertChannel),
        channels=channels,
    )


def cli_page() -> str:
    """Every command with its arguments and options."""
    tables = []
    for title, commands in GROUPS.items():
        rows = [(f"[`evalq {name}`](#evalq-{name})", line) for name, (_, line) in commands.items()]
        tables.append(f"**{title}**\n\n{markdown_table(('command', 'does'), rows)}")
    listed = "\n".join(tables)
    parts = [_command_part(name, command) for name, command in _walk(program)]
    return _fill("cli.md", listed=listed, commands="\n".join(parts))


def python_page() -> str:
    """The names of `help(evalq)`."""
    parts = [_python_part(name, getattr(evalq, name)) for name in evalq.__all__]
    return _fill("python.md", names="\n".join(parts))


PAGES: dict[str, Callable[[], str]] = {
    "task.md": task_page,
    "evalset.md": evalset_page,
    "judges.md": judges_page,
    "graders.md": graders_page,
    "settings.md": settings_page,
    "cli.md": cli_page,
    "python.md": python_page,
}


def _fill(template: str, **parts: str) -> str:
    """The page with each `[[name]]` on a line of its own replaced."""
    text = (TEMPLATES / template).read_text("utf-8")
    for name, part in parts.items():
        assert f"[[{name}]]\n" in text, f"{template} has no place for {name}"
        text = text.replace(f"[[{name}]]\n", part.rstrip() + "\n")
    return MADE + text


def _members(union: Any) -> list[type[BaseModel]]:
    """The models of a union, however it is nested and annotated, each once."""
    found: dict[type[BaseModel], None] = {}
    for part in get_args(union):
        if isinstance(part, type) and issubclass(part, BaseModel):
            found[part] = None
        else:
            found |= dict.fromkeys(_members(part))
    return list(found)


def _summary(kind: type) -> str:
    return inspect.cleandoc(kind.__doc__ or "")


def _walk(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{prefix}{name}", command
        if isinstance(command, click.Group):
            yield from _walk(command, f"{prefix}{name} ")


def _command_part(name: str, command: click.Command) -> str:
    level = "##" if " " not in name else "###"
    usage = " ".join([f"evalq {name}", *command.collect_usage_pieces(click.Context(command))])
    lines = [f"{level} evalq {name}", "", "```text", usage, "```", "", _plain_help(command)]
    rows = [_option_row(option) for option in command.params if isinstance(option, click.Option)]
    shown = [row for row in rows if row is not None]
    if shown:
        lines += ["", markdown_table(("option", "default", "does"), shown).rstrip()]
    return "\n".join(lines) + "\n"


def _plain_help(command: click.Command) -> str:
    r"""The help's paragraphs; click's own mark for text to keep as it is becomes a code block."""
    paragraphs = []
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b"):
            paragraphs.append("```text\n" + paragraph.removeprefix("\b\n") + "\n```")
        else:
            paragraphs.append(_escape(" ".join(paragraph.split())))
    return "\n\n".join(paragraphs)


def _option_row(option: click.Option) -> tuple[str, str, str] | None:
    if option.hidden:
        return None
    flags = ", ".join(f"`{flag}`" for flag in (*option.opts, *option.secondary_opts))
    if not option.is_flag:
        context = click.Context(click.Command("evalq"))
        flags += f" `{option.make_metavar(context)}`"
    default = option.default if option.show_default and not callable(option.default) else None
    return flags, "–" if default in (None, ()) else f"`{default}`", _escape(option.help or "")


def _escape(text: str) -> str:
    """Text for Markdown outside of code: an angle bracket is not a tag."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)


def _python_part(name: str, value: Any) -> str:
    if not inspect.isclass(value):
        return f"## {name}\n\n{_signature_block(name, value)}\n\n{_summary(value)}\n"
    lines = [f"## {name}", "", _summary(value)]
    if dataclasses.is_dataclass(value):
        fields = [(f"`{field.name}`", f"`{_type_name(field.type)}`") for field in dataclasses.fields(value)]
        lines += ["", markdown_table(("field", "type"), fields).rstrip()]
    for member, attribute in vars(value).items():
        if member.startswith("_"):
            continue
        if isinstance(attribute, property):
            lines += ["", f"**`.{member}`**: {_summary(attribute.fget)}"]  # type: ignore[arg-type]
        elif inspect.isfunction(attribute):
            lines += [
                "",
                f"### {name}.{member}",
                "",
                _signature_block(member, attribute),
                "",
                _summary(attribute),
            ]
    return "\n".join(lines) + "\n"


def _signature_block(name: str, function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    parameters = [one for one in signature.parameters.values() if one.name != "self"]
    lines = []
    is_after_star = False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not is_after_star:
            lines.append("    *,")
            is_after_star = True
        lines.append(f"    {_parameter(one)},")
    word = "await " if inspect.iscoroutinefunction(function) else ""
    inside = "\n" + "\n".join(lines) + "\n" if lines else ""
    return f"```text\n{word}{name}({inside}) -> {_type_name(signature.return_annotation)}\n```"


def _parameter(parameter: inspect.Parameter) -> str:
    text = f"{parameter.name}: {_type_name(parameter.annotation)}"
    return text if parameter.default is parameter.empty else f"{text} = {parameter.default!r}"


def _type_name(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    plain = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])", "", text).replace("NoneType", "None")
    # One way of writing it, whatever the version of Python.
    return re.sub(r"Optional\[(.*)\]$", r"\1 | None", plain)


def main() -> None:
    """Write every page."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make(), "utf-8")
        print(FOLDER / name)


if __name__ == "__main__":
    main()
