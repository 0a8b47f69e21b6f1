"""Keys, prompts and answers stay where they belong: in no log, row, message or page, however it fails."""

import base64
import binascii
import json
import re
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest
import redis
from patience import PATIENCE_S

from evalq.engines.embedded import Engines, attach
from evalq.engines.processes import wait_until
from evalq.engines.simulator.process import Simulator, running_simulator

# Every key has both: a part of one would be noticed too.
KEY_MARKS = ("sk-canary", "5f3a9e17c2")
PROMPT_MARK, ANSWER_MARK = "zanzibar", "mombasa"
TASK = f"""\
name: capitals
system_prompt: Answer with one word, {PROMPT_MARK}.
user_template: 'What is the capital of {{country}}, {PROMPT_MARK}? Say "{ANSWER_MARK} {{country}}".'
scoring:
  mode: llm_judge
  judge_model: marker
  pass_rule: exact_match
  rubric: "Expected: {{expected}}. Answer: {{answer}}. Reply with VALID or INVALID."
max_tokens: 32
"""
FUNCTION = """\
def capital(inputs):
    raise ValueError(f"zanzibar: {inputs}")
"""
PROGRAM = "import sys; sys.exit(sys.stdin.read())"
# One call of each case fails in each of these ways before it is answered.
TROUBLE = {"schedule": ["429:ms=100", "503", "malformed", "ok"]}
AUTH = "someone:sk-canary-flower-5f3a9e17c2"
BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-3")
OF_ENVIRONMENT, OF_FILE = ("ANTHROPIC_API_KEY", "GPT_KEY"), ("GEMINI_API_KEY", "XAI_API_KEY", "RAG_KEY")
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'evalq'"
ENCODED = re.compile(r"[A-Za-z0-9+/=]{16,}")


def key(name: str) -> str:
    return f"{KEY_MARKS[0]}-{name.lower()}-{KEY_MARKS[1]}"


def judges(sim: Simulator) -> dict[str, dict[str, Any]]:
    """Every protocol with a key, one whose key is refused, two programs that fail with the prompt in hand."""
    openai = {"provider": "openai", "base_url": sim.openai_url, "api_key_env": "GPT_KEY"}
    url = f"{sim.openai_url}/chat/completions"
    found: dict[str, dict[str, Any]] = {
        "claude": {"provider": "anthropic", "model": "claude", "base_url": sim.url},
        "gemini": {"provider": "google", "model": "gemini", "base_url": sim.url},
        "grok": {"provider": "xai", "model": "grok", "base_url": sim.openai_url},
        "rag": {
            "provider": "http",
            "url": url,
            "headers_env": {"x-api-key": "RAG_KEY"},
            "body": {"model": "rag", "messages": [{"role": "user", "content": "{user}"}]},
            "answer": "$.choices[0].message.content",
        },
        "crash": {"provider": "command", "command": [sys.executable, "-c", PROGRAM]},
        "broken": {"provider": "python", "callable": "answers:capital"},
        **{name: {**openai, "model": name} for name in ("gpt", "locked", "refused", "marker")},
    }
    return {name: {**judge, "price": {"input": 1, "output": 5}} for name, judge in found.items()}


ON_TRIAL = ("claude", "gpt", "gemini", "grok", "rag", "crash", "broken", "locked", "refused")
PROFILES: dict[str, Any] = {
    "claude": {**TROUBLE, "require_key": key("ANTHROPIC_API_KEY")},
    "gpt": {**TROUBLE, "require_key": key("GPT_KEY")},
    "gemini": {**TROUBLE, "require_key": key("GEMINI_API_KEY")},
    "grok": {**TROUBLE, "require_key": key("XAI_API_KEY")},
    "rag": {**TROUBLE, "require_key": key("RAG_KEY")},
    "locked": {"require_key": "another"},
    "refused": {"faults": {"400": 1}},
    "marker": {"answer": "verdict", "valid": 1},
}


@dataclass
class Evidence:
    """Everything that was written or said, by where; each text must be free of keys."""

    project: Any
    document: dict[str, Any]
    queued: str
    logs: dict[str, str] = field(default_factory=dict)
    broker: dict[str, str] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="module")
def sim() -> Iterator[Simulator]:
    """A provider that wants the right keys and makes trouble."""
    with running_simulator({"profiles": PROFILES}) as simulator:
        yield simulator


@pytest.fixture(scope="module")
def project(new_project: Callable[..., Any], sim: Simulator) -> Any:
    """Keys in the environment and in the file, marked words in prompts and answers."""
    project = new_project(json.dumps({"judges": judges(sim)}))
    config = project.folder / "home" / ".config"
    project.settings = {"XDG_CONFIG_HOME": str(config), **{name: key(name) for name in OF_ENVIRONMENT}}
    project.write("home/.config/evalq/.env", "".join(f"{name}={key(name)}\n" for name in OF_FILE))
    (config / "evalq" / ".env").chmod(0o600)
    project.write("tasks/capitals.yaml", TASK)
    project.write("answers.py", FUNCTION)
    project.write_cases("dev-3", 3)
    return project


@pytest.fixture(scope="module")
def evidence(project: Any) -> Iterator[Evidence]:
    """A bake-off queued before anybody works, run by a worker that logs all it can while Flower looks on."""
    keys = project.settings
    with attach(project.data_dir) as engines, listening(engines) as heard:
        urls = {"EVALQ_DATABASE_URL": engines.database_url, "EVALQ_BROKER_URL": engines.broker_url}
        project.settings = {**keys, **urls, "EVALQ_FLOWER_AUTH": AUTH}
        assert project.run("schema", "apply").returncode == 0
        assert project.run(*BAKE, "--judges", ",".join(ON_TRIAL), "--detach").returncode == 0
        queued = dump(engines.broker_url)
        flower, port = start_flower(project)
        worker = project.start("worker", "-c", "16", "--loglevel", "DEBUG")
        document = project.bake("watch", "last", code=3)
        found = Evidence(project, document, queued)
        found.pages = read_pages(port)
        for process in (worker.process, flower.process):
            process.terminate()
            process.wait(timeout=PATIENCE_S)
        project.settings = keys
        assert project.run(*BAKE, "--judges", "claude,locked").returncode == 3  # by the embedded fleet
        found.broker = {"queued": queued, "after": dump(engines.broker_url), "events": heard()}
        collect(found)
        yield found
    assert project.is_quiet()


def collect(found: Evidence) -> None:
    """Logs and what the reading commands say."""
    project = found.project
    files = [*project.data_dir.glob("logs/**/*"), *(c.stderr for c in project.commands)]
    files += [command.stdout for command in project.commands]
    found.logs = {str(file): file.read_text("utf-8", "replace") for file in files if file.is_file()}
    reading = ("inspect last", "inspect @-2 --show-failures", "inspect @-2 --calls", "doctor", "judges")
    for command in (*reading, "limits", "cost", "keys list"):
        done = project.run(*command.split(), "--json")
        assert done.returncode == 0, done.stderr
        found.outputs[command] = done.stdout + done.stderr


@contextmanager
def listening(engines: Engines) -> Iterator[Callable[[], str]]:
    """Hears everything that is published at the broker while the block runs."""
    with redis.Redis.from_url(engines.broker_url) as client, client.pubsub() as channel:
        channel.psubscribe("*")
        said = iter(lambda: channel.get_message(timeout=1), None)
        yield lambda: opened("\n".join(str(message) for message in said))


def dump(broker_url: str) -> str:
    """Every key of the broker with its value, whatever its type."""
    with redis.Redis.from_url(broker_url, decode_responses=True) as client:
        read: dict[str, Callable[[str], Any]] = {
            "string": client.get,
            "list": lambda name: client.lrange(name, 0, -1),
            "hash": client.hgetall,
            "set": client.smembers,
            "zset": lambda name: client.zrange(name, 0, -1, withscores=True),
            "stream": client.xrange,
        }
        return opened("\n".join(f"{name}: {read[client.type(name)](name)}" for name in client.scan_iter()))


def opened(text: str) -> str:
    """The text, and what is wrapped in it: the bodies of messages are base64."""
    return "\n".join([text, *(_decoded(run) for run in ENCODED.findall(text))])


def _decoded(run: str) -> str:
    try:
        return base64.b64decode(run, validate=True).decode("utf-8", "replace")
    except binascii.Error:
        return ""


def start_flower(project: Any) -> tuple[Any, int]:
    """Flower on a free port, ready to listen to the workers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flower = project.start("flower", "--port", str(port))
    assert wait_until(lambda: get(port, "/api/workers", AUTH)[0] == 200, timeout_s=PATIENCE_S)
    return flower, port


def get(port: int, path: str, auth: str = "") -> tuple[int, str]:
    """A page's status and text; 0 while nobody listens."""
    header = {"Authorization": f"Basic {base64.b64encode(auth.encode()).decode()}"} if auth else {}
    try:
        with urlopen(Request(f"http://127.0.0.1:{port}{path}", headers=header), timeout=PATIENCE_S) as reply:
            return reply.status, reply.read().decode()
    except HTTPError as refusal:
        with refusal:
            return refusal.code, ""
    except URLError:
        return 0, ""


def read_pages(port: int) -> dict[str, str]:
    """What Flower shows to whoever has the password; nothing to anybody else."""
    paths = ("/api/workers?refresh=1", "/api/tasks", "/workers", "/tasks", "/metrics")
    assert [get(port, path)[0] for path in paths] == [401] * len(paths)
    pages = {path: get(port, path, AUTH) for path in paths}
    assert {path: status for path, (status, _) in pages.items()} == dict.fromkeys(paths, 200)
    return {path: text for path, (_, text) in pages.items()}


def places_of(marks: tuple[str, ...], texts: dict[str, str]) -> list[str]:
    """Where one of the marks occurs."""
    return [place for place, text in texts.items() if any(mark in text for mark in marks)]


def rows_of(project: Any) -> dict[str, str]:
    """Every table as text."""
    tables = [name for (name,) in project.rows(TABLES)]
    return {name: str(project.rows(f'SELECT t::text FROM "{name}" t')) for name in tables}


def test_the_keys_were_used_and_every_way_to_fail_was_met(evidence: Evidence) -> None:
    runs = {run["judge"]: run for run in evidence.document["runs"]}
    answered = ("claude", "gpt", "gemini", "grok", "rag")
    assert [runs[name]["n_pass"] for name in answered] == [3] * len(answered)
    assert runs["locked"]["excluded"].startswith("paused")
    kinds = "SELECT DISTINCT fault_kind FROM call_journal WHERE fault_kind IS NOT NULL ORDER BY 1"
    met = [kind for (kind,) in evidence.project.rows(kinds)]
    assert met == ["ambiguous", "fatal", "permanent", "rate", "transient"]


def test_no_key_is_in_a_log_or_in_what_a_command_says(evidence: Evidence) -> None:
    assert len(evidence.logs) > 8
    assert places_of(KEY_MARKS, evidence.logs | evidence.outputs) == []


def test_no_key_is_in_the_database(evidence: Evidence) -> None:
    rows = rows_of(evidence.project)
    assert PROMPT_MARK in rows["definitions"]
    assert ANSWER_MARK in rows["completions"]
    assert places_of(KEY_MARKS, rows) == []


def test_no_prompt_or_answer_is_in_a_log_or_in_the_journal(evidence: Evidence) -> None:
    debugged = [text for text in evidence.logs.values() if " DEBUG " in text]
    assert debugged
    # What a user's own program or function says of its failure is kept, whatever it says.
    others = "SELECT j::text FROM call_journal j WHERE provider NOT IN ('command', 'python')"
    journal = str(evidence.project.rows(others))
    assert "RESOURCE_EXHAUSTED" in journal
    assert places_of((PROMPT_MARK, ANSWER_MARK), evidence.logs | {"journal": journal}) == []


def test_messages_hold_ids_only(evidence: Evidence) -> None:
    assert "calls.anthropic" in evidence.queued
    assert "run_case" in evidence.queued
    assert "task-received" in evidence.broker["events"]
    assert places_of((*KEY_MARKS, PROMPT_MARK, ANSWER_MARK), evidence.broker) == []


def test_flower_needs_its_password_and_shows_no_secret(evidence: Evidence) -> None:
    shown = {task["name"]: task for task in json.loads(evidence.pages["/api/tasks"]).values()}
    assert {name for name in shown if " claude " in name} == {f"1 claude c0{n}" for n in range(3)}
    assert (shown["1 claude c00"]["state"], shown["1 claude c00"]["result"]) == ("SUCCESS", "passed")
    errored = shown["1 refused c00"]
    assert (errored["state"], errored["exception"]) == ("FAILURE", "errored: call_permanent")
    assert "reap" not in shown
    assert 'task="judge:claude"' in evidence.pages["/metrics"]
    assert "c00" not in evidence.pages["/metrics"]
    assert "calls.anthropic" in evidence.pages["/api/workers?refresh=1"]
    assert places_of((*KEY_MARKS, PROMPT_MARK, ANSWER_MARK), evidence.pages) == []
