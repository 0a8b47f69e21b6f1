"""The grader against people, corrected rates, and judges that change places."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalq.review.calibration_result import CorrectedJudge, Estimate, GraderQuality
from evalq.review.estimates import (
    NO_BETTER,
    NO_LABELS,
    TOO_FEW,
    Kinds,
    correct_by_labels,
    correct_by_quality,
    flips,
    grader_quality,
)
from evalq.review.labels import Answer, contested_cases
from evalq.review.next_labels import choose_next
from evalq.stats import clopper_pearson, ppi_mean, rogan_gladen, wilson

Make = Callable[..., list[Answer]]
NOTHING_CONTESTED = Kinds(frozenset())
RAW = Estimate(100, 0.6, 0.5, 0.7, "wilson")
# Labels and marks of the published example, and the marks of a hundred others.
LABELS = [1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0]
MARKS = [1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0]
OTHERS = [1] * 60 + [0] * 40


def corrected(answers: list[Answer]) -> Estimate:
    found = correct_by_labels("a", answers, kinds=NOTHING_CONTESTED, raw=RAW).corrected
    assert found is not None
    return found


def quality_of(answers: list[Answer]) -> GraderQuality:
    found = grader_quality(answers, NOTHING_CONTESTED)
    assert found is not None
    return found


def test_many_labels_drawn_evenly_are_used_as_ppi_uses_them(make: Make) -> None:
    labels, marks, others = LABELS * 3, MARKS * 3, OTHERS * 3
    pairs = [(m, bool(y)) for m, y in zip(marks, labels, strict=True)] + [(m, None) for m in others]
    found = corrected(make(pairs))

    expected = ppi_mean(labels, marks, others)
    assert found.method == "ppi++"
    assert (found.rate, found.ci_low, found.ci_high) == pytest.approx(expected[:3], abs=1e-4)


def test_few_labels_are_stratified_whatever_way_they_were_drawn(make: Make) -> None:
    pairs = [(m, bool(y)) for m, y in zip(MARKS, LABELS, strict=True)] + [(m, None) for m in OTHERS]
    found = corrected(make(pairs))
    of_passed, of_failed = 7 / 8, 1 / 4
    assert (found.method, found.rate) == ("poststratified", round((68 * of_passed + 44 * of_failed) / 112, 4))


def test_labels_balanced_over_verdicts_do_not_bias_the_rate(make: Make) -> None:
    # 80 passed, of which 90 % rightly; 20 failed, of which 20 % wrongly: people would pass 76 of 100.
    pairs = [(True, True)] * 18 + [(True, False)] * 2 + [(True, None)] * 60
    pairs += [(False, True)] * 4 + [(False, False)] * 16
    found = corrected(make(pairs))
    assert (found.rate, found.method) == (0.76, "poststratified")
    quality = quality_of(make(pairs))
    assert quality.weighted
    assert quality.sensitivity is not None
    assert quality.specificity is not None
    assert quality.sensitivity.rate == round(72 / 76, 4)
    assert quality.specificity.rate == round(16 / 24, 4)


def test_labels_of_one_verdict_alone_correct_nothing(make: Make) -> None:
    pairs = [(True, True)] * 20 + [(True, None)] * 20 + [(False, None)] * 60
    judge = correct_by_labels("a", make(pairs), kinds=NOTHING_CONTESTED, raw=RAW)
    assert judge.corrected is None
    assert judge.undefined == "no answer that the grader failed is labelled"
    quality = quality_of(make(pairs))
    assert (quality.sensitivity, quality.specificity, quality.is_useful) == (None, None, None)
    other = correct_by_quality("a", make(pairs), quality=quality, raw=RAW)
    assert other.undefined == "whole kinds of answers have no label"


def test_a_few_labels_that_could_be_a_draw_speak_for_themselves(make: Make) -> None:
    found = corrected(make([(True, True)] * 3 + [(True, None)] * 90 + [(False, None)] * 5))
    assert (found.method, found.n, found.rate) == ("labels", 3, 1.0)
    assert found.ci_low == round(wilson(3, 3).low, 4)


def test_when_everything_is_labelled_the_rate_is_that_of_people(make: Make) -> None:
    found = corrected(make([(True, True)] * 40 + [(False, True)] * 20 + [(True, False)] * 40))
    assert (found.rate, found.method) == (0.6, "poststratified")


def test_a_judge_without_labels_is_not_corrected(make: Make) -> None:
    judge = correct_by_labels("a", make([(True, None)] * 4), kinds=NOTHING_CONTESTED, raw=RAW)
    assert (judge.corrected, judge.undefined, judge.n, judge.n_labelled) == (None, NO_LABELS, 4, 0)


def test_samples_of_one_case_are_one_draw(make: Make) -> None:
    pairs = [(True, True)] * 30 + [(False, False)] * 20 + [(True, False)] * 10
    once = make(pairs)
    again = [replace(one, sample=2) for one in once]
    single, double = corrected(once), corrected(once + again)
    assert double.rate == single.rate
    assert double.ci_high - double.ci_low == pytest.approx(single.ci_high - single.ci_low, rel=0.1)


@pytest.mark.parametrize("times", [1, 3])
def test_sensitivity_is_exact_for_few_answers_and_wilson_for_many(make: Make, times: int) -> None:
    pairs = [(True, True)] * 18 * times + [(False, True)] * 2 * times
    pairs += [(True, False)] * 3 * times + [(False, False)] * 7 * times
    quality = quality_of(make(pairs))
    sensitivity = quality.sensitivity
    assert sensitivity is not None
    interval, method = (
        (clopper_pearson(18, 20), "clopper_pearson") if times == 1 else (wilson(54, 60), "wilson")
    )
    assert (sensitivity.rate, sensitivity.method, sensitivity.n) == (0.9, method, 20 * times)
    assert (sensitivity.ci_low, sensitivity.ci_high) == pytest.approx(interval, abs=1e-4)
    counts = (
        quality.both_passed,
        quality.only_grader_passed,
        quality.only_people_passed,
        quality.both_failed,
    )
    assert counts == (18 * times, 3 * times, 2 * times, 7 * times)
    assert quality.n == 30 * times
    assert not quality.weighted


def test_agreement_has_kappa_and_ac1(make: Make) -> None:
    # The paradox table of the literature: nearly all agree, and kappa is below zero.
    pairs = [(True, True)] * 118 + [(True, False)] * 5 + [(False, True)] * 2
    agreement = quality_of(make(pairs)).agreement
    assert (agreement.n, agreement.kappa, agreement.ac1) == (125, -0.0234, 0.9408)
    assert agreement.share == round(118 / 125, 4)


def test_a_constant_grader_has_no_kappa(make: Make) -> None:
    agreement = quality_of(make([(True, True)] * 9 + [(True, False)])).agreement
    assert (agreement.kappa, agreement.kappa_low, agreement.degenerate) == (None, None, True)


def test_without_a_label_nothing_is_known_of_the_grader(make: Make) -> None:
    assert grader_quality(make([(True, None)] * 3), NOTHING_CONTESTED) is None
    judge = correct_by_quality("a", make([(True, None)]), quality=None, raw=RAW)
    assert judge.undefined == "there are no labels to know the grader by"


def test_a_rate_is_corrected_by_what_the_grader_gets_right_elsewhere(make: Make) -> None:
    labelled = [(True, True)] * 45 + [(False, True)] * 5 + [(True, False)] * 8 + [(False, False)] * 42
    quality = quality_of(make(labelled))
    judge = correct_by_quality("b", make([(True, None)], "b"), quality=quality, raw=RAW)
    expected = rogan_gladen(0.6, 0.84, 0.9, 100, 50, 50)
    assert expected is not None
    assert judge.corrected is not None
    assert judge.corrected.method == "rogan_gladen"
    numbers = (judge.corrected.rate, judge.corrected.ci_low, judge.corrected.ci_high)
    assert numbers == pytest.approx((expected.estimate, expected.low, expected.high), abs=1e-4)


@pytest.mark.parametrize(
    ("labelled", "reason"),
    [
        ([(True, True), (False, True), (True, False), (False, False)] * 5, NO_BETTER),
        ([(True, True), (False, False)] + [(True, False)] * 4, TOO_FEW),
        ([(True, True), (False, True)] * 5, "people failed no labelled answer"),
        ([(True, False), (False, False)] * 5, "people passed no labelled answer"),
    ],
)
def test_a_correction_that_is_undefined_says_why(
    make: Make, labelled: list[tuple[bool, bool]], reason: str
) -> None:
    judge = correct_by_quality("b", [], quality=quality_of(make(labelled)), raw=RAW)
    assert (judge.corrected, judge.undefined) == (None, reason)


def judged(name: str, raw: float, rate: float | None, width: float = 0.02) -> CorrectedJudge:
    found = None if rate is None else Estimate(9, rate, rate - width, rate + width, "ppi++")
    return CorrectedJudge(name, 9, 9, replace(RAW, rate=raw), found)


def test_judges_that_change_places_are_named_with_the_former_leader_first() -> None:
    judges = [judged("a", 0.8, 0.5), judged("b", 0.7, 0.6), judged("c", 0.6, 0.7), judged("d", 0.5, None)]
    found = flips(judges)
    assert [(one.a, one.b, one.raw_diff, one.corrected_diff, one.certain) for one in found] == [
        ("a", "b", 0.1, -0.1, True),
        ("a", "c", 0.2, -0.2, True),
        ("b", "c", 0.1, -0.1, True),
    ]
    assert flips(list(reversed(judges)))[0].a == "b"


def test_equal_judges_do_not_change_places_and_overlapping_ones_are_not_certain() -> None:
    assert flips([judged("a", 0.5, 0.4), judged("b", 0.5, 0.6)]) == []
    assert flips([judged("a", 0.6, 0.5), judged("b", 0.5, 0.5)]) == []
    assert [one.certain for one in flips([judged("a", 0.6, 0.5, 0.2), judged("b", 0.5, 0.6, 0.2)])] == [False]


PAIRS = st.lists(st.tuples(st.booleans(), st.sampled_from([True, False, None])), min_size=1, max_size=60)


@settings(deadline=None, max_examples=60)
@given(PAIRS, PAIRS, st.randoms(use_true_random=False))
def test_the_order_of_answers_does_not_matter_and_rates_stay_in_bounds(
    first: list[tuple[bool, bool | None]],
    second: list[tuple[bool, bool | None]],
    shuffler: random.Random,
) -> None:
    answers = [
        Answer(at, judge, f"c{place}", 1, "", "passed" if g else "failed", () if h is None else (h,))
        for at, (judge, place, (g, h)) in enumerate(
            [("a", i, pair) for i, pair in enumerate(first)]
            + [("b", i, pair) for i, pair in enumerate(second)]
        )
    ]
    mixed = shuffler.sample(answers, len(answers))
    kinds = Kinds(contested_cases(answers))
    assert Kinds(contested_cases(mixed)) == kinds
    assert grader_quality(mixed, kinds) == grader_quality(answers, kinds)
    for judge in ("a", "b"):
        own, other = ([one for one in them if one.judge == judge] for them in (answers, mixed))
        found = correct_by_labels(judge, own, kinds=kinds, raw=RAW)
        assert correct_by_labels(judge, other, kinds=kinds, raw=RAW) == found
        assert (found.corrected is None) is (found.undefined is not None)
        if found.corrected:
            assert 0 <= found.corrected.ci_low <= found.corrected.rate <= found.corrected.ci_high <= 1


def drawn_bakeoff(seed: int) -> tuple[list[Answer], dict[int, bool]]:
    """Two judges on 300 cases; the grader misses one right answer in five and passes one wrong in four."""
    drawn, truth, answers = random.Random(seed), {}, []
    for judge, rate in (("a", 0.9), ("b", 0.6)):
        for place in range(300):
            job_id, is_right = len(answers), drawn.random() < rate
            passed = drawn.random() < (0.8 if is_right else 0.25)
            truth[job_id] = is_right
            answers.append(Answer(job_id, judge, f"c{place}", 1, "", "passed" if passed else "failed"))
    return answers, truth


def test_labels_chosen_forty_at_a_time_free_the_rates_of_the_graders_bias() -> None:
    """As graded, judge a is 16 points too low; at judge b the grader's errors happen to cancel."""
    errors: dict[str, list[float]] = {"a": [], "b": []}
    covered = 0
    for seed in range(20):
        answers, truth = drawn_bakeoff(seed)
        for _ in range(4):
            chosen = {
                one.job_id for one in choose_next(answers, contested_cases(answers), count=40, seed=seed)
            }
            answers = [
                replace(one, votes=(truth[one.job_id],)) if one.job_id in chosen else one for one in answers
            ]
        kinds = Kinds(contested_cases(answers))
        for judge, real in (("a", 0.9), ("b", 0.6)):
            own = [one for one in answers if one.judge == judge]
            found = correct_by_labels(judge, own, kinds=kinds, raw=RAW).corrected
            assert found is not None
            errors[judge].append(found.rate - real)
            covered += found.ci_low <= real <= found.ci_high

    assert covered >= 36  # of 40
    for them in errors.values():
        assert abs(sum(them) / len(them)) < 0.025
