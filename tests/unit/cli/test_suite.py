from pathlib import Path

from evalq.cli.suite import list_next_commands


def test_a_suite_ends_with_its_gate_and_its_failures() -> None:
    found = list_next_commands([Path("results/report.json"), Path("results/report.md")], [7, 8])
    assert found == ["evalq gate results/report.json", "evalq inspect 7 --show-failures"]


def test_a_suite_without_a_file_or_a_bake_off_still_ends_well() -> None:
    assert list_next_commands([], [7]) == ["evalq inspect 7 --show-failures"]
    assert list_next_commands([], []) == ["evalq runs"]
