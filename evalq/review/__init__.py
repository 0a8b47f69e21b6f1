"""Review by people: an item at a time into their hands, what they say into grades, outcomes and rows."""

from evalq.review.files import export_items, import_ratings
from evalq.review.items import ItemView, Offer, next_item, open_items
from evalq.review.ratings import Declination, Given, Rated, Undone, decline, rate, undo
from evalq.review.status import ReviewStatus, status

__all__ = [
    "Declination",
    "Given",
    "ItemView",
    "Offer",
    "Rated",
    "ReviewStatus",
    "Undone",
    "decline",
    "export_items",
    "import_ratings",
    "next_item",
    "open_items",
    "rate",
    "status",
    "undo",
]
