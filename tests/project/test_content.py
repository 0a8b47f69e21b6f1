"""The tasks and evalsets that come with evalq are sound: they load, fit, balance, prove and can be solved."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from answers import grade_now
from asking import complete
from written_context import WrittenContext

from evalq.bakeoff.plan import apply_scorer
from evalq.calling.providers.retriever import load_notes, retrieve
from evalq.calling.providers.simulated import SimulatedAdapter
from evalq.definitions.evalset import EvalCase
from evalq.definitions.files import LoadedEvalSet, load_evalset, load_task
from evalq.definitions.fit import check_fit
from evalq.definitions.judge import SimulatedJudge
from evalq.definitions.prompt import answer_prompt
from evalq.definitions.shipped import shipped_path
from evalq.definitions.task import TaskConfig
from evalq.grading.grade import decide_outcome
from evalq.grading.grader import AnswerToGrade
from evalq.grading.scoring import check_rubric
from evalq.records import Completion, Prompt

TASKS = ("knowledge_audit", "mail_classify", "personal_rag_retrieval", "voice_tool_use")
AUDIT_SETS = {"dev-93": 93, "holdout-99": 99, "holdout-30-sample": 30}
SETS = {
    **{("knowledge_audit", name): size for name, size in AUDIT_SETS.items()},
    ("mail_classify", "dev-30"): 30,
    ("personal_rag_retrieval", "personal-93"): 93,
    ("voice_tool_use", "dev-30"): 30,
}
LANGUAGES = ("EN", "VN", "DE")
BUCKETS = {
    "knowledge_audit": (
        "positive_explicit",
        "positive_subtle",
        "negative_near_miss",
        "negative_paraphrase",
        "negative_unrelated",
    ),
    "mail_classify": ("clear", "mixed_signals", "adversarial"),
    "personal_rag_retrieval": ("keyword", "paraphrase", "detail"),
    "voice_tool_use": ("direct", "corrected", "implicit", "distractor", "no_tool"),
}

every_set = pytest.mark.parametrize(("task_name", "set_name"), SETS)
every_audit_set = pytest.mark.parametrize("set_name", AUDIT_SETS)


@cache
def task(name: str) -> TaskConfig:
    return load_task(shipped_path("tasks") / f"{name}.yaml")


@cache
def loaded(task_name: str, set_name: str) -> LoadedEvalSet:
    return load_evalset(shipped_path("evalsets") / task_name / f"{set_name}.yaml")


def cases(task_name: str, set_name: str) -> list[EvalCase]:
    return loaded(task_name, set_name).evalset.cases


def strings(value: object) -> list[str]:
    """Every text in a nest of lists and mappings, keys included."""
    if isinstance(value, dict):
        return [text for pair in value.items() for item in pair for text in strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


def test_nothing_is_shipped_that_these_tests_do_not_know() -> None:
    evalsets = {(p.parent.name, p.stem) for p in shipped_path("evalsets").glob("*/*") if p.is_file()}
    assert {path.stem for path in shipped_path("tasks").iterdir()} == set(TASKS)
    assert evalsets == set(SETS)


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_named_like_its_file_and_says_what_it_is(name: str) -> None:
    assert task(name).name == name
    assert task(name).description.endswith(".")
    assert task(name).system_prompt.strip()


@every_set
def test_a_set_has_the_name_task_and_size_it_claims(task_name: str, set_name: str) -> None:
    evalset = loaded(task_name, set_name).evalset
    assert (evalset.name, evalset.task) == (set_name, task_name)
    assert len(evalset.cases) == SETS[task_name, set_name]
    assert len({case.id for case in evalset.cases}) == len(evalset.cases)


@every_set
def test_a_set_fits_its_task(task_name: str, set_name: str) -> None:
    assert check_fit(task(task_name), loaded(task_name, set_name)) == []


@every_set
def test_a_set_has_every_stratum_and_balances_them(task_name: str, set_name: str) -> None:
    sizes = Counter((case.stratum["bucket"], case.stratum["lang"]) for case in cases(task_name, set_name))
    assert set(sizes) == set(product(BUCKETS[task_name], LANGUAGES))
    assert max(sizes.values()) - min(sizes.values()) <= 1


@every_set
def test_texts_are_in_unicode_normal_form(task_name: str, set_name: str) -> None:
    texts = [text for case in cases(task_name, set_name) for text in strings(case.model_dump())]
    assert [text for text in texts if not unicodedata.is_normalized("NFC", text)] == []


@every_set
def test_inputs_are_not_blank_and_never_repeated(task_name: str, set_name: str) -> None:
    inputs = [json.dumps(case.inputs, sort_keys=True) for case in cases(task_name, set_name)]
    assert len(set(inputs)) == len(inputs)
    assert all(text.strip() for case in cases(task_name, set_name) for text in strings(case.inputs))


@cache
def sections(sources: str) -> dict[str, str]:
    """The text of each `[X]` section by its letter."""
    parts = re.split(r"^\[(\w+)\]", sources, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def positives(set_name: str) -> list[EvalCase]:
    return [case for case in cases("knowledge_audit", set_name) if case.expected_type == "positive"]


def sources_of(set_name: str) -> list[str]:
    return [case.inputs["sources"] for case in cases("knowledge_audit", set_name)]


def five_grams(text: str) -> frozenset[tuple[str, ...]]:
    words = text.casefold().split()
    return frozenset(tuple(words[at : at + 5]) for at in range(len(words) - 4))


def likeness(a: frozenset[tuple[str, ...]], b: frozenset[tuple[str, ...]]) -> float:
    return len(a & b) / len(a | b)


def test_the_sample_has_two_cases_of_every_stratum() -> None:
    sizes = Counter(case.stratum_name for case in cases("knowledge_audit", "holdout-30-sample"))
    assert set(sizes.values()) == {2}


def test_dev_and_holdout_share_no_case() -> None:
    dev, holdout = cases("knowledge_audit", "dev-93"), cases("knowledge_audit", "holdout-99")
    assert not {case.id for case in dev} & {case.id for case in holdout}
    assert not set(sources_of("dev-93")) & set(sources_of("holdout-99"))


def test_no_two_sources_are_nearly_the_same() -> None:
    grams = [five_grams(text) for name in ("dev-93", "holdout-99") for text in sources_of(name)]
    assert max(likeness(a, b) for at, a in enumerate(grams) for b in grams[:at]) < 0.05


def test_the_sample_is_a_part_of_the_holdout_case_for_case() -> None:
    holdout = {case.id: case for case in cases("knowledge_audit", "holdout-99")}
    sample = cases("knowledge_audit", "holdout-30-sample")
    assert [case for case in sample if case != holdout.get(case.id)] == []


@every_audit_set
def test_the_type_of_a_case_is_that_of_its_bucket(set_name: str) -> None:
    for case in cases("knowledge_audit", set_name):
        assert case.stratum["bucket"].startswith(case.expected_type), case.id


@every_audit_set
def test_every_source_text_has_at_least_two_lettered_sections(set_name: str) -> None:
    for case in cases("knowledge_audit", set_name):
        assert {"A", "B"} <= set(sections(case.inputs["sources"])), case.id


@every_audit_set
def test_every_quote_stands_word_for_word_in_the_section_it_names(set_name: str) -> None:
    for case in positives(set_name):
        assert case.expected is not None
        by_letter = sections(case.inputs["sources"])
        for quote in case.expected["quotes"]:
            assert quote["quote"] in by_letter[quote["source"]], case.id


@every_audit_set
def test_the_quotes_of_a_contradiction_come_from_two_sections(set_name: str) -> None:
    for case in positives(set_name):
        assert case.expected is not None
        assert len({quote["source"] for quote in case.expected["quotes"]}) >= 2, case.id


@every_audit_set
def test_every_phrase_stands_in_one_section_only_and_within_a_quote(set_name: str) -> None:
    for case in positives(set_name):
        assert case.expected is not None
        quotes = [quote["quote"] for quote in case.expected["quotes"]]
        for phrase in case.expected["any_of"]:
            assert sum(phrase in text for text in sections(case.inputs["sources"]).values()) == 1, case.id
            assert any(phrase in quote for quote in quotes), case.id


@every_audit_set
def test_a_negative_case_expects_neither_quotes_nor_phrases(set_name: str) -> None:
    for case in cases("knowledge_audit", set_name):
        keys = {"why", "quotes", "any_of"} if case.expected_type == "positive" else {"why"}
        assert set(case.expected or {}) == keys, case.id


def answers(task_name: str) -> list[str]:
    return [(case.expected or {})["answer"] for case in cases(task_name, "dev-30")]


def test_every_mail_is_expected_under_one_of_the_labels_equally_often() -> None:
    labels = re.findall(r"^\s*\d\. (\w+):", task("mail_classify").system_prompt, re.MULTILINE)
    assert Counter(answers("mail_classify")) == dict.fromkeys(labels, 5)


def test_every_utterance_is_expected_to_call_a_tool_of_the_prompt() -> None:
    tools = re.findall(r"^\s*- (\w+)\(.*\):", task("voice_tool_use").system_prompt, re.MULTILINE)
    called = {answer.partition("(")[0] for answer in answers("voice_tool_use")}
    assert called == set(tools)
    assert all(answer.endswith(")") and "\n" not in answer for answer in answers("voice_tool_use"))


def test_every_argument_of_an_expected_call_is_one_the_tool_has() -> None:
    prompt = task("voice_tool_use").system_prompt
    tools = dict(re.findall(r"^\s*- (\w+)\((.*)\):", prompt, re.MULTILINE))
    for answer in answers("voice_tool_use"):
        tool, _, arguments = answer.partition("(")
        used = re.findall(r"(\w+)=", arguments)
        assert used == [name for name in re.findall(r"(\w+)=", tools[tool]) if name in used], answer


def test_an_utterance_that_asks_for_nothing_calls_no_tool() -> None:
    for case in cases("voice_tool_use", "dev-30"):
        calls_none = (case.expected or {})["answer"] == "no_tool()"
        assert calls_none == (case.stratum["bucket"] == "no_tool"), case.id


NOTES = shipped_path("evalsets/personal_rag_retrieval/corpus/notes.jsonl")


def test_every_note_has_an_id_of_its_own_and_every_relevant_id_is_a_note() -> None:
    ids = [note.id for note in load_notes(NOTES)]
    assert len(set(ids)) == len(ids) == 60
    relevant = [(case.expected or {})["relevant"] for case in cases("personal_rag_retrieval", "personal-93")]
    assert all(relevant)
    assert {note for notes in relevant for note in notes} <= set(ids)


def test_notes_are_in_unicode_normal_form() -> None:
    assert unicodedata.is_normalized("NFC", Path(NOTES).read_text("utf-8"))


class GraderContext:
    """A context whose one grader model is simulated and never wrong."""

    def __init__(self, grader: SimulatedAdapter) -> None:
        self._grader = grader

    async def consult(self, model: str | None, prompt: Prompt, read: Callable[[str], Any]) -> Any:
        return read((await self._grader.complete(prompt)).text)

    async def run(self, program: object) -> Any:
        raise AssertionError(f"{program} is not run")

    async def answer_of(self, judge: str) -> str:
        raise AssertionError(f"{judge} is not asked")

    async def apart(self, work: Callable[[], Any]) -> Any:
        return work()


def test_bm25_finds_most_notes_but_not_all() -> None:
    retrieval, queries = task("personal_rag_retrieval"), cases("personal_rag_retrieval", "personal-93")
    hits = 0
    for case in queries:
        grades = {g.grader: g for g in grade_now(ranked(retrieval, case), WrittenContext())}
        hits += grades["hit_at_3"].passed is True
    assert 0.6 <= hits / len(queries) < 1.0


def ranked(retrieval: TaskConfig, case: EvalCase) -> AnswerToGrade:
    return AnswerToGrade(retrieval, case, Completion("answered", retrieve(case.inputs)))


def judge(accuracy: float) -> SimulatedAdapter:
    config = SimulatedJudge(
        name="sim", provider="simulated", model="sim", accuracy=accuracy, time_scale=0, price=None
    )
    return SimulatedAdapter(config, {})


def verdicts(marked: TaskConfig, of: list[EvalCase], *, accuracy: float) -> Counter[str]:
    """How the answers of a simulated judge end when the grader is never wrong."""
    adapter, grader, ends = judge(accuracy), judge(1.0), Counter[str]()
    for case in of:
        completion = complete(adapter, answer_prompt(marked, case))
        subject = AnswerToGrade(marked, case, completion)
        ends[decide_outcome(subject, grade_now(subject, GraderContext(grader))).verdict] += 1
    return ends


@every_set
@pytest.mark.parametrize(("accuracy", "verdict"), [(1.0, "passed"), (0.0, "failed")])
def test_a_right_judge_passes_every_case_and_a_wrong_one_none(
    task_name: str, set_name: str, accuracy: float, verdict: str
) -> None:
    marked = task(task_name)
    if marked.scoring:
        marked = apply_scorer(marked, "strict_substring", None)
    ends = verdicts(marked, cases(task_name, set_name), accuracy=accuracy)
    assert ends == {verdict: SETS[task_name, set_name]}


@every_audit_set
@pytest.mark.parametrize(("accuracy", "verdict"), [(1.0, "passed"), (0.0, "failed")])
def test_a_right_grader_sees_it_the_same_way(set_name: str, accuracy: float, verdict: str) -> None:
    audit = task("knowledge_audit")
    check_rubric(audit, cases("knowledge_audit", set_name)[0])
    assert verdicts(audit, cases("knowledge_audit", set_name), accuracy=accuracy) == {
        verdict: AUDIT_SETS[set_name]
    }
