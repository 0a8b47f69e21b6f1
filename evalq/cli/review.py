"""Commands for review by people: next, rate, undo, status, export, import, serve."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli.output import json_line, json_text
from evalq.errors import InputError, Problem
from evalq.settings import load_settings

if TYPE_CHECKING:
    from evalq.cli.review_session import Scope
    from evalq.review import Offer
    from evalq.store.database import Database

_FILE = click.Path(dir_okay=False, path_type=Path)
_reviewer = click.option("--reviewer", help="Who you are; default: EVALQ_REVIEWER, else your login name.")
_as_json = click.option("--json", "as_json", is_flag=True, help="A JSON document on stdout.")
_grader = click.option("--grader", help="Only this grader's items, by its name in the task.")


@click.group()
def review() -> None:
    """Rate answers that wait for people; what they say becomes grades, verdicts and the run's row."""


@review.command("next")
@click.argument("bakeoff", metavar="[ID]", required=False)
@_reviewer
@_grader
@click.option("--adjudicate", "adjudicates", is_flag=True, help="An item that people disagree on.")
@_as_json
def next_command(
    bakeoff: str | None, reviewer: str | None, grader: str | None, adjudicates: bool, as_json: bool
) -> int:
    """Show the next answer to rate; it is yours for its time limit. On a terminal, rate one after the other.

    ID is a number, `last` or `@-2`; without one, every bake-off that has something to rate.
    """
    from evalq.cli.review_session import Scope

    with _database() as db:
        scope = Scope(_name(reviewer), _find(db, bakeoff), grader, adjudicates)
        if not as_json and sys.stdin.isatty() and sys.stdout.isatty():
            return _converse(db, scope)
        offer = scope.offer(db)
    if as_json:
        click.echo(json_text(offer.to_dict()))
    else:
        _show(offer, scope)
    return 0


@review.command("rate")
@click.argument("item", metavar="ITEM")
@click.argument("rating", metavar="RATING", nargs=-1)
@click.option("--comment", default="", help="Why; shown to whoever adjudicates.")
@click.option("--criterion", "criteria", multiple=True, metavar="NAME=N", help="By its words or number.")
@click.option("--adjudicate", "adjudicates", is_flag=True, help="Decide alone, over what others said.")
@_reviewer
@_as_json
def rate_command(
    item: str,
    rating: Sequence[str],
    comment: str,
    criteria: Sequence[str],
    adjudicates: bool,
    reviewer: str | None,
    as_json: bool,
) -> int:
    """Rate an item: 1 to 5, pass or fail, or letters best first (`B > A = C`), as its scale has it.

    ITEM is the name `next` prints, or the beginning of it. Rating it again replaces what you said.
    """
    from evalq.review import Given, rate
    from evalq.review.files import rated_text

    said = _said(rating, criteria)
    with _database() as db:
        rated = rate(db, Given(item, _name(reviewer), said, comment, adjudicates))
    click.echo(json_text(rated.to_dict()) if as_json else rated_text(rated))
    step = f"review next {rated.bakeoff_id}" if rated.n_pending else f"inspect {rated.bakeoff_id}"
    click.echo(f"next  evalq {step}", err=True)
    return 0


@review.command("undo")
@click.argument("item", metavar="[ITEM]", required=False)
@_reviewer
@_as_json
def undo_command(item: str | None, reviewer: str | None, as_json: bool) -> int:
    """Take your rating of ITEM back, or your last one; give back what you only have in hand."""
    from evalq.review import undo

    with _database() as db:
        undone = undo(db, _name(reviewer), item=item)
    said = "your rating is taken back" if undone.was == "rated" else "given back, for somebody else"
    click.echo(json_text(undone.to_dict()) if as_json else f"{undone.item}: {said}")
    click.echo(f"next  evalq review next {undone.bakeoff_id}", err=True)
    return 0


@review.command("status")
@click.argument("bakeoff", metavar="[ID]", default="last")
@_as_json
def status_command(bakeoff: str, as_json: bool) -> int:
    """Say what waits, who rated how much, how far people agree, and what they disagree on."""
    from evalq.cli.output import print_table
    from evalq.review import status
    from evalq.review.files import HEAD, status_lines, status_rows

    with _database() as db:
        found = status(db, _find(db, bakeoff) or 0)
    if as_json:
        click.echo(json_text(found.to_dict()))
        return 0
    print_table(HEAD, status_rows(found))
    for line in status_lines(found):
        click.echo(line if sys.stdout.isatty() else f"# {line}")
    click.echo(f"{found.n_pending} answers of bake-off {found.bakeoff_id} wait for people", err=True)
    click.echo(f"next  {found.next}", err=True)
    return 0


@review.command("export")
@click.argument("bakeoff", metavar="ID")
@click.option("-o", "output", type=_FILE, help="Write to FILE.jsonl; default: stdout.")
@_grader
def export_command(bakeoff: str, output: Path | None, grader: str | None) -> int:
    """Write what is to be rated as JSONL: fill in `rating`, then import it."""
    from evalq.review import export_items

    with _database() as db:
        lines = [json_line(one) for one in export_items(db, _find(db, bakeoff) or 0, grader=grader)]
    if output is None:
        sys.stdout.writelines(lines)
    else:
        _write(output, lines)
    click.echo(f"{len(lines)} items to rate", err=True)
    click.echo(f"next  evalq review import {output or 'FILE.jsonl'}", err=True)
    return 0


@review.command("import")
@click.argument("file", type=_FILE)
@_reviewer
@_as_json
def import_command(file: Path, reviewer: str | None, as_json: bool) -> int:
    """Store the ratings of a JSONL file: all of them, or none when one is wrong.

    --reviewer is who rated where a line names nobody.
    """
    from dataclasses import asdict

    from evalq.review import import_ratings

    with _database() as db:
        found = import_ratings(db, file, reviewer=_name(reviewer))
    if as_json:
        click.echo(json_text({"schema": "evalq.ratings/1", **asdict(found)}))
    else:
        click.echo(
            f"{found.stored} ratings stored, {found.n_empty} left open; items decided: {found.decided}, "
            f"pending: {found.pending}, disputed: {found.disputed}"
        )
    click.echo(f"next  evalq review status {found.bakeoff_ids[0]}", err=True)
    return 0


@review.command("serve")
@click.option("--port", type=click.IntRange(0, 65535), default=8410, show_default=True, help="0: any.")
@click.option("--address", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--allow-host", "hosts", multiple=True, help="A further name it may be called by.")
@click.option("--no-auth", is_flag=True, help="Ask for no token; on loopback only.")
def serve_command(port: int, address: str, hosts: Sequence[str], no_auth: bool) -> int:
    """Serve review as a JSON API until Ctrl-C. EVALQ_REVIEW_TOKEN sets the token; else one is made up.

    GET /api/reviews/next?reviewer=, POST and DELETE /api/reviews/ITEM, GET /api/reviews/status.
    """
    # By name, like the commands themselves: pages and command line do not depend on each other.
    server_module = import_module("evalq.web.server")
    with _database() as db, server_module.listen(address, port) as endpoint:
        token = None if no_auth else os.environ.get("EVALQ_REVIEW_TOKEN")
        server = endpoint.app(db, token=token, hosts=hosts, no_auth=no_auth)
        click.echo(f"serving reviews on {endpoint.url} (Ctrl-C stops it)", err=True)
        if server.is_new_token:
            click.echo(f"token: {server.token}", err=True)
        header = "" if server.token is None else ' -H "Authorization: Bearer TOKEN"'
        click.echo(f"next  curl{header} '{endpoint.url}/api/reviews/next?reviewer=NAME'", err=True)
        server_module.serve(server, endpoint)
    return 0


@contextmanager
def _database() -> "Iterator[Database]":
    from evalq.engines.session import open_session

    with open_session(load_settings(Path.cwd(), os.environ)) as session:
        yield session.db


def _name(given: str | None) -> str:
    from evalq.review.items import reviewer_name

    return reviewer_name(given, os.environ)


def _find(db: "Database", bakeoff: str | None) -> int | None:
    from evalq.store import bakeoffs

    return bakeoffs.find(db, bakeoff) if bakeoff else None


def _said(rating: Sequence[str], criteria: Sequence[str]) -> Any:
    """The rating as typed: one text, or numbers by criterion."""
    if bool(rating) == bool(criteria):
        remedy = "write RATING, or --criterion NAME=N for each criterion"
        raise InputError(Problem("two ratings" if rating else "no rating", remedy))
    if rating:
        return " ".join(rating)
    parts = [text.rpartition("=") for text in criteria]
    if wrong := [text for text, (name, sign, _) in zip(criteria, parts, strict=True) if not (name and sign)]:
        raise InputError(Problem(f"--criterion {wrong[0]!r}", "write NAME=N, such as --criterion 1=4"))
    names = [name.strip() for name, _, _ in parts]
    if len(set(names)) < len(names):
        raise InputError(Problem("one criterion twice", "name each once"))
    return {name.strip(): number for name, _, number in parts}


def _converse(db: "Database", scope: "Scope") -> int:
    from evalq.cli.review_session import Conversation

    def ask(question: str) -> str:
        return str(click.prompt(question, default="", show_default=False, err=True))

    conversation = Conversation(db, scope, ask, click.echo)
    try:
        conversation.run()
    except click.Abort:  # Ctrl-C or Ctrl-D: everything said so far is stored
        click.echo(err=True)
    click.echo(f"{conversation.rated} rated", err=True)
    click.echo(f"next  evalq review status {scope.bakeoff_id or 'last'}", err=True)
    return 0


def _show(offer: "Offer", scope: "Scope") -> None:
    from evalq.review.files import item_text

    if offer.item is None:
        click.echo(f"nothing is left for {scope.reviewer}", err=True)
        click.echo(f"next  evalq review status {scope.bakeoff_id or 'last'}", err=True)
        return
    click.echo(item_text(offer.item, offer))
    flag = " --adjudicate" if scope.adjudicates else ""
    click.echo(f"next  evalq review rate {offer.item.item} RATING{flag}", err=True)


def _write(output: Path, lines: Sequence[str]) -> None:
    try:
        with output.open("x", encoding="utf-8") as file:
            file.writelines(lines)
    except FileExistsError:
        message = "is there already, perhaps half filled in"
        raise InputError(Problem(message, "name another", str(output))) from None
    except OSError as exc:
        raise InputError(Problem(f"cannot be written: {exc.strerror}", "name another", str(output))) from None
