"""The command that says how many cases a comparison needs: power."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.output import count, note, print_json, print_table, suggest
from evalq.definitions.money import money

if TYPE_CHECKING:
    from evalq.summary.power import PowerPlan

_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@dataclass(frozen=True)
class _Field:
    """What would be run: the task, the set, its number of cases, the judges, and their cost."""

    task: str
    eval_set: str
    n_cases: int
    judges: Sequence[str]
    estimate_usd: Decimal | None
    unpriced: Sequence[str] = ()


@click.command()
@options.task("A task: its name, or the path of its file.", required=True)
@options.eval_set("An evalset of the task; default: its first that is not a holdout.")
@options.judges("Judges to compare, separated by commas: prices the plan too.")
@click.option("--delta", type=_SHARE, default=0.05, show_default=True, help="The difference to see.")
@click.option("--alpha", type=_SHARE, default=0.05, show_default=True, help="Chance of a false claim.")
@click.option("--power", "chance", type=_SHARE, default=0.8, show_default=True, help="Chance to see it.")
@click.option(
    "--samples", type=click.IntRange(1, 1000), default=1, show_default=True, help="Answers per case."
)
@options.as_json("The evalq.power/1 document.")
@pass_context
def power(
    context: Context,
    task: str,
    eval_set: str | None,
    judges: list[str],
    delta: float,
    alpha: float,
    chance: float,
    samples: int,
    as_json: bool,
) -> int:
    """Compute how many cases it takes to see a difference, and what an evalset can show.

    How much judges differ from case to case is taken from the task's past bake-offs, if it has any.
    """
    from evalq.bakeoff.runs import past_runs
    from evalq.summary.power import Aim, plan_power, spreads

    field = _load_field(context, task, eval_set, judges, samples=samples)
    aim = Aim(delta, alpha, chance, samples, n_judges=max(2, len(field.judges)))
    with context.open_session() as session:
        past = spreads(past_runs(session.db, field.task), field.judges)
    plan = plan_power(aim, field.n_cases, past)
    if as_json:
        print_json(_document(plan, field))
    else:
        _print(plan, field)
    suggest(_next_command(field))
    return 0


def _load_field(
    context: Context, task: str, eval_set: str | None, judges: Sequence[str], *, samples: int
) -> _Field:
    """Load what would be run: with judges the whole plan, without them only the cases."""
    from evalq.bakeoff.holdout.guard import check_look
    from evalq.bakeoff.portfolio import first_set
    from evalq.bakeoff.request import Request
    from evalq.calling.pricing import price_of
    from evalq.definitions.files import load_evalset, load_task
    from evalq.definitions.project import find_evalset, find_task, list_evalsets
    from evalq.formats import prepare

    root = context.root
    name = load_task(find_task(task, root)).name
    chosen = eval_set or first_set(name, root)
    if not judges:
        evalset = load_evalset(find_evalset(chosen, name, root)).without_drafts().evalset
        check_look(evalset.name, task=name, judges=(), purpose=None, other_sets=[*list_evalsets(name, root)])
        return _Field(name, evalset.name, len(evalset.cases), (), None)
    plan = prepare(
        Request(task, chosen, judges, samples=samples, allow_unpriced=True), context.settings, root
    )
    unpriced = [judge.name for judge in plan.judges if price_of(judge) is None]
    named = [judge.name for judge in plan.judges]
    return _Field(name, plan.evalset.name, len(plan.evalset.cases), named, plan.estimate_usd, unpriced)


def _document(plan: "PowerPlan", field: _Field) -> dict[str, Any]:
    found = {key: value for key, value in asdict(plan).items() if key != "aim"}
    return {
        "schema": "evalq.power/1",
        "task": field.task,
        "eval_set": field.eval_set,
        "judges": list(field.judges),
        **asdict(plan.aim),
        "n_pairs": plan.aim.n_pairs,
        **found,
        "basis": _describe_basis(plan),
        "enough": plan.is_enough,
        "estimate_usd": _format_usd(field.estimate_usd),
        "estimate_needed_usd": _format_usd(_estimate_usd(field, plan.cases_needed)),
        "estimate_needed_all_pairs_usd": _format_usd(_estimate_usd(field, plan.cases_needed_all_pairs)),
        "unpriced": list(field.unpriced),
    }


def _format_usd(amount: Decimal | None) -> str | None:
    return None if amount is None else f"{amount:.4f}"


def _estimate_usd(field: _Field, n_cases: int) -> Decimal | None:
    """The estimate for `n_cases`, each as expensive as the set's."""
    return None if field.estimate_usd is None else field.estimate_usd * n_cases / field.n_cases


def _describe_basis(plan: "PowerPlan") -> str:
    """The data that the variance comes from."""
    if not plan.past_pairs:
        return "no past bake-off of two judges: assumed to err independently, each right half the time"
    pairs = f"{count(plan.past_pairs, 'pair')} of judges"
    return f"{pairs} in {count(plan.past_bakeoffs, 'past bake-off')}, {plan.past_cases} paired cases"


def _print(plan: "PowerPlan", field: _Field) -> None:
    print_table(("", "one comparison", f"all pairs ({plan.aim.n_pairs})"), list(_list_rows(plan, field)))
    note(f"variance of a case's difference {plan.var_d:.3f}: {_describe_basis(plan)}")
    if plan.aim.samples > 1 and not plan.samples_help:
        note("past runs had one sample a case: further samples are assumed to change nothing")
    for judge in field.unpriced:
        note(f"! {judge} has no price: the dollars are without it")
    enough = "can" if plan.is_enough else "cannot"
    size = f"{plan.aim.delta * 100:g} pp"
    click.echo(f"{field.eval_set} with {plan.n_cases} cases {enough} show a difference of {size}")


def _list_rows(plan: "PowerPlan", field: _Field) -> Iterator[Sequence[str]]:
    aim = plan.aim
    yield (
        f"cases to see {aim.delta * 100:g} pp (alpha {aim.alpha:g}, power {aim.power:g})",
        str(plan.cases_needed),
        str(plan.cases_needed_all_pairs),
    )
    yield (
        f"smallest difference {field.eval_set} shows at n={plan.n_cases}",
        f"{plan.mde * 100:.1f} pp",
        f"{plan.mde_all_pairs * 100:.1f} pp",
    )
    if field.estimate_usd is not None:
        needed = [_estimate_usd(field, n) for n in (plan.cases_needed, plan.cases_needed_all_pairs)]
        yield f"$ for {field.eval_set}", *[money(field.estimate_usd)] * 2
        yield "$ for the cases it takes", *(money(usd) for usd in needed if usd is not None)


def _next_command(field: _Field) -> str:
    judges = f" --judges {','.join(field.judges)}" if field.judges else ""
    return f"evalq bake-off --task {field.task} --eval-set {field.eval_set}{judges} --dry-run"
