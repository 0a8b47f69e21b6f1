"""Filters and cursors in an address: what no page has given out is refused."""

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from evalq.web.case_list import read_cursor, read_show


def request(query: str) -> Request:
    return Request({"type": "http", "query_string": query.encode(), "headers": []})


@pytest.mark.parametrize(("query", "cursor"), [("", None), ("after=0", 0), ("after=2147483646", 2**31 - 2)])
def test_a_cursor_is_a_place_in_the_list(query: str, cursor: int | None) -> None:
    assert read_cursor(request(query), "after") == cursor


@pytest.mark.parametrize(
    "text", ["", "-1", "1.5", "%EF%BC%91", "2147483647", "9" * 4000, "0x1", "1_0", "+1", "NaN"]
)
def test_another_cursor_is_refused(text: str) -> None:
    with pytest.raises(HTTPException) as caught:
        read_cursor(request(f"after={text}"), "after")
    assert caught.value.status_code == 400


def test_a_filter_is_one_that_pages_offer() -> None:
    assert read_show(request("")) == "all"
    assert read_show(request("filter=flipped")) == "flipped"
    with pytest.raises(HTTPException, match="filter is one of all, disagree"):
        read_show(request("filter=ALL"))
