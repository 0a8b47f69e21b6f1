"""A bake-off in Python's hands prints its table, and hostile text in it stays inert."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from written_results import written_result

import evalq
from evalq.api.bakeoff_handle import BakeOff, Origin, find_library
from evalq.errors import InputError
from evalq.settings import Settings

HOSTILE = '<img src=x onerror="alert(1)">\x1b[31m\u202egnp'


def handle(judge: str = "grok-4.3@short") -> BakeOff:
    return BakeOff(written_result(judge), Origin(Settings(), Path()))


def test_print_shows_the_final_table_without_colours() -> None:
    text = str(handle())
    assert "bake-off 7  triage · dev" in text
    assert "grok-4.3@short" in text
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= 100


def test_its_name_in_the_interpreter_is_one_line() -> None:
    assert repr(handle()) == "<BakeOff 7: triage · dev · concluded, 2 judges>"


def test_a_notebook_shows_a_table_with_intervals() -> None:
    html = handle()._repr_html_()
    assert "<table>" in html
    assert "grok-4.3@short" in html
    assert "80.0%" in html
    assert "excluded" in html


def test_hostile_names_are_inert_in_a_notebook_and_on_the_terminal() -> None:
    hostile = replace(written_result(HOSTILE), task="<script>alert(1)</script>")
    baked = BakeOff(hostile, Origin(Settings(), Path()))
    html = baked._repr_html_()
    assert "<img" not in html
    assert "<script" not in html
    assert "\x1b" not in html + str(baked)
    assert "\u202e" not in html + str(baked)


def test_a_frame_is_made_by_pandas_or_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(DataFrame=list))
    assert find_library("polars")([1]) == [1]
    assert len(find_library(None)([{"a": 1}])) == 1


@pytest.mark.parametrize("library", [None, "pandas", "polars"])
def test_without_either_the_error_says_what_to_install(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=r"not installed|neither pandas nor polars"):
        find_library(library)  # type: ignore[arg-type]


def test_help_shows_the_names_that_matter() -> None:
    assert 12 <= len(evalq.__all__) <= 15
    assert all(getattr(evalq, name).__doc__ for name in evalq.__all__)
    assert set(evalq.__all__) <= set(dir(evalq))
