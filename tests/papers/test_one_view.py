"""The em algorithm with one complete view: its slow twin, its optimum, recovery, what comes in."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from absentia import KernelViews
from absentia.papers import _one_view as module
from absentia.papers._one_view import complete_by_em
from reference import one_view as reference

PRIOR = 1e-3


def two_views(seed, n=14, rank=None):
    """A complete kernel and one that some samples lack, of unit mean diagonal among the others."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, rank or 2 * n)), rng.standard_normal((n, 2 * n))
    seen = np.ones(n, dtype=bool)
    seen[rng.choice(n, n // 3, replace=False)] = False
    K = Y @ Y.T
    K /= np.diag(K)[seen].mean()
    dense = np.stack([X @ X.T, np.where(np.outer(seen, seen), K, np.nan)])
    return KernelViews.from_dense(dense, names=["all", "some"]), seen, K


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("iterations", [1, 7])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_equals_its_slow_twin(seed, iterations):
    kernels, seen, K = two_views(seed)
    done = complete_by_em(kernels, "all", prior=PRIOR, tol=0, max_iter=iterations).to_dense()
    wanted, _ = reference.complete(K[np.ix_(seen, seen)], seen, kernels.block("all"), PRIOR, iterations)
    np.testing.assert_allclose(done[1], wanted, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(done[0], kernels.block("all"))
    np.testing.assert_array_equal(done[1][np.ix_(seen, seen)], kernels.block("some"))


def test_the_objective_of_the_twin_never_rises_and_no_other_eigenvalues_are_better():
    kernels, seen, K = two_views(0, n=9)
    K, auxiliary = K[np.ix_(seen, seen)], np.asarray(kernels.block("all"))
    V = np.linalg.eigh(auxiliary)[1]

    def value(log_b):
        M = reference.model(V, np.exp(log_b))
        return reference.objective(reference.nearest_data(K, seen, M), M, PRIOR)

    trace = [value(np.log(reference.complete(K, seen, auxiliary, PRIOR, i)[1])) for i in range(1, 12)]
    assert np.all(np.diff(trace) < 0)
    _, b = reference.complete(K, seen, auxiliary, PRIOR, 20_000)
    found = minimize(value, np.log(b), method="BFGS")
    np.testing.assert_allclose(found.fun, value(np.log(b)), rtol=1e-8)
    np.testing.assert_allclose(found.x, np.log(b), atol=1e-3)


def test_a_kernel_with_the_same_directions_is_found_again():
    rng = np.random.default_rng(1)
    V = np.linalg.qr(rng.standard_normal((20, 20)))[0]
    seen = np.arange(20) >= 3
    truth = (V * rng.uniform(0.5, 3.0, 20)) @ V.T
    dense = np.stack([(V * np.arange(1.0, 21.0)) @ V.T, np.where(np.outer(seen, seen), truth, np.nan)])
    kernels = KernelViews.from_dense(dense, names=["all", "some"])
    found = complete_by_em(kernels, "all", prior=0, tol=1e-15, max_iter=50_000).block("some")
    np.testing.assert_allclose(found, truth, atol=1e-3)


def test_directions_without_variance_do_not_hang_on_how_they_are_chosen(monkeypatch):
    kernels, _, _ = two_views(2, rank=4)
    first = complete_by_em(kernels, "all", tol=1e-4).block("some")
    eigh, Q = np.linalg.eigh, np.linalg.qr(np.random.default_rng(0).standard_normal((10, 10)))[0]

    def turned(K):
        values, vectors = eigh(K)
        return values, np.hstack([vectors[:, :10] @ Q, vectors[:, 10:]])

    monkeypatch.setattr(module.np.linalg, "eigh", turned)
    np.testing.assert_allclose(complete_by_em(kernels, "all", tol=1e-4).block("some"), first, rtol=1e-8)


def test_scale_of_the_views_does_not_matter_and_a_view_that_is_not_complete_is_refused():
    kernels, _, _ = two_views(3)
    larger = KernelViews.from_dense(
        np.nan_to_num(kernels.to_dense(), nan=np.nan) * np.array([5.0, 7.0])[:, None, None],
        names=kernels.names,
    )
    once, scaled = (complete_by_em(k, "all").block("some") for k in (kernels, larger))
    np.testing.assert_allclose(scaled, 7 * once, rtol=1e-8)
    with pytest.raises(ValueError, match="view 'some': every sample is to have it"):
        complete_by_em(kernels, "some")


def test_a_run_that_is_cut_short_says_so():
    with pytest.warns(ConvergenceWarning, match="em with one view"):
        complete_by_em(two_views(0)[0], "all", max_iter=2)
