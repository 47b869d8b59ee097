"""Estimating kernels by EM: the likelihood rises, nothing collapses, nothing hangs on rounding."""

import numpy as np

from absentia.methods.matrix import _estimate as estimate
from absentia.methods.matrix._estimate import What
from absentia.methods.matrix._likelihood import gradient, log_marginal
from absentia.methods.matrix._model import Addition, RowKernel
from matrices import from_model, rbf


def test_em_raises_the_marginal_likelihood_of_the_observed_entries():
    _, gaps, K1, _ = from_model(absent=0.3)
    seen = ~np.isnan(gaps)
    X = np.where(seen, gaps, 0.0)
    for what in (What(), What(C="free"), What(K=True), What(C="free", noise_only=True)):
        rows = RowKernel.dense(K1)
        model = estimate.starting(rows, X, seen, what)
        values = []
        for _ in range(6):
            values.append(log_marginal(model, X, seen))
            one = estimate.learn(
                model, X, seen, what, max_iter=1, shrinkage=0.0, nugget=1e-9, precision=1e-10
            )
            model = one.state.model
        assert (np.diff(values) > -1e-8).all(), what
        assert values[-1] > values[0] + 0.1


def test_a_step_of_em_is_stationary_where_the_gradient_vanishes():
    _, gaps, K1, _ = from_model(n=20, m=3)
    seen = ~np.isnan(gaps)
    X = np.where(seen, gaps, 0.0)
    what = What(C="free")
    start = estimate.starting(RowKernel.dense(K1), X, seen, what)
    fit = estimate.learn(
        start, X, seen, what, max_iter=400, shrinkage=0, nugget=1e-9, tol=1e-5, precision=1e-10
    ).state
    slope = gradient(fit.model, X, seen)
    first = gradient(start, X, seen)
    assert np.abs(fit.model.N @ slope.N).max() < 1e-2 * np.abs(start.N @ first.N).max()


def test_sampled_moments_agree_with_exact_ones(monkeypatch):
    _, gaps, K1, _ = from_model(n=80)
    seen = ~np.isnan(gaps)
    X = np.where(seen, gaps, 0.0)
    start = estimate.starting(RowKernel.dense(K1), X, seen, What())
    exact = estimate.learn(start, X, seen, What(), max_iter=20).state.model
    monkeypatch.setattr(estimate, "EXACT", 0)
    sampled = estimate.learn(start, X, seen, What(), max_iter=20, n_draws=50).state.model
    assert np.abs(sampled.N - exact.N).max() < 0.05 * np.abs(exact.N).max()


def test_the_plug_in_of_the_paper_collapses_and_em_does_not():
    """tr K2 under K2 = G'G/n and K1 = FF'/m from modes, against EM's, on data from the model."""
    X, _, _, K2 = from_model(n=30, m=5, absent=0)
    everything = np.ones(X.shape, dtype=bool)
    plug = Addition.pma(np.eye(30), np.eye(5))
    for _ in range(30):
        F = plug.row_part(X)
        G = X - F
        plug = Addition.pma(F @ F.T / 5 + 1e-9 * np.eye(30), G.T @ G / 30 + 1e-9 * np.eye(5))
    what = What(C="no", K=True)
    start = estimate.starting(RowKernel.dense(np.eye(30)), X, everything, what)
    em = estimate.learn(start, X, everything, what, max_iter=30).state.model
    sizes = [np.trace(model.N) / np.trace(K2) for model in (plug, em)]
    assert min(sizes[0], np.trace(plug.rows.to_dense()) / 30) < 0.02
    assert 0.2 < sizes[1] < 5


def test_kernel_width_by_marginal_likelihood_is_near_that_of_the_truth():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((150, 2))
    model = Addition.pma(rbf(features, gamma=1.0), 0.05 * np.eye(3))
    X = model.draw(rng, 1)[:, 0]
    seen = rng.random(X.shape) > 0.2
    gamma, _, curve = estimate.choose_gamma(features, X, seen, What(), rng)
    assert 0.5 < gamma < 2
    assert max(value for _, value in curve) == dict(curve)[gamma]


def test_an_eigenvalue_at_the_edge_of_rounding_moves_no_estimate():
    """Kernels that differ by 1e-12 of their size have estimates that differ by little more."""
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    Y = rng.standard_normal((12, 3))
    seen = np.ones(Y.shape, dtype=bool)
    what = estimate.What()
    found = []
    for edge in (0.99e-10, 1.01e-10):
        values = np.concatenate([np.full(6, edge), np.linspace(0.2, 1, 6)])
        rows = RowKernel.dense((U * values) @ U.T)
        start = estimate.starting(rows, Y, seen, what)
        found.append(estimate.learn(start, Y, seen, what, max_iter=2).state.model.C[0, 0])
    np.testing.assert_allclose(found[0], found[1], rtol=0.01)
