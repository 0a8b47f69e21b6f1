"""What every judge has, whatever it is: a name, a price, limits, and the gate its calls pass."""

from decimal import Decimal, InvalidOperation
from typing import Annotated

from pydantic import BeforeValidator, Field, FiniteFloat

from evalq.definitions.definition import NAME_PATTERN, Definition

Share = Annotated[FiniteFloat, Field(ge=0, le=1)]


def _decimal(value: object) -> object:
    """Dollars are decimals from the text on: a float in YAML is read by its shortest form."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return value
    try:
        return Decimal(str(value))
    except InvalidOperation:
        raise ValueError("not a number of dollars; write a number such as 2.50") from None


Dollars = Annotated[Decimal, BeforeValidator(_decimal), Field(ge=0)]


class Price(Definition):
    """Dollars per million tokens."""

    input: Dollars
    output: Dollars


class Judged(Definition):
    """A system on trial. Limits left out are not enforced unless the provider's own headers name them."""

    name: str = Field(pattern=NAME_PATTERN)
    price: Price | None = None
    api_key_env: str | None = None
    rpm: FiniteFloat | None = Field(default=None, gt=0)
    input_tpm: int | None = Field(default=None, gt=0)
    output_tpm: int | None = Field(default=None, gt=0)
    concurrency: int | None = Field(default=None, gt=0)

    @property
    def vendor(self) -> str:
        """Whose model it is, for the same-provider flag on agreement."""
        return self.provider  # type: ignore[attr-defined, no-any-return]

    @property
    def key_name(self) -> str | None:
        """The environment variable that holds its key, if it needs one."""
        return self.api_key_env

    @property
    def server(self) -> str:
        """Which server it is on, where that is not implied by the provider."""
        return ""

    @property
    def gate(self) -> str:
        """The one limit all its calls share across the fleet: provider, key, server, model."""
        parts = (self.provider, self.key_name or "-", self.server, self.model)  # type: ignore[attr-defined]
        return "/".join(part for part in parts if part)
