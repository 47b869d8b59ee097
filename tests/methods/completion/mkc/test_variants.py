"""The three variants: objective, gradient, closed forms, new samples."""

import numpy as np
import pytest

from absentia import MKC, KernelViews, MeanFill
from absentia.data import Presence
from absentia.methods.completion.mkc._problem import NewRows, disagreement_matrix, fit_view_weights
from absentia.methods.completion.mkc._variants import (
    Heterogeneous,
    _fit_missing_rows,
    _fit_squared_norms,
    _minimize_in_ball,
    _solve_free_rows,
)
from conftest import random_problem
from helpers.mkc_problems import MODELS, OPTIONS, VARIANTS, halves, random_point, small_problem
from reference import mkc as reference


@pytest.mark.parametrize("on_all_samples", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_objective_is_that_of_the_paper_term_by_term(variant, on_all_samples):
    problem = small_problem(on_all_samples=on_all_samples)
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


@pytest.mark.parametrize("on_all_samples", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_gradient_is_that_of_the_objective_with_the_view_weights_at_their_best(variant, on_all_samples):
    model = MODELS[variant](small_problem(on_all_samples=on_all_samples))
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
    S = fit_view_weights(B)
    np.testing.assert_allclose(
        _fit_missing_rows(problem, B, S), reference.agreed(B, problem.observed, S, 0.7, 0.01), atol=1e-10
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


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_singular_kernels_stay_positive_semidefinite_and_keep_their_block(variant, options, rng):
    X = rng.standard_normal((3, 30, 4))
    K = X @ X.transpose(0, 2, 1)
    kv = KernelViews.from_dense(K, observed=random_problem(30, 3).observed)
    done = MKC(variant, tol=0, max_iter=10, **options).fit_transform(kv)
    for v, name in enumerate(kv.names):
        assert np.linalg.eigvalsh(done.block(name)).min() > -1e-10 * np.linalg.eigvalsh(K[v]).max()
        seen = np.ix_(kv.observed[:, v], kv.observed[:, v])
        np.testing.assert_array_equal(done.block(name)[seen], K[v][seen])


def test_rows_whose_own_values_are_unknown_are_completed_as_if_those_were_average():
    train, new = halves(random_problem(60, 4))
    mkc = MKC("sdp", tol=1e-3).fit(train)
    known = {name: new.block(name) for name in new.names}
    nothing = {name: np.full(len(block), np.nan) for name, block in known.items()}
    columns = Presence(new.column_ids, new.names, new.column_observed)
    rows = mkc.transform(KernelViews.between(new, columns, known, nothing))
    assert np.isfinite(rows.to_dense()).all()
    np.testing.assert_array_equal(np.isnan(rows.diagonal("view0")), new.observed[:, 0])
    # these kernels have a unit diagonal, so own values differ from the average only by centring
    np.testing.assert_allclose(rows.to_dense(), mkc.transform(new).to_dense(), atol=0.2)


@pytest.mark.parametrize("variant", ["ht", "app"])
def test_coefficients_of_a_new_sample_equal_least_squares_on_all_residuals(variant, rng):
    problem = small_problem(n=12)
    model = MODELS[variant](problem)
    at = model.evaluate(random_point(model))
    present = np.array([True, False, True])
    a = [rng.standard_normal(len(seen)) * p for seen, p in zip(problem.present, present, strict=True)]
    rows = NewRows(present[None], [x[None] for x in a], [], np.zeros((1, 3)))
    y, square = model.locate_new(at.point, at.S, rows)
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
    f = _minimize_in_ball(np.linalg.eigh(F.T @ F), g, most)
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
    found = _fit_squared_norms(disagreement_matrix(S), NewRows(known, [], [], square))
    np.testing.assert_allclose(found, [[0.7 * 2 + 0.3 * 0.5, 2, 0.5], [3, 2, 1], [1, 1, 1]], atol=1e-5)


def test_free_rows_of_views_that_are_all_alike_are_alike(rng):
    F = rng.standard_normal((12, 4))
    c = rng.standard_normal((3, 4))
    S = (np.ones((3, 3)) - np.eye(3)) / 2
    known = np.array([[False, True, True], [True, False, False], [True, True, True]])
    C = [c * k[:, None] for k in known.T]
    rows = NewRows(known, [], C, (c**2).sum(axis=1)[:, None] * known)
    f, square = _solve_free_rows(disagreement_matrix(S), [F] * 3, rows)
    for view in f:
        np.testing.assert_allclose(view, c, atol=1e-4)
    np.testing.assert_allclose(square, np.repeat((c**2).sum(axis=1)[:, None], 3, axis=1), atol=1e-4)
