"""C, selected by held-out scores."""

import numpy as np
import pytest
from sklearn.base import clone

from absentia import (
    AbsentMKLClassifier,
    AverageKernelSVC,
    KernelViews,
    MKLClassifier,
    MKLRegressor,
    MMAFClassifier,
    Views,
)
from absentia.data import make_folds, order_for_learning
from absentia.methods.learning import _held_out as module
from absentia.methods.learning import log_loss, select_C
from absentia.methods.learning._held_out import SigmoidCalibration


def kernel(x):
    K = np.exp(-((x[:, None] - x) ** 2))
    return KernelViews.from_dense(K[None], names=["one"])


def test_C_is_the_one_whose_held_out_scores_tell_most():
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    y = (np.sin(3 * x) + 0.5 * rng.normal(size=120) > 0).astype(int)
    K, weight = kernel(x), np.ones(120)
    found = select_C(AverageKernelSVC(), K, y, weight)
    parts = make_folds(np.arange(120), y, 5)
    losses = {}
    for C in module._GRID:
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


def test_every_machine_selects_its_C_by_the_same_rule():
    """In the order of the data, without samples of weight zero and without the weights of classes."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=70)
    y = np.where(np.sin(3 * x) + 0.5 * rng.normal(size=70) > 0, "yes", "no")
    weight = np.where(np.arange(70) < 10, 0.0, 1.0)
    for machine in (
        AverageKernelSVC(C="cv"),
        MKLClassifier("cv"),
        AbsentMKLClassifier("penalized", C="cv"),
    ):
        K = kernel(x)
        fitted = machine.fit(K, y, sample_weight=weight)
        order = order_for_learning(K, (y == "yes").astype(int), weight)[1]
        rows = order[weight[order] > 0]
        part, codes = K[np.ix_(rows, rows)], (y == "yes").astype(int)[rows]
        assert select_C(clone(machine), part, codes, np.ones(60)) == fitted.C_
        same = clone(machine).set_params(C=fitted.C_).fit(K, y, sample_weight=weight)
        np.testing.assert_array_equal(same.decision_function(K), fitted.decision_function(K))


def test_probabilities_are_learned_with_the_C_that_was_selected():
    rng = np.random.default_rng(2)
    x = rng.normal(size=60)
    y = np.sin(3 * x) + 0.5 * rng.normal(size=60) > 0
    K = kernel(x)
    fitted = AverageKernelSVC(C="cv", probability=True).fit(K, y)
    given = AverageKernelSVC(C=fitted.C_, probability=True).fit(K, y)
    np.testing.assert_array_equal(fitted.predict_proba(K), given.predict_proba(K))


def test_of_many_samples_some_are_enough(monkeypatch):
    monkeypatch.setattr(module, "_MAX_SAMPLES", 40)
    monkeypatch.setattr(module, "_SUBSAMPLE_SIZE", 30)
    sizes, real = [], module.select_C

    def select_C(machine, X, *arguments, **options):
        sizes.append(X.shape)
        return real(machine, X, *arguments, **options)

    monkeypatch.setattr(module, "select_C", select_C)
    x = np.random.default_rng(5).normal(size=60)
    AverageKernelSVC(C="cv").fit(kernel(x), x > 0)
    assert sizes == [(30, 30)]


def test_a_linear_machine_on_features_selects_its_C_too():
    rng = np.random.default_rng(3)
    table = rng.normal(size=(50, 4))
    views = Views.from_dict({"a": table})
    fitted = MMAFClassifier("cv").fit(views, table[:, 0] > 0)
    assert fitted.C_ in module._GRID


def test_of_regressors_the_squared_error_decides():
    rng = np.random.default_rng(4)
    x = rng.normal(size=40)
    y = np.sin(3 * x) + 0.1 * rng.normal(size=40)
    K = kernel(x)
    fitted = MKLRegressor("cv", epsilon=0.01).fit(K, y)
    rows = order_for_learning(K, y, np.ones(40))[1]
    errors = {}
    for C in module._GRID:
        machine, errors[C] = MKLRegressor(C, epsilon=0.01), 0.0
        for a, b in make_folds(np.arange(40), np.zeros(40, int), 5):
            machine.fit(K[np.ix_(rows[a], rows[a])], y[rows[a]])
            errors[C] += ((y[rows[b]] - machine.predict(K[np.ix_(rows[b], rows[a])])) ** 2).sum()
    assert errors[fitted.C_] == pytest.approx(min(errors.values()))
    assert max(errors.values()) > 1.5 * min(errors.values())


def test_log_loss_is_by_weight():
    probabilities = np.array([[0.5, 0.5], [0.25, 0.75]])
    found = log_loss(probabilities, np.array([0, 1]), np.array([1.0, 3.0]))
    assert found == pytest.approx((np.log(2) - 3 * np.log(0.75)) / 4)
