"""A program or a Python function as a judge, in threads of their own: the loop never waits for them."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from evalq.calling.providers.reply_fields import (
    elapsed_ms,
    read_own_cost,
    read_own_usage,
    read_tool_calls,
)
from evalq.definitions.judge import CommandJudge, PythonJudge
from evalq.errors import ProviderFault
from evalq.records import Completion, CompletionState, Prompt

_MAX_OUTPUT_BYTES = 5_000_000
_MAX_ERROR_CHARS = 400
_MAX_THREADS = 64
_PARTS = frozenset({"answer", "tool_calls", "usage", "cost_usd", "error"})


class _JudgeThreads:
    """Where functions and programs are waited for: the one place where a job leaves the loop for them.

    When all threads are busy, calls wait for one, as they would for a slot.
    """

    def __init__(self) -> None:
        self.start_over()

    def start_over(self) -> None:
        """Begin without threads: a forked process has none of its parent's."""
        self._pool = ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="judge")

    async def run(self, answer: Callable[[Prompt], Completion], prompt: Prompt) -> Completion:
        """Call the judge in a thread and wait for it without holding up the loop."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, answer, prompt)


_threads = _JudgeThreads()
os.register_at_fork(after_in_child=_threads.start_over)


class CommandAdapter:
    """Starts the program once per call, with one JSON object on its standard input.

    It answers in plain text, or by `{"answer": "…"}` with any of `tool_calls`, `usage`, `cost_usd` and
    `error`. What it writes to its standard error is kept when it fails.
    """

    def __init__(self, judge: CommandJudge, environ: Mapping[str, str]) -> None:
        self._judge = judge
        # The program is the user's own, but must not reach evalq's database or broker.
        self._environ = {name: value for name, value in environ.items() if not name.startswith("EVALQ_")}

    async def complete(self, prompt: Prompt) -> Completion:
        """Run the program on one question."""
        return await _threads.run(self._answer, prompt)

    def _answer(self, prompt: Prompt) -> Completion:
        started = time.perf_counter()
        output = self._run(_build_input(prompt))
        return _read_output(output, latency_ms=elapsed_ms(started), model=self._judge.model)

    def _run(self, request: bytes) -> bytes:
        # A file, since a program that writes more errors than a pipe holds would wait for a reader.
        with tempfile.TemporaryFile() as errors:
            output, code = self._communicate(request, errors)
            if code != 0:
                ended = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
                raise ProviderFault("permanent", f"the program {ended}{_quote_end(errors)}")
        return output[:_MAX_OUTPUT_BYTES]

    def _communicate(self, request: bytes, errors: IO[bytes]) -> tuple[bytes, int]:
        """Give the program its question; its output and exit code."""
        try:
            process = subprocess.Popen(
                self._judge.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=self._environ,
                start_new_session=True,
            )
        except OSError as exc:
            what = f"cannot start {self._judge.command[0]!r} in {Path.cwd()}: {exc.strerror}"
            raise ProviderFault("fatal", what) from exc
        with process:
            try:
                output, _ = process.communicate(request, timeout=self._judge.timeout_s)
            except subprocess.TimeoutExpired as exc:
                os.killpg(process.pid, signal.SIGKILL)
                late = f"no answer within {self._judge.timeout_s:g} s{_quote_end(errors)}"
                raise ProviderFault("ambiguous", late) from exc
        return output, process.returncode


def _quote_end(errors: IO[bytes]) -> str:
    """What a program wrote to its standard error last, on one line; "" if it wrote nothing."""
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - _MAX_ERROR_CHARS))
    lines = errors.read().decode("utf-8", "replace").splitlines()
    told = " | ".join(line.strip() for line in lines if line.strip())
    return f": {told}" if told else ""


def _build_input(prompt: Prompt) -> bytes:
    about = prompt.about
    return json.dumps(
        {
            "task": about.task,
            "case_id": about.case_id,
            "sample": about.sample,
            "inputs": dict(about.inputs),
            "system": prompt.system,
            "turns": [{"role": turn.role, "content": turn.text} for turn in prompt.turns],
            "user": prompt.user,
            "max_tokens": prompt.max_tokens,
        },
        ensure_ascii=False,
    ).encode()


def _read_output(output: bytes, *, latency_ms: int, model: str) -> Completion:
    """A JSON object of the agreed parts, or else plain text, which is the answer as it is."""
    text = output.decode("utf-8", "replace")
    try:
        reply = json.loads(text)
    except (ValueError, RecursionError):
        reply = None
    if not isinstance(reply, dict) or not reply.keys() & {"answer", "error"}:
        reply = {"answer": text.removesuffix("\n").removesuffix("\r")}
    return _read_reply(reply, latency_ms=latency_ms, model=model)


class PythonAdapter:
    """Calls the function in this process."""

    def __init__(self, judge: PythonJudge, environ: Mapping[str, str]) -> None:
        del environ  # the user's function reads its own environment
        self._function = _import_function(judge.callable)
        self._name = judge.callable

    async def complete(self, prompt: Prompt) -> Completion:
        """The function's return value: text as it is, anything else as JSON, None as no answer.

        A dataclass or dict of `answer` and any of `tool_calls`, `usage`, `cost_usd` and `error` is a reply
        in parts.
        """
        return await _threads.run(self._answer, prompt)

    def _answer(self, prompt: Prompt) -> Completion:
        started = time.perf_counter()
        try:
            reply = _split_reply(self._function(dict(prompt.about.inputs)))
            reply["answer"] = _text_or_json(reply["answer"])
        except (Exception, SystemExit) as exc:  # a function that calls exit() must not end a worker
            raise ProviderFault("permanent", f"{self._name} raised {_describe(exc)}") from exc
        return _read_reply(reply, latency_ms=elapsed_ms(started), model=self._name)


def _describe(exc: BaseException) -> str:
    """An exception on one line: its kind, its message, and the line of the user's code that raised it."""
    frames = [frame for frame in traceback.extract_tb(exc.__traceback__) if not _is_machinery(frame.filename)]
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    message = " ".join(str(exc).split())[:_MAX_ERROR_CHARS]
    return f"{type(exc).__name__}{f': {message}' if message else ''}{where}"


def _is_machinery(file: str) -> bool:
    return file == __file__ or file.startswith("<frozen") or "importlib" in file


def _split_reply(value: Any) -> dict[str, Any]:
    """The parts of a reply; a dict of `answer` alone is an answer in JSON, as it was written."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict) and "answer" in value and len(value) > 1 and value.keys() <= _PARTS:
        return dict(value)
    return {"answer": value}


def _text_or_json(value: Any) -> str:
    if value is None:  # no answer: the word "null" would be graded as one
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _read_reply(reply: Mapping[str, Any], *, latency_ms: int, model: str) -> Completion:
    """The completion in a reply's parts; an error that cost nothing is a permanent fault."""
    usage, usd = read_own_usage(reply.get("usage")), read_own_cost(reply.get("cost_usd"))
    text, calls = _text_or_json(reply.get("answer")), read_tool_calls(reply.get("tool_calls"))
    state: CompletionState = "answered" if text.strip() or calls else "empty"
    if error := reply.get("error"):
        if not usd and not usage.is_stated:
            raise ProviderFault("permanent", f"{model} reports an error: {str(error)[:_MAX_ERROR_CHARS]}")
        state, text, calls = "malformed", _text_or_json(error), ()
    return Completion(state, text, usage, latency_ms, model=model, tool_calls=calls, stated_usd=usd)


@contextmanager
def _working_folder_on_path() -> Iterator[None]:
    """Find the user's modules in the working folder, after all others, during one import only."""
    folder = str(Path.cwd())
    if folder in sys.path:
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _import_function(name: str) -> Callable[[dict[str, Any]], Any]:
    module, function = name.split(":")
    try:
        with _working_folder_on_path():
            found = getattr(import_module(module), function)
    except (Exception, SystemExit) as exc:  # importing runs the user's module
        what = f"cannot import {name} in {Path.cwd()}: {_describe(exc)}"
        raise ProviderFault("fatal", f"{what}; is it on PYTHONPATH?") from exc
    if not callable(found):
        raise ProviderFault("fatal", f"{name} is not callable")
    return found  # type: ignore[no-any-return]
