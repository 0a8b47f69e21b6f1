"""Silence that the case expects is an answer to every grader; work that takes long leaves the loop free."""

import asyncio
import threading

import pytest
from patience import PATIENCE_S

from evalq.definitions.evalset import EvalCase
from evalq.definitions.task import TaskConfig
from evalq.records import Completion
from evalq.store.jobs import Job
from workers.case import CaseRun

CODE = {"type": "function_output", "function_name": "f", "test_cases": [{"args": [], "expected": 1}]}
TASK = TaskConfig.model_validate(
    {"name": "t", "system_prompt": "", "user_template": "{q}", "graders": [CODE]}
)


@pytest.mark.parametrize(("expected", "leaves"), [("", True), ("something", False)])
def test_wanted_silence_does_not_skip_a_required_code_grader(expected: str, leaves: bool) -> None:
    case = EvalCase(id="c", inputs={"q": "?"}, expected={"answer": expected})
    job = Job.__new__(Job)
    vars(job).update(stage="call", case=case, judge="j")
    run = CaseRun.__new__(CaseRun)
    vars(run).update(_job=job, _task=TASK)
    silent = Completion("empty", "")
    assert run.leaves_code(silent) is run.to_grade(silent).is_gradable is leaves


def test_work_apart_leaves_the_loop_to_others() -> None:
    let_go = threading.Event()

    async def let_it_go() -> None:
        let_go.set()

    async def wait_apart() -> bool:
        run = CaseRun.__new__(CaseRun)
        found, _ = await asyncio.gather(run.apart(lambda: let_go.wait(PATIENCE_S)), let_it_go())
        return found

    assert asyncio.run(wait_apart())
