"""The ways a provider can fail a call, by name, and which of them it bills."""

from dataclasses import dataclass
from functools import lru_cache

STATUSES = (
    "400",
    "401",
    "402",
    "403",
    "404",
    "408",
    "409",
    "413",
    "422",
    "429",
    "500",
    "502",
    "503",
    "504",
    "529",
)
_ANSWERS = ("malformed", "html", "wrong_shape", "empty", "blocked", "refusal", "truncated")
_LOSSES = ("reset_after", "reset_body", "drip")
_UNBILLED = ("reset_before", "eof", "hang", "redirect", "quota", "bad_key")
BILLED = frozenset((*_ANSWERS, *_LOSSES))
KINDS = (*STATUSES, *_ANSWERS, *_LOSSES, *_UNBILLED)
"""What a profile may name. A 429 may say when to come back: `429:seconds=3`, `429:date=3`, `429:ms=1500`."""

_RETRY_UNITS = {"seconds": 1.0, "date": 1.0, "ms": 0.001}
_AT_ONCE = frozenset(
    ("quota", "bad_key", "redirect", "reset_before", "temperature", "unreadable", "streamed")
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One way to fail. `name` is for the ledger, `kind` is what is done, `retry_form` how a 429 says when."""

    name: str
    kind: str
    retry_form: str = ""
    retry_s: float = 0.0

    @property
    def is_billed(self) -> bool:
        """True when the provider counted the tokens, whatever the client got to see."""
        return self.kind in BILLED

    @property
    def is_at_once(self) -> bool:
        """True for what a provider says before a model would have begun: it has no latency."""
        return self.kind in _AT_ONCE or self.kind.startswith("4")


@lru_cache(maxsize=1024)  # the same few names are asked for with every call
def parse_fault(name: str) -> Fault | None:
    """The fault of that name, None for `ok`; ValueError for a name nobody knows."""
    if name == "ok":
        return None
    kind, _, option = name.partition(":")
    if kind not in KINDS:
        raise ValueError(f"there is no fault {kind[:40]!r}; known: ok, {', '.join(KINDS)}")
    if kind != "429":
        return _without_option(name, kind, option)
    form, _, amount = (option or "seconds=1").partition("=")
    if form == "none":
        return Fault(name, kind)
    if form not in _RETRY_UNITS or not amount.replace(".", "", 1).isdecimal():
        raise ValueError(f"{name[:40]!r} says no time; write 429:seconds=3, :date=3, :ms=1500 or :none")
    return Fault(name, kind, form, float(amount) * _RETRY_UNITS[form])


def _without_option(name: str, kind: str, option: str) -> Fault:
    if option:
        raise ValueError(f"the fault {kind} takes no option; write {kind!r} instead of {name[:40]!r}")
    return Fault(name, kind)
