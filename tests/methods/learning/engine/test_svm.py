"""The machine under multiple kernel learning: right, certified, feasible, quick to continue."""

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from absentia.methods.learning.engine import Box, fit_machine
from reference import amkl
from reference import svm as slow


def kernel(n, seed=0, width=4.0):
    X = np.random.default_rng(seed).standard_normal((n, 4))
    D = ((X[:, None] - X[None]) ** 2).sum(-1)
    return X, np.exp(-D / width)


def classification(n=30, seed=0, tau=True):
    rng = np.random.default_rng(seed)
    X, K = kernel(n, seed)
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    tau = rng.uniform(0.2, 1, n) if tau else np.ones(n)
    return K, Box.classification(y, rng.uniform(0.2, 3, n) / tau, tau), y


def regression(n=30, seed=0, eps=0.1):
    X, K = kernel(n, seed)
    y = X[:, 0] + np.sin(3 * X[:, 1])
    return K, Box.regression(y, np.random.default_rng(seed).uniform(0.2, 3, n), eps), y


@pytest.mark.slow_params("1-classification")
@pytest.mark.parametrize("problem", [classification, regression])
@pytest.mark.parametrize("seed", range(3))
def test_the_dual_is_that_of_the_slow_twin(problem, seed):
    K, box, _ = problem(seed=seed)
    machine = fit_machine(K, box, tol=1e-9)
    z = slow.dual(K, *box)
    assert machine.dual == pytest.approx(slow.value(K, box.t, box.eps, z), rel=1e-8)
    np.testing.assert_allclose(machine.z, z, atol=1e-4)


@pytest.mark.parametrize("problem", [classification, regression])
def test_a_conic_solver_finds_the_same(problem):
    cp = pytest.importorskip("cvxpy")
    K, box, _ = problem(60)
    z = cp.Variable(60)
    objective = box.t @ z - box.eps * cp.norm1(z) - cp.sum_squares(np.linalg.cholesky(K).T @ z) / 2
    value = cp.Problem(cp.Maximize(objective), [cp.sum(z) == 0, z >= box.lo, z <= box.hi]).solve("CLARABEL")
    assert fit_machine(K, box, tol=1e-9).dual == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("problem", [classification, regression])
@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_coefficients_are_feasible_and_the_gap_is_what_was_asked(problem, tol):
    K, box, _ = problem(80)
    machine = fit_machine(K, box, tol=tol)
    assert (machine.z >= box.lo).all()
    assert (machine.z <= box.hi).all()
    assert abs(machine.z.sum()) < 1e-12
    assert 0 <= machine.gap <= tol * machine.primal
    np.testing.assert_allclose(machine.scores, K @ machine.z, atol=1e-12)
    assert machine.primal == pytest.approx(
        machine.z @ K @ machine.z / 2 + box.losses(machine.scores + machine.bias).sum()
    )


def test_with_tau_one_it_is_an_ordinary_machine():
    K, box, y = classification(100, tau=False)
    box = Box.classification(y, np.full(100, 2.0))
    machine, ordinary = fit_machine(K, box, tol=1e-10), SVC(C=2.0, kernel="precomputed", tol=1e-8).fit(K, y)
    np.testing.assert_allclose(machine.scores + machine.bias, ordinary.decision_function(K), atol=1e-4)


def test_regression_is_ordinary_support_vector_regression():
    K, _, y = regression(100)
    box = Box.regression(y, np.full(100, 2.0), 0.1)
    machine, ordinary = fit_machine(K, box, tol=1e-10), SVR(C=2.0, kernel="precomputed", tol=1e-8).fit(K, y)
    np.testing.assert_allclose(machine.scores + machine.bias, ordinary.predict(K), atol=1e-4)


@pytest.mark.parametrize("problem", [classification, regression])
def test_the_bias_has_the_least_loss(problem):
    K, box, _ = problem(40)
    scores = K @ np.random.default_rng(1).standard_normal(40)
    best = box.losses(scores + box.best_bias(scores)).sum()
    others = [
        box.losses(scores + b).sum() for b in np.r_[box.t - scores - box.eps, box.t - scores + box.eps]
    ]
    assert best == pytest.approx(min(others))


def test_where_many_biases_are_best_the_middle_is_taken():
    box = Box.classification(np.array([1.0, -1.0]), np.ones(2))
    assert box.best_bias(np.array([3.0, -5.0])) == pytest.approx(1.0)


@pytest.mark.parametrize("problem", [classification, regression])
def test_a_start_near_the_solution_leaves_little_to_do(problem):
    K, box, _ = problem(200)
    cold = fit_machine(K, box, tol=1e-6)
    warm = fit_machine(K * 1.001, box, tol=1e-6, start=cold.z)
    assert warm.n_steps < cold.n_steps / 2
    again = fit_machine(K, box, tol=2e-6, start=cold.z)
    assert again.dual >= cold.dual - 1e-12


def test_an_infeasible_start_is_mended():
    K, box, _ = classification(50)
    z = box.make_feasible(np.random.default_rng(0).standard_normal(50) * 100)
    assert abs(z.sum()) < 1e-10
    assert ((z >= box.lo) & (z <= box.hi)).all()
    assert (
        fit_machine(K, box, tol=1e-6, start=np.full(50, 7.0)).gap
        <= 1e-6 * fit_machine(K, box, tol=1e-6).primal * 1.01
    )


def test_samples_with_no_room_take_no_part():
    K, _, y = classification(60, tau=False)
    bound = np.where(np.arange(60) < 20, 0.0, 1.0)
    part = fit_machine(K, Box.classification(y, bound), tol=1e-9)
    alone = fit_machine(np.ascontiguousarray(K[20:, 20:]), Box.classification(y[20:], bound[20:]), tol=1e-9)
    assert part.primal == pytest.approx(alone.primal, rel=1e-8)
    assert not part.z[:20].any()


@pytest.mark.slow
def test_single_precision_kernels_give_the_same_machine():
    K, box, _ = classification(150)
    single = fit_machine(K.astype(np.float32), box, tol=1e-5)
    assert single.dual == pytest.approx(fit_machine(K, box, tol=1e-7).dual, rel=1e-4)


def test_a_kernel_of_zeros_and_one_that_tells_nobody_apart_end():
    _, box, _ = classification(40)
    for K in (np.zeros((40, 40)), np.ones((40, 40))):
        machine = fit_machine(K, box, tol=1e-6)
        assert machine.gap <= 1e-6 * machine.primal


def test_few_steps_are_reported_honestly():
    K, box, _ = classification(200)
    machine = fit_machine(K, box, tol=1e-9, max_steps=5)
    assert machine.n_steps == 5
    assert machine.gap > 1e-9 * machine.primal


def test_what_a_machine_says_of_itself_holds_for_its_own_coefficients():
    """Scores are those of the coefficients, not those carried along from pair to pair."""
    rng = np.random.default_rng(0)
    X = 1e5 * rng.standard_normal((60, 8))
    K, y = X @ X.T, np.where(rng.random(60) > 0.5, 1.0, -1.0)
    box = Box.classification(y, np.ones(60))
    machine = fit_machine(K, box, tol=1e-3, max_steps=2000)
    np.testing.assert_allclose(
        machine.scores, K @ machine.z, rtol=1e-10, atol=1e-10 * np.abs(machine.scores).max()
    )
    gap = amkl.duality_gap(K[None], np.ones(1), machine.z, machine.bias, *box, free=False)
    assert gap * machine.primal <= machine.gap + 1e-9 * machine.primal
