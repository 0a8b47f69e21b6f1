"""A bake-off as a person would meet it: four judges ranked, one tie, one judge that answered nothing."""

import io
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from rich.console import Console, RenderableType

from evalq.results import (
    Agreement,
    BakeOffResult,
    Calls,
    Comparison,
    JudgeProgress,
    Progress,
    Rate,
    RunResult,
)


@pytest.fixture
def hostile() -> str:
    """What a model may answer to take over a terminal: a link, markup, colours, a reversed line."""
    return "\x1b]8;;http://evil\x07[bold]x[/bold]\x9b31m\u202e\u2066\ud800\r\x00\x7f"


@pytest.fixture
def forbidden() -> frozenset[str]:
    """The characters of it that must never reach one."""
    return frozenset("\x1b\x07\x9b\u202e\u2066\ud800\r\x00\x7f")


def _run(judge: str, vendor: str, n_pass: int, ci: tuple[float, float], cost: str, p95: int) -> RunResult:
    return RunResult(
        run_id=900 + n_pass,
        judge=judge,
        vendor=vendor,
        n_cases=93,
        n_pass=n_pass,
        n_fail=93 - n_pass,
        n_error=0,
        accuracy=n_pass / 93,
        ci_low=ci[0],
        ci_high=ci[1],
        ci_method="wilson",
        p50_latency_ms=p95 // 2,
        p95_latency_ms=p95,
        total_cost_usd=Decimal(cost),
        judging_cost_usd=Decimal(cost) - Decimal("0.0575"),
        grading_cost_usd=Decimal("0.0575"),
        retries=0,
        per_stratum={
            "positive_explicit_EN": Rate(18, n_pass / 93, 0.6, 0.99),
            "positive_subtle_VN": Rate(7, n_pass / 100, 0.2, 0.9),
            "negative_DE": Rate(0, None, None, None),
        },
    )


def _broken() -> RunResult:
    return replace(
        _run("gemini-2.5-flash", "google", 0, (0, 0), "0.0575", 510),
        n_fail=0,
        n_error=93,
        accuracy=None,
        ci_low=None,
        ci_high=None,
        total_cost_usd=Decimal(0),
        judging_cost_usd=Decimal(0),
        grading_cost_usd=Decimal(0),
        errors={"empty": 93},
        per_stratum={},
        excluded="93/93 empty outputs",
    )


@pytest.fixture
def result() -> BakeOffResult:
    return BakeOffResult(
        id=142,
        task="knowledge_audit",
        eval_set="dev-93",
        scorer="llm_judge",
        grader="sonnet-4.6",
        seed=7,
        samples=1,
        state="concluded",
        spent_usd=Decimal("0.9700"),
        cap_usd=Decimal(5),
        saved_usd=Decimal("0.41"),
        calls=Calls(558, 558, 0, 31),
        runs=(
            _run("grok-4.3", "xai", 77, (0.739, 0.891), "0.1953", 1840),
            _run("opus-4.7", "anthropic", 74, (0.704, 0.866), "0.5500", 2110),
            _run("sonnet-4.6", "anthropic", 56, (0.500, 0.696), "0.1647", 1320),
            _run("gpt-5.4-mini", "openai", 50, (0.437, 0.636), "0.0600", 980),
            _broken(),
        ),
        comparisons=(
            Comparison("grok-4.3", "opus-4.7", 93, 0.032, -0.045, 0.11, 0.5, 0.5, False),
            Comparison("sonnet-4.6", "grok-4.3", 93, -0.226, -0.34, -0.13, 0.0001, 0.0003, True),
            Comparison("grok-4.3", "gpt-5.4-mini", 93, 0.29, 0.19, 0.41, 0.0001, 0.0003, True),
            Comparison("opus-4.7", "sonnet-4.6", 93, 0.194, 0.1, 0.3, 0.0001, 0.0003, True),
        ),
        kappa=(
            Agreement("grok-4.3", "opus-4.7", 93, 0.41, 0.55, False),
            Agreement("sonnet-4.6", "opus-4.7", 93, 0.66, 0.70, False, "same_provider"),
        ),
        warnings=("1 judge incomplete: exit 3",),
        next=("evalq inspect 142 --disagreements", "evalq report 142 --html", "evalq resume 142"),
        n_jobs=465,
        n_done=465,
        prices_as_of="2026-11-01",
    )


def _judge(judge: str, done: int, n_pass: int, n_fail: int, cost: str, **more: Any) -> JudgeProgress:
    facts = {"n_error": 0, "p95_latency_ms": 1840, "retries": 0, "rpm": 52.0, **more}
    return JudgeProgress(judge, 93, done, n_pass, n_fail, cost_usd=Decimal(cost), **facts)


@pytest.fixture
def progress() -> Progress:
    return Progress(
        bakeoff_id=142,
        task="knowledge_audit",
        eval_set="dev-93",
        state="running",
        started_at=datetime(2026, 11, 15, 12, 1, 50, tzinfo=UTC),
        now=datetime(2026, 11, 15, 12, 4, 31, tzinfo=UTC),
        cap_usd=Decimal(5),
        spent_usd=Decimal("0.74"),
        reserved_usd=Decimal("0.02"),
        judges=(
            _judge("grok-4.3", 61, 51, 10, "0.13"),
            _judge("opus-4.7", 44, 29, 15, "0.39", retries=1, rpm=29.0, p95_latency_ms=2110),
            _judge("sonnet-4.6", 70, 42, 28, "0.24", note="waiting 8 s: the provider asked to slow down"),
            _judge("gpt-5.4-mini", 93, 50, 43, "0.10", rpm=0.0),
            _judge(
                "gemini-2.5-flash",
                12,
                0,
                0,
                "0",
                n_error=12,
                retries=12,
                rpm=0.0,
                p95_latency_ms=510,
                broken="12/12 empty outputs",
            ),
        ),
        cached_verdicts=31,
        graded_findings=100,
    )


@pytest.fixture
def show() -> Callable[..., str]:
    """Prints a renderable as a terminal without colours would show it."""

    def render(renderable: RenderableType, width: int = 100, *, colours: bool = False) -> str:
        console = Console(
            file=io.StringIO(), width=width, no_color=not colours, force_terminal=colours, _environ={}
        )
        console.print(renderable)
        output = console.file
        assert isinstance(output, io.StringIO)
        return output.getvalue()

    return render
