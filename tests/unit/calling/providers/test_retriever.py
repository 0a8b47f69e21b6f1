"""The BM25 retriever finds the right note, in any of the three languages, and the same way every time."""

import json
import unicodedata
from pathlib import Path

import pytest

from evalq.calling.providers.retriever import Bm25Index, CorpusNote, load_notes, retrieve

NOTES = [
    {"id": "n-1", "title": "Soup", "text": "leeks and potatoes, simmer for an hour"},
    {"id": "n-2", "title": "Gießkanne", "text": "Wasser für die Kräuter, jeden Abend"},
    {"id": "n-3", "title": "Phở", "text": "nước dùng hầm xương sáu tiếng"},
    {"id": "n-4", "title": "Stew", "text": "leeks, leeks and more leeks"},
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "notes.jsonl"
    lines = [json.dumps(note, ensure_ascii=False) for note in NOTES]
    path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    return path


@pytest.fixture
def index(corpus: Path) -> Bm25Index:
    return Bm25Index(load_notes(corpus))


def test_notes_are_loaded_in_file_order_and_blank_lines_are_skipped(corpus: Path) -> None:
    notes = load_notes(corpus)

    assert [note.id for note in notes] == ["n-1", "n-2", "n-3", "n-4"]
    assert notes[2] == CorpusNote(id="n-3", title="Phở", text="nước dùng hầm xương sáu tiếng")


def test_a_note_that_repeats_the_word_comes_first(index: Bm25Index) -> None:
    assert index.search("leeks") == ["n-4", "n-1"]


def test_a_rare_word_outweighs_a_common_one(index: Bm25Index) -> None:
    assert index.search("leeks potatoes")[0] == "n-1"


def test_the_title_is_searched_too(index: Bm25Index) -> None:
    assert index.search("stew") == ["n-4"]


def test_case_is_folded_as_unicode_folds_it(index: Bm25Index) -> None:
    assert index.search("GIESSKANNE") == ["n-2"]


def test_decomposed_accents_match_composed_ones(index: Bm25Index) -> None:
    assert index.search(unicodedata.normalize("NFD", "phở")) == ["n-3"]


def test_accents_are_not_dropped(index: Bm25Index) -> None:
    assert index.search("pho") == []


@pytest.mark.parametrize("query", ["", "?!", "submarine"])
def test_a_query_that_shares_no_word_finds_nothing(index: Bm25Index, query: str) -> None:
    assert index.search(query) == []


def test_ties_are_broken_by_id() -> None:
    twins = [CorpusNote(id=note_id, title="twin", text="same words") for note_id in ("b", "c", "a")]

    assert Bm25Index(twins).search("twin") == ["a", "b", "c"]


def test_at_most_k_ids_are_returned(index: Bm25Index) -> None:
    assert index.search("leeks", k=1) == ["n-4"]


def test_of_two_equal_counts_the_shorter_note_wins() -> None:
    long = CorpusNote(id="a", title="", text="rain " + "filler " * 30)
    short = CorpusNote(id="b", title="", text="rain today")

    assert Bm25Index([long, short]).search("rain") == ["b", "a"]


def test_the_score_is_the_published_formula_by_its_order() -> None:
    """Two uses in a note of mean length beat one use in a note of half the length: 1.375 against 1.257."""
    twice = CorpusNote(id="b", title="", text="oak oak elm ash")
    once = CorpusNote(id="a", title="", text="oak fir")
    filler = CorpusNote(id="c", title="", text="yew yew yew yew yew yew")

    assert Bm25Index([twice, once, filler]).search("oak") == ["b", "a"]


def test_an_empty_corpus_finds_nothing() -> None:
    assert Bm25Index([]).search("anything") == []


def test_retrieve_answers_a_json_list_of_ids_from_the_shipped_corpus() -> None:
    ids = json.loads(retrieve({"query": "Grünkohl nach Oma Hilde"}))

    assert ids[0] == "note-003"
    assert len(ids) <= 10
