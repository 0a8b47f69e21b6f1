"""What every command works with: the environment, the project, its settings, and sessions."""

import os
from collections.abc import Collection, MutableMapping
from contextlib import AbstractContextManager
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalq.errors import Refused

if TYPE_CHECKING:
    from evalq.engines.session import Session
    from evalq.settings import Settings
    from evalq.store.database import Database


class Context:
    """One command's surroundings; everything is read when first used, so that `--help` reads nothing."""

    def __init__(self, environ: MutableMapping[str, str] | None = None) -> None:
        self.environ = os.environ if environ is None else environ

    @cached_property
    def cwd(self) -> Path:
        """The working directory."""
        return Path.cwd()

    @cached_property
    def settings(self) -> "Settings":
        """The defaults, under `evalq.yaml`, under the environment."""
        from evalq.cli.output import note
        from evalq.settings import load_settings

        return load_settings(self.cwd, self.environ, tell=note)

    @cached_property
    def root(self) -> Path:
        """The project's folder."""
        from evalq.settings import project_root

        return project_root(self.cwd)

    @property
    def data_dir(self) -> Path:
        """Where the embedded engines keep their data."""
        from evalq.settings import data_dir

        return data_dir(self.settings, self.cwd, self.environ)

    def environment_with_keys(self) -> dict[str, str]:
        """The environment, and the keys file for what it lacks."""
        from evalq.keys import environment_with_keys

        return environment_with_keys(self.environ)

    def cap_usd(self, given: Decimal | None) -> Decimal:
        """The cap given on the command line, else that of the settings."""
        return self.settings.max_cost_usd if given is None else given

    def open_session(
        self, *, fleet: bool = False, providers: Collection[str] = ()
    ) -> "AbstractContextManager[Session]":
        """Open the database and the broker; with `fleet`, start workers for embedded ones."""
        from evalq.engines.session import open_session

        return open_session(
            self.settings, fleet=fleet, providers=providers, cwd=self.cwd, environ=self.environ
        )

    def open_database(self) -> "AbstractContextManager[Database]":
        """Open the database alone, whatever the version of its schema."""
        from evalq.engines.session import open_database

        return open_database(self.settings, cwd=self.cwd, environ=self.environ)

    def has_database(self) -> bool:
        """Whether a database is set, or the embedded one has been started before."""
        return bool(self.settings.database_url) or (self.data_dir / "postgres").is_dir()

    def has_running_fleet(self) -> bool:
        """Whether workers run without this command: of the fleet that is set, or of `evalq up`."""
        from evalq.engines.embedded import describe

        if self.settings.database_url and self.settings.broker_url:
            return True
        status = describe(self.data_dir)
        return bool(status and status.kept)

    def require_fleet(self) -> None:
        """Refuse to leave a bake-off to a fleet that does not run."""
        if not self.has_running_fleet():
            raise Refused(
                "no fleet would run it: start the embedded one with `evalq up`, or set the URLs of another"
            )


pass_context = click.make_pass_decorator(Context, ensure=True)
"""Gives a command its Context as first argument."""
