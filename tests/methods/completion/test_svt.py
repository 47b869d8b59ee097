"""Filling by singular value thresholding, against soft-impute and its certificate."""

import numpy as np
import pytest

from absentia import SVTFill
from conftest import random_problem
from helpers.fillers import dense
from reference import soft_impute


def svt_parts(n=24, n_views=3, absent=0.4, seed=0, threshold=0.1):
    kv = random_problem(n, n_views, absent, seed)
    X, views, sizes = soft_impute.stacked(*dense(kv))
    return kv, X, views, sizes, threshold * np.linalg.norm(np.nan_to_num(X), 2)


def solved(kv, threshold=0.1):
    """The left factor where no step is left to go."""
    return SVTFill(threshold, tol=1e-14, max_iter=3000).fit(kv)._left


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_steps_are_two_least_squares_column_by_column_and_row_by_row():
    kv, X, *_, lam = svt_parts()
    one, two = (SVTFill(0.1, tol=0, max_iter=steps).fit(kv) for steps in (1, 2))
    for fill in (one, two):
        B = soft_impute.best_right(X, fill._left, lam)
        value = soft_impute.factored_objective(X, fill._left, B, lam)
        np.testing.assert_allclose(fill.objective_[-1], value, rtol=1e-10)
    # a step that is extrapolated is no worse than two plain ones
    A = soft_impute.best_left(X, soft_impute.best_right(X, one._left, lam), lam)
    A = soft_impute.best_left(X, soft_impute.best_right(X, A, lam), lam)
    plain = soft_impute.factored_objective(X, A, soft_impute.best_right(X, A, lam), lam)
    assert two.objective_[-1] <= plain * (1 + 1e-10)
    A = solved(kv)
    B = soft_impute.best_right(X, A, lam)
    np.testing.assert_allclose(soft_impute.best_left(X, B, lam), A, atol=1e-4 * np.abs(A).max())


@pytest.mark.parametrize(
    ("n_views", "absent", "threshold"),
    [
        pytest.param(4, 0.2, 0.1, marks=pytest.mark.slow),
        (5, 0.2, 0.2),
        pytest.param(4, 0.2, 0.3, marks=pytest.mark.slow),
    ],
)
def test_thresholding_agrees_with_soft_impute(n_views, absent, threshold):
    kv, X, views, sizes, lam = svt_parts(24, n_views, absent, 0, threshold)
    L = soft_impute.soft_impute(X, lam, 2000)
    fill = SVTFill(threshold, tol=1e-14, max_iter=3000)
    done = fill.fit_transform(kv).to_dense()
    np.testing.assert_allclose(fill.objective_[-1], soft_impute.objective(X, L, lam), rtol=1e-10)
    np.testing.assert_allclose(done, soft_impute.filled(*dense(kv), L, views, sizes), atol=1e-7)
    assert fill.rank_ == np.linalg.matrix_rank(L, tol=1e-6)


def test_where_samples_have_one_view_only_what_was_observed_is_determined():
    """Another minimum than soft-impute's, of the same objective and with the same observed rows."""
    kv, X, *_, lam = svt_parts(24, 3, 0.4, 0, 0.1)
    L, A = soft_impute.soft_impute(X, lam, 3000), solved(kv)
    mine, seen = A @ soft_impute.best_right(X, A, lam).T, ~np.isnan(X)
    # soft-impute comes near its minimum as one over the number of steps, and only from above
    gap = soft_impute.objective(X, L, lam) - soft_impute.objective(X, mine, lam)
    assert -1e-10 < gap < 1e-6
    # in observed values the objective bends like a half square
    assert np.linalg.norm((mine - L)[seen]) <= np.sqrt(2 * max(gap, 0)) + 1e-5
    assert np.abs(mine - L)[~seen].max() > 1e-2


def test_the_solution_carries_its_certificate():
    """Optimal L: the residual's singular values are at most lam, and lam on the directions of L."""
    kv, X, *_, lam = svt_parts(40, 4, 0.4, 1)
    A = solved(kv)
    L = A @ soft_impute.best_right(X, A, lam).T
    residual = np.where(np.isnan(X), 0.0, X - L)
    U, s, Vt = np.linalg.svd(L, full_matrices=False)
    assert np.linalg.norm(residual, 2) <= lam * (1 + 1e-4)
    kept = s > 1e-3 * s[0]
    np.testing.assert_allclose(
        (U.T @ residual @ Vt.T)[np.ix_(kept, kept)], lam * np.eye(kept.sum()), atol=1e-3 * lam
    )
