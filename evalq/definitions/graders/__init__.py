"""The graders a task or a case can list, by `type`: checks, models, code, people."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from evalq.definitions.graders.checks import CheckConfig
from evalq.definitions.graders.code import FunctionOutput
from evalq.definitions.graders.decision import Decision
from evalq.definitions.graders.grader import Grader
from evalq.definitions.graders.human import Human
from evalq.definitions.graders.model_graders import ModelGraders
from evalq.definitions.graders.retrieval import HitAtK, Mrr

__all__ = ["Decision", "FunctionOutput", "Grader", "GraderConfig", "HitAtK", "Human", "Mrr"]


def _spelled(value: Any) -> Any:
    """The entry with its type spelled our way: `contains-any` is `contains_any`."""
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        return {**value, "type": value["type"].replace("-", "_")}
    return value


GraderConfig = Annotated[
    CheckConfig | Decision | ModelGraders | FunctionOutput | Human,
    Field(discriminator="type"),
    BeforeValidator(_spelled),
]
