"""The command that measures triggering: which requests load a skill, how often, and which of several."""

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.options import RunOptions
from evalq.cli.output import note, print_json, print_table, suggest
from evalq.cli.preflight import describe_plan
from evalq.definitions.money import money
from evalq.reports.text import span

if TYPE_CHECKING:
    from evalq.formats.skills.measure import Measurement
    from evalq.formats.skills.result import TriggersResult
    from evalq.results import Share


@click.command()
@click.option(
    "--skill",
    "skills",
    required=True,
    multiple=True,
    type=click.Path(path_type=Path),
    help="A folder with meta.yml or SKILL.md, or one of these files; several to see which is picked.",
)
@options.judges("Judges by name, separated by commas; default: the skill's own.")
@click.option(
    "--runs", type=click.IntRange(1, 1000), default=3, show_default=True, help="Answers per request."
)
@click.option(
    "--queries",
    type=click.Path(path_type=Path),
    help="Requests from this file: a JSON list of {query, should_trigger}, or text with one a line, "
    "'- ' before those that should not trigger. Default: those beside the skills.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="A request triggers a skill when at least this share of its runs does.",
)
@options.max_cost
@options.allow_unpriced
@options.dry_run
@options.as_json("The evalq.triggers/1 document on stdout.")
@options.display
@options.collect_run_options
@pass_context
def triggers(
    context: Context,
    skills: tuple[Path, ...],
    judges: list[str],
    runs: int,
    queries: Path | None,
    threshold: float,
    run: RunOptions,
) -> int:
    """Measure how often requests would load a skill, by its description alone.

    Every request is put to every judge several times; with several skills, also which of them it would load.
    Exit code 1: a request fails or skills collide; 3: something has no verdict.
    """
    from evalq.bakeoff.plan import refuse_over_cap
    from evalq.formats.skills.measure import MeasureOptions, prepare

    chosen = MeasureOptions(judges, runs, queries, threshold, run.allow_unpriced)
    measurement = prepare(skills, chosen, context.settings, context.root)
    cap_usd = context.cap_usd(run.max_cost_usd)
    note(f"{describe_plan(measurement.plan)}, cap ${money(cap_usd)}")
    refuse_over_cap(measurement.plan, cap_usd)
    if run.dry_run:
        return 0
    result = _measure(context, measurement, cap_usd, run)
    if result is None:
        return 130
    if run.as_json:
        print_json(result.to_dict())
    else:
        _print_result(result)
    suggest(result.next)
    return result.exit_code


def _measure(
    context: Context, measurement: "Measurement", cap_usd: Decimal, run: RunOptions
) -> "TriggersResult | None":
    """Run the bake-off and read it; None when the user interrupts."""
    from evalq.bakeoff.launch import start
    from evalq.cli.progress import first_interrupt, watch_to_end
    from evalq.formats.skills.measure import RUN_TYPE, read_result

    with context.open_session(fleet=True) as session, first_interrupt() as interrupt:
        plan = measurement.plan
        bakeoff_id = start(session, plan, cap_usd=cap_usd, root=context.root, run_type=RUN_TYPE)
        found = watch_to_end(context, session, bakeoff_id, run, interrupt=interrupt)
        if interrupt() and found.state != "concluded":
            note("interrupted; no more is spent")
            suggest(f"evalq resume {bakeoff_id}")
            return None
        return read_result(session.db, found, measurement)


def _print_result(result: "TriggersResult") -> None:
    signs = {True: "✓", False: "✗", None: "!"}
    print_table(
        ("", "skill", "query", "should", "judge", "rate", "95 %", "not read"),
        [
            (
                signs[one.passed],
                one.skill,
                one.query,
                "yes" if one.should_trigger else "no",
                one.judge,
                f"{one.rate.k}/{one.rate.n}",
                _format_interval(one.rate),
                str(one.errors),
            )
            for one in result.rates
        ],
    )
    _print_confusion(result)
    _print_collisions(result)


def _print_confusion(result: "TriggersResult") -> None:
    click.echo()
    print_table(
        ("judge", "skill", "tp", "fp", "fn", "tn", "precision", "recall", "accuracy"),
        [
            (
                one.judge,
                one.skill or "all",
                *(str(count) for count in (one.tp, one.fp, one.fn, one.tn)),
                *(_format_share(part) for part in (one.precision, one.recall, one.accuracy)),
            )
            for one in result.confusion
        ],
    )


def _print_collisions(result: "TriggersResult") -> None:
    if len(result.skills) < 2:
        return
    click.echo()
    if not result.collisions:
        click.echo("no collisions")
        return
    print_table(
        ("collision", "query", "judge", "should go to", "claimed by", "picked"),
        [
            (
                one.kind,
                one.query,
                one.judge,
                ", ".join(one.should_go_to),
                ", ".join(one.claimed_by) or "none",
                ", ".join(f"{name} {count}" for name, count in one.picked.items()) or "nothing",
            )
            for one in result.collisions
        ],
    )


def _format_share(part: "Share") -> str:
    return f"{part.k}/{part.n} {_format_interval(part)}"


def _format_interval(part: "Share") -> str:
    return span(part.ci_low, part.ci_high, part.n)
