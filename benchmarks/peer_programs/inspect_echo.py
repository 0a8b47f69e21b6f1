"""The echo task for inspect_ai; the environment names the file of cases."""

import json
import os
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, system_message


@task
def echo() -> Task:
    """Every case is right when its answer includes the token."""
    lines = Path(os.environ["ECHO_CASES"]).read_text("utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    samples = [Sample(input=case["question"], target=case["expected"], id=case["id"]) for case in cases]
    solver = [system_message(os.environ["ECHO_SYSTEM_PROMPT"]), generate()]
    return Task(dataset=MemoryDataset(samples), solver=solver, scorer=includes())
