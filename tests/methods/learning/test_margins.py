"""Shares of the margin, and the rounds that find them."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from absentia import AbsentMKLClassifier, KernelViews
from absentia.core.optimize import Status
from absentia.methods.learning._margins import Round, _closest_tau, _margin_share, _penalty, iterate_rounds
from helpers.absent_kernels import distances, problem
from reference import amkl as slow


def halving(shares, last):
    """Shares go half the way to 0.4 each time; what is found counts the rounds."""
    following = (shares + 0.4) / 2
    return Round(following, 1 + float(shares.sum()), (0 if last is None else last[0] + 1, shares))


def test_rounds_start_from_shares_of_one_and_hand_on_what_was_found():
    seen = []
    (count, shares), solution = iterate_rounds(halving, 3, tol=1e-12, max_iter=4, callback=seen.append)
    assert count == 3
    assert [p.objective for p in seen] == list(solution.trace)
    assert solution.trace[0] == 1 + 3
    np.testing.assert_allclose(shares, 0.4 + 0.6 / 2**3)
    assert solution.status is Status.MAX_ITER


def test_rounds_end_when_the_objective_does_not_change():
    (_, shares), solution = iterate_rounds(halving, 3, tol=1e-6, max_iter=100)
    assert solution.status is Status.CONVERGED
    np.testing.assert_allclose(shares, 0.4, atol=1e-5)


def test_tau_by_equation_23_is_the_nearest_allowed():
    rng = np.random.default_rng(0)
    o, u, v = rng.random(200), rng.standard_normal(200), rng.standard_normal(200)
    v += 0.2 * np.sign(v)
    v[:5], u[:5] = 0.0, 1.0
    tau = _closest_tau(o, u, v)
    assert (v * tau <= u + 1e-12).all()
    grid = np.linspace(-30, 30, 6001)
    for i in range(200):
        allowed = grid[v[i] * grid <= u[i]]
        assert abs(tau[i] - o[i]) <= np.abs(allowed - o[i]).min() + 1e-12


def test_the_observed_share_is_a_fixed_point_of_the_penalized_steps(kernels):
    kv, y = kernels
    machine = AbsentMKLClassifier("penalized", tol=1e-8).fit(kv, y < 5)
    o = kv.observed.mean(axis=1)
    u = np.where(y < 5, 1.0, -1.0) * machine._raw_scores(kv)[:, 0]
    v = np.minimum(u / o, 1.0)  # 1 - xi of the optimal machine
    np.testing.assert_allclose(_closest_tau(o, u, v), o, atol=1e-6)


def test_shares_of_the_margin():
    observed = np.array([[True, False], [True, True], [False, False]])
    np.testing.assert_allclose(_margin_share(observed, np.array([1.0, 3.0]), 0.2), [0.25, 1.0, 0.2])
    assert _penalty(observed, np.array([0.5, 1.0, 0.0]), 3.0) == pytest.approx(1 + 3 * 0.5 / 3)


def test_iterative_solves_at_its_own_tau(kernels):
    kv, y = kernels
    machine = AbsentMKLClassifier("iterative", tol=1e-7, max_iter=500).fit(kv, y < 5)
    tau = _margin_share(kv.observed, machine._norms[0], 0.2)
    margins = np.where(y < 5, 1.0, -1.0) * machine._raw_scores(kv)[:, 0] / tau
    free = np.abs(machine.dual_coef_[0])
    inside = (free > 0.01) & (free < 0.99 / tau)
    np.testing.assert_allclose(margins[inside], 1.0, atol=1e-2)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        short = AbsentMKLClassifier("iterative", tol=1e-7, max_iter=2).fit(kv, y < 5)
    assert not short.converged_
    assert short.n_iter_ == 2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of rounds
def test_two_steps_are_those_of_the_slow_twin():
    rng = np.random.default_rng(5)
    X, observed = rng.standard_normal((24, 3)), rng.random((24, 3)) > 0.35
    observed[~observed.any(axis=1), 0] = True
    y = np.where(X[:, 0] + 0.8 * rng.standard_normal(24) > 0, 1.0, -1.0)
    K = np.array([np.exp(-distances(X) / w) for w in (1.0, 3.0, 9.0)])
    taus = slow.two_steps(slow.masked(K, observed), observed, y, 0.7, 2.0, 2)
    kernels = KernelViews.from_dense(K, observed=observed)
    for rounds in (2, 3):
        machine = AbsentMKLClassifier("penalized", C=0.7, lam=2.0, two_step=True, tol=1e-9, max_iter=rounds)
        machine.fit(kernels, y)
        np.testing.assert_allclose(machine.tau_, taus[rounds - 2], atol=2e-4)
    o = observed.mean(axis=1)
    kept = machine.tau_ > o + 0.01  # misclassified in the first round: tau stays 1
    assert kept.any()
    assert not kept.all()
    assert (machine.tau_ >= o - 1e-12).all()


def test_two_steps_never_raise_the_objective_and_may_end_elsewhere():
    ended = []
    for seed in range(4):
        kernels, y = problem(seed, 1.0)
        machine = AbsentMKLClassifier("penalized", C=0.3, two_step=True, tol=1e-6, max_iter=50).fit(
            kernels, y
        )
        assert machine.converged_
        assert (np.diff(machine.objective_) <= 1e-5 * machine.objective_[0]).all()
        ended.append(np.abs(machine.tau_ - kernels.observed.mean(axis=1)).max() < 1e-3)
    assert not all(ended)


def test_two_steps_report_the_objective_of_equation_18():
    kernels, y = problem(0, 1.0)
    options = {"C": 0.3, "lam": 2.0, "two_step": True, "tol": 1e-6, "max_iter": 50}
    machine = AbsentMKLClassifier("penalized", **options).fit(kernels, y)
    K, z, tau = np.nan_to_num(kernels.to_dense()), machine.dual_coef_[0], machine.tau_
    Lambda = 1 + 2.0 * ((tau[:, None] - kernels.observed) ** 2).sum(axis=1).mean()
    squares = sum(
        eta * z @ k @ z for eta, k in zip(machine.weights_, K, strict=True)
    )  # sum |w_p|^2 / eta_p
    margins = np.where(y, 1.0, -1.0) * machine._raw_scores(kernels)[:, 0]
    value = Lambda * squares / 2 + 0.3 * np.maximum(0, 1 - margins / tau).sum()
    assert machine.objective_[-1] == pytest.approx(value, rel=1e-9)
    assert Lambda > 1.1
