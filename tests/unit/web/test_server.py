"""Which addresses only this machine can reach."""

import pytest

from evalq.errors import InputError
from evalq.web.server import is_loopback, listen


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_loopback_is_this_machine(address: str) -> None:
    assert is_loopback(address)


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.168.1.7", "localhost.example", "", "1"])
def test_everything_else_may_be_reached_by_others(address: str) -> None:
    assert not is_loopback(address)


def test_a_port_that_is_taken_is_said_with_what_to_do() -> None:
    with listen("127.0.0.1", 0) as endpoint:
        port = endpoint.socket.getsockname()[1]
        assert endpoint.url == f"http://127.0.0.1:{port}"
        with pytest.raises(InputError, match="choose another --port"), listen("127.0.0.1", port):
            pass
