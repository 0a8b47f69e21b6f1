"""Functions as judges: their names, what they may return, and who may call them."""

import json
import os.path
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from evalq.api.function_judges import name_judges, serve_functions, split_reply
from evalq.definitions.definition import is_name
from evalq.definitions.judge import HttpJudge
from evalq.errors import InputError
from evalq.settings import Settings

ELSEWHERE = Settings(database_url="postgresql://db/evalq", broker_url="redis://valkey:6379/0")


def answer(inputs: dict[str, Any]) -> Any:
    if "fail" in inputs:
        raise ValueError("no such <b>ticket</b>\n\x1b[31m")
    return inputs.get("say", "billing")


async def wait_and_answer(inputs: dict[str, Any]) -> str:
    return f"waited for {inputs['say']}"


class Retriever:
    """A callable object, as a loaded model is."""

    def __call__(self, inputs: dict[str, Any]) -> str:
        return inputs["say"]


@dataclass
class Reply:
    answer: str
    cost_usd: float


def post(url: str, body: bytes) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, method="POST"), timeout=30) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as exc:
        with exc:
            return exc.code, json.load(exc)


def ask(function: Callable[..., Any], inputs: dict[str, Any]) -> tuple[int, Any]:
    with serve_functions({"mine": function}, Settings()) as judges:
        judge = judges["mine"]
        assert isinstance(judge, HttpJudge)
        return post(judge.url, json.dumps({"inputs": json.dumps(inputs)}).encode())


def test_functions_and_names_keep_their_order_and_no_two_share_a_name() -> None:
    names, functions = name_judges(
        [answer, "grok-4.3", answer, partial(answer), lambda inputs: "", Retriever()]
    )
    assert names == ["answer", "grok-4.3", "answer-2", "answer-3", "lambda", "Retriever"]
    assert list(functions) == ["answer", "answer-2", "answer-3", "lambda", "Retriever"]
    assert all(is_name(name) for name in names)


def test_a_function_named_like_a_judge_beside_it_gets_a_number() -> None:
    assert name_judges(["answer", answer])[0] == ["answer", "answer-2"]


@pytest.mark.parametrize(("given", "names"), [("a, b", ["a", "b"]), (answer, ["answer"]), ((), [])])
def test_one_judge_needs_no_list(given: Any, names: list[str]) -> None:
    assert name_judges(given)[0] == names


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (answer, {"answer": "Größe 漢字"}),
        (wait_and_answer, {"answer": "waited for Größe 漢字"}),
        (Retriever(), {"answer": "Größe 漢字"}),
        (lambda inputs: ["a", 1], {"answer": ["a", 1]}),
        (lambda inputs: None, {"answer": None}),
        (lambda inputs: {"team": "billing"}, {"answer": {"team": "billing"}}),
        (lambda inputs: {"answer": "a", "cost_usd": 0.1}, {"answer": "a", "cost_usd": 0.1}),
        (lambda inputs: Reply("a", 0.1), {"answer": "a", "cost_usd": 0.1}),
    ],
)
def test_a_function_is_called_with_the_inputs_and_its_reply_is_split(function: Any, said: Any) -> None:
    assert ask(function, {"say": "Größe 漢字"}) == (200, said)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (answer, "ValueError: no such"),
        (lambda inputs: object(), "TypeError"),
        (lambda inputs: {"answer": "", "error": "no index"}, "RuntimeError: no index"),
    ],
)
def test_what_a_function_raises_is_its_error_with_the_line(function: Any, words: str) -> None:
    status, document = ask(function, {"fail": True})
    assert status == 422
    assert words in document["error"]["message"]
    assert "line" in document["error"]["message"]


@pytest.mark.parametrize("path", ["/", "/mine", "/x/mine", "/../mine", "/%00"])
def test_nobody_calls_a_function_without_its_token(path: str) -> None:
    with serve_functions({"mine": answer}, Settings()) as judges:
        judge = judges["mine"]
        assert isinstance(judge, HttpJudge)
        server = "/".join(judge.url.split("/")[:3])
        assert server.startswith("http://127.0.0.1:")
        assert post(server + path, b"{}") == (404, {"error": {"message": "no such function"}})


def test_another_fleet_imports_a_function_by_its_name() -> None:
    with serve_functions({"mine": os.path.basename}, ELSEWHERE) as judges:
        assert judges["mine"].model == f"{os.path.basename.__module__}:basename"


@pytest.mark.parametrize("function", [lambda inputs: "", partial(answer), Retriever()])
def test_another_fleet_cannot_call_what_only_this_process_has(function: Any) -> None:
    with (
        pytest.raises(InputError, match=r"only this process has.*PYTHONPATH"),
        serve_functions({"mine": function}, ELSEWHERE),
    ):
        pass


def test_a_reply_with_other_keys_is_an_answer_as_it_was_written() -> None:
    assert split_reply({"answer": 1, "team": "x"}) == {"answer": {"answer": 1, "team": "x"}}
