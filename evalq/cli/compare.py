"""Commands that compare runs: kappa and compare."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.output import note, print_json, print_report, print_table, say, suggest
from evalq.definitions.money import money
from evalq.errors import InputError, Problem
from evalq.reports.text import NOTHING, latency, one_line, percent, points, span

if TYPE_CHECKING:
    from evalq.bakeoff.runs import Matches, NamedRun
    from evalq.results import Agreement
    from evalq.store.database import Database
    from evalq.summary.change import Change, Side

LISTED_CASES = 8


@click.command()
@options.bakeoff_id("names", metavar="[ID]...", nargs=-1)
@options.task("Refuse runs of another task than this: its name, or the path of its file.")
@click.option(
    "--run-ids", "run_names", help="Runs by their numbers or as ID/JUDGE, by commas, instead of ID."
)
@options.as_json("The evalq.kappa/1 document.")
@pass_context
def kappa(
    context: Context, names: Sequence[str], task: str | None, run_names: str | None, as_json: bool
) -> int:
    """Measure which runs err alike: κ, AC1, n and interval of every pair, and store them.

    ID is a bake-off, which means all its judges but the broken ones, or a run such as 7/grok-4.3; of one
    bake-off (default: `last`) or of several. The runs must have answered the same version of one evalset. A
    judge that gave one verdict only has no κ; two judges of one provider above 0.6 are flagged: do not count
    them as two votes.
    """
    from evalq.bakeoff.runs import agreement_of, find_runs, read_runs

    if names and run_names:
        raise InputError(Problem("both ID and --run-ids are given", "give one of them"))
    with context.open_session() as session:
        if run_names:
            entries = find_runs(session.db, options.split_names(run_names))
        else:
            entries = read_runs(session.db, names or ["last"])
        known_task = _read_task_name(task, context) if task else entries[0].bakeoff.task_name
        pairs = agreement_of(session.db, entries, known_task)
    if as_json:
        print_json(_kappa_document(entries, pairs))
    else:
        print_kappa(pairs)
    suggest(_compare_command(*entries[:2]))
    return 0


def _read_task_name(task: str, context: Context) -> str:
    """A name as it is, since runs outlive their task's file; a path is read."""
    from evalq.definitions.files import TASK_SUFFIXES, load_task
    from evalq.definitions.project import find_task

    if "/" not in task and Path(task).suffix.lower() not in TASK_SUFFIXES:
        return task
    return load_task(find_task(task, context.root)).name


def _kappa_document(entries: "Sequence[NamedRun]", pairs: "Sequence[Agreement]") -> dict[str, Any]:
    from evalq.bakeoff.runs import label_runs

    ids = dict(zip(label_runs(entries), (entry.run.id for entry in entries), strict=True))
    first = entries[0].bakeoff
    return {
        "schema": "evalq.kappa/1",
        "task": first.task_name,
        "eval_set": first.eval_set_name,
        "eval_set_sha256": first.eval_set_sha,
        "runs": [
            {"run_id": e.run.id, "judge": e.run.judge, "vendor": e.run.vendor, "bakeoff_id": e.bakeoff.id}
            for e in entries
        ],
        "kappa": [{"run_a": ids[pair.a], "run_b": ids[pair.b], **asdict(pair)} for pair in pairs],
    }


def print_kappa(pairs: "Sequence[Agreement]") -> None:
    """Print the matrix for people, one row per pair for pipes."""
    from evalq.reports.agreement import render_kappa, render_plain_kappa

    print_report(pairs, render_kappa, render_plain_kappa)


@click.command()
@options.bakeoff_id("before", metavar="A")
@options.bakeoff_id("after", metavar="B")
@click.option(
    "--margin",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    help="How much worse B may be without mattering, as a share.",
)
@options.as_json("The evalq.compare/1 document.")
@pass_context
def compare(context: Context, before: str, after: str, margin: float, as_json: bool) -> int:
    """Compare B with A: two runs, such as 6/grok-4.3 and 7/grok-4.3, or two bake-offs judge by judge.

    A bake-off is a number, `last` or `@-2`; a run is ID/JUDGE, or its own number as run-17. A number that no
    bake-off has is a run's. Exit code 1: B is significantly worse, for bake-offs with any judge. 0: it is
    better, or not worse by more than the margin. 3: there are too few cases to decide.
    """
    from evalq.bakeoff.runs import change_between, match_runs

    with context.open_session() as session:
        found = match_runs(session.db, before, after)
        if len(found.pairs) > 1 or found.only_in_a or found.only_in_b:
            return _compare_bakeoffs(session.db, found, margin=margin, as_json=as_json)
        change = change_between(session.db, *found.pairs[0], margin=margin)
    if as_json:
        print_json(change.to_dict())
    else:
        _print_change(change)
    which = f"--case {shlex.quote(change.a_only[0])}" if change.a_only else "--show-failures"
    suggest(f"evalq inspect {change.b.bakeoff_id} {which}")
    return change.exit_code


def _compare_bakeoffs(db: "Database", found: "Matches", *, margin: float, as_json: bool) -> int:
    """Compare the judges that two bake-offs share, each with itself; return the gravest exit code."""
    from evalq.bakeoff.runs import change_between

    changes: list[Change] = []
    problems: list[Problem] = []
    for first, second in found.pairs:
        try:
            changes.append(change_between(db, first, second, margin=margin))
        except InputError as exc:  # a judge that is broken in one of the two
            problems += exc.problems
    if not changes:
        raise InputError(*problems)
    codes = {change.exit_code for change in changes}
    exit_code = next((code for code in (1, 3) if code in codes), 0)
    if as_json:
        print_json(_bakeoffs_document(found, changes, problems, exit_code))
        return exit_code
    print_table(
        ("judge", "A", "B", "B − A, 95% CI", "p", "verdict"), [_change_row(one) for one in changes], fit=True
    )
    for line in (*_unpaired_lines(found), *(str(problem) for problem in problems)):
        note(f"! {one_line(line)}")
    suggest(_compare_command(*found.pairs[0]))
    return exit_code


def _change_row(change: "Change") -> Sequence[str]:
    found = change.found
    ends = f"[{points(found.low, found.n)}, {points(found.high, found.n)}]"
    gap = f"{points(found.diff, found.n)} pp {ends} n={found.n}"
    rates = [percent(side.result.accuracy, side.result.n_graded) for side in (change.a, change.b)]
    return change.a.result.judge, *rates, gap, f"{found.p:.3g}", change.verdict.replace("_", " ")


def _unpaired_lines(found: "Matches") -> Iterator[str]:
    if found.only_in_a:
        yield f"only in A: {', '.join(found.only_in_a)}"
    if found.only_in_b:
        yield f"only in B: {', '.join(found.only_in_b)}"


def _bakeoffs_document(
    found: "Matches", changes: "Sequence[Change]", problems: "Sequence[Problem]", exit_code: int
) -> dict[str, Any]:
    first, second = found.pairs[0]
    return {
        "schema": "evalq.compare_bakeoffs/1",
        "a": first.bakeoff.id,
        "b": second.bakeoff.id,
        "judges": [change.to_dict() for change in changes],
        "only_in_a": list(found.only_in_a),
        "only_in_b": list(found.only_in_b),
        "not_compared": [str(problem) for problem in problems],
        "exit_code": exit_code,
    }


def _compare_command(first: "NamedRun", second: "NamedRun") -> str:
    return f"evalq compare {shlex.quote(first.id)} {shlex.quote(second.id)}"


def _print_change(change: "Change") -> None:
    print_table(("", "A", "B", "B − A"), list(_list_numbers(change)), fit=True)
    for title, cases in _list_cases(change):
        if cases:
            more = f" and {len(cases) - LISTED_CASES} more" if len(cases) > LISTED_CASES else ""
            say(one_line(f"{title}, {len(cases)}: {', '.join(cases[:LISTED_CASES])}{more}"))
    for warning in change.warnings:
        note(f"! {warning}")
    say(_describe_verdict(change))


def _list_numbers(change: "Change") -> Iterator[Sequence[str]]:
    a, b, found, waits = change.a, change.b, change.found, change.latency
    spread = f"[{points(found.low, found.n)}, {points(found.high, found.n)}]"
    yield "run", f"{a.bakeoff_id}/{a.result.judge}", f"{b.bakeoff_id}/{b.result.judge}", ""
    yield "its number", f"{a.result.run_id}", f"{b.result.run_id}", ""
    yield "evalset", a.eval_set, b.eval_set, ""
    yield "pass, 95% CI, n", _format_rate(a), _format_rate(b), ""
    yield "on shared cases", "", "", f"{points(found.diff, found.n)} pp {spread} n={found.n}"
    yield "p", "", "", f"{found.p:.3g} ({found.method})"
    yield "$/case", _format_usd(a), _format_usd(b), _format_usd_change(change)
    yield "p50", latency(a.result.p50_latency_ms), latency(b.result.p50_latency_ms), ""
    yield "p95", latency(a.result.p95_latency_ms), latency(b.result.p95_latency_ms), ""
    mean = NOTHING
    if waits.n:
        mean = f"{waits.mean_ms:+.0f} ms [{waits.ci_low:+.0f}, {waits.ci_high:+.0f}] n={waits.n}"
    yield "mean latency", "", "", mean


def _format_rate(side: "Side") -> str:
    run = side.result
    ends = span(run.ci_low, run.ci_high, run.n_graded)
    return f"{percent(run.accuracy, run.n_graded)} {ends} n={run.n_graded}"


def _format_usd(side: "Side") -> str:
    return NOTHING if side.usd_per_case is None else money(side.usd_per_case, places=4)


def _format_usd_change(change: "Change") -> str:
    before, after = change.a.usd_per_case, change.b.usd_per_case
    return f"{(after - before) / before:+.0%}" if before and after is not None else NOTHING


def _list_cases(change: "Change") -> Iterator[tuple[str, Sequence[str]]]:
    yield "lost (better in A)", change.a_only
    yield "gained (better in B)", change.b_only
    yield "only in A's evalset", change.only_in_a
    yield "only in B's evalset", change.only_in_b
    yield "same id but other content, not compared", change.changed
    yield "not graded in one of the two", change.not_graded


def _describe_verdict(change: "Change") -> str:
    """The conclusion in one line."""
    n, margin = change.found.n, points(change.margin, 1).removeprefix("+")
    if change.verdict == "regression":
        return f"regression: B is worse than A on {n} shared cases"
    if change.verdict == "improvement":
        return f"improvement: B is better than A on {n} shared cases"
    if change.verdict == "no_regression":
        return f"no regression: B is not worse than A by more than {margin} pp"
    needed = f"; a drop of {margin} pp takes about {change.cases_needed} cases" if change.cases_needed else ""
    return f"inconclusive: {n} shared cases cannot tell whether B is worse than A by {margin} pp{needed}"
