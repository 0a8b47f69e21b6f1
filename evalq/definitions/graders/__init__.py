"""The graders a task or a case can list, by `type`: checks, models, code, people."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from evalq.definitions.graders.code import FunctionOutput
from evalq.definitions.graders.grader import Grader
from evalq.definitions.graders.human import Human
from evalq.definitions.graders.model import ModelGraders
from evalq.definitions.graders.structure import FieldAccuracy, IsJson, JsonPath, JsonSchema, StructuralMatch
from evalq.definitions.graders.text import (
    Contains,
    ContainsAll,
    ContainsAny,
    DecisionGrader,
    Equals,
    Levenshtein,
    Matches,
    MaxWords,
    MinWords,
    NotContains,
    NotMatches,
    RefusalGrader,
    Semantic,
    StartsEnds,
)
from evalq.definitions.graders.values import (
    Cost,
    HitAtK,
    Latency,
    MaxToolCalls,
    Mrr,
    Numeric,
    NumericDelta,
    SkillTriggered,
    TokenUsage,
    ToolTrajectory,
)

CheckConfig = (
    Contains
    | NotContains
    | ContainsAny
    | ContainsAll
    | StartsEnds
    | Equals
    | Matches
    | NotMatches
    | MinWords
    | MaxWords
    | IsJson
    | JsonSchema
    | JsonPath
    | Numeric
    | NumericDelta
    | StructuralMatch
    | Semantic
    | FieldAccuracy
    | Levenshtein
    | Latency
    | Cost
    | TokenUsage
    | ToolTrajectory
    | MaxToolCalls
    | SkillTriggered
    | RefusalGrader
    | HitAtK
    | Mrr
)


__all__ = ["DecisionGrader", "FunctionOutput", "Grader", "GraderConfig", "HitAtK", "Human", "Mrr"]


def _normalise_type(value: Any) -> Any:
    """The entry with its type spelled our way: `contains-any` is `contains_any`."""
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        return {**value, "type": value["type"].replace("-", "_")}
    return value


GraderConfig = Annotated[
    CheckConfig | DecisionGrader | ModelGraders | FunctionOutput | Human,
    Field(discriminator="type"),
    BeforeValidator(_normalise_type),
]
