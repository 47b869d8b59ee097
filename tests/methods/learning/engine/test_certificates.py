"""The gap that a machine reports is never less than the one anybody can compute from it, at any scale."""

import warnings

import numpy as np
import pytest
from sklearn.svm import SVC

from absentia import (
    AbsentMKLClassifier,
    AverageKernelSVC,
    KernelViews,
    MKLClassifier,
    MKLRegressor,
    ViewKernels,
    Views,
)
from absentia.methods.learning.engine import _solver as solver
from absentia.methods.learning.engine._polytope import Polytope
from absentia.methods.learning.engine._solver import Problem, solve
from absentia.methods.learning.engine._stack import KernelStack
from absentia.methods.learning.engine._svm import Box, fit_machine
from reference import amkl as slow

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of rounds

METHODS = {
    "mkl": MKLClassifier(),
    "mkl, 2-norm": MKLClassifier(norm=2),
    "convex": AbsentMKLClassifier(),
    "convex, mean": AbsentMKLClassifier(constraint="mean"),
    "iterative": AbsentMKLClassifier("iterative"),
    "penalized": AbsentMKLClassifier("penalized"),
    "two steps": AbsentMKLClassifier("penalized", two_step=True),
    "average": AverageKernelSVC(),
    "alignment": AverageKernelSVC("alignment"),
    "regression": MKLRegressor(epsilon=0.1),
}


def features(seed, n=40, absent=0.25, scale=1.0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) > 0.5
    views = {
        f"v{p}": scale * (rng.standard_normal((n, 4 + 3 * p)) + (p < 2) * y[:, None]) for p in range(4)
    }
    observed = rng.random((n, 4)) > absent
    observed[~observed.any(axis=1), 0] = True
    observed[observed.all(axis=1), 3] = False  # nobody has all
    return views, observed, y


def problem(seed, scale, absent=0.25):
    """Kernels whose values are about `scale`, with views absent, and labels."""
    views, observed, y = features(seed, absent=absent)
    K = [
        scale * v @ v.T if p % 2 else scale * np.exp(-_distances(v) / v.shape[1])
        for p, v in enumerate(views.values())
    ]
    return KernelViews.from_dense(K, observed=observed), y


def _distances(v):
    return ((v[:, None] - v[None]) ** 2).sum(-1)


def recomputed(machine, kernels, y):
    """The gap of a fitted machine, from its attributes and the kernels that it was given."""
    K, n = np.nan_to_num(kernels.to_dense()), len(y)
    tau, free, rows, C = np.ones(n), True, np.ones((1, len(K))), np.full(n, machine.C)
    if isinstance(machine, MKLRegressor):
        box = Box.regression(y.astype(float), C, machine.epsilon)
    else:
        if isinstance(machine, AverageKernelSVC):
            free = False
        elif isinstance(machine, AbsentMKLClassifier):
            tau = machine.tau_
            if machine.formulation == "convex":
                S = kernels.observed.astype(float)
                rows = S if machine.constraint == "rows" else S.mean(axis=0)[None]
            if machine.formulation == "penalized":
                C = C / (1 + machine.lam * ((tau[:, None] - kernels.observed) ** 2).sum(axis=1).mean())
        elif machine.norm == 2:
            rows = None
        box = Box.classification(np.where(y, 1.0, -1.0), C / tau, tau)
    z, bias = machine.dual_coef_[0], machine.bias_[0]
    return slow.duality_gap(K, machine.weights_, z, bias, *box, rows=rows, free=free)


def audit(name, seed, scale, C=1.0):
    kernels, y = problem(seed, scale)
    machine = type(METHODS[name])(**METHODS[name].get_params()).set_params(C=C)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(kernels, y)
    found = recomputed(machine, kernels, y)
    # sums in another order: rounding of either value, relative to the larger
    assert found <= machine.gap_ + 1e-10, (name, seed, scale, found, machine.gap_)
    assert found >= -1e-10
    return machine


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("name", METHODS)
def test_the_gap_recomputed_is_never_above_the_one_reported(name, scale):
    machine = audit(name, 1, scale)
    assert machine.gap_ <= machine.tol


@pytest.mark.slow
def test_the_gap_recomputed_is_never_above_the_one_reported_on_two_hundred_fits():
    rng = np.random.default_rng(0)
    for k in range(200):
        audit(list(METHODS)[k % len(METHODS)], k, 10.0 ** rng.uniform(-6, 6), 10.0 ** rng.uniform(-1, 2))


@pytest.mark.parametrize("seed", range(6))
def test_large_features_do_not_end_in_a_wrong_machine(seed):
    """Linear kernels of raw features of 1e4 to 1e5: nearly a hard margin, where drift once passed for a solution."""
    views, _, y = features(seed, absent=0.0, scale=10 ** (4 + seed / 5))
    kernels = ViewKernels("linear", standardize=False, normalize=None).fit_transform(Views.from_dict(views))
    machine = MKLClassifier().fit(kernels, y)
    assert recomputed(machine, kernels, y) <= machine.gap_ + 1e-10
    assert machine.converged_
    K = np.tensordot(machine.weights_, kernels.to_dense(), 1)
    assert machine.score(kernels, y) == SVC(kernel="precomputed").fit(K, y).score(K, y) == 1.0


@pytest.mark.parametrize("scale", [2.0**-20, 2.0**20, 1e-6, 1e6])
@pytest.mark.parametrize("name", METHODS)
def test_a_kernel_and_c_scaled_against_each_other_leave_the_scores(name, scale):
    kernels, y = problem(2, 1.0)
    scaled = problem(2, scale)[0]
    one, other = (type(METHODS[name])(**METHODS[name].get_params()) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one.fit(kernels, y)
        other.set_params(C=1 / scale).fit(scaled, y)
    score = "predict" if name == "regression" else "decision_function"
    a, b = getattr(one, score)(kernels), getattr(other, score)(scaled)
    if np.log2(scale) % 1 == 0:  # powers of two change no digit
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(one.weights_, other.weights_)
        assert one.gap_ == other.gap_
    else:
        np.testing.assert_allclose(b, a, atol=1e-6 * np.abs(a).max())


def test_bounds_that_contradict_each_other_are_an_error(monkeypatch):
    kernels, y = problem(0, 1.0)
    stack, box = KernelStack.of(kernels), Box.classification(np.where(y, 1.0, -1.0), np.ones(len(y)))
    plain = solver._point

    def flattered(*arguments):
        point = plain(*arguments)
        return solver.replace(point, height=point.height * 1.1, lower=point.lower * 1.1)

    monkeypatch.setattr(solver, "_point", flattered)
    with pytest.raises(ArithmeticError, match=r"upper bound .* lies below the lower one"):
        solve(Problem(stack, (box,), Polytope.simplex(4)))


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
    gap = slow.duality_gap(K[None], np.ones(1), machine.z, machine.bias, *box, free=False)
    assert gap * machine.primal <= machine.gap + 1e-9 * machine.primal


# ------------------------------------------------------------------------------------------------ dust


def test_no_weight_lies_between_zero_and_the_threshold():
    """Many machines whose optimum has zeros: weights are exactly that, or above a millionth of the largest."""
    seen = 0
    for seed in range(12):
        kernels, y = problem(seed, 1.0)
        for machine in (MKLClassifier(), MKLClassifier(C=30.0, tol=1e-8), AbsentMKLClassifier("penalized")):
            weights = machine.fit(kernels, y).weights_
            assert ((weights == 0) | (weights > solver.DUST * weights.max())).all()
            seen += int((weights == 0).sum())
            norms = machine._norms[0]
            assert ((norms == 0) | (norms > solver.DUST * norms.max())).all()
    assert seen > 5


def test_scores_are_continuous_where_a_view_loses_its_say():
    kernels, y = problem(0, 1.0)
    machine = MKLClassifier(norm=2).fit(kernels, y)
    rows = kernels.hide(np.arange(4) == 2 * np.ones((len(y), 1)))  # only the third view is left
    some = rows.observed.any(axis=1)
    eta, norms = machine._weights.copy(), machine._norms.copy()
    found = []
    for share in (0.0, 1e-12, 1e-8, 1e-4):
        machine._weights, machine._norms = eta.copy(), norms.copy()
        machine._weights[0, 2], machine._norms[0, 2] = share * eta.max(), share * norms.max()
        found.append(machine.decision_function(rows)[some])
    for near, slack in zip(found[1:], (1e-9, 1e-5, 1e-1), strict=True):
        np.testing.assert_allclose(near, found[0], atol=slack)
    np.testing.assert_allclose(found[0], 2 * y.mean() - 1)


@pytest.mark.parametrize("name", METHODS)
def test_without_a_usable_view_every_method_says_the_prior_and_flags_it(name):
    kernels, y = problem(0, 1.0)
    machine = type(METHODS[name])(**METHODS[name].get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(kernels, y)
    rows = kernels.hide(np.zeros(kernels.observed.shape, bool))
    assert machine.unusable(rows).all()
    if name == "regression":
        np.testing.assert_allclose(machine.predict(rows), y.mean())
    else:
        np.testing.assert_allclose(machine.decision_function(rows), 2 * y.mean() - 1)


# ----------------------------------------------------------------------------------- what the paper calls so


@pytest.mark.parametrize("constraint", ["rows", "mean"])
def test_gamma_satisfies_equation_28_where_the_weights_do_not(constraint):
    kernels, y = problem(3, 1.0, absent=0.6)
    machine = AbsentMKLClassifier(constraint=constraint, tol=1e-6).fit(kernels, y)
    K, S = np.nan_to_num(kernels.to_dense()), kernels.observed
    z, gamma = machine.dual_coef_[0], machine.gamma_
    squares = machine.weights_**2 * np.array([z @ k @ z for k in K])  # |w_p|^2
    assert gamma.sum() == pytest.approx(1)
    assert np.abs(gamma - machine.weights_).max() > 0.01
    used = gamma > 0
    u = (squares[used] / machine.weights_[used]).sum() / 2
    energy = S[:, used] @ (squares[used] / gamma[used]) / 2
    if constraint == "rows":
        assert energy.max() == pytest.approx(u, rel=1e-9)  # tight for some sample, violated by none
    else:
        assert energy.mean() == pytest.approx(u, rel=1e-9)


def test_gamma_is_that_of_a_conic_solver():
    cp = pytest.importorskip("cvxpy")
    kernels, y = problem(3, 1.0, absent=0.6)
    machine = AbsentMKLClassifier(tol=1e-8).fit(kernels, y)
    K, S, n = np.nan_to_num(kernels.to_dense()), kernels.observed * 1.0, len(y)
    L = [np.linalg.cholesky(k + 1e-9 * np.eye(n)) for k in K]
    w, b, xi, u = [cp.Variable(n) for _ in L], cp.Variable(), cp.Variable(n, nonneg=True), cp.Variable()
    gamma, energy = cp.Variable(4, nonneg=True), cp.Variable(4)
    f = sum(cp.multiply(s, part @ v) for s, part, v in zip(S.T, L, w, strict=True)) + b
    constraints = [
        cp.multiply(np.where(y, 1.0, -1.0), f) >= 1 - xi,
        cp.sum(gamma) == 1,
        S @ energy <= 2 * u,
    ]
    constraints += [cp.quad_over_lin(v, gamma[p]) <= energy[p] for p, v in enumerate(w)]
    cp.Problem(cp.Minimize(u + cp.sum(xi)), constraints).solve("CLARABEL")
    np.testing.assert_allclose(machine.gamma_, gamma.value, atol=1e-3)  # the square root of their tolerance


def test_two_steps_are_those_of_the_slow_twin():
    rng = np.random.default_rng(5)
    X, observed = rng.standard_normal((24, 3)), rng.random((24, 3)) > 0.35
    observed[~observed.any(axis=1), 0] = True
    y = np.where(X[:, 0] + 0.8 * rng.standard_normal(24) > 0, 1.0, -1.0)
    K = np.array([np.exp(-_distances(X) / w) for w in (1.0, 3.0, 9.0)])
    taus = slow.two_steps(slow.masked(K, observed), observed, y, 0.7, 2.0, 2)
    kernels = KernelViews.from_dense(K, observed=observed)
    for rounds in (2, 3):
        machine = AbsentMKLClassifier("penalized", C=0.7, lam=2.0, two_step=True, tol=1e-9, max_iter=rounds)
        machine.fit(kernels, y)
        np.testing.assert_allclose(machine.tau_, taus[rounds - 2], atol=2e-4)
    o = observed.mean(axis=1)
    kept = machine.tau_ > o + 0.01  # misclassified in the first round: tau stays 1
    assert kept.any()
    assert not kept.all()
    assert (machine.tau_ >= o - 1e-12).all()


def test_two_steps_never_raise_the_objective_and_may_end_elsewhere():
    ended = []
    for seed in range(4):
        kernels, y = problem(seed, 1.0)
        machine = AbsentMKLClassifier("penalized", C=0.3, two_step=True, tol=1e-6, max_iter=50).fit(
            kernels, y
        )
        assert machine.converged_
        assert (np.diff(machine.objective_) <= 1e-5 * machine.objective_[0]).all()
        ended.append(np.abs(machine.tau_ - kernels.observed.mean(axis=1)).max() < 1e-3)
    assert not all(ended)


def test_two_steps_go_with_the_penalized_form_alone():
    kernels, y = problem(0, 1.0)
    for bad in (AbsentMKLClassifier(two_step=True), AbsentMKLClassifier("iterative", two_step=True)):
        with pytest.raises(ValueError, match="two_step=True goes with"):
            bad.fit(kernels, y)
