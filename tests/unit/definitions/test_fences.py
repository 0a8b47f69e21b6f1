"""A code fence around a whole text comes off, and nothing else does."""

import pytest

from evalq.definitions.fences import unfence


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("```json\n[1]\n```", "[1]"),
        ("\n ```\n[1]\n```\n\n", "[1]"),
        ("```json  \r\n[1]\n  ```", "[1]"),
        ("```\n[1]```", "[1]"),
        ("```\n```", ""),
        ("```\n```` ```", "````"),
        ("```json\n\n\n[1]\n\n```", "\n\n[1]\n"),
    ],
)
def test_a_fence_around_all_of_the_text_comes_off(text: str, inside: str) -> None:
    assert unfence(text) == inside


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1]",
        "```",
        "```json",
        "```json\n",
        "```\n``",
        "see:\n```\n[1]\n```",
        "```a b\n[1]\n```",
        "``` \n",
    ],
)
def test_any_other_text_stays_as_it_is(text: str) -> None:
    assert unfence(text) == text


@pytest.mark.parametrize("filler", ["\n", " ", "\n ", "\t", "```", "```\n", "`", "a\n"])
@pytest.mark.parametrize("end", ["", "```", "\x00", "\n```x"])
def test_a_megabyte_after_the_fence_comes_to_an_end(filler: str, end: str) -> None:
    assert isinstance(unfence("```json\n" + filler * (1_000_000 // len(filler)) + end), str)
