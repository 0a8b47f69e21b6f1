"""Real EVAL.yaml files with what agentv makes of them, where they lie beside the checkout."""

from pathlib import Path

import pytest

from evalq.transpile.agentv_compat import load_as_agentv, transpile_as_agentv
from evalq.transpile.documents import json_document
from evalq.transpile.eval_yaml import read_eval_yaml
from evalq.transpile.skills import transpile

ROOT = Path(__file__).parents[3]
PLACES = (ROOT.parent / "shared" / "agentv-examples", ROOT.parents[1] / "shared" / "agentv-examples")
EXAMPLES = sorted(path.parent for place in PLACES for path in place.glob("*/EVAL.yaml"))

every_example = pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
if not EXAMPLES:
    every_example = pytest.mark.skip("no folder shared/agentv-examples beside the checkout")


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
