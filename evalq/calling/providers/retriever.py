"""A BM25 retriever over a folder of notes: the judge shipped for retrieval tasks."""

import functools
import json
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evalq.definitions.shipped import shipped_path

_K1 = 1.2
_B = 0.75
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class CorpusNote:
    """One entry of the knowledge base; title and text are both searched."""

    id: str
    title: str
    text: str


def load_notes(path: Path) -> list[CorpusNote]:
    """The notes of a JSONL file with an id, a title and a text per line; blank lines are skipped."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_note(line) for line in lines if line.strip()]


class Bm25Index:
    """Okapi BM25 (Robertson and Zaragoza 2009) with an idf that never falls below zero."""

    def __init__(self, notes: Sequence[CorpusNote]) -> None:
        words = {note.id: _words(f"{note.title} {note.text}") for note in notes}
        self._count = len(words)
        self._lengths = {note_id: len(of_note) for note_id, of_note in words.items()}
        self._mean_length = sum(self._lengths.values()) / max(1, self._count)
        self._postings: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for note_id, of_note in words.items():
            for word, times in Counter(of_note).items():
                self._postings[word][note_id] = times

    def search(self, query: str, k: int = 10) -> list[str]:
        """Ids of at most k notes that share a word with the query, best first, ties by id."""
        scores: defaultdict[str, float] = defaultdict(float)
        for word in dict.fromkeys(_words(query)):
            for note_id, times in self._postings.get(word, {}).items():
                scores[note_id] += self._rarity(word) * self._saturation(note_id, times)
        return sorted(scores, key=lambda note_id: (-scores[note_id], note_id))[:k]

    def _rarity(self, word: str) -> float:
        holders = len(self._postings[word])
        return math.log(1 + (self._count - holders + 0.5) / (holders + 0.5))

    def _saturation(self, note_id: str, times: int) -> float:
        relative_length = self._lengths[note_id] / self._mean_length
        return times * (_K1 + 1) / (times + _K1 * (1 - _B + _B * relative_length))


def retrieve(inputs: dict[str, object]) -> str:
    """The judge: takes a case's query, returns a JSON list of the ten best note ids."""
    return json.dumps(_shipped_index().search(str(inputs["query"])))


@functools.cache
def _shipped_index() -> Bm25Index:
    return Bm25Index(load_notes(shipped_path("evalsets/personal_rag_retrieval/corpus/notes.jsonl")))


def _note(line: str) -> CorpusNote:
    fields = json.loads(line)
    return CorpusNote(id=str(fields["id"]), title=str(fields["title"]), text=str(fields["text"]))


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFC", text).casefold())
