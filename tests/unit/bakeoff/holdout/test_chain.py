"""The hash chain: whatever is done to a line is found, with its line."""

import json
from collections.abc import Sequence
from hashlib import sha256

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evalq.bakeoff.holdout.chain import (
    GENESIS,
    Anchor,
    Break,
    Link,
    find_breaks,
    find_difference,
    line_of,
    next_link,
    parse_anchor,
    read_line,
    sound_links,
    split_lines,
)


def chain_of(texts: Sequence[str]) -> list[bytes]:
    links: list[Link] = []
    for text in texts:
        links.append(next_link({"kind": "intent", "text": text}, links[-1] if links else None))
    return [line_of(link) for link in links]


LOG = chain_of(["one", "zwei, größer", "ba\u2028\n", "four", "five"])

logs = st.lists(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=8
)


def found(lines: Sequence[bytes], anchor: Anchor | None = None) -> list[tuple[str, int]]:
    return [(one.kind, one.line) for one in find_breaks(lines, anchor)]


def rewritten(line: bytes, **changes: object) -> bytes:
    """The line with other words and a hash that fits them: what a forger would write."""
    fields = {**read_line(line).fields, **changes}
    del fields["hash"]
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    fields["hash"] = sha256(text.encode()).hexdigest()
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


@given(logs)
def test_a_log_nobody_touched_is_whole(texts: list[str]) -> None:
    lines = chain_of(texts)
    last = read_line(lines[-1])
    assert find_breaks(lines, Anchor(last.seq, last.hash)) == []
    assert split_lines(b"".join(lines)) == lines
    assert [link.fields["text"] for link in sound_links(lines)] == texts


def test_an_empty_log_is_whole() -> None:
    assert find_breaks([]) == []
    assert split_lines(b"") == []


def test_a_line_is_canonical_json_with_its_own_hash_and_the_one_before() -> None:
    first, second = (json.loads(line) for line in LOG[:2])
    assert (first["seq"], first["prev"], second["seq"], second["prev"]) == (1, GENESIS, 2, first["hash"])
    digest = first.pop("hash")
    text = json.dumps(first, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert digest == sha256(text.encode()).hexdigest()
    assert "größer".encode() in LOG[1]
    assert read_line(LOG[0]).head == f"1:{digest}"


@given(logs, st.data())
def test_any_byte_changed_is_found_at_its_line(texts: list[str], data: st.DataObject) -> None:
    whole = b"".join(chain_of(texts))
    at = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255))
    assume(whole[at] != byte)
    changed = whole[:at] + bytes([byte]) + whole[at + 1 :]
    kind, line = found(split_lines(changed))[0]
    assert (kind, line) == ("edit", whole[:at].count(b"\n") + 1)


@given(logs, st.data())
def test_a_removed_line_is_found_where_it_was(texts: list[str], data: st.DataObject) -> None:
    lines = chain_of([*texts, "last"])
    at = data.draw(st.integers(1, len(lines) - 1))
    assert found([*lines[: at - 1], *lines[at:]]) == [("deletion", at)]


@given(logs, st.data())
def test_two_lines_swapped_are_both_found(texts: list[str], data: st.DataObject) -> None:
    lines = chain_of(["first", *texts])
    a, b = sorted(data.draw(st.lists(st.integers(0, len(lines) - 1), min_size=2, max_size=2, unique=True)))
    lines[a], lines[b] = lines[b], lines[a]
    assert found(lines) == [("swap", a + 1), ("swap", b + 1)]


@given(logs, st.data())
def test_a_cut_end_is_found_against_an_anchor(texts: list[str], data: st.DataObject) -> None:
    lines = chain_of(texts)
    anchor = parse_anchor(read_line(lines[-1]).head)
    kept = data.draw(st.integers(0, len(lines) - 1))
    assert found(lines[:kept]) == []
    assert found(lines[:kept], anchor) == [("truncation", kept + 1)]


@given(logs, st.data())
def test_a_line_put_in_is_found_wherever_it_stands(texts: list[str], data: st.DataObject) -> None:
    lines = chain_of([*texts, "last"])
    copied = data.draw(st.integers(0, len(lines) - 1))
    at = data.draw(st.integers(copied + 1, len(lines)))
    assert found([*lines[:at], lines[copied], *lines[at:]]) == [("insertion", at + 1)]


def test_of_two_lines_for_one_place_the_forged_one_is_named() -> None:
    forged = rewritten(LOG[2], text="forged")
    assert found([*LOG[:2], forged, *LOG[2:]]) == [("insertion", 3)]
    assert find_breaks([*LOG[:3], forged, *LOG[3:]]) == [Break("insertion", 4, "says seq 3, as line 3 does")]


def test_a_line_written_anew_with_a_hash_that_fits_breaks_the_link_to_the_next() -> None:
    lines = [*LOG[:2], rewritten(LOG[2], text="forged"), *LOG[3:]]
    (one,) = find_breaks(lines)
    assert (one.kind, one.line) == ("edit", 4)
    assert "does not follow line 3" in one.found


def test_the_last_line_written_anew_is_found_against_an_anchor_only() -> None:
    lines = [*LOG[:4], rewritten(LOG[4], text="forged")]
    assert found(lines) == []
    assert found(lines, parse_anchor(read_line(LOG[4]).head)) == [("edit", 5)]


def test_a_log_whose_beginning_was_cut_off_is_found_out() -> None:
    assert found(LOG[2:]) == [("deletion", 1)]
    assert found([rewritten(LOG[0], prev="f" * 64)]) == [("edit", 1)]


def test_a_changed_line_is_not_counted_as_missing_too() -> None:
    assert found([LOG[0], b"{}\n", LOG[2]]) == [("edit", 2)]
    assert found([LOG[0], b"{}\n", LOG[3]]) == [("edit", 2), ("deletion", 3)]


def test_an_end_both_changed_and_cut_is_both() -> None:
    anchor = parse_anchor(read_line(LOG[4]).head)
    assert found([*LOG[:3], b"{}\n"], anchor) == [("edit", 4), ("truncation", 5)]
    assert found([*LOG[:4], b"{}\n"], anchor) == [("edit", 5)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"\n", "is not a JSON object"),
        (b"[1]\n", "is not written as evalq"),
        (b"[" * 100_000 + b"\n", "is not a JSON object"),
        (b'{"a":NaN}\n', "is not a JSON object"),
        (b'{"a": 1}\n', "is not written as evalq"),
        (b'{"a":1}\n', "has no number or no hash"),
        (b'{"hash":"x","prev":"y","seq":true}\n', "has no number or no hash"),
        (b'{"hash":"x","prev":"y","seq":1}\n', "its hash is not that of its text"),
        (LOG[0].rstrip(b"\n"), "cut off"),
    ],
)
def test_what_is_no_line_says_why(line: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_line(line)


@pytest.mark.parametrize("text", ["", "4", "4:", f"0:{'a' * 64}", f"-1:{'a' * 64}", f"1:{'A' * 64}", "x:y"])
def test_what_is_no_anchor_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not SEQ:HASH"):
        parse_anchor(text)


def test_the_file_and_the_database_are_compared_line_by_line() -> None:
    assert find_difference(LOG, LOG) is None
    assert find_difference([LOG[0], LOG[2]], LOG) == Break(
        "disagreement", 2, "is not the line that the database holds"
    )
    assert find_difference(LOG[:3], LOG) == Break(
        "truncation", 4, "is missing: the database also holds seq 4–5"
    )
    assert find_difference(LOG[:4], LOG) == Break(
        "truncation", 5, "is missing: the database also holds seq 5"
    )
    assert find_difference(LOG, LOG[:3]) == Break("disagreement", 4, "is not in the database")
