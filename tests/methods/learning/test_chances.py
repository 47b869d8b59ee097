"""Chances out of fold: chances, better than the prior, and nothing left for rounding to decide."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_predict

from absentia import (
    AbsentMKLClassifier,
    AverageKernelSVC,
    JoinedClassifier,
    KernelViews,
    MKLClassifier,
    ViewKernels,
    Views,
    datasets,
    missingness,
)
from absentia.data._profiles import folds, own_order
from absentia.methods.learning._chances import IsotonicChances, SigmoidChances, _held_out_scores, calibrated
from absentia.methods.learning._labels import check_labels
from nearest import NearestMean


@pytest.mark.parametrize("probability", [True, "isotonic"])
@pytest.mark.parametrize("many", [False, True])
def test_chances_are_chances_and_better_than_the_prior(kernels, probability, many):
    kv, y = kernels
    labels = y % 3 if many else y < 5
    machine = MKLClassifier(norm=2, probability=probability)
    chances = cross_val_predict(machine, kv, labels, cv=3, method="predict_proba")
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert (chances >= 0).all()
    own = chances[np.arange(120), labels.astype(int)]
    assert own.mean() > np.bincount(labels.astype(int)).max() / 120 + 0.1


def test_without_probability_there_is_no_predict_proba(kernels):
    kv, y = kernels
    assert not hasattr(MKLClassifier().fit(kv, y < 5), "predict_proba")
    with pytest.raises(ValueError, match="probability must be"):
        MKLClassifier(probability="platt").fit(kv, y < 5)


def test_calibration_leaves_nothing_for_rounding_to_decide():
    """Scores of views in another order differ in the last digits; calibrated to a loose end, chances by 5e-3."""
    views, y = datasets.load_digit_views(n_samples=90, return_X_y=True)
    X = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.35, random_state=3)))
    turned = X.select([X.names[v] for v in (3, 0, 5, 1, 4, 2)])
    chances = [
        AbsentMKLClassifier("penalized", probability=True).fit(kernels, y).predict_proba(kernels)
        for kernels in (X, turned)
    ]
    np.testing.assert_allclose(chances[1], chances[0], atol=1e-9)


@pytest.mark.parametrize("kind", [SigmoidChances, IsotonicChances])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_chances_rise_with_the_score_and_weights_are_copies(kind, n_classes, rng):
    codes = rng.integers(0, n_classes, 90)
    width = 1 if n_classes == 2 else 3
    truth = np.where(codes == 1, 1.0, -1.0)[:, None] if width == 1 else 2.0 * np.eye(3)[codes] - 1
    scores = truth + rng.standard_normal((90, width))
    weight = rng.integers(1, 3, 90)
    weighed, copied = (
        kind(scores, codes, weight.astype(float)),
        kind(np.repeat(scores, weight, axis=0), np.repeat(codes, weight), np.ones(weight.sum())),
    )
    line = np.linspace(-3, 3, 7)
    rows = line[:, None] if width == 1 else np.column_stack([line, -line, np.zeros(7)])
    found = weighed.predict(rows)
    assert found.shape == (7, n_classes)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    first = found[:, 1 if width == 1 else 0]
    assert (np.diff(first) >= -1e-12).all()
    assert first[-1] > first[0] + 0.5
    # the spread that scores are divided by is that of the scores, not of their copies: a matter of the penalty
    np.testing.assert_allclose(
        copied.predict(rows), found, atol=0 if kind is IsotonicChances else 0.02, rtol=1e-9
    )


def test_isotonic_chances_of_nothing_at_all_are_equal():
    chances = IsotonicChances(2 * np.eye(3) - 1, np.arange(3), np.ones(3))
    np.testing.assert_allclose(
        chances.predict(np.array([[-1.0, -1, -1], [1, -1, -1]])), [[1 / 3] * 3, [1, 0, 0]]
    )


def test_held_out_scores_are_of_fits_that_have_not_seen_the_samples(kernels):
    X, y = kernels
    weight = 0.5 + np.arange(120) % 4
    labels, rows = check_labels(X, y % 3, weight), np.random.default_rng(0).permutation(120)[:100]
    classifier = AverageKernelSVC(probability=True)
    scores, fair = _held_out_scores(classifier, X, labels, rows)
    assert fair.all()
    for a, b in folds(np.arange(100), y[rows] % 3, 5):
        learned_from, held = rows[a], rows[b]
        assert not set(learned_from) & set(held)
        part, own = X[np.ix_(learned_from, learned_from)], weight[learned_from]
        other = AverageKernelSVC().fit(part, y[learned_from] % 3, sample_weight=own)
        np.testing.assert_array_equal(scores[b], other.decision_function(X[np.ix_(held, learned_from)]))


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


@pytest.mark.parametrize("how", ["sigmoid", "isotonic"])
def test_samples_count_in_the_calibration_as_they_weigh(kernels, how):
    X, y = kernels
    labels = check_labels(X, y < 5, np.where(y < 5, 5.0, 1.0) * (np.arange(120) > 2))
    classifier = NearestMean(probability=how)
    rows = own_order(X, labels.codes, labels.weight)[1]
    rows = rows[labels.weight[rows] > 0]
    scores, _ = _held_out_scores(classifier, X, labels, rows)
    kind = {"sigmoid": SigmoidChances, "isotonic": IsotonicChances}[how]
    by_hand = kind(scores, labels.codes[rows], labels.weight[rows])
    line = np.linspace(-0.1, 0.1, 5)[:, None]
    np.testing.assert_array_equal(calibrated(classifier, X, labels).predict(line), by_hand.predict(line))


def test_what_folds_lack_of_the_levels_is_not_warned_of():
    import pandas as pd

    y = np.arange(30) % 2
    stage = np.where(np.arange(30) == 4, "rare", np.where(y > 0, "late", "early"))
    X = Views.from_dict({"a": pd.DataFrame({"stage": stage, "x": y + np.arange(30.0) / 9})})
    assert JoinedClassifier("svm", C=1.0, probability=True).fit(X, y).score(X, y) == 1
