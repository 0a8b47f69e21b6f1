"""The command that compares a grader with people's labels: calibrate."""

import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.options import RunOptions
from evalq.cli.output import note, print_json, print_table, suggest, warn
from evalq.errors import InputError, Problem
from evalq.reports.text import one_line

if TYPE_CHECKING:
    from evalq.review.calibration import CalibrationRequest
    from evalq.review.calibration_result import Calibration, GraderCheck
    from evalq.store.database import Database

_PATH = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True)
class CheckTarget:
    """The grader that --check-grader tries, where the command line names one."""

    task: str | None
    eval_set: str | None
    grader_model: str | None


@click.command()
@options.bakeoff_id("run_name", metavar="RUN", required=False)
@click.option("--labels", "labels_file", type=_PATH, help="Labels to store first: a .csv or .jsonl file.")
@click.option(
    "--separate", is_flag=True, help="Correct by the grader's sensitivity and specificity (Rogan–Gladen)."
)
@click.option("--labels-from", metavar="ID", help="Use the labels of this bake-off; implies --separate.")
@click.option(
    "--next",
    "n_next",
    type=click.IntRange(0, 10_000),
    default=40,
    show_default=True,
    help="How many answers to name for labelling.",
)
@click.option("--seed", type=int, help="Another draw of answers to label; default: the bake-off's seed.")
@click.option("-o", "label_file", type=_PATH, help="Write the answers to label to FILE.csv or FILE.jsonl.")
@click.option("--check-grader", is_flag=True, help="Also have known-bad answers graded; spends a little.")
@options.task("With --check-grader: a task, instead of a RUN's.")
@options.eval_set("With --check-grader: an evalset of the task.")
@options.grader_model("With --check-grader: the grader, instead of the task's own.")
@options.max_cost
@options.allow_unpriced
@options.as_json("The evalq.calibration/1 document.")
@options.collect_run_options
@pass_context
def calibrate(
    context: Context,
    run_name: str | None,
    labels_file: Path | None,
    separate: bool,
    labels_from: str | None,
    n_next: int,
    seed: int | None,
    label_file: Path | None,
    check_grader: bool,
    task: str | None,
    eval_set: str | None,
    grader_model: str | None,
    run: RunOptions,
) -> int:
    """Compare a grader with people's labels, and correct every judge's rate accordingly.

    RUN is a bake-off (a number, `last`, `@-2`), one judge of it (`12:grok-4.3`), or a run's number that is
    not a bake-off's. A label file has the columns judge, case_id, sample, passed, labeller; -o writes one to
    fill in. The same person's second label replaces the first, another person's is a second vote; the
    majority counts, ties are left out.
    """
    from evalq.review.calibration import CalibrationRequest

    target = CheckTarget(task, eval_set, grader_model)
    _refuse_contradictions(run_name, labels_file, label_file, target, check_grader=check_grader)
    if task:
        return _show_check(_check(context, None, target, run), as_json=run.as_json)
    asked = CalibrationRequest(separate=separate or labels_from is not None, n_next=n_next, seed=seed)
    with context.open_session() as session:
        calibration = _calibrate(session.db, run_name or "last", labels_file, labels_from, asked=asked)
        if label_file:
            _write_template(session.db, calibration, label_file)
    if check_grader:
        check = _check(context, calibration, target, run)
        calibration = replace(calibration, check=check, warnings=(*calibration.warnings, *check.warnings()))
    return _show(calibration, label_file, as_json=run.as_json)


def _refuse_contradictions(
    run_name: str | None,
    labels_file: Path | None,
    label_file: Path | None,
    target: CheckTarget,
    *,
    check_grader: bool,
) -> None:
    """Refuse options that contradict each other, before anything is stored or spent."""
    problems = []
    if label_file and label_file.suffix.lower() not in (".csv", ".jsonl"):
        problems.append(Problem("not a file of labels", "name it .csv or .jsonl", str(label_file)))
    if label_file and label_file.exists():
        problems.append(Problem("is there already, perhaps half filled in", "name another", str(label_file)))
    flags = [f"--{name.replace('_', '-')}" for name, value in asdict(target).items() if value]
    if flags and not check_grader:
        problems.append(
            Problem(f"{' and '.join(flags)} without --check-grader", "add it, or name a RUN alone")
        )
    if bool(target.task) != bool(target.eval_set):
        problems.append(Problem("--task and --eval-set go together", "give both, or a RUN"))
    if target.task and (run_name or labels_file):
        problems.append(Problem("a RUN and a --task", "give one of them"))
    if problems:
        raise InputError(*problems)


def _calibrate(
    db: "Database",
    name: str,
    labels_file: Path | None,
    labels_from: str | None,
    *,
    asked: "CalibrationRequest",
) -> "Calibration":
    """Store the labels of a file, if any, and calibrate a run by its own labels or another bake-off's."""
    from evalq.review import calibration
    from evalq.review.labels import load_labels

    labels = load_labels(labels_file) if labels_file else None
    target, judge = calibration.find_target(db, name)
    source = calibration.find_target(db, labels_from)[0] if labels_from else target
    stored = calibration.store_labels(db, source, labels) if labels else calibration.Stored()
    this = calibration.gather(db, target)
    other = this if source == target else calibration.gather(db, source)
    calibration.refuse_other_grader(this, other)
    return calibration.calibrate(this, other, replace(asked, judge=judge), stored)


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


def _check(
    context: Context, calibration: "Calibration | None", target: CheckTarget, run: RunOptions
) -> "GraderCheck":
    """Try the grader of a bake-off, or the named one, on known-bad answers."""
    from evalq.review.grader_check import Suspect, check_grader

    suspect = Suspect(target.task or "", target.eval_set or "", None, target.grader_model, run.allow_unpriced)
    if calibration is not None:
        scorer: Any = None if calibration.scorer == "graders" else calibration.scorer
        grader = target.grader_model
        if calibration.scorer == "llm_judge":
            grader = grader or calibration.grader
        suspect = Suspect(calibration.task, calibration.eval_set, scorer, grader, run.allow_unpriced)
    cap_usd = context.cap_usd(run.max_cost_usd)
    return check_grader(context.settings, context.root, suspect, cap_usd=cap_usd)


def _show(calibration: "Calibration", label_file: Path | None, *, as_json: bool) -> int:
    if as_json:
        print_json(calibration.to_dict())
    else:
        _print(calibration, label_file)
    # A check that failed has its own exit code; 3 when the labels correct no rate.
    check_code = _check_exit_code(calibration.check) if calibration.check else 0
    if check_code:
        return check_code
    return 3 if calibration.is_inconclusive else 0


def _print(calibration: "Calibration", label_file: Path | None) -> None:
    """Print the judges' table and, unless they are in a file, the answers to label; warnings to stderr."""
    from evalq.review import next_labels

    print_table(next_labels.HEAD, next_labels.judge_rows(calibration))
    lines = list(next_labels.findings(calibration))
    if calibration.check:
        lines += next_labels.check_lines(calibration.check)
    for line in lines:
        click.echo(one_line(line) if sys.stdout.isatty() else f"# {one_line(line)}")
    for warning in calibration.warnings:
        warn(warning)
    if label_file:
        note(f"{len(calibration.label_next)} answers to label are in {label_file}")
        suggest(f"evalq calibrate {calibration.labels_from} --labels {label_file}")
        return
    if calibration.label_next:
        click.echo()
        print_table(next_labels.NEXT_HEAD, next_labels.next_rows(calibration))
    suggest(*calibration.next)


def _show_check(check: "GraderCheck", *, as_json: bool) -> int:
    from evalq.review.next_labels import check_lines

    if as_json:
        print_json({"schema": "evalq.grader_check/1", **check.to_dict()})
    else:
        for line in check_lines(check):
            click.echo(one_line(line))
        for warning in check.warnings():
            warn(warning)
    suggest(f"evalq inspect {check.bakeoff_id} --show-failures")
    return _check_exit_code(check)


def _check_exit_code(check: "GraderCheck") -> int:
    if check.state == "capped":
        return 4
    return {True: 0, False: 1, None: 3}[check.ok]
