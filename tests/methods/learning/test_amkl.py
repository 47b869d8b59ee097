"""Absent multiple kernel learning: what its forms are identical to, the paper's weights, what does not go together."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from absentia import AbsenceWarning, AbsentMKLClassifier, MKLClassifier, ViewKernels, datasets
from helpers.absent_kernels import halves, problem
from helpers.digit_samples import half_seen_digits


def test_absent_machines_score_in_units_of_the_own_margin(kernels):
    kv, y = kernels
    train, test, a, _ = halves(kv)
    machine = AbsentMKLClassifier(constraint="mean").fit(train, y[a] < 5)
    share = machine._coverage(test)[:, 0]
    assert ((share > 0) & (share < 1)).any()
    raw = machine._raw_scores(test)[:, 0]
    np.testing.assert_allclose(machine.decision_function(test), raw / np.maximum(share, 0.2))
    np.testing.assert_array_equal(np.sign(raw), np.sign(machine.decision_function(test)))


def test_in_a_pipeline_and_a_search_on_views():
    views, y = half_seen_digits(120)
    pipeline = make_pipeline(ViewKernels(), AbsentMKLClassifier(constraint="mean"))
    grid = {"absentmklclassifier__C": [0.1, 10.0], "viewkernels__kernel": ["rbf", "linear"]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(views, y % 3)
    assert search.best_score_ > 0.5  # guessing: 0.4
    assert search.predict(views[:4]).shape == (4,)


def test_one_complete_sample_makes_the_convex_form_zero_filling():
    views, y = half_seen_digits(120)
    full, _ = datasets.load_digit_views(n_samples=120, return_X_y=True)
    keep = views.observed.copy()
    keep[7] = True
    kv = ViewKernels().fit_transform(full.hide(keep))
    with pytest.warns(AbsenceWarning, match="identical to MKLClassifier"):
        exact = AbsentMKLClassifier().fit(kv, y < 5)
    zero = MKLClassifier().fit(kv, y < 5)
    np.testing.assert_array_equal(exact.weights_, zero.weights_)
    np.testing.assert_array_equal(exact.dual_coef_, zero.dual_coef_)
    mean = AbsentMKLClassifier(constraint="mean").fit(kv, y < 5)
    assert np.abs(mean.weights_ / mean.weights_.sum() - zero.weights_).max() > 1e-3


@pytest.mark.parametrize("lam", [0.0, 1.0, 10.0])
def test_with_equally_many_views_each_penalized_is_zero_filling_with_another_c(kernels, lam):
    kv, y = kernels
    tau = 0.5  # three of six views each
    Lambda = 1 + lam * 6 * tau * (1 - tau)
    penalized = AbsentMKLClassifier("penalized", C=2.0, lam=lam, tol=1e-9).fit(kv, y < 5)
    zero = MKLClassifier(C=2.0 / (Lambda * tau**2), tol=1e-9).fit(kv, y < 5)
    np.testing.assert_allclose(penalized.weights_, zero.weights_, atol=1e-5)
    # of who has no view with weight both say the prior, which is no multiple of tau
    np.testing.assert_array_equal(penalized.unusable(kv), zero.unusable(kv))
    some = ~zero.unusable(kv)
    raw, wanted = penalized._raw_scores(kv)[some, 0], zero.decision_function(kv)[some]
    np.testing.assert_allclose(raw / tau, wanted, atol=1e-4)
    np.testing.assert_array_equal(penalized.decision_function(kv)[~some], zero.decision_function(kv)[~some])


def test_the_papers_forms_want_complete_kernels_and_a_mask(complete):
    kv, mask, y = complete
    for X, observed in ((kv, None), (kv.hide(mask), mask)):
        with pytest.raises(ValueError, match="complete kernels"):
            AbsentMKLClassifier(paper_form=True).fit(X, y, observed=observed)
    with pytest.raises(ValueError, match="observed goes with paper_form"):
        AbsentMKLClassifier().fit(kv, y, observed=mask)
    with pytest.raises(ValueError, match="iterative"):
        AbsentMKLClassifier("iterative", paper_form=True).fit(kv, y, observed=mask)


def test_two_steps_go_with_the_penalized_form_alone():
    kernels, y = problem(0, 1.0)
    for bad in (AbsentMKLClassifier(two_step=True), AbsentMKLClassifier("iterative", two_step=True)):
        with pytest.raises(ValueError, match="two_step=True goes with"):
            bad.fit(kernels, y)


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
