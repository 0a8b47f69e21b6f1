"""Flower beside an embedded fleet: a free port, a password in any case, and no key in its process."""

import socket

import pytest

from evalq.engines.flower import FlowerPlace, check_flower_auth, choose_flower_place
from evalq.errors import InputError


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_without_a_password_a_random_one_is_made(free_port: int) -> None:
    first, second = choose_flower_place(free_port, {}), choose_flower_place(free_port, {})
    assert first.auth.startswith("evalq:")
    assert len(first.auth) >= 24
    assert first.auth != second.auth


def test_a_given_password_is_kept_and_stays_off_the_command_line(free_port: int) -> None:
    place = choose_flower_place(free_port, {"EVALQ_FLOWER_AUTH": "someone:hush:hush"})
    assert place.auth == "someone:hush:hush"
    assert not any("hush" in word for word in place.argv())
    assert place.url == f"http://127.0.0.1:{free_port}/"


def test_its_process_knows_the_broker_and_no_key() -> None:
    environ = {"EVALQ_BROKER_URL": "redis://x/0", "OPENAI_API_KEY": "sk-1", "PATH": "/bin"}
    env = FlowerPlace(5555, "u:p").env(environ)
    assert (env["EVALQ_BROKER_URL"], env["FLOWER_BASIC_AUTH"]) == ("redis://x/0", "u:p")
    assert "OPENAI_API_KEY" not in env


@pytest.mark.parametrize("auth", ["", "user", "user:", ":password"])
def test_half_a_password_is_refused(auth: str) -> None:
    with pytest.raises(InputError, match="EVALQ_FLOWER_AUTH=user:password"):
        check_flower_auth(auth)


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} is in use.*--flower-port"):
            choose_flower_place(port, {})
