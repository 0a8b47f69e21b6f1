"""Promoting an eva prompt from draft to tested to ready: what each step asks for, and the step itself."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from evalq.definitions.validation import validate
from evalq.errors import InputError, Problem, Refused
from evalq.eva.meta_edit import change
from evalq.eva.record import EVALS, USES, Row, read_rows
from evalq.importers.eva_eval import read_eval
from evalq.importers.eva_meta import Standing, Status, without_nulls
from evalq.importers.eva_prompt import EVAL, META, PromptFolder


@dataclass(frozen=True)
class Step:
    """What it takes to leave a status: so many uses, of which kind, and perhaps an evaluation passed."""

    to: Status
    min_uses: int
    needs_verified: bool
    needs_eval: bool

    def counts(self, row: Row) -> bool:
        """Whether a use counts: it was sent, and verified; for the first step, at least not found wrong."""
        verified = row.get("verified")
        is_good = verified is True if self.needs_verified else verified is not False
        return row.get("sent") is True and is_good


STEPS: Mapping[Status, Step] = {
    "draft": Step("tested", min_uses=3, needs_verified=False, needs_eval=False),
    "tested": Step("ready", min_uses=10, needs_verified=True, needs_eval=True),
}


@dataclass(frozen=True)
class Review:
    """A prompt before its step: where it stands, where it goes, the gates it does not meet, what is odd."""

    folder: PromptFolder
    status: Status
    to: Status
    unmet: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def review(folder: PromptFolder) -> Review:
    """Hold a prompt against the gates of its next step; one that is ready has none and is refused."""
    standing = validate(Standing, without_nulls(folder.located(META)))
    if standing.status not in STEPS:
        raise Refused(f"{folder.id} is {standing.status}: cannot promote it any further")
    step = _step(standing)
    uses, evals = read_rows(folder.path(USES)), read_rows(folder.path(EVALS))
    unmet = (*_unmet_uses(step, uses), *(_unmet_eval(folder, evals) if step.needs_eval else ()))
    odd = [f"passed over: {row}" for row in (*uses, *evals[:-1]) if isinstance(row, Problem)]
    return Review(folder, standing.status, step.to, unmet, (*odd, *_doubts(folder, step, evals)))


def promote(reviewed: Review, today: date) -> None:
    """Write the new status and the day into meta.yml; every other byte of it stays."""
    change(reviewed.folder.path(META), {"status": reviewed.to, "updated": today.isoformat()})


def _step(standing: Standing) -> Step:
    """The usual step, with what the prompt itself asks for over it."""
    step, own = STEPS[standing.status], standing.promotion
    return replace(
        step,
        min_uses=step.min_uses if own.min_uses is None else own.min_uses,
        needs_eval=step.needs_eval if own.require_eval is None else own.require_eval,
    )


def _unmet_uses(step: Step, rows: Sequence[Row | Problem]) -> Iterator[str]:
    n_uses = sum(step.counts(row) for row in rows if not isinstance(row, Problem))
    if n_uses < step.min_uses:
        kind = "sent and verified" if step.needs_verified else "sent and not found wrong"
        yield f"uses: {n_uses} of {step.min_uses} that are {kind}, in {USES}"


def _unmet_eval(folder: PromptFolder, rows: Sequence[Row | Problem]) -> Iterator[str]:
    if not folder.has(EVAL):
        yield f"eval: there is no {EVAL}"
        return
    last = rows[-1] if rows else None
    if last is None:
        yield f"eval: {EVALS} has no row; run `evalq eva eval`"
    elif isinstance(last, Problem):
        yield f"eval: the last row of {EVALS} cannot be read: {last.message}"
    elif last.get("all_passed") is not True:
        yield f"eval: the last one passed {last.get('passed')} of {last.get('total')}"


def _doubts(folder: PromptFolder, step: Step, rows: Sequence[Row | Problem]) -> Iterator[str]:
    """A row of a single case passes the gate as a whole evaluation does; that is worth a word."""
    last = rows[-1] if rows and step.needs_eval and folder.has(EVAL) else None
    if last is None or isinstance(last, Problem):
        return
    try:
        total = read_eval(folder.located(EVAL)).total
    except InputError:
        return
    if last.get("total") != total:
        yield f"the last evaluation was of {last.get('total')}, {EVAL} has {total} cases and requests"
