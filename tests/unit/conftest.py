"""What the unit tests share."""

import pytest
from written_context import WrittenContext


@pytest.fixture
def context() -> type[WrittenContext]:
    """Makes contexts: `context("VALID", "INVALID")`."""
    return WrittenContext
