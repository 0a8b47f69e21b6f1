"""Functions as judges: served on loopback to the workers of this machine, or imported by another fleet's."""

import asyncio
import inspect
import json
import secrets
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from evalq.definitions.judge import HttpJudge, JudgeConfig, PythonJudge
from evalq.errors import InputError, Problem
from evalq.settings import Settings

Function = Callable[[dict[str, Any]], Any]
"""Gets a case's inputs; returns the answer, or a dictionary of its parts as a `python` judge does."""

CALLS_AT_ONCE = 8
DEADLINE_S = 600.0
MAX_BODY_BYTES = 64_000_000

_PARTS = frozenset({"answer", "tool_calls", "usage", "cost_usd", "error"})


def name_judges(
    judges: Sequence[str | Function] | str | Function,
) -> tuple[list[str], dict[str, Function]]:
    """The judges' names in order, and the functions among them by name; a second `f` becomes `f-2`."""
    listed: Sequence[str | Function]
    if isinstance(judges, str):
        listed = [name.strip() for name in judges.split(",") if name.strip()]
    else:
        listed = [judges] if callable(judges) else judges
    names = [judge for judge in listed if isinstance(judge, str)]
    functions: dict[str, Function] = {}
    ordered = []
    for judge in listed:
        if isinstance(judge, str):
            ordered.append(judge)
            continue
        name = _find_free_name(judge, {*names, *functions})
        functions[name] = judge
        ordered.append(name)
    return ordered, functions


def _find_free_name(function: Function, taken: set[str]) -> str:
    plain = function.func if isinstance(function, partial) else function
    written = getattr(plain, "__name__", type(plain).__name__)
    allowed = [
        letter if letter.isascii() and (letter.isalnum() or letter in "_.-") else "-" for letter in written
    ]
    name = "".join(allowed).strip("-_.")[:90] or "function"
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


@contextmanager
def serve_functions(
    functions: Mapping[str, Function], settings: Settings
) -> Iterator[dict[str, JudgeConfig]]:
    """The functions as judges, for as long as the block runs.

    Embedded workers are on this machine: they call back to a server of this process, so a function sees its
    own variables, whether it can be imported or not. Workers of another fleet import it by name.
    """
    if not functions:
        yield {}
    elif settings.database_url or settings.broker_url:
        yield {name: _importable(name, function) for name, function in functions.items()}
    else:
        with _serve(functions) as judges:
            yield judges


def _importable(name: str, function: Function) -> JudgeConfig:
    module, attribute = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    found = getattr(sys.modules.get(module), attribute, None)
    if module == "__main__" or not attribute.isidentifier() or found is not function:
        message = f"judge {name!r} is a function that only this process has: the fleet cannot import it"
        remedy = (
            "put it into a module on the workers' PYTHONPATH, or unset the URLs to run it on this machine"
        )
        raise InputError(Problem(message, remedy))
    return PythonJudge(name=name, provider="python", callable=f"{module}:{attribute}")


@contextmanager
def _serve(functions: Mapping[str, Function]) -> Iterator[dict[str, JudgeConfig]]:
    """Answer the workers on a free port of loopback; the token in the path keeps other users out."""
    token = secrets.token_urlsafe(24)
    by_path = {f"/{token}/{name}": function for name, function in functions.items()}
    server = _FunctionServer(by_path)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield {name: _judge_at(f"{address}/{token}/{name}", name) for name in functions}
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _judge_at(url: str, name: str) -> HttpJudge:
    return HttpJudge(
        name=name,
        provider="http",
        url=url,
        body={"inputs": "{inputs}"},
        answer="$.answer",
        tool_calls="$.tool_calls",
        usage="$.usage",
        cost="$.cost_usd",
        deadline_s=DEADLINE_S,
        concurrency=CALLS_AT_ONCE,
    )


class _FunctionServer(ThreadingHTTPServer):
    """A thread for each connection of a worker; none of them outlives the process."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128  # beyond the usual five, a connection waits a second for its second try

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.functions = functions
        super().__init__(("127.0.0.1", 0), _FunctionHandler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: the worker has the error, and it is stored with the case."""
        del request, client_address


class _FunctionHandler(BaseHTTPRequestHandler):
    """One POST per call: a case's inputs in, the reply's parts out."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave together: apart, the second waits for the first one's receipt
    server: _FunctionServer

    def do_POST(self) -> None:
        """Call the function at this path."""
        function = self.server.functions.get(self.path)
        length = self.headers.get("content-length", "")
        if function is None or not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            self._send(404, {"error": {"message": "no such function"}})
            self.close_connection = True
            return
        inputs = json.loads(json.loads(self.rfile.read(int(length)))["inputs"])
        try:
            reply = json.dumps(split_reply(call(function, inputs)), ensure_ascii=False)
        except Exception as exc:
            self._send(422, {"error": {"message": describe(exc)}})
            raise
        self._send_text(200, reply)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as http.server names it
        """Print nothing."""
        del format, args

    def _send(self, status: int, document: Mapping[str, Any]) -> None:
        self._send_text(status, json.dumps(document))

    def _send_text(self, status: int, text: str) -> None:
        content = text.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def call(function: Function, inputs: dict[str, Any]) -> Any:
    """What the function returns; a coroutine is run to its end on a loop of its own."""
    value = function(inputs)
    return asyncio.run(_wait_for(value)) if inspect.isawaitable(value) else value


async def _wait_for(value: Any) -> Any:
    return await value


def split_reply(value: Any) -> dict[str, Any]:
    """The parts of a reply; anything that is not a dictionary of parts is the answer itself."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict) and "answer" in value and value.keys() <= _PARTS:
        if error := value.get("error"):
            raise RuntimeError(str(error))
        return value
    return {"answer": value}


def describe(exc: BaseException) -> str:
    """The exception with the line of the user's code that raised it, short enough for one line."""
    frames = traceback.extract_tb(exc.__traceback__)
    place = f" ({frames[-1].name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(exc).__name__}: {str(exc)[:300]}{place}"
