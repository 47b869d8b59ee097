"""Every machine on factors is its machine on whole kernels: the same objective, the same predictions."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from absentia import CVKT, AbsentMKLClassifier, AverageKernelSVC, KernelViews, MKLClassifier, MKLRegressor
from absentia.data import _inputs
from helpers.mkl_problems import factors

N = 150
MACHINES = {
    "mkl": MKLClassifier(C=2.0),
    "mkl, norm 2": MKLClassifier(C=2.0, norm=2),
    "convex": AbsentMKLClassifier("convex", C=2.0),
    "convex, mean": AbsentMKLClassifier("convex", C=2.0, constraint="mean"),
    "iterative": AbsentMKLClassifier("iterative", C=2.0),
    "penalized": AbsentMKLClassifier("penalized", C=2.0),
    "two steps": AbsentMKLClassifier("penalized", C=2.0, two_step=True),
    "average": AverageKernelSVC(C=2.0),
    "average, rows": AverageKernelSVC(C=2.0, normalize="rows"),
    "average, squared": AverageKernelSVC(C=2.0, normalize="rows", loss="squared_hinge"),
}


@pytest.fixture(autouse=True)
def thin(monkeypatch):
    monkeypatch.setattr(_inputs, "_MAX_DENSE_SAMPLES", 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def problem():
    Phi, observed, y = factors(N, seed=1)
    parts = {
        f"v{p}": (np.flatnonzero(s), one) for p, (s, one) in enumerate(zip(observed.T, Phi, strict=True))
    }
    thin = KernelViews.from_factors(parts)
    whole = KernelViews.from_dense(np.nan_to_num(thin.to_dense()), observed=thin.observed, names=thin.names)
    return thin, whole, y[: len(thin)]


@pytest.mark.slow_params("mkl")
@pytest.mark.parametrize("name", MACHINES)
def test_two_classes(problem, name):
    thin, whole, y = problem
    a, b = (clone(MACHINES[name]).set_params(tol=1e-4).fit(K, y) for K in (thin, whole))
    assert a.converged_
    assert a.gap_ <= 1e-4
    assert a.objective_[-1] == pytest.approx(b.objective_[-1], rel=1e-3)
    np.testing.assert_allclose(a.weights_, b.weights_, atol=0.02)
    np.testing.assert_allclose(a.decision_function(thin), b.decision_function(whole), atol=0.05)


def test_several_classes_share_the_factors(problem):
    thin, whole, y = problem
    labels = np.where(y > 0, "b", np.where(np.arange(len(y)) % 2, "a", "c"))
    a, b = (MKLClassifier(tol=1e-4).fit(K, labels) for K in (thin, whole))
    for one, other in zip(a.objective_, b.objective_, strict=True):
        assert np.atleast_1d(one)[-1] == pytest.approx(np.atleast_1d(other)[-1], rel=1e-3)
    np.testing.assert_allclose(a.decision_function(thin), b.decision_function(whole), atol=0.05)


def test_threads_change_nothing(problem, monkeypatch):
    thin, _, y = problem
    labels = y.astype(int) + 5 * (np.arange(len(y)) % 3 == 0)
    found = []
    for number in "12":
        monkeypatch.setenv("OMP_NUM_THREADS", number)
        found.append(MKLClassifier().fit(thin, labels).decision_function(thin))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("norm", [1, 2])
def test_numbers(problem, norm):
    thin, whole, y = problem
    target = 50 + y + np.linspace(0, 1, len(y))
    a, b = (MKLRegressor(C=2.0, norm=norm, tol=1e-4).fit(K, target) for K in (thin, whole))
    assert a.gap_ <= 1e-4
    assert a.objective_[-1] == pytest.approx(b.objective_[-1], rel=1e-3)
    np.testing.assert_allclose(a.predict(thin), b.predict(whole), atol=0.05)


def test_another_order_of_the_samples_changes_nothing(problem, rng):
    thin, _, y = problem
    order = rng.permutation(len(thin))
    straight = MKLClassifier().fit(thin, y)
    turned = MKLClassifier().fit(thin[np.ix_(order, order)], y[order])
    np.testing.assert_allclose(turned.weights_, straight.weights_, rtol=1e-9)
    np.testing.assert_allclose(turned.dual_coef_[0], straight.dual_coef_[0, order], atol=1e-9)


def test_completed_factors_are_learned_from_as_factors(problem, monkeypatch):
    thin, _, y = problem
    full = CVKT(rounds=1).fit_transform(thin)
    whole = KernelViews.from_dense(full.to_dense(), names=full.names)
    a, b = (AverageKernelSVC(C=2.0, tol=1e-4).fit(K, y) for K in (full, whole))
    assert a.objective_[-1] == pytest.approx(b.objective_[-1], rel=1e-3)
    np.testing.assert_allclose(a.decision_function(full), b.decision_function(whole), atol=0.02)
    monkeypatch.setattr(KernelViews, "block", None)  # nothing n x n is made
    AverageKernelSVC(C=2.0).fit(full, y)


def test_probabilities_of_classes(problem):
    thin, whole, y = problem
    a, b = (AverageKernelSVC(probability=True, tol=1e-4).fit(K, y) for K in (thin, whole))
    np.testing.assert_allclose(a.predict_proba(thin), b.predict_proba(whole), atol=0.02)
