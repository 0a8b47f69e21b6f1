"""The command that measures triggering: which requests load a skill, how often, and which of several."""

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.options import json_text
from evalq.settings import load_settings, project_root

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
@click.option("--judges", default="", help="Judges by name, separated by commas; default: the skill's own.")
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
@click.option("--json", "as_json", is_flag=True, help="The evalq.triggers/1 document on stdout.")
@options.display
def triggers(
    skills: tuple[Path, ...],
    judges: str,
    runs: int,
    queries: Path | None,
    threshold: float,
    allow_unpriced: bool,
    **how: Any,
) -> int:
    """Measure how often requests would load a skill, by its description alone.

    Every request is put to every judge several times; with several skills, also which of them it would load.
    Exit code 1: a request fails or skills collide; 3: something has no verdict.
    """
    from evalq.formats.skills.measure import Wish, prepare

    root, settings = project_root(Path.cwd()), load_settings(Path.cwd(), options.environ())
    wish = Wish(options.names(judges), runs, queries, threshold, allow_unpriced)
    return _run(prepare(skills, wish, settings, root), settings=settings, root=root, **how)


def _run(
    measured: "Measurement",
    *,
    settings: Any,
    root: Path,
    max_cost_usd: Decimal | None,
    dry_run: bool,
    as_json: bool,
    display: Any,
) -> int:
    from evalq.bakeoff.plan import refuse_over_cap
    from evalq.cli.bakeoff import preflight
    from evalq.cli.progress import Screen

    cap_usd = settings.max_cost_usd if max_cost_usd is None else max_cost_usd
    click.echo(f"{preflight(measured.plan)}, cap ${cap_usd:.2f}", err=True)
    refuse_over_cap(measured.plan, cap_usd)
    if dry_run:
        return 0
    screen = Screen(display or settings.display, as_json=as_json, output=None)
    result = _measure(measured, screen, settings=settings, root=root, cap_usd=cap_usd)
    if result is None:
        return 130
    click.echo(json_text(result.to_dict())) if as_json else _print_result(result)
    click.echo(f"next  {result.next}", err=True)
    return result.exit_code


def _measure(
    measured: "Measurement", screen: Any, *, settings: Any, root: Path, cap_usd: Decimal
) -> "TriggersResult | None":
    """Run the bake-off and read it; None when the user interrupts."""
    from evalq.bakeoff.launch import start
    from evalq.cli.options import first_interrupt
    from evalq.cli.progress import watch_to_end
    from evalq.engines.session import open_session
    from evalq.formats.skills.measure import RUN_TYPE, read_result

    with open_session(settings, fleet=True) as session, first_interrupt() as interrupt:
        bakeoff_id = start(session, measured.plan, cap_usd=cap_usd, root=root, run_type=RUN_TYPE)
        found = watch_to_end(session, bakeoff_id, screen, interrupt=interrupt, pause_on_interrupt=True)
        if interrupt() and found.state != "concluded":
            click.echo(f"interrupted; no more is spent\nnext  evalq resume {bakeoff_id}", err=True)
            return None
        return read_result(session.db, found, measured)


def _print_result(result: "TriggersResult") -> None:
    from evalq.cli.options import print_table

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
                _interval(one.rate),
                str(one.errors),
            )
            for one in result.rates
        ],
    )
    _print_confusion(result)
    _print_collisions(result)


def _print_confusion(result: "TriggersResult") -> None:
    from evalq.cli.options import print_table

    click.echo()
    print_table(
        ("judge", "skill", "tp", "fp", "fn", "tn", "precision", "recall", "accuracy"),
        [
            (
                one.judge,
                one.skill or "all",
                *(str(count) for count in (one.tp, one.fp, one.fn, one.tn)),
                *(_share(part) for part in (one.precision, one.recall, one.accuracy)),
            )
            for one in result.confusion
        ],
    )


def _print_collisions(result: "TriggersResult") -> None:
    from evalq.cli.options import print_table

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


def _share(part: "Share") -> str:
    return f"{part.k}/{part.n} {_interval(part)}"


def _interval(part: "Share") -> str:
    from evalq.reports.text import span

    return span(part.ci_low, part.ci_high, part.n)
