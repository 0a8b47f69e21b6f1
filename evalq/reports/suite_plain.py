"""A suite report on the terminal: the sum, what failed and why, and what to do."""

from collections.abc import Iterator, Mapping
from typing import Any

from evalq.reports.suite_words import counted, headline, metric_rows, share
from evalq.reports.text import one_line

_SIGNS = {"passed": "✓", "failed": "✗", "skipped": "–"}
_WIDTH = 200


def render_suite_plain(document: Mapping[str, Any], *, verbose: bool = False) -> str:
    """The report in lines; with `verbose`, one for every eval."""
    return "\n".join(_lines(document["eval_report"], verbose=verbose))


def _lines(report: Mapping[str, Any], *, verbose: bool) -> Iterator[str]:
    yield one_line(headline(report))
    for name, counts in report["summary"]["by_category"].items():
        yield f"  {name}: {counted(counts)}"
    graders = {name: one for name, one in report["summary"]["by_grader"].items() if one["total"]}
    yield "  by grader: " + ", ".join(
        f"{name} {one['passed']}/{one['total']}" for name, one in graders.items()
    )
    yield "  " + "  ".join(f"{name} {value}" for name, value in metric_rows(report["metrics"]))
    if report["metrics"].get("note"):
        yield f"  {report['metrics']['note']}"
    if verbose:
        yield from (_eval(one) for one in report["evals"])
    for one in (*report["failures"], *report["errors"]):
        sign = _SIGNS["failed" if one in report["failures"] else "skipped"]
        yield one_line(f"{sign} {one['eval_id']}: {one['name']}: {one['reason']}", _WIDTH)
    if len(report["judges"]) > 1:
        yield from (_judge(one) for one in report["judges"])
    for text in report["recommendations"]:
        yield one_line(f"→ {text}", _WIDTH)


def _eval(one: Mapping[str, Any]) -> str:
    times = f" after {one['attempts']} attempts" if one["attempts"] > 1 else ""
    of = f" ({one['samples_passed']}/{one['samples_graded']})" if one["samples_graded"] > 1 else ""
    return one_line(
        f"{_SIGNS[one['status']]} {one['eval_id']}: {one['name']}: {one['status']}{of}{times}", _WIDTH
    )


def _judge(one: Mapping[str, Any]) -> str:
    rate = share(one["summary"]["pass_rate"], one["summary"].get("pass_rate_ci"))
    return one_line(f"{one['judge']}: {counted(one['summary'])}, pass rate {rate}", _WIDTH)
