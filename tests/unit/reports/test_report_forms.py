"""A report's file says by its name which form it takes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evalq.errors import InputError
from evalq.reports.report_forms import SUFFIXES, form_of, write_report


@pytest.mark.parametrize(("form", "suffix"), SUFFIXES.items())
def test_the_ending_of_a_name_is_the_form(form: str, suffix: str) -> None:
    assert form_of(Path(f"x{suffix}")) == form_of(Path(f"x{suffix.upper()}")) == form


def test_another_ending_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"report.pdf: .* end it with one of .html, .md, .json"):
        form_of(Path("report.pdf"))


def test_a_report_that_cannot_be_made_leaves_no_file(tmp_path: Path) -> None:
    def refuse() -> Iterator[bytes]:
        raise InputError
        yield b""

    with pytest.raises(InputError):
        write_report(tmp_path / "x.html", refuse())
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no/x\.html: cannot be written: No such file or directory"):
        write_report(tmp_path / "no" / "x.html", iter([b"x"]))
