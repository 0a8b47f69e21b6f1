"""The rubrics that come with evalq, by name: what a grader model is told to decide."""

from evalq.definitions.rubric_library import ANSWER_MATCHES, CRITERIA, KNOWLEDGE_AUDIT, RUBRICS

__all__ = ["ANSWER_MATCHES", "CRITERIA", "KNOWLEDGE_AUDIT", "RUBRICS"]
