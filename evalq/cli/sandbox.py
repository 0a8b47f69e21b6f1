"""The table of `evalq doctor --sandbox`: every escape tried alone and four at once, contained or not."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from evalq.cli.json_output import json_text

if TYPE_CHECKING:
    from evalq.sandbox.availability import Trial
    from evalq.sandbox.canaries import Finding


def show_escapes(*, as_json: bool) -> int:
    """Try them and print what became of them; 5 when one was not contained, or there is no sandbox."""
    from evalq.sandbox.availability import hold_trial
    from evalq.sandbox.canaries import AT_ONCE
    from evalq.sandbox.refusal import unavailable

    trial = hold_trial(os.environ, rounds=(1, AT_ONCE))
    if as_json:
        click.echo(json_text(_document(trial)))
    elif trial.trouble:
        raise unavailable(trial.trouble)
    else:
        _print(trial)
    return 0 if trial.is_well else 5


def _document(trial: "Trial") -> dict[str, Any]:
    return {
        "schema": "evalq.doctor.sandbox/1",
        "ok": trial.is_well,
        "finding": trial.finding,
        "isolation": "strong",
        "escapes": [
            {
                "name": alone.escape.name,
                "tried": alone.escape.tried,
                "contained": alone.contained and together.contained,
                "ms": alone.wall_ms,
                "alone": _result(alone),
                "four_at_once": _result(together),
            }
            for alone, together in _pairs(trial)
        ],
    }


def _result(finding: "Finding") -> dict[str, Any]:
    return {"contained": finding.contained, "evidence": finding.evidence, "ms": finding.wall_ms}


def _pairs(trial: "Trial") -> "Iterator[tuple[Finding, Finding]]":
    """Each escape as it went alone and as it went among others."""
    return zip(*trial.rounds.values(), strict=True) if trial.rounds else iter(())


def _print(trial: "Trial") -> None:
    from evalq.cli.table import print_table

    print_table(
        ("escape", "tried", "alone", "ms", "four at once", "ms", "what came of it"), table_rows(trial)
    )
    step = "evalq check" if trial.is_well else "evalq doctor --sandbox --json"
    click.echo(f"{trial.finding}\nnext  {step}", err=True)


def table_rows(trial: "Trial") -> list[tuple[str, ...]]:
    """One line per escape; the evidence is that of the worse round."""
    return [
        (
            alone.escape.name,
            alone.escape.tried,
            _word(alone),
            str(alone.wall_ms),
            _word(together),
            str(together.wall_ms),
            (together if alone.contained else alone).evidence,
        )
        for alone, together in _pairs(trial)
    ]


def _word(finding: "Finding") -> str:
    return "contained" if finding.contained else "ESCAPED"
