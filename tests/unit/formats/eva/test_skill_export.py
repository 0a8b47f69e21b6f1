"""A prompt as a skill: only a ready one, with a description that a skill may have."""

from pathlib import Path

import pytest

from evalq.errors import InputError, Refused
from evalq.formats.eva.prompt import PromptFolder
from evalq.formats.eva.skill_export import skill_folder, skill_text
from evalq.formats.skills.skill_files import read_skill

META = """\
id: greet
title: Greet
summary: Greets
status: ready
version: 1.0
created: 2026-01-01
updated: 2026-01-01
model: opus-4.7
description: "Greets: a person.\\n Use when someone comes."
"""


def make(root: Path, meta: str = META) -> PromptFolder:
    folder = root / "prompts" / "greet"
    folder.mkdir(parents=True)
    (folder / "meta.yml").write_text(meta)
    (folder / "prompt.xml").write_text("<p>Greet {{who}}.</p>\n")
    return PromptFolder(folder, root)


def test_a_ready_prompt_becomes_a_skill_that_can_be_read(tmp_path: Path) -> None:
    prompt = make(tmp_path)
    text = skill_text(prompt)
    assert text.startswith(
        '---\nname: "greet"\ndescription: "Greets: a person. Use when someone comes."\nmetadata:\n'
    )
    assert (
        '  version: "1.0"\n  source_model: "opus-4.7"\n  source: "eva-hq"\n---\n\n<p>Greet {{who}}.</p>\n'
        in text
    )
    target = skill_folder(prompt)
    target.mkdir(parents=True)
    (target / "SKILL.md").write_text(text)
    skill = read_skill(target, tmp_path).skill
    assert (skill.name, skill.description) == ("greet", "Greets: a person. Use when someone comes.")


def test_only_a_ready_prompt_is_exported(tmp_path: Path) -> None:
    prompt = make(tmp_path, META.replace("ready", "tested"))
    with pytest.raises(Refused, match="greet is tested: only a ready prompt is exported; promote it"):
        skill_text(prompt)
    assert "Use when" in skill_text(prompt, force=True)


@pytest.mark.parametrize("description", ["", "a <b>", "x" * 1025])
def test_a_description_that_no_skill_may_have_is_refused(tmp_path: Path, description: str) -> None:
    lines = [line for line in META.splitlines() if not line.startswith("description")]
    prompt = make(tmp_path, "\n".join([*lines, f'description: "{description}"']) + "\n")
    with pytest.raises(
        InputError, match=r"meta.yml:9: no description that a skill may have; write one of at most"
    ):
        skill_text(prompt)
