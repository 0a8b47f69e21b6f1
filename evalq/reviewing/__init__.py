"""Review by people: an item at a time into their hands, what they say into grades, outcomes and rows."""

from evalq.reviewing.files import export_items, import_ratings
from evalq.reviewing.item import ItemView, Offer
from evalq.reviewing.offering import next_item, open_items
from evalq.reviewing.rating import Given, Rated, Undone, rate, undo
from evalq.reviewing.status import ReviewStatus, status

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
