"""Filling by singular value thresholding, against soft-impute and its certificate."""

import numpy as np
import pytest

from absentia import SVTFill
from absentia.core.optimize import StoppingRule, accelerate
from absentia.methods.completion import _svt as svt
from conftest import random_problem
from helpers.fillers import dense
from reference import soft_impute


def svt_parts(n=24, n_views=3, absent=0.4, seed=0, threshold=0.1):
    kv = random_problem(n, n_views, absent, seed)
    problem = svt._SVTProblem.of(kv)
    X, views, sizes = soft_impute.stacked(*dense(kv))
    return kv, problem, X, views, sizes, threshold * problem.spectrum[0][0]


def test_the_threshold_is_relative_to_the_largest_singular_value():
    _, problem, X, *_ = svt_parts()
    np.testing.assert_allclose(problem.spectrum[0][0], np.linalg.norm(np.nan_to_num(X), 2), rtol=1e-10)


def test_one_step_is_two_least_squares_column_by_column_and_row_by_row(rng):
    _, problem, X, *_, lam = svt_parts()
    A = rng.normal(size=(24, 6))
    found = problem.evaluate(lam, (A,))
    B = soft_impute.best_right(X, A, lam)
    np.testing.assert_allclose(found.value, soft_impute.factored_objective(X, A, B, lam), rtol=1e-10)
    np.testing.assert_allclose(found.following[0], soft_impute.best_left(X, B, lam), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    ("n_views", "absent", "threshold"),
    [
        pytest.param(4, 0.2, 0.1, marks=pytest.mark.slow),
        (5, 0.2, 0.2),
        pytest.param(4, 0.2, 0.3, marks=pytest.mark.slow),
    ],
)
def test_thresholding_agrees_with_soft_impute(n_views, absent, threshold):
    kv, _, X, views, sizes, lam = svt_parts(24, n_views, absent, 0, threshold)
    L = soft_impute.soft_impute(X, lam, 2000)
    fill = SVTFill(threshold, tol=1e-14, max_iter=3000)
    done = fill.fit_transform(kv).to_dense()
    np.testing.assert_allclose(fill.objective_[-1], soft_impute.objective(X, L, lam), rtol=1e-10)
    np.testing.assert_allclose(done, soft_impute.filled(*dense(kv), L, views, sizes), atol=1e-7)
    assert fill.rank_ == np.linalg.matrix_rank(L, tol=1e-6)


def test_where_samples_have_one_view_only_what_was_observed_is_determined():
    """Another minimum than soft-impute's, of the same objective and with the same observed rows."""
    _, problem, X, *_, lam = svt_parts(24, 3, 0.4, 0, 0.1)
    L = soft_impute.soft_impute(X, lam, 3000)
    run = lambda point: problem.evaluate(lam, point)
    (A,) = accelerate(
        run, problem.start(lam, 24), stop=StoppingRule(1e-14, patience=3), max_iter=3000
    ).state.at.point
    mine, seen = A @ soft_impute.best_right(X, A, lam).T, ~np.isnan(X)
    # soft-impute comes near its minimum as one over the number of steps, and only from above
    gap = soft_impute.objective(X, L, lam) - soft_impute.objective(X, mine, lam)
    assert -1e-10 < gap < 1e-6
    # in observed values the objective bends like a half square
    assert np.linalg.norm((mine - L)[seen]) <= np.sqrt(2 * max(gap, 0)) + 1e-5
    assert np.abs(mine - L)[~seen].max() > 1e-2


def test_the_solution_carries_its_certificate():
    """Optimal L: the residual's singular values are at most lam, and lam on the directions of L."""
    _, problem, X, *_, lam = svt_parts(40, 4, 0.4, 1)
    run = lambda point: problem.evaluate(lam, point)
    (A,) = accelerate(
        run, problem.start(lam, 40), stop=StoppingRule(1e-14, patience=3), max_iter=3000
    ).state.at.point
    L = A @ soft_impute.best_right(X, A, lam).T
    residual = np.where(np.isnan(X), 0.0, X - L)
    U, s, Vt = np.linalg.svd(L, full_matrices=False)
    assert np.linalg.norm(residual, 2) <= lam * (1 + 1e-4)
    kept = s > 1e-3 * s[0]
    np.testing.assert_allclose(
        (U.T @ residual @ Vt.T)[np.ix_(kept, kept)], lam * np.eye(kept.sum()), atol=1e-3 * lam
    )
