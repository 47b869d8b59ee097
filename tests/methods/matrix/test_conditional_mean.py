"""Missing entries at their expectation, in three ways, against dense algebra."""

import numpy as np
import pytest

from absentia import PMAImputer
from absentia.core.linalg import NotPositiveDefiniteError, squared_distances
from absentia.methods.matrix import _conditional_mean as module
from absentia.methods.matrix import _inference as inference
from absentia.methods.matrix._conditional_mean import (
    _invert_blocks,
    _is_thin_and_lazy,
    _NystromPreconditioner,
    complete_by_gradients,
    complete_by_kernels,
    conditional_mean,
    relative_residual,
)
from absentia.methods.matrix._inference import _missing_logdet
from absentia.methods.matrix._model import KroneckerGaussian, LazyRowKernel
from helpers.matrices import every_kind, every_seed, kronecker_sum, positive, problem, tight
from reference import pma as reference


@every_kind
@every_seed
def test_exact_means_equal_dense_algebra(kind, seed):
    model, X, observed, S = problem(kind, seed)
    full = complete_by_gradients(model, np.where(observed, X, np.nan), observed, tol=1e-12)
    np.testing.assert_allclose(full, reference.condition(S, X, observed)[0], **tight)
    np.testing.assert_array_equal(full[observed], X[observed])
    direct = conditional_mean(model, np.where(observed, X, np.nan), observed)
    np.testing.assert_allclose(direct, full, **tight)
    assert relative_residual(model, X, direct, observed) < 1e-12


def test_columns_too_many_for_blocks_get_the_diagonal_preconditioner(monkeypatch):
    model, X, observed, S = problem("sum")
    monkeypatch.setattr(module, "_MAX_BLOCK_NUMBERS", 10)
    full = complete_by_gradients(model, X, observed, tol=1e-12)
    np.testing.assert_allclose(full, reference.condition(S, X, observed)[0], **tight)
    rng = np.random.default_rng(0)
    assert abs(_missing_logdet(model, observed, rng) - _missing_logdet(model, observed)) < 1


def given(kind="sum", n=300, m=4, seed=0):
    """(model, X with zeros where missing, observed, its expectation by dense algebra)"""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n, 6))
    K = np.exp(-squared_distances(features, features) / 12)
    C, N = {
        "sum": (np.eye(m), positive(m, rng)),
        "product": (positive(m, rng), 0.3 * np.eye(m)),
        "label covariance": (positive(m, rng), positive(m, rng)),
        "one column": (np.eye(1), np.full((1, 1), 0.2)),
    }[kind]
    X = kronecker_sum(K, N, C).draw(rng, 1)[:, 0]
    observed = rng.random(X.shape) > 0.3
    observed[0], observed[1] = False, True
    X = np.where(observed, X, 0.0)
    return (
        KroneckerGaussian(LazyRowKernel(K), C, N),
        X,
        observed,
        reference.expectation(K, C, N, X, observed),
    )


@pytest.mark.parametrize("kind", ["sum", "product", "label covariance", "one column"])
def test_the_expectation_is_that_of_a_dense_cholesky_factorisation(kind):
    model, X, observed, expected = given(kind)
    found = complete_by_kernels(model, np.where(observed, X, np.nan), observed)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_array_equal(found[observed], X[observed])
    assert not model.rows.decomposed


def test_units_of_the_columns_do_not_matter():
    model, X, observed, expected = given()
    unit = np.array([1e-8, 1.0, 1e3, 1e9])
    found = complete_by_kernels(model.rescale_columns(unit), X * unit, observed)
    np.testing.assert_allclose(found / unit, expected, rtol=1e-7, atol=1e-8)


def test_nothing_missing_and_nothing_but_zeros_are_no_work():
    model, X, observed, _ = given()
    np.testing.assert_array_equal(complete_by_kernels(model, X, np.ones_like(observed)), X)
    np.testing.assert_array_equal(complete_by_kernels(model, np.zeros_like(X), observed), np.zeros_like(X))


@pytest.mark.parametrize("rank", [0, 5, 32])
def test_the_preconditioner_inverts_a_row_kernel_of_low_rank(rank):
    model, X, observed, _ = given("label covariance")
    Phi = np.random.default_rng(1).standard_normal((300, rank))
    low = KroneckerGaussian(LazyRowKernel(Phi @ Phi.T), model.C, model.N)
    product = np.where(observed, low.matvec(X), 0.0)[:, None, :]
    back = _NystromPreconditioner.from_model(low, observed).solve(product)[:, 0]
    np.testing.assert_allclose(back, X, rtol=1e-6, atol=1e-7)


def test_it_saves_most_of_the_steps():
    model, X, observed, _ = given(n=400)
    blocks = _invert_blocks(model.N, observed)

    def steps(precondition):
        return module._conjugate_gradients(
            lambda Z: np.where(observed[:, None], model.matvec(Z), 0.0),
            X[:, None, :],
            precondition,
            np.zeros_like(X)[:, None, :],
            tol=1e-9,
            max_iter=500,
        ).n_iter

    by_rows = steps(lambda Z: np.einsum("iab,ikb->ika", blocks, Z))
    assert steps(_NystromPreconditioner.from_model(model, observed).solve) < by_rows / 2


def test_blocks_are_inverted_row_by_row():
    rng = np.random.default_rng(0)
    B, observed = positive(5, rng), rng.random((40, 5)) > 0.4
    observed[0] = False
    found = _invert_blocks(B, observed)
    for i, seen in enumerate(observed):
        expected = np.zeros((5, 5))
        expected[np.ix_(seen, seen)] = np.linalg.inv(B[np.ix_(seen, seen)])
        np.testing.assert_allclose(found[i], expected, rtol=1e-10, atol=1e-12)


def test_eigenvectors_are_spared_for_thin_matrices_of_kernels_that_are_given():
    model = given()[0]
    assert _is_thin_and_lazy(model)
    assert not _is_thin_and_lazy(kronecker_sum(model.rows.K, model.N))
    assert not _is_thin_and_lazy(
        KroneckerGaussian(LazyRowKernel(model.rows.K[:200, :200]), model.C, model.N)
    )
    assert not _is_thin_and_lazy(KroneckerGaussian(model.rows, np.eye(17), np.eye(17)))
    assert len(model.rows.l) == 300
    assert not _is_thin_and_lazy(model)  # they are there now


def test_what_takes_too_many_steps_is_done_with_eigenvectors(monkeypatch):
    model, X, observed, expected = given()
    monkeypatch.setattr(module, "_STEPS_PER_ROW", 0.01)
    assert complete_by_kernels(model, X, observed) is None
    found, _ = inference.infer(model, X, observed, "exact", 0, np.random.default_rng(0))
    assert model.rows.decomposed
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


def test_a_residual_that_is_not_met_is_not_believed():
    K = np.ones((300, 300)) * 1e12
    model = KroneckerGaussian(LazyRowKernel(K), np.eye(2), 1e-9 * np.eye(2))
    X = np.random.default_rng(0).standard_normal((300, 2))
    observed = np.ones(X.shape, dtype=bool)
    observed[3, 0] = False
    assert complete_by_kernels(model, X, observed) is None


def test_a_singular_column_kernel_is_refused_by_name():
    model, X, observed, _ = given()
    singular = KroneckerGaussian(model.rows, model.C, np.zeros((4, 4)))
    for way in complete_by_kernels, complete_by_gradients:
        with pytest.raises(NotPositiveDefiniteError, match=r"column kernel \(4x4\).* add a nugget"):
            way(singular, X, observed)


def test_an_imputer_with_both_kernels_has_no_eigenvectors_until_they_are_needed():
    model, X, observed, expected = given()
    K1, K2, gaps = model.rows.K, model.N, np.where(observed, X, np.nan)
    imputer = PMAImputer(row_kernel=K1, col_kernel=K2, center=False).fit(gaps)
    np.testing.assert_allclose(imputer.completed_, expected, rtol=1e-7, atol=1e-8)
    again = PMAImputer.from_state(imputer.state())
    assert not imputer.model_.rows.decomposed
    np.testing.assert_allclose(imputer.model_.rows.to_dense(), K1, rtol=1e-12)
    std = imputer.predict(return_std=True)[1]
    np.testing.assert_array_equal(again.predict(return_std=True)[1], std)
    assert (std[~observed] > 0).all()
    covariance = reference.condition(reference.covariance(K1, np.eye(4), K2), X, observed)[1]
    np.testing.assert_allclose(std[~observed] ** 2, np.diagonal(covariance), rtol=1e-6, atol=1e-9)
