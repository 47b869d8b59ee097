"""The Kronecker algebra, and its row kernels, against dense algebra."""

import numpy as np
import pytest
import scipy.linalg

from absentia.core.linalg import NotPositiveDefiniteError
from absentia.methods.matrix._model import RowKernel
from absentia.methods.matrix._targets import _nystrom_root
from helpers.matrices import every_kind, every_seed, kronecker_sum, positive, problem, tight
from reference import pma as reference


@every_kind
@every_seed
def test_products_solves_and_densities_equal_dense_algebra(kind, seed):
    model, X, _, S = problem(kind, seed)
    np.testing.assert_allclose(model.matvec(X).ravel(), S @ X.ravel(), **tight)
    np.testing.assert_allclose(model.solve(X).ravel(), np.linalg.solve(S, X.ravel()), **tight)
    np.testing.assert_allclose(model.logdet(), np.linalg.slogdet(S)[1], **tight)
    everything = np.ones(X.shape, dtype=bool)
    np.testing.assert_allclose(model.log_density(X), reference.log_marginal(S, X, everything), **tight)
    two = np.stack([X, 2 * X], axis=1)
    np.testing.assert_allclose(model.solve(two)[:, 1], 2 * model.solve(X), **tight)
    share = np.einsum("aj,ij,aj->ia", model.V, model.whitened_precision_diagonal(), model.V)
    np.testing.assert_allclose(share.ravel(), np.diagonal(np.linalg.inv(S)), **tight)


def test_the_row_part_solves_the_sylvester_equation():
    model, X, _, _ = problem("sum")
    K1 = model.rows.to_dense()
    np.testing.assert_allclose(
        model.expect_F(X), scipy.linalg.solve_sylvester(K1, model.N, K1 @ X), **tight
    )


@every_kind
def test_prior_draws_have_the_covariance_of_the_model(kind):
    model, _, _, S = problem(kind)
    Z = model.draw(np.random.default_rng(1), 40_000).transpose(1, 0, 2).reshape(40_000, -1)
    assert np.abs(Z.T @ Z / len(Z) - S).max() < 0.05 * np.abs(S).max()


def test_nystrom_on_all_landmarks_is_the_kernel_itself(rng):
    K = positive(12, rng)
    np.testing.assert_allclose(RowKernel.from_factor(K @ _nystrom_root(K)).to_dense(), K, **tight)
    some = RowKernel.from_factor(K[:, :5] @ _nystrom_root(K[:5, :5])).to_dense()
    np.testing.assert_allclose(some[:5, :5], K[:5, :5], **tight)


def test_a_row_kernel_is_its_matrix_in_any_order(rng):
    K, X = positive(30, rng), rng.standard_normal((30, 4))
    rows, many = RowKernel.from_dense(K), np.stack([X, 2 * X], axis=1)
    assert rows.full
    np.testing.assert_allclose(rows.matvec(X), K @ X, **tight)
    np.testing.assert_allclose(rows.matvec(many)[:, 1], 2 * K @ X, **tight)
    np.testing.assert_allclose(rows.diagonal(), np.diagonal(K), **tight)
    order = rng.permutation(30)
    np.testing.assert_allclose(rows.permute(order).to_dense(), K[np.ix_(order, order)], **tight)


def test_indefinite_kernels_are_refused_by_name(rng):
    with pytest.raises(NotPositiveDefiniteError, match="row kernel: not positive semidefinite"):
        RowKernel.from_dense(-positive(4, rng))
    with pytest.raises(NotPositiveDefiniteError, match=r"column kernel .* add a nugget"):
        kronecker_sum(positive(4, rng), np.zeros((2, 2))).logdet()


def test_a_landmark_at_the_edge_of_rounding_moves_no_kernel():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    kernels = []
    for edge in (0.999e-9, 1.001e-9):
        half = np.sqrt([edge, 0.3, 0.5, 1.0])
        K_nm = (Q * half) @ Q.T @ (Q * half) @ Q.T
        Phi = np.vstack([K_nm, (Q[:, 0] * np.sqrt(edge))]) @ _nystrom_root(K_nm)
        kernels.append(Phi @ Phi.T)
    np.testing.assert_allclose(*kernels, atol=0.01)
