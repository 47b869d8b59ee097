"""Newton's method on losses without kinks: from far away, to the dense machine's optimum."""

import numpy as np
import pytest

from absentia.methods.learning.engine import Box, FactorStack, fit_machine
from absentia.methods.learning.engine._smoothed import Posed, _newton, _normal, _scores, fit_smoothed
from absentia.methods.learning.engine._svm import judged
from stacks import factors

ETA = np.array([0.5, 0.0, 1.0, 0.2])


def problem(n=90, ridge=0.0, regression=False, C=3.0):
    Phi, observed, y = factors(n, seed=3)
    stack = FactorStack(Phi, [np.flatnonzero(s) for s in observed.T], n)
    bound = np.full(n, C)
    box = (
        Box.regression(y + stack.scores(ETA, y) / 9, bound, 0.2)
        if regression
        else Box.classification(y, bound)
    )
    rows = stack.rows(np.arange(n)) * np.sqrt(np.repeat(ETA, 6))
    return Posed(stack, ETA, box, ridge), rows @ rows.T + ridge * np.eye(n)


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.4])
def test_it_comes_from_nothing_to_the_dense_optimum(regression, ridge):
    given, K = problem(ridge=ridge, regression=regression)
    nothing = judged(given.box, np.zeros(90), np.zeros(90))
    found = fit_smoothed(given, nothing, 1e-5)
    assert found.gap <= 1e-5 * found.primal
    assert found.primal == pytest.approx(fit_machine(K, given.box, tol=1e-9).primal, rel=1e-5)
    np.testing.assert_allclose(found.scores, K @ found.z, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("regression", [False, True])
def test_a_round_ends_where_the_smoothed_gradient_is_zero(regression):
    given, K = problem(regression=regression)
    J = given.rounding(0.2)
    v, b, z = _newton(given, np.zeros(24), 0.0, J)
    np.testing.assert_allclose(z, given.coefficients(given.box.t - _scores(given, v) - b, J))
    np.testing.assert_allclose(v, _normal(given, z), atol=1e-6)
    assert abs(z.sum()) < 1e-6 * np.abs(z).sum()
    # the same as the dual with J on its diagonal
    exact = fit_machine(K + np.diag(J), given.box, tol=1e-10)
    np.testing.assert_allclose(z, exact.z, atol=1e-4)


def test_gradients_are_those_of_the_smoothed_primal():
    given, _ = problem()
    J = given.rounding(0.3)
    rng = np.random.default_rng(0)
    rest, along = rng.standard_normal((2, 90))

    def losses(r):
        z = given.coefficients(r, J)
        return float((r * z - given.box.eps * np.abs(z) - J * z**2 / 2).sum())

    numeric = (losses(rest - 1e-6 * along) - losses(rest + 1e-6 * along)) / 2e-6
    assert given.slope(rest, along, J, 0.0) == pytest.approx(numeric, rel=1e-5)


def test_kinks_are_rounded_as_wide_as_the_gap_allows():
    given, K = problem()
    machine = fit_machine(K, given.box, tol=1e-6)
    narrow, wide = (given.reach(machine, gap) for gap in (0.1, 10.0))
    assert 0 < narrow < wide
    _, _, z = _newton(given, np.zeros(24), 0.0, given.rounding(narrow))
    assert given.judged(given.box.feasible(z)).gap < 1.0
