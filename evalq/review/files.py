"""Review in files: exports items to rate as JSONL, and imports the ratings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalq.definitions.definition import did_you_mean, limit_problems
from evalq.definitions.files import display_path, read_text
from evalq.definitions.graders.human import BinaryScale, LikertScale, RankingScale
from evalq.definitions.located import load_json
from evalq.errors import InputError, Problem
from evalq.grading.people import rating_words, read_rating
from evalq.reports.text import clean, one_line
from evalq.review.figures import GraderBesidePeople
from evalq.review.identity import refuse_borrowed
from evalq.review.items import Answer, ItemView, Offer, open_items
from evalq.review.ratings import Given, Rated, rate_all
from evalq.review.status import GraderStatus, RaterAgreement, ReviewStatus
from evalq.store.database import Database
from evalq.store.reviewers import SignedIn

FILLED_IN = ("item", "rating", "comment", "reviewer", "adjudicate")
FOR_PEOPLE = (
    *("schema", "bakeoff_id", "task", "grader", "case_id", "interface", "instructions", "question"),
    *("reference", "answer", "answers", "rubric", "scale", "blind", "reviews"),
)
"""Fields that help the reviewer; they are not read back."""

KNOWN = (*FILLED_IN, *FOR_PEOPLE)


@dataclass(frozen=True)
class Imported:
    """The result of importing ratings; `n_empty` lines are not filled in yet."""

    stored: int
    decided: int
    pending: int
    disputed: int
    n_empty: int
    bakeoff_ids: tuple[int, ...]


def export_items(db: Database, bakeoff_id: int, *, grader: str | None = None) -> Iterator[dict[str, Any]]:
    """One line per item that reviews are wanted of, `rating` left null; blind ones hide the judge."""
    for item in open_items(db, bakeoff_id, grader=grader):
        yield {"item": item.item, "rating": None, "comment": "", "reviewer": "", **item.to_dict()}


def import_ratings(db: Database, path: Path, *, reviewer: str, actor: SignedIn | None = None) -> Imported:
    """Store the ratings of a JSONL file: all of them, or none when one is wrong.

    `reviewer` is used for lines that name none. Of two ratings of one item by one person, the later counts.
    Names that people sign in with are refused, unless the actor is that person or a lead.
    """
    given, n_empty = read_ratings(read_text(path), display_path(path), reviewer=reviewer)
    if not given:
        raise InputError(Problem("no rating in it", "fill in `rating`", display_path(path)))
    refuse_borrowed(db, {one.reviewer for one in given}, actor=actor)
    rated = rate_all(db, given)
    last = {one.item: one.state for one in rated}
    states = list(last.values())
    return Imported(
        len(rated),
        states.count("decided"),
        states.count("pending"),
        states.count("undecidable"),
        n_empty,
        tuple(sorted({one.bakeoff_id for one in rated})),
    )


def read_ratings(text: str, file: str, *, reviewer: str) -> tuple[list[Given], int]:
    """The ratings in a text, and how many of its lines have none yet; InputError with every problem."""
    given: list[Given] = []
    problems: list[Problem] = []
    n_empty = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = load_json(line, file, first_line=number).value
            one = _given(value, file, number, reviewer)
        except InputError as exc:
            problems += exc.problems
            continue
        n_empty += one is None
        given += [one] if one else []
    if problems:
        raise InputError(*limit_problems(problems))
    return given, n_empty


def _given(value: Any, file: str, line: int, reviewer: str) -> Given | None:
    """The rating of a line; None if it is not filled in."""
    if not isinstance(value, Mapping):
        raise InputError(Problem("not a JSON object", "write {…}", file, line))
    problems = [
        Problem(f"unknown key {name!r}", did_you_mean(name, FILLED_IN), file, line)
        for name in value
        if name not in KNOWN
    ]
    for name in ("item", "comment", "reviewer"):
        if not isinstance(value.get(name, ""), str):
            problems.append(Problem(f"{name} is not text", "put it in quotes", file, line))
    if not isinstance(value.get("adjudicate", False), bool):
        problems.append(Problem("adjudicate is not true or false", "write true or false", file, line))
    if not value.get("item"):
        problems.append(Problem("missing key 'item'", "copy it from the exported line", file, line))
    if problems:
        raise InputError(*problems)
    said = value.get("rating")
    if said is None or said == "":
        return None
    return Given(
        value["item"],
        value.get("reviewer") or reviewer,
        said,
        value.get("comment", ""),
        value.get("adjudicate", False),
        file,
        line,
    )


HEAD = ("grader", "scale", "items", "pending", "decided", "disputed", "in hand", "reviews", "agreement", "n")

KEYS = """\
a rating   stores it and shows the next item
s          unsure: leave it to another reviewer
!          flag the case as broken
c          write a comment, then the rating
u          take your last rating back
q          leave; what you have in hand stays yours for its time limit"""


def item_text(item: ItemView, offer: Offer | None = None) -> str:
    """An item from its question to its scale."""
    blocks = [_head(item, offer)]
    blocks += _block("instructions", item.instructions)
    blocks += _block("question", item.question)
    is_ranking = isinstance(item.scale, RankingScale)
    for answer in item.answers:
        blocks += _block(f"answer {answer.letter}" if is_ranking else "answer", answer.text or "(empty)")
        blocks += [one_line(line) for line in _unblinded(answer)]
    blocks += _block("reference", item.reference)
    blocks += _block("rubric", item.rubric)
    blocks += _block(f"rate it: {item.form}", "\n".join(_scale_lines(item)))
    if item.ratings is not None:
        said = [rating_words(item.scale, _values(item, rating)) for rating in item.ratings]
        blocks += _block("reviewers said", "\n".join(said))
    return "\n".join(blocks)


def rated_text(rated: Rated) -> str:
    """What a rating came to, on one line."""
    waits = f"{rated.n_pending} answer{'' if rated.n_pending == 1 else 's'} of bake-off {rated.bakeoff_id}"
    return one_line(f"{rated.item} {rated.state}: {rated.reason}; {waits} still wait for people")


def status_rows(status: ReviewStatus) -> list[list[str]]:
    """One row per grader, under HEAD."""
    return [
        [
            grader.grader,
            grader.scale,
            *(str(n) for n in (grader.items, grader.pending, grader.decided, grader.disputed)),
            str(grader.in_hand),
            str(grader.reviews),
            agreement_words(grader.agreement),
            str(grader.agreement.n),
        ]
        for grader in status.graders
    ]


def status_lines(status: ReviewStatus) -> Iterator[str]:
    """Who rated how much, what waits for other answers, and every disagreement with what was said."""
    for grader in status.graders:
        who = ", ".join(f"{name} {count}" for name, count in grader.reviewers.items()) or "none yet"
        yield one_line(
            f"{grader.grader}: {grader.min_required} to {grader.max_allowed} reviews an item; {who}"
        )
        if grader.waiting:
            yield f"{grader.grader}: {grader.waiting} answers wait for those of other judges"
        yield one_line(f"{grader.grader}: {quota_words(grader)}")
        yield from _disagreements(grader)
    for beside in status.beside_people:
        yield one_line(f"{beside.grader} beside people: {beside_words(beside)}")
    if status.median_s is not None:
        yield f"median {status.median_s:.0f} s an item"
    for one in status.declined:
        reason = f": {one.comment}" if one.comment else ""
        yield one_line(f"{one.token}  {one.case_id}: {one.reviewer} {DECLINED_WORDS[one.declined]}{reason}")


DECLINED_WORDS = {"unsure": "is unsure", "broken": "calls the case broken"}


def quota_words(grader: GraderStatus) -> str:
    """`2 of 2 reviews: 61, 1 of 2: 22, 0 of 2: 37`."""
    need = grader.min_required
    counts = [f"{reviews} of {need}: {n}" for reviews, n in sorted(grader.by_reviews.items(), reverse=True)]
    return f"items with {', '.join(counts)} reviews"


def beside_words(found: GraderBesidePeople) -> str:
    """`κ 0.68 [0.40, 0.90] on 40 answers`, or the share alone where κ is undefined."""
    answers = f"{found.n} answer{'' if found.n == 1 else 's'}"
    if found.kappa is None:
        return f"κ n/a (one never varies), the same on {found.share or 0:.0%} of {answers}"
    return f"κ {found.kappa:.2f} [{found.kappa_low:.2f}, {found.kappa_high:.2f}] on {answers}"


def agreement_words(found: RaterAgreement) -> str:
    """`κ 0.61 [0.40, 0.82]`, or why there is none."""
    sign = "κ" if found.method == "kappa" else "α"
    if found.value is None:
        return f"{sign} undefined" if found.n else "–"
    ends = "" if found.ci_low is None else f" [{found.ci_low:.2f}, {found.ci_high:.2f}]"
    return f"{sign} {found.value:.2f}{ends}"


def _disagreements(grader: GraderStatus) -> Iterator[str]:
    for found in grader.disagreements:
        yield one_line(f"{found.item}  {found.case_id}: {found.reason}")
        for one in found.ratings:
            comment = f" ({one.comment})" if one.comment else ""
            yield one_line(f"    {one.reviewer}: {one.words}{comment}")


def _head(item: ItemView, offer: Offer | None) -> str:
    parts = [f"item {item.item}", item.task, item.case_id, f"grader {item.grader}"]
    parts.append(f"{item.rated} of {item.min_required} reviews")
    if offer:
        parts.append(f"you: {offer.done} done, {offer.left} left")
    return one_line(" · ".join(parts))


def _block(title: str, text: str) -> list[str]:
    return [f"── {one_line(title)}", clean(text).rstrip("\n")] if text.strip() else []


def _unblinded(answer: Answer) -> Iterator[str]:
    """Who said it and what others made of it, where the review is not blind."""
    if answer.judge is not None:
        yield f"   by {answer.judge}, ${answer.cost_usd or 0}, {answer.latency_ms} ms"
    for grade in answer.grades or ():
        yield f"   {grade['grader']}: {grade['passed']} ({grade['reason']})"


def _scale_lines(item: ItemView) -> Iterator[str]:
    match item.scale:
        case LikertScale():
            yield from (
                f"{step} {item.scale.labels[step]}" for step in item.scale.steps if step in item.scale.labels
            )
            yield from (f"criterion {at}: {name}" for at, name in enumerate(item.scale.criteria, start=1))
        case BinaryScale():
            yield from (f"{one.label}: {one.description}" for one in item.scale.options if one.description)
        case RankingScale():
            yield item.scale.description


def _values(item: ItemView, rating: object) -> tuple[float, ...]:
    return read_rating(item.scale, rating, n_answers=len(item.answers))
