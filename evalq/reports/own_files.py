"""Tells whether a file is a report that evalq wrote, which the next one may replace."""

from evalq.definitions.ownership import is_own_document
from evalq.reports.answer_table import COLUMNS
from evalq.reports.html_page import is_own_page
from evalq.reports.report_parts import OWN_COMMENT


def is_own_report(text: str) -> bool:
    """True for our page, Markdown, XML, table or document; a Parquet file is never text, so never ours."""
    if is_own_page(text) or OWN_COMMENT in text[:200] or is_own_document(text):
        return True
    return text.startswith(",".join(COLUMNS))
