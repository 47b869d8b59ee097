"""Missing entries at their expectation, in two ways, against dense algebra."""

import numpy as np
import pytest

from absentia import PMAImputer
from absentia.core.linalg import NotPositiveDefiniteError, squared_distances
from absentia.methods.matrix import _inference as module
from absentia.methods.matrix._inference import (
    _missing_logdet,
    _relative_residual,
    complete_by_gradients,
    conditional_mean,
)
from absentia.methods.matrix._model import KroneckerGaussian
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
    assert _relative_residual(model, X, direct, observed) < 1e-12


def test_columns_too_many_for_blocks_get_the_diagonal_preconditioner(monkeypatch):
    model, X, observed, S = problem("sum")
    monkeypatch.setattr(module, "_MAX_BLOCK_NUMBERS", 10)
    full = complete_by_gradients(model, X, observed, tol=1e-12)
    np.testing.assert_allclose(full, reference.condition(S, X, observed)[0], **tight)
    rng = np.random.default_rng(0)
    assert abs(_missing_logdet(model, observed, rng) - _missing_logdet(model, observed)) < 1


def test_a_singular_column_kernel_is_refused_by_name():
    model, X, observed, _ = problem("sum")
    singular = KroneckerGaussian(model.rows, model.C, np.zeros_like(model.N))
    with pytest.raises(NotPositiveDefiniteError, match=r"column kernel \(\dx\d\).* add a nugget"):
        complete_by_gradients(singular, X, observed)


def test_an_imputer_with_both_kernels_is_dense_algebra():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((300, 6))
    K1, K2 = np.exp(-squared_distances(features, features) / 12), positive(4, rng)
    X = kronecker_sum(K1, K2).draw(rng, 1)[:, 0]
    observed = rng.random(X.shape) > 0.3
    observed[0], observed[1] = False, True
    gaps = np.where(observed, X, np.nan)
    imputer = PMAImputer(row_kernel=K1, col_kernel=K2, center=False).fit(gaps)
    known = np.where(observed, X, 0.0)
    expected = reference.expectation(K1, np.eye(4), K2, known, observed)
    np.testing.assert_allclose(imputer.completed_, expected, rtol=1e-7, atol=1e-8)
    std = imputer.predict(return_std=True)[1]
    again = PMAImputer.from_state(imputer.state())
    np.testing.assert_array_equal(again.predict(return_std=True)[1], std)
    covariance = reference.condition(reference.covariance(K1, np.eye(4), K2), known, observed)[1]
    np.testing.assert_allclose(std[~observed] ** 2, np.diagonal(covariance), rtol=1e-6, atol=1e-9)
