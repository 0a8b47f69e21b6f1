"""Commands for eva prompts: evaluate one, use one, examine them, promote one, export it as a skill."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalq.cli import options
from evalq.cli.context import Context, pass_context
from evalq.cli.options import RunOptions
from evalq.cli.output import note, print_json, print_table, suggest
from evalq.cli.preflight import describe_plan
from evalq.definitions.money import money
from evalq.errors import InputError, Problem
from evalq.reports.text import clean, one_line

if TYPE_CHECKING:
    from evalq.formats.eva.load import EvaPrompt
    from evalq.formats.eva.promote import PromotionReview
    from evalq.formats.eva.run import EvaBakeOff, EvaResult
    from evalq.formats.eva.usage import PreparedUse
    from evalq.formats.problems import FileFinding
    from evalq.grading.sandbox.program import Program, ProgramRun
    from evalq.reports.cases import AnswerView
    from evalq.results import BakeOffResult

_SIGNS = {"passed": "✓", "failed": "✗", "errored": "!", "not_run": "·"}


@click.group()
def eva() -> None:
    """Evaluate and use prompts kept in eva's folders, find what is wrong with them, and promote them."""


@eva.command("eval")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--case", "case", help="This case alone; the triggering block is left out.")
@options.judge("Answers the cases and decides on the requests, instead of the models named.")
@options.grader_model("Scores by the rubrics, instead of the models named.")
@options.max_cost
@options.allow_unpriced
@options.dry_run
@options.as_json("The evalq.eva/1 document on stdout.")
@options.display
@options.collect_run_options
@pass_context
def evaluate(
    context: Context,
    path: Path,
    case: str | None,
    judge: str | None,
    grader_model: str | None,
    run: RunOptions,
) -> int:
    """Evaluate a prompt: PATH is its folder, its eval.yml, or its id under prompts/.

    Every case is rendered, answered and graded, every request of the triggering block decided; one row goes
    into the prompt's .eval.jsonl. One line that did not pass fails the whole: exit code 1.
    """
    from evalq.bakeoff.portfolio import refuse_total_over_cap
    from evalq.formats.eva.load import load_prompt
    from evalq.formats.eva.promote import EVALS, append_row, refuse_unwritable
    from evalq.formats.eva.run import EvaOptions, prepare_parts

    prompt = load_prompt(path, context.root)
    chosen = EvaOptions(case, judge, grader_model, run.allow_unpriced)
    parts = prepare_parts(prompt, chosen, context.settings)
    cap_usd = context.cap_usd(run.max_cost_usd)
    _announce(parts, cap_usd)
    refuse_total_over_cap([part.plan for part in parts], cap_usd)
    refuse_unwritable(prompt.folder.path(EVALS))
    if run.dry_run:
        return 0
    result = _run_exam(context, prompt, parts, cap_usd, run)
    if result is None:
        return 130
    append_row(prompt.folder.path(EVALS), result.row)
    if run.as_json:
        print_json(result.to_dict())
    else:
        _print_result(result)
    suggest(result.next)
    return result.exit_code


def _announce(parts: "Sequence[EvaBakeOff]", cap_usd: Decimal) -> None:
    for part in parts:
        judges = ", ".join(judge.name for judge in part.plan.judges)
        note(f"{describe_plan(part.plan)}, cap ${money(cap_usd)}, by {judges}")


def _run_exam(
    context: Context, prompt: "EvaPrompt", parts: "Sequence[EvaBakeOff]", cap_usd: Decimal, run: RunOptions
) -> "EvaResult | None":
    """Run the bake-offs; None when the user interrupts."""
    from evalq.cli.progress import first_interrupt, watch_to_end
    from evalq.formats.eva.run import read_result, run_parts

    with context.open_session(fleet=True) as session, first_interrupt() as interrupt:

        def watch(bakeoff_id: int) -> "BakeOffResult | None":
            result = watch_to_end(context, session, bakeoff_id, run, interrupt=interrupt)
            if not interrupt():
                return result
            note("interrupted; no more is spent, and no row is written")
            suggest(f"evalq inspect {bakeoff_id}")
            return None

        ended = run_parts(session, parts, cap_usd=cap_usd, root=context.root, watch=watch)
        if interrupt():
            return None
        return read_result(session.db, prompt, parts, ended, now=datetime.now(UTC))


def _print_result(result: "EvaResult") -> None:
    rows = [(_SIGNS[line.verdict], line.name, line.verdict, line.reason) for line in result.lines]
    print_table(("", "case", "verdict", "why"), rows)
    n_errored = sum(line.verdict in ("errored", "not_run") for line in result.lines)
    errored = f", {n_errored} of the others without a verdict" if n_errored else ""
    click.echo(f"{result.prompt}: {result.passed} of {result.total} passed{errored}, ${result.spent_usd:.4f}")


@eva.command("use")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--case", "case", help="Take the variables of examples/NAME/inputs.yml.")
@click.option("--var", "variables", multiple=True, metavar="NAME=VALUE", help="Set a variable.")
@click.option(
    "--var-file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Set the variable file_contents to the text of a file.",
)
@click.option("--send", is_flag=True, help="Send the prompt; without it, it is only rendered.")
@click.option("--judge", help="The model that answers, instead of the one in meta.yml.")
@options.max_cost
@options.allow_unpriced
@options.display
@options.collect_run_options
@pass_context
def use_command(
    context: Context,
    path: Path,
    case: str | None,
    variables: tuple[str, ...],
    files: tuple[Path, ...],
    send: bool,
    judge: str | None,
    run: RunOptions,
) -> int:
    """Use a prompt: render it, and with --send have it answered.

    The prompt's guard.sh, and with --send its verify.sh, run in the sandbox. Each use appends a row to
    .usage.jsonl, which `evalq eva promote` counts. Exit code 1: there is no answer, or verify.sh found it
    wrong; 5: guard.sh refused.
    """
    from evalq.formats.eva.promote import USES, append_row, refuse_unwritable
    from evalq.formats.eva.usage import prepare_use, read_given, usage_row

    given = read_given(variables, files)
    use = prepare_use(path, context.root, case=case, given=given, run=_sandbox_of(context))
    refuse_unwritable(use.folder.path(USES))
    if send:
        return _send_use(context, use, judge, run)
    click.echo(use.prompt)
    append_row(use.folder.path(USES), usage_row(use, now=datetime.now(UTC)))
    suggest(f"evalq eva use {path} --send")
    return 0


def _send_use(context: Context, use: "PreparedUse", judge: str | None, run: RunOptions) -> int:
    """Send a prompt, have its answer verified, and record the use."""
    from evalq.formats.eva.promote import USES, append_row
    from evalq.formats.eva.usage import usage_row, verify_output

    answer = _ask(context, use, judge, run)
    if answer is None:
        return 130
    output, code = "", 1
    verified: bool | None = False
    if answer.verdict == "passed":
        output, code = answer.answer_text, 0
        verified = verify_output(use, output, _sandbox_of(context))
    row = usage_row(
        use,
        now=datetime.now(UTC),
        output=output,
        verified=verified,
        exit_code=code,
        duration_ms=answer.latency_ms or 0,
    )
    append_row(use.folder.path(USES), row)
    click.echo(clean(answer.answer_text))
    note({True: "verified", False: "not verified", None: "no verify.sh to verify it"}[verified])
    suggest(f"evalq eva promote {use.folder.id}")
    return 1 if verified is False else code


def _sandbox_of(context: Context) -> "Callable[[Program], ProgramRun]":
    """The sandbox for a prompt's scripts; it refuses to run anything where there is none."""
    from evalq.grading.sandbox.availability import require_sandbox
    from evalq.grading.sandbox.running import run as run_program

    def run_script(program: "Program") -> "ProgramRun":
        environ = context.environ
        isolation = require_sandbox(context.settings.sandbox, environ)
        return run_program(program, isolation=isolation, environ=environ)

    return run_script


def _ask(context: Context, use: "PreparedUse", judge: str | None, run: RunOptions) -> "AnswerView | None":
    """Send a prompt to its model, within the cap; None when the user interrupts."""
    from evalq.bakeoff.inspect import CaseFilter, find_cases
    from evalq.bakeoff.launch import start
    from evalq.cli.progress import first_interrupt, watch_to_end
    from evalq.formats.eva.run import RUN_TYPE
    from evalq.formats.eva.usage import plan_use

    plan = plan_use(use, judge, context.settings, allow_unpriced=run.allow_unpriced)
    cap_usd = context.cap_usd(run.max_cost_usd)
    note(f"{describe_plan(plan)}, cap ${money(cap_usd)}, by {plan.judges[0].name}")
    with context.open_session(fleet=True) as session, first_interrupt() as interrupt:
        bakeoff_id = start(session, plan, cap_usd=cap_usd, root=context.root, run_type=RUN_TYPE)
        result = watch_to_end(context, session, bakeoff_id, run, interrupt=interrupt)
        cases, _ = find_cases(session.db, result, CaseFilter(limit=1))
        if interrupt() or not cases or not cases[0].answers:
            note("stopped before there was an answer; no row is written")
            return None
        return cases[0].answers[0]


@eva.command("doctor")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@options.as_json("The evalq.eva-doctor/1 document on stdout.")
@pass_context
def doctor(context: Context, paths: tuple[Path, ...], as_json: bool) -> int:
    """Find what is wrong with prompts: those at PATHS, or all under prompts/ of the project.

    One line per finding, `file:line: problem|warning: what; what to do`. Problems end with exit code 1,
    warnings do not.
    """
    from evalq.formats.eva.doctor import examine

    root = context.root
    if not paths and not (root / "prompts").is_dir():
        raise InputError(Problem("there is no folder prompts/ in this project", "name a prompt's folder"))
    n_prompts, findings = examine(paths or [root / "prompts"], root)
    n_problems = sum(finding.severity == "problem" for finding in findings)
    if as_json:
        print_json(_doctor_document(n_prompts, n_problems, findings))
    else:
        _print_findings(n_prompts, n_problems, findings)
    return 1 if n_problems else 0


def _doctor_document(n_prompts: int, n_problems: int, findings: "Sequence[FileFinding]") -> dict[str, Any]:
    return {
        "schema": "evalq.eva-doctor/1",
        "prompts": n_prompts,
        "problems": n_problems,
        "warnings": len(findings) - n_problems,
        "findings": [asdict(finding) for finding in findings],
    }


def _print_findings(n_prompts: int, n_problems: int, findings: "Sequence[FileFinding]") -> None:
    for finding in findings:
        click.echo(one_line(str(finding)))
    n_warnings = len(findings) - n_problems
    note(f"{n_prompts} prompts: {n_problems} problems, {n_warnings} warnings")
    suggest("fix them, then evalq eva eval PATH" if findings else "evalq eva eval PATH")


@eva.command("export-skill")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "-d",
    "--out-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to write to; default: dist/skills/ID of the repository.",
)
@click.option(
    "--force", is_flag=True, help="Export a prompt that is not ready, and replace another SKILL.md."
)
@pass_context
def export_skill(context: Context, path: Path, out_dir: Path | None, force: bool) -> None:
    """Write a ready prompt as a skill, a SKILL.md that agents load.

    It needs a description in its meta.yml. A file that says something else is replaced only with --force.
    """
    from evalq.definitions.files import display_path
    from evalq.formats.agentv.skill_evals import write_together
    from evalq.formats.eva.prompt import find_prompt
    from evalq.formats.eva.skill_export import SKILL, skill_folder, skill_text

    prompt = find_prompt(path, context.root)
    target = out_dir or skill_folder(prompt)
    for written in write_together(target, {SKILL: skill_text(prompt, force=force)}, force=force):
        click.echo(f"wrote {display_path(written)}")
    suggest(f"evalq triggers --skill {display_path(target)}")


@eva.command("promote")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Promote whatever the gates say; unmet ones become warnings.")
@options.as_json("The evalq.eva-promotion/1 document on stdout.")
@pass_context
def promote(context: Context, path: Path, force: bool, as_json: bool) -> int:
    """Promote a prompt: draft → tested → ready, when the gates of the step are met.

    `tested` takes 3 uses that were not found wrong; `ready` takes 10 verified uses and a last evaluation that
    passed. `promotion:` in its meta.yml changes that. Unmet gates end with exit code 1.
    """
    from evalq.formats.eva import promote as promotion
    from evalq.formats.eva.prompt import find_prompt

    reviewed = promotion.review(find_prompt(path, context.root))
    is_promoted = force or not reviewed.unmet
    for warning in (*reviewed.warnings, *(reviewed.unmet if force else ())):
        click.secho(f"warning: {one_line(warning)}", fg="yellow", err=True)
    if is_promoted:
        promotion.promote(reviewed, datetime.now(UTC).date())
    if as_json:
        print_json(_promotion_document(reviewed, is_promoted=is_promoted))
    else:
        _print_promotion(reviewed, is_promoted=is_promoted)
    suggest(f"evalq eva {'doctor' if is_promoted else 'eval'} {path}")
    return 0 if is_promoted else 1


def _print_promotion(reviewed: "PromotionReview", *, is_promoted: bool) -> None:
    name = reviewed.folder.id
    if is_promoted:
        click.echo(f"{name}: {reviewed.status} → {reviewed.to}")
        return
    for gate in reviewed.unmet:
        click.secho(f"unmet gate: {one_line(gate)}", fg="red")
    click.echo(f"{name} stays {reviewed.status}")


def _promotion_document(reviewed: "PromotionReview", *, is_promoted: bool) -> dict[str, Any]:
    return {
        "schema": "evalq.eva-promotion/1",
        "prompt": reviewed.folder.id,
        "promoted": is_promoted,
        "from": reviewed.status,
        "to": reviewed.to,
        "unmet": list(reviewed.unmet),
        "warnings": list(reviewed.warnings),
    }
