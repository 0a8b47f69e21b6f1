"""A review item as a card: the buttons of its scale, and the key that presses each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from evalq.definitions.graders.human import BinaryScale, LikertScale, RankingScale
from evalq.review.items import ItemView

_ACTIONS = {"unsure": "s", "comment": "c", "undo": "u", "flag": "f", "guide": "g"}
_MOST_BUTTONS = 11

CardKind = Literal["buttons", "number", "criteria", "ranking"]


@dataclass(frozen=True)
class Choice:
    """A rating that one button gives: the value it sends, its words, its key as named and as printed."""

    value: str
    label: str
    key: str
    printed: str
    hint: str = ""


@dataclass(frozen=True)
class Key:
    """The key of an action, as the browser names it and as it is printed on the button."""

    key: str
    printed: str


@dataclass(frozen=True)
class Card:
    """An item with what its page needs to show it."""

    item: ItemView
    kind: CardKind
    choices: tuple[Choice, ...]
    keys: Mapping[str, Key]
    letters: str = ""
    ties: bool = False

    @property
    def is_pair(self) -> bool:
        """Whether two answers are compared side by side."""
        return isinstance(self.item.scale, RankingScale) and len(self.item.answers) == 2


def make_card(item: ItemView) -> Card:
    """The card of an item."""
    scale = item.scale
    letters = "".join(answer.letter for answer in item.answers)
    match scale:
        case BinaryScale():
            return Card(item, "buttons", _sides(scale), _keys(""))
        case LikertScale():
            kind: CardKind = "buttons" if len(scale.steps) <= _MOST_BUTTONS else "number"
            if scale.criteria:
                kind = "criteria" if kind == "buttons" else "ranking"
            return Card(item, kind, _steps(scale), _keys(""))
        case RankingScale():
            if len(letters) == 2:
                return Card(item, "buttons", _pair(scale), _keys(""))
            return Card(item, "ranking", (), _keys(letters), letters, scale.tie_allowed)
        case _:
            assert_never(scale)


def _sides(scale: BinaryScale) -> tuple[Choice, ...]:
    hints = {option.value: option.description for option in scale.options}
    return tuple(
        Choice(str(side).lower(), scale.label(side), key, key, hints.get(side, ""))
        for side, key in ((True, "1"), (False, "2"))
    )


def _steps(scale: LikertScale) -> tuple[Choice, ...]:
    choices = []
    for step in scale.steps:
        key = step if len(step) == 1 else ""
        choices.append(Choice(step, scale.labels.get(step, ""), key, step))
    return tuple(choices)


def _pair(scale: RankingScale) -> tuple[Choice, ...]:
    choices = [
        Choice("A > B", "A is better", "ArrowLeft", "←"),
        Choice("B > A", "B is better", "ArrowRight", "→"),
    ]
    if scale.tie_allowed:
        choices.insert(1, Choice("A = B", "Tie", "=", "="))
    return tuple(choices)


def _keys(letters: Sequence[str]) -> dict[str, Key]:
    """The key of each action; with Shift where the letter means an answer that is ranked."""
    keys = {}
    for action, letter in _ACTIONS.items():
        is_answer = letter.upper() in letters
        keys[action] = Key(letter.upper(), f"⇧{letter.upper()}") if is_answer else Key(letter, letter)
    return keys
