"""Kernels as coordinates, weights of views on the simplex, a descent that never rises."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from absentia import MKC
from absentia.methods.completion.mkc._problem import KernelCoordinates, _simplex_minimum, fit_view_weights
from conftest import random_kernels, random_problem
from helpers.mkc_problems import OPTIONS, VARIANTS


@pytest.mark.parametrize("seed", range(5))
def test_the_weights_of_views_are_a_minimum_on_the_simplex(seed):
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((5, 4 if seed % 2 else 9)) + 1.0  # singular for odd seeds
    H = D @ D.T
    s = _simplex_minimum(H)
    assert (s >= 0).all()
    np.testing.assert_allclose(s.sum(), 1, rtol=1e-12)
    gradient = H @ s
    # at a minimum no vertex lies lower, and all that carry weight lie level
    assert gradient.min() >= s @ gradient - 1e-8 * np.trace(H)
    others = rng.dirichlet(np.ones(5), 200)
    assert (np.einsum("ij,jk,ik->i", others, H, others) >= s @ H @ s - 1e-10).all()


def test_the_best_weights_find_a_mixture_exactly(rng):
    X = rng.standard_normal((4, 6, 6))
    X[2] = 0.5 * X[0] + 0.2 * X[1] + 0.3 * X[3]
    np.testing.assert_allclose(fit_view_weights(X)[2], [0.5, 0.2, 0, 0.3], atol=1e-7)
    some = [np.arange(2, 6)] * 4
    X[2, :2] = 0
    np.testing.assert_allclose(fit_view_weights(X, some)[2], [0.5, 0.2, 0, 0.3], atol=1e-7)


def test_coordinates_give_back_the_kernel_and_find_its_samples():
    K = random_kernels(20, 1)[0]
    for center in (True, False):
        own = KernelCoordinates.of(K, center)
        to_basis, to_coordinates = own.to_basis(own.rank), own.to_coordinates(own.C)
        np.testing.assert_allclose(to_coordinates.W @ to_basis.G.T, K, atol=1e-9)
        np.testing.assert_allclose(
            to_coordinates.W @ to_basis.E @ to_coordinates.W.T + np.diag(to_coordinates.s), K, atol=1e-9
        )
        np.testing.assert_allclose(K @ to_basis.C, to_basis.G, atol=1e-9)
        np.testing.assert_allclose(own.locate(K), own.C, atol=1e-7)
        np.testing.assert_allclose(own.squared_norms(K, K.diagonal()), (own.C**2).sum(1), atol=1e-9)
        np.testing.assert_allclose((own.C**2).sum(1).mean(), 1, rtol=1e-9)
        longer = own.to_coordinates(own.C, (own.C**2).sum(1) + 1)
        np.testing.assert_allclose(longer.s, own.scale)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("absent", [0.15, 0.5])
def test_the_objective_never_rises(variant, options, absent):
    mkc = MKC(variant, tol=0, max_iter=60, **options).fit(random_problem(absent=absent, seed=3))
    assert mkc.n_iter_ == 60
    assert (np.diff(mkc.objective_) <= 0).all()
    assert mkc.objective_[-1] < 0.9 * mkc.objective_[0]


@pytest.mark.slow_params("app")
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_descent_ends_where_nothing_falls_any_more(variant):
    """A certificate of first order: the directional derivative is small along every random direction."""
    kv = random_problem(24, 3, seed=1)
    mkc = MKC(variant, tol=1e-9, max_iter=3000, c3=1e-2).fit(kv)
    model = mkc._model
    at, first = model.evaluate(mkc._point), model.evaluate(model.start())
    size = [np.sqrt(sum(np.vdot(g, g) for g in x.gradient)) for x in (at, first)]
    if variant != "sdp":
        alive = (at.point[0] != 0).any(axis=1, keepdims=True)
        size[0] = np.linalg.norm(at.gradient[0] * alive)
        dead = np.linalg.norm(at.gradient[0] * ~alive, axis=1)
        assert dead.max() <= 1.01 * mkc.c3 / 3  # a column at zero wants to stay there
    assert size[0] < 2e-2 * size[1]


def test_stopping_early_is_said_and_a_callback_can_do_it():
    kv = random_problem()
    with pytest.warns(ConvergenceWarning, match="MKC"):
        MKC(max_iter=1).fit(kv)
    seen = []
    mkc = MKC(callback=lambda progress: seen.append(progress) or len(seen) == 3).fit(kv)
    assert mkc.n_iter_ == 3
    assert not mkc.converged_
    assert [p.objective for p in seen] == list(mkc.objective_)
