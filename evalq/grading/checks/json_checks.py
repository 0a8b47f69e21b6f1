"""Marking an answer that is to be JSON."""

import json
from typing import Any

from evalq.definitions.graders.json_checks import IsJson, JsonPath, JsonSchema
from evalq.definitions.json_paths import parsed_json_path
from evalq.definitions.json_schemas import Schema
from evalq.grading.checks.answer import nothing_to_compare, text_of
from evalq.grading.comparators import equals
from evalq.grading.json_answers import mark_json, read_json, unfenced
from evalq.grading.search import Search
from evalq.grading.subject import Mark, Subject, mark
from evalq.grading.words import shown


def mark_is_json(grader: IsJson, subject: Subject) -> Mark:
    """Passed when the whole answer is one JSON value."""
    text = text_of(subject)
    try:
        read_json(unfenced(text) if grader.allow_fence else text)
    except ValueError as exc:
        return mark(False, f"not JSON: {exc}")
    return mark(True, "is JSON")


def mark_json_schema(grader: JsonSchema, subject: Subject) -> Mark:
    """Passed when the answer's JSON fits the schema."""
    schemas = grader.wanted(subject.expected)
    if not schemas:
        raise nothing_to_compare()
    return mark_json(text_of(subject), lambda value: _by_schemas(schemas, value))


def _by_schemas(schemas: list[Schema], value: Any) -> Mark:
    from evalq.grading.schemas import misfit  # the library behind it takes a while to load

    place, why = "", ""
    for schema in reversed(schemas):  # the first is told of when none fits
        found = misfit(schema, value)
        if found is None:
            return mark(True, "fits the schema")
        place, why = found
    return mark(False, f"{place}: {why}", path=place)


def mark_json_path(grader: JsonPath, subject: Subject) -> Mark:
    """Passed when a value at the path equals or matches one of the wanted."""
    if not grader.patterns() and not grader.wanted(subject.expected):
        raise nothing_to_compare()
    return mark_json(text_of(subject), lambda value: _at_path(grader, subject, value))


def _at_path(grader: JsonPath, subject: Subject, document: Any) -> Mark:
    found = [match.value for match in parsed_json_path(grader.path).find(document)]
    if not found:
        return mark(False, f"nothing at {grader.path}")
    verb = "matches" if grader.patterns() else "is as wanted"
    search = Search()
    fitting = [value for value in found if _fits(grader, subject, value, search)]
    if fitting:
        return mark(True, f"{grader.path} {verb}: {shown(fitting[0])}")
    return mark(False, f"{grader.path} is {', '.join(shown(value) for value in found[:3])}")


def _fits(grader: JsonPath, subject: Subject, value: Any, search: Search) -> bool:
    if not grader.patterns():
        return any(equals(value, wanted) for wanted in grader.wanted(subject.expected))
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return any(search.find(pattern, text, grader.flags) is not None for pattern in grader.patterns())
