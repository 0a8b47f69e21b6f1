"""The graders that ask a model or a panel: verdict, rubric, criteria, categories, yes or no, pairwise."""

from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BeforeValidator, Field, FiniteFloat, model_validator

from evalq.definitions.definition import NAME_PATTERN, Definition, is_unset
from evalq.definitions.graders.grader import Grader, Scale
from evalq.definitions.judge import Proportion
from evalq.definitions.rubrics import NamedCriteria, Rubric, rubric_names

Panel = Literal["majority", "mean"]

REFERENCE = "reference"
"""The opponent of a pairwise grader that means `expected.answer`, not a judge."""


class Example(Definition):
    """An answer with the mark it deserves, shown to the grader before the one to grade."""

    input: str | None = Field(default=None, exclude_if=is_unset)
    output: str = Field(min_length=1)
    justification: str = ""


class ModelGrader(Grader):
    """A grader that asks one model, or a panel of several; without a name, the bake-off's grader model.

    `max_tokens` leaves room for models that think before they reply: their thinking counts too.
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
        """The models of the panel, or the one model; None is the bake-off's grader model."""
        return tuple(self.models) or (self.model,)


def refuse_mean(panel: Panel) -> None:
    """Refuse a mean of marks that are not scores."""
    if panel == "mean":
        raise ValueError("panel: mean needs scores, which this type has not; write panel: majority")


class VerdictExample(Example):
    """An answer and whether it is valid."""

    verdict: Literal["VALID", "INVALID"]


class VerdictGrader(ModelGrader):
    """VALID or INVALID."""

    type: Literal["verdict"]
    rubric: Rubric
    examples: list[VerdictExample] = Field(default=[], exclude_if=is_unset)

    @model_validator(mode="after")
    def _verdicts_have_no_mean(self) -> Self:
        refuse_mean(self.panel)
        return self


class ScoreExample(Example):
    """An answer and its score."""

    score: int


class RubricGrader(ModelGrader, Scale):
    """One score for the whole answer; passes at the threshold."""

    type: Literal["rubric"]
    rubric: Rubric
    examples: list[ScoreExample] = Field(default=[], exclude_if=is_unset)

    @model_validator(mode="after")
    def _examples_are_on_the_scale(self) -> Self:
        for place, example in enumerate(self.examples):
            self.refuse_off_scale(example.score, f"examples[{place}].score")
        return self


def _with_text_keys(value: Any) -> Any:
    """Levels by score as text, since JSON has no other keys."""
    if not isinstance(value, dict):
        return value
    return {str(key): text for key, text in value.items()}


class Criterion(Definition):
    """One criterion an answer is scored on. `levels` describes what each score means."""

    name: str = Field(pattern=NAME_PATTERN)
    description: str = ""
    weight: FiniteFloat = Field(default=1.0, ge=0)
    levels: Annotated[dict[str, str], BeforeValidator(_with_text_keys)] = Field(
        default={}, exclude_if=is_unset
    )


class CriteriaExample(Example):
    """An answer and its score on every criterion."""

    scores: dict[str, int]


class CriteriaGrader(ModelGrader, Scale):
    """A score for each criterion; their weighted mean, which evalq computes, passes at the threshold."""

    type: Literal["criteria"]
    rubric: Rubric | None = None
    criteria: Annotated[list[Criterion], NamedCriteria, Field(min_length=1, max_length=30)]
    examples: list[CriteriaExample] = Field(default=[], exclude_if=is_unset)

    @model_validator(mode="after")
    def _criteria_can_be_weighed(self) -> Self:
        names = [criterion.name for criterion in self.criteria]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"criterion {name!r} is there twice; give every criterion a name of its own")
        if not any(criterion.weight for criterion in self.criteria):
            raise ValueError("all weights are 0; give one criterion at least a weight above 0")
        return self

    @model_validator(mode="after")
    def _levels_and_examples_are_on_the_scale(self) -> Self:
        for criterion in self.criteria:
            for level in criterion.levels:
                place = f"a level of criterion {criterion.name!r}"
                if not level.removeprefix("-").isdecimal() or not level.isascii():
                    raise ValueError(f'{place} is {level!r}; write the score it describes, such as "5"')
                self.refuse_off_scale(int(level), place)
        for number, example in enumerate(self.examples):
            if set(example.scores) != {criterion.name for criterion in self.criteria}:
                raise ValueError(
                    f"examples[{number}].scores are not those of the criteria; give one for each"
                )
            for name, score in example.scores.items():
                self.refuse_off_scale(score, f"examples[{number}].scores.{name}")
        return self

    def mean(self, scores: dict[str, int]) -> float:
        """The weighted mean of a score for each criterion."""
        total = sum(criterion.weight for criterion in self.criteria)
        return sum(criterion.weight * scores[criterion.name] for criterion in self.criteria) / total


def _read_categories(value: Any) -> Any:
    """A list of categories becomes a mapping without scores."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        return value
    if len(set(value)) < len(value):
        raise ValueError("a category is there twice; write each once")
    return dict.fromkeys(value)


class CategoryExample(Example):
    """An answer and its category."""

    category: str


class CategoricalGrader(ModelGrader):
    """One of several categories; passes in one of `pass_categories`.

    A category's score counts in the weighted score; without one it is 1 where it passes and 0 elsewhere.
    """

    type: Literal["categorical"]
    rubric: Rubric
    categories: Annotated[dict[str, Proportion | None], BeforeValidator(_read_categories)] = Field(
        min_length=2
    )
    pass_categories: list[str] = Field(min_length=1)
    examples: list[CategoryExample] = Field(default=[], exclude_if=is_unset)

    @model_validator(mode="after")
    def _categories_can_be_told_apart(self) -> Self:
        refuse_mean(self.panel)
        for name in self.categories:
            if not name or name != name.strip() or "=" in name or not name.isprintable():
                raise ValueError(f"{name!r} cannot be a category; write a short name without '='")
        for place, name in enumerate(self.pass_categories):
            self._refuse_unknown(name, f"pass_categories[{place}]")
        for place, example in enumerate(self.examples):
            self._refuse_unknown(example.category, f"examples[{place}].category")
        return self

    def _refuse_unknown(self, name: str, place: str) -> None:
        if name not in self.categories:
            raise ValueError(
                f"{place} is {name!r}, which is not a category; write {' or '.join(self.categories)}"
            )

    def score(self, category: str) -> float:
        """The score of a category."""
        own = self.categories[category]
        if own is not None:
            return own
        return float(category in self.pass_categories)


def _read_yes_or_no(value: Any) -> Any:
    """Accept yes and no: YAML 1.2 has only true and false."""
    if not isinstance(value, str):
        return value
    return {"yes": True, "no": False}.get(value.lower(), value)


class BooleanExample(Example):
    """An answer and the right reply to the question about it."""

    answer: Annotated[bool, BeforeValidator(_read_yes_or_no)]


class BooleanGrader(ModelGrader):
    """Yes or no to a question about the answer; yes passes."""

    type: Literal["boolean"]
    rubric: Rubric = Field(validation_alias=AliasChoices("rubric", "question"))
    examples: list[BooleanExample] = Field(default=[], exclude_if=is_unset)

    @model_validator(mode="after")
    def _answers_have_no_mean(self) -> Self:
        refuse_mean(self.panel)
        return self


class PreferenceExample(Example):
    """Two answers, A and B, and the better one."""

    other: str = Field(min_length=1)
    winner: Literal["A", "B", "TIE"]


class PairwiseGrader(ModelGrader):
    """Compares the answer with another judge's, or with `expected.answer`, in both orders.

    A grader that prefers the first place both times, or the second, has no preference: that is a tie.
    """

    type: Literal["pairwise"]
    against: str = Field(min_length=1)
    rubric: Rubric = Field(default="better_answer", validate_default=True)
    pass_when: Literal["not_worse", "better"] = "not_worse"  # noqa: S105 - a rule, not a password
    examples: list[PreferenceExample] = Field(default=[], exclude_if=is_unset)

    @model_validator(mode="after")
    def _both_answers_are_shown(self) -> Self:
        names = set(rubric_names(self.rubric))
        if names & {"answer", "finding_json"} or len(names & {"answer_a", "answer_b"}) == 1:
            raise ValueError(
                "the rubric shows one answer of two; write {answer_a} and {answer_b}, or neither"
            )
        return self

    @property
    def opponent(self) -> str | None:
        """The judge it is compared with; None for the reference."""
        return None if self.against == REFERENCE else self.against

    def passes(self, score: float) -> bool:
        """True when a score, 1 for a win and one half for a tie, is enough."""
        return score > 0.5 or (score == 0.5 and self.pass_when != "better")  # noqa: S105


ModelGraders = (
    VerdictGrader | RubricGrader | CriteriaGrader | CategoricalGrader | BooleanGrader | PairwiseGrader
)
"""Every grader that asks a model, by its `type`."""
