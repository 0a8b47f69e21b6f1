"""A site with something on every page: bake-offs, hostile names, drift checks, a review queue."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from drift_series import Series
from report_scene import HOSTILE
from review_scene import conclude_all, end, ended, human, job_ids, judge, start, task_of
from served_site import ServedSite, served_site

from benchmarks.make_big_run import make_big_run
from evalq.bakeoff.plan import Plan, make_plan
from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.engines.broker import Broker, make_app
from evalq.records import Grade
from evalq.store import bakeoffs
from evalq.store.database import Database
from evalq.store.jobs import storable

N_CASES = 120
CONTENDER = "grok-4.3@short"
HOSTILE_JUDGE = '"\'></td><script>document.title = "owned"</script>'
HOSTILE_TASK = "essays"


@dataclass(frozen=True)
class PagesScene:
    """The site, and the numbers of its bake-offs."""

    site: ServedSite
    first: int
    second: int
    running: int
    hostile: int
    queue: int

    def url(self, path: str = "/") -> str:
        return self.site.url + path

    @property
    def pages(self) -> dict[str, str]:
        """The path of every page by its name."""
        pair = f"a={self.first}/{quote(CONTENDER)}&b={self.second}/{quote(CONTENDER)}"
        return {
            "runs": "/",
            "run": f"/runs/{self.second}",
            "running": f"/runs/{self.running}",
            "filtered": f"/runs/{self.second}?filter=disagree&after=30",
            "case": f"/runs/{self.second}/cases/case-00007?against=expected",
            "compare form": "/compare",
            "compare bake-offs": f"/compare?bakeoff={self.first}&bakeoff={self.second}",
            "compare runs": f"/compare?{pair}",
            "drift list": "/drift",
            "drift": "/drift/watched",
            "fleet": "/fleet",
            "cost": "/cost",
            "review queues": "/review",
            "review desk": f"/review/{self.queue}",
            "review lead": f"/review/{self.queue}/lead",
            "review sign-in": "/review/sign-in",
            "error": "/runs/999999",
        }


@contextmanager
def pages_scene(data_dir: Path) -> Iterator[PagesScene]:
    """Serve the scene until the block ends."""
    with served_site(data_dir, want=("postgres", "valkey")) as site:
        db = site.db
        first, second = make_big_run(db, n_cases=N_CASES), make_big_run(db, n_cases=N_CASES, salt="b")
        _rename_judge(db, "grok-4.3-short", CONTENDER, (first, second))
        make_drift(db, site.broker_url)
        queue = ended(db, task_of(human(rubric="true and brief")), 4)
        yield PagesScene(site, first, second, make_running(db), make_hostile(db), queue)


def make_running(db: Database) -> int:
    """A bake-off some answers of which have come; one judge has answered nothing but errors."""
    task = task_of({"type": "exact_match"})
    bakeoff_id = start(db, task, 12, ("sim-a", "sim-b", "sim-mute"))
    for number, job_id in enumerate(job_ids(db, bakeoff_id)):
        if number < 18:
            end(db, task, job_id, _grade(number % 3 != 0))
        elif number >= 24:
            end(db, task, job_id, state="empty")
    return bakeoff_id


def make_hostile(db: Database) -> int:
    """A concluded bake-off in which every text is written to break out of the page."""
    texts = {name: storable(text) or name for name, text in HOSTILE.items()}
    cases = []
    for name, text in texts.items():
        fields = {"topic": text, name: text}
        cases.append(
            EvalCase(id=text[:200], inputs=fields, expected={"answer": text}, stratum={"kind": text[:200]})
        )
    task = task_of({"type": "exact_match"})
    plan = make_plan(task, EvalSet(name="hostile", cases=cases), [judge("sim-a"), judge("sim-b")])
    bakeoff_id = db.in_transaction(lambda tx: bakeoffs.add(tx, plan, bakeoffs.Terms(Decimal(5))))
    by_case = {text[:200]: text for text in texts.values()}
    for number, row in enumerate(db.rows("labelled_answers", bakeoff_id=bakeoff_id)):
        text = by_case[row["case_id"]]
        end(db, task, row["job_id"], _grade(number % 3 == 0, text[:2000]), says=text)
    _rename_judge(db, "sim-a", CONTENDER, (bakeoff_id,))
    _rename_judge(db, "sim-b", HOSTILE_JUDGE, (bakeoff_id,))
    conclude_all(db, bakeoff_id)
    return bakeoff_id


def make_drift(db: Database, broker_url: str) -> None:
    """Four good checks of one judge, one that is worse, and its confirmation."""

    def plan(n: int, samples: int = 1, **_: Any) -> Plan:
        cases = [EvalCase(id=f"case-{i:04}", inputs={"topic": f"topic {i}"}) for i in range(n)]
        task = task_of({"type": "exact_match"}).model_copy(update={"name": "watched"})
        return make_plan(task, EvalSet(name="dev-30", cases=cases), [judge("sim-a")], samples=samples)

    with psycopg.connect(db.url, autocommit=True, options="-c search_path=evalq,public") as connection:

        def sql(statement: str, *params: object) -> list[tuple[Any, ...]]:
            cursor = connection.execute(statement.encode(), params or None)
            return cursor.fetchall() if cursor.description else []

        series = Series(db, Broker(make_app(broker_url)), sql, plan)
        series.warm(27)
        run_id = series.check(19, model="sim-a-2")
        assert series.verdict(run_id)[0] == "watch"
        series.confirm(run_id, [18, 19, 18, 19], model="sim-a-2")
        assert series.verdict(run_id) == ("alert", True)


def _grade(passed: bool, reason: str = "so it is") -> Grade:
    return Grade("exact_match", passed, float(passed), storable(reason) or "", True, 1.0, "exact_match")


def _rename_judge(db: Database, old: str, new: str, bakeoff_ids: tuple[int, ...]) -> None:
    """Give a judge a name that definitions do not allow yet: pages take any."""
    quoted = '"{}"'.format
    with psycopg.connect(db.url) as connection:
        for bakeoff_id in bakeoff_ids:
            connection.execute(
                "UPDATE evalq.runs SET judge = %s WHERE judge = %s AND bakeoff_id = %s",
                [new, old, bakeoff_id],
            )
            connection.execute(
                "UPDATE evalq.bakeoffs SET result = replace(result::text, %s, %s)::json WHERE id = %s",
                [quoted(old), quoted(new), bakeoff_id],
            )
