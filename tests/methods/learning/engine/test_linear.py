"""The machine on factors: coordinate descent, and Newton's method where that is slow."""

import numpy as np
import pytest

from absentia.methods.learning.engine import Box, FactorStack, fit_machine
from absentia.methods.learning.engine import _linear as module
from absentia.methods.learning.engine._linear import (
    MachineProblem,
    _fit_smoothed,
    _newton,
    _scores,
    _transpose_times,
    fit_linear,
)
from absentia.methods.learning.engine._svm import evaluate_machine
from helpers.mkl_problems import factors
from reference import svm

ETA = np.array([0.5, 0.0, 1.0, 0.2])


def thin(n=80, seed=0, dtype=np.float64, scale=None):
    Phi, observed, y = factors(n, seed=seed, dtype=dtype)
    stack = FactorStack(Phi, [np.flatnonzero(s) for s in observed.T], n, scale=scale)
    rows = stack.rows(np.arange(n)) * np.sqrt(np.repeat(ETA, 6))
    return stack, rows @ rows.T, y


BOXES = {
    "classes": lambda y, rng: Box.classification(y, np.full(len(y), 2.0)),
    "small C": lambda y, rng: Box.classification(y, np.full(len(y), 1e-4)),
    "large C": lambda y, rng: Box.classification(y, np.full(len(y), 200.0)),
    "boxes": lambda y, rng: Box.classification(
        y, rng.random(len(y)) * (rng.random(len(y)) > 0.2), rng.random(len(y)) + 0.2
    ),
    "unbalanced": lambda y, rng: Box.classification(
        np.where(np.arange(len(y)) < 3, 1.0, -1.0), np.ones(len(y))
    ),
    "regression": lambda y, rng: Box.regression(
        100 + y + rng.standard_normal(len(y)), np.full(len(y), 0.5), 0.3
    ),
    "no eps": lambda y, rng: Box.regression(y + rng.standard_normal(len(y)), rng.random(len(y)), 0.0),
}


@pytest.mark.slow_params("0-classes", "0-small C")
@pytest.mark.parametrize("kind", BOXES)
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_dense_machine(kind, seed, rng):
    stack, K, y = thin(seed=seed)
    box, tol = BOXES[kind](y, rng), 1e-4 if kind == "large C" else 1e-5
    slow, fast = fit_machine(K, box, tol=1e-9), fit_linear(stack, ETA, box, tol=tol)
    assert fast.gap <= tol * fast.primal
    assert fast.primal == pytest.approx(slow.primal, rel=tol)
    assert (fast.z >= box.lo).all()
    assert (fast.z <= box.hi).all()
    assert abs(fast.z.sum()) <= 1e-12 * np.abs(fast.z).sum()
    # what it says of itself is so
    np.testing.assert_allclose(fast.scores, K @ fast.z, rtol=1e-9, atol=1e-9)
    assert fast.dual == pytest.approx(svm.value(K, box.t, box.eps, fast.z), rel=1e-9, abs=1e-9)
    assert fast.primal == pytest.approx(
        fast.z @ K @ fast.z / 2 + box.losses(K @ fast.z + fast.bias).sum(), rel=1e-9
    )


def test_it_is_the_slow_twin(rng):
    stack, K, y = thin(40)
    box = Box.classification(y, rng.random(40) + 0.5)
    wanted = svm.value(K, box.t, 0.0, svm.dual(K, box.t, box.lo, box.hi))
    assert fit_linear(stack, ETA, box, tol=1e-6).dual == pytest.approx(wanted, rel=1e-6)


def test_scaled_samples_are_the_dense_kernels(rng):
    scale = rng.random(80) + 0.5
    stack, K, y = thin(scale=scale)
    box = Box.classification(y, np.ones(80))
    fast = fit_linear(stack, ETA, box, tol=1e-5)
    assert fast.primal == pytest.approx(fit_machine(K, box, tol=1e-9).primal, rel=1e-5)
    np.testing.assert_allclose(fast.scores, K @ fast.z, rtol=1e-9, atol=1e-9)


def test_what_the_diagonal_has_of_its_own_counts(rng):
    plain, K, y = thin()
    own, scale = rng.random((80, 4)) * (rng.random((80, 4)) > 0.5), rng.random(80) + 0.5
    stack = FactorStack(plain.factors, plain.index, 80, own, scale)
    K = (K + np.diag(own @ ETA)) * np.outer(scale, scale)
    for C in (1.0, 300.0):  # the second by Newton's method
        box = Box.classification(y, np.full(80, C))
        fast = fit_linear(stack, ETA, box, tol=1e-4)
        assert fast.primal == pytest.approx(fit_machine(K, box, tol=1e-9).primal, rel=1e-4)
        np.testing.assert_allclose(fast.scores, K @ fast.z, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
def test_single_precision_has_the_optimum_of_its_own_values():
    stack, _, y = thin(dtype=np.float32)
    double = FactorStack([Phi.astype(np.float64) for Phi in stack.factors], stack.index, 80)
    box = Box.classification(y, np.ones(80))
    one, other = (fit_linear(s, ETA, box, tol=1e-7) for s in (stack, double))
    assert one.primal == pytest.approx(other.primal, rel=2e-7)


def test_a_start_at_the_optimum_is_left_at_once():
    stack, _, y = thin()
    box = Box.classification(y, np.ones(80))
    first = fit_linear(stack, ETA, box, tol=1e-4)
    again = fit_linear(stack, ETA, box, tol=1e-4, start=first.z)
    assert first.n_steps > 0
    assert again.n_steps == 0
    np.testing.assert_allclose(again.z, first.z, atol=1e-14)


def test_it_ends_where_it_was_told_to_and_says_how_far_it_came():
    pytest.importorskip("numba")
    stack, _, y = thin()
    ended = fit_linear(stack, ETA, Box.classification(y, np.ones(80)), tol=1e-12, max_passes=5)
    assert ended.n_steps == 5
    assert ended.gap > 1e-12 * ended.primal


def test_the_same_call_has_the_same_answer_and_samples_that_do_not_count_have_none():
    stack, _, y = thin()
    bound = np.where(np.arange(80) < 20, 0.0, 1.0)
    box = Box.classification(y, bound)
    one, other = (fit_linear(stack, ETA, box, tol=1e-5) for _ in range(2))
    np.testing.assert_array_equal(one.z, other.z)
    assert not one.z[:20].any()


def test_newtons_method_is_called_in_where_passes_would_be_many(monkeypatch):
    pytest.importorskip("numba")
    stack, _, y = thin()
    box = Box.classification(y, np.full(80, 200.0))
    monkeypatch.setattr(module, "_PATIENCE", 50)
    helped = fit_linear(stack, ETA, box, tol=1e-3)
    assert helped.gap <= 1e-3 * helped.primal
    assert helped.n_steps < 100
    monkeypatch.setattr(module, "_MAX_FACTORS", 10)  # too many factors for that
    alone = fit_linear(stack, ETA, box, tol=1e-3, max_passes=200)
    assert alone.n_steps == 200
    assert alone.gap > 1e-3 * alone.primal
    assert alone.primal >= helped.dual


def test_without_a_kernel_there_is_the_bias_alone():
    stack, _, y = thin()
    box = Box.classification(y, np.ones(80))
    nothing = fit_linear(stack, np.zeros(4), box, tol=1e-6)
    assert nothing.primal == pytest.approx(2 * min((y > 0).sum(), (y < 0).sum()))
    assert nothing.gap <= 1e-6 * nothing.primal


ETA = np.array([0.5, 0.0, 1.0, 0.2])


def problem(n=90, regression=False, C=3.0):
    Phi, observed, y = factors(n, seed=3)
    stack = FactorStack(Phi, [np.flatnonzero(s) for s in observed.T], n)
    bound = np.full(n, C)
    box = (
        Box.regression(y + stack.scores(ETA, y) / 9, bound, 0.2)
        if regression
        else Box.classification(y, bound)
    )
    rows = stack.rows(np.arange(n)) * np.sqrt(np.repeat(ETA, 6))
    return MachineProblem(stack, ETA, box), rows @ rows.T


@pytest.mark.parametrize("regression", [False, True])
def test_it_comes_from_nothing_to_the_dense_optimum(regression):
    given, K = problem(regression=regression)
    nothing = evaluate_machine(given.box, np.zeros(90), np.zeros(90))
    found = _fit_smoothed(given, nothing, 1e-5)
    assert found.gap <= 1e-5 * found.primal
    assert found.primal == pytest.approx(fit_machine(K, given.box, tol=1e-9).primal, rel=1e-5)
    np.testing.assert_allclose(found.scores, K @ found.z, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("regression", [False, True])
def test_a_round_ends_where_the_smoothed_gradient_is_zero(regression):
    given, K = problem(regression=regression)
    J = given.rounding(0.2)
    v, b, z = _newton(given, np.zeros(24), 0.0, J)
    np.testing.assert_allclose(z, given.coefficients(given.box.t - _scores(given, v) - b, J))
    np.testing.assert_allclose(v, _transpose_times(given, z), atol=1e-6)
    assert abs(z.sum()) < 1e-6 * np.abs(z).sum()
    # the same as the dual with J on its diagonal
    exact = fit_machine(K + np.diag(J), given.box, tol=1e-10)
    np.testing.assert_allclose(z, exact.z, atol=1e-4)


def test_gradients_are_those_of_the_smoothed_primal():
    given, _ = problem()
    J = given.rounding(0.3)
    rng = np.random.default_rng(0)
    residual, along = rng.standard_normal((2, 90))

    def losses(r):
        z = given.coefficients(r, J)
        return float((r * z - given.box.eps * np.abs(z) - J * z**2 / 2).sum())

    numeric = (losses(residual - 1e-6 * along) - losses(residual + 1e-6 * along)) / 2e-6
    assert given.slope(residual, along, J, 0.0) == pytest.approx(numeric, rel=1e-5)


def test_kinks_are_rounded_as_wide_as_the_gap_allows():
    given, K = problem()
    machine = fit_machine(K, given.box, tol=1e-6)
    narrow, wide = (given.half_width(machine, gap) for gap in (0.1, 10.0))
    assert 0 < narrow < wide
    _, _, z = _newton(given, np.zeros(24), 0.0, given.rounding(narrow))
    assert given.evaluate(given.box.make_feasible(z)).gap < 1.0
