"""Fits from sums over blocks of samples: those of all samples at once, in single precision too."""

import tracemalloc

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import Ridge

from absentia import KernelLogistic, KernelViews
from absentia.methods.learning import Axes, DesignMatrix, LossSums, RowSums, fit_ridge


def make_factors(n, seed=0, width=6):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 2))
    parts = {}
    for name in ("a", "b"):
        has = np.flatnonzero(rng.random(n) < 0.8) if name == "a" else np.arange(n)
        loadings = rng.normal(size=(2, width))
        Phi = common[has] @ loadings + rng.normal(size=(len(has), width))
        parts[name] = (has, Phi.astype(np.float32) / np.float32(3))
    return parts, (common[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


def test_blocks_of_many_samples_minimise_the_penalised_loss():
    """More than two blocks; the optimum is found again by a quasi-Newton method on the whole table."""
    n = 18_000
    parts, y = make_factors(n)
    K = KernelViews.from_factors(parts, align="union")
    order = np.argsort(K.ids)
    K, C = K[np.ix_(order, order)], 3.0
    machine = KernelLogistic(C).fit(K, y)
    table, observed = np.zeros((n, 12)), np.zeros((n, 2), bool)
    for v, (has, Phi) in enumerate(parts.values()):
        table[has, 6 * v : 6 * v + 6] = Phi
        observed[has, v] = True
    table /= np.sqrt(observed.sum(axis=1))[:, None]
    T = table - table.mean(axis=0)
    penalty, signs = (T**2).sum(axis=1).mean() / C, 2 * y - 1

    def loss(b):
        eta = b[0] + T @ b[1:]
        slope = -signs / (1 + np.exp(signs * eta))
        value = np.logaddexp(0, -signs * eta).sum() + penalty / 2 * b[1:] @ b[1:]
        return value, np.r_[slope.sum(), T.T @ slope + penalty * b[1:]]

    wanted = minimize(loss, np.zeros(13), jac=True, method="BFGS", options={"gtol": 1e-6}).x
    scores = np.log(machine.predict_proba(K)[:, 1] / machine.predict_proba(K)[:, 0])
    np.testing.assert_allclose(scores, wanted[0] + T @ wanted[1:], atol=1e-5)


@pytest.mark.parametrize("groups", [None, 1, 2])
def test_one_block_and_several_say_the_same_of_samples_left_out(groups, monkeypatch):
    parts, y = make_factors(3000)
    K = KernelViews.from_factors(parts)
    together = None if groups is None else np.arange(3000) // groups
    wanted = KernelLogistic().fit(K, y, groups=together)
    for module in ("_logistic", "_sums"):
        monkeypatch.setattr(f"absentia.methods.learning.{module}.BLOCK_ROWS", 257)
    found = KernelLogistic().fit(K, y, groups=together)
    assert found.C_ == wanted.C_
    np.testing.assert_allclose(found.loo_proba_, wanted.loo_proba_, atol=1e-6)
    np.testing.assert_allclose(found.predict_proba(K), wanted.predict_proba(K), atol=1e-6)


def test_sums_of_two_sites_are_those_of_both():
    rng = np.random.default_rng(0)
    A, y, s, b = rng.normal(size=(50, 4)), rng.integers(0, 2, 50), rng.random(50), rng.normal(size=4)
    for of, arguments in ((RowSums.of, (A, s)), (LossSums.of_logistic, (A, y, s))):
        more = () if of == RowSums.of else (b,)
        whole = of(*arguments, *more)
        both = of(*(x[:20] for x in arguments), *more) + of(*(x[20:] for x in arguments), *more)
        for name, value in vars(whole).items():
            np.testing.assert_allclose(getattr(both, name), value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [1, 3])
def test_ridge_regression_without_a_row_is_that_fit_again(size, monkeypatch):
    for module in ("_logistic", "_sums"):
        monkeypatch.setattr(f"absentia.methods.learning.{module}.BLOCK_ROWS", 16)
    rng = np.random.default_rng(0)
    T, weight = rng.normal(size=(60, 5)), rng.random(60) + 0.5
    y = T @ rng.normal(size=5) + rng.normal(size=60)
    groups = np.arange(60) // size
    axes = Axes.of_rows(lambda rows: T[rows], 60, np.float64)
    fit = fit_ridge(axes, y, weight, 2.0, groups)
    own = np.flatnonzero(groups == 7)
    others = np.flatnonzero(groups != 7)
    again = Ridge(2.0).fit(axes.Z[others], y[others], sample_weight=weight[others])
    np.testing.assert_allclose(fit.loo[own], again.predict(axes.Z[own]), rtol=1e-9)
    whole = Ridge(2.0).fit(axes.Z, y, sample_weight=weight)
    np.testing.assert_allclose(T @ fit.coef + fit.bias, whole.predict(axes.Z), rtol=1e-9)


def test_a_pass_over_many_rows_takes_the_memory_of_one_small_block():
    rng = np.random.default_rng(0)
    Z, b = rng.normal(size=(20_000, 100)).astype(np.float32), rng.normal(size=101)
    A = DesignMatrix(Z)
    tracemalloc.start()
    try:
        found = A.times(b)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(found, b[0] + Z @ b[1:], atol=1e-12)
    assert peak < Z.nbytes / 2


def test_axes_of_blocks_are_those_of_the_whole_where_the_first_rows_are_unlike_the_rest(monkeypatch):
    T = np.random.default_rng(0).normal(size=(200, 4)) * [4, 3, 2, 1] + np.linspace(0, 30, 200)[:, None]
    wanted = Axes.of_table(T)
    for module in ("_logistic", "_sums"):
        monkeypatch.setattr(f"absentia.methods.learning.{module}.BLOCK_ROWS", 16)
    found = Axes.of_rows(lambda rows: T[rows], 200, np.float64)
    np.testing.assert_allclose(found.center, wanted.center, rtol=1e-12)
    np.testing.assert_allclose(np.abs(found.Z), np.abs(wanted.Z), atol=1e-10)
