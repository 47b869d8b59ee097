"""New samples, everything learned held fixed."""

import numpy as np
import pytest

from absentia.methods.completion.mkc._problem import Rows, agreed_squares, agreement, free_rows, within_ball
from mkc_problems import MODELS, random_point, small_problem
from reference import mkc as reference


@pytest.mark.parametrize("variant", ["ht", "app"])
def test_coefficients_of_a_new_sample_equal_least_squares_on_all_residuals(variant, rng):
    problem = small_problem(n=12)
    model = MODELS[variant](problem)
    at = model.evaluate(random_point(model))
    present = np.array([True, False, True])
    a = [rng.standard_normal(len(seen)) * p for seen, p in zip(problem.seen, present, strict=True)]
    rows = Rows(present[None], [x[None] for x in a], [], np.zeros((1, 3)))
    y, square = model.fold(at.point, at.S, rows)
    b = reference.new_row(
        at.point[0], problem.K, problem.observed, at.S, 1.3, 0.7, 0.01, a, present, variant == "app"
    )
    for v in range(3):
        np.testing.assert_allclose(y[v][0], b[v] @ problem.C[v], atol=1e-7)
    np.testing.assert_allclose(square, [[(part**2).sum() for part in y]], rtol=1e-12)


def test_the_nearest_row_inside_a_ball_satisfies_its_optimality_conditions(rng):
    F = rng.standard_normal((9, 5))
    g = rng.standard_normal((4, 5)) * np.array([[0.1], [1.0], [10.0], [100.0]])
    most = np.full(4, 0.5)
    f = within_ball(np.linalg.eigh(F.T @ F), g, most)
    length = (f**2).sum(axis=1)
    assert (length <= most * (1 + 1e-9)).all()
    residual = g - f @ (F.T @ F)
    rho = np.einsum("ij,ij->i", residual, f) / length
    assert (rho > -1e-8).all()
    assert length[0] < 0.4  # short by itself
    assert rho[3] > 1
    np.testing.assert_allclose(residual, rho[:, None] * f, atol=1e-6 * np.abs(g).max())
    np.testing.assert_allclose(length[2:], most[2:], rtol=1e-9)


def test_own_values_of_a_new_sample_agree_where_it_lacks_views():
    S = np.array([[0, 0.7, 0.3], [0, 0, 1], [0, 1, 0]])  # only the first view is a mixture with the first
    known = np.array([[False, True, True], [True, True, True], [False, False, False]])
    square = np.array([[0, 2.0, 0.5], [3.0, 2.0, 1.0], [0, 0, 0]])
    found = agreed_squares(agreement(S), Rows(known, [], [], square))
    np.testing.assert_allclose(found, [[0.7 * 2 + 0.3 * 0.5, 2, 0.5], [3, 2, 1], [1, 1, 1]], atol=1e-5)


def test_free_rows_of_views_that_are_all_alike_are_alike(rng):
    F = rng.standard_normal((12, 4))
    c = rng.standard_normal((3, 4))
    S = (np.ones((3, 3)) - np.eye(3)) / 2
    known = np.array([[False, True, True], [True, False, False], [True, True, True]])
    C = [c * k[:, None] for k in known.T]
    rows = Rows(known, [], C, (c**2).sum(axis=1)[:, None] * known)
    f, square = free_rows(agreement(S), [F] * 3, rows)
    for view in f:
        np.testing.assert_allclose(view, c, atol=1e-4)
    np.testing.assert_allclose(square, np.repeat((c**2).sum(axis=1)[:, None], 3, axis=1), atol=1e-4)
