"""Progress while a bake-off runs: a redrawn table, plain lines for logs, or nothing."""

from collections.abc import Mapping
from datetime import datetime
from types import TracebackType
from typing import Literal, Protocol, Self, TextIO, assert_never

from rich.console import Console
from rich.live import Live

from evalq.definitions.money import money
from evalq.reports.live_frame import Frame, Pace
from evalq.reports.text import Canvas, one_line
from evalq.results import Progress

Display = Literal["auto", "rich", "plain", "none"]

REDRAW_S = 0.25
SILENCE_S = 30
STEP_PERCENT = 10


class View(Protocol):
    """Shows progress between entering and leaving."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def update(self, progress: Progress) -> None:
        """Take the newest progress and show it when it is due."""
        ...


class QuietView:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to clean up."""

    def update(self, progress: Progress) -> None:
        """Nothing to show."""


class PlainView(QuietView):
    """One key=value line per tenth done or half minute, and each trouble at once: for pipes and CI."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._pace = Pace()
        self._newest: Progress | None = None
        self._written: Progress | None = None
        self._step = 0
        self._written_at: datetime | None = None
        self._told: set[tuple[str, str]] = set()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the last progress, even when stopped between two steps."""
        if self._newest is not None and self._newest is not self._written:
            self._write(self._newest)

    def update(self, progress: Progress) -> None:
        """Write the progress if it has reached the next tenth, or after half a minute of silence."""
        self._pace.note(progress)
        self._newest = progress
        self._written_at = self._written_at or progress.now
        silence_s = (progress.now - self._written_at).total_seconds()
        if _percent(progress) // STEP_PERCENT > self._step or silence_s >= SILENCE_S:
            self._write(progress)
        self._tell_troubles(progress)

    def _tell_troubles(self, progress: Progress) -> None:
        """Write each trouble of a judge at once, and only once."""
        for judge in progress.judges:
            trouble = judge.broken or judge.note
            if trouble and (judge.judge, trouble) not in self._told:
                self._told.add((judge.judge, trouble))
                line = f"{progress.now:%H:%M:%S} run={progress.bakeoff_id} {judge.judge}: {trouble}"
                self._stream.write(one_line(line) + "\n")
                self._stream.flush()

    def _write(self, progress: Progress) -> None:
        self._written, self._written_at = progress, progress.now
        self._step = _percent(progress) // STEP_PERCENT
        self._stream.write(progress_line(progress, self._pace.eta_s(progress)) + "\n")
        self._stream.flush()


class LiveView:
    """The table of `Frame`, redrawn in place at most four times a second."""

    def __init__(self, console: Console, *, ascii_only: bool = False) -> None:
        self._console = console
        # A stream that cannot encode ● would end the bake-off with an error about its own display.
        self._ascii_only = ascii_only or console.options.ascii_only
        self._pace = Pace()
        self._newest: Progress | None = None
        self._drawn_at: datetime | None = None
        # Standard output stays untouched: it may be feeding a pipe while this draws on standard error.
        self._live = Live(console=console, auto_refresh=False, redirect_stdout=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the newest progress on the screen and give the cursor back."""
        if self._newest is not None:
            self._draw(self._newest)
        self._live.stop()

    def update(self, progress: Progress) -> None:
        """Redraw, unless the last drawing is too recent."""
        self._pace.note(progress)
        self._newest = progress
        if self._drawn_at is None or (progress.now - self._drawn_at).total_seconds() >= REDRAW_S:
            self._draw(progress)

    def _draw(self, progress: Progress) -> None:
        self._drawn_at = progress.now
        canvas = Canvas(self._console.width, self._ascii_only)
        self._live.update(
            Frame(progress, self._pace, canvas, height=self._console.height).draw(), refresh=True
        )


def choose_view(
    display: Display, stream: TextIO, environ: Mapping[str, str], *, ascii_only: bool = False
) -> View:
    """The chosen view; `auto` redraws on a terminal and writes lines anywhere else."""
    if display == "auto":
        display = "rich" if _can_redraw(stream, environ) else "plain"
    match display:
        case "rich":
            # With the environment, rich obeys NO_COLOR and FORCE_COLOR.
            return LiveView(Console(file=stream, _environ=environ), ascii_only=ascii_only)
        case "plain":
            return PlainView(stream)
        case "none":
            return QuietView()
        case _:
            assert_never(display)


def progress_line(progress: Progress, eta_s: float | None) -> str:
    """12:04:31 run=142 67% 373/558 spent=0.74 cap=5.00 eta=72s err=12 broken=gemini-2.5-flash"""
    broken = ",".join(one_line(judge.judge).replace(" ", "_") for judge in progress.judges if judge.broken)
    eta = "?" if eta_s is None else f"{eta_s:.0f}s"
    fields = [
        f"{progress.now:%H:%M:%S} run={progress.bakeoff_id} {_percent(progress)}%",
        f"{progress.done}/{progress.total} spent={money(progress.spent_usd)} cap={money(progress.cap_usd)}",
        f"eta={eta}",
        f"err={sum(judge.n_error for judge in progress.judges)}",
    ]
    if broken:
        fields.append(f"broken={broken}")
    return " ".join(fields)


def _percent(progress: Progress) -> int:
    """Whole percents done, rounded down: 100 means finished."""
    return progress.done * 100 // progress.total if progress.total else 0


def _can_redraw(stream: TextIO, environ: Mapping[str, str]) -> bool:
    return stream.isatty() and not environ.get("CI") and environ.get("TERM") != "dumb"
