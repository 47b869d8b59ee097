"""Small programs over the weights: against SciPy, warm, degenerate, with rows that do not matter."""

import numpy as np
import pytest
import scipy.optimize

from absentia.methods.learning.engine import Polytope


def masks(n, m, seed):
    S = np.random.default_rng(seed).random((n, m)) > 0.4
    S[:, ~S.any(axis=0)] = True
    return S


def test_maximal_rows_are_those_in_no_other():
    for m in (5, 9, 70):
        S = masks(40, m, m)
        S[1] = S[0]
        brute = {tuple(r) for r in S if not any((r <= o).all() and (o != r).any() for o in S)}
        kept = Polytope.of_rows(S).P
        assert {tuple(r) for r in kept.astype(bool)} == brute
        assert len(kept) == len(brute)


@pytest.mark.parametrize(("n", "m"), [(1, 4), (30, 6), (200, 20)])
def test_linear_programs_one_after_another_are_those_of_scipy(n, m):
    S, rng = masks(n, m, n), np.random.default_rng(n)
    polytope = Polytope.of_rows(S)
    for _ in range(30):
        q = rng.random(m) * (rng.random(m) > 0.3)
        bound, vertex, price = polytope.highest(q)
        exact = -scipy.optimize.linprog(-q, S.astype(float), np.ones(n)).fun
        assert bound == pytest.approx(exact, abs=1e-8)
        assert vertex @ q == pytest.approx(exact, abs=1e-8)
        assert (S @ vertex).max() <= 1 + 1e-12
        assert (vertex >= 0).all()
        assert (price >= q - 1e-12).all()


def test_the_bound_holds_whatever_the_tableau():
    polytope = Polytope.of_rows(masks(50, 8, 0))
    polytope._tableau[:] += 0.3  # ruined
    q = np.arange(8.0)
    assert polytope.highest(q)[0] >= polytope.highest(q)[1] @ q - 1e-9


@pytest.mark.parametrize("worth", [4e-17, 1e-12, 9e-12])
def test_a_weight_that_is_worth_next_to_nothing_leaves_a_bound(worth):
    polytope = Polytope.of_rows(np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=bool))
    for q in ([worth, 0.0, 1.0], [worth, 1.0, 1.0], [0.0, worth, 1.0]):
        bound, vertex, price = polytope.highest(np.array(q))
        assert bound == pytest.approx(vertex @ q, rel=1e-8)
        assert (price >= q).all()
    alone = Polytope(np.eye(2))
    assert alone.highest(np.array([worth, 1.0]))[0] == pytest.approx(1.0, rel=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_quadratic_programs_satisfy_their_optimality_conditions(seed):
    rng = np.random.default_rng(seed)
    polytope = Polytope.of_rows(masks(80, 10, seed))
    A = rng.standard_normal((10, 10))
    H, g = A @ A.T + 1e-3 * np.eye(10), 3 * rng.standard_normal(10)
    floor = 0.01 * rng.random(10) * (rng.random(10) > 0.5)
    x = polytope.nearest(H, g, floor)
    assert (x >= floor - 1e-9).all()
    assert (polytope.P @ x).max() <= 1 + 1e-9
    # the linearised objective is least at x too
    gradient = H @ x + g
    best = scipy.optimize.linprog(
        gradient, polytope.P, np.ones(len(polytope.P)), bounds=[(f, None) for f in floor]
    )
    assert gradient @ x == pytest.approx(best.fun, abs=1e-7)


def test_an_unbounded_weight_is_refused():
    with pytest.raises(ValueError, match="unbounded"):
        Polytope(np.array([[1.0, 0.0]]))


def test_the_middle_lies_inside_and_touches_the_boundary():
    polytope = Polytope.of_rows(masks(30, 6, 1))
    assert (polytope.P @ polytope.middle()).max() == pytest.approx(1)
    assert (polytope.P @ polytope.inside(np.full(6, 9.0))).max() == pytest.approx(1)
