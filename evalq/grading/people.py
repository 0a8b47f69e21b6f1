"""Ratings by people: reading and showing them, and deciding an item's marks by them."""

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
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
"""A rating as numbers: likert and binary from low to high, for a ranking the rank of each answer."""

LETTERS = string.ascii_uppercase
WAITS = "waits for review"

_SIDES = {
    **dict.fromkeys(("true", "yes", "y", "pass", "passed", "p", "1", "valid"), True),
    **dict.fromkeys(("false", "no", "n", "fail", "failed", "f", "0", "invalid"), False),
}
_RANKING = re.compile(r"[\s,;>]*[A-Za-z](?:[\s,;>=]*[A-Za-z])*\s*")


def read_rating(scale: RatingScale, given: Any, *, n_answers: int = 1) -> Values:
    """The numbers of a rating, given as JSON or as typed text; ValueError: `what; what to write`."""
    match scale:
        case LikertScale():
            return _read_likert(scale, given)
        case BinaryScale():
            return (float(_read_side(scale, given)),)
        case RankingScale():
            return _read_ranking(scale, given, n_answers)
        case _:
            assert_never(scale)


def rating_json(scale: RatingScale, values: Values) -> Any:
    """A rating as canonical JSON: 4, {criterion: 4}, true, ["B", ["A", "C"]]."""
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
    """A rating as text: `4 (Good)`, `accurate 4, complete 5`, `Pass`, `B > A = C`."""
    match scale:
        case LikertScale():
            if scale.criteria:
                rated = zip(scale.criteria, values, strict=True)
                return ", ".join(f"{name} {int(value)}" for name, value in rated)
            step = str(int(values[0]))
            label = scale.labels.get(step)
            return f"{step} ({label})" if label else step
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


def _read_likert(scale: LikertScale, given: Any) -> Values:
    if not scale.criteria:
        return (_read_step(scale, given),)
    if isinstance(given, Mapping):
        return _read_by_criterion(scale, given)
    parts = re.split(r"[,;\s]+", given.strip()) if isinstance(given, str) else given
    if not isinstance(parts, Sequence) or len(parts) != len(scale.criteria):
        raise ValueError(f"not one rating for each criterion; give {rating_form(scale)}")
    return tuple(_read_step(scale, part) for part in parts)


def _read_by_criterion(scale: LikertScale, given: Mapping[Any, Any]) -> Values:
    """Criteria by name or number, each once."""
    places = {str(number): number - 1 for number in range(1, len(scale.criteria) + 1)}
    places |= {name.casefold(): place for place, name in enumerate(scale.criteria)}
    found: dict[int, float] = {}
    for key, value in given.items():
        place = places.get(str(key).strip().casefold())
        if place is None or place in found:
            wrong = "unknown criterion" if place is None else "two ratings of criterion"
            raise ValueError(f"{wrong} {str(key)[:60]!r}; name each once, by its words or its number")
        found[place] = _read_step(scale, value)
    for place, name in enumerate(scale.criteria):
        if place not in found:
            raise ValueError(f"no rating of {name!r}; give {rating_form(scale)}")
    return tuple(found[place] for place in sorted(found))


def _read_step(scale: LikertScale, given: Any) -> float:
    text = str(given).strip().casefold()
    if isinstance(given, float) and given.is_integer():
        text = str(int(given))
    labels = {label.strip().casefold(): step for step, label in scale.labels.items()}
    step = labels.get(text, text)
    if isinstance(given, bool) or step not in scale.steps:
        raise ValueError(f"{str(given)[:40]!r} is not on the scale; write {scale.low} to {scale.high}")
    return float(step)


def _read_side(scale: BinaryScale, given: Any) -> bool:
    word = str(given).strip().casefold()
    words = _SIDES | {option.label.strip().casefold(): option.value for option in scale.options}
    if isinstance(given, float) or word not in words:
        raise ValueError(f"{str(given)[:40]!r} is neither side; write {rating_form(scale)}")
    return words[word]


def _read_ranking(scale: RankingScale, given: Any, n_answers: int) -> Values:
    groups = _parse_ranking(given) if isinstance(given, str) else _read_letter_lists(given)
    letters = list(chain.from_iterable(groups))
    if sorted(letters) != list(LETTERS[:n_answers]):
        raise ValueError(f"not every answer once; write {rating_form(scale, n_answers)}")
    if not scale.tie_allowed and len(groups) < len(letters):
        raise ValueError("a tie, and the scale allows none; put one of them first")
    return mid_ranks([[LETTERS.index(letter) for letter in group] for group in groups], n_answers)


def _parse_ranking(text: str) -> list[list[str]]:
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


def _read_letter_lists(given: Any) -> list[list[str]]:
    """Letters in a list, tied ones in a list of their own."""
    groups: list[list[str]] = []
    if isinstance(given, list | tuple):
        for entry in given:
            tied = entry if isinstance(entry, list | tuple) else [entry]
            groups.append([str(letter).strip().upper() for letter in tied])
    return groups


def _letters_by_rank(values: Values) -> list[list[str]]:
    by_rank: dict[float, list[str]] = {}
    for letter, rank in zip(LETTERS, values, strict=False):
        by_rank.setdefault(rank, []).append(letter)
    return [by_rank[rank] for rank in sorted(by_rank)]


@dataclass(frozen=True)
class ReviewDecision:
    """What the ratings of an item decide.

    `decided`: `marks` has one mark per answer. `pending`: more reviews are needed. `undecidable`: the
    reviewers disagree and no more may be asked, or there is nothing to rank; an adjudicator must decide.
    """

    state: Literal["pending", "decided", "undecidable"]
    reason: str
    marks: tuple[Mark, ...] = ()
    agreement: float | None = None
    ratings: tuple[Values, ...] = ()


def decide(
    grader: Human, ratings: Sequence[Values], *, n_answers: int = 1, adjudicated: Values | None = None
) -> ReviewDecision:
    """Decide an item by its ratings, whatever their order, or by an adjudicator."""
    given = tuple(sorted(ratings))
    agreement = agreement_of(grader.rating_scale, given)
    if adjudicated is not None:
        marks = marks_of(grader.rating_scale, [adjudicated])
        return ReviewDecision("decided", "adjudicated", marks, agreement, (*given, adjudicated))
    lack = _nothing_to_rank(grader.rating_scale, n_answers)
    if lack:
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


def grade_of(name: str, grader: Human, decision: ReviewDecision, place: int) -> Grade:
    """The grade of the answer at this position of the item."""
    details: dict[str, Any] = {}
    if decision.ratings:
        scale = grader.rating_scale
        details = {
            "reviews": len(decision.ratings),
            "agreement": None if decision.agreement is None else round(decision.agreement, 4),
            "ratings": [rating_json(scale, rating) for rating in decision.ratings],
        }
    grade = Grade(
        name,
        None,
        None,
        decision.reason,
        grader.required,
        grader.weight,
        grader.type,
        pending=decision.state == "pending",
        details=details,
    )
    if decision.state != "decided":
        return grade
    mark = decision.marks[place]
    if grader.negate:
        mark = mark.negated()
    reason = f"adjudicated: {mark.reason}" if decision.reason == "adjudicated" else mark.reason
    return replace(grade, passed=mark.passed, score=mark.score, reason=reason)


def agreement_of(scale: RatingScale, ratings: Sequence[Values]) -> float | None:
    """How far the raters of one item agree, from 0 to 1; 1 for a single rating, None without any.

    Binary: the share of pairs on the same side. Likert: 1 minus the mean distance of two ratings, as a share
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
    """The human grader of that name."""
    grader = dict(named_graders(task, case))[name]
    assert isinstance(grader, Human)
    return grader


def refuse_unrankable(task: TaskConfig, cases: Sequence[EvalCase], n_judges: int) -> None:
    """Refuse a ranking of more or fewer judges than its scale allows, before anything is paid for."""
    for case in cases:
        for name, grader in named_graders(task, case):
            if not isinstance(grader, Human):
                continue
            lack = _nothing_to_rank(grader.rating_scale, n_judges)
            if lack:
                remedy = "name other judges, or change min_items and max_items of its rating_scale"
                raise InputError(Problem(f"grader {name!r} of task {task.name!r}: {lack}", remedy))


def _nothing_to_rank(scale: RatingScale, n_answers: int) -> str | None:
    if not isinstance(scale, RankingScale) or scale.min_items <= n_answers <= scale.max_items:
        return None
    bound = f"at least {scale.min_items}" if n_answers < scale.min_items else f"at most {scale.max_items}"
    answers = "1 answer" if n_answers == 1 else f"{n_answers} answers"
    return f"{answers} to rank, {bound} can be ranked"


def _dispute(grader: Human, ratings: Sequence[Values], agreement: float) -> str | None:
    """Why enough ratings still do not decide; None if they do."""
    threshold = grader.evaluators.agreement_threshold
    if round(agreement, 9) < threshold:
        return f"agreement {agreement:.2f} is below {threshold:g}"
    return "reviewers are evenly split" if _is_split(grader.rating_scale, ratings) else None


def _is_split(scale: RatingScale, ratings: Sequence[Values]) -> bool:
    """Whether both sides are equal in number, or a tie on the passing rank cannot be broken."""
    if isinstance(scale, BinaryScale):
        return 2 * sum(rating[0] for rating in ratings) == len(ratings)
    if isinstance(scale, RankingScale) and not scale.tie_allowed:
        return sum(mark.passed for mark in marks_of(scale, ratings)) > scale.pass_rank
    return False


def _distance(a: Values, b: Values) -> float:
    return fmean(abs(x - y) for x, y in zip(a, b, strict=True))


def _likert_mark(scale: LikertScale, ratings: Sequence[Values]) -> Mark:
    mean = fmean(chain.from_iterable(ratings))
    passed = round(mean, 9) >= scale.passes_at
    reason = f"mean {mean:.4g} of {_count_reviews(len(ratings))}, {scale.passes_at:g} passes"
    return Mark(passed, (mean - scale.low) / (scale.high - scale.low), reason)


def _binary_mark(scale: BinaryScale, ratings: Sequence[Values]) -> Mark:
    ayes, n = sum(rating[0] == 1 for rating in ratings), len(ratings)
    passed = 2 * ayes > n
    majority = ayes if passed else n - ayes
    return Mark(passed, ayes / n, f"{majority} of {_count_reviews(n)} say {scale.label(passed)}")


def _ranking_marks(scale: RankingScale, ratings: Sequence[Values]) -> tuple[Mark, ...]:
    """Scores fall from 1 for mean rank 1 to 0 for the last; an answer passes up to rank pass_rank."""
    means = [round(fmean(ranks), 9) for ranks in zip(*ratings, strict=True)]
    n = len(means)
    marks = []
    for mean in means:
        rank = 1 + sum(other < mean for other in means)
        reason = f"rank {rank} of {n} answers (mean {mean:.4g} of {_count_reviews(len(ratings))})"
        score = (n - mean) / (n - 1) if n > 1 else 1.0
        marks.append(Mark(rank <= scale.pass_rank, score, reason))
    return tuple(marks)


def _count_reviews(n: int) -> str:
    return "1 review" if n == 1 else f"{n} reviews"
