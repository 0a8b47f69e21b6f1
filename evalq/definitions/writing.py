"""Writes evalsets into files that our own loader reads back the same, and takes the draft mark off cases."""

import json
import os
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from evalq.definitions.evalset import EvalCase, EvalSet
from evalq.definitions.files import EVALSET_SUFFIXES, display_path, load_evalset, load_located, read_text
from evalq.definitions.located import check_size
from evalq.definitions.project import definition_files
from evalq.definitions.yaml_text import FLOAT, INTEGER, NOT_FINITE, load_yaml
from evalq.errors import InputError, Problem

WRITTEN_SUFFIXES = (".yaml", ".yml", ".json", ".jsonl")


def evalset_yaml(evalset: EvalSet, file: str, *, named: bool = True) -> str:
    """An evalset as YAML; InputError when that would be more than the loader takes."""
    document = _document(evalset, named=named)
    check_size(json.dumps(document), file)  # before the dump, which takes a second per megabyte
    text = to_yaml(document)
    load_yaml(text, file)
    return text


def to_yaml(document: Any) -> str:
    """A value as YAML that our own reading takes for the same value."""
    return yaml.dump(document, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=100)


def case_fields(case: EvalCase) -> dict[str, Any]:
    """What is to be written of a case; of a grader all that was said, its type first.

    What a grader leaves out may depend on what else it says, so a value is not left out for being usual.
    """
    fields = case.model_dump(exclude_defaults=True)
    if case.graders:
        said = [grader.model_dump(exclude_unset=True) for grader in case.graders]
        fields["graders"] = [
            {"type": grader.type, **one} for grader, one in zip(case.graders, said, strict=True)
        ]
    return fields


def evalset_text(evalset: EvalSet, path: Path) -> str:
    """An evalset in the format of the file it is for; InputError when it is too large for that."""
    if path.suffix.lower() == ".jsonl":
        return "".join(json.dumps(case_fields(case), ensure_ascii=False) + "\n" for case in evalset.cases)
    try:
        if path.suffix.lower() == ".json":
            text = json.dumps(_document(evalset), ensure_ascii=False, indent=2) + "\n"
            check_size(text, display_path(path))
            return text
        return evalset_yaml(evalset, display_path(path))
    except InputError:
        message = f"{len(evalset.cases)} cases are too much for an evalset of this kind"
        raise InputError(
            Problem(message, "write it as .jsonl with -o, or take fewer", display_path(path))
        ) from None


def refuse_taken(path: Path, known: Iterable[Path] = ()) -> None:
    """Refuse a name under which there is an evalset, in whatever format, in its folder or among the known."""
    others = (*definition_files(path.parent, EVALSET_SUFFIXES), *known)
    taken = next((other for other in others if other.stem == path.stem), None)
    if taken is not None:
        is_beside = taken.parent.resolve() == path.parent.resolve()
        remedy = "take another name" + (", or add to it with --append" if is_beside else "")
        raise InputError(Problem("is already there", remedy, display_path(taken)))


def write_evalset(path: Path, evalset: EvalSet) -> None:
    """Write an evalset, all of it or nothing; what was there under that name is replaced."""
    _replace(path, _kept_head(path) + evalset_text(evalset, path))


def accept_drafts(path: Path, ids: Collection[str]) -> EvalSet:
    """Take the draft mark off these cases, the rest of the file as it was as far as that can be done."""
    before = load_evalset(path).evalset
    cases = [case.model_copy(update={"draft": case.draft and case.id not in ids}) for case in before.cases]
    after = before.model_copy(update={"cases": cases})
    text = _without_marks(path, [place for place, case in enumerate(before.cases) if case.id in ids])
    if text is None or _reads_otherwise(text, path, after):
        write_evalset(path, after)
    else:
        _replace(path, text)
    return after


def _document(evalset: EvalSet, *, named: bool = True) -> dict[str, Any]:
    head = {"name": evalset.name if named else None, "task": evalset.task, "description": evalset.description}
    return {
        **{key: value for key, value in head.items() if value},
        "cases": [case_fields(case) for case in evalset.cases],
    }


def _kept_head(path: Path) -> str:
    """The comment a YAML file begins with: what follows is written anew, but that is somebody's word."""
    if path.suffix.lower() not in (".yaml", ".yml") or not path.exists():
        return ""
    found = re.match(r"(?:[ \t]*#.*\n|[ \t]*\n)+", read_text(path))
    return found[0] if found else ""


def _without_marks(path: Path, places: Sequence[int]) -> str | None:
    """The YAML text without the lines `draft: true` of these cases; None when a mark is not such a line."""
    if path.suffix.lower() not in (".yaml", ".yml"):
        return None
    located, lines = load_located(path), read_text(path).split("\n")
    at_top = isinstance(located.value, list)
    numbers = {located.lines[((place, "draft") if at_top else ("cases", place, "draft"))] for place in places}
    if not all(re.fullmatch(r" +draft: true\s*(?:#.*)?", lines[number - 1]) for number in numbers):
        return None
    return "\n".join(line for number, line in enumerate(lines, start=1) if number not in numbers)


def _reads_otherwise(text: str, path: Path, wanted: EvalSet) -> bool:
    try:
        value = load_yaml(text, display_path(path)).value
        cases = value if isinstance(value, list) else value["cases"]
        return [EvalCase.model_validate(case) for case in cases] != wanted.cases
    except (InputError, ValueError, TypeError, KeyError):
        return True


def _replace(path: Path, text: str) -> None:
    """By a file beside it that takes its place: nobody ever reads half of it. A link stays a link."""
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


_RARE_LINE_BREAKS = re.compile("[\r\x85\u2028\u2029\ufeff]")


class _Dumper(yaml.SafeDumper):
    """Puts in quotes what our own reading of plain words would not take for text, and writes no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """A value that stands in two places is written in both: our own reading refuses aliases."""
        del data
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    if _RARE_LINE_BREAKS.search(text):
        style = '"'  # the only style that writes them as escapes; the others turn them into spaces
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
for _tag, _pattern in (("int", INTEGER), ("float", FLOAT), ("float", NOT_FINITE)):
    _Dumper.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern.pattern})\Z"), list("-+.0123456789")
    )
