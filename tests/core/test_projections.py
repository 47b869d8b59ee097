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


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("shape", [(0, 3), (7, 2), (8, 1), (70, 3), (200, 0)])
@pytest.mark.parametrize("most", [1_000_000, 8 * 70 * 3, 100])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_symmetric_product_is_the_product_however_it_is_made(small, shape, most, dtype, monkeypatch):
    monkeypatch.setattr(_operators, "_SMALL_PRODUCT", most)
    monkeypatch.setattr(_operators, "has_small_kernels", lambda: small)
    monkeypatch.setattr(_operators, "has_one_thread", lambda: small)
    rng = np.random.default_rng(0)
    A, F = rng.normal(size=(shape[0], shape[0])), rng.normal(size=shape)
    A = (A + A.T).astype(dtype)
    found = _operators._symmetric_product(A, F.astype(dtype))
    assert found.shape == shape
    assert found.dtype == dtype
    tolerance = 1e-12 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(found, A.astype(np.float64) @ F, rtol=tolerance, atol=tolerance)
    other = _operators._symmetric_product(np.asfortranarray(A), F)  # in another order, of another precision
    np.testing.assert_allclose(other, A.astype(np.float64) @ F, rtol=tolerance, atol=tolerance)


def test_rows_are_multiplied_in_small_groups_only_where_that_pays(monkeypatch):
    shapes = []
    multiply = np.matmul
    monkeypatch.setattr(
        _operators.np, "matmul", lambda a, b, out: shapes.append(a.shape) or multiply(a, b, out=out)
    )
    for name in ("has_small_kernels", "has_one_thread"):
        monkeypatch.setattr(_operators, name, lambda: True)
    A = np.eye(40)
    _operators._symmetric_product(A, A[:, :2])
    assert shapes == [(1, 32, 40), (8, 40)]
    monkeypatch.setattr(_operators, "has_one_thread", lambda: False)
    _operators._symmetric_product(A, A[:, :2])
    assert len(shapes) == 2
