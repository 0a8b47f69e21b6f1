import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from rich.console import Console

from evalq.reports.live import LiveView, PlainView, QuietView, choose_view, progress_line
from evalq.reports.live_frame import Frame, Pace
from evalq.reports.text import Canvas
from evalq.results import Progress

Show = Callable[..., str]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def _frame(
    progress: Progress, show: Show, width: int = 100, *, height: int = 40, ascii_only: bool = False
) -> str:
    pace = Pace()
    pace.note(replace(progress, now=progress.started_at, judges=_with_done(progress, 0)))
    return show(Frame(progress, pace, Canvas(width, ascii_only), height=height).draw(), width)


def _with_done(progress: Progress, done: int) -> tuple:
    return tuple(replace(judge, done=done) for judge in progress.judges)


def _line(text: str, *words: str) -> str:
    return next(line for line in text.splitlines() if all(word in line for word in words))


def _steps(progress: Progress, seconds_each: float) -> Iterator[Progress]:
    """A judge of a hundred jobs, from the first to the last."""
    judge = replace(progress.judges[0], total=100)
    for done in range(101):
        now = progress.started_at + timedelta(seconds=done * seconds_each)
        yield replace(progress, now=now, judges=(replace(judge, done=done, n_pass=done, n_fail=0),))


def test_a_live_row_has_progress_rate_interval_money_and_speed(progress: Progress, show: Show) -> None:
    row = _line(_frame(progress, show), "grok-4.3", "61/93")
    assert all(word in row for word in ("━", "84%", "●", "72–91", "0.13", "52", "1.84s", "1:24"))


def test_a_finished_judge_says_done_and_a_broken_one_says_why(progress: Progress, show: Show) -> None:
    output = _frame(progress, show)
    assert _line(output, "gpt-5.4-mini").startswith("✓")
    assert _line(output, "gpt-5.4-mini").endswith("done")
    broken = _line(output, "gemini-2.5-flash", "12/93")
    assert broken.startswith("!")
    assert all(word in broken for word in ("n/a", "12/12 empty outputs", "broken"))


def test_what_needs_attention_is_said_in_words(progress: Progress, show: Show) -> None:
    output = _frame(progress, show)
    assert "! gemini-2.5-flash: 12/12 empty outputs. Other judges continue." in output
    assert "sonnet-4.6: waiting 8 s" in output
    assert "Ctrl-C stop spending" in output


def test_a_broken_judge_alone_promises_nothing_of_others(progress: Progress, show: Show) -> None:
    assert "continue" not in _frame(replace(progress, judges=progress.judges[-2:]), show)


def test_the_budget_line_has_spent_cap_projection_and_cache(progress: Progress, show: Show) -> None:
    line = _line(_frame(progress, show), "budget")
    assert "$0.74 of $5.00   projected $1.23   reserved $0.02   cache 31%" in line


def test_a_bake_off_that_has_not_begun_projects_nothing(progress: Progress, show: Show) -> None:
    judges = (
        replace(progress.judges[0], done=0, n_pass=0, n_fail=0),
        replace(progress.judges[1], total=0, done=0),
    )
    fresh = replace(
        progress,
        judges=judges,
        cap_usd=Decimal(0),
        reserved_usd=Decimal(0),
        spent_usd=Decimal(0),
        graded_findings=0,
    )
    output = _frame(fresh, show)
    assert not any(word in output for word in ("projected", "reserved", "cache"))
    assert _line(output, "grok-4.3", "0/93", "n/a").endswith("–")


def test_no_judges_is_no_fault(progress: Progress, show: Show) -> None:
    assert "0 judges" in _frame(replace(progress, judges=()), show)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_a_live_row_never_wraps(progress: Progress, show: Show, width: int) -> None:
    longer = replace(progress.judges[0], judge="claude-opus-4-7-20260931-thinking-high-effort-eu")
    output = _frame(replace(progress, judges=(longer, *progress.judges[1:])), show, width)
    rows = [line for line in output.splitlines() if "/93" in line]
    assert len(rows) == len(progress.judges)
    assert all(len(line) <= width for line in output.splitlines())


def test_details_leave_first_as_the_terminal_narrows(progress: Progress, show: Show) -> None:
    assert "●" not in _frame(progress, show, 99)
    assert "retry" in _frame(progress, show, 80)
    assert "retry" not in _frame(progress, show, 79)
    assert all("72–91" in _frame(progress, show, width) for width in (40, 60, 79, 99))


def test_a_low_terminal_shows_the_judges_to_watch(progress: Progress, show: Show) -> None:
    output = _frame(progress, show, height=13)
    assert "gemini-2.5-flash" in output
    assert "opus-4.7" in output
    assert "gpt-5.4-mini" not in output
    assert "and 3 more judges" in output


def test_an_ascii_frame_is_ascii(progress: Progress, show: Show) -> None:
    assert _frame(progress, show, ascii_only=True).isascii()


def test_the_state_is_named(progress: Progress, show: Show) -> None:
    assert "INTERIM" in _frame(progress, show)
    assert "STOPPING" in _frame(replace(progress, state="cancelled"), show)


def test_hostile_reasons_stay_letters(
    hostile: str, forbidden: frozenset[str], progress: Progress, show: Show
) -> None:
    hostile = replace(progress.judges[0], judge=hostile, broken=hostile)
    output = _frame(replace(progress, judges=(hostile,), task=hostile), show, 140)
    assert not set(output) & forbidden


def test_the_end_is_foreseen_from_what_was_seen_not_from_idle_days(progress: Progress) -> None:
    pace = Pace()
    seen = replace(progress, judges=progress.judges[:1])
    assert pace.eta_s(seen) is None
    pace.note(seen)
    later = replace(seen, now=seen.now + timedelta(seconds=10), judges=(replace(seen.judges[0], done=71),))
    assert pace.eta_s(seen) is None
    assert pace.eta_s(later) == pytest.approx(22)


def test_a_broken_judge_has_no_end_and_does_not_hide_the_others(progress: Progress) -> None:
    pace = Pace()
    pace.note(replace(progress, now=progress.started_at, judges=_with_done(progress, 0)))
    assert pace.judge_eta_s(progress.judges[-1], progress) is None
    assert pace.eta_s(progress) == pytest.approx(161 / 44 * 49)


def test_the_plain_line_is_key_value(progress: Progress) -> None:
    expected = "12:04:31 run=142 60% 280/465 spent=0.74 cap=5.00 eta=72s err=12 broken=gemini-2.5-flash"
    assert progress_line(progress, 72.4) == expected
    assert progress_line(replace(progress, judges=()), None).endswith(
        "0% 0/0 spent=0.74 cap=5.00 eta=? err=0"
    )


def test_the_plain_view_says_a_line_for_each_tenth(progress: Progress) -> None:
    stream = io.StringIO()
    with PlainView(stream) as view:
        for step in _steps(progress, 0.1):
            view.update(step)
    said = [line.split()[2] for line in stream.getvalue().splitlines()]
    assert said == [f"{tenth}%" for tenth in range(10, 101, 10)]


def test_the_plain_view_is_never_silent_for_long(progress: Progress) -> None:
    stream = io.StringIO()
    with PlainView(stream) as view:
        for step in _steps(progress, 15.0):
            view.update(step)
    assert len(stream.getvalue().splitlines()) == 50


def test_a_bake_off_stopped_between_two_steps_gets_a_last_line(progress: Progress) -> None:
    stream = io.StringIO()
    with PlainView(stream) as view:
        for step in list(_steps(progress, 0.1))[:35]:
            view.update(step)
    assert [line.split()[2] for line in stream.getvalue().splitlines()] == ["10%", "20%", "30%", "34%"]


def test_a_plain_view_that_saw_nothing_says_nothing() -> None:
    stream = io.StringIO()
    with PlainView(stream):
        pass
    assert stream.getvalue() == ""


def test_a_trouble_of_a_judge_is_written_at_once_and_once(progress: Progress) -> None:
    first, *others = progress.judges
    troubled = replace(first, broken=None, note="cannot connect to openai at 127.0.0.1:9: refused")
    told = replace(progress, judges=(troubled, *others))
    stream = io.StringIO()
    with PlainView(stream) as view:
        view.update(told)
        view.update(told)
    assert stream.getvalue().count("127.0.0.1:9") == 1


def test_the_live_view_redraws_at_most_four_times_a_second(progress: Progress) -> None:
    stream = Terminal()
    console = Console(file=stream, width=100, height=40, force_terminal=True, _environ={"TERM": "xterm"})
    with LiveView(console) as view:
        for step in _steps(progress, 0.05):
            view.update(step)
    drawn = stream.getvalue().count("bake-off 142")
    assert 20 <= drawn <= 23
    assert "100/100" in stream.getvalue()


def test_a_live_view_that_saw_nothing_leaves_cleanly() -> None:
    stream = Terminal()
    with LiveView(Console(file=stream, width=80, force_terminal=True, _environ={"TERM": "xterm"})):
        pass
    assert "bake-off" not in stream.getvalue()


def test_a_stream_that_cannot_encode_our_signs_gets_ascii(progress: Progress) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="latin-1")
    with LiveView(Console(file=stream, width=100, force_terminal=True, _environ={"TERM": "xterm"})) as view:
        view.update(progress)
    stream.flush()
    assert b"bake-off 142" in raw.getvalue()


def test_the_quiet_view_is_quiet(progress: Progress) -> None:
    with QuietView() as view:
        view.update(progress)


@pytest.mark.parametrize(
    ("display", "stream", "environ", "view"),
    [
        ("auto", Terminal(), {"TERM": "xterm"}, LiveView),
        ("auto", Terminal(), {"TERM": "dumb"}, PlainView),
        ("auto", Terminal(), {"TERM": "xterm", "CI": "true"}, PlainView),
        ("auto", io.StringIO(), {"TERM": "xterm", "FORCE_COLOR": "1"}, PlainView),
        ("rich", io.StringIO(), {}, LiveView),
        ("plain", Terminal(), {"TERM": "xterm"}, PlainView),
        ("none", Terminal(), {"TERM": "xterm"}, QuietView),
    ],
)
def test_the_view_fits_where_it_is_shown(
    display: str, stream: io.StringIO, environ: dict, view: type
) -> None:
    assert type(choose_view(display, stream, environ)) is view


def test_there_is_no_fifth_display() -> None:
    with pytest.raises(AssertionError):
        choose_view("log", io.StringIO(), {})  # type: ignore[arg-type]


@pytest.mark.parametrize(("variable", "is_coloured"), [("NO_COLOR", False), ("FORCE_COLOR", True)])
def test_colour_follows_the_environment(progress: Progress, variable: str, is_coloured: bool) -> None:
    stream = Terminal()
    with choose_view("auto", stream, {"TERM": "xterm-256color", "COLUMNS": "100", variable: "1"}) as view:
        view.update(progress)
    assert ("\x1b[94m" in stream.getvalue()) is is_coloured
