"""evalq: large parallel bake-offs of language models that people can act on.

Run models, or your own functions, on a task and compare them:

    import evalq

    result = evalq.bake_off(task="mail_classify", eval_set="dev-30", judges=["sim-grok-4.3", "sim-opus-4.7"])
    print(result)                         # the table, with intervals and ties
    result.to_frame()                     # one row per case, judge and sample
    result.report("report.html")          # one file to share
    for case in result.cases("disagreements"):
        print(case.case_id, [(answer.judge, answer.answer_text) for answer in case.answers])

A task may be a prompt, an evalset a list, a judge a function:

    result = evalq.bake_off(
        task="Which team handles this? {ticket}",
        eval_set=[{"ticket": "The invoice is wrong.", "expected": "billing"}],
        judges=[my_function, "sim-grok-4.3"],
    )

`evalq.load("last")` reads a bake-off that was run before, and `await evalq.bake_off_async(...)` runs one
without holding up an event loop.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalq.api import BakeOff, bake_off, bake_off_async, load
    from evalq.errors import CapReached, EvalqError, InputError, Refused, Unreachable
    from evalq.reports.cases import AnswerView, CaseView
    from evalq.results import Comparison, Progress, RunResult

_HOMES = {
    "bake_off": "evalq.api",
    "bake_off_async": "evalq.api",
    "load": "evalq.api",
    "BakeOff": "evalq.api",
    "RunResult": "evalq.results",
    "Comparison": "evalq.results",
    "Progress": "evalq.results",
    "CaseView": "evalq.reports.cases",
    "AnswerView": "evalq.reports.cases",
    "EvalqError": "evalq.errors",
    "InputError": "evalq.errors",
    "CapReached": "evalq.errors",
    "Refused": "evalq.errors",
    "Unreachable": "evalq.errors",
}

__all__ = [  # noqa: RUF022 - as a reader meets them
    "bake_off",
    "bake_off_async",
    "load",
    "BakeOff",
    "RunResult",
    "Comparison",
    "Progress",
    "CaseView",
    "AnswerView",
    "EvalqError",
    "InputError",
    "CapReached",
    "Refused",
    "Unreachable",
]


def __getattr__(name: str) -> Any:
    """The Python API, imported when it is used: `evalq --help` must not wait for it."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'evalq' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What `help` and completion show."""
    return [*globals(), *__all__]
