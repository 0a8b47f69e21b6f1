from textwrap import dedent

import pytest

from evalq.grading.code import extract_code

CODE = "def f(n):\n    return n + 1"


def extracted(answer: str, name: str = "f") -> str:
    return extract_code(dedent(answer), name).strip()


@pytest.mark.parametrize("tag", ["python", "py", "Python3", ""])
def test_code_is_taken_from_its_fence(tag: str) -> None:
    assert extracted(f"Here it is:\n```{tag}\n{CODE}\n```\nIt adds one.") == CODE


@pytest.mark.parametrize("fence", ["~~~", "````"])
def test_other_fences_count_too(fence: str) -> None:
    assert extracted(f"{fence}python\n{CODE}\n{fence}") == CODE


def test_a_fence_in_a_list_is_unindented() -> None:
    assert extracted("1. So:\n\n   ```python\n   def f(n):\n       return n + 1\n   ```\n") == CODE


def test_a_fence_that_is_never_closed_goes_to_the_end() -> None:
    assert extracted(f"```python\n{CODE}") == CODE


def test_windows_line_ends_do_not_matter() -> None:
    assert extracted(f"```python\r\n{CODE}\r\n```\r\n".replace("\n", "\r\n").replace("\r\r", "\r")) == CODE


def test_a_fence_marked_as_python_goes_before_others() -> None:
    answer = f"```\ndef f(n):\n    wrong\n```\n```python\n{CODE}\n```\n```bash\npip install f\n```"
    assert extracted(answer) == CODE


def test_a_fence_without_a_mark_counts_when_the_marked_ones_lack_the_function() -> None:
    assert "def f" in extracted(f"```python\nprint(f(1))\n```\n```\n{CODE}\n```")


def test_the_last_definition_counts() -> None:
    answer = f"```python\ndef f(n):\n    return wrong(n)\n```\nBetter:\n```python\n{CODE}\n```"
    assert extracted(answer) == CODE


def test_definitions_before_it_are_kept_and_uses_are_not() -> None:
    answer = f"""\
```python
import math
LIMIT = 3
```
```python
print(f(1))
```
```python
{CODE}
```
```python
>>> f(1)
2
```
```python
import pytest
from solution import f

def test_f():
    assert f(1) == 2
```
"""
    assert extracted(answer) == f"import math\nLIMIT = 3\n\n{CODE}"


def test_a_later_fence_with_what_it_uses_is_kept() -> None:
    main = "def f(n):\n    return add_one(n)"
    rest = "def add_one(n):\n    return n + 1"
    assert extracted(f"```python\n{main}\n```\nwith\n```python\n{rest}\n```") == f"{main}\n\n{rest}"


@pytest.mark.parametrize("line", ["f = lambda n: n + 1", "f: object = len", "class f:", "async def f(n):"])
def test_a_function_may_be_defined_in_other_ways(line: str) -> None:
    assert extracted(f"```python\nother = 1\n```\n```python\n{line}\n```").endswith(line)


def test_plain_code_is_taken_as_it_is() -> None:
    whole = f'"""Adds one."""\nimport math\n\n{CODE}\n\n\nif __name__ == "__main__":\n    print(f(1))'
    assert extracted(whole).endswith(whole.split("\n", 1)[1])


def test_words_around_plain_code_are_left_out() -> None:
    answer = f"Sure, here is the function.\n\n{CODE}\n\nprint(f(2))  # 3\n\nThis adds one to n."
    assert extracted(answer) == f"{CODE}\n\nprint(f(2))  # 3"


def test_text_in_a_long_string_is_no_end_of_the_code() -> None:
    code = f'TEXT = """\nOnce upon a time\n"""\n\n{CODE}'
    assert extracted(code) == code


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I cannot help with that.",
        "from the above, f is clear",
        "```json\n[1]\n```",
        "```use f```",
        "x = 3",
    ],
)
def test_an_answer_without_code_has_none(answer: str) -> None:
    assert extracted(answer) == ""


def test_code_under_another_mark_counts_when_it_defines_the_function() -> None:
    assert extracted(f"```text\n{CODE}\n```") == CODE


def test_code_that_defines_another_function_is_run_all_the_same() -> None:
    assert extracted("```python\ndef g(): ...\n```") == "def g(): ..."


@pytest.mark.parametrize(
    "answer",
    [
        "`" * 500_000,
        "def f(" * 100_000,
        "a:" * 500_000,
        "(" * 900_000,
        "f(" + " :#" * 300_000,
        "```\n" * 200_000,
    ],
    ids=["fences", "defs", "colons", "brackets", "comments", "many"],
)
def test_a_hostile_answer_of_a_megabyte_is_read_to_its_end(answer: str) -> None:
    extract_code(answer, "f")  # in more than linear time it would take hours
