"""Review by people: an item at a time into their hands, what they say into grades, outcomes and rows."""

from evalq.review.files import export_items, import_ratings
from evalq.review.items import ItemView, Offer, next_item, open_items
from evalq.review.ratings import Given, Rated, Undone, rate, undo
from evalq.review.status import ReviewStatus, status

__all__ = [
    "Given",
    "ItemView",
    "Offer",
    "Rated",
    "ReviewStatus",
    "Undone",
    "export_items",
    "import_ratings",
    "next_item",
    "open_items",
    "rate",
    "status",
    "undo",
]
