import io
import zipfile
from pathlib import Path

import pytest

from evalq.errors import InputError
from evalq.formats.spreadsheet import MAX_PART_BYTES
from evalq.formats.table_files import MAX_CELL_CHARS, is_own_evalset, read_table

SHEET = "xl/worksheets/sheet1.xml"
SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
PLAIN = {"Frage": "Größe?", "Team": "Köln"}


def workbook(rows: str, **parts: str) -> bytes:
    """An XLSX file with these rows of XML, and further parts by their path."""
    relation = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    whole = {
        "xl/workbook.xml": f'<workbook {SPACE} {relation}><sheet name="A" r:id="r1"/></workbook>',
        "xl/_rels/workbook.xml.rels": '<R><Relationship Id="r1" Target="worksheets/sheet1.xml"/></R>',
        SHEET: f"<worksheet {SPACE}><sheetData>{rows}</sheetData></worksheet>",
        **parts,
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in whole.items():
            archive.writestr(path, text)
    return packed.getvalue()


def inline(reference: str, text: str) -> str:
    return f'<c r="{reference}" t="inlineStr"><is><t>{text}</t></is></c>'


HEAD = f'<row r="1">{inline("A1", "Frage")}{inline("B1", "Team")}</row>'
FIRST = f'<row r="2">{inline("A2", "Größe?")}{inline("B2", "Köln")}</row>'
BY_NUMBER = '<row r="2"><c r="A2" t="s"><v>0</v></c><c r="B2" t="s"><v>1</v></c></row>'
IN_PARTS = "<si><r><t>Kö</t></r><r><t>ln</t></r><rPh><t>x</t></rPh></si>"
SHARED = f"<sst {SPACE}><si><t>Größe?</t></si>{IN_PARTS}</sst>"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", "Frage,Team\nGröße?,Köln\n".encode()),
        ("t.csv", "\ufeffFrage,Team\r\nGröße?,Köln\r\n".encode()),
        ("t.csv", "Frage,Team\nGröße?,Köln\n".encode("utf-16")),
        ("t.csv", "Frage,Team\nGröße?,Köln\n".encode("utf-16-le")),
        ("t.csv", "Frage,Team\nGröße?,Köln\n".encode("utf-16-be")),
        ("t.csv", "Frage,Team\nGröße?,Köln\n".encode("latin-1")),
        ("t.csv", "Frage;Team\nGröße?;Köln\n".encode()),
        ("t.csv", "Frage\tTeam\nGröße?\tKöln\n".encode()),
        ("t.csv", '"Frage";"Team"\n"Größe?";"Köln"\n'.encode("cp1252")),
        ("t.tsv", "Frage\tTeam\nGröße?\tKöln\n".encode()),
        ("t.csv", "Frage|Team\nGröße?|Köln\n".encode()),
        ("t.csv", "\n\n Frage , Team \n\n,\nGröße?,Köln\n , \n".encode()),
        ("t.csv", "Frage,Team,\nGröße?,Köln,\n".encode()),
        ("t.csv", "Frage,Team\rGröße?,Köln\r".encode()),
        ("t.jsonl", '{"Frage": "Größe?", "Team": "Köln"}\n\n{"Frage": null}\n'.encode()),
        ("t.json", '[{"Frage": "Größe?", "Team": "Köln"}]'.encode()),
        ("t.json", '{"version": 1, "rows": [{"Frage": "Größe?", "Team": "Köln"}]}'.encode()),
        ("t.xlsx", workbook(HEAD + FIRST)),
        ("t.xlsx", workbook(HEAD + BY_NUMBER, **{"xl/sharedStrings.xml": SHARED})),
    ],
)
def test_what_people_save_is_read_right(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    table = read_table(tmp_path / name)
    assert [dict(record.cells) for record in table.records] == [PLAIN]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "t.csv: no rows under the names"),
        ("t.csv", b"a,b\n", "t.csv: no rows under the names"),
        ("t.csv", b"a,a\n1,2\n", "t.csv:1: two columns are called 'a'"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", "t.csv:3: 3 cells under 2 columns"),
        ("t.csv", b"a,b\n1\n", "t.csv:2: 1 cells under 2 columns"),
        ("t.csv", b'a,b\n1,"x\ny\n', "t.csv:2: not CSV: unexpected end of data; close the quotes"),
        ("t.csv", b"a,b\n1,x\x00y\n", "t.csv:2: a NUL in the text"),
        ("t.csv", b"a,b\n1," + b"x" * (MAX_CELL_CHARS + 1), "t.csv:2: a cell of more than 1,000,000"),
        ("t.csv", b"\xff\xfea", "t.csv:1: not utf-16 text"),
        ("t.jsonl", b'{"a": 1}\n[1]\n', "t.jsonl:2: a row that is not a JSON object"),
        ("t.jsonl", b'{"a": 1}\n{"a": \n', "t.jsonl:2: "),
        ("t.jsonl", b"\n", "t.jsonl: no rows"),
        ("t.json", b"3", "t.json:1: JSON that is no list of rows"),
        ("t.json", b'{"a": [], "b": []}', "t.json:1: JSON without one list of rows"),
        ("t.json", b"[" * 100_000, "t.json:1: nested deeper"),
        ("t.pdf", b"%PDF", "t.pdf: not a table that evalq can read"),
        ("t.xlsx", b"PK\x03\x04 not really", "t.xlsx: not an XLSX file that can be opened"),
        ("t.xlsx", b"a,b\n1,2\n", "t.xlsx: not an XLSX file that can be opened"),
        ("t.xlsx", workbook("", **{"xl/workbook.xml": "<workbook"}), "t.xlsx: damaged"),
        ("t.xlsx", workbook("", **{SHEET: "<a>&bomb;</a>"}), "t.xlsx: damaged"),
        (
            "t.xlsx",
            workbook("", **{SHEET: '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}),
            "t.xlsx: XML with a document type",
        ),
        (
            "t.xlsx",
            workbook("", **{SHEET: " " * (MAX_PART_BYTES + 1)}),
            "t.xlsx: more than 32 MB when unpacked",
        ),
        ("t.xlsx", workbook(HEAD + '<row r="2"><c r="ZZZ2"><v>1</v></c></row>'), "t.xlsx:2: a cell beyond"),
        ("t.xlsx", workbook("", **{f"p{i}": "" for i in range(2_001)}), "t.xlsx: more than 2,000 parts"),
        ("t.xlsx", workbook(HEAD), "t.xlsx: no rows under the names"),
    ],
)
def test_hostile_and_broken_tables_end_with_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_table(tmp_path / name)
    assert str(caught.value).startswith(message)


def test_another_encoding_and_further_sheets_are_told(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("a,b\nGröße,x\n".encode("cp1252"))
    assert read_table(tmp_path / "t.csv").remarks == ("it is not UTF-8, and is read as cp1252",)
    two = f'<workbook {SPACE}><sheets><sheet name="A"/><sheet name="B"/></sheets></workbook>'
    (tmp_path / "t.xlsx").write_bytes(workbook(HEAD + FIRST, **{"xl/workbook.xml": two}))
    assert read_table(tmp_path / "t.xlsx").remarks == ("the first of 2 sheets is read: 'A'",)


def test_cells_of_a_spreadsheet_are_read_by_their_kind(tmp_path: Path) -> None:
    head = f'<row r="1">{inline("A1", "a")}{inline("B1", "b")}{inline("C1", "c")}{inline("D1", "d")}</row>'
    row = '<row r="5"><c r="A5"><v>3.0</v></c><c r="C5" t="b"><v>1</v></c><c r="D5" t="s"><v>99</v></c></row>'
    (tmp_path / "t.xlsx").write_bytes(workbook(head + row))
    (record,) = read_table(tmp_path / "t.xlsx").records
    assert (record.line, dict(record.cells)) == (5, {"a": "3", "b": "", "c": "true", "d": ""})


def test_a_column_without_a_name_is_called_by_its_number(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(",a\n0,x\n", "utf-8")
    assert read_table(tmp_path / "t.csv").columns == ("column_1", "a")


@pytest.mark.parametrize(
    ("name", "text", "is_own"),
    [
        ("a.yaml", "cases: []", True),
        ("a.csv", "id,inputs.q,expected.any_of\n", True),
        ("a.jsonl", '{"id": "1", "inputs": {}}', True),
        ("a.csv", "ticket,team\n", False),
        ("a.jsonl", '{"ticket": 1}', False),
        ("a.xlsx", "", False),
    ],
)
def test_evalsets_of_our_own_are_told_from_tables(tmp_path: Path, name: str, text: str, is_own: bool) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    assert is_own_evalset(tmp_path / name) == is_own
