"""Ridge regression in closed form, and rounds of it."""

import numpy as np
import pytest

from absentia import CVKT, KernelViews, MeanFill, ViewKernels, metrics, missingness
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
    centered = Psi - Psi.mean(axis=0)
    axes, squares = cvkt_ridge._principal_axes(centered)
    Phi = np.linalg.cholesky(K + 1e-9 * np.eye(len(K)))
    ridges = [0.03, 1.0, 40.0]
    quick = cvkt_ridge.loo_errors(centered @ axes, squares, Phi - Phi.mean(axis=0), ridges) / len(K)
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
    assert cvkt_ridge._select_ridge(Y, np.sum(Y * Y, axis=0), np.zeros((20, 3))) == cvkt_ridge.RIDGES[-1]


@pytest.mark.slow_params("heldout-None")
@pytest.mark.parametrize("landmarks", [None, 6])
@pytest.mark.parametrize("wanted", [4, "heldout"])
def test_rounds_by_solving_are_those_by_principal_axes(digits, monkeypatch, landmarks, wanted):
    kv = ViewKernels().fit_transform(digits[0])
    new = kv[np.ix_(np.arange(20), np.arange(len(kv)))]
    by_solving = CVKT(rounds=wanted, n_landmarks=landmarks).fit(kv)
    monkeypatch.setattr(cvkt_ridge, "_MIN_SOLVE_RIDGE", np.inf)
    by_axes = CVKT(rounds=wanted, n_landmarks=landmarks).fit(kv)
    assert (by_solving.rounds_, by_solving.easing_) == (by_axes.rounds_, by_axes.easing_)
    for rows in (kv, new):
        np.testing.assert_allclose(
            by_solving.transform(rows).to_dense(), by_axes.transform(rows).to_dense(), rtol=1e-8, atol=1e-8
        )
    if wanted == "heldout":
        assert list(by_solving.heldout_curve_) == list(by_axes.heldout_curve_)
        np.testing.assert_allclose(
            list(by_solving.heldout_curve_.values()), list(by_axes.heldout_curve_.values()), rtol=1e-8
        )


@pytest.mark.parametrize("ridge", ["loo", 0.1])
def test_a_view_of_which_nothing_can_be_learned_gets_its_mean(ridge):
    kv = random_problem(12, 1, 0.0)
    alike = np.ones((12, 12))
    keep = np.ones((12, 2), bool)
    keep[3, 1] = False
    kv = KernelViews.from_dense(np.stack([alike, kv.block(kv.names[0])]), observed=keep)
    cvkt = CVKT(ridge=ridge, rounds=3)
    K = cvkt.fit_transform(kv).block(kv.names[1])
    assert np.isnan(cvkt.ridge_[1])
    present = keep[:, 1]
    np.testing.assert_allclose(K[3, present], kv.block(kv.names[1]).mean(axis=0), rtol=1e-10)
    rows = cvkt.transform(kv[np.ix_([3], np.arange(12))])
    np.testing.assert_allclose(rows.block(kv.names[1])[0, present], K[3, present], rtol=1e-10)


@pytest.mark.filterwarnings("ignore:2 sample")
def test_samples_without_another_view_get_the_mean_of_all():
    kv = random_problem(30, 3, 0.3)
    keep = np.ones((30, 3), bool)
    keep[:2] = False
    kv = kv.hide(keep)
    done = CVKT(rounds=2).fit_transform(kv)
    for name, present in zip(kv.names, kv.observed.T, strict=True):
        np.testing.assert_allclose(done.block(name)[0, present], kv.block(name).mean(axis=0), rtol=1e-10)
        assert np.ptp(done.block(name)[np.ix_(~present, present)], axis=0).max() > 0.01
