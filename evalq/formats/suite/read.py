"""Reading a suite from YAML or JSON: a suite file, a folder with one, or a single file of evals."""

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
)
from evalq.formats.suite.library import Library, read_library, read_shared_thresholds
from evalq.formats.suite.parts import (
    mapping_or_empty,
    part_at,
    require_mapping,
    split_entries,
    without_nulls,
)
from evalq.formats.suite.regressions import build_regression_eval
from evalq.formats.suite.shapes import WrittenEval, evals_in, shape_of, written_eval

SUITE_FILES = ("eval-suite.yaml", "eval-suite.yml", "eval-suite.json")
SUFFIXES = (".yaml", ".yml", ".json")
EVAL_FOLDERS = ("capability", "regression")
MAX_EVAL_FILES = 10_000
RUNNABLE = ("suite", "evals", "tests", "single", "wrapped")

EvalsWithFiles = Iterator[tuple[WrittenEval, Path]]
"""Evals, each with the file it is written in."""


@dataclass(frozen=True)
class Suite:
    """Evals, and how to run, report and gate them. Its paths stay inside `folder`."""

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
    """The suite in a file or folder, its placeholders filled with `values`.

    All problems of all its files are reported together, each with file and line.
    """
    return _SuiteReader(suite_file(path), values or {}).read()


def suite_file(path: Path) -> Path:
    """The file a path means: itself, or the suite file of the folder."""
    if not path.is_dir():
        return path
    for name in SUITE_FILES:
        if (path / name).is_file():
            return path / name
    raise InputError(Problem("no suite in this folder", f"write {SUITE_FILES[0]}", display_path(path)))


def suite_folder(file: Path) -> Path:
    """The folder an eval file belongs to: the nearest above it with a suite or shared graders."""
    here = file.resolve().parent
    for folder in (here, *here.parents):
        shared = [folder / "config" / f"graders{suffix}" for suffix in SUFFIXES]
        if any(path.is_file() for path in (*(folder / name for name in SUITE_FILES), *shared)):
            return folder
        if folder.name not in EVAL_FOLDERS and not set(EVAL_FOLDERS) & {up.name for up in folder.parents}:
            break
    return here


def load_file(path: Path) -> Located:
    """The content of a file, or of the suite file of a folder, with its lines."""
    named = suite_file(path)
    return load_text(named, read_text(named))


def load_text(path: Path, text: str) -> Located:
    """The content of a file whose text was read already, with its lines."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        remedy = f"write a {', '.join(SUFFIXES)} file"
        raise InputError(Problem("not an eval file", remedy, display_path(path)))
    if suffix == ".json":
        return load_json(text, display_path(path))
    return load_yaml(text, display_path(path))


class _SuiteReader:
    """Reads one suite and collects the problems and warnings of all its files."""

    def __init__(self, file: Path, values: Mapping[str, str]) -> None:
        self._file = file
        self._values = values
        self._folder = suite_folder(file)
        self._library = Library()
        self._problems: list[Problem] = []
        self._warnings: list[str] = []
        self._open: list[Path] = [file.resolve()]
        self._n_files = 0

    def read(self) -> Suite:
        located = load_file(self._file)
        self._library, shared = self._read_shared()
        form = self._read_form(located)
        evals = []
        for written, path in self._find_evals(located):
            one = self._build_eval(written, form.config, path)
            if one is not None:
                evals.append(one)
        self._refuse_duplicates(evals)
        if self._problems:
            raise InputError(*dict.fromkeys(self._problems))
        if not evals:
            raise InputError(located.problem((), "a suite without evals", "add some under evals"))
        return Suite(
            form.name,
            form.version,
            form.description,
            display_path(self._file),
            self._folder,
            tuple(evals),
            form.config,
            form.reporting,
            _merge_thresholds(shared, form.thresholds),
            self._library,
            tuple(dict.fromkeys(self._warnings)),
        )

    def _read_shared(self) -> tuple[Library, Thresholds]:
        """The shared definitions in the folder's `config`."""
        library, thresholds = Library(), Thresholds()
        for suffix in SUFFIXES:
            graders = self._folder / "config" / f"graders{suffix}"
            if graders.is_file() and graders.resolve() != self._file.resolve():
                library = read_library(self._load_own(graders))
            limits = self._folder / "config" / f"thresholds{suffix}"
            if limits.is_file():
                thresholds = read_shared_thresholds(self._load_own(limits))
        return library, thresholds

    def _load_own(self, path: Path) -> Located:
        return load_text(path, read_inside(str(path.relative_to(self._folder)), [self._folder]))

    def _read_form(self, located: Located) -> SuiteForm:
        """The `eval_suite` block; a file without one is a suite named after the file."""
        shape = shape_of(located.value)
        name = None
        if shape == "suite":
            body = part_at(located, "eval_suite")
            try:
                return validate(SuiteForm, without_nulls(body) if isinstance(body.value, dict) else body)
            except InputError as exc:
                self._problems += exc.problems
        elif shape == "tests":
            name = mapping_or_empty(located.value["metadata"]).get("name")
        return SuiteForm(name=name if isinstance(name, str) and name else self._file.stem)

    def _find_evals(self, located: Located) -> EvalsWithFiles:
        """Every eval of the suite; files that cannot be read are reported as problems."""
        try:
            if shape_of(located.value) != "suite":
                yield from self._evals_in_file(located, self._file)
                return
            body = part_at(located, "eval_suite")
            if require_mapping(body, "eval_suite").get("evals") is None:
                yield from self._evals_in_folders()
            else:
                yield from self._listed_evals(part_at(body, "evals"), self._file)
        except InputError as exc:
            self._problems += exc.problems

    def _evals_in_folders(self) -> EvalsWithFiles:
        """The evals of a suite that lists none: all files in its folders."""
        place = Place(display_path(self._file), 1)
        for name in EVAL_FOLDERS:
            for path in sorted((self._folder / name).rglob("*")):
                if path.suffix.lower() in SUFFIXES and not path.is_dir():
                    yield from self._referenced_evals(str(path.relative_to(self._folder)), self._file, place)

    def _evals_in_file(self, located: Located, path: Path) -> EvalsWithFiles:
        if isinstance(located.value, list):
            yield from self._listed_evals(located, path)
            return
        for one in evals_in(located, self._library):
            yield one, path

    def _listed_evals(self, located: Located, path: Path) -> EvalsWithFiles:
        if not isinstance(located.value, list):
            return
        for entry in split_entries(located).values():
            reference = mapping_or_empty(entry.value).get("$ref")
            try:
                if isinstance(reference, str):
                    place = Place(entry.file, entry.line_of(()))
                    yield from self._referenced_evals(reference, path, place)
                else:
                    yield written_eval(entry, self._library), path
            except InputError as exc:
                self._problems += exc.problems

    def _referenced_evals(self, reference: str, path: Path, place: Place) -> EvalsWithFiles:
        """The evals of a referenced file; `file.yaml#id` means one of them."""
        name, _, wanted = reference.partition("#")
        roots = self._roots(path)
        target = resolve_inside(name, roots, place=place)
        if target in self._open:
            raise place.error(f"{name!r} refers back to itself", "remove one of the references")
        self._n_files += 1
        if self._n_files > MAX_EVAL_FILES:
            raise place.error(f"more than {MAX_EVAL_FILES:,} files", "split the suite")
        located = load_text(target, read_inside(name, roots, place=place))
        self._open.append(target)
        try:
            if shape_of(located.value) == "suite":
                found = self._listed_evals(_evals_of(located), target)
            else:
                found = self._evals_in_file(located, target)
            chosen = [one for one in found if not wanted or _has_id(one[0], wanted)]
        finally:
            self._open.pop()
        if wanted and not chosen:
            raise place.error(f"{name!r} has no eval {wanted!r}", "check the id")
        yield from chosen

    def _roots(self, path: Path) -> list[Path]:
        """The folders that paths written in a file may start from."""
        return list(dict.fromkeys((path.resolve().parent, self._folder)))

    def _build_eval(self, written: WrittenEval, config: SuiteConfig, path: Path) -> SuiteEval | None:
        """The eval; None if it has problems."""
        source = written.located
        located = Located(fill_texts(source.value, self._values), source.lines, source.file)
        place = Place(located.file, located.line_of(()))
        context = self._build_context(written.config, config, self._roots(path), place)
        try:
            if written.eval_type == "regression":
                return build_regression_eval(located, validate(RegressionForm, located), context)
            return build_capability_eval(located, validate(CapabilityForm, located), context)
        except InputError as exc:
            self._problems += exc.problems
            return None

    def _build_context(
        self, own: SuiteConfig, config: SuiteConfig, roots: list[Path], place: Place
    ) -> EvalContext:
        def read(written: str) -> str:
            return read_inside(written, roots, place=place)

        def read_if_there(written: str) -> str:
            if ".." in Path(written).parts or any((root / written).exists() for root in roots):
                return read(written)
            self._warnings.append(
                f"{place.file}:{place.line}: there is no file {written!r}; it is sent as text"
            )
            return written

        sets_retries = {"retry_count", "retry_failed"} & own.model_fields_set
        return EvalContext(
            self._library,
            read,
            read_if_there,
            timeout_seconds=own.timeout_seconds or config.timeout_seconds,
            retries=own.retries if sets_retries else None,
            base_url=own.base_url or config.base_url,
        )

    def _refuse_duplicates(self, evals: list[SuiteEval]) -> None:
        first: dict[str, Place] = {}
        for one in evals:
            at = first.setdefault(one.id, one.place)
            if at is not one.place:
                message = f"eval id {one.id!r} is used twice, first in {at.file}:{at.line}"
                remedy = "give every eval an id of its own"
                self._problems.append(Problem(message, remedy, one.place.file, one.place.line))


def fill_texts(value: Mapping[str, object], values: Mapping[str, str]) -> dict[str, object]:
    """An eval with its placeholders filled, except those of its requests: they may be secrets."""
    texts = {key: item for key, item in value.items() if key not in ("current", "baseline")}
    whole: dict[str, object] = fill_placeholders(texts, values)
    given = value.get("input")
    if isinstance(given, dict) and given.get("type") == "api_call":
        whole["input"] = given
    for key in ("current", "baseline"):
        if key in value:
            whole[key] = value[key]
    return whole


def _evals_of(located: Located) -> Located:
    """The list of evals of a suite that another one refers to; its folders are not searched."""
    body = part_at(located, "eval_suite")
    if not isinstance(require_mapping(body, "eval_suite").get("evals"), list):
        message = "a suite that is referred to lists no evals"
        raise InputError(body.problem((), message, "list them under evals, or refer to their files"))
    return part_at(body, "evals")


def _merge_thresholds(shared: Thresholds, own: Thresholds) -> Thresholds:
    """The thresholds of the folder, overridden by those of the suite."""
    return own.model_copy(
        update={
            "metrics": {**shared.metrics, **own.metrics},
            "contexts": {**shared.contexts, **own.contexts},
            "k": own.k if "k" in own.model_fields_set else shared.k,
        }
    )


def _has_id(one: WrittenEval, wanted: str) -> bool:
    """Whether the eval has this id, or one that ends in it after a slash."""
    written = one.located.value.get("id")
    if not isinstance(written, str):
        return False
    return written == wanted or written.rpartition("/")[2] == wanted.lstrip("/")
