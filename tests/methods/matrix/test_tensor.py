"""Addition over three modes against dense algebra."""

import numpy as np
import pytest

from absentia import PMATensorImputer
from absentia.methods.matrix._tensor import TensorAddition
from reference import pma as reference


def test_tensors_are_exact_in_the_three_eigenbases(rng):
    A = [rng.standard_normal((n, n)) for n in (4, 3, 5)]
    kernels = [a @ a.T + 0.2 * np.eye(len(a)) for a in A]
    one = [np.eye(n) for n in (4, 3, 5)]
    S = sum(
        np.kron(
            np.kron(*(kernels[b] if b == a else one[b] for b in (0, 1))), kernels[2] if a == 2 else one[2]
        )
        for a in range(3)
    )
    model = TensorAddition(kernels)
    X = model.draw(rng, 1)[0]
    np.testing.assert_allclose(model.matvec(X).ravel(), S @ X.ravel(), rtol=1e-8)
    np.testing.assert_allclose(model.solve(X).ravel(), np.linalg.solve(S, X.ravel()), rtol=1e-8)
    np.testing.assert_allclose(model.logdet(), np.linalg.slogdet(S)[1])
    seen = rng.random(X.shape) > 0.3
    gaps = np.where(seen, X, np.nan)
    imputer = PMATensorImputer(kernels, center=False, random_state=0).fit(gaps)
    flat, covariance = reference.condition(S, gaps.reshape(12, 5), seen.reshape(12, 5))
    completed, std = imputer.predict(return_std=True)
    np.testing.assert_allclose(completed.reshape(12, 5), flat, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(std[~seen] ** 2, np.diagonal(covariance), rtol=1e-8)
    np.testing.assert_allclose(
        imputer.log_marginal_likelihood_,
        reference.log_marginal(S, gaps.reshape(12, 5), seen.reshape(12, 5)),
        rtol=1e-8,
    )
    draws = imputer.sample(4000)[:, ~seen]
    np.testing.assert_allclose(draws.var(axis=0), np.diagonal(covariance), rtol=0.15)
    np.testing.assert_allclose(imputer.transform(gaps), completed)
    for a, b in zip(imputer.predict(gaps, return_std=True), (completed, std), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="one square kernel per mode"):
        PMATensorImputer(kernels[::-1]).fit(gaps)
