"""What the log says, and what is counted of it."""

from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import pytest

from evalq.bakeoff.holdout.chain import (
    History,
    Link,
    LogEntry,
    Score,
    entry_of,
    history_of,
    line_of,
    look_warning,
    next_link,
    read_line,
    result_entry,
)

FREEZE = LogEntry("freeze", "2026-11-01T10:00:00+00:00", "audit", "holdout-9", "a" * 64, "c" * 64)
LOOK = replace(
    FREEZE,
    kind="intent",
    at="2026-11-02T10:00:00+00:00",
    judges=("x", "y"),
    run_type="final-decision",
    bakeoff_uid="u1",
)
CHECK = replace(LOOK, run_type="drift_check", bakeoff_uid="u2")
RESULT = replace(LOOK, kind="result", state="concluded", runs=(Score("x", 9, 8, 0.8889),), spent_usd="0.1")


def links(*entries: LogEntry) -> list[Link]:
    made: list[Link] = []
    for entry in entries:
        made.append(next_link(entry.fields(), made[-1] if made else None))
    return made


def history(*entries: LogEntry) -> History:
    return history_of(links(*entries))


@pytest.mark.parametrize("entry", [FREEZE, LOOK, RESULT])
def test_an_entry_is_read_back_from_its_line_with_its_number(entry: LogEntry) -> None:
    (link,) = links(entry)
    assert entry_of(read_line(line_of(link)).fields) == replace(entry, seq=1)


def test_a_line_leaves_out_what_it_does_not_say_but_names_the_missing_commit() -> None:
    assert set(FREEZE.fields()) == {
        "kind", "at", "task", "eval_set", "set_sha256", "content_sha256", "git_sha", "seq",
    }  # fmt: skip


def test_what_a_newer_evalq_adds_is_passed_over_and_what_is_no_entry_too() -> None:
    newer = next_link({**FREEZE.fields(), "mood": "good"}, None)
    odd = next_link({"kind": "poem"}, newer)
    assert history_of([newer, odd]).entries == (replace(FREEZE, seq=1),)


def test_only_final_decisions_are_looks() -> None:
    log = history(FREEZE, LOOK, CHECK, RESULT, replace(LOOK, bakeoff_uid="u3"))
    assert [entry.bakeoff_uid for entry in log.looks("holdout-9")] == ["u1", "u3"]
    assert [entry.bakeoff_uid for entry in log.drift_checks("holdout-9")] == ["u2"]
    assert log.looks("holdout-1") == []
    assert log.drift_checks("holdout-1") == []


def test_the_same_cases_under_another_name_were_looked_at_all_the_same() -> None:
    assert len(history(LOOK).looks("holdout-copy", "c" * 64)) == 1
    assert history(LOOK).looks("holdout-copy", "d" * 64) == []


def test_the_bytes_that_count_are_those_of_the_newest_freeze_or_intent() -> None:
    changed = replace(FREEZE, set_sha256="b" * 64, reason="typo")
    log = history(FREEZE, LOOK, changed, RESULT)
    newest = log.last_hashed("holdout-9")
    assert newest is not None
    assert (newest.seq, newest.set_sha256) == (3, "b" * 64)
    assert log.last_hashed("holdout-1") is None


def test_a_result_is_found_by_its_bake_off() -> None:
    log = history(LOOK, CHECK, RESULT, replace(RESULT, spent_usd="0.2"))
    assert log.intent_of("u2") == replace(CHECK, seq=2)
    assert log.intent_of("u9") is None
    assert log.result_of("u1") == replace(RESULT, spent_usd="0.2", seq=4)
    assert log.result_of("u2") is None
    assert log.eval_sets == ["holdout-9"]


def test_the_first_look_is_not_warned_of_and_the_third_is_counted() -> None:
    assert look_warning("holdout-9", []) is None
    said = look_warning("holdout-9", [LOOK, LOOK])
    assert said is not None
    assert said.startswith(
        "this is look 3 at holdout-9 (before: 2026-11-02, 2026-11-02): the set loses value"
    )


def test_a_result_repeats_its_intent_and_adds_what_it_came_to() -> None:
    runs = [SimpleNamespace(judge="x", n_graded=9, n_pass=8, accuracy=0.8889)]
    result = SimpleNamespace(id=4, state="concluded", spent_usd=Decimal("0.1000"), runs=runs)
    entry = result_entry(LOOK, result, at=RESULT.at)  # type: ignore[arg-type]
    assert entry == replace(RESULT, bakeoff_id=4)
