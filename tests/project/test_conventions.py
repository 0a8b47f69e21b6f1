"""The rules of the house that a machine can check, over every file of the project."""

import ast
import inspect
import os
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from importlib import import_module
from pathlib import Path

import click
import pytest

from evalq import errors
from evalq.cli.main import COMMANDS
from evalq.store.database import named_queries

ROOT = Path(__file__).parents[2]
STORE = ROOT / "evalq" / "store"
MODULES = sorted(path for name in ("evalq", "workers") for path in (ROOT / name).rglob("*.py"))
VAGUE_NAMES = {"utils", "helpers", "common", "misc", "base", "core", "manager", "models"}
SQL = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH|CREATE|ALTER|DROP|TRUNCATE|COPY|GRANT|LOCK)\s")

every_command = pytest.mark.parametrize("name", COMMANDS)


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def nodes(*kinds: type[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """Every node of these kinds in the product, with its file."""
    for path in MODULES:
        yield from ((shown(path), node) for node in ast.walk(parsed(path)) if isinstance(node, kinds))


def documented(tree: ast.Module) -> set[int]:
    """The ids of the constants that are docstrings."""
    bodies = (
        node.body for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    )
    return {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}


def opens_with_one_sentence(path: Path) -> bool:
    sentence = (ast.get_docstring(parsed(path)) or "").split("\n")[0]
    is_one = re.fullmatch(r"[^.]\S*( \S+)*\.", sentence) and ". " not in sentence
    return bool(is_one) and path.read_text("utf-8").startswith('"""')


def test_a_module_opens_with_one_sentence() -> None:
    assert [shown(path) for path in MODULES if not opens_with_one_sentence(path)] == []


def test_a_module_is_short() -> None:
    tests = (ROOT / "tests").rglob("*.py")
    lengths = {shown(path): path.read_text("utf-8").count("\n") for path in (*MODULES, *tests)}
    assert {name: n for name, n in lengths.items() if n > 400} == {}


def test_a_function_is_short() -> None:
    functions = nodes(ast.FunctionDef, ast.AsyncFunctionDef)
    long = [(name, f.name) for name, f in functions if (f.end_lineno or 0) - f.lineno >= 40]  # type: ignore[attr-defined]
    assert long == []


def test_a_module_is_named_for_what_is_in_it() -> None:
    assert [shown(path) for path in MODULES if path.stem in VAGUE_NAMES] == []


def test_no_sql_hides_in_python() -> None:
    # Before there is a database there is nothing to prepare a named query against: it is made in plain sight.
    allowed = {"evalq/engines/postgres.py"}
    found = set()
    for path in MODULES:
        docstrings = documented(parsed(path))
        for node in ast.walk(parsed(path)):
            is_text = (
                isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
            )
            if is_text and SQL.match(node.value):
                found.add(shown(path))
    assert found <= allowed


def test_nothing_is_printed_past_the_command_line() -> None:
    calls = ((file, ast.unparse(node.func)) for file, node in nodes(ast.Call) if isinstance(node, ast.Call))
    assert [file for file, name in calls if name == "print"] == []


def is_broad(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or ast.unparse(kind) in ("Exception", "BaseException") for kind in kinds)


def test_everything_is_caught_in_four_places_only() -> None:
    """Where code that is not ours to trust ends; elsewhere a broad handler raises again."""
    places = {
        "workers/jobs.py",  # the job boundary: what goes wrong becomes the job's outcome
        "workers/pool.py",  # the pool's own boundary: Celery hears of a job that raises, as from any pool
        "evalq/calling/providers/local.py",  # the user's own function
        "evalq/grading/sandbox/inside.py",  # code under test
    }
    handlers = [
        (file, node) for file, node in nodes(ast.ExceptHandler) if isinstance(node, ast.ExceptHandler)
    ]
    broad = {file for file, node in handlers if is_broad(node) and ast.unparse(node.body[-1]) != "raise"}
    assert broad == places


def test_no_one_imports_what_another_module_keeps_to_itself() -> None:
    reaching = [
        f"{file}: {alias.name}"
        for file, node in nodes(ast.ImportFrom)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name.startswith("_")
    ]
    assert reaching == []


def drawn_tree() -> dict[str, str]:
    """Each error's parent as the docstring draws it: four columns a level."""
    parents, path = {}, ["Exception"]
    for line in (errors.__doc__ or "").splitlines():
        if drawn := re.match(r"([│├└─ ]*)([A-Z]\w+)(\s{2,}|$)", line):
            depth = len(drawn[1]) // 4
            parents[drawn[2]] = path[depth]
            path[depth + 1 :] = [drawn[2]]
    return parents


def test_the_errors_are_the_tree_drawn_above_them() -> None:
    classes = [
        item
        for item in vars(errors).values()
        if inspect.isclass(item) and issubclass(item, errors.EvalqError)
    ]
    assert {item.__name__: item.__mro__[1].__name__ for item in classes} == drawn_tree()


def test_the_tree_of_errors_grows_nowhere_else() -> None:
    tree = set(drawn_tree())
    classes = [(file, node) for file, node in nodes(ast.ClassDef) if isinstance(node, ast.ClassDef)]
    strays = {file for file, node in classes if tree & {ast.unparse(base) for base in node.bases}}
    assert strays == {"evalq/errors.py"}


def test_the_exit_codes_are_those_of_the_drawing() -> None:
    drawn = re.findall(r"(\w+) .*\(exit (\d)\)", errors.__doc__ or "")
    assert len(drawn) == 4
    assert [getattr(errors, name).exit_code for name, _ in drawn] == [int(code) for _, code in drawn]


def test_every_named_query_says_what_for() -> None:
    described = re.compile(r"(-- .+\n)*-- .+\.\n")
    assert [name for name, text in named_queries().items() if not described.match(text)] == []


@pytest.mark.parametrize("path", sorted(STORE.glob("queries/*.sql")), ids=lambda path: path.stem)
def test_a_query_is_used_by_the_module_beside_its_file(path: Path) -> None:
    text = path.read_text("utf-8")
    module = parsed(STORE / f"{path.stem}.py")
    used = {node.value for node in ast.walk(module) if isinstance(node, ast.Constant)}
    assert re.match(r"-- .+\.\n\n-- \w+ --\n", text), "a file of queries opens with one sentence"
    assert [name for name in re.findall(r"^-- (\w+) --$", text, re.MULTILINE) if name not in used] == []


def query_calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call that runs a statement on a connection or a database, with its file."""
    for file, node in nodes(ast.Call):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        receiver = ast.unparse(node.func.value).split(".")[-1]
        name = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
        is_named = name in named_queries() or receiver in ("db", "tx", "connection", "_db")
        if is_named and node.func.attr in ("row", "rows", "run", "copy", "script"):
            yield file, node


def test_every_query_asked_for_by_name_is_there() -> None:
    asked = [call.args[0] for _, call in query_calls()]
    names = {argument.value for argument in asked if isinstance(argument, ast.Constant)}
    assert len(names) > 100
    assert names <= set(named_queries())


def test_no_query_is_run_outside_the_store() -> None:
    assert {file for file, _ in query_calls() if not file.startswith("evalq/store/")} == set()


def test_no_row_leaves_the_store() -> None:
    imports = [(file, node) for file, node in nodes(ast.ImportFrom) if isinstance(node, ast.ImportFrom)]
    of_rows = {
        file
        for file, node in imports
        if node.module == "evalq.store.database" and "Row" in {name.name for name in node.names}
    }
    assert [file for file in sorted(of_rows) if not file.startswith("evalq/store/")] == []


def options_of(command: click.Command) -> Iterator[click.Option]:
    """Every option of a command and of its subcommands."""
    yield from (param for param in command.params if isinstance(param, click.Option))
    if isinstance(command, click.Group):
        for sub in command.commands.values():
            yield from options_of(sub)


@every_command
def test_a_command_can_be_imported_and_has_help(name: str) -> None:
    place, line = COMMANDS[name]
    module, _, attribute = place.partition(":")
    command = getattr(import_module(module), attribute)
    assert isinstance(command, click.Command)
    assert command.name == name
    assert command.get_short_help_str(200)
    assert line.endswith(".")
    assert [option.opts for option in options_of(command) if not option.help] == []


@every_command
def test_every_option_of_a_command_is_named_plainly(name: str) -> None:
    module, _, attribute = COMMANDS[name][0].partition(":")
    command = getattr(import_module(module), attribute)
    for option in command.params:
        if isinstance(option, click.Option):
            assert any(re.fullmatch(r"--[a-z][a-z-]+|-o", flag) for flag in option.opts), option.name


def test_the_readme_shows_the_commands_one_begins_with() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    begun_with = [
        "evalq init",
        "evalq bake-off",
        "evalq inspect",
        "evalq web",
        "evalq keys set",
    ]
    assert [command for command in ("make demo", "make test", *begun_with) if command not in text] == []


def test_the_readme_is_short_enough_to_read() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) < 150


def project_files() -> Iterator[Path]:
    """Every file that is or will be committed: what .gitignore does not name."""
    ignored = [".git", *(line.rstrip("/") for line in (ROOT / ".gitignore").read_text("utf-8").split())]
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if not is_ignored(name, ignored)]
        yield from (Path(folder, name) for name in files if not is_ignored(name, ignored))


def is_ignored(name: str, patterns: list[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def test_no_file_names_a_place_on_one_machine() -> None:
    machine_path = re.compile(rb"(?<![\w.])/(work|root)/")
    assert [shown(path) for path in project_files() if machine_path.search(path.read_bytes())] == []


def test_only_text_that_can_be_read_is_kept_beside_small_pictures() -> None:
    for path in project_files():
        if path.parent == ROOT / "docs" / "pictures" and path.suffix == ".png":
            assert path.stat().st_size <= 150_000, shown(path)
            continue
        assert "\x00" not in path.read_text("utf-8"), shown(path)
