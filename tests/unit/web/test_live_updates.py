"""Live updates: what changed is sent once, in messages that fit."""

import json

from evalq.web.live_updates import MAX_MESSAGE_BYTES, ChangedParts, format_message


def test_a_part_is_sent_once_and_again_when_it_changes() -> None:
    changed = ChangedParts()
    assert changed.pick({"head": "1", "row": "a"}) == {"head": "1", "row": "a"}
    assert changed.pick({"head": "1", "row": "a"}) == {}
    assert changed.pick({"head": "2", "row": "a"}) == {"head": "2"}


def test_what_does_not_fit_waits_for_the_next_message() -> None:
    changed, rows = ChangedParts(), {f"row-{number}": "x" * 1500 for number in range(5)}
    sent: list[str] = []
    for _ in range(5):
        chosen = changed.pick(rows)
        assert len(format_message(chosen)) <= MAX_MESSAGE_BYTES
        sent += chosen
    assert sent == list(rows)


def test_one_part_that_is_too_large_is_sent_alone_rather_than_never() -> None:
    changed = ChangedParts()
    large = {"large": "x" * MAX_MESSAGE_BYTES, "small": "y"}
    assert list(changed.pick(large)) == ["large"]
    assert list(changed.pick(large)) == ["small"]


def test_a_message_is_one_line_of_data_whatever_is_in_it() -> None:
    text = "a\nevent: redraw\ndata: {}\r\n\n\u2028é"
    message = format_message({"head": text})
    lines = message.split("\n")
    assert [line.partition(":")[0] for line in lines] == ["event", "data", "", ""]
    assert json.loads(lines[1].partition(": ")[2]) == {"head": text}
    assert format_message({}, "redraw").startswith("event: redraw\n")
