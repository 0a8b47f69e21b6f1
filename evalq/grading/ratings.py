"""What a person says of an item, read into numbers: a step per criterion, a side, or a rank per answer."""

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from evalq.definitions.graders.human import BinaryScale, LikertScale, RankingScale, RatingScale
from evalq.stats.ranks import mid_ranks

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
