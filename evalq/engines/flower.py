"""Flower beside an embedded fleet: where it listens, its password, and its process."""

import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from evalq.engines.fleet import process_argv
from evalq.engines.processes import wait_until
from evalq.errors import InputError, Problem, Unreachable
from evalq.keys import without_keys

_ADDRESS = "127.0.0.1"
_START_S = 60.0


@dataclass(frozen=True)
class FlowerPlace:
    """A port on loopback and `user:password`."""

    port: int
    auth: str

    @property
    def url(self) -> str:
        """Where Flower is reached."""
        return f"http://{_ADDRESS}:{self.port}/"

    def argv(self) -> list[str]:
        """The command line; the password is not on it."""
        return process_argv("flower", f"--port={self.port}", f"--address={_ADDRESS}")

    def env(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The environment of the process: the broker and the password, no key."""
        return {**without_keys(environ), "FLOWER_BASIC_AUTH": self.auth}

    def wait(self) -> None:
        """Wait until it listens."""
        if not wait_until(lambda: _is_taken(self.port), timeout_s=_START_S):
            raise Unreachable(
                f"Flower did not start within {_START_S:.0f} s; see the logs of the data folder"
            )


def choose_flower_place(port: int, environ: Mapping[str, str]) -> FlowerPlace:
    """A free port, and the password of EVALQ_FLOWER_AUTH or a random one."""
    auth = environ.get("EVALQ_FLOWER_AUTH", "") or f"evalq:{secrets.token_urlsafe(18)}"
    check_flower_auth(auth)
    if _is_taken(port):
        raise InputError(Problem(f"port {port} is in use", "choose another --flower-port"))
    return FlowerPlace(port, auth)


def check_flower_auth(auth: str) -> None:
    """Refuse a missing password: Flower can stop workers."""
    user, colon, password = auth.partition(":")
    if not (user and colon and password):
        raise InputError(
            Problem(
                "Flower shows and controls the fleet and needs a password",
                "set EVALQ_FLOWER_AUTH=user:password",
            )
        )


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((_ADDRESS, port)) == 0
