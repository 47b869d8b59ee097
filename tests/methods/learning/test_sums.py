"""Fits from sums over blocks of samples: those of all samples at once, in single precision too."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import Ridge

from absentia import KernelLogistic, KernelViews
from absentia.methods.learning import Axes, fit_ridge


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
