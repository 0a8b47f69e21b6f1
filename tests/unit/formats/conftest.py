"""Makes prompt folders: a good one, with whatever a test writes over it."""

from collections.abc import Callable
from pathlib import Path

import pytest

META = """\
id: tidy
title: Tidy
summary: Tidies a function.
status: draft
version: 1.0
created: 2026-01-01
updated: 2026-01-02
inputs:
  - {name: source, required: true}
  - {name: limits}
description: Tidies one function. Use when asked to tidy.
triggers: [tidy this]
not_for: [explaining code]
"""
PROMPT = "<prompt>\n{{source}}\nLimits: {{limits}}\n</prompt>\n"
EVAL = """\
defaults: {model: claude-opus-4-7, timeout_s: 60}
cases:
  - name: happy
    inputs_from: examples/happy
    assert:
      - contains: "<diff>"
      - max_tokens: 2000
    rubric: Score the diff from 1 to 5.
    judge: {model: claude-haiku-4-5-20251001, pass_threshold: 3}
  - name: empty
    inputs: {source: "", limits: none}
    assert:
      - contains: nothing
triggering:
  judge: {model: claude-haiku-4-5-20251001}
  should_match: [tidy foo.py]
  should_not_match: [explain foo.py]
"""
INPUTS = "source: |\n  def f(): pass\n"


@pytest.fixture
def new_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes `prompts/NAME` in a repository of its own, with other contents for some files."""
    monkeypatch.chdir(tmp_path)

    def write(name: str = "tidy", **contents: str) -> Path:
        folder = tmp_path / "prompts" / name
        (folder / "examples/happy").mkdir(parents=True)
        files = {"meta": META.replace("id: tidy", f"id: {name}"), "prompt": PROMPT, "eval": EVAL}
        for part, text in {**files, **contents}.items():
            (folder / f"{part}.{'xml' if part == 'prompt' else 'yml'}").write_text(text, "utf-8")
        (folder / "examples/happy/inputs.yml").write_text(INPUTS, "utf-8")
        return folder.relative_to(tmp_path)

    return write
