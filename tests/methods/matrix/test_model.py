"""The Kronecker algebra against dense algebra."""

import numpy as np
import pytest
import scipy.linalg

from absentia.core._linalg import NotPositiveDefiniteError
from absentia.methods.matrix._model import Addition, RowKernel, nystrom_factor
from matrices import every_kind, every_seed, positive, problem, tight
from reference import pma as reference


@every_kind
@every_seed
def test_products_solves_and_densities_equal_dense_algebra(kind, seed):
    model, X, _, S = problem(kind, seed)
    np.testing.assert_allclose(model.matvec(X).ravel(), S @ X.ravel(), **tight)
    np.testing.assert_allclose(model.solve(X).ravel(), np.linalg.solve(S, X.ravel()), **tight)
    np.testing.assert_allclose(model.precision(), np.linalg.inv(S), **tight)
    np.testing.assert_allclose(model.logdet(), np.linalg.slogdet(S)[1], **tight)
    everything = np.ones(X.shape, dtype=bool)
    np.testing.assert_allclose(model.loglik(X), reference.log_marginal(S, X, everything), **tight)
    two = np.stack([X, 2 * X], axis=1)
    np.testing.assert_allclose(model.solve(two)[:, 1], 2 * model.solve(X), **tight)
    share = np.einsum("aj,ij,aj->ia", model.V, model.row_share(), model.V)
    np.testing.assert_allclose(share.ravel(), np.diagonal(np.linalg.inv(S)), **tight)


def test_the_row_part_solves_the_sylvester_equation():
    model, X, _, _ = problem("sum")
    K1 = model.rows.to_dense()
    np.testing.assert_allclose(
        model.row_part(X), scipy.linalg.solve_sylvester(K1, model.N, K1 @ X), **tight
    )


@every_kind
def test_prior_draws_have_the_covariance_of_the_model(kind):
    model, _, _, S = problem(kind)
    Z = model.draw(np.random.default_rng(1), 40_000).transpose(1, 0, 2).reshape(40_000, -1)
    assert np.abs(Z.T @ Z / len(Z) - S).max() < 0.05 * np.abs(S).max()


def test_nystrom_on_all_landmarks_is_the_kernel_itself(rng):
    K = positive(12, rng)
    np.testing.assert_allclose(RowKernel.factor(nystrom_factor(K, K)).to_dense(), K, **tight)
    some = RowKernel.factor(nystrom_factor(K[:, :5], K[:5, :5])).to_dense()
    np.testing.assert_allclose(some[:5, :5], K[:5, :5], **tight)
    np.testing.assert_allclose(RowKernel.dense(K, 12).to_dense(), K, **tight)
    assert RowKernel.dense(K, 4).U.shape == (12, 4)


def test_indefinite_kernels_are_refused_by_name(rng):
    with pytest.raises(NotPositiveDefiniteError, match="row kernel: not positive semidefinite"):
        RowKernel.dense(-positive(4, rng))
    with pytest.raises(NotPositiveDefiniteError, match=r"column kernel .* add a nugget"):
        Addition.pma(positive(4, rng), np.zeros((2, 2))).logdet()


def test_a_landmark_at_the_edge_of_rounding_moves_no_kernel():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    kernels = []
    for edge in (0.999e-9, 1.001e-9):
        half = np.sqrt([edge, 0.3, 0.5, 1.0])
        K_nm = rng.permuted(np.eye(4)) * 0 + (Q * half) @ Q.T @ (Q * half) @ Q.T
        Phi = nystrom_factor(np.vstack([K_nm, (Q[:, 0] * np.sqrt(edge))]), K_nm)
        kernels.append(Phi @ Phi.T)
    np.testing.assert_allclose(*kernels, atol=0.01)
