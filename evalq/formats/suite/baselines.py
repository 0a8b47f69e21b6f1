"""Baselines of a suite: captured ones from Postgres and the suite's folder, else those its files hold."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from evalq.definitions.located import load_json
from evalq.errors import InputError, Problem
from evalq.formats.paths import read_inside
from evalq.formats.suite.evals import SuiteEval
from evalq.formats.suite.forms import RegressionForm
from evalq.formats.suite.outcomes import JudgeOutcomes, SuiteRun
from evalq.formats.suite.read import Suite
from evalq.formats.suite.report import reason_of
from evalq.store import baselines as stored
from evalq.store.baselines import Baseline, Comparison
from evalq.store.database import Database

FOLDER = "baselines"
_KEPT_HEADERS = ("content-type",)
_MAX_BYTES = 20_000_000


@dataclass(frozen=True)
class Baselines:
    """The captured baselines by eval and judge; with `inline`, none of them counts."""

    captured: Mapping[tuple[str, str], Baseline] = field(default_factory=dict)
    inline: bool = False

    def of(self, one: SuiteEval, judge: str) -> Any:
        """What an eval of a judge is compared with: what was captured, else what its file says."""
        found = None if self.inline else self.captured.get((one.id, judge))
        if found is not None and found.output is not None:
            return found.output
        return one.regression.baseline.output if one.regression else None


def known(suite: Suite, db: Database | None, *, inline: bool = False) -> Baselines:
    """The baselines of a suite; of one captured here and one in the folder, the newer counts."""
    found: dict[tuple[str, str], Baseline] = {}
    from_db = stored.of_suite(db, suite.name) if db is not None else []
    for one in (*from_db, *_in_folder(suite)):
        key = one.eval_id, one.judge
        before = found.get(key)
        if before is None or _is_newer(one, before):
            status = before or one
            found[key] = replace(
                one,
                last_passed=status.last_passed,
                failure_count=status.failure_count,
                checked_at=status.checked_at,
            )
    return Baselines(found, inline)


def keep(suite: Suite, db: Database, captured: Sequence[Baseline]) -> list[Path]:
    """Keep outputs in Postgres and, one file per eval, in the suite's folder; return the files."""
    with db.transaction() as tx:
        for one in captured:
            stored.keep(tx, one)
    every = known(suite, db).captured
    ids = dict.fromkeys(one.eval_id for one in captured)
    return [_mirror(suite, eval_id, [b for b in every.values() if b.eval_id == eval_id]) for eval_id in ids]


def note(db: Database, suite: Suite, evals: Iterable[SuiteEval], judges: Sequence[JudgeOutcomes]) -> None:
    """Count how the regressions of a run went, for each judge."""
    regressions = {one.id: one.regression.metadata for one in evals if one.regression is not None}
    each = {(one.id, one.answered_by): one for found in judges for one in found.evals}
    with db.transaction() as tx:
        for one in each.values():
            if one.id in regressions and one.status != "skipped":
                about = regressions[one.id]
                known = (about.criticality, about.last_passed, about.failure_count)
                stored.note(
                    tx, Comparison(suite.name, one.id, one.answered_by, one.status == "passed", *known)
                )


def kept_output(output: Any, *, is_response: bool) -> Any:
    """An output worth comparing with: of a response's headers only those that say what it is."""
    if not is_response or not isinstance(output, dict) or not isinstance(output.get("headers"), dict):
        return output
    headers = {name: value for name, value in output["headers"].items() if name in _KEPT_HEADERS}
    return {**output, "headers": headers}


def _is_newer(one: Baseline, other: Baseline) -> bool:
    if one.captured_at is None:
        return False
    return other.captured_at is None or one.captured_at > other.captured_at


def _in_folder(suite: Suite) -> Iterable[Baseline]:
    folder = suite.folder / FOLDER
    for path in sorted(folder.rglob("*.json")) if folder.is_dir() else ():
        written = str(path.relative_to(suite.folder))
        text = read_inside(written, [suite.folder], max_bytes=_MAX_BYTES)
        yield from _read(load_json(text, written).value, suite.name)


def _read(value: Any, suite: str) -> Iterable[Baseline]:
    """The captures of a file that we wrote; any other file of the folder is somebody else's."""
    captures = value.get("captures") if isinstance(value, dict) else None
    for one in captures if isinstance(captures, list) else ():
        try:
            at = datetime.fromisoformat(one["captured_at"])
            yield Baseline(
                suite,
                value["eval_id"],
                one["judge"],
                one.get("version"),
                one["output"],
                at,
                one.get("environment") or {},
                one.get("bakeoff_id"),
                value.get("criticality"),
            )
        except (KeyError, TypeError, ValueError):
            continue


def _mirror(suite: Suite, eval_id: str, found: Sequence[Baseline]) -> Path:
    folder = suite.folder / FOLDER
    folder.mkdir(exist_ok=True)
    if not folder.resolve().is_relative_to(suite.folder.resolve()):
        raise InputError(
            Problem("the folder of baselines leads out of the suite", "make it a folder", FOLDER)
        )
    document = {
        "eval_id": eval_id,
        "suite": suite.name,
        "criticality": found[0].criticality,
        "captures": [_capture(one) for one in found if one.output is not None],
    }
    path = folder / f"{_file_name(eval_id)}.json"
    fresh = path.with_suffix(".json.new")
    fresh.unlink(missing_ok=True)
    fresh.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", "utf-8")
    fresh.replace(path)
    return path


def _capture(one: Baseline) -> dict[str, Any]:
    return {
        "judge": one.judge,
        "version": one.version,
        "captured_at": one.captured_at.isoformat() if one.captured_at else None,
        "environment": dict(one.environment),
        "bakeoff_id": one.bakeoff_id,
        "output": one.output,
    }


def _file_name(eval_id: str) -> str:
    """A name for the eval that is one for every file system, and no other eval's."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", eval_id).lstrip(".")[:100]
    if plain == eval_id:
        return plain
    return f"{plain}-{hashlib.sha256(eval_id.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class BaselineRow:
    """What an eval is compared with, and how it has done since. `source` is captured, inline or none."""

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


def baseline_rows(suite: Suite, known: Baselines) -> list[BaselineRow]:
    """Every baseline of a suite, and every regression that has none."""
    rows: list[BaselineRow] = []
    for one in suite.evals:
        if one.regression is not None:
            found = [each for each in known.captured.values() if each.eval_id == one.id]
            captured = [_captured_row(each, one.regression) for each in found]
            rows += captured or [_inline_row(one.id, one.regression)]
    return rows


def comparison_rows(done: SuiteRun, known: Baselines) -> Iterator[ComparisonRow]:
    """Every regression of a run, for each judge."""
    each = {(one.id, one.answered_by): one for found in done.judges for one in found.evals}
    for key, one in each.items():
        stands = known.captured.get(key)
        yield ComparisonRow(
            *key,
            one.status,
            "" if one.status == "passed" else reason_of(one),
            one.criticality,
            stands.last_passed.isoformat() if stands and stands.last_passed else None,
            stands.failure_count if stands else 0,
        )


def _captured_row(found: Baseline, form: RegressionForm) -> BaselineRow:
    is_captured = found.output is not None
    own = form.baseline
    return BaselineRow(
        found.eval_id,
        found.judge,
        "captured" if is_captured else "inline",
        found.version if is_captured else form.baseline_version or own.version,
        found.captured_at.isoformat() if found.captured_at else own.captured_at,
        form.metadata.criticality,
        found.last_passed.isoformat() if found.last_passed else form.metadata.last_passed,
        found.failure_count,
        dict(found.environment) if is_captured else own.environment,
        found.output if is_captured else own.output,
    )


def _inline_row(eval_id: str, form: RegressionForm) -> BaselineRow:
    own, about = form.baseline, form.metadata
    return BaselineRow(
        eval_id,
        None,
        "none" if own.output is None else "inline",
        form.baseline_version or own.version,
        own.captured_at,
        about.criticality,
        about.last_passed,
        about.failure_count,
        own.environment,
        own.output,
    )
