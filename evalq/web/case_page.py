"""The case inspector: one case with every judge's answer side by side, its grades, calls and past."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from evalq.bakeoff.holdout import refuse_cases
from evalq.bakeoff.inspect import expected_answer
from evalq.bakeoff.run_names import run_name
from evalq.records import Grade, Savings
from evalq.reports.text_diff import Span, diff_words
from evalq.results import plain
from evalq.store import answers, case_details
from evalq.store.answers import JudgeAnswer
from evalq.store.case_details import CallAttempt, StoredCase
from evalq.web.bakeoff_view import BakeOffView, open_view
from evalq.web.case_list import find_neighbours, read_show
from evalq.web.run_page import SIGNS, filters_of, judges_in_order
from evalq.web.site import number_in_path, render, site_of

MOST_SHOWN = 20_000
"""Characters of a text on the page; the raw document has all of it."""

_PAST_BAKEOFFS = 12
_LETTERS = {"passed": "p", "failed": "f", "errored": "e", "pending_review": "w"}


@dataclass(frozen=True)
class AnswerCard:
    """One answer as the page shows it: its text in spans, those that differ marked."""

    answer: JudgeAnswer
    spans: Sequence[Span]
    cut: int
    grades: Sequence[Grade]
    attempts: Sequence[CallAttempt]
    cached: Savings

    @property
    def letter(self) -> str:
        """The letter of its verdict."""
        return _LETTERS[self.answer.verdict or "errored"]


def show_case(request: Request) -> Response:
    """One case; `against` names what the answers are compared with, `raw` asks for the document."""
    view = open_view(site_of(request), number_in_path(request, "bakeoff"))
    refuse_cases(view.site.db, view.id)
    name = request.path_params["case"] or request.query_params.get("case", "")
    case = case_details.find_case(view.site.db, view.id, name)
    if case is None:
        raise HTTPException(404, f"bake-off {view.id} has no such case")
    cards = read_cards(view, case, request.query_params.get("against", ""))
    if request.query_params.get("raw"):
        return PlainTextResponse(_document(case, cards))
    show = read_show(request)
    return render(
        request,
        "case_page.html",
        command=f"evalq inspect {view.id} --case {shlex.quote(case.case_id)}",
        view=view,
        case=case,
        inputs=list_texts(case.body.get("inputs")),
        expected=list_texts(case.body.get("expected")),
        cards=cards,
        judges=judges_in_order(view),
        against=request.query_params.get("against", ""),
        past=read_past(view, case),
        neighbours=find_neighbours(view, case.ordinal, show),
        show=show,
        filter_name=dict(filters_of(view))[show],
        signs=SIGNS,
        rerun=rerun_command,
    )


def rerun_command(view: BakeOffView, card: AnswerCard) -> str:
    """The command that puts the question to the judge once more and compares the answers."""
    sample = ["--sample", str(card.answer.sample)] if view.bakeoff.samples > 1 else []
    run, case_id = run_name(view.id, card.answer.judge), card.answer.case_id
    return shlex.join(["evalq", "replay", run, case_id, *sample, "--call"])


def read_cards(view: BakeOffView, case: StoredCase, against: str) -> list[AnswerCard]:
    """The answers to a case in the order of the ranking, compared with the expected one or a judge's."""
    db = view.site.db
    found = answers.judge_answers(db, view.id, [case.case_id])
    job_ids = [one.job_id for one in found]
    grades, attempts = answers.grades(db, job_ids), case_details.attempts(db, job_ids)
    cached = case_details.cached_verdicts_of(db, job_ids)
    reference = _reference(case, found, against)
    order = {name: place for place, (_, name) in enumerate(judges_in_order(view))}
    cards = []
    for one in sorted(found, key=lambda one: (order[one.judge], one.sample)):
        text = one.answer if one.answer is not None else one.message or ""
        spans = [Span(text[:MOST_SHOWN], True)]
        if reference is not None and one.judge != against:
            spans = diff_words(reference[:MOST_SHOWN], text[:MOST_SHOWN])[1]
        cut = max(0, len(text) - MOST_SHOWN)
        known = (grades[one.job_id], attempts.get(one.job_id, ()), cached.get(one.job_id, Savings()))
        cards.append(AnswerCard(one, spans, cut, *known))
    return cards


def _reference(case: StoredCase, found: Sequence[JudgeAnswer], against: str) -> str | None:
    """The text the answers are compared with, if any."""
    if not against:
        return None
    if against == "expected":
        return expected_answer(case.body.get("expected"))
    return next((one.answer for one in found if one.judge == against), None)


def list_texts(value: Any) -> list[tuple[str, str, int]]:
    """Inputs or expectations as names, texts, and how many characters were cut off."""
    if value is None:
        return []
    parts = value if isinstance(value, Mapping) else {"": value}
    listed = []
    for name, part in parts.items():
        text = part if isinstance(part, str) else json.dumps(part, ensure_ascii=False, indent=1)
        listed.append((str(name), text[:MOST_SHOWN], max(0, len(text) - MOST_SHOWN)))
    return listed


def read_past(view: BakeOffView, case: StoredCase) -> list[tuple[int, list[case_details.PastVerdict]]]:
    """The case in earlier and later bake-offs, by bake-off."""
    rows = case_details.history(view.site.db, view.id, case.case_id, limit=_PAST_BAKEOFFS)
    return [(number, list(some)) for number, some in groupby(rows, key=lambda row: row.bakeoff_id)]


def _document(case: StoredCase, cards: Sequence[AnswerCard]) -> str:
    """Everything the page shows, whole, as text that no browser obeys."""
    answers_shown = []
    for card in cards:
        grades = [asdict(grade) for grade in card.grades]
        calls = [asdict(call) for call in card.attempts]
        answers_shown.append({**asdict(card.answer), "grades": grades, "calls": calls})
    document = {"case_id": case.case_id, "stratum": case.stratum, "case": case.body, "answers": answers_shown}
    return json.dumps(plain(document), ensure_ascii=True, indent=2, default=str)


ROUTES = [Route("/runs/{bakeoff}/cases/{case:path}", show_case)]
