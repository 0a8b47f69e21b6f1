"""Suites of evals in YAML and JSON: a suite file, a folder of them, or one file of evals, read as one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from evalq.definitions.definition import validate
from evalq.definitions.files import display_path, read_text
from evalq.definitions.located import Located, load_json
from evalq.definitions.template import fill_placeholders
from evalq.definitions.yaml_text import load_yaml
from evalq.errors import InputError, Problem
from evalq.formats.paths import Place, read_inside, resolve_inside
from evalq.formats.suite.evals import EvalContext, SuiteEval, build_capability_eval
from evalq.formats.suite.forms import (
    CapabilityForm,
    RegressionForm,
    Reporting,
    SuiteConfig,
    SuiteForm,
    Thresholds,
    as_mapping,
    entries,
    part,
    text_at,
)
from evalq.formats.suite.library import Library, read_library, read_shared_thresholds
from evalq.formats.suite.regressions import build_regression_eval
from evalq.formats.suite.shapes import WrittenEval, evals_in, shape_of, without_nulls, written_eval

SUITE_FILES = ("eval-suite.yaml", "eval-suite.yml", "eval-suite.json")
SUFFIXES = (".yaml", ".yml", ".json")
EVAL_FOLDERS = ("capability", "regression")
MAX_EVAL_FILES = 10_000
RUNNABLE = ("suite", "evals", "tests", "single", "wrapped")


@dataclass(frozen=True)
class Suite:
    """Evals with how they are run, reported and gated. `folder` is the one its paths are kept inside."""

    name: str
    version: str
    description: str
    file: str
    folder: Path
    evals: tuple[SuiteEval, ...]
    config: SuiteConfig
    reporting: Reporting
    thresholds: Thresholds
    library: Library
    warnings: tuple[str, ...] = ()


def read_suite(path: Path, values: Mapping[str, str] | None = None) -> Suite:
    """The suite in a file, or in a folder that has one; `values` fill its placeholders.

    Every problem of every file is reported together, each with its place.
    """
    return _Reading(suite_file(path), values or {}).suite()


def suite_file(path: Path) -> Path:
    """The file that is meant by a path: itself, or the suite of the folder."""
    if not path.is_dir():
        return path
    found = [path / name for name in SUITE_FILES if (path / name).is_file()]
    if not found:
        raise InputError(Problem("no suite in this folder", f"write {SUITE_FILES[0]}", display_path(path)))
    return found[0]


def suite_folder(file: Path) -> Path:
    """The folder an eval file belongs to: the nearest above it with a suite or shared definitions."""
    here = file.resolve().parent
    for folder in (here, *here.parents):
        has_suite = any((folder / name).is_file() for name in SUITE_FILES)
        if has_suite or any((folder / "config" / f"graders{suffix}").is_file() for suffix in SUFFIXES):
            return folder
        if folder.name not in EVAL_FOLDERS and not set(EVAL_FOLDERS) & {up.name for up in folder.parents}:
            break
    return here


def load(path: Path, text: str) -> Located:
    """A file's content with its lines."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(Problem("no eval file", f"write a {', '.join(SUFFIXES)} file", display_path(path)))
    if path.suffix.lower() == ".json":
        return load_json(text, display_path(path))
    return load_yaml(text, display_path(path))


def load_file(path: Path) -> Located:
    """The content of a file somebody has named."""
    named = suite_file(path)
    return load(named, read_text(named))


class _Reading:
    """One reading of a suite: its folder, what it shares, and what was found on the way."""

    def __init__(self, file: Path, values: Mapping[str, str]) -> None:
        self._file = file
        self._values = values
        self._folder = suite_folder(file)
        self._problems: list[Problem] = []
        self._warnings: list[str] = []
        self._open: list[Path] = []
        self._n_files = 0

    def suite(self) -> Suite:
        located = load_file(self._file)
        library, thresholds = self._shared()
        shape = shape_of(located.value)
        body = part(located, "eval_suite") if shape == "suite" else None
        name = text_at(located.value, "metadata", "name") if shape == "tests" else ""
        form = self._form(body) if body is not None else SuiteForm(name=name or self._file.stem)
        self._open.append(self._file.resolve())
        evals = [self._eval(one, form.config, at, library) for one, at in self._all(located, body, library)]
        made = [one for one in evals if one is not None]
        self._refuse_doubles(made)
        if self._problems:
            raise InputError(*dict.fromkeys(self._problems))
        if not made:
            raise InputError(located.problem((), "a suite without evals", "add some under evals"))
        own = form.thresholds
        merged = own.model_copy(
            update={
                "metrics": {**thresholds.metrics, **own.metrics},
                "contexts": {**thresholds.contexts, **own.contexts},
                "k": own.k if "k" in own.model_fields_set else thresholds.k,
            }
        )
        return Suite(
            form.name,
            form.version,
            form.description,
            display_path(self._file),
            self._folder,
            tuple(made),
            form.config,
            form.reporting,
            merged,
            library,
            tuple(dict.fromkeys(self._warnings)),
        )

    def _form(self, body: Located) -> SuiteForm:
        try:
            return validate(SuiteForm, without_nulls(body) if isinstance(body.value, dict) else body)
        except InputError as exc:
            self._problems += exc.problems
            return SuiteForm(name=self._file.stem)

    def _shared(self) -> tuple[Library, Thresholds]:
        library, thresholds = Library(), Thresholds()
        for suffix in SUFFIXES:
            graders = self._folder / "config" / f"graders{suffix}"
            if graders.is_file() and graders.resolve() != self._file.resolve():
                library = read_library(load(graders, self._read_own(graders)))
            limits = self._folder / "config" / f"thresholds{suffix}"
            if limits.is_file():
                thresholds = read_shared_thresholds(load(limits, self._read_own(limits)))
        return library, thresholds

    def _read_own(self, path: Path) -> str:
        return read_inside(str(path.relative_to(self._folder)), [self._folder])

    def _all(
        self, located: Located, body: Located | None, library: Library
    ) -> Iterator[tuple[WrittenEval, Path]]:
        """Every eval with the file it is in; what cannot be read is noted as a problem."""
        try:
            if body is None:
                yield from self._in_file(located, self._file, library)
            elif as_mapping(body, "eval_suite").get("evals") is None:
                yield from self._in_folders(library)
            else:
                yield from self._listed(part(body, "evals"), self._file, library)
        except InputError as exc:
            self._problems += exc.problems

    def _in_folders(self, library: Library) -> Iterator[tuple[WrittenEval, Path]]:
        """A suite that lists nothing has what its folders hold."""
        for name in EVAL_FOLDERS:
            for path in sorted((self._folder / name).rglob("*")):
                if path.suffix.lower() in SUFFIXES and not path.is_dir():
                    written = str(path.relative_to(self._folder))
                    yield from self._referred(
                        written, self._file, Place(display_path(self._file), 1), library
                    )

    def _in_file(self, located: Located, path: Path, library: Library) -> Iterator[tuple[WrittenEval, Path]]:
        if isinstance(located.value, list):
            yield from self._listed(located, path, library)
            return
        for one in evals_in(located, library):
            yield one, path

    def _listed(self, located: Located, path: Path, library: Library) -> Iterator[tuple[WrittenEval, Path]]:
        for entry in entries(located) if isinstance(located.value, list) else []:
            try:
                if isinstance(entry.value, dict) and isinstance(entry.value.get("$ref"), str):
                    place = Place(entry.file, entry.line_of(()))
                    yield from self._referred(entry.value["$ref"], path, place, library)
                else:
                    yield written_eval(entry, library), path
            except InputError as exc:
                self._problems += exc.problems

    def _referred(
        self, written: str, path: Path, place: Place, library: Library
    ) -> Iterator[tuple[WrittenEval, Path]]:
        """The evals of a file that is referred to; `file.yaml#id` means one of them."""
        name, _, wanted = written.partition("#")
        target = resolve_inside(name, self._roots(path), place=place)
        if target in self._open:
            raise place.error(f"{name!r} refers back to itself", "remove one of the references")
        self._n_files += 1
        if self._n_files > MAX_EVAL_FILES:
            raise place.error(f"more than {MAX_EVAL_FILES:,} files", "split the suite")
        located = load(target, read_inside(name, self._roots(path), place=place))
        self._open.append(target)
        try:
            is_suite = shape_of(located.value) == "suite"
            inner = part(located, "eval_suite", "evals") if is_suite else located
            found = (
                self._listed(inner, target, library) if is_suite else self._in_file(inner, target, library)
            )
            chosen = [one for one in found if not wanted or _is_meant(one[0], wanted)]
        finally:
            self._open.pop()
        if wanted and not chosen:
            raise place.error(f"{name!r} has no eval {wanted!r}", "check the id")
        yield from chosen

    def _roots(self, path: Path) -> list[Path]:
        here = path.resolve().parent
        return list(dict.fromkeys((here, self._folder)))

    def _eval(self, one: WrittenEval, config: SuiteConfig, path: Path, library: Library) -> SuiteEval | None:
        try:
            located = Located(
                filled_texts(one.located.value, self._values), one.located.lines, one.located.file
            )
            setting = self._setting(one, config, path, library, Place(located.file, located.line_of(())))
            if one.eval_type == "regression":
                return build_regression_eval(located, validate(RegressionForm, located), setting)
            return build_capability_eval(located, validate(CapabilityForm, located), setting)
        except InputError as exc:
            self._problems += exc.problems
            return None

    def _setting(
        self, one: WrittenEval, config: SuiteConfig, path: Path, library: Library, place: Place
    ) -> EvalContext:
        roots, own = self._roots(path), one.config

        def read(written: str) -> str:
            return read_inside(written, roots, place=place)

        def read_if_there(written: str) -> str:
            if ".." in Path(written).parts or any((root / written).exists() for root in roots):
                return read(written)
            self._warnings.append(
                f"{place.file}:{place.line}: {written!r} is no file here; it is sent as text"
            )
            return written

        return EvalContext(
            library,
            read,
            read_if_there,
            timeout_seconds=own.timeout_seconds or config.timeout_seconds,
            retries=own.retries if {"retry_count", "retry_failed"} & own.model_fields_set else None,
            base_url=own.base_url or config.base_url,
        )

    def _refuse_doubles(self, evals: list[SuiteEval]) -> None:
        first: dict[str, Place] = {}
        for one in evals:
            if one.id in first:
                at = first[one.id]
                message = f"eval id {one.id!r} is used twice, first in {at.file}:{at.line}"
                self._problems.append(
                    Problem(message, "give every eval an id of its own", one.place.file, one.place.line)
                )
            first.setdefault(one.id, one.place)


def filled_texts(value: dict[str, object], values: Mapping[str, str]) -> dict[str, object]:
    """An eval with its placeholders filled, but for those of its requests: they may be secrets."""
    kept: dict[str, object] = {key: value[key] for key in ("current", "baseline") if key in value}
    whole: dict[str, object] = fill_placeholders(
        {key: item for key, item in value.items() if key not in kept}, values
    )
    given = value.get("input")
    if isinstance(given, dict) and given.get("type") == "api_call":
        whole["input"] = given
    return {**whole, **kept}


def _is_meant(one: WrittenEval, wanted: str) -> bool:
    written = one.located.value.get("id")
    return (
        isinstance(written, str) and written.rpartition("/")[2] == wanted.lstrip("/")
    ) or written == wanted
