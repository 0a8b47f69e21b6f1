"""Commands of whoever leads a review: invite reviewers, list and revoke them, queue answers to label."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.output import note, print_json, print_table, suggest

if TYPE_CHECKING:
    from evalq.store.reviewers import ReviewerRow

_as_json = options.as_json("A JSON document on stdout.")
_HEAD = ("name", "role", "rated", "declined", "invited", "seen", "token")


@click.command("invite")
@click.argument("name", metavar="NAME")
@click.option(
    "--role",
    type=click.Choice(["reviewer", "lead"]),
    default="reviewer",
    show_default=True,
    help="A lead also sees who said what, and adjudicates.",
)
@_as_json
@pass_context
def invite_command(context: Context, name: str, role: str, as_json: bool) -> int:
    """Give a person a token of their own; it is printed once and stored only as a hash.

    Nobody else can rate under NAME from then on. Inviting someone again replaces their token.
    """
    from evalq.review.identity import invite

    with context.open_session() as session:
        invitation = invite(session.db, name, role="lead" if role == "lead" else "reviewer")
    if as_json:
        print_json(invitation.to_dict())
        return 0
    click.echo(invitation.token)
    if invitation.replaces:
        note(f"the earlier token of {name} no longer works")
    note(f"{role} {name} signs in at /review/sign-in of `evalq web`, or opens {invitation.path} there")
    note("it cannot be shown again; hand it over in private")
    suggest("evalq web")
    return 0


@click.command("reviewers")
@_as_json
@pass_context
def reviewers_command(context: Context, as_json: bool) -> int:
    """List who was invited, how much each has rated, and whose token is revoked."""
    from evalq.review.identity import list_reviewers

    with context.open_session() as session:
        found = list_reviewers(session.db)
    if as_json:
        people = [{**asdict(one), **_stamps(one)} for one in found]
        print_json({"schema": "evalq.reviewers/1", "reviewers": people})
        return 0
    rows = []
    for one in found:
        stamps = _stamps(one)
        state = "revoked" if one.revoked_at else "works"
        days = [(stamps[name] or "-")[:10] for name in ("invited_at", "seen_at")]
        rows.append((one.name, one.role, str(one.rated), str(one.declined), *days, state))
    print_table(_HEAD, rows)
    if not found:
        suggest("evalq review invite NAME")
    return 0


@click.command("revoke")
@click.argument("name", metavar="NAME")
@_as_json
@pass_context
def revoke_command(context: Context, name: str, as_json: bool) -> int:
    """Make a person's token worthless at once; what they rated stays."""
    from evalq.review.identity import revoke

    with context.open_session() as session:
        revoke(session.db, name)
    if as_json:
        print_json({"schema": "evalq.revoked/1", "name": name})
    else:
        click.echo(f"the token of {name} no longer works")
    suggest("evalq review reviewers")
    return 0


@click.command("ask")
@options.bakeoff_id("bakeoff", metavar="ID")
@click.option("--case", "case_id", help="All answers to this case; default: those a label tells most about.")
@click.option("--count", type=click.IntRange(1, 10_000), default=40, show_default=True, help="Answers.")
@click.option(
    "--reviewers", type=click.IntRange(1, 20), default=1, show_default=True, help="For each answer."
)
@click.option("--seed", type=int, help="Draws other answers; default: the bake-off's.")
@_as_json
@pass_context
def ask_labels(
    context: Context,
    bakeoff: str,
    case_id: str | None,
    count: int,
    reviewers: int,
    seed: int | None,
    as_json: bool,
) -> int:
    """Put graded answers before people, who say right or wrong; `evalq calibrate` reads their labels.

    The answers come in the order of the label planner: where judges disagree, and evenly over judges and
    verdicts. Labels never change an outcome.
    """
    from evalq.review.label_queue import queue_labels, send_to_review
    from evalq.store import bakeoffs

    with context.open_session() as session:
        bakeoff_id = bakeoffs.find(session.db, bakeoff)
        if case_id is not None:
            sent = send_to_review(session.db, bakeoff_id, case_id, reviewers=reviewers)
        else:
            sent = queue_labels(session.db, bakeoff_id, count=count, reviewers=reviewers, seed=seed)
    if as_json:
        print_json(sent.to_dict())
    else:
        click.echo(f"{sent.added} answers of bake-off {bakeoff_id} wait for {reviewers} label(s) each")
    suggest(f"evalq review next {bakeoff_id}")
    return 0


def _stamps(one: "ReviewerRow") -> dict[str, str | None]:
    moments = {"invited_at": one.invited_at, "seen_at": one.seen_at, "revoked_at": one.revoked_at}
    return {name: None if moment is None else moment.isoformat() for name, moment in moments.items()}
