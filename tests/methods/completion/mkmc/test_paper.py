"""The papers' algorithm, line by line."""

import numpy as np
import pytest

from absentia import MKMC
from conftest import random_problem
from mkmc_problems import MODELS, fixed
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


@pytest.mark.parametrize("model", ["pca", "fa", pytest.param("full", marks=pytest.mark.slow)])
def test_a_step_at_the_optimum_stays_there(model):
    """Certificate: with the objective flat, one more iteration hardly moves the model."""
    kv = random_problem(40, 4, 0.3)
    options = {"n_components": 4, "algorithm": "paper"}
    mkmc = MKMC(model, tol=1e-11, max_iter=20_000, **options).fit(kv)
    assert mkmc.converged_
    longer = MKMC(model, tol=0, max_iter=mkmc.n_iter_ + 1, **options).fit(kv)
    np.testing.assert_allclose(longer.model_.to_dense(), mkmc.model_.to_dense(), atol=1e-5)
