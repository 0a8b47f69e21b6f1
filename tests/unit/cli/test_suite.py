from evalq.cli.suite import list_next_commands


def test_a_suite_ends_with_its_gate_and_its_failures() -> None:
    found = list_next_commands("suite-3", [7, 8])
    assert found[:2] == ["evalq gate suite-3", "evalq inspect 7 --show-failures"]
    assert found[2:] == ["evalq report suite-3", "evalq web"]


def test_a_suite_that_reached_no_bake_off_still_ends_well() -> None:
    assert list_next_commands("suite-3", []) == ["evalq gate suite-3", "evalq report suite-3", "evalq web"]
