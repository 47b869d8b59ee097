"""The marginal likelihood and its gradient against dense algebra."""

import numpy as np

from absentia.methods.matrix._likelihood import gradient, log_marginal, missing_logdet
from matrices import every_kind, every_seed, positive, problem, tight
from reference import pma as reference


@every_kind
@every_seed
def test_the_gradient_of_the_likelihood_equals_dense_algebra(kind, seed):
    model, X, observed, S = problem(kind, seed)
    n, m = X.shape
    rng = np.random.default_rng(7)
    found = gradient(model, X, observed, tol=1e-12)
    dC, dN, dK = positive(m, rng), positive(m, rng), positive(n, rng)
    K1 = model.rows.to_dense()
    for value, dS in [
        ((found.C * dC).sum(), np.kron(K1, dC)),
        ((found.N * dN).sum(), np.kron(np.eye(n), dN)),
        (found.along(dK), np.kron(dK, model.C)),
    ]:
        np.testing.assert_allclose(value, reference.log_marginal_gradient(S, dS, X, observed), **tight)


def test_the_stochastic_gradient_is_unbiased():
    model, X, observed, _ = problem("label covariance")
    exact = gradient(model, X, observed)
    rng = np.random.default_rng(0)
    several = [gradient(model, X, observed, rng, 200).N for _ in range(20)]
    error = np.std(several, axis=0, ddof=1) / np.sqrt(20)
    assert (np.abs(np.mean(several, axis=0) - exact.N) < 4.5 * error).all()


@every_kind
def test_the_estimated_determinant_is_near_the_exact_one(kind):
    model, _, observed, _ = problem(kind, n=60, m=5)
    exact = missing_logdet(model, observed)
    found = missing_logdet(model, observed, np.random.default_rng(0))
    assert abs(found - exact) < 0.02 * (~observed).sum()


@every_kind
@every_seed
def test_the_likelihood_equals_dense_algebra(kind, seed):
    model, X, observed, S = problem(kind, seed)
    found = log_marginal(model, X, observed, tol=1e-12)
    np.testing.assert_allclose(found, reference.log_marginal(S, X, observed), **tight)
