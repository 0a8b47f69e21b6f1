"""Log lines: text for people, one JSON object a line for collectors."""

import json
import logging
import sys

import pytest

from workers.log_format import make_formatter


def record(message: str, *args: object, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("workers.jobs", logging.WARNING, __file__, 1, message, args, None)
    made.__dict__.update({"created": 1_700_000_000.25, "process": 42, **fields})
    return made


def test_a_json_line_has_time_level_logger_and_message() -> None:
    line = json.loads(make_formatter("json").format(record("run_id=%s: %s", 7, "paused")))
    assert line == {
        "time": "2023-11-14T22:13:20.250+00:00",
        "level": "WARNING",
        "logger": "workers.jobs",
        "message": "run_id=7: paused",
        "pid": 42,
    }


@pytest.mark.parametrize("text", ["a\nb", 'say "no"', "\u2028\u2029", "\x1b[2J\x00", "模型"])
def test_no_message_breaks_its_line(text: str) -> None:
    line = make_formatter("json").format(record("%s", text))
    assert len(line.splitlines()) == 1
    assert json.loads(line)["message"] == text


def test_a_traceback_is_one_field() -> None:
    try:
        raise ValueError("our bug")
    except ValueError:
        line = make_formatter("json").format(record("failed", exc_info=sys.exc_info()))
    assert json.loads(line)["exception"].endswith("ValueError: our bug")
    assert "\n" not in line


def test_text_stays_as_it_was() -> None:
    line = make_formatter("text").format(record("run_id=%s", 7))
    assert line.endswith("WARNING workers.jobs run_id=7")
