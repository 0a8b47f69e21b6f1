"""What `evalq review rate` is given, before any database is asked."""

import pytest
from click.testing import CliRunner

from evalq.cli.main import evalq


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["0a1b"], "no rating; write RATING"),
        (["0a1b", "4", "--criterion", "1=4"], "two ratings"),
        (["0a1b", "--criterion", "tone"], "--criterion 'tone'; write NAME=N"),
        (["0a1b", "--criterion", "=4"], "write NAME=N"),
        (["0a1b", "--criterion", "tone=4", "--criterion", "tone=5"], "one criterion twice"),
    ],
)
def test_a_rating_nobody_could_mean_is_refused(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(evalq, ["review", "rate", *arguments])
    assert words in str(result.exception)


def test_every_part_of_review_has_its_help() -> None:
    result = CliRunner().invoke(evalq, ["review", "--help"])
    for name in ("next", "rate", "decline", "undo", "status", "export", "import", "invite", "ask", "serve"):
        assert f"\n  {name} " in result.output
