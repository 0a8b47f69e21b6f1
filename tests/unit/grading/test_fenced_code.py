import pytest

from evalq.grading.fenced_code import extract_script


@pytest.mark.parametrize(
    "source",
    [
        "function f(a) { return a; }",
        "async function f() {}",
        "export default function f() {}",
        "const f = (a) => a;",
        "class f {}",
        "module.exports.f = () => 1;",
    ],
)
def test_plain_javascript_is_taken_whole(source: str) -> None:
    assert extract_script(source, "f", "javascript") == source
    assert extract_script(source, "g", "javascript") == ""


@pytest.mark.parametrize("source", ["f() { :; }", "function f { :; }", "function f() { :; }"])
def test_plain_shell_is_taken_whole(source: str) -> None:
    assert extract_script(source, "f", "shell") == source
    assert extract_script(source, "ff", "shell") == ""


def test_the_last_block_that_defines_the_function_counts_after_what_it_needs() -> None:
    answer = (
        "```js\nconst k = 2;\n```\nFirst try:\n```js\nconst f = () => 1;\n```\n"
        "Better:\n```javascript\nconst f = () => k;\n```\nUse:\n```js\nconsole.log(f());\n```\n"
        "```python\nx = 1\n```"
    )
    assert extract_script(answer, "f", "javascript") == "const k = 2;\n\nconst f = () => k;"


def test_a_block_without_a_language_counts_if_no_marked_one_defines_it() -> None:
    answer = "```bash\nsource lib.sh\n```\n```\nf() { :; }\n```"
    assert extract_script(answer, "f", "shell") == "source lib.sh\n\nf() { :; }"


def test_a_script_is_the_last_block() -> None:
    assert extract_script("```sh\necho 1\n```\n```sh\necho 2\n```", "", "shell") == "echo 2"
    assert extract_script("echo 1", "", "shell") == "echo 1"


def test_code_in_another_language_is_none() -> None:
    assert extract_script("```python\ndef f(): pass\n```", "f", "javascript") == ""
