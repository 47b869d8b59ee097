"""The price of errors, by held-out scores."""

import numpy as np
import pytest

from absentia import AverageKernelSVC, KernelViews
from absentia.data import folds
from absentia.methods.learning import SigmoidCalibration
from absentia.methods.prediction._selection import GRID, log_loss, select_C


def kernel(x):
    K = np.exp(-((x[:, None] - x) ** 2))
    return KernelViews.from_dense(K[None], names=["one"])


def test_the_price_is_the_one_whose_held_out_scores_tell_most():
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    y = (np.sin(3 * x) + 0.5 * rng.normal(size=120) > 0).astype(int)
    K, weight = kernel(x), np.ones(120)
    found = select_C(AverageKernelSVC(), K, y, weight)
    parts = folds(np.arange(120), y, 5)
    losses = {}
    for C in GRID:
        scores = np.zeros((120, 1))
        for a, b in parts:
            machine = AverageKernelSVC(C=C).fit(K[np.ix_(a, a)], y[a])
            own = machine.decision_function(K[np.ix_(a, a)])
            scores[b, 0] = (machine.decision_function(K[np.ix_(b, a)]) - own.mean()) / own.std()
        curve = SigmoidCalibration(scores, y, weight, np.bincount(y) / 120)
        losses[C] = log_loss(curve.predict(scores), y, weight)
    assert losses[found] == pytest.approx(min(losses.values()))
    assert max(losses.values()) > 1.02 * min(losses.values())


def test_with_one_sample_of_a_class_there_is_nothing_to_choose_by():
    x = np.arange(6.0)
    assert select_C(AverageKernelSVC(), kernel(x), np.array([0, 0, 0, 0, 0, 1]), np.ones(6)) == 1.0


def test_log_loss_is_by_weight():
    probabilities = np.array([[0.5, 0.5], [0.25, 0.75]])
    found = log_loss(probabilities, np.array([0, 1]), np.array([1.0, 3.0]))
    assert found == pytest.approx((np.log(2) - 3 * np.log(0.75)) / 4)
