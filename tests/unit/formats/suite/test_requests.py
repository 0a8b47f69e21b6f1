"""Requests and placeholders as eval files write them."""

from typing import Any

import pytest

from evalq.definitions.template import fill_placeholders, find_placeholders, read_variables, variable_of
from evalq.formats.suite.requests import check_base_url, is_request, read_request


@pytest.mark.parametrize(
    "written",
    [
        {"method": "get", "endpoint": "/a"},
        {"path": "/a"},
        {"url": "/a", "method": "GET"},
        "GET /a",
        "/a",
    ],
)
def test_a_request_is_written_in_several_ways(written: Any) -> None:
    request, base_url = read_request(written)
    assert (request.method, request.path, base_url) == ("GET", "/a", None)


def test_a_whole_address_is_base_and_path() -> None:
    request, base_url = read_request({"url": "https://api.example.org/v1/users?page=1", "json": {"a": 1}})
    assert (request.path, base_url, request.body) == ("/v1/users?page=1", "https://api.example.org", {"a": 1})


def test_a_request_can_be_read_as_text() -> None:
    request, _ = read_request(
        {"method": "POST", "path": "/a", "headers": {"X": 1}, "query": {"p": 2}, "body": {"b": 1}}
    )
    assert request.text() == 'POST /a?{"p": 2}\nX: 1\n\n{"b": 1}'


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (7, "a request is a mapping"),
        ({"path": "/a", "verb": "GET"}, "unknown key 'verb'"),
        ({"path": "a"}, "begins with /"),
        ({"path": "/a\\b"}, "begins with /"),
        ({"path": "/a\nb"}, "begins with /"),
        ({"path": "/a", "headers": ["x"]}, "headers is not a mapping"),
        ({"path": "/a", "query": "x=1"}, "query is not a mapping"),
    ],
)
def test_an_invalid_request_is_refused(written: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_request(written)


def test_an_input_is_a_request_when_it_names_a_path() -> None:
    assert is_request({"endpoint": "/a"})
    assert not is_request({"method": "GET"})
    assert not is_request("GET /a")


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/", "https://api.example.org/v2", "http://localhost"])
def test_any_http_address_can_be_a_base_url(url: str) -> None:
    assert check_base_url(url) == url.rstrip("/")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://example.org", "not an http address"),
        ("file:///etc/passwd", "not an http address"),
        ("http://", "not an http address"),
        ("http://[::1", "is not an address"),
        ("http://a:99999999", "is not an address"),
        ("http://me:secret@example.org", "holds a password"),
        ("http://example.org?x=1", "more than a path"),
        ("http://169.254.169.254/latest", "link-local"),
        ("http://[fe80::1]/", "link-local"),
        ("http://2852039166/", "link-local"),
        ("http://0xa9fea9fe/", "link-local"),
        ("http://0251.0376.0251.0376/", "link-local"),
        ("http://169.254.43518/", "link-local"),
        ("http://0xa9.254.43518:80/", "link-local"),
        ("http://[::ffff:169.254.169.254]/", "link-local"),
    ],
)
def test_an_invalid_or_dangerous_base_url_is_refused(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check_base_url(url)


def test_placeholders_are_found_and_filled_whatever_their_case() -> None:
    written = {"a": "Bearer {{ TEST_Token }}", "b": ["{{other}}", 1], "c": "{{any_uuid}} {single}"}
    assert find_placeholders(written) == ["test_token", "other"]
    assert fill_placeholders(written, {"test_token": "t"}) == {
        "a": "Bearer t",
        "b": ["{{other}}", 1],
        "c": "{{any_uuid}} {single}",
    }


def test_values_come_from_the_environment_and_those_given_go_over_them() -> None:
    environ = {"EVALQ_VAR_TOKEN": "env", "EVALQ_VAR_URL": "u", "EVALQ_VAR_BLANK": " ", "OTHER": "x"}
    assert read_variables({"Token": "given"}, environ) == {"token": "given", "url": "u"}
    assert variable_of("test_token") == "EVALQ_VAR_TEST_TOKEN"
