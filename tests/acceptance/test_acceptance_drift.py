"""Drift as its users meet it: by hand, from beat, from a kept fleet, with alerts at a local webhook."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psycopg
import pytest
from patience import PATIENCE_S

from evalq.engines.embedded import attach
from evalq.engines.processes import wait_until

# A judge of accuracy 1 is always right: what varies here is what the tests change, not chance.
SETTINGS = """\
fleet: {processes: 1, slots: 16, lease_s: 4}
judges:
  steady:
    {provider: simulated, model: steady, accuracy: 1.0, time_scale: 0, price: {input: 1, output: 5}}
  fading:
    {provider: simulated, model: fading, accuracy: ACCURACY, time_scale: 0, price: {input: 1, output: 5}}
  mute:
    {provider: simulated, model: mute, misbehaviour: {empty: 1}, time_scale: 0, price: {input: 1, output: 5}}
drift: DRIFT
alerts:
  - webhook: {url_env: HOOK_URL, headers_env: {Authorization: HOOK_TOKEN}, allow_private: true}
"""
BY_BEAT = "[{task: capitals, eval_set: dev-30, judges: [steady, fading], every_s: 1}]"
BY_FLEET = "[{task: capitals, eval_set: dev-12, judges: [steady], every_s: 1}]"
TOKEN = "Bearer hook-s3cret"
VERIFY = ("verify", "--task", "capitals", "--eval-set", "dev-30")


def settings(accuracy: float, drift: str) -> str:
    return SETTINGS.replace("ACCURACY", str(accuracy)).replace("DRIFT", drift)


@pytest.fixture(scope="module")
def hook() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a webhook, and what it has got."""
    got: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            got.append({**body, "token": self.headers["authorization"]})
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook", got
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def kept(new_project: Callable[..., Any], hook: tuple[str, Any]) -> Iterator[Any]:
    """A project whose engines and fleet are kept, with a schedule and nobody running beat."""
    project = new_project(settings(1.0, BY_FLEET), HOOK_URL=hook[0], HOOK_TOKEN=TOKEN)
    project.write_cases("dev-30", 30)
    up = project.run("up")
    assert up.returncode == 0, up.stderr
    yield project
    assert project.run("down").returncode == 0


@pytest.fixture(scope="module")
def warmed(kept: Any) -> Any:
    """The same after four checks by hand."""
    codes = [kept.run(*VERIFY, "--judges", "fading", "-q") for _ in range(4)]
    assert [(done.returncode, done.stdout, done.stderr) for done in codes] == [(3, "", "")] * 4
    return kept


def test_after_four_checks_a_steady_judge_is_fine(warmed: Any) -> None:
    done = warmed.run(*VERIFY, "--judges", "fading")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("OK fading on capitals/dev-30: 100.0% → 100.0% (+0.0 pp), n=30")
    assert "next  evalq drift status --task capitals" in done.stderr


def test_a_broken_judge_is_inconclusive(warmed: Any) -> None:
    document = warmed.bake(*VERIFY, "--judges", "mute", code=3)
    (check,) = document["checks"]
    assert (check["verdict"], check["numbers"]["detail"]) == ("inconclusive", "30/30 empty outputs")


def test_a_judge_that_fades_is_confirmed_told_and_shown(warmed: Any, hook: tuple[str, Any]) -> None:
    warmed.write("evalq.yaml", settings(0.3, BY_FLEET))
    done = warmed.run(*VERIFY, "--judges", "fading", "-q")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("ALERT fading on capitals/dev-30: 100.0% → ")
    assert wait_until(lambda: any(one.get("judge") == "fading" for one in hook[1]), timeout_s=PATIENCE_S)
    (told,) = [one for one in hook[1] if one.get("judge") == "fading"]
    assert (told["kind"], told["token"]) == ("drift", TOKEN)
    assert "P0 DRIFT" in told["text"]
    alerts = warmed.bake("alerts")
    assert TOKEN not in json.dumps(alerts)
    (row,) = [one for one in alerts if one["document"].get("judge") == "fading"]
    assert [(sent["channel"], sent["state"]) for sent in row["deliveries"]] == [("webhook", "sent")]
    assert "P0 DRIFT: fading on capitals/dev-30 dropped" in warmed.run("alerts").stdout


def test_a_run_accepted_is_what_the_sequential_rule_holds_the_next_against(warmed: Any) -> None:
    ask = warmed.run(*VERIFY, "--judges", "steady", "--rule", "sequential")
    assert ask.returncode == 3
    run_id = ask.stdout.partition("evalq drift accept ")[2].split()[0]
    accepted = warmed.run("drift", "accept", run_id)
    assert accepted.stdout == f"run {run_id} is the baseline of steady on capitals/dev-30: 100.0%, n=30\n"
    document = warmed.bake(*VERIFY, "--judges", "steady", "--rule", "sequential")
    assert document["checks"][0]["numbers"]["weeks"] == 1
    status = warmed.bake("drift", "status", "--task", "capitals")
    found = {(one["judge"], one["eval_set"]): one for one in status["judges"]}
    assert found["steady", "dev-30"]["baseline"]["run_id"] == int(run_id)
    assert found["steady", "dev-30"]["detector"]["weeks"] == 1
    assert status["schedules"][0]["schedule"] == "every 1 s"
    assert f"baseline run {run_id}" in warmed.run("drift", "status").stdout


def test_a_kept_fleet_runs_the_schedule_without_beat(kept: Any) -> None:
    checks = "SELECT count(*) FROM drift_ticks WHERE schedule = 'capitals/dev-12/steady/confirm'"
    assert wait_until(lambda: kept.rows(checks)[0][0] >= 2, timeout_s=PATIENCE_S, every_s=0.2)


def test_every_channel_can_be_tried(kept: Any, hook: tuple[str, Any]) -> None:
    done = kept.run("alerts", "test")
    assert (done.returncode, done.stdout) == (0, "✓ webhook: arrived\n")
    assert hook[1][-1]["kind"] == "test"


def test_verify_says_what_it_needs(kept: Any) -> None:
    done = kept.run("verify", "--task", "capitals")
    assert done.returncode == 2
    assert "name a set with --eval-set, or add --smoke" in done.stderr


def test_a_judge_that_fades_under_beat_is_told_once_and_a_steady_one_never(
    new_project: Callable[..., Any],
    tmp_path_factory: pytest.TempPathFactory,
    hook: tuple[str, list[dict[str, Any]]],
) -> None:
    hook[1].clear()
    with attach(tmp_path_factory.mktemp("e") / "d") as engines:
        urls = {"EVALQ_DATABASE_URL": engines.database_url, "EVALQ_BROKER_URL": engines.broker_url}
        project = new_project(settings(1.0, BY_BEAT), HOOK_URL=hook[0], HOOK_TOKEN=TOKEN, **urls)
        project.write_cases("dev-30", 30)
        assert project.run("schema", "apply").returncode == 0
        fleet = [
            project.start("worker", "--loglevel", "WARNING"),
            project.start("beat", "--loglevel", "WARNING"),
        ]
        with psycopg.connect(engines.database_url, autocommit=True) as connection:

            def decided(verdict: str) -> int:
                query = (
                    "SELECT count(*) FROM drift_checks c JOIN runs r ON r.id = c.run_id "
                    "WHERE judge = 'fading' AND decided_at IS NOT NULL AND verdict = %s"
                )
                row = connection.execute(query, [verdict]).fetchone()
                return int(row[0]) if row else 0

            assert wait_until(lambda: decided("ok") >= 1, timeout_s=PATIENCE_S, every_s=0.2)
            assert hook[1] == []
            project.write("evalq.yaml", settings(0.2, BY_BEAT))
            assert wait_until(lambda: decided("alert") >= 2, timeout_s=PATIENCE_S, every_s=0.2)
            assert wait_until(lambda: bool(hook[1]), timeout_s=PATIENCE_S)
            known = connection.execute("SELECT document ->> 'judge' FROM alerts").fetchall()
        for command in reversed(fleet):
            command.process.terminate()
        assert [command.end() for command in fleet] == [0, 0]
    assert known == [("fading",)]
    assert [(one["kind"], one["judge"]) for one in hook[1]] == [("drift", "fading")]
