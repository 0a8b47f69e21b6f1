"""The command that holds a grader against people: labels in, corrected rates and what to label next out."""

import os
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.output import json_text
from evalq.errors import InputError, Problem
from evalq.settings import load_settings, project_root

if TYPE_CHECKING:
    from evalq.review.calibration import CalibrationRequest
    from evalq.review.calibration_result import Calibration, GraderCheck
    from evalq.store.database import Database

_PATH = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("run", metavar="RUN", required=False)
@click.option("--labels", "labels_file", type=_PATH, help="Labels to store first: a .csv or .jsonl file.")
@click.option(
    "--separate", is_flag=True, help="Correct by the grader's sensitivity and specificity (Rogan–Gladen)."
)
@click.option(
    "--labels-from", metavar="ID", help="Know the grader by this bake-off's labels; implies --separate."
)
@click.option(
    "--next",
    "n_next",
    type=click.IntRange(0, 10_000),
    default=40,
    show_default=True,
    help="How many answers to name for labelling.",
)
@click.option("--seed", type=int, help="Another draw of answers to label; default: the bake-off's seed.")
@click.option("-o", "output", type=_PATH, help="Write the answers to label to FILE.csv or FILE.jsonl.")
@click.option("--check-grader", is_flag=True, help="Also have known-bad answers graded; spends a little.")
@click.option("--task", help="With --check-grader: a task, instead of a RUN's.")
@click.option("--eval-set", help="With --check-grader: an evalset of the task.")
@click.option("--grader-model", help="With --check-grader: the grader, instead of the task's own.")
@options.max_cost
@options.allow_unpriced
@click.option("--json", "as_json", is_flag=True, help="The evalq.calibration/1 document.")
def calibrate(run: str | None, check_grader: bool, as_json: bool, output: Path | None, **asked: Any) -> int:
    """Hold a grader against people's labels, and correct every judge's rate by what they show.

    RUN is a bake-off (a number, `last`, `@-2`), one judge of it (`12:grok-4.3`), or a run's number that is
    no bake-off's. A label file has the columns judge, case_id, sample, passed, labeller; -o writes one to
    fill in. The same person's second label replaces the first, another person's is a second vote; the
    majority counts, ties are left out.
    """
    _refuse_strange(run, output, check_grader=check_grader, **asked)
    if check_grader and asked["task"]:
        return _show_check(_check(None, **asked), as_json=as_json)
    calibration = _calibrate(run or "last", output, **asked)
    if check_grader:
        calibration = _with_check(calibration, _check(calibration, **asked))
    if as_json:
        click.echo(json_text(calibration.to_dict()))
    else:
        _print(calibration, output)
    return _code(calibration)


def _calibrate(
    run: str,
    output: Path | None,
    *,
    labels_file: Path | None,
    separate: bool,
    labels_from: str | None,
    n_next: int,
    seed: int | None,
    **_rest: Any,
) -> "Calibration":
    from evalq.engines.session import open_session
    from evalq.review.calibration import CalibrationRequest
    from evalq.review.labels import load_labels

    file = load_labels(labels_file) if labels_file else None
    with open_session(load_settings(Path.cwd(), os.environ)) as session:
        asked = CalibrationRequest(separate=separate or labels_from is not None, n_next=n_next, seed=seed)
        calibration = _calibrated(session.db, run, labels_from, file=file, asked=asked)
        if output:
            _write_template(session.db, calibration, output)
    return calibration


def _calibrated(
    db: "Database", run: str, labels_from: str | None, *, file: Any, asked: "CalibrationRequest"
) -> "Calibration":
    from evalq.review import calibration as evidence
    from evalq.review import calibration as summary

    target, judge = evidence.find_target(db, run)
    source, _ = evidence.find_target(db, labels_from) if labels_from else (target, None)
    stored = evidence.store_labels(db, source, file) if file else summary.Stored()
    this = evidence.gather(db, target)
    other = this if source == target else evidence.gather(db, source)
    evidence.refuse_other_grader(this, other)
    return summary.calibrate(this, other, replace(asked, judge=judge), stored)


def _write_template(db: "Database", calibration: "Calibration", output: Path) -> None:
    from evalq.review.calibration import shown_texts
    from evalq.review.labels import render_csv, render_jsonl

    texts = shown_texts(db, calibration.label_next)
    render = render_csv if output.suffix.lower() == ".csv" else render_jsonl
    text = render(calibration.label_next, texts)
    try:
        with output.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as exc:
        raise InputError(Problem(f"cannot be written: {exc.strerror}", "name another", str(output))) from None


def _refuse_strange(run: str | None, output: Path | None, *, check_grader: bool, **asked: Any) -> None:
    """Refuse what cannot be meant, before anything is stored or spent."""
    problems = []
    if output and output.suffix.lower() not in (".csv", ".jsonl"):
        problems.append(Problem("not a file of labels", "name it .csv or .jsonl", str(output)))
    if output and output.exists():
        problems.append(Problem("is there already, perhaps half filled in", "name another", str(output)))
    alone = [name for name in ("task", "eval_set", "grader_model") if asked[name]]
    if alone and not check_grader:
        flags = " and ".join(f"--{name.replace('_', '-')}" for name in alone)
        problems.append(Problem(f"{flags} without --check-grader", "add it, or name a RUN alone"))
    if bool(asked["task"]) != bool(asked["eval_set"]):
        problems.append(Problem("--task and --eval-set go together", "give both, or a RUN"))
    if asked["task"] and (run or asked["labels_file"]):
        problems.append(Problem("a RUN and a --task", "give one of them"))
    if problems:
        raise InputError(*problems)


def _check(
    calibration: "Calibration | None",
    *,
    task: str | None,
    eval_set: str | None,
    grader_model: str | None,
    max_cost_usd: Decimal | None,
    allow_unpriced: bool,
    **_rest: Any,
) -> "GraderCheck":
    """Try the grader of a bake-off, or the one named."""
    from evalq.review.grader_check import Suspect, check_grader

    settings = load_settings(Path.cwd(), os.environ)
    suspect = Suspect(task or "", eval_set or "", None, grader_model, allow_unpriced)
    if calibration is not None:
        by_model = calibration.scorer == "llm_judge"
        scorer: Any = None if calibration.scorer == "graders" else calibration.scorer
        grader = grader_model or (calibration.grader if by_model else None)
        suspect = Suspect(calibration.task, calibration.eval_set, scorer, grader, allow_unpriced)
    cap_usd = max_cost_usd if max_cost_usd is not None else settings.max_cost_usd
    return check_grader(settings, project_root(Path.cwd()), suspect, cap_usd=cap_usd)


def _with_check(calibration: "Calibration", check: "GraderCheck") -> "Calibration":
    return replace(calibration, check=check, warnings=(*calibration.warnings, *check.warnings()))


def _print(calibration: "Calibration", output: Path | None) -> None:
    """The judges' table to stdout, all else to stderr; the answers to label unless they are in a file."""
    from evalq.cli.output import print_table
    from evalq.reports.text import one_line
    from evalq.review import next_labels

    print_table(next_labels.HEAD, next_labels.judge_rows(calibration))
    for line in next_labels.findings(calibration):
        click.echo(one_line(line) if sys.stdout.isatty() else f"# {one_line(line)}")
    if calibration.check:
        for line in next_labels.check_lines(calibration.check):
            click.echo(one_line(line) if sys.stdout.isatty() else f"# {one_line(line)}")
    for warning in calibration.warnings:
        click.echo(f"warning: {one_line(warning)}", err=True)
    if output:
        click.echo(f"{len(calibration.label_next)} answers to label are in {output}", err=True)
        click.echo(f"next  evalq calibrate {calibration.labels_from} --labels {output}", err=True)
        return
    if calibration.label_next:
        click.echo()
        print_table(next_labels.NEXT_HEAD, next_labels.next_rows(calibration))
    click.echo(f"next  {'   '.join(calibration.next)}", err=True)


def _show_check(check: "GraderCheck", *, as_json: bool) -> int:
    from evalq.reports.text import one_line
    from evalq.review.next_labels import check_lines

    if as_json:
        click.echo(json_text({"schema": "evalq.grader_check/1", **check.to_dict()}))
    else:
        for line in check_lines(check):
            click.echo(one_line(line))
        for warning in check.warnings():
            click.echo(f"warning: {one_line(warning)}", err=True)
    click.echo(f"next  evalq inspect {check.bakeoff_id} --show-failures", err=True)
    return _check_code(check)


def _check_code(check: "GraderCheck") -> int:
    if check.state == "capped":
        return 4
    return {True: 0, False: 1, None: 3}[check.ok]


def _code(calibration: "Calibration") -> int:
    """A check's own exit code if it has one to tell; 3 when labels correct nobody."""
    of_check = _check_code(calibration.check) if calibration.check else 0
    return of_check or (3 if calibration.is_inconclusive else 0)
