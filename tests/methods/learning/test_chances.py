"""Chances out of fold: chances, better than the prior, and nothing left for rounding to decide."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_predict

import laws_classifiers as laws
from absentia import AbsentMKLClassifier, MKLClassifier, ViewKernels, datasets, missingness


@pytest.fixture(scope="module")
def kernels():
    return laws.digit_kernels(120), laws.digits(120)[1]


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
