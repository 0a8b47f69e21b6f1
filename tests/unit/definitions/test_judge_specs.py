import pytest

from evalq.calling.pricing import price_of
from evalq.definitions.catalogue import all_judges, pick_judges, with_models
from evalq.definitions.judge import CommandJudge, HttpJudge, PythonJudge
from evalq.definitions.judge_specs import read_spec, split_judges
from evalq.errors import InputError

SHIPPED = all_judges({})


@pytest.mark.parametrize(
    ("text", "name", "reached"),
    [
        ("command:./answer.sh", "answer.sh", ["./answer.sh"]),
        ("command:python3 'my a.py' --t 1,2", "python3-my-a.py-t-1-2", ["python3", "my a.py", "--t", "1,2"]),
        ("python:pkg.mod:fn", "pkg.mod.fn", "pkg.mod:fn"),
        ("http://127.0.0.1:9000/answer", "127.0.0.1-9000-answer", "http://127.0.0.1:9000/answer"),
        ("mine=https://example.org", "mine", "https://example.org"),
        ("mine=command:cat", "mine", ["cat"]),
    ],
)
def test_a_system_of_ones_own_is_a_judge_without_any_file(text: str, name: str, reached: object) -> None:
    judge = read_spec(text)
    assert judge.name == name
    if isinstance(judge, CommandJudge):
        assert judge.command == reached
    elif isinstance(judge, PythonJudge):
        assert judge.callable == reached
    else:
        assert isinstance(judge, HttpJudge)
        assert judge.url == reached
    price = price_of(judge)
    assert price is not None
    assert price.input == price.output == 0


@pytest.mark.parametrize(
    ("values", "judges"),
    [
        (["a,b", " c ,,"], ["a", "b", "c"]),
        (["command:./x --n 1,2"], ["command:./x --n 1,2"]),
        (["a,python:m:f,b"], ["a", "python:m:f", "b"]),
        (["command:./x,command:./y"], ["command:./x", "command:./y"]),
        (["a,command:./x 'a,b',mine=python:m:f,b"], ["a", "command:./x 'a,b'", "mine=python:m:f", "b"]),
        (["", ","], []),
    ],
)
def test_commas_separate_names_and_belong_to_commands(values: list[str], judges: list[str]) -> None:
    assert split_judges(values) == judges


def test_a_known_judge_after_a_command_is_a_judge() -> None:
    listed = "command:./answer.sh a,b,sim-grok-4.3,haiku-4.5"
    assert split_judges([listed], SHIPPED) == ["command:./answer.sh a,b", "sim-grok-4.3", "haiku-4.5"]


@pytest.mark.parametrize(
    "text",
    [
        *("command:", "command:'open", "python:", "python:mod", "python:a:b:c", "python:../x:f", "http://"),
        *(
            "https://user:secret@host/",
            "python:" + "x" * 10_000,
            "command:\x00",
            "http://h/?api_key=abcdefgh12",
        ),
    ],
)
def test_what_names_no_system_ends_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(InputError, match=r"write command:\./answer\.sh"):
        read_spec(text)


def test_two_judges_with_one_name_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"would both be called 'x\.sh'; give one a name: mine=command:x\.sh"
    ):
        pick_judges(["command:./x.sh", "command:x.sh"], SHIPPED)


def test_specs_stand_beside_names_wherever_judges_are_picked() -> None:
    specs = ["bm25", "python:m:f"]
    assert [judge.name for judge in pick_judges(specs, SHIPPED)] == ["bm25", "m.f"]
    assert [judge.name for judge in pick_judges(specs, with_models(SHIPPED, specs))] == ["bm25", "m.f"]
