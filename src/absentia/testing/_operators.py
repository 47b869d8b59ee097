"""Laws that every operator obeys: it is its dense twin."""

from typing import Any

import numpy as np

from absentia.core import Dense, Operator, PDOperator, deserialize, serialize
from absentia.testing._tools import by_name


def _same(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


def products_match_the_dense_twin(operator: Operator) -> None:
    twin, rng = operator.to_dense(), np.random.default_rng(1)
    assert isinstance(operator, Operator)
    assert operator.shape == twin.shape
    X = rng.normal(size=(operator.shape[1], 2))
    _same(operator @ X, twin @ X)


def diagonals_and_blocks_match_the_dense_twin(operator: Operator) -> None:
    twin, rng = operator.to_dense(), np.random.default_rng(1)
    _same(operator.diagonal(), np.diagonal(twin))
    rows, columns = (rng.permutation(n)[: max(n // 2, 1)] for n in operator.shape)
    wanted = twin[np.ix_(rows, columns)]
    _same(operator.block(rows, columns), wanted)
    part = operator.select(rows, columns)
    _same(part.to_dense(), wanted)
    X = rng.normal(size=(len(columns), 2))
    _same(part @ X, wanted @ X)


def other_precision_is_near(operator: Operator) -> None:
    twin = operator.to_dense()
    single = operator.astype(np.float32)
    np.testing.assert_allclose(single.to_dense(), twin, rtol=1e-5, atol=1e-5 * np.abs(twin).max())


def it_can_be_kept(operator: Operator) -> None:
    state = serialize(operator, type(operator).__name__)
    np.testing.assert_array_equal(deserialize(state.tree, state.arrays).to_dense(), operator.to_dense())


def solving_matches_the_dense_twin(operator: Operator) -> None:
    """Of positive definite operators."""
    if not isinstance(operator, PDOperator):
        return
    twin, rng = operator.to_dense(), np.random.default_rng(1)
    n = len(twin)
    X, A = rng.normal(size=(n, 2)), rng.normal(size=(n, n))
    _same(operator.solve(X), np.linalg.solve(twin, X))
    _same(operator.logdet(), np.linalg.slogdet(twin)[1])
    _same(operator.trace_solve(Dense(A @ A.T)), np.trace(np.linalg.solve(twin, A @ A.T)))
    part = rng.permutation(n)[: n // 2]
    rest = np.setdiff1d(np.arange(n), part)
    inside = twin[np.ix_(part, part)]
    _same(operator.principal(part).to_dense(), inside)
    across = twin[np.ix_(part, rest)]
    conditional = twin[np.ix_(rest, rest)] - across.T @ np.linalg.solve(inside, across)
    _same(operator.conditional_diagonal(part, rest), conditional.diagonal())


def groups_decouple_and_others_are_padded(operator: Operator) -> None:
    """Of positive definite operators."""
    if not isinstance(operator, PDOperator):
        return
    twin = operator.to_dense()
    n = len(twin)
    groups, index = np.arange(n) % 3, np.arange(n) + 2
    same = groups[:, None] == groups[None, :]
    _same(operator.decouple(groups).to_dense(), np.where(same, twin, 0.0))
    wanted = np.eye(n + 3)
    wanted[np.ix_(index, index)] = twin
    _same(operator.pad(index, n + 3).to_dense(), wanted)


OPERATOR_LAWS = by_name(
    products_match_the_dense_twin,
    diagonals_and_blocks_match_the_dense_twin,
    other_precision_is_near,
    it_can_be_kept,
    solving_matches_the_dense_twin,
    groups_decouple_and_others_are_padded,
)
