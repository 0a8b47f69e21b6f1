"""The embedded engines and the fleet: real servers, real kills, nothing left running."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import psycopg
import pytest
import redis
from patience import PATIENCE_S

import evalq
from evalq.engines.embedded import Engines, attach, describe, stop_engines
from evalq.engines.fleet import reap_stale_fleets, start_fleet, worker_argv
from evalq.engines.processes import identify, wait_until
from evalq.errors import InputError, Refused, Unreachable

ROOT = Path(evalq.__file__).parents[1]
LEASH = ROOT / "evalq" / "engines" / "die_with_parent.py"
IMPORTS = (
    "import os, sys, time; from pathlib import Path; "
    "from evalq.engines.embedded import attach; from evalq.engines.fleet import start_fleet; "
)
ATTACH = IMPORTS + "engines = attach(Path(sys.argv[1]))"


@pytest.fixture(scope="session")
def initialised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("engines") / "home"
    home.mkdir(mode=0o700)
    attach(home / ".evalq").detach()
    return home / ".evalq"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, initialised: Path) -> Iterator[Engines]:
    """Engines for the tests that only look; a key in our environment, which is not theirs to know."""
    folder = tmp_path_factory.mktemp("running") / "data"
    shutil.copytree(initialised, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOME_API_KEY", "sk-secret")
        engines = attach(folder)
    yield engines
    engines.detach()


@pytest.fixture
def data_dir(tmp_path: Path, initialised: Path) -> Iterator[Path]:
    """A folder that was used before, copied, as from a backup."""
    folder = tmp_path / "data"
    shutil.copytree(initialised, folder)
    yield folder
    stop_engines(folder, force=True)


@pytest.fixture
def fresh_dir(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "fresh"
    yield folder
    stop_engines(folder, force=True)


def pids(folder: Path) -> dict[str, int]:
    status = describe(folder)
    return {server.name: server.pid for server in status.servers if server.running} if status else {}


def is_gone(pid: int) -> bool:
    return wait_until(lambda: identify(pid) is None, timeout_s=PATIENCE_S)


def query(engines: Engines, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(engines.database_url) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def broker(engines: Engines) -> "redis.Redis":
    return redis.Redis.from_url(engines.broker_url, decode_responses=True)


def leave_traces(engines: Engines) -> None:
    query(engines, "CREATE TABLE trace AS SELECT 42 AS answer")
    with broker(engines) as client:
        client.set("trace", "42")


def assert_traces(engines: Engines) -> None:
    assert query(engines, "SELECT answer FROM trace") == [(42,)]
    with broker(engines) as client:
        assert client.get("trace") == "42"


def command(code: str, *arguments: object, cwd: Path = ROOT) -> "subprocess.Popen[str]":
    """Another evalq command, as a process of its own."""
    argv = [sys.executable, "-c", code, *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(argv, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def kill(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()


def test_started_engines_answer(running: Engines) -> None:
    assert query(running, "SELECT 1, current_database()") == [(1, "evalq")]
    assert query(running, "SHOW fsync") == [("on",)]
    with broker(running) as client:
        assert client.ping()
        assert client.config_get("appendonly") == {"appendonly": "yes"}
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


def test_commands_share_the_engines_and_the_last_stops_them(data_dir: Path) -> None:
    first, second = attach(data_dir), attach(data_dir)
    running = pids(data_dir)
    first.detach()
    first.detach()
    assert second.database_url == first.database_url
    assert query(second, "SELECT 1") == [(1,)]
    assert pids(data_dir) == running
    second.detach()
    assert pids(data_dir) == {}
    assert all(is_gone(pid) for pid in running.values())


def test_commands_that_start_together_start_one_pair(fresh_dir: Path) -> None:
    ask = f"{ATTACH}; print(engines.broker_url, engines.database_url); sys.stdin.read(); engines.detach()"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-c", ask, str(fresh_dir)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    commands = [subprocess.Popen(argv, env=env, text=True, **pipes) for _ in range(3)]
    urls = {process.stdout.readline() for process in commands}
    assert len(urls) == 1
    running = pids(fresh_dir)
    for process in commands:
        process.communicate("")
    assert len(running) == 2
    assert all(is_gone(pid) for pid in running.values())


def test_only_the_wanted_engine_is_started(data_dir: Path) -> None:
    with attach(data_dir, want=("valkey",)) as engines:
        assert set(pids(data_dir)) == {"valkey"}
        assert engines.database_url == ""
        with attach(data_dir) as both:
            assert both.broker_url == engines.broker_url
            assert query(both, "SELECT 1") == [(1,)]


def test_kept_engines_run_until_they_are_stopped(data_dir: Path) -> None:
    attach(data_dir, keep=True).detach()
    running = pids(data_dir)
    attach(data_dir).detach()
    assert len(running) == 2
    assert pids(data_dir) == running
    assert describe(data_dir).kept
    assert stop_engines(data_dir)
    assert all(is_gone(pid) for pid in running.values())
    assert not stop_engines(data_dir)


def test_engines_in_use_are_stopped_only_by_force(data_dir: Path) -> None:
    engines = attach(data_dir)
    with pytest.raises(Refused, match=str(os.getpid())):
        stop_engines(data_dir)
    assert query(engines, "SELECT 1") == [(1,)]
    assert stop_engines(data_dir, force=True)
    engines.detach()


def test_data_survives_a_restart(data_dir: Path) -> None:
    with attach(data_dir) as engines:
        leave_traces(engines)
        url = engines.broker_url
    with attach(data_dir) as engines:
        assert_traces(engines)
        assert engines.broker_url == url


def test_engines_of_a_killed_command_are_adopted_and_stopped(data_dir: Path) -> None:
    killed = command(f"{ATTACH}; print('ready', flush=True); sys.stdin.read()", data_dir)
    assert killed.stdout.readline() == "ready\n"
    running = pids(data_dir)
    kill(killed)
    assert pids(data_dir) == running
    assert describe(data_dir).attached_pids == ()
    with attach(data_dir) as engines:
        assert pids(data_dir) == running
        leave_traces(engines)
    assert all(is_gone(pid) for pid in running.values())


def test_killed_engines_are_restarted_with_their_data(data_dir: Path) -> None:
    with attach(data_dir) as engines:
        leave_traces(engines)
        for pid in pids(data_dir).values():
            os.kill(pid, signal.SIGKILL)
        with attach(data_dir) as again:
            assert_traces(again)
            assert again.broker_url == engines.broker_url
    assert pids(data_dir) == {}


def test_a_reused_pid_is_neither_trusted_nor_signalled(data_dir: Path) -> None:
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        (data_dir / "postgres" / "postmaster.pid").write_text(
            f"{stranger.pid}\n{data_dir}\n1\n5432\n.\n\n\nready\n"
        )
        (data_dir / "valkey" / "valkey.pid").write_text(f"{stranger.pid}\n")
        server = {"pid": stranger.pid, "born": "1", "version": "1", "url": ""}
        servers = {name: {"name": name, **server} for name in ("valkey", "postgres")}
        (data_dir / "engines.json").write_text(json.dumps({"kept": True, "servers": servers}))
        assert pids(data_dir) == {}
        with attach(data_dir) as engines:
            assert query(engines, "SELECT 1") == [(1,)]
        assert pids(data_dir) == {}
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.parametrize("name", ["deep" * 40, "odd, 'näme' %20 $HOME"])
def test_any_path_will_do(tmp_path: Path, initialised: Path, name: str) -> None:
    folder = tmp_path / name / "data"
    shutil.copytree(initialised, folder)
    with attach(folder) as engines:
        assert query(engines, "SELECT 1") == [(1,)]
    assert pids(folder) == {}
    links = Path(tempfile.gettempdir()).glob(f"evalq-{os.geteuid()}-*")
    assert folder / "postgres" not in [link.readlink() for link in links]


def test_the_folder_is_its_owners_alone_and_no_parent_is_opened(initialised: Path, running: Engines) -> None:
    folder = running.log_dir.parent
    private = (
        initialised.parent,
        initialised,
        initialised / "valkey",
        initialised / "postgres",
        running.log_dir,
    )
    secret = (folder / "engines.json", folder / "valkey" / "valkey.conf")
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in secret} == {0o600}
    assert (initialised / ".gitignore").read_text() == "*\n"


def test_no_password_or_key_is_visible_in_the_process_list(running: Engines) -> None:
    password = running.broker_url.split(":")[2].partition("@")[0]
    processes = [psutil.Process(pid) for pid in pids(running.log_dir.parent).values()]
    assert len(password) > 30
    assert len(processes) == 2
    assert not any(password in " ".join(process.cmdline()) for process in processes)
    assert not any("sk-secret" in process.environ().values() for process in processes)


def test_the_broker_refuses_strangers(running: Engines) -> None:
    url = "redis://" + running.broker_url.partition("@")[2]
    with redis.Redis.from_url(url) as client, pytest.raises(redis.AuthenticationError):
        client.ping()


def test_a_folder_that_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="EVALQ_DATABASE_URL"):
        attach(tmp_path / "file" / "data")


def test_a_server_that_cannot_start_shows_its_log_and_takes_the_other_along(data_dir: Path) -> None:
    (data_dir / "postgres" / "PG_VERSION").write_text("9.6\n")
    with pytest.raises(Unreachable, match=r"(?s)EVALQ_DATABASE_URL.*initialized by PostgreSQL version 9\.6"):
        attach(data_dir)
    assert pids(data_dir) == {}


def test_without_any_valkey_the_error_names_the_url_to_set(tmp_path: Path) -> None:
    bare = [sys.executable, "-S", "-c", ATTACH, str(tmp_path / "data")]  # -S: no wheels
    env = {"PATH": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(bare, env=env, capture_output=True, text=True)
    assert "set EVALQ_BROKER_URL" in done.stderr or "set EVALQ_DATABASE_URL" in done.stderr


@pytest.mark.parametrize("moment", ["engines.lock", "valkey.alive", "postgres.new", "postgres.alive"])
def test_ctrl_c_during_the_start_leaves_nothing_running(fresh_dir: Path, moment: str) -> None:
    starting = command(ATTACH, fresh_dir)
    assert wait_until((fresh_dir / moment).exists, timeout_s=PATIENCE_S)
    starting.send_signal(signal.SIGINT)
    _, errors = starting.communicate(timeout=PATIENCE_S)
    assert "KeyboardInterrupt" in errors
    assert pids(fresh_dir) == {}
    folders = [process.info["cwd"] or "" for process in psutil.process_iter(["cwd"])]
    assert not [folder for folder in folders if folder.startswith(str(fresh_dir))]


def test_a_start_that_was_cut_short_is_begun_again(fresh_dir: Path) -> None:
    starting = command(ATTACH, fresh_dir)
    assert wait_until((fresh_dir / "postgres.new").exists, timeout_s=PATIENCE_S)
    kill(starting)
    with attach(fresh_dir) as engines:
        assert query(engines, "SELECT 1") == [(1,)]


def test_ctrl_c_is_not_swallowed_by_a_handler_that_only_takes_note(fresh_dir: Path) -> None:
    deaf = "import signal; signal.signal(signal.SIGINT, lambda *_: None); "
    starting = command(deaf + ATTACH, fresh_dir)
    assert wait_until((fresh_dir / "postgres.new").exists, timeout_s=PATIENCE_S)
    starting.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in starting.communicate(timeout=PATIENCE_S)[1]
    assert pids(fresh_dir) == {}


def sleeper(code: str) -> "Sequence[str]":
    return [sys.executable, "-c", f"import time; {code}; print('up', flush=True); time.sleep(600)"]


def fleet_of(argv: "Sequence[str]") -> str:
    """The code of a command that starts one such worker, says its pid and waits."""
    start = f"start_fleet(1, 1, queues=[], env=os.environ, log_dir=Path(), argv=lambda *_: {argv!r})"
    return f"{IMPORTS} fleet = {start}; print(*fleet.pids, flush=True); time.sleep(600)"


def wait_for_log(log_dir: Path, text: str) -> None:
    assert wait_until(
        lambda: any(text in log.read_text() for log in log_dir.glob("worker-*.log")), timeout_s=PATIENCE_S
    )


def test_stopping_a_stubborn_fleet_is_bounded(tmp_path: Path) -> None:
    argv = sleeper("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    fleet = start_fleet(2, 4, queues=["q"], env=os.environ, log_dir=tmp_path, argv=lambda *_: list(argv))
    wait_for_log(tmp_path, "up")
    workers = fleet.pids
    fleet.stop(grace_s=0.3)
    assert len(workers) == 2
    assert all(is_gone(pid) for pid in workers)
    fleet.stop()


def test_a_worker_dies_with_the_command_that_started_it(tmp_path: Path) -> None:
    (tmp_path / "sleeper.py").write_text("import time; print('up', flush=True); time.sleep(600)")
    # The working folder is not on the path of a worker, so the module is found by PYTHONPATH.
    argv = ["env", f"PYTHONPATH={tmp_path}", sys.executable, "-P", str(LEASH), "sleeper"]
    parent = command(fleet_of(argv), cwd=tmp_path)
    worker = int(parent.stdout.readline())
    wait_for_log(tmp_path, "up")
    kill(parent)
    assert is_gone(worker)


def test_workers_of_a_dead_command_are_reaped_at_the_next_start(tmp_path: Path) -> None:
    parent = command(fleet_of(["sleep", "600"]), cwd=tmp_path)
    worker = int(parent.stdout.readline())
    assert reap_stale_fleets(tmp_path) == 0
    kill(parent)
    assert identify(worker)
    assert reap_stale_fleets(tmp_path) == 1
    assert is_gone(worker)
    assert reap_stale_fleets(tmp_path) == 0


def test_a_worker_that_ends_by_itself_leaves_its_last_words_in_its_log(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", "raise SystemExit('no such queue')"]
    with start_fleet(1, 1, queues=[], env=os.environ, log_dir=tmp_path, argv=lambda *_: argv) as fleet:
        assert wait_until(lambda: not fleet.pids, timeout_s=PATIENCE_S)
        [log] = tmp_path.glob("worker-*.log")
        assert "no such queue" in log.read_text()


def test_a_workers_command_line_runs_celery_even_beside_a_users_celery_py(tmp_path: Path) -> None:
    (tmp_path / "celery.py").write_text("raise SystemExit('shadowed')")
    argv = worker_argv(1, 8, ["calls.openai", "control"])
    assert argv[argv.index("-Q") + 1] == "calls.openai,control"
    assert argv[argv.index("--concurrency") + 1] == "8"
    worker = argv[: argv.index("worker") + 1]
    done = subprocess.run([*worker, "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith("Usage: evalq worker"), done.stderr
