"""The life of a job is asynchronous and never blocks its loop; everything else is plain synchronous."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(path for name in ("evalq", "workers") for path in (ROOT / name).rglob("*.py"))

ASYNC_PLACES = (
    "workers/",
    "evalq/calling/",
    "evalq/grading/",
    "evalq/store/batches.py",
    "evalq/store/coalescer.py",
    "evalq/store/lasting_connection.py",
    "evalq/engines/async_scripts.py",
    "evalq/bakeoff/verdict_cache.py",  # a grader's question, as a job asks it
    "evalq/bakeoff/replay.py",
    "evalq/bakeoff/rescore.py",
    "evalq/web/live_updates.py",  # tabs that wait for the next change
    "evalq/api/",  # for callers with an event loop: a thread works, a coroutine waits for it
    "evalq/web/security.py",  # the middleware in front of every page, on the web server's own loop
    "evalq/drift/alerts.py",  # an alert's one request, over the transport of the providers
)

ALONE = ("evalq/bakeoff/replay.py", "evalq/bakeoff/rescore.py")
"""Commands that grade: the one coroutine on their loop holds nobody up."""

BLOCKING = ("time.sleep", "requests.", "subprocess.", "urllib.", "socket.", "psycopg.connect", "Database")
SYNCHRONOUS = {"db", "_db", "tx", "broker", "_broker"}
"""Names of what blocks the loop when it is used: the pool of connections, a transaction, the broker."""


def asynchronous(tree: ast.AST) -> Iterator[ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef))


def on_the_loop(function: ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """Every node that runs on the loop: not those of functions inside, which may run in a thread."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def last_name(node: ast.AST) -> str:
    """`db` of `self._here.db`."""
    return ast.unparse(node).split(".")[-1] if isinstance(node, ast.Name | ast.Attribute) else ""


def blocks(call: ast.Call) -> bool:
    """Whether a call that is not awaited waits for a clock, a process, a server or the database."""
    name = ast.unparse(call.func)
    if name.startswith(BLOCKING):
        return True
    uses = [*call.args, *(keyword.value for keyword in call.keywords)]
    if isinstance(call.func, ast.Attribute):
        uses.append(call.func.value)
    return any(last_name(used) in SYNCHRONOUS for used in uses)


def blocking_calls(tree: ast.AST) -> list[str]:
    found = []
    for function in asynchronous(tree):
        nodes = list(on_the_loop(function))
        awaited = {id(node.value) for node in nodes if isinstance(node, ast.Await)}
        calls = [node for node in nodes if isinstance(node, ast.Call) and id(node) not in awaited]
        found += [f"{function.name}: {ast.unparse(call)}" for call in calls if blocks(call)]
    return found


def test_only_the_life_of_a_job_is_async() -> None:
    coloured = [path for path in MODULES if list(asynchronous(ast.parse(path.read_text("utf-8"))))]
    found = {path.relative_to(ROOT).as_posix() for path in coloured}
    assert {name for name in found if not name.startswith(ASYNC_PLACES)} == set()
    assert [place for place in ASYNC_PLACES if not any(name.startswith(place) for name in found)] == []


def test_no_coroutine_waits_for_anything_but_the_loop() -> None:
    found = {}
    for path in MODULES:
        calls = blocking_calls(ast.parse(path.read_text("utf-8")))
        if calls:
            found[path.relative_to(ROOT).as_posix()] = calls
    assert {name: calls for name, calls in found.items() if name not in ALONE} == {}


@pytest.mark.parametrize(
    "line",
    [
        "time.sleep(1)",
        "subprocess.run(['true'])",
        "requests.get(url)",
        "Database(url)",
        "here.db.row('job')",
        "jobs.finish(here.db, job)",
        "jobs.finish(db=self._db, job=job)",
        "here.broker.send('pump')",
        "await keep(jobs.claim(db, 1))",
    ],
)
def test_a_line_that_blocks_the_loop_is_found(line: str) -> None:
    assert len(blocking_calls(ast.parse(f"async def f():\n    {line}"))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "await asyncio.sleep(1)",
        "await asyncio.to_thread(jobs.finish, here.db, job)",
        "await cached_reply(here.db, job)",
        "await asyncio.to_thread(lambda: here.db.row('job'))",
        "await here.batches.claim(1)",
    ],
)
def test_a_line_that_leaves_the_loop_free_is_fine(line: str) -> None:
    assert blocking_calls(ast.parse(f"async def f():\n    {line}")) == []
