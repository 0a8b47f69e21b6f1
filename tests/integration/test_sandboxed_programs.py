"""Programs in the sandbox: what ordinary, faulty and hostile code comes to."""

import os
import platform
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evalq.errors import UngradableAnswer
from evalq.grading.sandbox.escape_test import check_ordinary_code
from evalq.grading.sandbox.isolation import filter_program, find_bwrap
from evalq.grading.sandbox.program import CallResult, FunctionCall, Isolation, Limits, Program
from evalq.grading.sandbox.running import Interpreter, run, running_interpreter


@pytest.fixture(scope="module", autouse=True)
def _sandbox() -> None:
    """Every test here needs one; only CI must have it."""
    trouble = "bubblewrap is not installed"
    if find_bwrap(os.environ.get("PATH")):
        trouble = check_ordinary_code(partial(run, isolation="strong"))
    if trouble:
        assert os.environ.get("CI") != "true", trouble
        pytest.skip(f"no sandbox on this machine: {trouble}")


def results(
    source: str, *calls: Any, isolation: Isolation = "strong", timeout_s: float = 10.0, **more: Any
) -> tuple[CallResult, ...]:
    made = tuple(FunctionCall(tuple(args)) for args in calls or [()])
    return run(Program(source, "f", made, timeout_s, **more), isolation=isolation).results


def result(source: str, *args: Any, **more: Any) -> CallResult:
    (one,) = results(source, args, **more)
    return one


def test_a_function_is_called_with_its_arguments() -> None:
    source = "def f(a, b=0, *, c=0):\n    return [a, b, c]"
    calls = (FunctionCall((1,)), FunctionCall((1, 2), {"c": 3}))
    done = run(Program(source, "f", calls), isolation="strong")
    assert [one.value for one in done.results] == [[1, 0, 0], [1, 2, 3]]
    assert done.isolation == "strong"
    assert done.python.startswith("3.")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(1, (2, 3))", [1, [2, 3]]),
        ("{3, 1, 2}", [1, 2, 3]),
        ("{1: 'a', None: 2.5}", {"1": "a", "null": 2.5}),
        ("'Việt\\ud800\\x00'", "Việt\ud800\x00"),
        ("float('inf')", float("inf")),
        ("None", None),
    ],
)
def test_a_value_comes_back_as_json_has_it(expression: str, value: Any) -> None:
    assert result(f"def f():\n    return {expression}").value == value


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return object()", "object is no JSON value"),
        ("return {(1, 2): 3}", "keys must be"),
        ("x = []; x.append(x); return x", "Circular"),
        ("return 'x' * 10**6", "larger than 256 KB"),
    ],
)
def test_a_value_that_json_lacks_is_unreadable(body: str, message: str) -> None:
    one = result(f"def f():\n    {body}")
    assert one.end == "unreadable"
    assert message in one.message


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        ("def f(:\n", "SyntaxError", "(line 1)"),
        ("x = 1\n1 / 0", "ZeroDivisionError", "division by zero (line 2)"),
        ("def g(): ...", "NameError", "the code defines no function 'f'"),
        ("f = 3", "NameError", "the code defines no function 'f'"),
        ("import numpy_is_not_here", "ModuleNotFoundError", "numpy_is_not_here"),
        ("(" * 10_000, "SyntaxError", "too many nested"),
    ],
)
def test_code_that_does_not_load_says_why(source: str, name: str, message: str) -> None:
    one = result(source)
    assert (one.end, one.raised[0]) == ("unloadable", name)
    assert message in one.message


@pytest.mark.parametrize(
    ("body", "raised"),
    [
        ("{}['a']", ("KeyError", "LookupError", "Exception", "BaseException")),
        ("raise SystemExit(3)", ("SystemExit", "BaseException")),
        ("return f()", ("RecursionError", "RuntimeError", "Exception", "BaseException")),
        ("return input()", ("EOFError", "Exception", "BaseException")),
    ],
)
def test_an_exception_comes_back_with_its_bases(body: str, raised: tuple[str, ...]) -> None:
    one = result(f"def f():\n    {body}")
    assert (one.end, one.raised) == ("raised", raised)


def test_what_ordinary_modules_do_at_their_top_works() -> None:
    source = """
from __future__ import annotations
import dataclasses, typing

@dataclasses.dataclass
class Point:
    x: int

if __name__ == "__main__":
    raise SystemExit

def f():
    return [typing.get_type_hints(Point)["x"].__name__, dataclasses.asdict(Point(3))]
"""
    assert result(source).value == ["int", {"x": 3}]


def test_a_call_that_hangs_leaves_the_others_their_time() -> None:
    source = "def f(n):\n    while n == 2: pass\n    return n"
    first, second, third = results(source, (1,), (2,), (3,), timeout_s=2)
    assert (first.value, second.end, third.value) == (1, "timed_out", 3)
    assert second.message == "no result within 2 s"
    assert second.wall_ms >= 2000


def test_nothing_passes_from_call_to_call() -> None:
    source = """
import os, pathlib
seen = []

def f(n):
    here = pathlib.Path("/tmp/a/b")
    found = here.exists()
    here.mkdir(parents=True, exist_ok=True)
    seen.append(n)
    if os.fork() == 0:
        __import__("time").sleep(600)
    return [len(seen), found]
"""
    assert [one.value for one in results(source, (1,), (2,), (3,))] == [[1, False]] * 3


def test_a_child_that_keeps_the_pipes_does_not_keep_the_run() -> None:
    source = "import os, time\ndef f():\n    if os.fork() == 0:\n        time.sleep(600)\n    os._exit(5)"
    one = result(source)
    assert (one.end, one.message) == ("died", "the process ended itself with exit code 5")


@pytest.mark.skipif(filter_program(platform.machine()) is None, reason="no filter for this machine")
@pytest.mark.parametrize(
    "blow",
    [
        "os.kill(1, signal.SIGINT)",
        "os.chmod('/tmp', 0)",
        "resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0))",
        "resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))",
        "os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))",
        "os.setpriority(os.PRIO_PROCESS, 1, 19)",
    ],
)
def test_code_cannot_turn_its_fail_into_an_error_by_crippling_the_supervisor(blow: str) -> None:
    source = f"import os, resource, signal\ndef f(n):\n    if n == 1:\n        {blow}\n    return n"
    first, second = results(source, (1,), (2,))
    assert (second.end, second.value) == ("returned", 2)
    assert first.raised[:1] in ((), ("PermissionError",))


def test_what_is_printed_is_kept_as_far_as_it_is_short() -> None:
    source = """
import sys

def f():
    print("out")
    print("err", file=sys.stderr)
    print("x" * 9000)
    return 1
"""
    one = result(source)
    assert one.value == 1
    assert {"out", "err"} <= set(one.output.split())
    assert len(one.output) == 2000


def test_limits_can_be_tightened() -> None:
    source = "def f():\n    return len(bytearray(100 * 2**20))"
    assert result(source).value == 100 * 2**20
    assert result(source, limits=Limits(memory_mb=64)).end == "out_of_memory"


def test_what_a_call_says_of_itself_is_its_answer_and_of_the_others_nothing() -> None:
    source = """
import os

def f(n):
    if n == 1:
        os.write(3, b'{"value": "forged"}\\n')
        os.write(3, b'{"value": "forged for the second"}\\n')
        os._exit(0)
    return "honest"
"""
    first, second = results(source, (1,), (2,))
    assert first.value != "forged for the second"
    assert second.value == "honest"


def test_the_nonce_is_nowhere_in_the_memory_of_a_call() -> None:
    source = """
import gc, re, sys

def f():
    frame, texts = sys._getframe(), []
    while frame:
        texts.append(repr(frame.f_locals))
        frame = frame.f_back
    texts += [repr(one) for one in gc.get_objects() if isinstance(one, (dict, list, tuple, bytes, str))]
    return re.findall(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])", " ".join(texts))[:5]
"""
    assert result(source).value == []


def test_a_call_has_no_descriptor_but_its_own() -> None:
    source = """
import os

def f():
    return [number for number in range(256) if is_open(number)]

def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
"""
    assert result(source).value == [0, 1, 2, 3]


def test_the_python_that_runs_evalq_can_run_inside() -> None:
    program = Program("import sys\ndef f():\n    return sys.version", "f", (FunctionCall(),))
    done = run(program, isolation="strong", python=running_interpreter())
    assert done.python == platform.python_version()
    assert done.results[0].value == sys.version


def test_a_python_that_is_not_there_is_no_fault_of_the_code() -> None:
    with pytest.raises(UngradableAnswer, match=r"the sandbox did not start: .*No such file"):
        run(
            Program("def f(): ...", "f", (FunctionCall(),)),
            isolation="strong",
            python=Interpreter(Path("/usr/bin/no")),
        )


def test_weak_isolation_runs_and_says_so() -> None:
    source = "import os\ndef f(n):\n    while n: pass\n    return sorted(os.environ)"
    done = run(Program(source, "f", (FunctionCall((0,)), FunctionCall((1,))), 0.5), isolation="weak")
    assert done.isolation == "weak"
    assert set(done.results[0].value) <= {"LC_CTYPE"}
    assert done.results[1].end == "timed_out"


def test_weak_isolation_never_runs_code_as_root() -> None:
    assert result("import os\ndef f():\n    return os.getuid()", isolation="weak").value != 0


TAMPERING = {
    "an infinite line": "class X(SyntaxError):\n    lineno = float('inf')\ndef f():\n    raise X('x')",
    "a line that is a text": "class X(SyntaxError):\n    lineno = 'many'\ndef f():\n    raise X('x')",
    "a line that raises": "class X(SyntaxError):\n    lineno = property(lambda self: 1 / 0)\n"
    "def f():\n    raise X",
    "a message that raises": "class X(Exception):\n    __str__ = None\ndef f():\n    raise X",
    "a name that is no text": "M = type('M', (type,), {'__name__': 7})\n"
    "class X(Exception, metaclass=M):\n    pass\ndef f():\n    raise X",
    "a short reply": "import os\ndef f():\n    os.write(3, b'{')\n    os._exit(0)",
    "a garbled reply": "import os\ndef f():\n    os.write(3, bytes(range(256)))\n    os._exit(0)",
    "a deep reply": "import os\ndef f():\n    os.write(3, b'[' * 60000)\n    os._exit(0)",
    "a huge reply": "import os\ndef f():\n    while True:\n        os.write(3, b'x' * 65536)",
    "two replies": "import os\ndef f():\n    os.write(3, b'{\"value\": 1}\\n' * 2)\n    os._exit(0)",
    "a reply in another form": "import os\ndef f():\n"
    "    os.write(3, b'{\"raised\": {}}\\n')\n    os._exit(0)",
    "every pipe closed": "import os\ndef f():\n    os.closerange(0, 64)\n    os._exit(0)",
    "an end without a reply": "import os\ndef f():\n    os._exit(0)",
    "its parent killed": "import os\ndef f():\n    os.kill(os.getppid(), 9)\n    os._exit(0)",
    "everything killed": "import os\ndef f():\n    os.kill(-1, 9)\n    os._exit(0)",
    "its group killed": "import os\ndef f():\n    os.killpg(0, 9)\n    os._exit(0)",
    "its parent stopped": "import os\ndef f():\n    os.kill(os.getppid(), 19)\n    os._exit(0)",
    "its parent's pipes": "import os\ndef f():\n    for n in (1, 2):\n        try:\n"
    "            open(f'/proc/{os.getppid()}/fd/{n}', 'wb').write(b'junk\\n')\n        except OSError:\n"
    "            pass\n    os._exit(0)",
}


@pytest.mark.parametrize("attack", TAMPERING)
def test_whatever_code_does_to_the_exchange_is_its_own_failure(attack: str) -> None:
    first, second = results(TAMPERING[attack], (), (), timeout_s=20)
    assert "returned" not in (first.end, second.end)
