"""Baselines of a suite: those captured in Postgres and in the suite's folder, else those its files hold."""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from evalq.definitions.located import load_json
from evalq.definitions.ownership import refuse_foreign
from evalq.errors import InputError, Problem
from evalq.formats.paths import read_inside
from evalq.formats.suite.evals import SuiteEval
from evalq.formats.suite.forms import RegressionForm
from evalq.formats.suite.outcomes import EvalOutcome, JudgeOutcomes, SuiteRun
from evalq.formats.suite.read import Suite
from evalq.store import baselines as stored
from evalq.store.baselines import Baseline, BaselineCheck
from evalq.store.database import Database

FOLDER = "baselines"
_KEPT_HEADERS = ("content-type",)
_MAX_BYTES = 20_000_000


@dataclass(frozen=True)
class Baselines:
    """The captured baselines by eval and judge; with `inline`, they are ignored."""

    captured: Mapping[tuple[str, str], Baseline] = field(default_factory=dict)
    inline: bool = False

    def of(self, one: SuiteEval, judge: str) -> Any:
        """The output to compare with: the captured one, else the one in the eval's file."""
        if not self.inline:
            found = self.captured.get((one.id, judge))
            if found is not None and found.output is not None:
                return found.output
        return one.regression.baseline.output if one.regression else None


@dataclass(frozen=True)
class BaselineRow:
    """A baseline and how its eval has done since. `source` is captured, inline or none."""

    eval_id: str
    judge: str | None
    source: str
    version: str | None
    captured_at: str | None
    criticality: str | None
    last_passed: str | None
    failure_count: int
    environment: dict[str, Any] = field(default_factory=dict)
    output: Any = None


@dataclass(frozen=True)
class ComparisonRow:
    """How an eval did against its baseline."""

    eval_id: str
    judge: str
    status: str
    reason: str
    criticality: str | None
    last_passed: str | None
    failure_count: int


def load_baselines(suite: Suite, db: Database | None, *, inline: bool = False) -> Baselines:
    """The baselines of a suite; where Postgres and the folder both have one, the newer wins."""
    found: dict[tuple[str, str], Baseline] = {}
    if db is not None:
        found |= baselines_of_suite(db, suite.name).captured
    for one in _read_folder(suite):
        before = found.get((one.eval_id, one.judge))
        if before is None:
            found[one.eval_id, one.judge] = one
        elif _is_newer(one, before):
            found[one.eval_id, one.judge] = replace(
                one,
                last_passed=before.last_passed,
                failure_count=before.failure_count,
                checked_at=before.checked_at,
            )
    return Baselines(found, inline)


def baselines_of_suite(db: Database, suite: str) -> Baselines:
    """The baselines of a suite that Postgres has."""
    return Baselines({(one.eval_id, one.judge): one for one in stored.of_suite(db, suite)})


def keep_baselines(suite: Suite, db: Database, captured: Sequence[Baseline]) -> list[Path]:
    """Keep outputs in Postgres and, one file per eval, in the suite's folder; return the files."""
    stored.keep(db, captured)
    known = load_baselines(suite, db).captured.values()
    files = []
    for eval_id in dict.fromkeys(one.eval_id for one in captured):
        files.append(_write_file(suite, eval_id, [one for one in known if one.eval_id == eval_id]))
    return files


def record_comparisons(
    db: Database, suite: Suite, evals: Iterable[SuiteEval], judges: Sequence[JudgeOutcomes]
) -> None:
    """Record for each judge whether the regressions of a run passed."""
    forms = {one.id: one.regression for one in evals if one.regression is not None}
    checks = []
    for one in _distinct_outcomes(judges).values():
        if one.id not in forms or one.status == "skipped":
            continue
        about = forms[one.id].metadata
        check = BaselineCheck(
            suite.name,
            one.id,
            one.answered_by,
            one.status == "passed",
            about.criticality,
            about.last_passed,
            about.failure_count,
        )
        checks.append(check)
    stored.note_checks(db, checks)


def comparable_output(output: Any, *, is_response: bool) -> Any:
    """An output to compare with later: a response keeps only the headers that describe its body."""
    if not is_response or not isinstance(output, dict) or not isinstance(output.get("headers"), dict):
        return output
    headers = {name: value for name, value in output["headers"].items() if name in _KEPT_HEADERS}
    return {**output, "headers": headers}


def baseline_rows(suite: Suite, known: Baselines) -> list[BaselineRow]:
    """Every baseline of a suite, and every regression without one."""
    rows: list[BaselineRow] = []
    for one in suite.evals:
        if one.regression is None:
            continue
        captured = [each for each in known.captured.values() if each.eval_id == one.id]
        for each in captured:
            rows.append(_captured_row(each, one.regression))
        if not captured:
            rows.append(_inline_row(one.id, one.regression))
    return rows


def rows_of_run(done: SuiteRun, known: Baselines) -> list[BaselineRow]:
    """The baselines of a recorded run's regressions as Postgres has them; inline outputs are in files."""
    rows = []
    for (eval_id, judge), one in _distinct_outcomes(done.judges).items():
        if one.eval_type != "regression":
            continue
        found = known.captured.get((eval_id, judge))
        if found is None:
            rows.append(BaselineRow(eval_id, judge, "none", None, None, one.criticality, None, 0))
        else:
            rows.append(_stored_row(found))
    return rows


def comparison_rows(done: SuiteRun, known: Baselines) -> Iterator[ComparisonRow]:
    """Every regression of a run, for each judge."""
    for (eval_id, judge), one in _distinct_outcomes(done.judges).items():
        if one.eval_type != "regression":
            continue
        baseline = known.captured.get((eval_id, judge))
        yield ComparisonRow(
            eval_id,
            judge,
            one.status,
            "" if one.status == "passed" else one.reason,
            one.criticality,
            _format_moment(baseline.last_passed) if baseline else None,
            baseline.failure_count if baseline else 0,
        )


def _distinct_outcomes(judges: Sequence[JudgeOutcomes]) -> dict[tuple[str, str], EvalOutcome]:
    """The outcomes by eval and judge; those of a tested system appear under every judge."""
    found = {}
    for judge in judges:
        for one in judge.evals:
            found[one.id, one.answered_by] = one
    return found


def _is_newer(one: Baseline, other: Baseline) -> bool:
    if one.captured_at is None:
        return False
    return other.captured_at is None or one.captured_at > other.captured_at


def _format_moment(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _read_folder(suite: Suite) -> Iterator[Baseline]:
    folder = suite.folder / FOLDER
    if not folder.is_dir():
        return
    for path in sorted(folder.rglob("*.json")):
        written = str(path.relative_to(suite.folder))
        text = read_inside(written, [suite.folder], max_bytes=_MAX_BYTES)
        yield from _read_captures(load_json(text, written).value, suite.name)


def _read_captures(value: Any, suite: str) -> Iterator[Baseline]:
    """The captures of a file written by `_write_file`; any other content is ignored."""
    captures = value.get("captures") if isinstance(value, dict) else None
    if not isinstance(captures, list):
        return
    for one in captures:
        try:
            yield Baseline(
                suite,
                value["eval_id"],
                one["judge"],
                one.get("version"),
                one["output"],
                datetime.fromisoformat(one["captured_at"]),
                one.get("environment") or {},
                one.get("bakeoff_id"),
                value.get("criticality"),
            )
        except (KeyError, TypeError, ValueError):
            continue


def _write_file(suite: Suite, eval_id: str, known: Sequence[Baseline]) -> Path:
    folder = suite.folder / FOLDER
    folder.mkdir(exist_ok=True)
    if not folder.resolve().is_relative_to(suite.folder.resolve()):
        message = "the folder of baselines leads out of the suite"
        raise InputError(Problem(message, "replace the link by a folder", FOLDER))
    captures = []
    for one in known:
        if one.output is not None:
            captures.append(
                {
                    "judge": one.judge,
                    "version": one.version,
                    "captured_at": _format_moment(one.captured_at),
                    "environment": dict(one.environment),
                    "bakeoff_id": one.bakeoff_id,
                    "output": one.output,
                }
            )
    document = {
        "eval_id": eval_id,
        "suite": suite.name,
        "criticality": known[0].criticality,
        "captures": captures,
    }
    path = _file_of(suite, eval_id)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        draft.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", "utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def refuse_foreign_files(suite: Suite, eval_ids: Iterable[str], *, force: bool) -> None:
    """Raise InputError if the file for a baseline holds something else; call it before anything is spent."""
    for eval_id in eval_ids:
        refuse_foreign(_file_of(suite, eval_id), is_ours=_is_baseline_file, force=force)


def _is_baseline_file(text: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and {"eval_id", "captures"} <= value.keys()


def _file_of(suite: Suite, eval_id: str) -> Path:
    return suite.folder / FOLDER / f"{_file_name(eval_id)}.json"


def _file_name(eval_id: str) -> str:
    """A file name for the eval that every file system accepts and no other eval shares."""
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", eval_id).lstrip(".")[:100]
    if safe == eval_id:
        return safe
    return f"{safe}-{hashlib.sha256(eval_id.encode()).hexdigest()[:8]}"


def _captured_row(found: Baseline, form: RegressionForm) -> BaselineRow:
    """A row of Postgres; without an output of its own it only counts runs against the file's baseline."""
    inline = _inline_row(found.eval_id, form)
    row = replace(
        inline,
        judge=found.judge,
        source="inline",
        captured_at=_format_moment(found.captured_at) or inline.captured_at,
        last_passed=_format_moment(found.last_passed) or inline.last_passed,
        failure_count=found.failure_count,
    )
    if found.output is None:
        return row
    return replace(
        row,
        source="captured",
        version=found.version,
        environment=dict(found.environment),
        output=found.output,
    )


def _stored_row(found: Baseline) -> BaselineRow:
    return BaselineRow(
        found.eval_id,
        found.judge,
        "inline" if found.output is None else "captured",
        found.version,
        _format_moment(found.captured_at),
        found.criticality,
        _format_moment(found.last_passed),
        found.failure_count,
        dict(found.environment),
        found.output,
    )


def _inline_row(eval_id: str, form: RegressionForm) -> BaselineRow:
    baseline, about = form.baseline, form.metadata
    return BaselineRow(
        eval_id,
        None,
        "none" if baseline.output is None else "inline",
        form.baseline_version or baseline.version,
        baseline.captured_at,
        about.criticality,
        about.last_passed,
        about.failure_count,
        baseline.environment,
        baseline.output,
    )
