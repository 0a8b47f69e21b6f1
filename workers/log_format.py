"""The lines that processes of the fleet log: text for people, or one JSON object a line for collectors."""

import json
import logging
from datetime import UTC, datetime
from typing import Literal

_TEXT = "%(asctime)s %(levelname)s %(name)s %(message)s"


class JsonFormatter(logging.Formatter):
    """One object a line: time, level, logger, message, process, and the traceback of an exception."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON; no character of a message breaks the line."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "pid": record.process,
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def make_formatter(log_format: Literal["text", "json"]) -> logging.Formatter:
    """The formatter of a setting."""
    return JsonFormatter() if log_format == "json" else logging.Formatter(_TEXT)
