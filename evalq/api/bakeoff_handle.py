"""A bake-off in Python's hands: its numbers, its cases, data frames, reports, and how it prints."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evalq.bakeoff.bakeoff_report import iterate_cases
from evalq.bakeoff.inspect import CaseFilter, Filter, find_cases, require_judge
from evalq.definitions.ownership import refuse_foreign
from evalq.drift.drift_report import gather_drift_report
from evalq.engines.session import open_database, open_session
from evalq.errors import InputError, Problem
from evalq.reports.cases import AnswerView, CaseView
from evalq.reports.final import render_final
from evalq.reports.own_files import is_own_report
from evalq.reports.report_forms import form_of, render_report, write_report
from evalq.results import BakeOffResult, Comparison, RunResult
from evalq.settings import Settings
from evalq.store.database import Database, require_schema

if TYPE_CHECKING:
    import pandas
    import polars

PRINT_WIDTH = 100
ALL_CASES = 10_000_000

Library = Literal["pandas", "polars"]


@dataclass(frozen=True)
class Origin:
    """Where a bake-off is kept: the settings, and the folder that embedded engines are found from."""

    settings: Settings
    cwd: Path

    @contextmanager
    def open_database(self) -> Iterator[Database]:
        """Open the database; embedded engines run for as long as it is open."""
        if self.settings.database_url:
            with open_database(self.settings, cwd=self.cwd) as db:
                require_schema(db)
                yield db
        else:
            with open_session(self.settings, cwd=self.cwd) as session:
                yield session.db


@dataclass(frozen=True, repr=False)
class BakeOff:
    """A bake-off that has ended.

    `print` shows its table. `cases`, `to_frame` and `report` read the answers from its database.
    """

    result: BakeOffResult
    origin: Origin = field(compare=False)

    @property
    def id(self) -> int:
        """Its number, for `evalq inspect`."""
        return self.result.id

    @property
    def state(self) -> str:
        """How it ended: concluded, capped, paused or cancelled."""
        return self.result.state

    @property
    def runs(self) -> tuple[RunResult, ...]:
        """One per judge, best first, excluded judges last."""
        return self.result.runs

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Every two judges on the cases both have a verdict for."""
        return self.result.comparisons

    def cases(self, show: Filter = "all", *, judge: str | None = None) -> list[CaseView]:
        """Every case with its input, what was expected, and each judge's answers and grades.

        `show` may be "failures" or "disagreements". The cases of a holdout are refused.
        """
        require_judge(self.result, judge)
        with self.origin.open_database() as db:
            found, _ = find_cases(db, self.result, CaseFilter(show, judge=judge, limit=ALL_CASES))
        return found

    def to_dict(self) -> dict[str, Any]:
        """The `evalq.bakeoff/1` document."""
        return self.result.to_dict()

    def to_rows(self) -> list[dict[str, Any]]:
        """One flat dictionary per judge, ready for a data frame."""
        return [self._to_row(run) for run in self.runs]

    def to_frame(self, library: Library | None = None) -> "pandas.DataFrame | polars.DataFrame":
        """One row per case, judge and sample, in pandas if it is installed, else in polars.

        `passed` is missing for an answer without a verdict: an error is not a fail. Dollars are floats here.
        """
        make = find_library(library)
        rows = []
        for case in self.cases():
            rows += [self._to_answer_row(case, answer) for answer in case.answers]
        return make(rows)

    def report(self, path: str | Path, *, monthly_cases: int | None = None, overwrite: bool = False) -> Path:
        """Write a report to share; its name's ending is its form: .html, .md, .json, .xml, .csv, .parquet.

        `monthly_cases` adds what so many cases a month would cost. A file that evalq did not write is
        refused, unless `overwrite`.
        """
        target = Path(path)
        form = form_of(target)
        refuse_foreign(target, is_ours=is_own_report, force=overwrite)
        with self.origin.open_database() as db:
            found = gather_drift_report(db, self.id, monthly_cases=monthly_cases)
            write_report(target, render_report(found, iterate_cases(db, self.id), form))
        return target

    def __repr__(self) -> str:
        about = f"{self.result.task} · {self.result.eval_set} · {self.state}"
        return f"<BakeOff {self.id}: {about}, {len(self.runs)} judges>"

    def __str__(self) -> str:
        """The final table with its notes, as `evalq inspect` prints it."""
        from rich.console import Console

        console = Console(file=StringIO(), width=PRINT_WIDTH, color_system=None, legacy_windows=False)
        with console.capture() as captured:
            console.print(render_final(self.result, width=PRINT_WIDTH))
        return "\n".join(line.rstrip() for line in captured.get().rstrip().splitlines())

    def _repr_html_(self) -> str:
        """The table as a notebook shows it."""
        from evalq.api.notebook import render_html

        return render_html(self.result)

    def _to_row(self, run: RunResult) -> dict[str, Any]:
        nested = {"errors", "per_stratum", "metrics", "macro", "pass_k"}
        return {
            "bakeoff_id": self.id,
            "task": self.result.task,
            "eval_set": self.result.eval_set,
            **{name: value for name, value in asdict(run).items() if name not in nested},
            **{name: rate.accuracy for name, rate in run.metrics.items()},
        }

    def _to_answer_row(self, case: CaseView, answer: AnswerView) -> dict[str, Any]:
        input_tokens, output_tokens = answer.tokens or (None, None)
        passed = {"passed": True, "failed": False}.get(answer.verdict)
        return {
            "bakeoff_id": self.id,
            "task": self.result.task,
            "eval_set": self.result.eval_set,
            "case_id": case.case_id,
            "stratum": case.stratum,
            "input": case.input_text,
            "expected": case.expected_text,
            "judge": answer.judge,
            "sample": answer.sample,
            "verdict": answer.verdict,
            "passed": passed,
            "error_kind": answer.error_kind,
            "answer": answer.answer_text,
            "latency_ms": answer.latency_ms,
            "cost_usd": float(answer.cost_usd),
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
        }


def find_library(wanted: Library | None) -> Any:
    """The function of pandas or polars that makes a frame of rows; InputError when neither is installed."""
    if wanted in (None, "pandas"):
        try:
            import pandas

            return pandas.DataFrame.from_records
        except ImportError:
            pass
    if wanted in (None, "polars"):
        try:
            import polars

            return polars.DataFrame
        except ImportError:
            pass
    missing = f"{wanted} is not installed" if wanted else "neither pandas nor polars is installed"
    raise InputError(Problem(missing, f"`pip install {wanted or 'pandas'}`, or use cases()"))
