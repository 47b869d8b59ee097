"""The unrestricted model, against the papers' step."""

import numpy as np
import pytest

from absentia.methods.completion.mkmc import _full as mkmc_full
from conftest import random_problem
from helpers.mkmc_problems import em_step, problem_of
from reference import mkmc as slow

# where so many components are too many is a matter of tests of their own
pytestmark = pytest.mark.filterwarnings(r"ignore:with \d+ components .* hidden for a check:UserWarning")


@pytest.mark.parametrize("absent", [0.0, 0.4])
def test_an_evaluation_of_the_full_model_is_the_papers_step_and_objective(absent):
    kv = random_problem(25, 3, absent, seed=1)
    rng = np.random.default_rng(0)
    A = rng.normal(size=(25, 25))
    M = A @ A.T / 25 + 0.3 * np.eye(25)
    problem = problem_of(kv)
    found = mkmc_full.evaluate(problem, (M[np.ix_(problem.order, problem.order)],))
    K = np.nan_to_num(kv.to_dense())
    assert found.value == pytest.approx(slow.penalised_objective(K, kv.observed, M, 1e-3), rel=1e-11)
    completed = [slow.impute(k, o, M) for k, o in zip(K, kv.observed.T, strict=True)]
    wanted = slow.stabilise(sum(completed) / 3, 3, 1e-3)
    np.testing.assert_allclose(
        mkmc_full.as_operator(problem, em_step(found)).to_dense(), wanted, rtol=1e-9, atol=1e-11
    )
