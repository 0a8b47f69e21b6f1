"""Who reviews: a name of their own."""

import getpass
from collections.abc import Mapping

from evalq.definitions.located import is_storable
from evalq.errors import InputError, Problem

MAX_NAME = 100


def check_reviewer(name: str) -> str:
    """The name, if it can be one."""
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable() or not is_storable(name):
        raise InputError(Problem("the reviewer needs a name", f"write 1 to {MAX_NAME} plain characters"))
    return name


def reviewer_name(given: str | None, environ: Mapping[str, str]) -> str:
    """The name given, else EVALQ_REVIEWER, else the login name."""
    if given is None and not environ.get("EVALQ_REVIEWER"):
        try:
            return check_reviewer(getpass.getuser())
        except (KeyError, OSError):
            raise InputError(Problem("nobody is logged in here", "give --reviewer NAME")) from None
    return check_reviewer(given if given is not None else environ["EVALQ_REVIEWER"])
