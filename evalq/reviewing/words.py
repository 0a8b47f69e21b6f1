"""Reviews in words: an item as the terminal shows it, and how a review stands; model text is cleaned."""

from collections.abc import Iterator

from evalq.definitions.graders.human import BinaryScale, LikertScale, RankingScale
from evalq.grading.ratings import rating_words, read_rating
from evalq.reports.text import clean, one_line
from evalq.reviewing.item import Answer, ItemView, Offer
from evalq.reviewing.rating import Rated
from evalq.reviewing.status import GraderStatus, ReviewStatus
from evalq.summary.raters import RaterAgreement

HEAD = ("grader", "scale", "items", "pending", "decided", "disputed", "in hand", "reviews", "agreement", "n")

KEYS = """\
a rating   stores it and shows the next item
s          skip: it is for somebody else
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
        who = ", ".join(f"{name} {count}" for name, count in grader.reviewers.items()) or "nobody yet"
        yield one_line(
            f"{grader.grader}: {grader.min_required} to {grader.max_allowed} reviews an item; {who}"
        )
        if grader.waiting:
            yield f"{grader.grader}: {grader.waiting} answers wait for those of other judges"
        yield from _disagreements(grader)


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
