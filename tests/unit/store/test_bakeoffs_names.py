"""Names of runs: the bake-off before the first sign, the judge after it, whatever the judge is called."""

import pytest

from evalq.store.bakeoffs import is_name, split_run_name


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("7/grok-4.3", ("7", "grok-4.3")),
        ("7:grok-4.3", ("7", "grok-4.3")),
        ("last/grok-4.3@short", ("last", "grok-4.3@short")),
        ("@-2/openai/gpt-5@v:2", ("@-2", "openai/gpt-5@v:2")),
        ("7/python:mod:fn", ("7", "python:mod:fn")),
        ("7:command:./answer.sh a b", ("7", "command:./answer.sh a b")),
        ('7/a "quoted" name\n', ("7", 'a "quoted" name\n')),
        ("7//x", ("7", "/x")),
        ("7", None),
        ("last", None),
        ("@-2", None),
        ("7/", None),
        ("/grok", None),
        ("first/grok", None),
        ("٧/grok", None),
        ("-7/grok", None),
        ("suite-7", None),
        ("", None),
        ("9" * 100_000, None),
    ],
)
def test_a_run_name_is_split_at_its_first_sign(name: str, parts: tuple[str, str] | None) -> None:
    assert split_run_name(name) == parts
    assert parts is None or not is_name(name)
