"""Commands for review by people: next, rate, decline, undo, status, export, import, serve."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.invitations import ask_labels, invite_command, reviewers_command, revoke_command
from evalq.cli.output import note, print_json, print_table, suggest
from evalq.errors import InputError, Problem
from evalq.reports.json_output import json_line

if TYPE_CHECKING:
    from evalq.cli.review_session import ReviewScope
    from evalq.review import Offer
    from evalq.store.database import Database
    from evalq.store.reviewers import SignedIn

_FILE = click.Path(dir_okay=False, path_type=Path)
_reviewer = click.option(
    "--reviewer", help="Who you are; default: EVALQ_REVIEWER_TOKEN's owner, EVALQ_REVIEWER, your login name."
)
_as_json = options.as_json("A JSON document on stdout.")
_grader = click.option("--grader", help="Only this grader's items, by its name in the task.")


@click.group()
def review() -> None:
    """Rate answers that wait for people; ratings become grades, verdicts and the run's row."""


for _command in (invite_command, reviewers_command, revoke_command, ask_labels):
    review.add_command(_command)


@review.command("next")
@options.bakeoff_id("bakeoff", metavar="[ID]", required=False)
@_reviewer
@_grader
@click.option("--adjudicate", "adjudicates", is_flag=True, help="An item that people disagree on.")
@_as_json
@pass_context
def next_command(
    context: Context,
    bakeoff: str | None,
    reviewer: str | None,
    grader: str | None,
    adjudicates: bool,
    as_json: bool,
) -> int:
    """Show the next answer to rate; it is yours for its time limit. On a terminal, rate one after the other.

    ID is a number, `last` or `@-2`; without one, every bake-off that has something to rate.
    """
    from evalq.cli.review_session import ReviewScope
    from evalq.store import bakeoffs

    with context.open_session() as session:
        bakeoff_id = bakeoffs.find(session.db, bakeoff) if bakeoff else None
        who = _read_reviewer(context, session.db, reviewer, adjudicates=adjudicates)
        scope = ReviewScope(who, bakeoff_id, grader, adjudicates)
        if not as_json and sys.stdin.isatty() and sys.stdout.isatty():
            return _review_in_turn(session.db, scope)
        offer = scope.offer(session.db)
    if as_json:
        print_json(offer.to_dict())
    else:
        _print_offer(offer, scope)
    return 0


@review.command("rate")
@click.argument("item", metavar="ITEM")
@click.argument("rating", metavar="RATING", nargs=-1)
@click.option("--comment", default="", help="Why; shown to the adjudicator.")
@click.option("--criterion", "criteria", multiple=True, metavar="NAME=N", help="By its words or number.")
@click.option("--adjudicate", "adjudicates", is_flag=True, help="Decide alone, overruling other ratings.")
@_reviewer
@_as_json
@pass_context
def rate_command(
    context: Context,
    item: str,
    rating: Sequence[str],
    comment: str,
    criteria: Sequence[str],
    adjudicates: bool,
    reviewer: str | None,
    as_json: bool,
) -> int:
    """Rate an item: 1 to 5, pass or fail, or letters best first (`B > A = C`), as its scale has it.

    ITEM is the name `next` prints, or the beginning of it. Rating it again replaces your rating.
    """
    from evalq.review import Given, rate
    from evalq.review.files import rated_text

    parsed = _parse_rating(rating, criteria)
    with context.open_session() as session:
        who = _read_reviewer(context, session.db, reviewer, adjudicates=adjudicates)
        rated = rate(session.db, Given(item, who, parsed, comment, adjudicates))
    if as_json:
        print_json(rated.to_dict())
    else:
        click.echo(rated_text(rated))
    step = "review next" if rated.n_pending else "inspect"
    suggest(f"evalq {step} {rated.bakeoff_id}")
    return 0


@review.command("decline")
@click.argument("item", metavar="ITEM")
@click.option("--broken", is_flag=True, help="The case itself is wrong; default: you are unsure.")
@click.option("--reason", "comment", default="", help="Why; shown to the lead.")
@_reviewer
@_as_json
@pass_context
def decline_command(
    context: Context, item: str, broken: bool, comment: str, reviewer: str | None, as_json: bool
) -> int:
    """Give back an item you hold and cannot rate; it is offered to others, never to you again."""
    from evalq.review import decline

    why: Literal["unsure", "broken"] = "broken" if broken else "unsure"
    with context.open_session() as session:
        who = _read_reviewer(context, session.db, reviewer)
        declined = decline(session.db, who, item, why=why, comment=comment)
    if as_json:
        print_json(declined.to_dict())
    else:
        click.echo(f"{declined.item}: {declined.why}; left to others")
    suggest(f"evalq review next {declined.bakeoff_id}")
    return 0


@review.command("undo")
@click.argument("item", metavar="[ITEM]", required=False)
@_reviewer
@_as_json
@pass_context
def undo_command(context: Context, item: str | None, reviewer: str | None, as_json: bool) -> int:
    """Take back your rating of ITEM, or your last one; release an item you have not rated."""
    from evalq.review import undo

    with context.open_session() as session:
        undone = undo(session.db, _read_reviewer(context, session.db, reviewer), item=item)
    if as_json:
        print_json(undone.to_dict())
    elif undone.was != "leased":
        click.echo(f"{undone.item}: what you said is taken back")
    else:
        click.echo(f"{undone.item}: released for another reviewer")
    suggest(f"evalq review next {undone.bakeoff_id}")
    return 0


@review.command("status")
@options.bakeoff_id("bakeoff", metavar="[ID]", default="last")
@_as_json
@pass_context
def status_command(context: Context, bakeoff: str, as_json: bool) -> int:
    """Show what waits, who rated how much, how far people agree, and what they disagree on."""
    from evalq.review import status
    from evalq.review.files import HEAD, status_lines, status_rows
    from evalq.store import bakeoffs

    with context.open_session() as session:
        found = status(session.db, bakeoffs.find(session.db, bakeoff))
    if as_json:
        print_json(found.to_dict())
        return 0
    print_table(HEAD, status_rows(found))
    for line in status_lines(found):
        click.echo(line if sys.stdout.isatty() else f"# {line}")
    note(f"{found.n_pending} answers of bake-off {found.bakeoff_id} wait for people")
    suggest(found.next)
    return 0


@review.command("export")
@options.bakeoff_id("bakeoff", metavar="ID")
@click.option("-o", "output", type=_FILE, help="Write to FILE.jsonl; default: stdout.")
@_grader
@pass_context
def export_command(context: Context, bakeoff: str, output: Path | None, grader: str | None) -> int:
    """Write the items to rate as JSONL: fill in `rating`, then import it."""
    from evalq.review import export_items
    from evalq.store import bakeoffs

    with context.open_session() as session:
        items = export_items(session.db, bakeoffs.find(session.db, bakeoff), grader=grader)
        lines = [json_line(item) for item in items]
    if output is None:
        sys.stdout.writelines(lines)
    else:
        _write_new(output, lines)
    note(f"{len(lines)} items to rate")
    suggest(f"evalq review import {output or 'FILE.jsonl'}")
    return 0


@review.command("import")
@click.argument("file", type=_FILE)
@_reviewer
@_as_json
@pass_context
def import_command(context: Context, file: Path, reviewer: str | None, as_json: bool) -> int:
    """Store the ratings of a JSONL file: all of them, or none when one is wrong.

    --reviewer is the rater of lines that name none.
    """
    from evalq.review import import_ratings

    with context.open_session() as session:
        actor = _sign_in(context, session.db, reviewer)
        who = actor.name if actor else _read_reviewer(context, session.db, reviewer)
        found = import_ratings(session.db, file, reviewer=who, actor=actor)
    if as_json:
        print_json({"schema": "evalq.ratings/1", **asdict(found)})
    else:
        click.echo(
            f"{found.stored} ratings stored, {found.n_empty} left open; items decided: {found.decided}, "
            f"pending: {found.pending}, disputed: {found.disputed}"
        )
    suggest(f"evalq review status {found.bakeoff_ids[0]}")
    return 0


@review.command("serve")
@click.option("--port", type=click.IntRange(0, 65535), default=8410, show_default=True, help="0: any.")
@click.option("--address", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--allow-host", "hosts", multiple=True, help="A further host name of this server.")
@click.option("--no-auth", is_flag=True, help="Require no token; on loopback only.")
@pass_context
def serve_command(context: Context, port: int, address: str, hosts: Sequence[str], no_auth: bool) -> int:
    """Serve review as a JSON API until Ctrl-C. EVALQ_REVIEW_TOKEN sets the token; default: a random one.

    GET /api/reviews/next?reviewer=, POST and DELETE /api/reviews/ITEM, GET /api/reviews/status.
    """
    # Imported by name, like the commands: web and command line do not depend on each other.
    server_module = import_module("evalq.web.server")
    with context.open_session() as session, server_module.listen(address, port) as endpoint:
        token = None if no_auth else context.environ.get("EVALQ_REVIEW_TOKEN")
        server = endpoint.app(session.db, token=token, hosts=hosts, no_auth=no_auth)
        note(f"serving reviews on {endpoint.url} (Ctrl-C stops it)")
        if server.is_new_token:
            note(f"token: {server.token}")
        header = "" if server.token is None else ' -H "Authorization: Bearer TOKEN"'
        suggest(f"curl{header} '{endpoint.url}/api/reviews/next?reviewer=NAME'")
        server_module.serve(server, endpoint)
    return 0


def _read_reviewer(context: Context, db: "Database", given: str | None, *, adjudicates: bool = False) -> str:
    """Who acts: the owner of EVALQ_REVIEWER_TOKEN, else a name that nobody signs in with."""
    from evalq.review.identity import identify, refuse_unless_lead
    from evalq.review.items import reviewer_name

    actor = _sign_in(context, db, given)
    if actor is not None:
        if adjudicates:
            refuse_unless_lead(actor)
        return actor.name
    name = reviewer_name(given, context.environ)
    identify(db, name, None)
    return name


def _sign_in(context: Context, db: "Database", given: str | None) -> "SignedIn | None":
    from evalq.review.identity import identify

    token = context.environ.get("EVALQ_REVIEWER_TOKEN")
    return identify(db, given, token) if token else None


def _parse_rating(rating: Sequence[str], criteria: Sequence[str]) -> str | dict[str, str]:
    """The rating as typed: one text, or numbers by criterion."""
    if bool(rating) == bool(criteria):
        remedy = "write RATING, or --criterion NAME=N for each criterion"
        raise InputError(Problem("two ratings" if rating else "no rating", remedy))
    if rating:
        return " ".join(rating)
    numbers: dict[str, str] = {}
    for text in criteria:
        name, sign, number = text.rpartition("=")
        if not (name and sign):
            raise InputError(Problem(f"--criterion {text!r}", "write NAME=N, such as --criterion 1=4"))
        if name.strip() in numbers:
            raise InputError(Problem("one criterion twice", "name each once"))
        numbers[name.strip()] = number
    return numbers


def _review_in_turn(db: "Database", scope: "ReviewScope") -> int:
    from evalq.cli.review_session import ReviewSession

    def ask(question: str) -> str:
        return str(click.prompt(question, default="", show_default=False, err=True))

    session = ReviewSession(db, scope, ask, click.echo)
    try:
        session.run()
    except click.Abort:  # Ctrl-C or Ctrl-D: every rating so far is stored
        click.echo(err=True)
    note(f"{session.rated} rated")
    suggest(f"evalq review status {scope.bakeoff_id or 'last'}")
    return 0


def _print_offer(offer: "Offer", scope: "ReviewScope") -> None:
    from evalq.review.files import item_text

    if offer.item is None:
        note(f"nothing is left for {scope.reviewer}")
        suggest(f"evalq review status {scope.bakeoff_id or 'last'}")
        return
    click.echo(item_text(offer.item, offer))
    flag = " --adjudicate" if scope.adjudicates else ""
    suggest(f"evalq review rate {offer.item.item} RATING{flag}")


def _write_new(output: Path, lines: Sequence[str]) -> None:
    try:
        with output.open("x", encoding="utf-8") as file:
            file.writelines(lines)
    except FileExistsError:
        message = "is there already, perhaps half filled in"
        raise InputError(Problem(message, "name another", str(output))) from None
    except OSError as exc:
        raise InputError(Problem(f"cannot be written: {exc.strerror}", "name another", str(output))) from None
