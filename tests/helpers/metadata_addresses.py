"""A program that calls the addresses of cloud metadata, in a network of its own that leads nowhere else.

Prints as JSON, by the host that each URL names, the error and the bytes that came over each connection.
Exit code 77: this system allows no such network.
"""

import asyncio
import contextlib
import ctypes
import fcntl
import json
import socket
import struct
import sys
import threading
from typing import Any

import httpx2
from socket_servers import OK_2

from evalq.calling.providers.transport import client

NO_NAMESPACES = 77
V4 = ("169.254.169.254", "168.63.129.16", "192.0.0.192")
V6 = ("fe80::1", "fd00:ec2::254")
NAME = "metadata.test"

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_SET_ADDRESS, _SET_FLAGS, _UP_AND_RUNNING = 0x8916, 0x8914, 0x41


def enter_own_network() -> None:
    """Leave the machine's network for one that has only a loopback interface, with the addresses above."""
    if ctypes.CDLL(None, use_errno=True).unshare(_NEW_USER | _NEW_NETWORK) != 0:
        sys.exit(NO_NAMESPACES)
    assert [name for _, name in socket.if_nameindex()] == ["lo"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP_AND_RUNNING))
        for place, address in enumerate(V4):
            own = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
            fcntl.ioctl(control, _SET_ADDRESS, struct.pack("16s16s", f"lo:{place}".encode(), own))
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as control:
        for address in V6:
            packed = socket.inet_pton(socket.AF_INET6, address)
            fcntl.ioctl(control, _SET_ADDRESS, struct.pack("16sIi", packed, 128, socket.if_nametoindex("lo")))


class Server:
    """Answers on every address, one connection after the other, and counts the bytes of each."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        self.port = self._listener.getsockname()[1]
        self.received: list[int] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            self.received.append(0)
            with connection, contextlib.suppress(ConnectionError):
                while data := connection.recv(65536):
                    self.received[-1] += len(data)
                    connection.sendall(OK_2)


class NamingLoop(asyncio.SelectorEventLoop):
    """A loop that knows one name, the address of which is that of metadata."""

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        known = V4[0] if host == NAME else host
        return await super().getaddrinfo(known, port, **options)


def call(url: str) -> str:
    """The answer's text, or the error."""

    async def send() -> str:
        response = await client.send(client.build_request("POST", url, content=b"{}", timeout=60))
        return response.text

    try:
        with asyncio.Runner(loop_factory=NamingLoop) as runner:
            return runner.run(send())
    except (httpx2.TransportError, httpx2.InvalidURL) as exc:
        return f"{type(exc).__name__}: {exc}"


def main() -> None:
    """Call each host, then the loopback: when that is answered, the server has seen the first call's end."""
    enter_own_network()
    became = {}
    for host in sys.argv[1:]:
        server = Server()
        refusal = call(f"http://{host}:{server.port}/")
        assert call(f"http://127.0.0.1:{server.port}/") == "ok"
        became[host] = {"refusal": refusal, "received": server.received[:-1]}
    print(json.dumps(became))


if __name__ == "__main__":
    main()
