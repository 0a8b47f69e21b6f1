"""Dollars are exact, finite and bounded wherever they come in."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner

from evalq.cli.main import evalq as program
from evalq.definitions.money import MAX_USD, read_usd
from evalq.errors import InputError
from evalq.settings import load_settings

HOSTILE = [
    "nan",
    "NaN",
    "sNaN",
    "inf",
    "-Infinity",
    "1e400",
    "1e9",
    "-1",
    "-0.01",
    "much",
    "",
    "2,50",
    "0x10",
]
AUDIT = ["bake-off", "--task", "knowledge_audit", "--eval-set", "dev-93", "--dry-run", "--max-cost-usd"]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_not_an_amount_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(ValueError, match=r"write for instance 2\.50|give 0 to 99999999 dollars"):
        read_usd(text)


@pytest.mark.parametrize("text", [text for text in HOSTILE if text])
def test_a_cap_that_is_not_an_amount_is_a_clear_error(text: str) -> None:
    done = CliRunner().invoke(program, [*AUDIT, text])
    assert done.exit_code == 2
    assert "--max-cost-usd" in done.output
    assert "dollars" in done.output


@pytest.mark.parametrize("text", HOSTILE)
def test_a_setting_that_is_not_an_amount_is_a_clear_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "evalq.yaml").write_text(json.dumps({"max_cost_usd": text}))
    with pytest.raises(InputError, match=r"evalq\.yaml"):
        load_settings(tmp_path, {})


@pytest.mark.parametrize("amount", ["0", "0.0001", "2.50", "1e-30", str(MAX_USD)])
def test_an_amount_is_read_exactly(amount: str) -> None:
    assert read_usd(amount) == Decimal(amount)
