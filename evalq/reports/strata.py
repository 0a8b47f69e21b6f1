"""Pass rates by stratum on the terminal: every cell with its interval and n, few cases marked."""

from collections.abc import Callable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from evalq.reports.canvas import PROBLEM, QUIET, Canvas, Column, lay_out, total_width
from evalq.reports.text import span
from evalq.results import FEW_CASES, BakeOffResult, Rate, RunResult

GAP = 2


def render_strata(result: BakeOffResult, *, width: int, ascii_only: bool = False) -> RenderableType:
    """Judges by strata, pass % [95% CI] n in each cell; as many blocks as the width makes necessary."""
    canvas = Canvas(width, ascii_only)
    runs = [run for run in result.runs if run.per_stratum and run.excluded is None]
    strata = list(dict.fromkeys(stratum for run in runs for stratum in run.per_stratum))
    if not strata:
        return canvas.text("no strata: the evalset's cases have none", QUIET)
    judge = Column(canvas.text("judge"), tuple(canvas.cell(run.judge) for run in runs))
    columns = [*_stratum_columns(strata, runs, canvas), *_mean_columns(runs, canvas)]
    blocks = [lay_out([judge, *block], canvas, gap=GAP) for block in _blocks(judge, columns, canvas)]
    legend = (
        f"pass % [95% CI] n   ! n under {FEW_CASES}: do not read   micro: all cases   macro: mean of strata"
    )
    return Group(*(part for block in blocks for part in (block, Text())), canvas.text(legend, QUIET))


def _stratum_columns(strata: Sequence[str], runs: Sequence[RunResult], canvas: Canvas) -> Iterator[Column]:
    for stratum in strata:
        yield _column(stratum, [run.per_stratum.get(stratum) for run in runs], canvas)


def _mean_columns(runs: Sequence[RunResult], canvas: Canvas) -> Iterator[Column]:
    of_run: dict[str, Callable[[RunResult], Rate | None]] = {"micro": micro, "macro": lambda run: run.macro}
    for title, mean in of_run.items():
        yield _column(title, [mean(run) for run in runs], canvas)


def micro(run: RunResult) -> Rate:
    """The rate over all cases, as a cell beside those of the strata."""
    n_cases = run.macro.n if run.macro else run.n_graded
    return Rate(n_cases, run.accuracy, run.ci_low, run.ci_high, run.ci_method)


def _column(title: str, rates: Sequence[Rate | None], canvas: Canvas) -> Column:
    cells = tuple(canvas.cell(_share(rate), PROBLEM if rate and rate.few else "") for rate in rates)
    return Column(canvas.cell(title), cells, right=True)


def _share(rate: Rate | None) -> str:
    """94 [74–99] 18; a mark, not only a colour, where n is too small to read anything into."""
    if rate is None or rate.accuracy is None:
        return "n/a"
    ends = span(rate.ci_low, rate.ci_high, rate.n)
    return f"{rate.accuracy * 100:.0f} [{ends}] {rate.n}" + ("!" if rate.few else "")


def _blocks(judge: Column, columns: Sequence[Column], canvas: Canvas) -> Iterator[list[Column]]:
    """The columns in runs that fit beside the judges' names, each at least one column wide."""
    block: list[Column] = []
    for column in columns:
        if block and total_width([judge, *block, column], GAP) > canvas.width:
            yield block
            block = []
        block.append(column)
    yield block
