"""Multiple imputation: draws average to the completed kernel and spread as the variance says."""

import numpy as np
import pytest

from absentia import MKMC
from conftest import random_problem
from mkmc_problems import MODELS

# where so many components are too many is a matter of tests of their own
pytestmark = pytest.mark.filterwarnings(r"ignore:with \d+ components .* hidden for a check:UserWarning")


@pytest.mark.parametrize("model", MODELS)
def test_draws_average_to_the_completed_kernel_and_spread_as_the_variance_says(model):
    kv = random_problem(15, 3, 0.3)
    mkmc = MKMC(model, n_components=3, tol=1e-6)
    done = mkmc.fit_transform(kv).to_dense()
    draws = np.array([draw.to_dense() for draw in mkmc.sample(600, random_state=0)])
    error = np.abs(draws.mean(0) - done)
    assert (error <= 5 * draws.std(0) / np.sqrt(600) + 1e-9).all()
    assert np.linalg.eigvalsh(draws[:5]).min() > -1e-10
    for v, name in enumerate(kv.names):
        seen = np.ix_(kv.observed[:, v], kv.observed[:, v])
        np.testing.assert_array_equal(draws[3][v][seen], kv.block(name))
    variance = mkmc.posterior_variance()
    np.testing.assert_array_equal(variance > 0, ~kv.observed)
    assert (variance[~kv.observed] <= np.einsum("vii->iv", done)[~kv.observed] + 1e-12).all()


def test_fewer_features_spread_the_draws_more():
    kv = random_problem(15, 3, 0.3)
    mkmc = MKMC("pca", n_components=3).fit(kv)
    tight, loose = (
        np.std([d.to_dense() for d in mkmc.sample(100, n_features=m, random_state=0)], axis=0).sum()
        for m in (400, None)
    )
    assert tight < 0.5 * loose
