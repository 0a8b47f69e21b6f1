"""Real EVAL.yaml files with what agentv makes of them, where they are at hand."""

from pathlib import Path

import pytest
from references import REMEDY, referenced

from evalq.formats.agentv.compat import load_as_agentv, transpile_as_agentv
from evalq.formats.agentv.read import read_eval_yaml
from evalq.formats.agentv.skill_evals import json_document
from evalq.formats.agentv.transpile import transpile

EXAMPLES = [path.parent for path in referenced("agentv-examples/*/EVAL.yaml")]

every_example = pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
if not EXAMPLES:
    every_example = pytest.mark.skip(REMEDY)


@every_example
def test_the_files_are_agentvs_to_the_letter(folder: Path) -> None:
    result = transpile_as_agentv(load_as_agentv(folder / "EVAL.yaml"), "EVAL.yaml")
    written = {name: json_document(found.content()) for name, found in result.documents.items()}
    expected = {
        path.name.removeprefix("agentv."): path.read_text("utf-8") for path in folder.glob("agentv.*")
    }
    assert written == expected


@every_example
def test_every_test_has_its_entry(folder: Path) -> None:
    eval_file = read_eval_yaml(folder / "EVAL.yaml")
    documents = transpile(eval_file).documents.values()
    assert {case.id for document in documents for case in document.evals} == set(
        range(1, len(eval_file.tests) + 1)
    )
    assert all(case.prompt and case.assertions is not None for found in documents for case in found.evals)
