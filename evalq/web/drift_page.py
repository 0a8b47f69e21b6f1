"""How judges change over time: the timeline of a task's drift checks, with alerts."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from shlex import quote
from statistics import median
from typing import Literal, cast

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evalq.drift.messages import CheckSubject, check_line
from evalq.reports.charts import DriftPoint, drift_chart
from evalq.store import bakeoff_lists
from evalq.store.bakeoff_lists import SeriesRun
from evalq.web.site import render, site_of

WEEKS = (4, 12, 26, 52, 520)
BASELINE_RUNS = 4

_BAD = ("watch", "alert")

DriftMark = Literal["ok", "watch", "alert", "inconclusive"]


def show_tasks(request: Request) -> Response:
    """The tasks that have a timeline."""
    tasks = bakeoff_lists.drift_tasks(site_of(request).db)
    return render(request, "drift_list.html", command="evalq drift status", tasks=tasks)


def show_timeline(request: Request) -> Response:
    """One judge on one set, check by check."""
    task, asked = request.path_params["task"], request.query_params
    weeks = _read_weeks(asked.get("weeks", "12"))
    since = datetime.now(UTC) - timedelta(weeks=weeks)
    every = bakeoff_lists.drift_series(site_of(request).db, task, since=since)
    series = sorted({(run.judge, run.eval_set_name) for run in every})
    judge = asked.get("judge") or (series[0][0] if series else "")
    eval_set = asked.get("set") or next((one for name, one in series if name == judge), "")
    runs = [run for run in every if (run.judge, run.eval_set_name) == (judge, eval_set)]
    return render(
        request,
        "drift_page.html",
        command=f"evalq drift status --task {quote(task)}",
        task=task,
        judge=judge,
        eval_set=eval_set,
        series=series,
        weeks=weeks,
        offered_weeks=WEEKS,
        runs=list(reversed(runs)),
        chart=Markup(drift_chart(list_points(runs), baseline=baseline_of(runs))),  # noqa: S704 - our own SVG
        baseline=baseline_of(runs),
        newest=describe_newest(task, runs),
    )


def describe_newest(task: str, runs: Sequence[SeriesRun]) -> tuple[str, str]:
    """The newest check in a sentence, and the command to confirm it with when it looks bad."""
    if not runs:
        return "", ""
    run = runs[-1]
    subject = CheckSubject(task, run.eval_set_name, run.judge, run.rule or "confirm", run.run_id)
    said = check_line(subject, run.verdict, run.numbers or {"detail": f"a {run.run_type}, no check"})
    return said, subject.confirm_command if run.verdict in _BAD else ""


def _read_weeks(text: str) -> int:
    if text not in {str(one) for one in WEEKS}:
        raise HTTPException(400, f"weeks is one of {', '.join(str(one) for one in WEEKS)}")
    return int(text)


def baseline_of(runs: Sequence[SeriesRun]) -> float | None:
    """The median of the runs before the newest one."""
    rates = [run.accuracy for run in runs[:-1] if run.accuracy is not None and not run.excluded]
    return median(rates[-BASELINE_RUNS:]) if rates else None


def list_points(runs: Sequence[SeriesRun]) -> list[DriftPoint]:
    """The points of a timeline; a change of model or prompt since the run before is marked."""
    changes = [(False, False)]
    for before, after in pairwise(runs):
        is_other_model = None not in (before.model, after.model) and before.model != after.model
        changes.append((is_other_model, before.task_sha != after.task_sha))
    points = []
    for run, (is_other_model, is_other_prompt) in zip(runs, changes, strict=False):
        mark = cast("DriftMark", run.verdict or "ok")
        label = f"{run.started_at:%m-%d}"
        ends = (run.accuracy, run.ci_low, run.ci_high, run.n)
        points.append(DriftPoint(label, *ends, mark, is_other_model, is_other_prompt))
    return points


ROUTES = [Route("/drift", show_tasks), Route("/drift/{task:path}", show_timeline)]
