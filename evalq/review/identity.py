"""Who reviews: people sign in with tokens of their own, so that nobody rates under another's name."""

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

from evalq.errors import InputError, Problem, Refused
from evalq.review.items import check_reviewer
from evalq.store import reviewers
from evalq.store.database import Database
from evalq.store.reviewers import ReviewerRole, ReviewerRow, SignedIn

_MARK = "evr_"
"""What tokens begin with, so that a leaked one is recognised."""

_MAX_TOKEN = 100


@dataclass(frozen=True)
class Invitation:
    """A person and their new token, which is nowhere else; `replaces` an earlier one if they had one."""

    name: str
    role: ReviewerRole
    token: str
    replaces: bool

    @property
    def path(self) -> str:
        """The page that signs them in; the part after # never leaves their browser by itself."""
        return f"/review/sign-in#{self.token}"

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return {"schema": "evalq.invitation/1", **asdict(self), "path": self.path}


def invite(db: Database, name: str, *, role: ReviewerRole = "reviewer") -> Invitation:
    """Give a person a token of their own; an earlier one stops working."""
    check_reviewer(name)
    token = f"{_MARK}{secrets.token_urlsafe(32)}"
    is_new = db.in_transaction(
        lambda tx: reviewers.invite(tx, name, role=role, token_sha256=hash_token(token))
    )
    return Invitation(name, role, token, replaces=not is_new)


def revoke(db: Database, name: str) -> None:
    """Make a person's token worthless at once; what they rated stays, and so does their name."""
    if not reviewers.revoke(db, name):
        known = [one.name for one in reviewers.list_all(db) if one.revoked_at is None]
        remedy = f"invited: {', '.join(known)}" if known else "`evalq review invite NAME` invites one"
        raise InputError(Problem(f"no reviewer {name!r} has a token", remedy))


def list_reviewers(db: Database) -> list[ReviewerRow]:
    """Everyone ever invited."""
    return reviewers.list_all(db)


def sign_in(db: Database, token: str) -> SignedIn | None:
    """The person a token belongs to; None for a token that is wrong or revoked.

    The token has 256 random bits, so its plain hash cannot be guessed, and looking the hash up tells
    nothing about the token by the time it takes.
    """
    if not token.startswith(_MARK) or len(token) > _MAX_TOKEN or not token.isascii():
        return None
    found = reviewers.of_token(db, hash_token(token))
    if found is not None:
        reviewers.note_seen(db, found.name)
    return found


def identify(db: Database, name: str | None, token: str | None) -> SignedIn | None:
    """Who acts: the owner of the token; without one, a name that nobody signs in with, as None.

    Refused: a name that belongs to somebody else, or needs its token.
    """
    if token:
        found = sign_in(db, token)
        if found is None:
            raise Refused("this reviewer token is wrong or revoked; a lead can invite you again")
        if name not in (None, found.name):
            raise Refused(f"this token is {found.name}'s, not {name}'s; leave the name out")
        return found
    if name is not None:
        refuse_borrowed(db, [name])
    return None


def refuse_borrowed(db: Database, names: Collection[str], *, actor: SignedIn | None = None) -> None:
    """Refuse names that people sign in with, unless the actor is that person or leads the review."""
    if actor is not None and actor.role == "lead":
        return
    for name in sorted(set(names)):
        if (actor is None or actor.name != name) and reviewers.has_name(db, name):
            raise Refused(f"{name} signs in with a token of their own; set EVALQ_REVIEWER_TOKEN to it")


def refuse_unless_lead(who: SignedIn) -> None:
    """Refuse what only a lead may do: decide over the ratings of others."""
    if who.role != "lead":
        raise Refused(f"{who.name} is a reviewer; only a lead decides what others disagree on")


def hash_token(token: str) -> str:
    """What is stored of a token."""
    return hashlib.sha256(token.encode()).hexdigest()
