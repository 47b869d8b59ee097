"""ht and app: objective, gradient, closed forms."""

import numpy as np
import pytest

from absentia import MKC, MeanFill
from absentia.methods.completion.mkc._problem import best_weights
from absentia.methods.completion.mkc._variants import Heterogeneous, fit_missing_rows
from conftest import random_problem
from mkc_problems import MODELS, VARIANTS, random_point, small_problem
from reference import mkc as reference


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_objective_is_that_of_the_paper_term_by_term(variant, everywhere):
    problem = small_problem(everywhere=everywhere)
    model = MODELS[variant](problem)
    at = model.evaluate(random_point(model))
    if variant == "ht":
        wanted = reference.objective_ht(at.point[0], problem.K, problem.observed, at.S, 1.3, 0.7, 0.01)
    elif variant == "app":
        wanted = reference.objective_app(
            at.point[0], problem.K, problem.observed, at.S, 1.3, 0.7, 0.01, problem.shared_samples
        )
    else:
        F = model.coordinates(at.point)
        wanted = reference.objective_sdp([f @ f.T for f in F], at.S, 0.7, problem.shared_samples)
    np.testing.assert_allclose(at.value, wanted, rtol=1e-10)


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_gradient_is_that_of_the_objective_with_the_view_weights_at_their_best(variant, everywhere):
    model = MODELS[variant](small_problem(everywhere=everywhere))
    at = model.evaluate(random_point(model))
    rng = np.random.default_rng(1)
    along = tuple(rng.standard_normal(x.shape) * (x != 0) for x in at.point)
    h = 1e-6
    ahead, behind = (
        model.evaluate(tuple(x + s * h * d for x, d in zip(at.point, along, strict=True))).value
        for s in (1, -1)
    )
    slope = sum(np.vdot(g, d) for g, d in zip(at.gradient, along, strict=True))
    np.testing.assert_allclose((ahead - behind) / (2 * h), slope, rtol=1e-6)


def test_missing_rows_in_closed_form_equal_the_entries_solved_one_by_one():
    problem = small_problem(n_views=4)
    B = random_point(Heterogeneous(problem))[0]
    S = best_weights(B)
    np.testing.assert_allclose(
        fit_missing_rows(problem, B, S), reference.agreed(B, problem.observed, S, 0.7, 0.01), atol=1e-10
    )


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("variant", ["ht", "app"])
def test_the_completed_kernel_is_made_of_coefficients_whose_observed_rows_are_the_identity(variant, center):
    kv = random_problem()
    mkc = MKC(variant, center=center, tol=0, max_iter=10).fit(kv)
    done = mkc.transform(kv)
    for v, name in enumerate(kv.names):
        present = kv.observed[:, v]
        back = np.argsort(mkc._samples)
        A = mkc._point[0][mkc._views.index(v)][np.ix_(back, back[present])].copy()
        if center:
            A += (1 - A.sum(axis=1))[:, None] / present.sum()
        A[present] = np.eye(present.sum())
        np.testing.assert_allclose(done.block(name), A @ kv.block(name) @ A.T, atol=1e-9)


@pytest.mark.parametrize("variant", ["ht", "app"])
def test_a_large_penalty_leaves_no_basis_and_the_mean(variant):
    kv = random_problem()
    mkc = MKC(variant, c3=10.0)
    done = mkc.fit_transform(kv)
    assert all(len(ids) == 0 for ids in mkc.basis_.values())
    np.testing.assert_allclose(done.to_dense(), MeanFill().fit_transform(kv).to_dense(), atol=1e-10)
