import errno
import struct

import pytest

from evalq.grading.sandbox.isolation import DENIED_CALLS, filter_program

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOWED, KILLED = 0x7FFF0000, 0x80000000
CLONE = {"x86_64": 56, "aarch64": 220}
PRLIMIT = {"x86_64": 302, "aarch64": 261}

machines = pytest.mark.parametrize("machine", ARCHITECTURES)


def refused(number: int) -> int:
    return 0x00050000 | number


def verdict(machine: str, call: int, argument: int = 0, architecture: int | None = None) -> int:
    """What the kernel would decide: the filter run step by step."""
    words = {0: call, 4: architecture or ARCHITECTURES[machine], 16: argument}
    steps = list(struct.iter_unpack("=HBBI", filter_program(machine) or b""))
    tests = {0x15: lambda a, k: a == k, 0x35: lambda a, k: a >= k, 0x45: lambda a, k: bool(a & k)}
    at = loaded = 0
    while True:
        code, if_true, if_false, operand = steps[at]
        if code == 0x06:
            return operand
        if code == 0x20:
            loaded = words[operand]
        else:
            at += if_true if tests[code](loaded, operand) else if_false
        at += 1


def denied_numbers(machine: str) -> set[int]:
    column = ("x86_64", "aarch64").index(machine)
    return {numbers[column] for numbers in DENIED_CALLS.values()}


@machines
def test_every_call_on_the_list_is_refused(machine: str) -> None:
    assert {"socket", "ptrace", "memfd_create", "unshare", "io_uring_setup"} <= DENIED_CALLS.keys()
    assert {verdict(machine, number) for number in denied_numbers(machine)} == {refused(errno.EPERM)}


@machines
def test_all_other_calls_are_allowed(machine: str) -> None:
    others = set(range(424)) - denied_numbers(machine)
    assert {verdict(machine, number) for number in others} == {ALLOWED}


@machines
def test_a_thread_may_be_started_and_a_namespace_may_not(machine: str) -> None:
    assert verdict(machine, CLONE[machine], 0x3D0F00) == ALLOWED
    assert verdict(machine, CLONE[machine], 0x10000000) == refused(errno.EPERM)
    assert verdict(machine, 435) == refused(errno.ENOSYS)


@machines
def test_limits_may_be_set_for_oneself_and_for_no_one_else(machine: str) -> None:
    assert verdict(machine, PRLIMIT[machine], 0) == ALLOWED
    assert verdict(machine, PRLIMIT[machine], 1) == refused(errno.EPERM)


@machines
def test_calls_of_another_architecture_are_fatal(machine: str) -> None:
    assert verdict(machine, 1, architecture=0x40000003) == KILLED
    assert verdict(machine, 0x40000000 + 41) == refused(errno.ENOSYS)


def test_a_machine_whose_numbers_are_unknown_has_no_filter() -> None:
    assert filter_program("riscv64") is None
