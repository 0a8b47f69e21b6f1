"""One sound example for every format, as the values of its files; a new format must join."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Keys = tuple[str | int, ...]


@dataclass(frozen=True)
class FormatExample:
    """The file that is read, its value, the texts of the files beside it, and keys that users choose."""

    file: str
    value: Any
    beside: Mapping[str, str] = field(default_factory=dict)
    free: tuple[str, ...] = ()

    def write(self, folder: Path, value: Any) -> Path:
        """Write the example with another value; JSON is YAML, too."""
        for name, text in self.beside.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf-8")
        path = folder / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".jsonl":
            text = "".join(json.dumps(row) + "\n" for row in value) if isinstance(value, list) else "1"
        else:
            text = json.dumps(value, indent=1)
        path.write_text(text, "utf-8")
        return path


EVAL_YAML = {
    "name": "sums",
    "runs_per_query": 2,
    "trigger_threshold": 0.5,
    "execution": {"threshold": 0.7, "trials": {"count": 2}, "budget_usd": 1},
    "assertions": [{"type": "contains", "value": "x"}],
    "tests": [
        {
            "id": "one",
            "criteria": "It is right",
            "input": [{"role": "user", "content": "Sum"}],
            "expected_output": "3",
            "vars": {"a": "b"},
            "assertions": [
                {"type": "skill-trigger", "skill": "sums", "should_trigger": False, "weight": 2},
                {"type": "rubrics", "criteria": [{"id": "r", "outcome": "Right", "weight": 1}]},
                {"type": "llm-grader", "prompt": "Is it right?", "required": True, "min_score": 0.5},
                {"type": "composite", "assertions": [{"type": "regex", "value": "a"}]},
                {"type": "tool-trajectory", "mode": "any_order", "minimums": {"search": 1}},
            ],
        },
        {"id": "two", "turns": [{"input": "Hi", "assertions": ["Greets"]}]},
    ],
}
PROMPTFOO = {
    "description": "d",
    "prompts": ["Say {{x}}"],
    "evaluateOptions": {"repeat": 2, "maxConcurrency": 3},
    "defaultTest": {"assert": [{"type": "llm-rubric", "value": "Right", "provider": "p"}]},
    "assertionTemplates": {"short": {"type": "word-count", "value": {"max": 9}}},
    "tests": [
        {
            "description": "one",
            "vars": {"x": "y"},
            "threshold": 0.5,
            "metadata": {"a": "b"},
            "assert": [
                {"type": "contains", "value": "x", "weight": 2, "metric": "m"},
                {"type": "llm-rubric", "value": "Right", "threshold": 0.5, "rubricPrompt": "p"},
                {"type": "assert-set", "assert": [{"type": "is-json"}]},
                {"$ref": "#/assertionTemplates/short"},
            ],
        }
    ],
}
EVALS_JSON = {
    "skill_name": "sums",
    "runs_per_query": 2,
    "description": "Sums columns",
    "evals": [
        {
            "id": 1,
            "prompt": "Sum",
            "expected_output": "3",
            "files": [],
            "should_trigger": True,
            "assertions": ["It is right"],
        }
    ],
}
SUITE = {
    "eval_suite": {
        "name": "s",
        "version": "1.0",
        "config": {"timeout_seconds": 5, "retry_count": 1},
        "reporting": {"format": ["json"], "output_dir": "results"},
        "evals": [
            {"$ref": "other.yaml"},
            {
                "capability_eval": {
                    "id": "c",
                    "input": {"type": "prompt", "content": "Hi"},
                    "grader": {"$ref": "shared", "config": {}},
                    "expected": {"type": "contains", "value": ["x"]},
                }
            },
            {
                "capability_eval": {
                    "id": "m",
                    "input": {"type": "prompt", "content": "Hi"},
                    "grader": {"type": "model", "config": {"criteria": [{"name": "a", "description": "b"}]}},
                }
            },
            {
                "regression_eval": {
                    "id": "r",
                    "current": {"input": {"type": "prompt", "content": "Hi"}},
                    "baseline": {"output": "Hi"},
                    "comparison": {"type": "exact"},
                }
            },
        ],
    }
}
META = {
    "id": "p",
    "title": "T",
    "summary": "S",
    "status": "draft",
    "version": "1",
    "created": "2026-01-01",
    "updated": "2026-01-01",
    "triggers": ["sum"],
    "inputs": [{"name": "x", "required": True}],
}
EXAM = {
    "defaults": {"timeout_s": 5, "judge": {"pass_threshold": 4}},
    "cases": [
        {"name": "one", "inputs": {"x": "y"}, "assert": [{"contains": "a"}], "rubric": "Right"},
    ],
    "triggering": {"should_match": ["sum this"], "should_not_match": ["hello"]},
}
OTHER_SUITE = """{"capability_eval": {"id": "o", "input": {"type": "prompt", "content": "x"},
"expected": {"type": "contains", "value": ["x"]}}}"""
SHARED_GRADERS = """{"graders": {"shared": {"type": "code", "config": {"method": "contains"}}}}"""

FORMAT_EXAMPLES: dict[str, list[FormatExample]] = {
    "EVAL.yaml": [
        FormatExample("EVAL.yaml", EVAL_YAML, free=("vars", "input", "minimums")),
    ],
    "promptfoo": [
        FormatExample(
            "promptfooconfig.yaml", PROMPTFOO, free=("vars", "metadata", "value", "assertionTemplates")
        ),
    ],
    "evals.json": [FormatExample("evals.json", EVALS_JSON)],
    "suite": [
        FormatExample(
            "eval-suite.yaml",
            SUITE,
            {"other.yaml": OTHER_SUITE, "config/graders.yaml": SHARED_GRADERS},
            free=("output", "current"),
        ),
    ],
    "eva": [
        FormatExample(
            "prompts/p/meta.yml",
            META,
            {"prompts/p/prompt.xml": "Say {{x}}", "prompts/p/eval.yml": json.dumps(EXAM)},
        ),
        FormatExample(
            "prompts/p/eval.yml",
            EXAM,
            {"prompts/p/prompt.xml": "Say {{x}}", "prompts/p/meta.yml": json.dumps(META)},
            free=("inputs",),
        ),
    ],
    "rows": [FormatExample("rows.jsonl", [{"question": "How many?", "answer": "two"}], free=("question",))],
}


def walk_places(value: Any, place: Keys = ()) -> Iterator[Keys]:
    """Yield the place of every part of a value, the whole first."""
    yield place
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield from walk_places(item, (*place, key))
