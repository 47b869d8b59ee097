"""Checks of operators: each is its dense twin."""

from typing import Any

import numpy as np

from absentia.core import Dense, Operator, PDOperator, deserialize, serialize
from absentia.testing._tools import register


def _assert_close(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-12)


@register("operator")
def _products_match_the_dense_twin(operator: Operator) -> None:
    twin, rng = operator.to_dense(), np.random.default_rng(1)
    assert isinstance(operator, Operator)
    assert operator.shape == twin.shape
    X = rng.normal(size=(operator.shape[1], 2))
    _assert_close(operator @ X, twin @ X)


@register("operator")
def _diagonals_and_blocks_match_the_dense_twin(operator: Operator) -> None:
    twin, rng = operator.to_dense(), np.random.default_rng(1)
    _assert_close(operator.diagonal(), np.diagonal(twin))
    rows, columns = (rng.permutation(n)[: max(n // 2, 1)] for n in operator.shape)
    expected = twin[np.ix_(rows, columns)]
    _assert_close(operator.block(rows, columns), expected)
    part = operator.select(rows, columns)
    _assert_close(part.to_dense(), expected)
    X = rng.normal(size=(len(columns), 2))
    _assert_close(part @ X, expected @ X)


@register("operator")
def _other_precision_is_near(operator: Operator) -> None:
    twin = operator.to_dense()
    single = operator.astype(np.float32)
    np.testing.assert_allclose(single.to_dense(), twin, rtol=1e-5, atol=1e-5 * np.abs(twin).max())


@register("operator")
def _it_can_be_saved(operator: Operator) -> None:
    state = serialize(operator, type(operator).__name__)
    np.testing.assert_array_equal(deserialize(state.tree, state.arrays).to_dense(), operator.to_dense())


@register("operator")
def _solving_matches_the_dense_twin(operator: Operator) -> None:
    """Of positive definite operators."""
    if not isinstance(operator, PDOperator):
        return
    twin, rng = operator.to_dense(), np.random.default_rng(1)
    n = len(twin)
    X, A = rng.normal(size=(n, 2)), rng.normal(size=(n, n))
    _assert_close(operator.solve(X), np.linalg.solve(twin, X))
    _assert_close(operator.logdet(), np.linalg.slogdet(twin)[1])
    _assert_close(operator.trace_solve(Dense(A @ A.T)), np.trace(np.linalg.solve(twin, A @ A.T)))
    part = rng.permutation(n)[: n // 2]
    rest = np.setdiff1d(np.arange(n), part)
    inside = twin[np.ix_(part, part)]
    _assert_close(operator.principal(part).to_dense(), inside)
    across = twin[np.ix_(part, rest)]
    conditional = twin[np.ix_(rest, rest)] - across.T @ np.linalg.solve(inside, across)
    _assert_close(operator.conditional_diagonal(part, rest), conditional.diagonal())


@register("operator")
def _groups_decouple_and_others_are_padded(operator: Operator) -> None:
    """Of positive definite operators."""
    if not isinstance(operator, PDOperator):
        return
    twin = operator.to_dense()
    n = len(twin)
    groups, index = np.arange(n) % 3, np.arange(n) + 2
    same = groups[:, None] == groups[None, :]
    _assert_close(operator.decouple(groups).to_dense(), np.where(same, twin, 0.0))
    expected = np.eye(n + 3)
    expected[np.ix_(index, index)] = twin
    _assert_close(operator.pad(index, n + 3).to_dense(), expected)
