"""JavaScript and shell code in the sandbox: what ordinary code gives, and what every attack comes to."""

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from answers import mark_code

from evalq.definitions.graders.code import FunctionOutput
from evalq.grading.sandbox.escape_test import Bait, check_ordinary_code, lay_bait, processes_with
from evalq.grading.sandbox.isolation import find_bwrap
from evalq.grading.sandbox.program import CallResult, FunctionCall, Program
from evalq.grading.sandbox.running import run
from evalq.records import Executor


@pytest.fixture(scope="module", autouse=True)
def _sandbox() -> None:
    """Every test here needs one; only CI must have it."""
    trouble = "bubblewrap is not installed"
    if find_bwrap(os.environ.get("PATH")):
        trouble = check_ordinary_code(partial(run, isolation="strong"))
    if trouble:
        assert os.environ.get("CI") != "true", trouble
        pytest.skip(f"no sandbox on this machine: {trouble}")


@pytest.fixture(scope="module")
def bait() -> Iterator[Bait]:
    with lay_bait() as laid:
        yield laid


def result(
    executor: Executor, source: str, *args: Any, function: str = "f", timeout_s: float = 20
) -> CallResult:
    if executor == "javascript" and shutil.which("node") is None:
        assert os.environ.get("CI") != "true", "node is not installed"
        pytest.skip("node is not installed")
    program = Program(source, function, (FunctionCall(args),), timeout_s, executor=executor)
    (one,) = run(program, isolation="strong").results
    return one


@pytest.mark.parametrize(
    ("source", "args", "value"),
    [
        ("function f(a, b) { return {sum: a + b}; }", (1, 2), {"sum": 3}),
        ("const f = async (a) => [a, new Set([1]), null];", ("é",), ["é", [1], None]),
        ("export default function f() { return 10n; }", (), 10),
        ("module.exports = { f: (x) => x.length };", ([1, 2],), 2),
        ("const path = require('path'); var f = (a) => path.basename(a);", ("/a/b",), "b"),
        ("function f() {}", (), None),
    ],
)
def test_a_javascript_function_returns_its_value(source: str, args: Any, value: Any) -> None:
    assert result("javascript", source, *args) == CallResult(
        "returned", value, wall_ms=pytest.approx(0, abs=1e9)
    )


@pytest.mark.parametrize(
    ("source", "end", "raised"),
    [
        ("function f() { throw new TypeError('no'); }", "raised", ("TypeError", "Error")),
        ("const f = () => Promise.reject('no');", "raised", ("string",)),
        ("function f( {", "unloadable", ("SyntaxError", "Error")),
        ("function g() {}", "unloadable", ("ReferenceError", "Error")),
        ("const f = () => NaN;", "unreadable", ("TypeError", "Error")),
        ("const f = () => process.exit(3);", "died", ()),
        ("require('fs').writeSync(3, '{\"value\"'); process.exit(0);", "died", ()),
    ],
)
def test_javascript_that_fails_says_how(source: str, end: str, raised: tuple[str, ...]) -> None:
    found = result("javascript", source)
    assert (found.end, found.raised) == (end, raised)


@pytest.mark.parametrize(
    ("source", "args", "function", "value"),
    [
        ("f() { echo $(($1 + $2)); }", (1, 2), "f", "3"),
        ('function f { printf "%s|" "$@"; }', ("a b", "é", True, [1]), "f", "a b|é|true|[1]|"),
        ("echo $# $2\nexit 0", ("x", "y"), "", "2 y"),
        ("f() { cat; printf done; }", (), "f", "done"),
    ],
)
def test_a_shell_function_returns_what_it_prints(source: str, args: Any, function: str, value: str) -> None:
    found = result("shell", source, *args, function=function)
    assert (found.end, found.value) == ("returned", value)


@pytest.mark.parametrize(
    ("source", "end", "message"),
    [
        ("f() { echo half; echo why >&2; return 3; }", "raised", "exit code 3: why"),
        ("f() { if; }", "unloadable", "the code defines no function 'f'"),
        ("exit 0", "unloadable", "the code ended with exit code 0 before it could be called"),
        ("f() { kill -9 $$; }", "died", "the process was ended by SIGKILL"),
        ("f() { yes; }", "unreadable", "the value is larger than 256 KB"),
    ],
)
def test_shell_code_that_fails_says_how(source: str, end: str, message: str) -> None:
    found = result("shell", source)
    assert (found.end, found.message) == (end, message)


def test_an_answer_in_each_language_is_graded() -> None:
    sandbox = partial(run, isolation="strong")
    answers = {
        "javascript": "```js\nconst twice = (n) => 2 * n;\n```",
        "shell": "Here:\n```bash\ntwice() { echo $((2 * $1)); }\n```",
    }
    for executor, answer in answers.items():
        cases = [{"args": [4], "expected": 8}, {"args": [5], "expected": 11}]
        grader = FunctionOutput.model_validate(
            {"type": "function_output", "executor": executor, "function_name": "twice", "test_cases": cases}
        )
        mark = mark_code(grader, answer, sandbox)
        assert (mark.score, mark.details["executor"]) == (0.5, executor)


@dataclass(frozen=True)
class Attack:
    """What is tried in each language, and how to tell that it failed."""

    javascript: str
    shell: str
    is_contained: Callable[[CallResult, Bait, str], bool]
    timeout_s: float = 20


def ends_in(*ends: str) -> Callable[[CallResult, Bait, str], bool]:
    return lambda found, _bait, _token: found.end in ends


def saw_nothing(found: CallResult, bait: Bait, _token: str) -> bool:
    return bait.secret not in f"{found.value}{found.message}{found.output}"


def reached_nobody(found: CallResult, bait: Bait, _token: str) -> bool:
    return found.value != "connected" and not bait.had_visitors()


def left_no_process(found: CallResult, _bait: Bait, token: str) -> bool:
    return found.value == "left" and not processes_with(token)


def left_no_file(found: CallResult, bait: Bait, token: str) -> bool:
    return found.end == "returned" and not bait.left_files(token)


def killed_nobody(_found: CallResult, bait: Bait, _token: str) -> bool:
    return bait.decoy.poll() is None


def counted_at_most(most: int) -> Callable[[CallResult, Bait, str], bool]:
    return lambda found, _bait, _token: found.end != "returned" or int(found.value) <= most


READ_ALL = "const fs = require('fs'); const cp = require('child_process');\n"
ATTACKS = {
    "environment": Attack(
        "const f = () => JSON.stringify(process.env);",
        "f() { env; tr '\\0' '\\n' < /proc/$PPID/environ; return 0; }",
        saw_nothing,
    ),
    "other environments": Attack(
        READ_ALL + "const f = () => { let all = ''; try { for (const p of fs.readdirSync('/proc')) "
        "all += fs.readFileSync(`/proc/${p}/environ`); } catch (e) { all += e; } return all; };",
        "f() { cat /proc/*/environ 2>&1 | tr '\\0' '\\n'; }",
        saw_nothing,
    ),
    "home file": Attack(
        READ_ALL + "const f = (bait) => { try { return String(fs.readFileSync(bait.file)); } "
        "catch (e) { return String(e); } };",
        'f() { cat "$2" 2>&1; return 0; }',
        saw_nothing,
    ),
    "tcp": Attack(
        "const f = (bait) => new Promise((done) => { try { const s = require('net').connect(bait.ports[0], "
        "'127.0.0.1', () => done('connected')); s.on('error', (e) => done(String(e))); } "
        "catch (e) { done(String(e)); } });",
        'f() { (exec 5<>"/dev/tcp/127.0.0.1/$3") 2>/dev/null && printf connected; return 0; }',
        reached_nobody,
    ),
    "fork bomb": Attack(
        READ_ALL
        + "const f = () => { let n = 0; try { while (n < 100) { const p = cp.spawn('/usr/bin/sleep', "
        "['30']); if (!p.pid) break; n += 1; } } catch (e) {} return n; };",
        "f() { bomb() { bomb | bomb & }; bomb; sleep 30; }",
        counted_at_most(16),
        timeout_s=3,
    ),
    "10 GB": Attack(
        "const f = () => { const kept = []; for (let i = 0; i < 160; i += 1) "
        "kept.push(Buffer.alloc(1 << 26, 1)); return kept.length; };",
        'f() { local x=xxxxxxxxxxxxxxxx; while true; do x="$x$x"; done; }',
        ends_in("raised", "died", "out_of_memory"),
    ),
    "a heap without end": Attack(
        "const f = () => { const a = []; for (;;) a.push(new Array(1000).fill(a.length)); };",
        "f() { local -a a; while true; do a+=({1..1000}); done; }",
        ends_in("raised", "died", "out_of_memory", "timed_out"),
        timeout_s=5,
    ),
    "endless loop": Attack(
        "const f = () => { for (;;); };", "f() { while true; do :; done; }", ends_in("timed_out"), timeout_s=1
    ),
    "deaf loop": Attack(
        "const f = () => { for (const s of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGALRM']) "
        "process.on(s, () => {}); for (;;); };",
        "f() { trap '' TERM INT HUP ALRM XCPU; while true; do :; done; }",
        ends_in("timed_out"),
        timeout_s=1,
    ),
    "1 GB of output": Attack(
        READ_ALL + "const f = () => { for (let i = 0; i < 1024; i += 1) "
        "fs.writeSync(1, Buffer.alloc(1 << 20, 65)); };",
        "f() { yes >&2; }",
        ends_in("too_much_output"),
    ),
    "surviving daemon": Attack(
        READ_ALL + "const f = (bait) => { cp.spawn('/usr/bin/bash', ['-c', 'sleep 60', bait.token], "
        "{detached: true, stdio: 'ignore'}).unref(); return 'left'; };",
        'f() { setsid bash -c "sleep 60" "$1" >/dev/null 2>&1 3>&- & disown -a; printf left; }',
        left_no_process,
    ),
    "host write": Attack(
        READ_ALL + "const f = (bait) => { for (const d of [bait.folder, bait.home, '/usr', '/etc', '/']) "
        "try { fs.writeFileSync(`${d}/${bait.token}`, 'x'); } catch (e) {} return 1; };",
        'f() { for d in "$4" "$5" /usr /etc /; do echo x > "$d/$1"; done 2>/dev/null; return 0; }',
        left_no_file,
    ),
    "filling tmp": Attack(
        READ_ALL + "const f = () => { let n = 0; try { for (; n < 128; n += 1) fs.writeFileSync(`/tmp/${n}`, "
        "Buffer.alloc(1 << 20)); } catch (e) {} return n; };",
        "f() { local n=0; while [ $n -lt 128 ] && head -c 1048576 /dev/zero > /tmp/$n; do n=$((n + 1)); done "
        "2>/dev/null; echo $n; }",
        counted_at_most(16),
    ),
    "kill of the parent": Attack(
        "const f = (bait) => { for (const v of [bait.decoy, process.ppid, -1]) for (const s of ['SIGKILL', "
        "'SIGSTOP', 'SIGTERM']) try { process.kill(v, s); } catch (e) {} return 1; };",
        'f() { for s in KILL STOP TERM; do kill -$s "$6"; kill -$s $PPID; kill -$s -- -1; '
        "done; } 2>/dev/null",
        killed_nobody,
    ),
    "nested namespace": Attack(
        READ_ALL
        + "const f = () => cp.spawnSync('/usr/bin/unshare', ['--user', 'true']).status === 0 ? 1 : 0;",
        "f() { unshare --user true 2>/dev/null && echo 1 || echo 0; }",
        counted_at_most(0),
    ),
    "forged result": Attack(
        READ_ALL + "const f = () => { for (let d = 0; d < 64; d += 1) try { fs.writeSync(d, "
        "'ready 3.99.0\\n' + '0'.repeat(32) + '\\n[]'); } catch (e) {} process.exit(0); };",
        "exec 2>/dev/null; for d in {0..63}; do printf 'ready 3.99.0\\n%032d\\n[]' 0 >&$d; done; exit 0",
        ends_in("died", "unloadable", "unreadable"),
    ),
}


def words_for(executor: Executor, bait: Bait, token: str) -> tuple[Any, ...]:
    """What the attack is told: all in one object, or in the order $1 to $6."""
    known = bait.describe(token)
    if executor == "javascript":
        return (known,)
    port, decoy = str(known["ports"][0]), str(known["decoy"])
    return token, known["file"], port, known["folder"], known["home"], decoy


@pytest.mark.parametrize("executor", ["javascript", "shell"])
@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_gets_out(bait: Bait, name: str, executor: Executor) -> None:
    attack, token = ATTACKS[name], f"{bait.name}-{secrets.token_hex(8)}"
    words = words_for(executor, bait, token)
    source = attack.javascript if executor == "javascript" else attack.shell
    found = result(executor, source, *words, timeout_s=attack.timeout_s)
    assert attack.is_contained(found, bait, token), found
    assert found.end != "unloadable" or name == "forged result", found
    honest = "const f = () => 'fine';" if executor == "javascript" else "f() { printf fine; }"
    assert result(executor, honest).value == "fine"


@pytest.mark.parametrize("name", ["home file", "tcp", "host write"])
@pytest.mark.parametrize("executor", ["javascript", "shell"])
def test_an_attack_that_does_succeed_is_seen(bait: Bait, name: str, executor: Executor) -> None:
    """Without namespaces these work: a check that could not fail would say nothing."""
    attack, token = ATTACKS[name], f"{bait.name}-{secrets.token_hex(8)}"
    words = words_for(executor, bait, token)
    source = attack.javascript if executor == "javascript" else attack.shell
    program = Program(source, "f", (FunctionCall(words),), 20, executor=executor)
    (found,) = run(program, isolation="weak").results
    assert not attack.is_contained(found, bait, token), found
