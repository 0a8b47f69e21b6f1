"""Reports of suite runs as files: the JSON Schema we ship for them, and whether a document holds to it."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from evalq.definitions.located import Located
from evalq.errors import Problem

MOST_SHOWN = 10

_SCHEMA_FILE = Path(__file__).parents[1] / "reports" / "suite_report.schema.json"


@cache
def schema_text() -> str:
    """The schema as it is shipped."""
    return _SCHEMA_FILE.read_text("utf-8")


def report_schema() -> dict[str, Any]:
    """The JSON Schema of a report, draft 2020-12."""
    schema: dict[str, Any] = json.loads(schema_text())
    return schema


def report_problems(located: Located) -> list[Problem]:
    """Where a document is no report of a suite run; empty when it is one."""
    from jsonschema import Draft202012Validator

    found = sorted(Draft202012Validator(report_schema()).iter_errors(located.value), key=str)
    return [
        located.problem(tuple(error.absolute_path), f"no report of a suite run: {error.message[:200]}")
        for error in found[:MOST_SHOWN]
    ]
