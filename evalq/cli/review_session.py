"""Reviewing at the terminal: an item is shown, a rating asked for, until nothing is left or one leaves."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from evalq.errors import InputError, Refused
from evalq.reports.text import clean
from evalq.review import Given, Offer, next_item, rate, undo
from evalq.review.files import KEYS, item_text, rated_text
from evalq.store.database import Database


@dataclass(frozen=True)
class Scope:
    """Whose review, and of what: one bake-off or all, one grader or all, open items or disputed ones."""

    reviewer: str
    bakeoff_id: int | None = None
    grader: str | None = None
    adjudicates: bool = False

    def offer(self, db: Database) -> Offer:
        """The next item."""
        return next_item(db, self.bakeoff_id, self.reviewer, grader=self.grader, adjudicates=self.adjudicates)


@dataclass
class Conversation:
    """One sitting. `ask` puts a question and returns what is typed, `say` shows a text."""

    db: Database
    scope: Scope
    ask: Callable[[str], str]
    say: Callable[[str], None]
    rated: int = 0
    comment: str = ""

    def run(self) -> int:
        """Go on until nothing is left or the reviewer leaves; how many ratings were given."""
        while True:
            offer = self.scope.offer(self.db)
            if offer.item is None:
                self.say(f"nothing is left for {self.scope.reviewer}")
                return self.rated
            self.say(item_text(offer.item, offer))
            self.comment = ""
            if not self._answered(offer.item.item, offer.item.form):
                return self.rated

    def _answered(self, item: str, form: str) -> bool:
        """Ask until the item is rated, skipped or another takes its place; False when the reviewer leaves."""
        while True:
            typed = self.ask(f"{form} (? for keys)").strip()
            match typed.lower():
                case "q":
                    return False
                case "?" | "":
                    self.say(KEYS)
                case "c":
                    self.comment = self.ask("comment")
                case "s":
                    return self._skipped(item)
                case _:
                    act = self._take_back if typed.lower() == "u" else partial(self._rate, item, typed)
                    if self._told(act):
                        return True

    def _told(self, act: Callable[[], str]) -> bool:
        """Do it and say what came of it; False when it was the reviewer's mistake."""
        try:
            self.say(act())
        except InputError as exc:
            self.say(clean(str(exc)))
            return False
        except Refused as exc:
            self.say(clean(str(exc)))
        return True

    def _rate(self, item: str, typed: str) -> str:
        given = Given(item, self.scope.reviewer, typed, self.comment, self.scope.adjudicates)
        text = rated_text(rate(self.db, given))
        self.rated += 1
        return text

    def _take_back(self) -> str:
        undone = undo(self.db, self.scope.reviewer, bakeoff_id=self.scope.bakeoff_id)
        self.rated = max(0, self.rated - 1)
        return f"{undone.item}: your rating is taken back"

    def _skipped(self, item: str) -> bool:
        """Leave it to somebody else; what an adjudicator does not decide stays disputed, so that ends it."""
        if self.scope.adjudicates:
            return False
        undo(self.db, self.scope.reviewer, item=item)
        return True
