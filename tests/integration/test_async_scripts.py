"""Scripts from an event loop: in order, in one pipeline, through restarts, and never for ever."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import redis

from evalq.engines.async_scripts import AsyncScripts
from evalq.errors import Unreachable

APPEND = "redis.call('RPUSH', KEYS[1], ARGV[1]) return redis.call('LLEN', KEYS[1])"
FAIL = "return redis.error_reply('WRONG on purpose')"

Scene = Callable[[AsyncScripts], Awaitable[Any]]


def play(url: str, scene: Scene, **options: Any) -> Any:
    async def run_and_close() -> Any:
        scripts = AsyncScripts(url, **options)
        try:
            return await scene(scripts)
        finally:
            await scripts.close()

    return asyncio.run(run_and_close())


def test_scripts_run_in_the_order_they_are_asked_for(engines: Any, valkey: "redis.Redis") -> None:
    async def scene(scripts: AsyncScripts) -> list[int]:
        return await asyncio.gather(*(scripts.run_script(APPEND, ["list"], [n]) for n in range(50)))

    assert play(engines.broker_url, scene) == list(range(1, 51))
    assert valkey.lrange("list", 0, -1) == [str(n) for n in range(50)]


def test_scripts_that_the_server_forgot_are_sent_again(engines: Any, valkey: "redis.Redis") -> None:
    async def scene(scripts: AsyncScripts) -> list[int]:
        lengths = []
        for n in range(3):
            valkey.script_flush()
            lengths.append(await scripts.run_script(APPEND, ["list"], [n]))
        return lengths

    assert play(engines.broker_url, scene) == [1, 2, 3]


def test_a_script_that_fails_fails_alone(engines: Any, valkey: "redis.Redis") -> None:
    async def scene(scripts: AsyncScripts) -> list[Any]:
        asked = [scripts.run_script(text, ["list"], ["x"]) for text in (APPEND, FAIL, APPEND)]
        return await asyncio.gather(*asked, return_exceptions=True)

    first, failed, last = play(engines.broker_url, scene)
    assert (first, last) == (1, 2), "each ran once"
    assert isinstance(failed, redis.exceptions.ResponseError)


def test_a_connection_that_was_cut_is_replaced(engines: Any, valkey: "redis.Redis") -> None:
    async def scene(scripts: AsyncScripts) -> int:
        await scripts.run_script(APPEND, ["list"], ["x"])
        valkey.client_kill_filter(skipme=True, _type="normal")
        await asyncio.sleep(0.01)  # one turn of the loop shows it the end of the old connection
        return int(await scripts.run_script(APPEND, ["list"], ["y"]))

    assert play(engines.broker_url, scene) == 2


def test_a_server_that_never_answers_is_unreachable(engines: Any) -> None:
    async def scene_with_server() -> None:
        async def stall(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server = await asyncio.start_server(stall, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        scripts = AsyncScripts(f"redis://127.0.0.1:{port}/0", patience_s=0.05)
        asked = [scripts.run_script(APPEND, ["list"], [n]) for n in range(3)]
        replies = await asyncio.gather(*asked, return_exceptions=True)
        await scripts.close()
        server.close()
        await server.wait_closed()
        assert [type(reply) for reply in replies] == [Unreachable] * 3
        assert "the broker cannot be reached: TimeoutError; check EVALQ_BROKER_URL" in str(replies[0])

    asyncio.run(scene_with_server())


def test_a_stall_costs_its_own_scripts_and_not_the_next(engines: Any, valkey: "redis.Redis") -> None:
    async def scene(scripts: AsyncScripts) -> int:
        valkey.client_pause(60_000, all=False)
        try:
            with pytest.raises(Unreachable):
                await scripts.run_script(APPEND, ["list"], ["x"])
        finally:
            valkey.client_unpause()
        await scripts.run_script("return 1", [], [])
        return int(await scripts.run_script("return 42", [], []))

    assert play(engines.broker_url, scene, patience_s=1.0) == 42


def test_no_server_is_unreachable_at_once() -> None:
    async def scene(scripts: AsyncScripts) -> None:
        await scripts.run_script(APPEND, ["list"], ["x"])

    with pytest.raises(Unreachable, match="the broker cannot be reached: ConnectionError"):
        play("redis://127.0.0.1:1/0", scene)


def test_valkey_urls_are_understood(engines: Any, valkey: "redis.Redis") -> None:
    async def scene(scripts: AsyncScripts) -> int:
        return int(await scripts.run_script(APPEND, ["list"], ["x"]))

    assert play(engines.broker_url.replace("redis://", "valkey://"), scene) == 1
