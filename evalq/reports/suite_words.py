"""A suite report in words: shares with their intervals, counts, and the one line that sums it up."""

from collections.abc import Mapping, Sequence
from typing import Any

NOTHING = "–"


def share(value: float | None, interval: Sequence[float] | None = None) -> str:
    """0.92 [0.81, 0.97]; a dash for what is not known."""
    if value is None:
        return NOTHING
    shown = f"{value:.2f}" if round(value, 2) == value else f"{value:.3f}"
    return f"{shown} [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else shown


def counted(counts: Mapping[str, Any]) -> str:
    """12/13 passed, and what was skipped."""
    total = counts.get("total", counts.get("total_evals", 0))
    skipped = counts.get("skipped", 0)
    return f"{counts['passed']}/{total} passed" + (f", {skipped} skipped" if skipped else "")


def headline(report: Mapping[str, Any]) -> str:
    """What the run came to."""
    summary, about = report["summary"], report["metadata"]
    rate = share(summary["pass_rate"], summary.get("pass_rate_ci"))
    return f"{about['suite_name']}: {counted(summary)}, pass rate {rate}"


def metric_rows(metrics: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every metric by the name people write, with its interval."""
    rows = []
    for name, value in metrics.items():
        if name.startswith(("pass_at_", "pass_hat_")) and not name.endswith("_ci"):
            rows.append((spoken(name), share(value, metrics.get(f"{name}_ci"))))
    return rows


def spoken(name: str) -> str:
    """pass@3 for pass_at_3."""
    word, _, rest = name.removeprefix("pass_").partition("_")
    k, _, note = rest.partition("_")
    return f"pass{'@' if word == 'at' else '^'}{k}" + (f" ({note})" if note else "")
