import pytest

from evalq.cli.output import fit_columns, note, suggest


def test_columns_without_room_on_a_terminal_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [["1", "x" * 30, "y" * 30, "z" * 30]]
    head = ["id", "a", "b", "c"]
    monkeypatch.setenv("COLUMNS", "80")

    assert fit_columns(head, rows, drop=("c", "b"))[0] == head
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert fit_columns(head, rows, drop=("c", "b")) == (["id", "a", "b"], [["1", "x" * 30, "y" * 30]])


def test_remarks_are_folded_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    note("one two three four five")
    suggest("evalq inspect 7", "evalq web")
    assert capsys.readouterr().err == "one two three four five\nnext  evalq inspect 7   evalq web\n"

    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    note("one two three four five")
    suggest("evalq inspect 7", "evalq web")
    assert capsys.readouterr().err == "one two three four\nfive\nnext  evalq inspect 7\n      evalq web\n"
