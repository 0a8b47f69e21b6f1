"""Postgres stopped, connections cut, the spool's disk full, and everybody concluding at once."""

import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
from fault_moments import mid_call, n_asked
from fault_oracle import Tally
from fault_scene import Scene

from evalq.bakeoff.conclude import conclude
from evalq.bakeoff.launch import restart
from evalq.bakeoff.recover import reap
from evalq.engines.session import Session
from evalq.settings import load_settings
from evalq.store.database import Database

N = 60  # more than the slots of two workers and what they have in hand
NewScene = Callable[..., Scene]
Judged = Callable[..., Tally]

SETTLING = """
    SELECT pid FROM pg_stat_activity
    WHERE query LIKE '%settle_calls%' AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()
"""
REASON = "SELECT stop_reason FROM bakeoffs"


def spooled(scene: Scene) -> list[Path]:
    return list((scene.folder / "spool").glob("*/*.json"))


def start_and_bake(scene: Scene) -> int:
    scene.start()
    bakeoff_id = scene.bake(scene.plan(N))
    scene.wait_for_outcomes(5)
    return bakeoff_id


def lose_postgres_in_mid_call(scene: Scene) -> int:
    """Stop Postgres while every slot waits for an answer, and see each of them kept on disk."""
    bakeoff_id = start_and_bake(scene)
    with mid_call(scene) as n_slots:
        scene.stop_postgres()
    scene.wait(lambda: len(spooled(scene)) == n_slots)
    scene.in_flight_at_kills = 0  # all of them came home: none may be repeated
    return bakeoff_id


def test_answers_that_come_home_while_postgres_is_away_are_kept_on_disk_until_it_is_back(
    new_scene: NewScene, judged: Judged
) -> None:
    scene = new_scene(N, lease_s=60.0)  # longer than Postgres is away
    bakeoff_id = lose_postgres_in_mid_call(scene)
    asked = n_asked(scene)
    for name in ("w1", "w2"):  # what was in hand is given up, what is next cannot be claimed
        scene.wait(lambda name=name: "it will be run again" in log_of(scene, name))
    assert n_asked(scene) == asked
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="08 Postgres stopped immediately", same_as=N)
    assert spooled(scene) == []
    assert scene.sql("SELECT max(losses) FROM jobs") == [(0,)]  # nobody died, no job is suspected of it


def log_of(scene: Scene, name: str) -> str:
    return "".join(log.read_text("utf-8") for log in (scene.folder / "logs" / name).glob("worker-*.log"))


def test_the_answers_of_a_worker_that_died_while_postgres_was_away_are_stored_by_the_next_one(
    new_scene: NewScene, judged: Judged
) -> None:
    scene = new_scene(N, lease_s=5.0)
    bakeoff_id = lose_postgres_in_mid_call(scene)
    for name in ("w1", "w2"):
        scene.kill_worker(name)
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="08 Postgres stopped, then the workers", same_as=N)
    assert spooled(scene) == []


def test_an_answer_whose_connection_is_cut_before_it_is_committed_is_not_asked_for_again(
    new_scene: NewScene, judged: Judged
) -> None:
    scene = new_scene(N)
    bakeoff_id = start_and_bake(scene)
    with no_answer_stored(scene):
        cut_off_settlements(scene, 2)
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="09 connection cut before the commit", same_as=N)
    assert spooled(scene) == []


def test_a_job_alone_in_its_process_is_not_blamed_for_the_database(
    new_scene: NewScene, judged: Judged
) -> None:
    scene = new_scene(1, slots=2)
    bakeoff_id = scene.bake(scene.plan(1), publish=False)
    scene.sql("UPDATE jobs SET losses = 2")  # one more would be the end of it
    scene.start("w1")
    with no_answer_stored(scene):
        cut_off_settlements(scene, 2)
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="09 connection cut of a job alone", same_as=1)
    assert scene.sql("SELECT max(losses) FROM jobs") == [(2,)]


@contextmanager
def no_answer_stored(scene: Scene) -> Iterator[None]:
    """Have whoever wants to store an answer wait until the end of the block."""
    with psycopg.connect(scene.engines.database_url) as holder:
        holder.execute("LOCK TABLE completions IN SHARE MODE")
        yield


def cut_off_settlements(scene: Scene, n: int) -> None:
    """Wait until so many processes are about to store answers, and end their connections.

    They come back on new ones by themselves: a settlement counts once, however often it is sent.
    """
    scene.wait(lambda: len(scene.sql(SETTLING)) == n)
    cut = set(scene.sql(SETTLING))
    scene.sql(f"SELECT pg_terminate_backend(pid) FROM ({SETTLING}) settling")
    scene.wait(lambda: len(set(scene.sql(SETTLING)) - cut) == n)


def test_with_the_spools_disk_full_nothing_is_paid_for_until_there_is_room(
    new_scene: NewScene, judged: Judged, small_disk: Path
) -> None:
    scene = new_scene(N, lasting={"EVALQ_SPOOL_DIR": str(small_disk)})
    scene.start()
    bakeoff_id = scene.bake(scene.plan(N))
    assert scene.wait_for_end(bakeoff_id) == "paused"
    assert "1 MB free, 16 are needed; free some space or set EVALQ_SPOOL_DIR" in scene.sql(REASON)[0][0]
    assert n_asked(scene) == 0
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    resume(scene, bakeoff_id)
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="17 disk of the spool full", same_as=N)


def test_without_a_folder_for_the_spool_nothing_is_paid_for_until_there_is_one(
    new_scene: NewScene, judged: Judged
) -> None:
    scene = new_scene(N)
    (scene.folder / "spool").write_text("in the way")
    scene.start()
    bakeoff_id = scene.bake(scene.plan(N))
    assert scene.wait_for_end(bakeoff_id) == "paused"
    assert "answers cannot be kept in" in scene.sql(REASON)[0][0]
    assert n_asked(scene) == 0
    (scene.folder / "spool").unlink()
    resume(scene, bakeoff_id)
    assert scene.wait_for_end(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="17 no folder for the spool", same_as=N)


def resume(scene: Scene, bakeoff_id: int) -> None:
    """As `evalq resume` does."""
    with session_of(scene) as session:
        assert restart(session, bakeoff_id, cap_usd=None)


@contextmanager
def session_of(scene: Scene) -> Iterator[Session]:
    db = Database(scene.engines.database_url, max_size=16)
    yield Session(db, scene.engines.broker_url, True, load_settings(scene.folder, {}))
    db.close()


def test_many_who_conclude_reap_and_resume_at_once_conclude_once(new_scene: NewScene, judged: Judged) -> None:
    scene = new_scene(N)
    scene.start()
    bakeoff_id = scene.bake(scene.plan(N))
    run_ids = [row[0] for row in scene.sql("SELECT id FROM runs")]
    is_over = threading.Event()

    def until_over(act: Callable[[], object]) -> None:
        while not is_over.wait(0.02):
            act()

    with session_of(scene) as session, ThreadPoolExecutor() as pool:
        concludes = [lambda run_id=run_id: conclude(session.db, run_id) for run_id in run_ids]
        reaps = lambda: reap(session.db, scene.broker, lost_after_s=scene.lease_s / 4)  # noqa: E731
        resumes = lambda: restart(session, bakeoff_id, cap_usd=None)  # noqa: E731
        under_way = [pool.submit(until_over, act) for act in (*concludes * 2, reaps, reaps, resumes, resumes)]
        try:
            scene.wait_for_end(bakeoff_id)
            assert [resumes() for _ in range(3)] == [False] * 3
        finally:
            is_over.set()
        for one in under_way:
            one.result()
    assert scene.state(bakeoff_id) == "concluded"
    judged(scene, bakeoff_id, fault="18 finalizers and producers at once", same_as=N)
