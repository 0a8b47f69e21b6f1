"""On a terminal of 80 columns every view fits, no judge's row is wrapped, and no answer moves the cursor."""

import os
import re
import threading
import unicodedata
from typing import Any

import pytest
from patience import PATIENCE_S
from rich.cells import cell_len

COLUMNS = 80
BAKE = ("bake-off", "--task", "capitals", "--eval-set", "dev-12", "--judges")
LONG = "a-model-with-quite-a-long-name-2026-11-18.short"
HOSTILE = """\
def answer(inputs):
    return "\\x1b[2J\\x1b]8;;http://evil\\x07 \\x9b31m \\u202e \\r \\x00 [bold]red[/bold]" + "日本 " * 90
"""
# What rich and click write themselves: styles, and of the live display, moves within its own lines.
OUR_STYLES = re.compile(r"\x1b\[(?:\d*(?:;\d+)*m|\?25[lh]|\d*[AK]|1G)")
OUR_MOVES = re.compile(r"\r(?=\x1b\[2?K|\n)")


@pytest.fixture(scope="module")
def baked(served: Any) -> Any:
    """A project with two bake-offs: good and bad judges, a silent one, one that attacks the terminal."""
    settings = (served.folder / "evalq.yaml").read_text("utf-8")
    more = f'  hostile: {{provider: python, callable: "attack:answer"}}\n  "{LONG}":\n'
    more += (
        "    {provider: simulated, model: long, accuracy: 0.5, time_scale: 0, price: {input: 1, output: 5}}\n"
    )
    served.write("evalq.yaml", settings + more)
    served.write("attack.py", HOSTILE)
    for _ in range(2):
        served.bake(*BAKE, f"good,poor,mute,hostile,{LONG}", code=3)
    return served


def capture(project: Any, *arguments: str) -> list[str]:
    """The lines that a command shows on a terminal of 80 columns, without our styles."""
    ours, theirs = os.openpty()
    heard = bytearray()

    def listen() -> None:
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the last process that held the terminal has ended
                return
            if not piece:
                return
            heard.extend(piece)

    listener = threading.Thread(target=listen)
    environ = {**project.environ, "COLUMNS": str(COLUMNS), "LINES": "40", "TERM": "xterm-256color"}
    with os.fdopen(theirs, "wb", buffering=0) as terminal:
        listener.start()
        command = project.forks.start(
            ["-m", "evalq", *arguments], cwd=project.folder, env=environ, stdout=terminal, stderr=terminal
        )
        code = command.wait(PATIENCE_S)
    listener.join(PATIENCE_S)
    os.close(ours)
    assert code is not None
    text = OUR_STYLES.sub("", OUR_MOVES.sub("", bytes(heard).decode().replace("\r\n", "\n")))
    return text.splitlines()


def controls(lines: list[str]) -> list[str]:
    """What a terminal would obey."""
    return [c for c in "".join(lines) if unicodedata.category(c) in ("Cc", "Cs") or c in "\u202e\u2066"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", "1"),
        ("inspect", "1", "--show-failures"),
        ("inspect", "1", "--disagreements"),
        ("inspect", "1", "--diff", "good", "hostile"),
        ("inspect", "1/hostile"),
        ("inspect", "1", "--kappa"),
        ("inspect", "1", "--case", "c01"),
        ("compare", "1", "2"),
        ("compare", "1/good", "1/poor"),
        ("runs",),
        ("report", "1"),
        ("bake-off", "--help"),
        ("--help",),
    ],
    ids=" ".join,
)
def test_every_view_fits_eighty_columns(baked: Any, arguments: tuple[str, ...]) -> None:
    lines = capture(baked, *arguments)
    assert len(lines) > 2
    assert [line for line in lines if cell_len(line) > COLUMNS] == []
    assert controls(lines) == []


def test_the_table_of_a_bake_off_has_one_row_a_judge_and_ends_with_what_to_do(baked: Any) -> None:
    lines = capture(baked, *BAKE, f"good,poor,mute,{LONG}", "--display", "none")
    assert [line for line in lines if cell_len(line) > COLUMNS] == []
    head = next(place for place, line in enumerate(lines) if line.startswith("#  judge"))
    rows = lines[head + 2 : head + 6]
    assert [row.split()[0] for row in rows] == ["1", "2", "3", "–"]
    assert all(re.search(r"\d$", row) for row in rows)
    said = "\n".join(lines)
    assert re.search(r"evalq report \d+", said)
    assert "evalq web" in said
    assert re.search(r"^(Ship|Not decidable|Take)", said, re.MULTILINE)
