from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from evalq.definitions.evalset import EvalCase
from evalq.definitions.judge import JudgeConfig, Price

JUDGE: TypeAdapter[JudgeConfig] = TypeAdapter(JudgeConfig)


@pytest.mark.parametrize(
    ("fields", "model", "vendor", "gate"),
    [
        ({"provider": "simulated", "model": "m", "family": "f"}, "m", "f", "simulated/-/m"),
        ({"provider": "openai", "model": "m"}, "m", "openai", "openai/OPENAI_API_KEY/m"),
        (
            {"provider": "openai", "model": "m", "base_url": "http://localhost:8000/v1"},
            *("m", "localhost:8000", "openai/-/localhost:8000/m"),
        ),
        (
            {"provider": "openai", "model": "m", "base_url": "http://localhost:8000/v1", "family": "qwen"},
            *("m", "qwen", "openai/-/localhost:8000/m"),
        ),
        ({"provider": "python", "callable": "a.b:c"}, "a.b:c", "python", "python/-/a.b:c"),
        ({"provider": "command", "command": ["x", "-y"], "api_key_env": "K"}, "x", "command", "command/K/x"),
    ],
)
def test_a_judge_knows_its_model_vendor_and_gate(
    fields: dict[str, Any], model: str, vendor: str, gate: str
) -> None:
    judge = JUDGE.validate_python({"name": "j", **fields})
    assert (judge.model, judge.vendor, judge.gate) == (model, vendor, gate)


def test_dollars_keep_the_digits_that_were_written() -> None:
    price = Price.model_validate({"input": 0.1, "output": "2.50"})
    assert (str(price.input), str(price.output)) == ("0.1", "2.50")


@pytest.mark.parametrize("dollars", ["abc", True, [], -1, "NaN", float("inf")])
def test_what_is_no_amount_of_dollars_is_refused(dollars: Any) -> None:
    with pytest.raises(ValidationError):
        Price.model_validate({"input": dollars, "output": 1})


def test_a_stratum_is_named_by_its_values() -> None:
    case = EvalCase(id="a", inputs={}, stratum={"type": "positive_subtle", "language": "VN"})
    assert case.stratum_name == "positive_subtle_VN"
