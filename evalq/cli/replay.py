"""The command that looks at one stored answer again: its prompt, its grades, what differs."""

import difflib
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.output import print_json, suggest
from evalq.reports.text import clean

if TYPE_CHECKING:
    from evalq.bakeoff.replay import Replay
    from evalq.records import BakeOffRow, Completion, Grade, RunRow
    from evalq.store.database import Database


@click.command()
@options.bakeoff_id("run", metavar="RUN")
@click.argument("case_id", metavar="CASE")
@options.judge("Whose answer, when RUN is a bake-off of several judges.")
@click.option(
    "--sample", type=click.IntRange(min=1), default=1, show_default=True, help="Which answer of several."
)
@click.option(
    "--call", "ask_again", is_flag=True, help="Put the question to the judge once more, and compare."
)
@options.max_cost
@options.as_json("The evalq.replay/1 document.")
@pass_context
def replay(
    context: Context,
    run: str,
    case_id: str,
    judge: str | None,
    sample: int,
    ask_again: bool,
    max_cost_usd: Decimal | None,
    as_json: bool,
) -> int:
    """Render the prompt of one stored answer again, grade it again, and show what differs.

    RUN is a run's number, ID/JUDGE, or a bake-off (`last`, or its number with --judge). Everything comes
    from the snapshots taken then; no model is asked unless with --call. Exit code 1 when something differs.
    """
    from evalq.bakeoff.replay import call_again
    from evalq.bakeoff.replay import replay as replay_answer

    with context.open_session(fleet=ask_again) as session:
        bakeoff, chosen = _find_run(session.db, run, judge)
        found = replay_answer(session.db, bakeoff, chosen, case_id=case_id, sample=sample)
        fresh = None
        if ask_again:
            fresh = call_again(session, found, cap_usd=context.cap_usd(max_cost_usd), root=context.root)
    if as_json:
        document = found.to_dict()
        if ask_again:
            document["call"] = fresh and {"state": fresh.state, "answer": fresh.text}
        print_json(document)
    else:
        for line in _describe_replay(found, fresh, ask_again=ask_again):
            click.echo(line)
    suggest(f"evalq inspect {bakeoff.id} --case {case_id}")
    return 1 if found.differs else 0


def _find_run(db: "Database", name: str, judge: str | None) -> "tuple[BakeOffRow, RunRow]":
    """The run that is named; a plain number is a bake-off only together with a judge."""
    from evalq.bakeoff.run_names import find_run
    from evalq.store import bakeoffs

    if judge is not None and not bakeoffs.split_run_name(name):
        name = f"{name}/{judge}"
    target = find_run(db, name)
    assert target.run is not None
    return bakeoffs.get(db, target.bakeoff_id), target.run


def _describe_replay(found: "Replay", fresh: "Completion | None", *, ask_again: bool) -> Iterator[str]:
    same = {True: "the bytes that were sent", False: "NOT what was sent", None: "nothing was sent"}
    yield f"bake-off {found.bakeoff.id}, run {found.run.id} ({found.run.judge}), case {found.answer.case.id}"
    yield from _format_block("system", found.prompt.system)
    for turn in found.prompt.turns:
        yield from _format_block(turn.role, turn.text)
    yield from _format_block("user", found.prompt.user)
    yield f"prompt: {same[found.is_same_prompt]}"
    yield from _format_block(f"answer ({found.answer.completion.state})", found.answer.completion.text)
    for pair in found.grades:
        sign = "≠" if pair.differs else "="
        now = "carried over, not given again" if pair.is_carried_over else _describe_grade(pair.now)
        yield clean(f"{sign} {pair.grader}: {_describe_grade(pair.then)} → {now}")
    yield f"verdict: {found.verdict_then} → {found.verdict_now}"
    if ask_again:
        yield from _describe_new_answer(found.answer.completion.text, fresh)


def _describe_grade(grade: "Grade | None") -> str:
    if grade is None:
        return "no grade"
    mark: dict[bool | None, str] = {True: "passed", False: "failed", None: "undecided"}
    return f"{mark[grade.passed]} ({grade.reason})"


def _format_block(title: str, text: str) -> Iterator[str]:
    if text:
        yield f"— {title}"
        yield from (f"  {line}" for line in clean(text).split("\n"))


def _describe_new_answer(before: str, fresh: "Completion | None") -> Iterator[str]:
    if fresh is None:
        yield "asked again: no answer"
    elif fresh.text == before:
        yield "asked again: the same answer, byte for byte"
    else:
        yield f"asked again ({fresh.state}): another answer"
        lines = before.splitlines(), fresh.text.splitlines()
        yield from (clean(line) for line in difflib.unified_diff(*lines, "then", "now", lineterm=""))
