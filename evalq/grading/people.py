"""From the ratings people gave to an item to its marks; or what is still missing."""

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any, Literal, assert_never

from evalq.definitions.evalset import EvalCase
from evalq.definitions.graders import Human
from evalq.definitions.graders.human import BinaryScale, LikertScale, RankingScale, RatingScale
from evalq.definitions.task import TaskConfig
from evalq.errors import InputError, Problem
from evalq.grading.grade import named_graders
from evalq.grading.grader import Mark
from evalq.records import Grade
from evalq.stats.ranking import mid_ranks, rank_correlation

Values = tuple[float, ...]
"""A rating as numbers: likert and binary from low to high, of a ranking the rank of each answer."""

LETTERS = string.ascii_uppercase

_SIDES = {
    **dict.fromkeys(("true", "yes", "y", "pass", "passed", "p", "1", "valid"), True),
    **dict.fromkeys(("false", "no", "n", "fail", "failed", "f", "0", "invalid"), False),
}
_RANKING = re.compile(r"[\s,;>]*[A-Za-z](?:[\s,;>=]*[A-Za-z])*\s*")


def read_rating(scale: RatingScale, said: Any, *, n_answers: int = 1) -> Values:
    """The numbers of a rating, given as JSON has it or as it is typed; ValueError: `what; what to write`."""
    match scale:
        case LikertScale():
            return _read_likert(scale, said)
        case BinaryScale():
            return (float(_read_side(scale, said)),)
        case RankingScale():
            return _read_ranking(scale, said, n_answers)
        case _:
            assert_never(scale)


def rating_json(scale: RatingScale, values: Values) -> Any:
    """A rating as JSON, the same however it was typed: 4, {criterion: 4}, true, ["B", ["A", "C"]]."""
    match scale:
        case LikertScale():
            steps = [int(value) for value in values]
            return dict(zip(scale.criteria, steps, strict=True)) if scale.criteria else steps[0]
        case BinaryScale():
            return values[0] == 1
        case RankingScale():
            groups = _letters_by_rank(values)
            return [group[0] if len(group) == 1 else group for group in groups]
        case _:
            assert_never(scale)


def rating_words(scale: RatingScale, values: Values) -> str:
    """A rating for people: `4 (Good)`, `accurate 4, complete 5`, `Pass`, `B > A = C`."""
    match scale:
        case LikertScale():
            if scale.criteria:
                return ", ".join(f"{n} {int(v)}" for n, v in zip(scale.criteria, values, strict=True))
            label = scale.labels.get(str(int(values[0])))
            return f"{int(values[0])} ({label})" if label else str(int(values[0]))
        case BinaryScale():
            return scale.label(values[0] == 1)
        case RankingScale():
            return " > ".join(" = ".join(group) for group in _letters_by_rank(values))
        case _:
            assert_never(scale)


def rating_form(scale: RatingScale, n_answers: int = 1) -> str:
    """What to type: `1 to 5`, `Pass or Fail`, `the letters A to C, best first`."""
    match scale:
        case LikertScale():
            each = f"{scale.low} to {scale.high}"
            return f"{each} for each of {len(scale.criteria)} criteria: 4,5,…" if scale.criteria else each
        case BinaryScale():
            return f"{scale.label(True)} or {scale.label(False)}"
        case RankingScale():
            tie = ", = for a tie" if scale.tie_allowed else ""
            return f"the letters A to {LETTERS[n_answers - 1]}, best first: B > A{tie}"
        case _:
            assert_never(scale)


def _read_likert(scale: LikertScale, said: Any) -> Values:
    if not scale.criteria:
        return (_step(scale, said),)
    if isinstance(said, Mapping):
        return _by_criterion(scale, said)
    parts = re.split(r"[,;\s]+", said.strip()) if isinstance(said, str) else said
    if not isinstance(parts, Sequence) or len(parts) != len(scale.criteria):
        raise ValueError(f"not one rating for each criterion; give {rating_form(scale)}")
    return tuple(_step(scale, part) for part in parts)


def _by_criterion(scale: LikertScale, said: Mapping[Any, Any]) -> Values:
    """Criteria by their words or their number, each once."""
    names = {name.casefold(): place for place, name in enumerate(scale.criteria)}
    numbers = {str(place + 1): place for place in range(len(scale.criteria))}
    found: dict[int, float] = {}
    for key, value in said.items():
        place = names.get(str(key).strip().casefold(), numbers.get(str(key).strip()))
        if place is None or place in found:
            wrong = "unknown criterion" if place is None else "two ratings of criterion"
            raise ValueError(f"{wrong} {str(key)[:60]!r}; name each once, by its words or its number")
        found[place] = _step(scale, value)
    if missing := [name for place, name in enumerate(scale.criteria) if place not in found]:
        raise ValueError(f"no rating of {missing[0]!r}; give {rating_form(scale)}")
    return tuple(found[place] for place in sorted(found))


def _step(scale: LikertScale, said: Any) -> float:
    text = str(said).strip().casefold()
    labels = {label.strip().casefold(): step for step, label in scale.labels.items()}
    if isinstance(said, float) and said.is_integer():
        text = str(int(said))
    step = labels.get(text, text)
    if isinstance(said, bool) or step not in scale.steps:
        raise ValueError(f"{str(said)[:40]!r} is not on the scale; write {scale.low} to {scale.high}")
    return float(step)


def _read_side(scale: BinaryScale, said: Any) -> bool:
    word = str(said).strip().casefold()
    words = _SIDES | {option.label.strip().casefold(): option.value for option in scale.options}
    if isinstance(said, float) or word not in words:
        raise ValueError(f"{str(said)[:40]!r} is neither side; write {rating_form(scale)}")
    return words[word]


def _read_ranking(scale: RankingScale, said: Any, n_answers: int) -> Values:
    groups = _groups(said) if isinstance(said, str) else _listed(said)
    letters = [letter for group in groups for letter in group]
    if sorted(letters) != list(LETTERS[:n_answers]):
        raise ValueError(f"not every answer once; write {rating_form(scale, n_answers)}")
    if not scale.tie_allowed and len(groups) < len(letters):
        raise ValueError("a tie, and the scale allows none; put one of them first")
    return mid_ranks([[LETTERS.index(letter) for letter in group] for group in groups], n_answers)


def _groups(text: str) -> list[list[str]]:
    """`B > A = C`, `B A C` or `BAC`: answers best first, = between tied ones."""
    if not _RANKING.fullmatch(text):
        return []
    groups: list[list[str]] = []
    is_tied = False
    for sign in re.findall(r"[A-Z=]", text.upper()):
        if sign == "=":
            is_tied = True
        elif is_tied:
            groups[-1].append(sign)
            is_tied = False
        else:
            groups.append([sign])
    return groups


def _listed(said: Any) -> list[list[str]]:
    """Letters in a list, tied ones in a list of their own."""
    entries = said if isinstance(said, list | tuple) else []
    groups = [entry if isinstance(entry, list | tuple) else [entry] for entry in entries]
    return [[str(letter).strip().upper() for letter in group] for group in groups]


def _letters_by_rank(values: Values) -> list[list[str]]:
    ranks = sorted(set(values))
    return [[LETTERS[at] for at, value in enumerate(values) if value == rank] for rank in ranks]


WAITS = "waits for review"


@dataclass(frozen=True)
class ReviewDecision:
    """Where the review of an item stands.

    `decided`: `marks` has one mark per answer. `pending`: more reviews are wanted. `undecidable`: people
    disagree and no more of them may be asked, or there is nothing to rank; an adjudicator has to decide.
    """

    state: Literal["pending", "decided", "undecidable"]
    reason: str
    marks: tuple[Mark, ...] = ()
    agreement: float | None = None
    ratings: tuple[Values, ...] = ()


def decide(
    grader: Human, ratings: Sequence[Values], *, n_answers: int = 1, adjudicated: Values | None = None
) -> ReviewDecision:
    """What the ratings of an item come to; in which order they came does not matter."""
    given = tuple(sorted(ratings))
    agreement = agreement_of(grader.rating_scale, given)
    if adjudicated is not None:
        marks = marks_of(grader.rating_scale, [adjudicated])
        return ReviewDecision("decided", "adjudicated", marks, agreement, (*given, adjudicated))
    if lack := _nothing_to_rank(grader.rating_scale, n_answers):
        return ReviewDecision("undecidable", lack, (), agreement, given)
    terms, n = grader.evaluators, len(given)
    if n < terms.min_required:
        reason = f"{WAITS}: {n} of {terms.min_required} reviews" if n else WAITS
        return ReviewDecision("pending", reason, (), agreement, given)
    assert agreement is not None, "there is a rating"
    marks, dispute = marks_of(grader.rating_scale, given), _dispute(grader, given, agreement)
    if dispute is None:
        return ReviewDecision("decided", "decided", marks, agreement, given)
    if n < terms.max_allowed:
        return ReviewDecision(
            "pending", f"{WAITS}: {dispute}, one more review is wanted", (), agreement, given
        )
    return ReviewDecision("undecidable", f"disagreement: {dispute}; adjudicate", (), agreement, given)


def grade_of(name: str, grader: Human, standing: ReviewDecision, place: int) -> Grade:
    """The grade of the answer at this place of the item, as it is stored."""
    details: dict[str, Any] = {}
    if standing.ratings:
        scale = grader.rating_scale
        details = {
            "reviews": len(standing.ratings),
            "agreement": None if standing.agreement is None else round(standing.agreement, 4),
            "ratings": [rating_json(scale, rating) for rating in standing.ratings],
        }
    is_pending = standing.state == "pending"
    if standing.state != "decided":
        unmarked = (name, None, None, standing.reason, grader.required, grader.weight, grader.type)
        return Grade(*unmarked, pending=is_pending, details=details)
    mark = standing.marks[place].negated() if grader.negate else standing.marks[place]
    reason = f"adjudicated: {mark.reason}" if standing.reason == "adjudicated" else mark.reason
    marked = (name, mark.passed, mark.score, reason, grader.required, grader.weight, grader.type)
    return Grade(*marked, details=details)


def agreement_of(scale: RatingScale, ratings: Sequence[Values]) -> float | None:
    """How far those who rated one item agree, from 0 to 1; one alone agrees; None without a rating.

    Binary: the share of pairs on the same side. Likert: 1 less the mean distance of two ratings, as a share
    of the scale. Ranking: the mean rank correlation of two rankings, 0 where it is negative.
    """
    if len(ratings) < 2:
        return 1.0 if ratings else None
    pairs = combinations(ratings, 2)
    match scale:
        case LikertScale():
            return fmean(1 - _distance(a, b) / (scale.high - scale.low) for a, b in pairs)
        case BinaryScale():
            return fmean(1 - _distance(a, b) for a, b in pairs)
        case RankingScale():
            return max(0.0, fmean(rank_correlation(a, b) for a, b in pairs))
        case _:
            assert_never(scale)


def marks_of(scale: RatingScale, ratings: Sequence[Values]) -> tuple[Mark, ...]:
    """The mark of each answer by the mean rating, the majority, or the mean rank."""
    match scale:
        case LikertScale():
            return (_likert_mark(scale, ratings),)
        case BinaryScale():
            return (_binary_mark(scale, ratings),)
        case RankingScale():
            return _ranking_marks(scale, ratings)
        case _:
            assert_never(scale)


def human_grader(task: TaskConfig, case: EvalCase, name: str) -> Human:
    """The grader of that name, which asks people."""
    grader = dict(named_graders(task, case))[name]
    assert isinstance(grader, Human)
    return grader


def refuse_unrankable(task: TaskConfig, cases: Sequence[EvalCase], n_judges: int) -> None:
    """Refuse a ranking of more or fewer judges than its scale takes, before anything is paid for."""
    for case in cases:
        for name, grader in named_graders(task, case):
            lack = _nothing_to_rank(grader.rating_scale, n_judges) if isinstance(grader, Human) else None
            if lack:
                remedy = "name other judges, or change min_items and max_items of its rating_scale"
                raise InputError(Problem(f"grader {name!r} of task {task.name!r}: {lack}", remedy))


def _nothing_to_rank(scale: RatingScale, n_answers: int) -> str | None:
    if not isinstance(scale, RankingScale) or scale.min_items <= n_answers <= scale.max_items:
        return None
    bound = f"at least {scale.min_items}" if n_answers < scale.min_items else f"at most {scale.max_items}"
    return f"{n_answers} answer{'' if n_answers == 1 else 's'} to rank, {bound} can be ranked"


def _dispute(grader: Human, ratings: Sequence[Values], agreement: float) -> str | None:
    """Why ratings enough in number do not decide; None when they do."""
    threshold = grader.evaluators.agreement_threshold
    if round(agreement, 9) < threshold:
        return f"agreement {agreement:.2f} is below {threshold:g}"
    return "reviewers are evenly split" if _is_split(grader.rating_scale, ratings) else None


def _is_split(scale: RatingScale, ratings: Sequence[Values]) -> bool:
    """Whether both sides have as many, or a tie that nobody may give falls on the rank that passes."""
    if isinstance(scale, BinaryScale):
        return 2 * sum(rating[0] for rating in ratings) == len(ratings)
    if isinstance(scale, RankingScale) and not scale.tie_allowed:
        return sum(mark.passed for mark in marks_of(scale, ratings)) > scale.pass_rank
    return False


def _distance(a: Values, b: Values) -> float:
    return fmean(abs(x - y) for x, y in zip(a, b, strict=True))


def _likert_mark(scale: LikertScale, ratings: Sequence[Values]) -> Mark:
    mean = fmean(value for rating in ratings for value in rating)
    passed = round(mean, 9) >= scale.passes_at
    reason = f"mean {mean:.4g} of {_reviews(len(ratings))}, {scale.passes_at:g} passes"
    return Mark(passed, (mean - scale.low) / (scale.high - scale.low), reason)


def _binary_mark(scale: BinaryScale, ratings: Sequence[Values]) -> Mark:
    ayes, n = sum(rating[0] == 1 for rating in ratings), len(ratings)
    passed = 2 * ayes > n
    said = ayes if passed else n - ayes
    return Mark(passed, ayes / n, f"{said} of {_reviews(n)} say {scale.label(passed)}")


def _ranking_marks(scale: RankingScale, ratings: Sequence[Values]) -> tuple[Mark, ...]:
    """The best mean rank is 1, the worst 0; as many pass as have no more than pass_rank - 1 before them."""
    means = [round(fmean(ranks), 9) for ranks in zip(*ratings, strict=True)]
    n = len(means)
    marks = []
    for mean in means:
        rank = 1 + sum(other < mean for other in means)
        reason = f"rank {rank} of {n} answers (mean {mean:.4g} of {_reviews(len(ratings))})"
        score = (n - mean) / (n - 1) if n > 1 else 1.0
        marks.append(Mark(rank <= scale.pass_rank, score, reason))
    return tuple(marks)


def _reviews(n: int) -> str:
    return f"{n} review{'' if n == 1 else 's'}"
