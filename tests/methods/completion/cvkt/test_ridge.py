"""Ridge regression in closed form."""

import numpy as np
import pytest

from absentia import CVKT, KernelViews, MeanFill, metrics, missingness
from absentia.methods.completion.cvkt import _ridge as cvkt_ridge
from conftest import random_problem
from helpers.alignment import random_features
from reference import cvkt as slow


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("ridge", ["loo", 0.001])
@pytest.mark.parametrize(("seed", "absent"), [(0, 0.2), (1, 0.35), (2, 0.5)])
def test_agrees_with_the_dual_form_line_by_line(ridge, rounds, seed, absent):
    kv = random_problem(32, 3, absent, seed)
    K, ridges = slow.cvkt(np.nan_to_num(kv.to_dense()), kv.observed, ridge, rounds)
    cvkt = CVKT(ridge=ridge, rounds=rounds)
    np.testing.assert_allclose(cvkt.fit_transform(kv).to_dense(), K, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(cvkt.ridge_, ridges, rtol=1e-12)


def test_leave_one_out_in_closed_form_is_leaving_one_out(rng):
    Psi, K = random_features(rng)
    coordinates = cvkt_ridge.PrincipalAxes.of(Psi)
    Y = coordinates.transform(Psi)
    Phi = np.linalg.cholesky(K + 1e-9 * np.eye(len(K)))
    ridges = [0.03, 1.0, 40.0]
    quick = cvkt_ridge.loo_errors(Y, coordinates.squares, Phi - Phi.mean(axis=0), ridges)
    S, everyone = Psi @ Psi.T, np.arange(len(K))
    refitted = [slow.leave_one_out_error(S, Phi @ Phi.T, everyone, ridge) for ridge in ridges]
    np.testing.assert_allclose(quick, refitted, rtol=1e-10)


def test_at_full_rank_the_closed_form_is_ridge_regression():
    kv = random_problem()
    for ridge in ("loo", 0.2):
        ridge_regression = CVKT(ridge=ridge).fit_transform(kv).to_dense()
        closed = CVKT(solver="closed", rank=1.0, ridge=ridge).fit_transform(kv).to_dense()
        np.testing.assert_allclose(closed, ridge_regression, atol=1e-9)


def test_views_that_say_nothing_get_a_large_penalty_and_the_mean():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 60, 5))
    K = np.exp(-((X[:, :, None] - X[:, None]) ** 2).sum(axis=3) / 10)
    keep = missingness.mcar((60, 3), 0.3, random_state=0)
    kv = KernelViews.from_dense(K, observed=keep)
    cvkt = CVKT()
    error = metrics.are(K, cvkt.fit_transform(kv), keep)
    assert (cvkt.ridge_ >= 10).all()
    assert error < 1.02 * metrics.are(K, MeanFill().fit_transform(kv), keep)


def test_of_penalties_that_are_as_good_the_largest_is_taken(rng):
    Y = np.linalg.qr(rng.normal(size=(20, 4)))[0]
    Y -= Y.mean(axis=0)
    assert cvkt_ridge.select_ridge(Y, np.sum(Y * Y, axis=0), np.zeros((20, 3))) == cvkt_ridge.GRID[-1]
