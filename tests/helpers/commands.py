"""The commands of the command line, found by walking its groups."""

from collections.abc import Iterator

import click


def walk_commands(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its whole name."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from walk_commands(command, f"{prefix}{name} ")
        elif command is not None:
            yield f"{prefix}{name}", command
