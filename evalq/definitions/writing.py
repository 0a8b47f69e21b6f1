"""Writes evalsets to files that load back unchanged, and accepts drafted cases in place."""

import json
import os
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import EVALSET_SUFFIXES, display_path, load_evalset, load_located, read_text
from evalq.definitions.located import Loc, check_size
from evalq.definitions.project import definition_files
from evalq.definitions.yaml_text import FLOAT, INTEGER, NOT_FINITE, load_yaml
from evalq.errors import InputError, Problem

WRITTEN_SUFFIXES = (".yaml", ".yml", ".json", ".jsonl")

_YAML_SUFFIXES = (".yaml", ".yml")
_RARE_LINE_BREAKS = re.compile("[\r\x85\u2028\u2029\ufeff]")


def evalset_yaml(evalset: EvalSet, file: str, *, named: bool = True) -> str:
    """An evalset as YAML; InputError when it is more than the loader takes."""
    document = _to_document(evalset, named=named)
    check_size(json.dumps(document), file)  # before dumping, which takes a second per megabyte
    text = to_yaml(document)
    load_yaml(text, file)
    return text


def to_yaml(document: Any) -> str:
    """A value as YAML that our own loader reads as the same value."""
    return yaml.dump(document, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)


def case_fields(case: EvalCase) -> dict[str, Any]:
    """The fields of a case to write: all but defaults, and of a grader all that was set, its type first.

    A grader's defaults may depend on its other fields, so a value is written even if it equals the default.
    """
    fields = case.model_dump(exclude_defaults=True)
    if case.graders:
        fields["graders"] = [
            {"type": grader.type, **grader.model_dump(exclude_unset=True)} for grader in case.graders
        ]
    return fields


def evalset_text(evalset: EvalSet, path: Path) -> str:
    """An evalset in the format of the file it is for; InputError when it is too large for that."""
    if path.suffix.lower() == ".jsonl":
        return "".join(json.dumps(case_fields(case), ensure_ascii=False) + "\n" for case in evalset.cases)
    try:
        if path.suffix.lower() == ".json":
            text = json.dumps(_to_document(evalset), ensure_ascii=False, indent=2) + "\n"
            check_size(text, display_path(path))
            return text
        return evalset_yaml(evalset, display_path(path))
    except InputError:
        message = f"{len(evalset.cases)} cases are too much for an evalset of this kind"
        raise InputError(
            Problem(message, "write it as .jsonl with -o, or take fewer", display_path(path))
        ) from None


def refuse_taken(path: Path, known: Iterable[Path] = ()) -> None:
    """Refuse a name that an evalset of any format has, in the same folder or among the known ones."""
    for other in (*definition_files(path.parent, EVALSET_SUFFIXES), *known):
        if other.stem == path.stem:
            remedy = "take another name"
            if other.parent.resolve() == path.parent.resolve():
                remedy += ", or add to it with --append"
            raise InputError(Problem("is already there", remedy, display_path(other)))


def write_evalset(path: Path, evalset: EvalSet) -> None:
    """Write an evalset, whole or not at all; an existing file of that name is replaced."""
    _replace_file(path, _leading_comment(path) + evalset_text(evalset, path))


def accept_drafts(path: Path, ids: Collection[str]) -> EvalSet:
    """Remove the draft mark of these cases; the rest of the file stays as it is where that is possible."""
    before = load_evalset(path).evalset
    cases = [case.model_copy(update={"draft": case.draft and case.id not in ids}) for case in before.cases]
    after = before.model_copy(update={"cases": cases})
    text = _without_marks(path, [place for place, case in enumerate(before.cases) if case.id in ids])
    if text is None or not _loads_as(text, path, after):
        write_evalset(path, after)
    else:
        _replace_file(path, text)
    return after


def _to_document(evalset: EvalSet, *, named: bool = True) -> dict[str, Any]:
    document: dict[str, Any] = {}
    if named:
        document["name"] = evalset.name
    if evalset.task:
        document["task"] = evalset.task
    if evalset.description:
        document["description"] = evalset.description
    document["cases"] = [case_fields(case) for case in evalset.cases]
    return document


def _leading_comment(path: Path) -> str:
    """The comment a YAML file begins with, which is kept when the rest is replaced."""
    if path.suffix.lower() not in _YAML_SUFFIXES or not path.exists():
        return ""
    found = re.match(r"(?:[ \t]*#.*\n|[ \t]*\n)+", read_text(path))
    return found[0] if found else ""


def _without_marks(path: Path, places: Sequence[int]) -> str | None:
    """The YAML text without the lines `draft: true` of these cases; None when a mark is not such a line."""
    if path.suffix.lower() not in _YAML_SUFFIXES:
        return None
    located = load_located(path)
    lines = read_text(path).split("\n")
    cases: Loc = () if isinstance(located.value, list) else ("cases",)
    removed = set()
    for place in places:
        number = located.lines[(*cases, place, "draft")]
        if not re.fullmatch(r" +draft: true\s*(?:#.*)?", lines[number - 1]):
            return None
        removed.add(number)
    return "\n".join(line for number, line in enumerate(lines, start=1) if number not in removed)


def _loads_as(text: str, path: Path, wanted: EvalSet) -> bool:
    try:
        value = load_yaml(text, display_path(path)).value
        cases = value if isinstance(value, list) else value["cases"]
        return [EvalCase.model_validate(case) for case in cases] == wanted.cases
    except (InputError, ValueError, TypeError, KeyError):
        return False


def _replace_file(path: Path, text: str) -> None:
    """Write a file beside it and rename that, so that a reader never sees half of it. A link stays a link."""
    path = path.resolve()
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with new.open("w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            if path.exists():
                new.chmod(path.stat().st_mode & 0o777)
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)
    except OSError as exc:
        remedy = "check the folder and the disk"
        raise InputError(Problem(f"cannot be written: {exc.strerror}", remedy, display_path(path))) from None


class _Dumper(yaml.SafeDumper):
    """Quotes text that our own loader would read as another type, and writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """A value used twice is written twice: our own loader refuses aliases."""
        del data
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    if _RARE_LINE_BREAKS.search(text):
        style = '"'  # the only style that writes them as escapes instead of spaces
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
for _tag, _pattern in (("int", INTEGER), ("float", FLOAT), ("float", NOT_FINITE)):
    _Dumper.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern.pattern})\Z"), list("-+.0123456789")
    )
