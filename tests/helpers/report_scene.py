"""A report on three judges and some cases, every text of which the test chooses."""

from dataclasses import replace
from decimal import Decimal

from evalq.reports.bakeoff_sections import bakeoff_sections, method_facts
from evalq.reports.cases import AnswerView, CaseView, GradeLine
from evalq.reports.report_parts import Report, ReportCases
from evalq.results import Agreement, BakeOffResult, Calls, Comparison, Offer, Rate, RunResult

JUDGES = ("good@short", "poor", "mute")

HOSTILE = {
    "script": "</script><script>alert(1)</script>",
    "comment": "<!-- --> <!--<script>",
    "element": "<img src=x onerror=alert(1)><a href='javascript:alert(1)'>x</a>",
    "style": "</style><style>body{display:none}</style>",
    "quotes": '"\'` onmouseover=alert(1) x="',
    "entity": "&lt;script&gt; &amp; &#60;",
    "separators": "one\u2028two\u2029three",
    "control": "\x1b[2J\x1b]8;;http://evil\x07\x00\x9b31m\x7f\ufffe\uffff",
    "surrogate": "lone \ud800 half",
    "bidi": "\u202egnp.exe\u2066",
    "pipes": "a | b || c \\| d",
    "mention": "@everyone see https://evil.example/ and www.evil.example #1",
    "markdown": "# heading\n- item\n1. one\n```\ncode\n```\n[x](http://evil) ![y](http://evil)",
    "formula": '=HYPERLINK("http://evil","x")',
    "formula of a tab": "\t=1+1",
    "minus": "-2+3+cmd|' /C calc'!A0",
    "format": "{0} {name} %s %(x)d $HOME",
    "cdata": "]]> <![CDATA[ x",
    "empty": "",
    "long": "word " * 30_000,
}
"""What a model may answer, and what a name may be, to break out of a file."""


def make_run(judge: str, n_pass: int, *, stratum: str = "EN", excluded: str | None = None) -> RunResult:
    """A judge on twenty cases."""
    rate = None if excluded else n_pass / 20
    money = (Decimal("0.04"), Decimal("0.03"), Decimal("0.01"))
    n_fail, n_error = (0, 20) if excluded else (20 - n_pass, 0)
    run = RunResult(
        7, judge, "v", 20, n_pass, n_fail, n_error, rate, None, None, "wilson", 800, 1900, *money, 0
    )
    if excluded:
        return replace(run, excluded=excluded, errors={"empty": 20})
    rates = {stratum: Rate(14, rate, 0.2, 0.9), "few": Rate(6, rate, 0.1, 0.95)}
    return replace(run, ci_low=max(rate - 0.2, 0), ci_high=min(rate + 0.2, 1), per_stratum=rates)  # type: ignore[operator, type-var]


def make_result(*, judge: str = JUDGES[0], stratum: str = "EN") -> BakeOffResult:
    """Two judges ranked and one left out."""
    runs = (
        make_run(judge, 17, stratum=stratum),
        make_run(JUDGES[1], 8, stratum=stratum),
        make_run(JUDGES[2], 0, excluded="20/20 empty outputs"),
    )
    return BakeOffResult(
        id=142,
        task="capitals",
        eval_set="dev-20",
        scorer="strict_substring",
        grader=None,
        seed=3,
        samples=1,
        state="concluded",
        spent_usd=Decimal("0.12"),
        cap_usd=Decimal(5),
        saved_usd=Decimal(0),
        calls=Calls(60, 60, 0, 0),
        runs=runs,
        comparisons=(Comparison(judge, JUDGES[1], 20, 0.45, 0.2, 0.65, 0.004, 0.004, separable=True),),
        kappa=(Agreement(judge, JUDGES[1], 20, 0.3, 0.4, False, None, 0.1, 0.6),),
        warnings=(),
        next=("evalq inspect 142 --disagreements", "evalq report 142", "evalq web"),
        n_jobs=60,
        n_done=60,
        prices_as_of="2026-11-01",
    )


def make_offers(result: BakeOffResult) -> tuple[Offer, ...]:
    """The ranked judges with dollars that differ."""
    offers = []
    for place, run in enumerate(run for run in result.runs if not run.excluded):
        assert run.accuracy is not None
        assert run.ci_low is not None
        assert run.ci_high is not None
        rates = (run.accuracy, run.ci_low, run.ci_high)
        usd = Decimal("0.002") * (place + 1)
        is_best = place == 0
        beaten_by = None if is_best else result.runs[0].judge
        offers.append(Offer(run.judge, 20, 20, *rates, "wilson", usd, usd * 20, is_best, beaten_by, ()))
    return tuple(offers)


def make_case(number: int, text: str, *, judge: str = JUDGES[0], stratum: str = "EN") -> CaseView:
    """A case that the first judge passes, the second fails and the third does not answer."""
    passed = GradeLine("strict_substring", True, "")
    failed = GradeLine("strict_substring", False, text or "differs")
    answers = (
        AnswerView(judge, 1, "passed", None, text, (passed,), 800, Decimal("0.002"), (10, 5)),
        AnswerView(JUDGES[1], 1, "failed", None, text, (failed,), 900, Decimal("0.002"), (10, 5)),
        AnswerView(JUDGES[2], 1, "errored", "empty", ""),
    )
    return CaseView(f"case-{number:03}", stratum, "", text, text, answers)


def make_report(
    text: str = "Hanoi", *, judge: str = JUDGES[0], n_cases: int = 3, stratum: str = "EN"
) -> Report:
    """A report in which the text is input, expectation, answer and reason of every case, and the caveat."""
    result = make_result(judge=judge, stratum=stratum)
    cases = tuple(make_case(number, text, judge=judge, stratum=stratum) for number in range(n_cases))
    names = (judge, *JUDGES[1:])
    return Report(
        kind="bakeoff",
        id="142",
        title="capitals · dev-20",
        facts=("2026-11-15", "3 judges"),
        answer=f"Ship {judge}: it beats poor by 45 pp.",
        caveats=(text,) if text.strip() else (),
        sections=bakeoff_sections(result, make_offers(result), monthly_cases=1000),
        cases=ReportCases(
            names,
            cases,
            n_cases=n_cases,
            n_not_passed=n_cases,
            disagreements=tuple(case.case_id for case in cases),
            rest_command="evalq inspect 142 --show-failures",
        ),
        method=(*method_facts(result), ("note", text)),
        next=result.next,
        document=result.to_dict(),
    )
