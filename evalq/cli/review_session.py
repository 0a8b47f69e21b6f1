"""Review at the terminal: show an item, ask for a rating, until nothing is left or the reviewer quits."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from evalq.errors import InputError, Refused
from evalq.reports.text import clean
from evalq.review import Given, Offer, decline, next_item, rate, undo
from evalq.review.files import KEYS, item_text, rated_text
from evalq.store.database import Database
from evalq.store.reviews import Declined


@dataclass(frozen=True)
class ReviewScope:
    """Who reviews what: one bake-off or all, one grader or all, open items or disputed ones."""

    reviewer: str
    bakeoff_id: int | None = None
    grader: str | None = None
    adjudicates: bool = False

    def offer(self, db: Database) -> Offer:
        """The next item."""
        return next_item(db, self.bakeoff_id, self.reviewer, grader=self.grader, adjudicates=self.adjudicates)


@dataclass
class ReviewSession:
    """One review session: `ask` prints a question and returns the typed answer, `say` prints a text."""

    db: Database
    scope: ReviewScope
    ask: Callable[[str], str]
    say: Callable[[str], None]
    rated: int = 0
    comment: str = ""

    def run(self) -> int:
        """Show items until nothing is left or the reviewer quits; return the number of ratings."""
        while True:
            offer = self.scope.offer(self.db)
            if offer.item is None:
                self.say(f"nothing is left for {self.scope.reviewer}")
                return self.rated
            self.say(item_text(offer.item, offer))
            self.comment = ""
            if not self._rate_or_skip(offer.item.item, offer.item.form):
                return self.rated

    def _rate_or_skip(self, item: str, form: str) -> bool:
        """Ask until the item is rated, skipped or replaced by another; False when the reviewer quits."""
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
                    return self._decline(item, "unsure")
                case "!":
                    return self._decline(item, "broken")
                case _:
                    act = self._take_back if typed.lower() == "u" else partial(self._rate, item, typed)
                    if self._try(act):
                        return True

    def _try(self, act: Callable[[], str]) -> bool:
        """Do it and print the result; False when the reviewer typed something wrong."""
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

    def _decline(self, item: str, why: Declined) -> bool:
        """Leave the item to others; False for an adjudicator, who would only be offered it again."""
        if self.scope.adjudicates:
            return False
        reason = self.comment or self.ask("why (Enter: no reason)").strip()
        decline(self.db, self.scope.reviewer, item, why=why, comment=reason)
        return True
