"""What every grader has that asks a model: which models, how a panel decides, and how they are asked."""

from typing import Literal, Self

from pydantic import Field, FiniteFloat, model_validator

from evalq.definitions.definition import Definition, is_unset
from evalq.definitions.graders.grader import Grader

Panel = Literal["majority", "mean"]


class Example(Definition):
    """An answer with the mark it deserves, shown to the grader before the one to grade."""

    input: str | None = Field(default=None, exclude_if=is_unset)
    output: str = Field(min_length=1)
    justification: str = ""


class ModelGrader(Grader):
    """A grader that asks one model, or a panel of several. No model named means the bake-off's own.

    `max_tokens` leaves room for models that think before they speak: their thinking counts too.
    """

    model: str | None = Field(default=None, min_length=1, exclude_if=is_unset)
    models: list[str] = Field(default=[], max_length=9, exclude_if=is_unset)
    panel: Panel = "majority"
    max_tokens: int = Field(default=1024, ge=1, le=100_000)
    temperature: FiniteFloat | None = Field(default=None, ge=0, le=2)

    @model_validator(mode="after")
    def _one_model_or_several(self) -> Self:
        if self.model and self.models:
            raise ValueError("model and models exclude each other; keep one of them")
        if len(set(self.models)) < len(self.models) or "" in self.models:
            raise ValueError("models has an empty name or one twice; name each grader model once")
        return self

    @property
    def asked_models(self) -> tuple[str | None, ...]:
        """The models of the panel; one of them, perhaps None for the bake-off's own, without a panel."""
        return tuple(self.models) or (self.model,)


def refuse_mean(panel: Panel) -> None:
    """Yes and no have no mean."""
    if panel == "mean":
        raise ValueError("panel: mean needs scores, which this type has not; write panel: majority")
