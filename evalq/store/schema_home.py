"""Where in a database evalq's tables live: in a schema of their own, unless they are elsewhere already."""

import logging
from typing import TYPE_CHECKING, Literal

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import InsufficientPrivilege

from evalq.errors import Refused

if TYPE_CHECKING:
    from evalq.store.database import Connection

SearchPath = Literal["ours", "default", "own"]

log = logging.getLogger(__name__)

_OPTION = "-csearch_path=evalq,public"


def search_path_options(url: str) -> dict[str, str]:
    """The `options` of a connection that look in schema evalq first; none if the address has the say.

    It has if its options set a search path, or are empty: `?options=` is for poolers that refuse the option.
    Other options, also those of PGOPTIONS, are kept.
    """
    given = conninfo_to_dict(url).get("options")
    if given is None:
        given = _default_options() or None
    if given is None:
        return {"options": _OPTION}
    if str(given).strip() == "" or "search_path" in str(given):
        return {}
    return {"options": f"{given} {_OPTION}"}


def _default_options() -> str:
    """The options that libpq takes from PGOPTIONS."""
    for option in pq.Conninfo.get_defaults():
        if option.keyword == b"options":
            return (option.val or b"").decode()
    return ""


def settle_home(tx: "Connection") -> bool:
    """Choose where the tables go, and make schema evalq if that is where; return whether it is.

    Tables of an older evalq in public stay there. A search path of the user's own is followed. Raises Refused
    when the tables are in schema evalq and the connection does not look there, as behind a pooler that drops
    the option: a second set of tables would be made.
    """
    found = tx.row("schema_home")
    assert found is not None
    path: SearchPath = found["path"]
    if path == "default" and found["is_in_evalq"] and not found["is_found"]:
        raise Refused(
            "evalq's tables are in schema evalq, where this connection does not look; nothing was changed. "
            "Run ALTER ROLE … SET search_path = evalq, public for its role, or let the pooler pass `options`"
        )
    if path != "ours":
        return False
    if found["is_in_public"] and not found["is_in_evalq"]:
        tx.run("look_in_public")
        return False
    if not found["has_evalq"]:
        _make_schema(tx, is_alone=not found["is_shared"])
    return True


def _make_schema(tx: "Connection", *, is_alone: bool) -> None:
    """Make schema evalq; in a database that nobody else uses, every new connection looks there, too."""
    try:
        tx.run("create_schema")
    except InsufficientPrivilege as exc:
        raise Refused(
            "this role may not create schema evalq; nothing was changed. Have the owner of the database run "
            "CREATE SCHEMA evalq AUTHORIZATION this_role"
        ) from exc
    if is_alone:
        _try(tx, "look_in_evalq_by_default")


def show_seed_tables(tx: "Connection") -> None:
    """Show eval_runs and eval_kappa in public, where a plain SELECT finds them; refuse foreign ones there."""
    for row in tx.rows("foreign_seed_tables"):
        raise Refused(
            f"public.{row['name']} is another program's; nothing was changed. Rename it, or have evalq show "
            "nothing in public: CREATE SCHEMA evalq, and add ?options=-csearch_path%3Devalq to the address"
        )
    for name in ("show_eval_runs", "show_eval_kappa"):
        if not _try(tx, name):
            log.warning(
                "eval_runs and eval_kappa are in schema evalq only: this role may not write to public"
            )
            return


def _try(tx: "Connection", name: str) -> bool:
    """Run a statement if the role may; False if it may not."""
    try:
        with tx.savepoint():
            tx.run(name)
    except (InsufficientPrivilege, psycopg.errors.InvalidSchemaName):
        return False
    return True
