import pickle

import pytest

from evalq.errors import (
    CapReached,
    Contended,
    EvalqError,
    InputError,
    Problem,
    ProviderFault,
    PutBack,
    Refused,
    UngradableAnswer,
    Unreachable,
)


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem("is wrong"), "is wrong"),
        (Problem("is wrong", "mend it"), "is wrong; mend it"),
        (Problem("is wrong", file="a.yaml"), "a.yaml: is wrong"),
        (Problem("is wrong", "mend it", "a.yaml", 14), "a.yaml:14: is wrong; mend it"),
    ],
)
def test_a_problem_says_where_what_and_what_to_do(problem: Problem, text: str) -> None:
    assert str(problem) == text


def test_an_input_error_holds_every_problem() -> None:
    error = InputError("is missing", Problem("is wrong", "mend it"))
    assert error.problems == (Problem("is missing"), Problem("is wrong", "mend it"))
    assert str(error) == "is missing\nis wrong; mend it"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (EvalqError("x"), 1),
        (InputError("x"), 2),
        (CapReached("x"), 4),
        (Refused("x"), 5),
        (Unreachable("x"), 6),
        (Contended("x"), 6),
        (ProviderFault("fatal", "x"), 6),
    ],
)
def test_every_error_ends_a_command_with_its_exit_code(error: EvalqError, code: int) -> None:
    assert error.exit_code == code


def test_a_provider_fault_says_its_kind_first() -> None:
    assert str(ProviderFault("rate", "slow down")) == "rate: slow down"


@pytest.mark.parametrize(
    "fault",
    [
        ProviderFault("rate", "slow down", retry_after_s=2.5, request_id="req-1"),
        ProviderFault("permanent", "never"),
    ],
)
def test_a_provider_fault_survives_pickling(fault: ProviderFault) -> None:
    copy = pickle.loads(pickle.dumps(fault))
    assert type(copy) is ProviderFault
    assert vars(copy) == vars(fault)
    assert str(copy) == str(fault)


def test_a_job_put_back_says_how_long_to_wait() -> None:
    assert PutBack("no room", wait_s=1.5).wait_s == 1.5
    assert PutBack("stopped").wait_s == 0.0
    assert str(PutBack("no room")) == "no room"


def test_an_ungradable_answer_is_an_error_of_evalq() -> None:
    assert isinstance(UngradableAnswer("no verdict"), EvalqError)
