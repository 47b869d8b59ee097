"""Missing entries at their expectation, against dense algebra."""

import numpy as np

from absentia.methods.matrix import _mean as module
from absentia.methods.matrix._likelihood import missing_logdet
from absentia.methods.matrix._mean import complete
from matrices import every_kind, every_seed, problem, tight
from reference import pma as reference


@every_kind
@every_seed
def test_exact_means_equal_dense_algebra(kind, seed):
    model, X, observed, S = problem(kind, seed)
    full = complete(model, np.where(observed, X, np.nan), observed, tol=1e-12)
    np.testing.assert_allclose(full, reference.condition(S, X, observed)[0], **tight)
    np.testing.assert_array_equal(full[observed], X[observed])
    direct = module.posterior_mean(model, np.where(observed, X, np.nan), observed)
    np.testing.assert_allclose(direct, full, **tight)
    assert module.residual(model, X, direct, observed) < 1e-12


def test_columns_too_many_for_blocks_get_the_diagonal_preconditioner(monkeypatch):
    model, X, observed, S = problem("sum")
    monkeypatch.setattr(module, "BLOCKS", 10)
    full = complete(model, X, observed, tol=1e-12)
    np.testing.assert_allclose(full, reference.condition(S, X, observed)[0], **tight)
    rng = np.random.default_rng(0)
    assert abs(missing_logdet(model, observed, rng) - missing_logdet(model, observed)) < 1
