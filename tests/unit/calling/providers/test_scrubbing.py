"""A server that sends a key back: nothing of what is kept of its reply holds the key."""

import pytest
from asking import complete

from evalq.calling.providers.scrubbing import ScrubbingAdapter, find_secrets
from evalq.definitions.judge import CommandJudge, HttpJudge
from evalq.errors import ProviderFault
from evalq.records import CaseContext, Completion, Prompt, ToolCall

KEY = "fake-key-5f3a9e17c2"
PROMPT = Prompt("s", "u", 64, CaseContext("t", "c", inputs={}))


class Echo:
    """Answers, or fails, with the key in every place."""

    def __init__(self, *, fails: bool) -> None:
        self._fails = fails

    async def complete(self, prompt: Prompt) -> Completion:
        if self._fails:
            raise ProviderFault("permanent", f"bad key {KEY}", request_id=f"req-{KEY}", retry_after_s=2)
        calls = (ToolCall(f"x{KEY}", {KEY: [{"deep": f"a {KEY} b"}], "n": 1}),)
        return Completion("answered", f"you sent {KEY}", model=KEY, request_id=KEY, tool_calls=calls)


def test_a_reflected_key_is_kept_nowhere_in_an_answer() -> None:
    answer = complete(ScrubbingAdapter(Echo(fails=False), {"MY_KEY": KEY}), PROMPT)
    assert KEY not in repr(answer)
    assert answer.text == "you sent [MY_KEY]"
    assert answer.tool_calls[0].arguments["n"] == 1


def test_a_reflected_key_is_kept_nowhere_in_a_fault() -> None:
    with pytest.raises(ProviderFault) as caught:
        complete(ScrubbingAdapter(Echo(fails=True), {"MY_KEY": KEY}), PROMPT)
    fault = caught.value
    assert KEY not in f"{fault} {fault.message} {fault.request_id}"
    assert (fault.kind, fault.retry_after_s) == ("permanent", 2)


def test_every_variable_of_an_http_judge_is_a_secret_but_short_words_are_not() -> None:
    judge = HttpJudge(
        name="j",
        provider="http",
        url="https://h",
        api_key_env="A",
        headers_env={"x": "B"},
        variables_env={"c": "C", "d": "D"},
    )
    environ = {"A": KEY, "B": KEY + "2", "C": "12345678", "D": "test", "E": "unrelated-value"}
    assert list(find_secrets(judge, environ)) == ["B", "A", "C"]


def test_whatever_a_program_could_print_of_the_environment_s_keys_is_a_secret() -> None:
    judge = CommandJudge(name="j", provider="command", command=["x"])
    environ = {"MY_API_KEY": KEY, "db_password": KEY + "2", "PATH": "/usr/bin:/bin", "HF_TOKEN": "short"}
    assert list(find_secrets(judge, environ)) == ["db_password", "MY_API_KEY"]
