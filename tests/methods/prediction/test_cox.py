"""Ridge Cox regression on a kernel, against slow loops and other packages."""

import numpy as np
import pytest

from absentia.data.survival import Survival
from absentia.methods.learning import DesignMatrix
from absentia.methods.prediction._cox import (
    PartialLikelihood,
    factorise_kernel,
    fit_coefficients,
    fit_cox,
    select_alpha,
)
from reference import cox


def problem(n=30, p=4, seed=0, ties=True):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    time = rng.exponential(np.exp(-x[:, 0]))
    time = np.ceil(4 * time) if ties else time
    return x, Survival(time, rng.random(n) < 0.7)


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_the_likelihood_is_the_textbook_s(ties):
    x, y = problem()
    f = x[:, 1]
    assert len(np.unique(y.time[y.event])) < y.event.sum()  # there are ties
    likelihood = PartialLikelihood.of(y, ties)
    assert likelihood.loss(f) == pytest.approx(cox.loss(f, y.time, y.event, ties), rel=1e-12)
    assert likelihood.loss(f + 900) == pytest.approx(likelihood.loss(f), rel=1e-9)


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_gradient_and_hessian_are_those_of_the_loss(ties):
    x, y = problem(12)
    f, step = x[:, 1], 1e-5
    likelihood = PartialLikelihood.of(y, ties)
    g = likelihood.derivatives(f)[0]
    sums = likelihood.sum_rows(DesignMatrix(np.eye(len(f)), constant=False), f)
    axes = step * np.eye(len(f))
    numeric = [(likelihood.loss(f + e) - likelihood.loss(f - e)) / (2 * step) for e in axes]
    np.testing.assert_allclose(g, numeric, atol=1e-8)
    np.testing.assert_allclose(sums.gradient, g, atol=1e-12)
    curved = [
        (likelihood.derivatives(f + e)[0] - likelihood.derivatives(f - e)[0]) / (2 * step) for e in axes
    ]
    np.testing.assert_allclose(sums.hessian, curved, atol=1e-8)


def test_sums_do_not_depend_on_the_blocks_that_they_are_made_in(monkeypatch):
    """Ties across blocks and blocks without an event among them."""
    x, y = problem(200)
    y = Survival(y.time, y.event & (y.time > 3))
    rows, likelihood = DesignMatrix(x.astype(np.float32), constant=False), PartialLikelihood.of(y)
    wanted = likelihood.sum_rows(rows, x[:, 1])
    monkeypatch.setattr("absentia.methods.learning._sums.BLOCK_ROWS", 7)
    found = likelihood.sum_rows(rows, x[:, 1])
    np.testing.assert_allclose(found.gradient, wanted.gradient, rtol=1e-12)
    np.testing.assert_allclose(found.hessian, wanted.hessian, rtol=1e-11)


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_it_finds_the_minimum_that_a_slow_search_finds(ties):
    x, y = problem(14)
    K = np.exp(-((x[:, None] - x) ** 2).sum(axis=2) / 8)
    model = fit_cox(K, y, 0.5, ties)
    np.testing.assert_allclose(model.risk(K), cox.fit(K, y.time, y.event, 0.5, ties), atol=1e-4)
    assert model.risk(K).mean() == pytest.approx(0, abs=1e-12)


def test_the_gradient_vanishes_and_the_objective_never_rises():
    x, y = problem(60, ties=False)
    Phi, _ = factorise_kernel(x @ x.T)
    for alpha in (1e-3, 1.0, 1e4):
        likelihood = PartialLikelihood.of(y)
        found = fit_coefficients(Phi, likelihood, alpha)
        assert found.converged
        w = found.state.w
        slope = Phi.T @ likelihood.derivatives(Phi @ w)[0] + alpha * w
        assert np.abs(slope).max() < 1e-6 * max(1.0, alpha * np.abs(w).max())
        assert (np.diff(found.trace) <= 1e-9).all()


def test_a_start_far_away_is_no_trouble():
    x, y = problem(40, ties=False)
    near = fit_coefficients(x, PartialLikelihood.of(y), 0.1)
    far = fit_coefficients(x, PartialLikelihood.of(y), 0.1, np.array([30.0, -50.0, 0.0, 20.0]))
    np.testing.assert_allclose(far.state.w, near.state.w, atol=1e-4)


def test_the_hazard_is_breslow_s():
    x, y = problem()
    K = x @ x.T
    model = fit_cox(K, y, 2.0)
    f = model.risk(K)
    times, hazard = cox.cumulative_hazard(f, y.time, y.event)
    np.testing.assert_array_equal(model.times, times)
    np.testing.assert_allclose(model.hazard, hazard)


def test_without_anything_in_the_kernel_everybody_is_alike():
    _, y = problem()
    model = fit_cox(np.zeros((30, 30)), y, 1.0)
    np.testing.assert_array_equal(model.risk(np.zeros((2, 30))), 0.0)


def test_the_penalty_is_the_one_of_largest_held_out_likelihood():
    x, y = problem(50, ties=False)
    parts = [(np.flatnonzero(np.arange(50) % 5 != k), np.arange(k, 50, 5)) for k in range(5)]
    alphas = np.array([0.01, 1.0, 100.0, 1e6])
    found = select_alpha(x @ x.T, y, alphas, parts)
    curve, risks = [], []
    for alpha in alphas:
        total, risk = 0.0, np.zeros(50)
        for train, test in parts:
            own = Survival(y.time[train], y.event[train])
            w = fit_coefficients(x[train], PartialLikelihood.of(own), alpha).state.w
            total += cox.loss(x[train] @ w, *own, "breslow") - cox.loss(x @ w, *y, "breslow")
            risk[test] = x[test] @ w - (x[train] @ w).mean()
        curve.append(total)
        risks.append(risk)
    np.testing.assert_allclose(found.likelihoods, curve, atol=1e-5)
    assert found.alpha == alphas[np.argmax(curve)]
    assert found.alpha < 1e6
    np.testing.assert_allclose(found.risk, risks[np.argmax(curve)], atol=1e-4)


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_it_is_the_ridge_of_scikit_survival(ties):
    linear = pytest.importorskip("sksurv.linear_model")
    x, y = problem(60)
    theirs = linear.CoxPHSurvivalAnalysis(alpha=3.0, ties=ties, tol=1e-12).fit(x, y.to_array())
    model = fit_cox(x @ x.T, y, 3.0, ties)
    f = x @ theirs.coef_
    np.testing.assert_allclose(model.risk(x @ x.T), f - f.mean(), atol=1e-5)


def test_it_is_the_ridge_of_lifelines():
    lifelines, pd = pytest.importorskip("lifelines"), pytest.importorskip("pandas")
    x, y = problem(60)
    x = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)  # it does so itself, and penalises the mean likelihood
    frame = pd.DataFrame(x).assign(time=y.time, event=y.event)
    theirs = lifelines.CoxPHFitter(penalizer=3.0 / 60, l1_ratio=0)
    theirs.fit(frame, "time", "event", fit_options={"precision": 1e-9})
    model = fit_cox(x @ x.T, y, 3.0, "efron")
    f = x @ theirs.params_.to_numpy()
    np.testing.assert_allclose(model.risk(x @ x.T), f - f.mean(), atol=1e-4)
