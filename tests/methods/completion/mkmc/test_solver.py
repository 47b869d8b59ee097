"""Which algorithm from which start: never worse than the papers', in fewer evaluations."""

import numpy as np
import pytest

from absentia import MKMC, ViewKernels, metrics, missingness
from absentia.core.optimize import ROUNDING
from absentia.methods.completion.mkmc import _low_rank, _selection
from conftest import random_problem
from helpers.mkmc_problems import MODELS, NOISE, low_rank_start, problem_of

# where so many components are too many is a matter of tests of their own


@pytest.mark.slow_params("full-0", "full-1", "pca-0", "pca-1", "fa-0", "fa-1", "fa-2")
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.slow if seed > 3 else ()) for seed in range(17)]
)
@pytest.mark.parametrize("model", MODELS)
def test_the_objective_is_not_above_the_papers_and_never_rises(model, seed):
    rng = np.random.default_rng(seed)
    n, n_views, absent = (
        int(rng.integers(20, 60)),
        int(rng.integers(2, 7)),
        float(rng.choice([0.1, 0.3, 0.5])),
    )
    absent = min(absent, (n_views - 1) / n_views - 0.05)
    kv = random_problem(n, n_views, absent, seed)
    options = {"n_components": int(rng.integers(1, 6))}
    fast = MKMC(model, tol=1e-8, max_iter=3000, **options).fit(kv)
    paper = MKMC(model, tol=0, max_iter=300, algorithm="paper", **options).fit(kv)
    best = paper.objective_[-1]
    assert fast.objective_[-1] <= best + 1e-5 * abs(best)
    # models that are brought to rest by their gradients may rise by rounding on the last steps
    slack = {"pca": 0.0, "fa": ROUNDING, "full": 1e-12}[model] * np.abs(fast.objective_).max()
    assert (np.diff(fast.objective_) <= slack).all()


def test_it_takes_far_fewer_evaluations():
    kv = random_problem(80, 5, 0.4, 3)
    fast = MKMC("fa", n_components=5, tol=1e-7, max_iter=2000).fit(kv)
    paper = MKMC("fa", n_components=5, tol=0, max_iter=4 * fast.n_evaluations_, algorithm="paper").fit(kv)
    assert fast.objective_[-1] < paper.objective_[-1]


@pytest.mark.slow
def test_quality_on_mfeat_is_that_of_the_papers_algorithm(mfeat):
    index = np.arange(0, 2000, 5)
    truth = ViewKernels().fit_transform(mfeat.views[index])
    keep = missingness.mcar(truth, 0.5, random_state=0)
    done = MKMC("pca", tol=1e-5).fit_transform(truth.hide(keep))
    assert metrics.ca_error(truth, done) <= 0.026


def solver_of(model, size):
    mkmc = MKMC(model)
    mkmc._positions = np.arange(size)
    return mkmc


@pytest.mark.parametrize("model", ["pca", "fa"])
def test_short_runs_at_growing_ranks_are_runs_from_starts_of_their_own(model, monkeypatch):
    """One set of leading vectors serves several ranks; slowly, one is found for each."""
    monkeypatch.setattr(_selection, "_MIN_LEADING", 3)  # ranks 1 to 3 at once, 5 anew
    problem, solver = problem_of(random_problem(40, 4, 0.3)), solver_of(model, 40)
    runs, point = _selection._ShortRuns(solver, problem, 8, {"tol": 1e-4, "max_iter": 10}), None
    for q in (1, 2, 3, 5):
        first = low_rank_start(problem, NOISE[model], q, np.random.default_rng(0))
        first = _selection._add_factors(first, point)
        point = _low_rank.solve_low_rank(problem, NOISE[model], first, tol=1e-4, max_iter=10).state.at.point
        found = runs(q)
        assert found[0].shape == (40, q)
        np.testing.assert_allclose(found[0] @ found[0].T, point[0] @ point[0].T, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(found[1], point[1], rtol=1e-6, atol=1e-8)
