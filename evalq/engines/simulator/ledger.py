"""The provider's own account: every request, what was billed for it, and how many were open at once."""

from collections import deque
from dataclasses import InitVar, dataclass, field
from itertools import islice
from typing import Any, NamedTuple

KEPT_CALLS = 200_000


class LedgerEntry(NamedTuple):
    """One request. `at` is in seconds of the machine's monotonic clock; `status` is 0 without an answer."""

    seq: int
    at: float
    model: str
    protocol: str
    key: str
    billed: bool
    fault: str | None
    input_tokens: int
    output_tokens: int
    status: int


@dataclass(slots=True)
class Tally:
    """One model's sums, which are part of `whole`, or all models'."""

    whole: "Tally | None" = None
    requests: int = 0
    billed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    in_flight: int = 0
    peak_in_flight: int = 0

    def open(self, entry: LedgerEntry) -> None:
        """A request came in."""
        self.requests += 1
        self.billed += entry.billed
        self.input_tokens += entry.input_tokens
        self.output_tokens += entry.output_tokens
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        if self.whole:
            self.whole.open(entry)

    def close(self) -> None:
        """A request is over, answered or not."""
        self.in_flight -= 1
        if self.whole:
            self.whole.close()

    def document(self) -> dict[str, int]:
        """The sums for JSON."""
        names = ("requests", "billed", "input_tokens", "output_tokens", "in_flight", "peak_in_flight")
        return {name: getattr(self, name) for name in names}


@dataclass(slots=True)
class Ledger:
    """Written when a request has arrived completely: a client that leaves early is billed all the same."""

    kept: InitVar[int] = KEPT_CALLS
    _all: Tally = field(default_factory=Tally)
    _by_model: dict[str, Tally] = field(default_factory=dict)
    _by_key: dict[str, int] = field(default_factory=dict)
    _calls: deque[LedgerEntry] = field(init=False)
    _first_at: float | None = None

    def __post_init__(self, kept: int) -> None:
        self._calls = deque(maxlen=kept)

    def next_seq(self) -> int:
        """The number of the next request, from 1."""
        return self._all.requests + 1

    def open(self, entry: LedgerEntry) -> Tally:
        """Write one request; close the returned tally when the request is over."""
        tally = self._by_model.get(entry.model)
        if tally is None:
            tally = self._by_model[entry.model] = Tally(self._all)
        tally.open(entry)
        if entry.billed:
            self._by_key[entry.key] = self._by_key.get(entry.key, 0) + 1
        if self._first_at is None:
            self._first_at = entry.at
        self._calls.append(entry)
        return tally

    def document(self) -> dict[str, Any]:
        """All sums, without the single calls."""
        return {
            **self._all.document(),
            "by_key": self._by_key,
            "by_model": {model: tally.document() for model, tally in self._by_model.items()},
            "first_at": self._first_at,
            "last_at": self._calls[-1].at if self._calls else None,
        }

    def calls(self, since: int = 0) -> list[dict[str, Any]]:
        """The calls after number `since`, as far as they are kept."""
        first = self._calls[0].seq if self._calls else 1
        wanted = islice(self._calls, max(0, since + 1 - first), None)
        return [entry._asdict() for entry in wanted]
