"""Every structured operator against its dense twin."""

import numpy as np
import pytest

from absentia.core import Dense, Gram, LowRankPlusDiagonal, Operator, PDOperator, Scaled

N = 12


def make(kind, seed=0):
    rng = np.random.default_rng(seed)
    if kind == "dense":
        A = rng.normal(size=(N, N))
        return Dense(A @ A.T + np.eye(N))
    if kind == "gram":
        return Gram(rng.normal(size=(N, 3)))
    if kind == "scaled gram":
        return Scaled(Gram(rng.normal(size=(N, 3))), 2.5)
    if kind == "rectangular gram":
        return Gram(rng.normal(size=(N, 3)), rng.normal(size=(N + 4, 3)))
    return LowRankPlusDiagonal(rng.normal(size=(N, 3)), rng.uniform(0.2, 2.0, size=N))


ALL = ["dense", "gram", "scaled gram", "rectangular gram", "low rank plus diagonal"]
SOLVABLE = ["dense", "low rank plus diagonal"]
PART = np.array([7, 0, 3, 9])


def check(actual, wanted):
    np.testing.assert_allclose(actual, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", ALL)
def test_products_blocks_and_diagonals_match_the_dense_twin(kind):
    op = make(kind)
    twin, X = op.to_dense(), np.random.default_rng(1).normal(size=(op.shape[1], 2))
    assert isinstance(op, Operator)
    assert op.shape == twin.shape
    check(op @ X, twin @ X)
    check(op.diagonal(), np.diagonal(twin))
    cols = np.array([3, 8, 7])
    check(op.block(PART, cols), twin[np.ix_(PART, cols)])
    check(op.select(PART, cols).to_dense(), twin[np.ix_(PART, cols)])


@pytest.mark.parametrize("kind", SOLVABLE)
def test_solving_matches_the_dense_twin(kind):
    op = make(kind)
    twin, X = op.to_dense(), np.random.default_rng(1).normal(size=(N, 2))
    Q = Dense(make("dense", 5).A)
    assert isinstance(op, PDOperator)
    check(op.solve(X), np.linalg.solve(twin, X))
    check(op.logdet(), np.linalg.slogdet(twin)[1])
    check(op.trace_solve(Q), np.trace(np.linalg.solve(twin, Q.A)))
    check(op.principal(PART).to_dense(), twin[np.ix_(PART, PART)])
    rest = np.setdiff1d(np.arange(N), PART)
    conditional = twin[np.ix_(rest, rest)] - twin[np.ix_(rest, PART)] @ np.linalg.solve(
        twin[np.ix_(PART, PART)], twin[np.ix_(PART, rest)]
    )
    check(op.conditional_diagonal(PART, rest), conditional.diagonal())
    check(op.principal(PART).solve(X[:4]), np.linalg.solve(twin[np.ix_(PART, PART)], X[:4]))


@pytest.mark.parametrize("kind", SOLVABLE)
def test_decoupling_zeroes_between_groups_only(kind):
    op, groups = make(kind), np.arange(N) % 3
    same = groups[:, None] == groups[None, :]
    check(op.decouple(groups).to_dense(), np.where(same, op.to_dense(), 0.0))
    assert np.linalg.eigvalsh(op.decouple(groups).to_dense())[0] > 0


@pytest.mark.parametrize("kind", SOLVABLE)
def test_padding_puts_the_identity_elsewhere(kind):
    op, index = make(kind), np.arange(N) + 2
    wanted = np.eye(N + 3)
    wanted[np.ix_(index, index)] = op.to_dense()
    check(op.pad(index, N + 3).to_dense(), wanted)


@pytest.mark.parametrize("kind", ALL)
def test_operators_cannot_be_written_to(kind):
    op = make(kind)
    op = getattr(op, "operator", op)
    array = {"dense": "A", "low rank plus diagonal": "W"}.get(kind, "left")
    with pytest.raises(ValueError, match="read-only"):
        getattr(op, array)[0, 0] = 1.0


def test_a_plain_array_is_no_operator():
    assert not isinstance(np.eye(3), Operator)
