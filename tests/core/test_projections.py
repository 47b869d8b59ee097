"""What operators do to thin matrices, against their dense twins, some rows at a time."""

import numpy as np
import pytest

from absentia.core import Dense, Gram, LowRankPlusDiagonal, Scaled, _operators, project

N = 12


def operators():
    rng = np.random.default_rng(0)
    A, left = rng.normal(size=(N, N)), rng.normal(size=(N, 3))
    return {
        "dense": Dense(A @ A.T + np.eye(N)),
        "gram": Gram(left),
        "scaled gram": Scaled(Gram(left), 2.5),
        "low rank plus diagonal": LowRankPlusDiagonal(left, rng.uniform(0.2, 2.0, size=N)),
    }


@pytest.mark.parametrize("kind", operators())
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_operators_match_the_dense_twin(kind, dtype, monkeypatch):
    monkeypatch.setattr(_operators, "_CHUNK", 5)
    op = operators()[kind].astype(dtype)
    twin, v = op.to_dense(), np.arange(N) * 2
    rng = np.random.default_rng(1)
    F, T = rng.normal(size=(2 * N, 3)).astype(dtype), rng.normal(size=(3, 3))
    found, total = project(op, F, v), np.ones((2 * N, 3), dtype)
    found.add(total, v, T)
    wanted = np.ones((2 * N, 3))
    wanted[v] += twin @ F[v] @ T
    tolerance = 1e-10 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(found.inner, F[v].T @ twin @ F[v], rtol=tolerance, atol=10 * tolerance)
    np.testing.assert_allclose(total, wanted, rtol=tolerance, atol=10 * tolerance)
