"""Which algorithm from which start: never worse than the papers', in fewer evaluations."""

import numpy as np
import pytest

from absentia import MKMC, ViewKernels, metrics, missingness
from conftest import random_problem
from mkmc_problems import MODELS

# where so many components are too many is a matter of tests of their own
pytestmark = pytest.mark.filterwarnings(r"ignore:with \d+ components .* hidden for a check:UserWarning")


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
    slack = 1e-12 * np.abs(fast.objective_).max() if model == "full" else 0.0
    assert (np.diff(fast.objective_) <= slack).all()


def test_it_takes_far_fewer_evaluations():
    kv = random_problem(80, 5, 0.4, 3)
    fast = MKMC("fa", n_components=5, tol=1e-7, max_iter=2000).fit(kv)
    paper = MKMC("fa", n_components=5, tol=0, max_iter=4 * fast.n_evaluations_, algorithm="paper").fit(kv)
    assert fast.objective_[-1] < paper.objective_[-1]


def test_quality_on_mfeat_is_that_of_the_papers_algorithm(mfeat):
    index = np.arange(0, 2000, 5)
    truth = ViewKernels().fit_transform(mfeat.views[index])
    keep = missingness.mcar(truth, 0.5, random_state=0)
    done = MKMC("pca", tol=1e-5).fit_transform(truth.hide(keep))
    assert metrics.ca_error(truth, done) <= 0.026
