"""Every check there is: the graders that need nothing but the answer, the case and what the call took."""

from evalq.definitions.graders.baseline import NumericDelta
from evalq.definitions.graders.json_checks import IsJson, JsonPath, JsonSchema
from evalq.definitions.graders.limits import Cost, Latency, TokenUsage
from evalq.definitions.graders.numbers import Numeric
from evalq.definitions.graders.patterns import Matches, NotMatches
from evalq.definitions.graders.refusal import Refusal
from evalq.definitions.graders.retrieval import HitAtK, Mrr
from evalq.definitions.graders.structure import FieldAccuracy, StructuralMatch
from evalq.definitions.graders.texts import (
    Contains,
    ContainsAll,
    ContainsAny,
    Equals,
    Levenshtein,
    MaxWords,
    MinWords,
    NotContains,
    Semantic,
    StartsEnds,
)
from evalq.definitions.graders.tools import MaxToolCalls, SkillTriggered, ToolTrajectory

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
    | Refusal
    | HitAtK
    | Mrr
)
