"""The web server of the pages and of the review API: by default on loopback."""

import secrets
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address

import uvicorn
from starlette.applications import Starlette

from evalq.errors import InputError, Problem, Refused
from evalq.store.database import Database
from evalq.web.app import make_app
from evalq.web.half_open import TimelyProtocol
from evalq.web.reviews import review_app
from evalq.web.site import Site

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MIN_TOKEN = 16


@dataclass(frozen=True)
class ServedApp:
    """An application and the token it requires, if any."""

    app: Starlette
    token: str | None
    is_new_token: bool


@dataclass(frozen=True)
class Endpoint:
    """A listening socket."""

    socket: socket.socket
    address: str

    @property
    def url(self) -> str:
        """Where it is reached."""
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"http://{host}:{self.socket.getsockname()[1]}"

    def app(self, db: Database, *, token: str | None, hosts: Sequence[str], no_auth: bool) -> ServedApp:
        """The review API on this socket; without a given token it makes a random one."""
        if no_auth and not is_loopback(self.address):
            raise Refused(
                f"{self.address} is not loopback: anyone who reaches it could rate; leave out --no-auth"
            )
        _refuse_short(token, "EVALQ_REVIEW_TOKEN")
        known = None if no_auth else token or secrets.token_urlsafe(24)
        names = (*_LOOPBACK, self.address, *hosts)
        return ServedApp(review_app(db, token=known, hosts=names), known, known is not None and token is None)

    def pages(self, site: Site, *, token: str | None, hosts: Sequence[str]) -> ServedApp:
        """The pages on this socket; an address that others can reach gets a token in any case."""
        _refuse_short(token, "EVALQ_WEB_TOKEN")
        known = token if is_loopback(self.address) else token or secrets.token_urlsafe(24)
        app = make_app(site, token=known, hosts=(*_LOOPBACK, self.address, *hosts))
        return ServedApp(app, known, known is not None and token is None)


def _refuse_short(token: str | None, variable: str) -> None:
    if token is not None and len(token) < _MIN_TOKEN:
        raise InputError(Problem(f"{variable} is too short", f"take {_MIN_TOKEN} characters or more"))


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


@contextmanager
def listen(address: str, port: int) -> Iterator[Endpoint]:
    """Listen on an address and port; 0 for any free port."""
    try:
        family, _, _, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(place[:2], family=family)
    except OSError as exc:
        remedy = "choose another --port or --address"
        raise InputError(Problem(f"cannot listen on {address}:{port}: {exc.strerror}", remedy)) from None
    with listening:
        yield Endpoint(listening, address)


def serve(served: ServedApp, endpoint: Endpoint) -> None:
    """Run until Ctrl-C."""
    uvicorn.Server(make_config(served.app)).run(sockets=[endpoint.socket])


def make_config(app: Starlette) -> uvicorn.Config:
    """The server's settings: what one sender leaves open does not keep others out."""
    return uvicorn.Config(
        app,
        http=TimelyProtocol,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        limit_concurrency=256,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=10,
    )
