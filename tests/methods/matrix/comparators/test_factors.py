"""Probabilistic matrix factorisation."""

import numpy as np

from absentia import PMF


def test_factorisation_recovers_a_low_rank_matrix():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 8)) + 5
    gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    model = PMF(2, random_state=0).fit(gaps)
    gone = np.isnan(gaps)
    assert np.mean((model.completed_ - X)[gone] ** 2) < 0.1 * np.var(X)
    assert (np.diff(model.objective_) <= 1e-9).all()
    np.testing.assert_allclose(model.transform(gaps)[gone], model.completed_[gone], atol=0.05)
