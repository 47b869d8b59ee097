"""Probabilities from held-out scores: better than the prior, of the machine at hand, nothing left to rounding."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_predict

from absentia import (
    AbsentMKLClassifier,
    AverageKernelSVC,
    KernelViews,
    MKLClassifier,
    MMAFClassifier,
    ViewKernels,
    Views,
    datasets,
    missingness,
)
from absentia.data import make_folds, order_for_learning
from absentia.methods.learning._held_out import (
    ScoreScale,
    SigmoidCalibration,
    _held_out_scores,
    _learn_scale,
    _score_rows,
    calibrate,
)
from absentia.methods.learning._inputs import check_labels
from helpers.smallest_classifiers import NearestMean


@pytest.mark.parametrize("many", [False, True])
def test_probabilities_are_probabilities_and_better_than_the_prior(kernels, many):
    kv, y = kernels
    labels = y % 3 if many else y < 5
    machine = MKLClassifier(norm=2, probability=True)
    probabilities = cross_val_predict(machine, kv, labels, cv=3, method="predict_proba")
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert (probabilities >= 0).all()
    own = probabilities[np.arange(120), labels.astype(int)]
    assert own.mean() > np.bincount(labels.astype(int)).max() / 120 + 0.1


def test_without_probability_there_is_no_predict_proba(kernels):
    kv, y = kernels
    assert not hasattr(MKLClassifier().fit(kv, y < 5), "predict_proba")
    with pytest.raises(ValueError, match="probability must be"):
        MKLClassifier(probability="platt").fit(kv, y < 5)


def test_calibration_leaves_nothing_for_rounding_to_decide():
    """Scores of views in another order differ in the last digits; calibrated to a loose end, probabilities by 5e-3."""
    views, digit = datasets.load_digit_views(n_samples=90, return_X_y=True)
    X, y = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.35, random_state=3))), digit % 3
    turned = X.select([X.names[v] for v in (3, 0, 5, 1, 4, 2)])
    probabilities = [
        AbsentMKLClassifier("penalized", probability=True).fit(kernels, y).predict_proba(kernels)
        for kernels in (X, turned)
    ]
    np.testing.assert_allclose(probabilities[1], probabilities[0], atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_rise_with_the_score_and_weights_are_copies(n_classes, rng):
    codes = rng.integers(0, n_classes, 90)
    width = 1 if n_classes == 2 else 3
    truth = np.where(codes == 1, 1.0, -1.0)[:, None] if width == 1 else 2.0 * np.eye(3)[codes] - 1
    scores = truth + rng.standard_normal((90, width))
    weight, prior = rng.integers(1, 3, 90), np.full(n_classes, 1 / n_classes)
    copies = np.repeat(scores, weight, axis=0), np.repeat(codes, weight), np.ones(weight.sum())
    weighed = SigmoidCalibration(scores, codes, weight.astype(float), prior)
    copied = SigmoidCalibration(*copies, prior)
    for scale, wanted in zip(
        ScoreScale.learn(scores, weight.astype(float)), ScoreScale.learn(copies[0], copies[2]), strict=True
    ):
        np.testing.assert_allclose(scale, wanted)
    line = np.linspace(-3, 3, 7)
    rows = line[:, None] if width == 1 else np.column_stack([line, -line, np.zeros(7)])
    found = weighed.predict(rows)
    assert found.shape == (7, n_classes)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    first = found[:, 1 if width == 1 else 0]
    assert (np.diff(first) >= -1e-12).all()
    assert first[-1] > first[0] + 0.5
    np.testing.assert_allclose(copied.predict(rows), found, rtol=1e-8)


def test_without_samples_of_every_class_probabilities_are_the_frequencies():
    prior = np.array([0.5, 0.3, 0.2])
    for codes in (np.zeros(0, int), np.array([0, 1, 0])):
        curve = SigmoidCalibration(np.ones((len(codes), 3)), codes, np.ones(len(codes)), prior)
        np.testing.assert_array_equal(curve.predict(np.zeros((2, 3))), [prior, prior])


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_the_curve_is_used_in_the_units_of_the_machine_that_it_is_used_on(kernel):
    """With a small C the offset of a machine jumps: learned from others' raw scores, the log-loss was log 2."""
    rng = np.random.default_rng(0)
    direction, losses = rng.standard_normal(50) / 7, []
    for _ in range(6):
        y = np.arange(362) % 2
        table = rng.standard_normal((362, 50)) + 2.2 * np.outer(y - 0.5, direction)
        X = Views.from_dict({"one": table})
        kernels = ViewKernels(kernel)
        machine = AverageKernelSVC(C=0.1, normalize="rows", probability=True)
        machine.fit(kernels.fit_transform(X[:62]), y[:62])
        found = machine.predict_proba(kernels.transform(X[62:]))
        losses.append(-np.log(found[np.arange(300), y[62:]]).mean())
    assert np.mean(losses) < 0.58


def test_scores_of_a_machine_are_measured_by_its_own_training_samples(kernels):
    X, y = kernels
    machine = AverageKernelSVC(C=0.1).fit(X, y < 5)
    scale = _learn_scale(machine, X, np.ones(120))
    scores = machine.decision_function(X)
    assert scale.mean == pytest.approx(scores.mean())
    assert scale.deviation == pytest.approx(scores.std())
    np.testing.assert_allclose(scale(scores[:, None]).std(), 1)
    assert ScoreScale.learn(np.full((9, 1), 0.3), np.ones(9)).deviation == 1


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_view_that_tells_nothing_gives_the_frequencies(kernel):
    """A binary feature, in both classes half and half: machines have no direction, and no fold a score."""
    sex, y = np.repeat([0.0, 1.0], 20)[:, None], np.tile([0, 0, 0, 1], 10)
    X = ViewKernels(kernel).fit_transform(Views.from_dict({"sex": sex}))
    found = AverageKernelSVC(probability=True).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found, np.tile([0.75, 0.25], (40, 1)), atol=0.05)


def test_held_out_scores_are_of_fits_that_have_not_seen_the_samples(kernels):
    X, y = kernels
    weight = 0.5 + np.arange(120) % 4
    labels, rows = check_labels(X, y % 3, weight), np.random.default_rng(0).permutation(120)[:100]
    classifier = AverageKernelSVC(probability=True).fit(X, y % 3, sample_weight=weight)
    scores, fair = _held_out_scores(classifier, X, labels, rows)
    assert fair.all()
    for a, b in make_folds(np.arange(100), y[rows] % 3, 5):
        learned_from, held = rows[a], rows[b]
        assert not set(learned_from) & set(held)
        part, own = X[np.ix_(learned_from, learned_from)], weight[learned_from]
        other = AverageKernelSVC().fit(part, y[learned_from] % 3, sample_weight=own)
        raw = _score_rows(other, X[np.ix_(held, learned_from)])
        np.testing.assert_array_equal(scores[b], _learn_scale(other, part, own)(raw))


def test_a_sample_that_a_fold_could_not_use_is_no_evidence():
    """One sample alone has the second view: held out, its only view is one that nobody had."""
    observed = np.ones((40, 2), bool)
    observed[1:, 1], observed[0, 0] = False, False
    X = np.random.default_rng(0).standard_normal((40, 3))
    kernels = KernelViews.from_dense([X @ X.T, np.eye(40)], observed=observed)
    y = X[:, 0] > 0
    rows = np.arange(40)
    _, fair = _held_out_scores(NearestMean(probability=True), kernels, check_labels(kernels, y), rows)
    np.testing.assert_array_equal(fair, rows > 0)


def test_samples_count_in_the_calibration_as_they_weigh(kernels):
    X, y = kernels
    labels = check_labels(X, y < 5, np.where(y < 5, 5.0, 1.0) * (np.arange(120) > 2))
    classifier = NearestMean(probability=True).fit(X, y < 5, sample_weight=labels.weight)
    rows = order_for_learning(X, labels.codes, labels.weight)[1]
    rows = rows[labels.weight[rows] > 0]
    scores, _ = _held_out_scores(classifier, X, labels, rows)
    by_hand = SigmoidCalibration(scores, labels.codes[rows], labels.weight[rows], labels.prior)
    line = np.linspace(-0.1, 0.1, 5)[:, None]
    scale = _learn_scale(classifier, X[np.ix_(rows, np.arange(120))], labels.weight[rows])
    np.testing.assert_array_equal(
        calibrate(classifier, X, labels).predict(line), by_hand.predict(scale(line))
    )


def test_what_folds_lack_of_the_levels_is_not_warned_of():
    import pandas as pd

    y = np.arange(30) % 2
    stage = np.where(np.arange(30) == 4, "rare", np.where(y > 0, "late", "early"))
    X = Views.from_dict({"a": pd.DataFrame({"stage": stage, "x": y + np.arange(30.0) / 9})})
    assert MMAFClassifier(probability=True).fit(X, y).score(X, y) == 1
