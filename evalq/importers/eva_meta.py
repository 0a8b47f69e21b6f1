"""An eva prompt's meta.yml: what it is, what it takes, when it should be used, and how far it has come."""

from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from evalq.definitions.located import Located
from evalq.definitions.validation import validate

Status = Literal["draft", "tested", "ready"]
STATUSES: tuple[Status, ...] = get_args(Status)


def _is_said(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty; write a text")
    return text


def _as_text(value: Any) -> Any:
    """A version 1.0 is a number to YAML and a text to everybody else."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


Text = Annotated[str, AfterValidator(_is_said)]
Mark = Annotated[Text, BeforeValidator(_as_text)]


class _Lenient(BaseModel):
    """What eva's own tools and others may write more into."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class Input(_Lenient):
    """A variable of the prompt."""

    name: Text
    required: bool = False


class Promotion(_Lenient):
    """Other gates than the usual ones."""

    min_uses: int | None = Field(default=None, ge=0)
    require_eval: bool | None = None


class Standing(_Lenient):
    """How far a prompt has come, and what it asks for to go further."""

    status: Status
    promotion: Promotion = Promotion()


class PromptMeta(_Lenient):
    """What an evaluation needs of it; nothing is required."""

    summary: str = ""
    description: str = ""
    triggers: list[Text] = Field(default=[])
    not_for: list[Text] = Field(default=[])
    inputs: list[Input] = Field(default=[])
    model: Text | None = None

    @property
    def says(self) -> str:
        """What the prompt is for: its description, else its summary."""
        return self.description.strip() or self.summary.strip()


class FullMeta(PromptMeta):
    """What eva demands of it."""

    id: Text
    title: Text
    summary: Text
    status: Status
    version: Mark
    created: Mark
    updated: Mark
    tags: list[Text] = Field(default=[])
    notes: Any = None
    promotion: Promotion = Promotion()


def read_meta(located: Located) -> PromptMeta:
    """What an evaluation needs."""
    return validate(PromptMeta, without_nulls(located))


def without_nulls(located: Located) -> Located:
    """A key without a value is one that is left out; a file without anything is an empty mapping."""
    value = {} if located.value is None else located.value
    if not isinstance(value, dict):
        return located
    return Located(
        {key: part for key, part in value.items() if part is not None}, located.lines, located.file
    )
