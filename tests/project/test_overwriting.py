"""No command replaces or removes a file that evalq did not write, unless --force is given."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest
from commands import walk_commands

from evalq.cli.main import evalq, run
from evalq.definitions.ownership import is_own_document, refuse_foreign
from evalq.errors import InputError
from evalq.formats.suite.report_files import archive, write_results

PRECIOUS = "written by hand, nowhere else\n"
EVAL_YAML = """\
tests:
  - {id: ask, input: Sum the column, assert: [{type: trigger-judge, skill: sums}]}
"""
TABLE = "question,answer\nHow many?,two\n"
TASK = "name: t\nsystem_prompt: ''\nuser_template: '{text}'\ngraders: [{type: exact_match}]\nmax_tokens: 9\n"
SUITE = """\
eval_suite:
  name: s
  evals:
    - regression_eval:
        id: r
        current: {input: {type: prompt, content: hi}}
        baseline: {output: hi}
        comparison: {type: exact}
"""
META = """\
{id: greet, title: G, summary: G, status: ready, version: 1.0.0, created: 2026-01-01, updated: 2026-01-01,
 description: Greets. Use when someone comes.}
"""


@dataclass(frozen=True)
class Writer:
    """A command line, and the file of the user that it would hit."""

    args: str
    victim: str


WRITERS = [
    Writer("transpile EVAL.yaml", "evals.json"),
    Writer("transpile EVAL.yaml --run-eval", "evals.json"),
    Writer("transpile EVAL.yaml --compat agentv", "evals.json"),
    Writer("transpile EVAL.yaml -d out", "out/evals.json"),
    Writer("eva export-skill prompts/greet", "dist/skills/greet/SKILL.md"),
    Writer("suite create made --capability c", "made/capability/c.yaml"),
    Writer("import EVAL.yaml --task x --eval-set y", "tasks/x.yaml"),
    Writer("import EVAL.yaml --task x --eval-set y", "evalsets/x/y.yaml"),
    Writer("init x", "tasks/x.yaml"),
    Writer("init x --from cases.csv", "evalsets/x/dev.yaml"),
    Writer("ingest rows.csv --task tasks/t.yaml -o mine.yaml --yes --expected answer", "mine.yaml"),
    Writer("bake-off --task t --eval-set s --judges sim -o mine.txt", "mine.txt"),
    Writer("demo -o mine.txt", "mine.txt"),
    Writer("resume 1 -o mine.txt", "mine.txt"),
    Writer("watch 1 -o mine.txt", "mine.txt"),
    Writer("retry 1 -o mine.txt", "mine.txt"),
    Writer("score --run-id last --rescore -o mine.txt", "mine.txt"),
    Writer("gate suite.yaml --report mine.md", "mine.md"),
    Writer("gate last --report mine.md", "mine.md"),
    Writer("report 1", "evalq-report-1.html"),
    Writer("report suite-1", "evalq-report-suite-1.html"),
    Writer("report last -o mine.html", "mine.html"),
    Writer("report last --md -o mine.md", "mine.md"),
    Writer("report last --csv -o mine.csv", "mine.csv"),
    Writer("report 1 --parquet", "evalq-report-1.parquet"),
    Writer("baseline capture suite.yaml --judges claude-opus-4-8", "baselines/r.json"),
]
WRITES_ONLY_NEW_FILES = {
    ("calibrate", "label_file"): "opened with mode x",
    ("review export", "output"): "opened with mode x",
    ("suite run", "output_dir"): "every run has files of its own: see below",
    ("suite report", "output_dir"): "every report has files of its own, as those of suite run",
}


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVALQ_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("EVALQ_BROKER_URL", "redis://127.0.0.1:1/0")
    for name, text in {
        "EVAL.yaml": EVAL_YAML,
        "rows.csv": TABLE,
        "cases.csv": "id,text,expected.answer\n1,How many?,two\n",
        "tasks/t.yaml": TASK,
        "suite.yaml": SUITE,
        "prompts/greet/meta.yml": META,
        "prompts/greet/prompt.xml": "Greet them.",
        "evalq.yaml": "{}\n",
    }.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text, "utf-8")


def exit_code(args: str) -> object:
    with pytest.raises(SystemExit) as ended:
        run(args.split())
    return ended.value.code


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: f"{writer.args} > {writer.victim}")
def test_what_the_user_wrote_stays_as_it_is(writer: Writer, capsys: pytest.CaptureFixture[str]) -> None:
    victim = Path(writer.victim)
    victim.parent.mkdir(parents=True, exist_ok=True)
    victim.write_text(PRECIOUS, "utf-8")
    code = exit_code(writer.args)
    printed = capsys.readouterr().err
    assert victim.read_text("utf-8") == PRECIOUS
    assert code == 2, printed
    assert victim.name in printed
    assert "already" in printed


def _list_output_options() -> Iterator[tuple[str, str]]:
    for name, command in walk_commands(evalq):
        for option in command.params:
            is_path = isinstance(option, click.Option) and isinstance(option.type, click.Path)
            if is_path and option.name in (
                "output",
                "cases_file",
                "label_file",
                "report",
                "out_dir",
                "output_dir",
            ):
                yield name, str(option.name)


def test_every_option_that_names_a_file_to_write_is_in_the_table() -> None:
    listed = {writer.args for writer in WRITERS}
    for name, option in _list_output_options():
        in_table = any(args.startswith(f"{name} ") for args in listed)
        assert in_table or (name, option) in WRITES_ONLY_NEW_FILES, (name, option)


def test_with_force_the_file_is_replaced() -> None:
    Path("evals.json").write_text(PRECIOUS, "utf-8")
    assert exit_code("transpile EVAL.yaml --force") == 0
    assert "skill_name" in Path("evals.json").read_text("utf-8")


def test_the_same_evals_are_written_again_without_force() -> None:
    for _ in range(2):
        assert exit_code("transpile EVAL.yaml") == 0


def test_the_list_for_run_eval_never_replaces_the_evals() -> None:
    exit_code("transpile EVAL.yaml")
    before = Path("evals.json").read_text("utf-8")
    assert exit_code("transpile EVAL.yaml --run-eval") == 2
    assert Path("evals.json").read_text("utf-8") == before


def test_an_earlier_result_of_our_own_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text('{"schema": "evalq.bakeoff/1"}', "utf-8")
    refuse_foreign(path, is_ours=is_own_document)
    refuse_foreign(Path("/dev/null"), is_ours=is_own_document)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema": 3}', '{"schema": "other/1"}', PRECIOUS])
def test_another_tools_json_is_not_taken_for_ours(tmp_path: Path, text: str) -> None:
    path = tmp_path / "result.json"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match="evalq did not write it; name another, or replace it with --force"):
        refuse_foreign(path, is_ours=is_own_document)


def _make_folder(path: Path) -> None:
    path.mkdir()
    (path / "notes.md").write_text(PRECIOUS, "utf-8")


def _make_link(path: Path) -> None:
    _make_folder(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _make_file(path: Path) -> None:
    path.write_text(PRECIOUS, "utf-8")


@pytest.mark.parametrize("make", [_make_folder, _make_link, _make_file])
def test_something_else_called_latest_survives_a_suite_run(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    make(folder / "latest")
    before = {path: path.is_file() and path.read_text("utf-8") for path in folder.rglob("*")}
    link = (folder / "latest").is_symlink()
    write_results(folder, {}, [], now=datetime(2026, 1, 2, tzinfo=UTC))
    assert (folder / "latest").is_symlink() == link
    assert {path: path.is_file() and path.read_text("utf-8") for path in before} == before


def test_an_archived_run_never_replaces_another_file(tmp_path: Path) -> None:
    run = tmp_path / "2026-01-02" / "run-1.md"
    run.parent.mkdir()
    run.write_text("new", "utf-8")
    taken = tmp_path / "archive" / "2026-01-02-run-1.md"
    taken.parent.mkdir()
    taken.write_text(PRECIOUS, "utf-8")
    assert archive(tmp_path, [run])[0].name == "2026-01-02-run-1-2.md"
    assert taken.read_text("utf-8") == PRECIOUS
