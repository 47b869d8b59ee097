"""The paper's own forms, on complete kernels under a mask."""

import numpy as np
import pytest

from absentia import AbsenceWarning, AbsentMKLClassifier


def test_the_papers_convex_form_is_its_equation(complete):
    cp = pytest.importorskip("cvxpy")
    kv, mask, y = complete
    with pytest.warns(AbsenceWarning, match="read the absent views"):
        machine = AbsentMKLClassifier(paper_form=True, tol=1e-5).fit(kv, y, observed=mask)
    K, signs, n = kv.to_dense(), np.where(y, 1.0, -1.0), len(y)
    G = sum(s[:, None] * k for s, k in zip(mask.T, K, strict=True))
    alpha, b, xi = cp.Variable(n), cp.Variable(), cp.Variable(n, nonneg=True)
    u, gamma, energy = cp.Variable(), cp.Variable(6, nonneg=True), cp.Variable(6)
    roots = [np.linalg.cholesky(k + 1e-9 * np.eye(n)).T for k in K]
    constraints = [
        cp.multiply(signs, G @ alpha + b) >= 1 - xi,
        (mask * 1.0) @ energy <= 2 * u,
        cp.sum(gamma) == 1,
        *(cp.quad_over_lin(r @ alpha, gamma[p]) <= energy[p] for p, r in enumerate(roots)),
    ]
    value = cp.Problem(cp.Minimize(u + cp.sum(xi)), constraints).solve("CLARABEL")
    assert machine.objective_[-1] == pytest.approx(value, rel=1e-4)
    honest = AbsentMKLClassifier(tol=1e-5).fit(kv.hide(mask), y)
    assert honest.converged_


def test_the_papers_penalized_form_never_rises(complete):
    kv, mask, y = complete
    with pytest.warns(AbsenceWarning, match="read the absent views"):
        machine = AbsentMKLClassifier("penalized", paper_form=True, tol=1e-5, max_iter=30).fit(
            kv, y, observed=mask
        )
    assert machine.converged_
    assert (np.diff(machine.objective_) <= 1e-4 * machine.objective_[0]).all()
    scores = machine.decision_function(kv[:5])
    by_hand = np.tensordot(np.ones(6), kv.to_dense(), 1)[:5] @ machine.dual_coef_[0] + machine.bias_[0]
    np.testing.assert_allclose(scores, by_hand, rtol=1e-8)


@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
def test_held_out_fits_of_the_papers_forms_have_their_own_part_of_the_mask(complete):
    kv, mask, y = complete
    machine = AbsentMKLClassifier(paper_form=True, probability=True).fit(kv, y, observed=mask)
    rows = np.arange(1, 60, 2)
    np.testing.assert_array_equal(machine._fit_options(rows)["observed"], mask[rows])
    np.testing.assert_allclose(machine.predict_proba(kv).sum(axis=1), 1)
