"""A task: the prompt every judge gets, and how its answers are graded."""

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field, FiniteFloat, model_validator

from evalq.definitions.definition import NAME_PATTERN, Definition
from evalq.definitions.graders import GraderConfig, HitAtK, Mrr

PassRule = Literal["exact_match", "any_substring", "positive_at_least_one_valid_or_empty_on_negative"]
ScorerMode = Literal["llm_judge", "strict_substring"]
FINDINGS_RULE: PassRule = "positive_at_least_one_valid_or_empty_on_negative"


class ScoringConfig(Definition):
    """How a whole answer is marked: by substring, or by a grader model, finding by finding."""

    mode: ScorerMode
    judge_model: str | None = None
    rubric: str | None = None
    pass_rule: PassRule = "exact_match"  # noqa: S105 - a rule, not a password

    @model_validator(mode="after")
    def _llm_judge_needs_model_and_rubric(self) -> Self:
        if self.mode == "llm_judge" and not (self.judge_model and self.rubric):
            missing = " and ".join(name for name in ("judge_model", "rubric") if not getattr(self, name))
            raise ValueError(
                f"{missing} required when mode is llm_judge; add {missing}, or use mode: strict_substring"
            )
        return self


class TaskConfig(Definition):
    """One `tasks/NAME.yaml`; without scoring and graders it leaves marking to its cases."""

    name: str = Field(pattern=NAME_PATTERN)
    description: str = ""
    system_prompt: str
    user_template: str
    scoring: ScoringConfig | None = None
    graders: list[GraderConfig] = Field(default=[])
    pass_threshold: FiniteFloat | None = Field(default=None, ge=0, le=1)
    default_judges: list[str] = Field(default=[])
    max_tokens: int = Field(default=2048, ge=1, le=1_000_000)
    temperature: FiniteFloat | None = Field(default=None, ge=0, le=2)

    @property
    def marks_every_answer(self) -> bool:
        """False when marking is left to the cases."""
        return self.scoring is not None or bool(self.graders)

    def answer_form(self, own: Sequence[GraderConfig] = ()) -> Literal["text", "findings", "ranking"]:
        """A list of findings, a ranking of ids, or plain text; `own` are a case's graders."""
        if self.scoring is not None:
            return "findings" if self.scoring.pass_rule == FINDINGS_RULE else "text"
        is_ranked = any(isinstance(grader, HitAtK | Mrr) for grader in (*self.graders, *own))
        return "ranking" if is_ranked else "text"
