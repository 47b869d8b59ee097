"""Estimating kernels by EM: the likelihood rises, nothing collapses, nothing depends on rounding."""

import numpy as np

from absentia.methods.matrix import _estimation as module
from absentia.methods.matrix._estimation import FreeParts, MomentUpdate, initial_model, run_em
from absentia.methods.matrix._inference import log_marginal_likelihood
from absentia.methods.matrix._model import RowKernel
from absentia.methods.matrix._targets import _select_gamma
from helpers.matrices import from_model, kronecker_sum, rbf
from reference import pma as reference


def test_em_raises_the_marginal_likelihood_of_the_observed_entries():
    _, gaps, K1, _ = from_model(absent=0.3)
    seen = ~np.isnan(gaps)
    X = np.where(seen, gaps, 0.0)
    for what in (FreeParts(), FreeParts(C="free"), FreeParts(K=True), FreeParts(C="free", noise_only=True)):
        rows = RowKernel.from_dense(K1)
        model = initial_model(rows, X, seen, what)
        values = []
        for _ in range(6):
            values.append(log_marginal_likelihood(model, X, seen))
            update = MomentUpdate(what, model, shrinkage=0.0, nugget=1e-9)
            model = run_em(model, X, seen, update, max_iter=1, precision=1e-10).state.model
        assert (np.diff(values) > -1e-8).all(), what
        assert values[-1] > values[0] + 0.1


def test_a_step_of_em_is_stationary_where_the_gradient_vanishes():
    _, gaps, K1, _ = from_model(n=20, m=3)
    seen = ~np.isnan(gaps)
    X = np.where(seen, gaps, 0.0)
    what = FreeParts(C="free")
    start = initial_model(RowKernel.from_dense(K1), X, seen, what)
    update = MomentUpdate(what, start, shrinkage=0.0, nugget=1e-9)
    end = run_em(start, X, seen, update, max_iter=400, tol=1e-5, precision=1e-10).state.model

    def slopes(model):
        """Derivatives of the log-likelihood when N moves along N E, for every matrix of units E."""
        S = reference.covariance(K1, model.C, model.N)
        moves = [model.N @ E + (model.N @ E).T for E in np.eye(9).reshape(9, 3, 3)]
        return [reference.log_marginal_gradient(S, np.kron(np.eye(20), dN), X, seen) for dN in moves]

    assert np.abs(slopes(end)).max() < 1e-2 * np.abs(slopes(start)).max()


def test_sampled_moments_agree_with_exact_ones(monkeypatch):
    _, gaps, K1, _ = from_model(n=80)
    seen = ~np.isnan(gaps)
    X = np.where(seen, gaps, 0.0)
    start = initial_model(RowKernel.from_dense(K1), X, seen, FreeParts())
    exact = run_em(start, X, seen, MomentUpdate(FreeParts(), start), max_iter=20).state.model
    monkeypatch.setattr(module, "_MAX_EXACT_MISSING", 0)
    sampled = run_em(start, X, seen, MomentUpdate(FreeParts(), start), max_iter=20, n_draws=50).state.model
    assert np.abs(sampled.N - exact.N).max() < 0.05 * np.abs(exact.N).max()


def test_the_plug_in_of_the_paper_collapses_and_em_does_not():
    """tr K2 under K2 = G'G/n and K1 = FF'/m from modes, against EM's, on data from the model."""
    X, _, _, K2 = from_model(n=30, m=5, absent=0)
    everything = np.ones(X.shape, dtype=bool)
    plug = kronecker_sum(np.eye(30), np.eye(5))
    for _ in range(30):
        F = plug.expect_F(X)
        G = X - F
        plug = kronecker_sum(F @ F.T / 5 + 1e-9 * np.eye(30), G.T @ G / 30 + 1e-9 * np.eye(5))
    what = FreeParts(C="fixed", K=True)
    start = initial_model(RowKernel.from_dense(np.eye(30)), X, everything, what)
    em = run_em(start, X, everything, MomentUpdate(what, start), max_iter=30).state.model
    sizes = [np.trace(model.N) / np.trace(K2) for model in (plug, em)]
    assert min(sizes[0], np.trace(plug.rows.to_dense()) / 30) < 0.02
    assert 0.2 < sizes[1] < 5


def test_kernel_width_by_marginal_likelihood_is_near_that_of_the_truth():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((150, 2))
    model = kronecker_sum(rbf(features, gamma=1.0), 0.05 * np.eye(3))
    X = model.draw(rng, 1)[:, 0]
    seen = rng.random(X.shape) > 0.2
    gamma, _, curve = _select_gamma(
        features, X, seen, FreeParts(), rng, lambda rows, X, seen: initial_model(rows, X, seen, FreeParts())
    )
    assert 0.5 < gamma < 2
    assert max(value for _, value in curve) == dict(curve)[gamma]


def test_an_eigenvalue_at_the_edge_of_rounding_moves_no_estimate():
    """Kernels that differ by 1e-12 of their size have estimates that differ by little more."""
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    Y = rng.standard_normal((12, 3))
    seen = np.ones(Y.shape, dtype=bool)
    what = FreeParts()
    found = []
    for edge in (0.99e-10, 1.01e-10):
        values = np.concatenate([np.full(6, edge), np.linspace(0.2, 1, 6)])
        rows = RowKernel.from_dense((U * values) @ U.T)
        start = initial_model(rows, Y, seen, what)
        found.append(run_em(start, Y, seen, MomentUpdate(what, start), max_iter=2).state.model.C[0, 0])
    np.testing.assert_allclose(found[0], found[1], rtol=0.01)
