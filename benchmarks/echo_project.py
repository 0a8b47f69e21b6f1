"""A project to measure with: judges of the OpenAI protocol that repeat what a case tells them to say."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

TASK = """\
name: echo
system_prompt: Repeat what you are told to say.
user_template: "{q}"
scoring: {mode: strict_substring, pass_rule: any_substring}
max_tokens: 64
"""
SYSTEM_PROMPT = "Repeat what you are told to say."
MAX_TOKENS = 64


def make_question(case: int) -> str:
    """What a case asks; the simulator answers with the token."""
    return f'say "{make_token(case)}"'


def make_token(case: int) -> str:
    """What the answer to a case must contain."""
    return f"token-{case}"


def write_cases(folder: Path, cases: int) -> None:
    """Write an evalset of the echo task."""
    (folder / "evalsets" / "echo").mkdir(parents=True)
    lines = []
    for case in range(cases):
        inputs = {"q": make_question(case)}
        lines.append(
            json.dumps({"id": f"c{case}", "inputs": inputs, "expected": {"any_of": [make_token(case)]}})
        )
    (folder / "evalsets" / "echo" / "dev.jsonl").write_text("\n".join(lines))


def write_project(
    folder: Path, url: str, *, cases: int, judges: int, slots: int, fleet: Mapping[str, float] | None = None
) -> None:
    """Write a task, an evalset and judges; `slots` are those of the whole fleet, of two processes by default.

    `fleet` overrides the fleet's settings, e.g. `{"processes": 4, "lease_s": 4}`.
    """
    (folder / "tasks").mkdir()
    (folder / "tasks" / "echo.yaml").write_text(TASK)
    write_cases(folder, cases)
    price = {"input": 1, "output": 2}
    models = {}
    for judge in range(judges):
        models[f"judge-{judge}"] = {
            "provider": "openai",
            "model": f"m{judge}",
            "base_url": f"{url}/v1",
            "price": price,
        }
    wanted = {"processes": 2, **(fleet or {})}
    settings = {"judges": models, "fleet": {**wanted, "slots": -(-slots // int(wanted["processes"]))}}
    (folder / "evalq.yaml").write_text(json.dumps(settings))


def bake_off_arguments(judges: int) -> list[str]:
    """The arguments of `evalq` that run the whole project."""
    names = ",".join(f"judge-{judge}" for judge in range(judges))
    return ["bake-off", "--task", "echo", "--eval-set", "dev", "--judges", names]


def clean_environment() -> dict[str, str]:
    """The environment without settings of evalq: a benchmark brings its own."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("EVALQ_")}
    # Without it every module is compiled at every start, which would be most of what is measured.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    return env | {"OPENAI_API_KEY": "sk-none"}
