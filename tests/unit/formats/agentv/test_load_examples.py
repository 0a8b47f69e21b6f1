"""Real EVAL.yaml files, where they are at hand: each is imported, nothing vanishes."""

from pathlib import Path

import pytest
from references import REMEDY, referenced

from evalq.definitions.fit import check_fit
from evalq.formats import recognise
from evalq.formats.agentv.read import read_eval_yaml
from evalq.formats.export import export_imported

FILES = referenced("agentv-examples/*/EVAL.yaml")

every_example = (
    pytest.mark.parametrize("path", FILES, ids=[path.parent.name for path in FILES])
    if FILES
    else pytest.mark.skip(REMEDY)
)


@every_example
@pytest.mark.parametrize("mode", ["tool_calls", "description"])
def test_a_real_file_is_imported(path: Path, mode: str) -> None:
    importer = recognise(path)
    assert importer is not None
    found = importer.load(path, path.parent, trigger_mode=mode)  # type: ignore[arg-type]
    assert importer.name == "EVAL.yaml"
    assert check_fit(found.task, found.loaded) == []
    assert len(found.evalset.cases) >= len(read_eval_yaml(path).tests)


@every_example
def test_every_check_of_a_real_file_is_carried_over_or_listed(path: Path) -> None:
    importer = recognise(path)
    assert importer is not None
    found = importer.load(path, path.parent)
    for test, case in zip(read_eval_yaml(path).tests, found.evalset.cases, strict=True):
        lost = [one for one in test.assertions if any(f":{one.line}: " in text for text in found.warnings)]
        assert len(case.graders) >= min(1, len(test.assertions) - len(lost))
        assert case.graders


@every_example
def test_a_real_file_comes_back_from_our_own_form(path: Path) -> None:
    importer = recognise(path)
    assert importer is not None
    form = export_imported(importer.load(path, path.parent), task="t", eval_set="s")
    assert len(form.files) == 2
