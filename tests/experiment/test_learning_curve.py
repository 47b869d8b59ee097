"""Learning curves out of scores by fold: what is recovered, what is said, and when nothing can be said."""

import numpy as np
import pytest

from absentia.experiment.learning_curve import (
    LearningCurve,
    ScoreContext,
    _fit_power_law,
    make_sample_curve,
    make_view_curve,
)
from absentia.tasks import CLASSIFICATION

ACCURACY = CLASSIFICATION.order_metrics("accuracy")[0]
LOG_LOSS = CLASSIFICATION.order_metrics("log-loss")[0]
SIZES = (40.0, 64.0, 96.0, 128.0, 160.0)
KEYS = [(repeat, fold) for repeat in range(3) for fold in range(5)]


def judged(metric=ACCURACY, n=200, equivalence=0.01):
    return ScoreContext(metric, n, 0.25, equivalence)


def folds_of(values, noise=0.0, seed=0):
    """Scores by size, or count, and fold: means and noise of every fold."""
    rng = np.random.default_rng(seed)
    shared = noise * rng.standard_normal(len(KEYS))
    return {
        n: {key: mean + shared[j] + 0.3 * noise * rng.standard_normal() for j, key in enumerate(KEYS)}
        for n, mean in values.items()
    }


def power_law(a, b, c):
    return {n: a - b * n**-c for n in SIZES}


# ---------------------------------------------------------------------------------------------- samples


@pytest.mark.parametrize(
    ("a", "b", "c"), [(0.9, 2.0, 0.5), (0.95, 0.8, 0.3), (0.8, 20.0, 1.2), (0.99, 2.0, 0.7)]
)
def test_a_power_law_is_recovered(a, b, c):
    n = np.array(SIZES)
    law = _fit_power_law(n, a - b * n**-c, 1.0, 0.0)
    assert abs(np.log(law[2] / c)) < np.log(20) / 39  # a step of the grid of exponents
    curve = make_sample_curve("auto", folds_of(power_law(a, b, c)), judged())
    assert curve.law == pytest.approx([float(part) for part in law])
    close = 0.01 * b * (SIZES[0] ** -c - SIZES[-1] ** -c)  # of the rise that was measured
    assert curve.expected.value == pytest.approx(a - b * 400**-c, abs=close)
    assert curve.gain.value == pytest.approx(b * (200**-c - 400**-c), abs=close)
    assert curve.identified
    points = f"{ACCURACY.format_difference(curve.gain.value)} (95%: "
    assert curve.sentence.startswith(f"With auto, 200 more samples would be expected to add {points}")
    assert [point.n for point in curve.points] == list(SIZES)
    assert (curve.fitted[0].n, curve.fitted[-1].n) == (40, 400)


def test_the_interval_holds_the_truth_and_a_narrower_one_comes_of_less_noise():
    a, b, c = 0.9, 2.0, 0.5
    wide, narrow = (
        make_sample_curve("auto", folds_of(power_law(a, b, c), noise), judged()) for noise in (0.03, 0.003)
    )
    for curve in (wide, narrow):
        assert curve.gain.low <= b * (200**-c - 400**-c) <= curve.gain.high
        assert curve.expected.low <= a - b * 400**-c <= curve.expected.high
    assert narrow.gain.high - narrow.gain.low < 0.3 * (wide.gain.high - wide.gain.low)


def test_what_is_no_better_with_more_samples_is_said_to_be_flat():
    curve = make_sample_curve("auto", folds_of(dict.fromkeys(SIZES, 0.8), 0.001), judged())
    assert curve.identified
    assert curve.sentence == "With auto, 200 more samples are not expected to add more than 1 point."
    falling = {n: 0.8 - n / 10_000 for n in SIZES}
    assert make_sample_curve("auto", folds_of(falling), judged()).law.b == 0


def test_no_score_is_expected_beyond_the_best_there_is():
    n = np.array(SIZES)
    scores = 0.5 + 0.003 * n  # up to 0.98, and ever steeper
    assert _fit_power_law(n, scores, 1.0, 0.0)[0] == 1.0
    assert _fit_power_law(n, scores, np.inf, 0.0)[0] > 1.0
    curve = make_sample_curve("auto", folds_of(dict(zip(SIZES, scores, strict=True)), 0.02), judged())
    assert all(end <= 1.0 for point in curve.fitted for end in point.score)


def test_a_rise_that_could_be_chance_is_no_number():
    noisy = {
        n: {key: float(x) for key, x in zip(KEYS, scores, strict=True)}
        for n, scores in zip(SIZES, np.random.default_rng(1).normal(0.7, 0.2, (5, 15)), strict=True)
    }
    curve = make_sample_curve("auto", noisy, judged())
    assert not curve.identified
    assert "cannot be told" in curve.sentence
    assert "points" not in curve.sentence


def test_too_little_is_said_to_be_too_little():
    scores = folds_of(power_law(0.9, 2.0, 0.5))
    few_sizes = {n: scores[n] for n in SIZES[:3]}
    few_folds = {n: {key: folds[key] for key in KEYS[:3]} for n, folds in scores.items()}
    for given, words in (
        (few_sizes, "15 folds at 3 sizes"),
        (few_folds, "3 folds at 5 sizes"),
        ({}, "0 folds"),
    ):
        curve = make_sample_curve("auto", given, judged())
        assert f"cannot be told from {words}" in curve.sentence
        assert (curve.gain, curve.law, curve.fitted) == (None, None, ())


def test_a_loss_is_an_accuracy_upside_down():
    losses = {n: 1 - x for n, x in power_law(0.9, 2.0, 0.5).items()}
    curve = make_sample_curve("auto", folds_of(losses, 0.01), judged(LOG_LOSS))
    other = make_sample_curve("auto", folds_of({n: -x for n, x in losses.items()}, -0.01), ScoreContext(
        LOG_LOSS._replace(higher=True), 200, 0.25, 0.01
    ))  # fmt: skip
    assert curve.gain == pytest.approx(other.gain, abs=1e-3)  # but for the best there is
    assert curve.gain.value > 0
    assert curve.expected.value < losses[160.0]
    assert curve.expected.low <= curve.expected.value <= curve.expected.high
    assert "would be expected to improve log-loss by 0.0" in curve.sentence


# ------------------------------------------------------------------------------------------------ views


def test_what_a_view_would_add_is_the_line_drawn_on():
    counts = {0.0: 0.7, 60.0: 0.73, 120.0: 0.76}
    curve = make_view_curve("rna", folds_of(counts, 0.0), 80, judged())
    assert (curve.have, curve.lack) == (120, 80)
    assert curve.per_sample.value == pytest.approx(0.06 / 120)
    assert curve.so_far.value == pytest.approx(0.06)
    assert curve.gain.value == pytest.approx(0.04)
    assert curve.sentence.startswith(
        "Measuring rna in the 80 who lack it would be expected to add 4 points (95%: "
    )


def test_a_view_that_everybody_has_adds_nothing_more():
    curve = make_view_curve("rna", folds_of({0.0: 0.7, 60.0: 0.73, 120.0: 0.76}), 0, judged())
    assert curve.gain is None
    assert curve.sentence.startswith("Everybody has rna; it is estimated to add 6 points")


def test_what_scatters_is_drawn_towards_nothing():
    exact, noisy = (
        make_view_curve("rna", {0.0: folds_of({0: 0.7}, x, 1)[0], 100.0: folds_of({0: 0.74}, x, 2)[0]}, 100, judged())
        for x in (1e-6, 0.2)
    )  # fmt: skip
    assert exact.gain.value == pytest.approx(0.04, abs=1e-3)
    raw = np.mean(list(folds_of({0: 0.74}, 0.2, 2)[0].values())) - np.mean(
        list(folds_of({0: 0.7}, 0.2, 1)[0].values())
    )
    assert 0 < noisy.gain.value / raw < 0.5
    assert noisy.gain.low < 0 < noisy.gain.high


def test_scores_that_never_change_are_no_certainty():
    same = folds_of({0.0: 0.9}, 0.1)[0.0]
    curve = make_view_curve("rna", {0.0: same, 60.0: same, 120.0: same}, 80, judged())
    assert (
        curve.sentence
        == "With rna and without it every fold scores the same: what it would add cannot be told."
    )
    assert (curve.gain, curve.so_far) == (None, None)


def test_too_few_folds_of_a_view_are_said():
    few = {n: {key: folds[key] for key in KEYS[:3]} for n, folds in folds_of({0.0: 0.7, 50.0: 0.8}).items()}
    curve = make_view_curve("rna", few, 10, judged())
    assert curve.sentence == "What rna would add cannot be told from 3 folds."
    assert (curve.gain, curve.so_far) == (None, None)


def test_the_table_has_what_is_measured_and_what_is_fitted():
    samples = make_sample_curve("auto", folds_of(power_law(0.9, 2.0, 0.5), 0.01), judged())
    view = make_view_curve("rna", folds_of({0.0: 0.7, 60.0: 0.73, 120.0: 0.76}, 0.01), 80, judged())
    learned = LearningCurve(ACCURACY, (samples,), (view,))
    table = learned.table()
    assert table[table["measured"]]["of"].tolist() == ["samples"] * 5 + ["rna"] * 3
    assert table[~table["measured"]]["n"].iloc[-1] == 400
    assert (table["low"] <= table["score"]).all()
    assert (table["score"] <= table["high"]).all()
    assert learned.sentence == samples.sentence
    assert learned.sentences == (samples.sentence, view.sentence)
