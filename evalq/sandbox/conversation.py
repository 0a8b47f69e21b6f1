"""Talks to a process: sends all it is to read, hears all it says, no longer and no more than agreed."""

import contextlib
import os
import selectors
import subprocess
import time
from dataclasses import dataclass

_CHUNK = 65536
_COMPLAINT_BYTES = 4000
_LEAVE_S = 2.0


@dataclass(frozen=True)
class Heard:
    """What came on stdout, and the head of what came on stderr."""

    reply: bytes
    complaint: str


def converse(
    process: "subprocess.Popen[bytes]", request: bytes, *, deadline: float, reply_bytes: int
) -> Heard:
    """Send the request and hear the reply until it ends, or until the time or the room for it does."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    reply, complaint, pending = bytearray(), bytearray(), memoryview(request)
    os.set_blocking(process.stdin.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdin, selectors.EVENT_WRITE)
        selector.register(process.stdout, selectors.EVENT_READ, reply)
        selector.register(process.stderr, selectors.EVENT_READ, complaint)
        while len(reply) <= reply_bytes and time.monotonic() < deadline:
            for key, _ in selector.select(max(deadline - time.monotonic(), 0)):
                if key.data is None:
                    pending = _send(key.fd, pending)
                    is_over = not pending
                else:
                    is_over = not _hear(key.fd, key.data)
                if is_over:
                    selector.unregister(key.fileobj)
            if process.stdout not in selector.get_map():
                _let_leave(process)
                break
    return Heard(bytes(reply), _first_line(complaint))


def _send(descriptor: int, pending: memoryview) -> memoryview:
    """What is left to send; nothing if no one reads any more."""
    try:
        return pending[os.write(descriptor, pending[:_CHUNK]) :]
    except BrokenPipeError:
        return pending[:0]


def _hear(descriptor: int, heard: bytearray) -> bool:
    """Take in what is there; False at the end."""
    chunk = os.read(descriptor, _CHUNK)
    heard += chunk
    return bool(chunk)


def _let_leave(process: "subprocess.Popen[bytes]") -> None:
    """A process that ends by itself buries its children; killed, it leaves that to init."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_LEAVE_S)


def _first_line(complaint: bytes | bytearray) -> str:
    lines = bytes(complaint[:_COMPLAINT_BYTES]).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines and lines[0].startswith("Traceback") else lines[0] if lines else ""
