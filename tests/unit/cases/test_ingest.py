"""A file on its way into an evalset: read, scrubbed, asked about, made into cases, written."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalq.bakeoff.probes import QueryReplies, QueryReply
from evalq.cases.ingest import Ingested, IngestOptions, make_cases, plan_names_query, read_source, write_cases
from evalq.definitions.files import load_evalset
from evalq.errors import InputError, Refused

TASK = "name: t\nsystem_prompt: s\nuser_template: '{text}'\nscoring: {mode: strict_substring}\n"
ROWS = [
    {"text": "Anna wrote from anna@mail.example", "expected": "question"},
    {"text": "call Bob: 0171/2345678 or anna@mail.example", "expected": "praise"},
    {"text": "", "expected": "praise"},
    {"text": "Anna wrote from anna@mail.example", "expected": "question"},
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "t.yaml").write_text(TASK, "utf-8")
    write_rows(tmp_path, ROWS)
    return tmp_path


def write_rows(root: Path, rows: list[dict[str, Any]]) -> None:
    (root / "prod.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def order(root: Path, **how: Any) -> IngestOptions:
    return IngestOptions(root / "prod.jsonl", "t", **how)


def ingest(root: Path, *, write: bool = True, **how: Any) -> Ingested:
    source = read_source(order(root, **how), root)
    ingested = make_cases(source, source.scrub())
    if write:
        write_cases(source, ingested)
    return ingested


def texts(root: Path, name: str = "ingested.yaml") -> list[str]:
    cases = load_evalset(root / "evalsets/t" / name).evalset.cases
    return [case.inputs["text"] for case in cases]


def test_rows_are_scrubbed_and_written_and_the_set_reads_back(root: Path) -> None:
    ingested = ingest(root)
    assert texts(root) == ["Anna wrote from [email-1]", "call Bob: [phone-1] or [email-1]"]
    assert (ingested.converted.duplicates, [one.line for one in ingested.left_out]) == ((4,), [3])
    assert ingested.exit_code == 3


def test_the_document_and_the_diff_hold_no_value(root: Path) -> None:
    ingested = ingest(root, write=False)
    document = json.dumps(ingested.document(written=False, next_commands=[]), ensure_ascii=False)
    assert not any(value in document for value in ("anna@mail", "0171", "2345678"))
    assert "+Anna wrote from [email-1]" in ingested.diff
    assert not (root / "evalsets").exists()


def test_no_set_is_overwritten_not_even_a_shipped_one(root: Path) -> None:
    ingest(root)
    with pytest.raises(InputError, match=r"ingested.yaml: is already there; .* --append"):
        ingest(root)
    with pytest.raises(InputError, match=r"dev-30.yaml: is already there; take another name"):
        read_source(IngestOptions(root / "prod.jsonl", "mail_classify", "dev-30"), root)


def test_appending_adds_what_is_new_and_goes_on_counting(root: Path) -> None:
    ingest(root)
    write_rows(root, [*ROWS, {"text": "see carl@mail.example", "expected": "x"}])
    ingested = ingest(root, append=True)
    assert texts(root)[2:] == ["see [email-3]"]
    assert ingested.converted.duplicates == (1, 2, 4)


def test_with_a_key_files_share_their_stand_ins(root: Path) -> None:
    ingest(root, eval_set="one", pseudonym_key=b"0123456789abcdef")
    write_rows(root, [{"text": "only anna@mail.example", "expected": "x"}])
    ingest(root, eval_set="two", pseudonym_key=b"0123456789abcdef")
    assert texts(root, "one.yaml")[0].split()[-1] == texts(root, "two.yaml")[0].split()[-1]


@pytest.mark.parametrize("how", [{"eval_set": "holdout-9"}, {"output": Path("x/holdout-9.yaml")}])
def test_a_holdout_is_refused_before_anything_is_read(root: Path, how: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="is a holdout"):
        read_source(replace(order(root, **how), file=root / "absent.jsonl"), root)


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ({"eval_set": "a/b"}, "cannot name an evalset; .* a path goes to -o"),
        ({"eval_set": "a b"}, "'a b' cannot name an evalset"),
        ({"output": Path("set.csv")}, "not a file cases are written to"),
    ],
)
def test_a_place_that_cannot_be_is_refused(root: Path, how: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_source(order(root, **how), root)


def replies(**texts: str | None) -> QueryReplies:
    by_case = {f"line-{name[1:]}": QueryReply(text, "the answer is empty") for name, text in texts.items()}
    return QueryReplies(9, "namer", "concluded", Decimal("0.5"), is_kept=False, by_case=by_case)


def test_names_are_asked_of_rows_that_become_cases_scrubbed_of_all_else(root: Path) -> None:
    source = read_source(order(root, names_by="namer"), root)
    query = plan_names_query(source, source.scrub())
    assert query is not None
    assert [case.id for case in query.evalset.cases] == ["line-1", "line-2"]
    asked = json.dumps([case.inputs for case in query.evalset.cases])
    assert "anna@" not in asked
    assert "Anna wrote from [email-1]" in asked
    assert (query.judge, query.evalset.name) == ("namer", "rows-prod")


def test_nobody_is_asked_when_no_model_is_named(root: Path) -> None:
    source = read_source(order(root), root)
    assert plan_names_query(source, source.scrub()) is None
    assert any("--names-by" in warning for warning in make_cases(source, source.scrub()).warnings())


def test_names_are_replaced_and_rows_that_were_not_read_are_left_out(root: Path) -> None:
    source = read_source(order(root, names_by="namer"), root)
    rows = source.scrub()
    ingested = make_cases(source, rows, replies(l1=None, l2='["Bob", "Nobody"]'))
    assert [case.inputs["text"] for case in ingested.converted.cases] == [
        "call [name-1]: [phone-1] or [email-1]"
    ]
    # The fourth row says what the first does: it is no way round the first's being left out.
    assert [(one.line, one.reason) for one in ingested.left_out] == [
        (1, "names not read: the answer is empty"),
        (3, "nothing in the column for text"),
    ]
    assert ingested.converted.duplicates == (4,)
    assert ingested.names is not None
    assert (ingested.names.bakeoff_id, ingested.names.unknown) == (9, 1)
    assert ingested.exit_code == 3


def test_a_reply_that_is_no_list_leaves_its_row_out(root: Path) -> None:
    source = read_source(order(root, names_by="namer"), root)
    ingested = make_cases(source, source.scrub(), replies(l1="I see none.", l2="[]"))
    assert ingested.left_out[0].reason == "names not read: the reply is not a JSON list of names"
    assert not any("--names-by MODEL" in warning for warning in ingested.warnings())


def test_nobody_is_asked_about_rows_that_become_no_cases(root: Path) -> None:
    ingest(root)
    source = read_source(order(root, names_by="namer", append=True), root)
    assert plan_names_query(source, source.scrub()) is None
    assert make_cases(source, source.scrub()).converted.cases == ()


def test_cases_without_what_is_expected_are_written_as_drafts_and_said(root: Path) -> None:
    write_rows(root, [{"text": "x"}])
    ingested = ingest(root)
    assert load_evalset(root / "evalsets/t/ingested.yaml").n_drafts == 1
    assert any("marked draft: 1" in warning for warning in ingested.warnings())


def test_a_names_pass_stopped_at_its_cap_ends_with_four(root: Path) -> None:
    source = read_source(order(root, names_by="namer"), root)
    capped = replace(replies(l1="[]", l2=None), state="capped")
    assert make_cases(source, source.scrub(), capped).exit_code == 4
