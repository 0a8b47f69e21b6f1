"""What the README and docs/ show can be pasted: commands parse, files load, links lead somewhere."""

import ast
import inspect
import re
import shlex
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

import evalq
from evalq.cli.main import COMMANDS
from evalq.cli.main import evalq as program
from evalq.definitions.definition import validate
from evalq.definitions.evalset import EvalSet
from evalq.definitions.files import read_csv_cases
from evalq.definitions.located import Located
from evalq.definitions.task import TaskConfig
from evalq.definitions.yaml_text import load_yaml
from evalq.settings import Settings

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/reference").glob("*.md")),
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://)([^)\s#]*)(?:#([^)\s]+))?\)")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
READERS: dict[str, Any] = {"tasks/": TaskConfig, "evalq.yaml": Settings}


def blocks(language: str) -> list[Any]:
    return [
        pytest.param(text, id=f"{path.stem}-{number}")
        for path in PAGES
        for number, (kind, text) in enumerate(BLOCK.findall(path.read_text("utf-8")))
        if kind == language
    ]


def commands_in(script: str) -> Iterator[list[str]]:
    """The words of each command, without variables set before it, pipes and redirections."""
    for line in script.splitlines():
        words = shlex.split(line, comments=True)
        for part in " ".join(shlex.quote(word) for word in words).split(" '&&' "):
            command = shlex.split(part.split(" '|' ")[0].split(" '>' ")[0])
            if command and command[0] != "export":
                yield command


def parse(command: click.Command, words: list[str]) -> None:
    """Refuse an option that the command does not have, and a subcommand that is not there."""
    context = click.Context(command)
    _, rest, _ = command.make_parser(context).parse_args(list(words))
    if isinstance(command, click.Group) and rest and command is not program:
        found = command.get_command(context, rest[0])
        assert found is not None, f"{command.name} has no {rest[0]}"
        parse(found, rest[1:])


@pytest.mark.parametrize("script", blocks("sh"))
def test_a_shown_command_is_one(script: str) -> None:
    for words in commands_in(script):
        if words[0] == "evalq":
            found = program.get_command(click.Context(program), words[1])
            assert found is not None, words
            parse(found, words[2:])
        elif words[0] == "make":
            assert set(words[1:]) <= TARGETS


def test_a_wrong_option_would_be_found() -> None:
    with pytest.raises(click.NoSuchOption):
        parse(program.get_command(click.Context(program), "bake-off"), ["--jugdes", "a"])  # type: ignore[arg-type]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_a_command_named_in_a_sentence_is_there(page: Path) -> None:
    named = re.findall(r"`evalq ([a-z][a-z-]+)", page.read_text("utf-8"))
    assert [name for name in named if name not in COMMANDS] == []


@pytest.mark.parametrize("text", blocks("yaml"))
def test_a_shown_file_loads(text: str) -> None:
    head = re.match(r"# (\S+)", text)
    for part in re.split(r"^# (?=tasks/|evalsets/)", text, flags=re.MULTILINE):
        assert yaml.safe_load(part.partition("\n")[2] if part and head else part) is not False
    name = head[1].rstrip(",") if head else ""
    if name.startswith("evalsets/"):
        located = load_yaml(text, name)
        validate(EvalSet, Located({"name": "shown", "cases": located.value}, {}, name))
    for prefix, model in READERS.items():
        if name.startswith(prefix):
            validate(model, load_yaml(text, name))


@pytest.mark.parametrize("text", blocks("csv"))
def test_a_shown_table_has_cells_under_every_column(text: str) -> None:
    if text.startswith("id,"):
        assert all(case["id"] for _, case in read_csv_cases(text, "docs"))
    assert len({line.count(",") for line in text.splitlines()}) == 1


def calls_of_evalq(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("evalq."):
            yield node


@pytest.mark.parametrize("text", blocks("python"))
def test_a_shown_program_calls_what_is_there(text: str) -> None:
    tree = ast.parse(text)
    for call in calls_of_evalq(tree):
        function = getattr(evalq, ast.unparse(call.func).removeprefix("evalq."))
        given = {keyword.arg: None for keyword in call.keywords}
        inspect.signature(function).bind(*call.args, **given)
    for node in ast.walk(tree):
        is_result = isinstance(node, ast.Attribute) and ast.unparse(node.value) == "result"
        assert not is_result or hasattr(evalq.BakeOff, node.attr), ast.unparse(node)


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    text = BLOCK.sub("", page.read_text("utf-8"))
    return {slug_of(title) for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def slug_of(title: str) -> str:
    plain = unicodedata.normalize("NFKD", re.sub(r"[`*]", "", title)).lower()
    return re.sub(r"[^\w\s-]", "", plain).strip().replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = BLOCK.sub("", page.read_text("utf-8"))
    for target, anchor in LINK.findall(text):
        found = (page.parent / target).resolve() if target else page
        assert found.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors_of(found), f"{page.name}: {target}#{anchor}"


def test_every_page_is_in_the_site() -> None:
    listed = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in PAGES if path.name != "README.md"}
    assert set(listed) == pages
    assert len(listed) == len(set(listed))
