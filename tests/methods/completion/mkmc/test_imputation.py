"""The papers' algorithm, line by line, its covariance models, and the unrestricted one by descent."""

import numpy as np
import pytest

from absentia import MKMC, KernelViews, missingness
from absentia.core import Dense
from absentia.methods.completion.mkmc import _imputation
from absentia.methods.completion.mkmc._imputation import _evaluate_full, full_model
from conftest import random_problem
from helpers.mkmc_problems import MODELS, em_step, fixed, problem_of
from reference import mkmc as slow

# where so many components are too many is a matter of tests of their own
pytestmark = pytest.mark.filterwarnings(r"ignore:with \d+ components .* hidden for a check:UserWarning")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("seed", "absent"), [(0, 0.2), (1, 0.35), (2, 0.5)])
def test_agrees_with_the_papers_line_by_line(model, seed, absent):
    kv = random_problem(60, 4, absent, seed)
    K, M, trace = slow.mkmc(np.nan_to_num(kv.to_dense()), kv.observed, model, q=6)
    mkmc = fixed(model)
    done = mkmc.fit_transform(kv).to_dense()
    np.testing.assert_allclose(done, K, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(mkmc.model_.to_dense(), M, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(mkmc.objective_, trace, rtol=1e-11)


def test_the_start_is_the_stabilised_zero_imputed_mean():
    kv = random_problem(30, 3)
    K, M, _ = slow.mkmc(np.nan_to_num(kv.to_dense()), kv.observed, "fa", q=6, iterations=1)
    mkmc = fixed("fa", 1)
    np.testing.assert_allclose(mkmc.fit_transform(kv).to_dense(), K, rtol=1e-10)
    np.testing.assert_allclose(mkmc.model_.to_dense(), M, rtol=1e-10)


@pytest.mark.parametrize(
    "model",
    ["pca", pytest.param("fa", marks=pytest.mark.slow), pytest.param("full", marks=pytest.mark.slow)],
)
def test_a_step_at_the_optimum_stays_there(model):
    """Certificate: with the objective flat, one more iteration hardly moves the model."""
    kv = random_problem(40, 4, 0.3)
    options = {"n_components": 4, "algorithm": "paper"}
    mkmc = MKMC(model, tol=1e-11, max_iter=20_000, **options).fit(kv)
    assert mkmc.converged_
    longer = MKMC(model, tol=0, max_iter=mkmc.n_iter_ + 1, **options).fit(kv)
    np.testing.assert_allclose(longer.model_.to_dense(), mkmc.model_.to_dense(), atol=1e-5)


def test_the_floor_under_noise_variances_holds():
    """A kernel of rank one is all factor and no noise: without the floor psi and sigma^2 are zero."""
    x = np.random.default_rng(0).normal(size=12)
    S = Dense(np.outer(x, x))
    assert _imputation._ppca(S, 2).d.min() == _imputation.NOISE_FLOOR
    M = _imputation._factor_step(S, _imputation._ppca(S, 2))
    assert M.d.min() >= _imputation.NOISE_FLOOR


@pytest.mark.slow
def test_noise_variances_never_reach_zero():
    """Heywood: one sample is an exact copy of the factor."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 1)) @ rng.normal(size=(1, 50)) + 0.1 * rng.normal(size=(20, 50))
    X[0] = X[1:].mean(0)
    K = np.array([X @ X.T, 2 * X @ X.T])
    keep = missingness.mcar((20, 2), 0.1, random_state=0)
    mkmc = MKMC("fa", n_components=5, prior=0.0, tol=0, max_iter=400).fit(KernelViews.from_dense(K, keep))
    assert mkmc.model_.d.min() >= _imputation.NOISE_FLOOR * (1 - 1e-12)  # the logarithm rounds
    assert np.isfinite(mkmc.objective_).all()


def test_ppca_is_the_best_of_its_family():
    S = Dense(np.cov(np.random.default_rng(0).normal(size=(8, 40)) * np.arange(1, 9)[:, None]))
    M = _imputation._ppca(S, 3)
    best = M.logdet() + M.trace_solve(S)
    rng = np.random.default_rng(1)
    for _ in range(20):
        W = M.W + 0.1 * rng.normal(size=M.W.shape)
        other = type(M)(W, M.d * np.exp(0.1 * rng.normal()))
        assert other.logdet() + other.trace_solve(S) >= best


@pytest.mark.parametrize("absent", [0.0, 0.4])
def test_an_evaluation_of_the_full_model_is_the_papers_step_and_objective(absent):
    kv = random_problem(25, 3, absent, seed=1)
    rng = np.random.default_rng(0)
    A = rng.normal(size=(25, 25))
    M = A @ A.T / 25 + 0.3 * np.eye(25)
    problem = problem_of(kv)
    found = _evaluate_full(problem, (M[np.ix_(problem.order, problem.order)],))
    K = np.nan_to_num(kv.to_dense())
    assert found.value == pytest.approx(slow.penalised_objective(K, kv.observed, M, 1e-3), rel=1e-11)
    completed = [slow.impute(k, o, M) for k, o in zip(K, kv.observed.T, strict=True)]
    wanted = slow.stabilise(sum(completed) / 3, 3, 1e-3)
    np.testing.assert_allclose(
        full_model(problem, em_step(found)).to_dense(), wanted, rtol=1e-9, atol=1e-11
    )
