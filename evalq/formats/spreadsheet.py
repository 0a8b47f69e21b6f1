"""Reads the first sheet of an XLSX file with the standard library, every size bounded before it is read."""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from evalq.errors import InputError, Problem

MAX_PART_BYTES = 32_000_000
MAX_PARTS = 2_000
MAX_COLUMNS = 1_000
MAX_CELLS = 2_000_000

_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_WHOLE_NUMBER = re.compile(r"(-?[0-9]{1,15})\.0+")
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_FIRST_SHEET = "xl/worksheets/sheet1.xml"
_REMEDY = "save the sheet as CSV and give that"


@dataclass(frozen=True)
class Sheet:
    """The rows of a sheet that are not blank, each with its number, and how many sheets the file has."""

    name: str
    n_sheets: int
    rows: list[tuple[int, list[str]]]


def read_sheet(content: bytes, file: str) -> Sheet:
    """Read the first sheet; InputError for a file that is damaged, locked, or made to exhaust memory."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if len(archive.infolist()) > MAX_PARTS:
                raise _refuse(f"more than {MAX_PARTS:,} parts inside", file)
            return _Workbook(archive, file).read_first_sheet()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as exc:
        raise _refuse("not an XLSX file that can be opened", file) from exc


def _refuse(message: str, file: str, line: int = 0) -> InputError:
    return InputError(Problem(message, _REMEDY, file, line))


class _Workbook:
    """An opened file whose parts are read one by one."""

    def __init__(self, archive: zipfile.ZipFile, file: str) -> None:
        self._archive = archive
        self._file = file

    def read_first_sheet(self) -> Sheet:
        """Find the first sheet, and read its cells with the texts that the file keeps apart."""
        names, path = self._find_sheets()
        texts = self._read_shared_texts()
        rows = []
        n_cells = 0
        for line, cells in self._list_rows(path, texts):
            n_cells += len(cells)
            if n_cells > MAX_CELLS:
                raise _refuse(f"more than {MAX_CELLS:,} cells", self._file, line)
            if any(cell.strip() for cell in cells):
                rows.append((line, cells))
        return Sheet(names[0] if names else "", max(1, len(names)), rows)

    def _find_sheets(self) -> tuple[list[str], str]:
        """The names of all sheets, and the path of the first one."""
        workbook, relations = self._parse("xl/workbook.xml"), self._parse("xl/_rels/workbook.xml.rels")
        if workbook is None:
            raise _refuse("not an XLSX file: it has no workbook inside", self._file)
        sheets = list(workbook.iter(_tag(workbook, "sheet")))
        names = [sheet.get("name", "") for sheet in sheets]
        wanted = sheets[0].get(_RELATION) if sheets else None
        for relation in relations if relations is not None else ():
            if relation.get("Id") == wanted:
                target = relation.get("Target", "").lstrip("/")
                return names, target if target.startswith("xl/") else f"xl/{target}"
        return names, _FIRST_SHEET

    def _read_shared_texts(self) -> list[str]:
        root = self._parse("xl/sharedStrings.xml")
        return [] if root is None else [_join_texts(item) for item in root]

    def _list_rows(self, path: str, texts: list[str]) -> Iterator[tuple[int, list[str]]]:
        sheet = self._parse(path)
        if sheet is None:
            raise _refuse("not an XLSX file: it has no sheet inside", self._file)
        line = 0
        for row in sheet.iter(_tag(sheet, "row")):
            written = row.get("r", "")
            line = int(written) if written.isdecimal() and len(written) < 8 else line + 1
            yield line, self._read_row(row, texts, line)

    def _read_row(self, row: ElementTree.Element, texts: list[str], line: int) -> list[str]:
        cells: list[str] = []
        for cell in row.iter(_tag(row, "c")):
            at = _column_of(cell.get("r", ""), default=len(cells))
            if at >= MAX_COLUMNS or at < len(cells):
                raise _refuse(f"a cell beyond column {MAX_COLUMNS}, or out of order", self._file, line)
            cells += [""] * (at - len(cells))
            cells.append(_read_cell(cell, texts))
        return cells

    def _parse(self, path: str) -> ElementTree.Element | None:
        """The XML of a part, None without that part; no document type, hence no entity, is ever read."""
        try:
            info = self._archive.getinfo(path)
        except KeyError:
            return None
        with self._archive.open(info) as part:
            content = part.read(MAX_PART_BYTES + 1)
        if len(content) > MAX_PART_BYTES:
            raise _refuse(f"more than {MAX_PART_BYTES // 1_000_000} MB when unpacked", self._file)
        # A NUL means UTF-16, in which the next test would miss what it looks for.
        if b"<!DOCTYPE" in content or b"<!ENTITY" in content or b"\x00" in content:
            raise _refuse("XML with a document type, which no spreadsheet has", self._file)
        try:
            return ElementTree.fromstring(content)  # noqa: S314 - without entities, and bounded
        except (ElementTree.ParseError, LookupError, ValueError) as exc:
            raise _refuse("damaged: its XML cannot be read", self._file) from exc


def _tag(near: ElementTree.Element, name: str) -> str:
    """A name in the namespace that its neighbour has: files come in two."""
    space, closed, _ = near.tag.rpartition("}")
    return f"{space}{closed}{name}"


def _join_texts(item: ElementTree.Element) -> str:
    """The text of a cell's parts, without the readings printed above Asian characters."""
    parts = []
    for child in item:
        if child.tag == _tag(item, "t"):
            parts.append(child.text or "")
        elif child.tag == _tag(item, "r"):
            parts += [text.text or "" for text in child.iter(_tag(item, "t"))]
    return "".join(parts)


def _column_of(reference: str, *, default: int) -> int:
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        return default
    number = 0
    for letter in found[1]:
        number = number * 26 + ord(letter) - 64
    return number - 1


def _read_cell(cell: ElementTree.Element, texts: list[str]) -> str:
    kind = cell.get("t", "n")
    if kind == "inlineStr":
        return "".join(_join_texts(item) for item in cell if item.tag == _tag(cell, "is"))
    value = cell.findtext(_tag(cell, "v")) or ""
    if kind == "s":
        is_known = value.isdecimal() and len(value) < 9 and int(value) < len(texts)
        return texts[int(value)] if is_known else ""
    if kind == "b":
        return {"1": "true", "0": "false"}.get(value, "")
    whole = _WHOLE_NUMBER.fullmatch(value)
    return whole[1] if kind == "n" and whole else value
