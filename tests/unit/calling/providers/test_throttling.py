from datetime import UTC, datetime, timedelta

import pytest

from evalq.calling.providers.throttling import LONGEST_WAIT_S, read_rate_hints, read_wait_s
from evalq.records import RateHints


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Rate limit reached. Please try again in 4.2s. Visit the page.", 4.2),
        ("Please try again in 6m0s.", LONGEST_WAIT_S),
        ("Please try again in 120ms.", 0.12),
        ("Please try again in 1m30.5s", 90.5),
        ("You exceeded your quota. Please retry in 3.25s.", 3.25),
        ("Please retry after 7 seconds.", 7),
        ("try again in 2 minutes", 120),
        ("try again in 1e308", 1),
        ("try again later", None),
        ("", None),
    ],
)
def test_a_wait_is_read_from_the_providers_words(message: str, seconds: float | None) -> None:
    assert read_wait_s({}, [], message) == (None if seconds is None else pytest.approx(seconds))


def test_a_reset_counts_for_a_limit_of_which_nothing_remains() -> None:
    reset = {"x-ratelimit-reset-requests": "4s", "x-ratelimit-reset-tokens": "6m0s"}
    assert read_wait_s(reset | {"x-ratelimit-remaining-requests": "0"}) == 4
    assert read_wait_s(reset | {"x-ratelimit-remaining-tokens": "0"}) == 60
    assert read_wait_s(reset | {"x-ratelimit-remaining-requests": "3"}) is None
    assert read_wait_s(reset | {"x-ratelimit-remaining-requests": "0", "retry-after": "2"}) == 2


def test_a_reset_can_be_a_time() -> None:
    later = (datetime.now(UTC) + timedelta(seconds=30)).isoformat().replace("+00:00", "Z")
    names = {
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": later,
    }
    assert read_wait_s(names) == pytest.approx(30, abs=2)


def test_limits_are_read_where_headers_name_them() -> None:
    names = {"x-ratelimit-limit-requests": "600", "x-ratelimit-limit-tokens": "80000"}
    assert read_rate_hints(names) == RateHints(rpm=600, input_tpm=80000)
    assert read_rate_hints({"anthropic-ratelimit-output-tokens-limit": "5"}) == RateHints(output_tpm=5)
    for value in ("0", "-1", "many", "", "1e3", "9" * 5000, "²", "nan"):
        assert read_rate_hints({"x-ratelimit-limit-requests": value}) is None
    assert read_rate_hints({"x-ratelimit-limit-requests": "9" * 12}) == RateHints(rpm=10**9)
