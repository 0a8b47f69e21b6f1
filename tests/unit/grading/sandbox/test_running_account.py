import pytest

from evalq.grading.sandbox.running import choose_uid


def last(count: int) -> int:
    return count - 1


def test_root_of_the_machine_takes_a_user_that_no_one_has() -> None:
    uid = choose_uid("         0          0 4294967295\n", last)
    assert uid == 1_900_000_000 + 2**24 - 1


def test_root_of_a_container_takes_one_of_the_few_that_exist() -> None:
    assert choose_uid("0 100000 65536\n", last) == 61_183


@pytest.mark.parametrize("uid_map", ["0 1000 1\n", "", "0 1000 1\n1 100000 50000\n"])
def test_where_none_of_ours_exists_it_stays_itself(uid_map: str) -> None:
    assert choose_uid(uid_map, last) is None
