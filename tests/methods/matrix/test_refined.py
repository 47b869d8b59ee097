"""Steps in single precision with residuals in double, against dense algebra."""

import numpy as np
import pytest

from absentia.methods.matrix import _inference as inference
from absentia.methods.matrix import _refined as module
from absentia.methods.matrix._mean import residual
from absentia.methods.matrix._model import Addition
from absentia.methods.matrix._refined import Single, refined
from matrices import positive, problem, rbf
from reference import pma as reference

KINDS = ["sum", "product", "label covariance"]


def smooth(n=40, m=25, seed=0, nugget=0.0):
    """A model with a row kernel most of whose eigenvalues are next to nothing, or next to a nugget."""
    rng = np.random.default_rng(seed)
    K = rbf(rng.standard_normal((n, 1))) + nugget * np.eye(n)
    return Addition.pma(K, positive(m, rng), positive(m, rng)), rng


@pytest.mark.parametrize("tol", [1e-6, 1e-10])
@pytest.mark.parametrize("kind", KINDS)
def test_the_expectation_is_that_of_dense_algebra(kind, tol):
    model, X, observed, S = problem(kind, n=30, m=12)
    full, rest = refined(model, np.where(observed, X, np.nan), observed, tol=tol)
    assert rest <= tol
    expected = reference.condition(S, X, observed)[0]
    assert np.linalg.norm(full - expected) <= 20 * tol * np.linalg.norm(expected)
    np.testing.assert_allclose(full[observed], X[observed], rtol=1e-15)
    assert residual(model, X, full, observed) <= 10 * tol


def test_units_of_the_columns_do_not_matter():
    model, X, observed, S = problem("sum", n=30, m=12)
    expected = reference.condition(S, X, observed)[0]
    unit = np.logspace(-25, 25, 12)  # squares of these are beyond single precision
    full, rest = refined(model.stretched(unit), X * unit, observed, tol=1e-8)
    assert rest <= 1e-8
    np.testing.assert_allclose(full / unit, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("nugget", [0.0, 0.5])
def test_single_precision_is_the_precision_with_and_without_faded_directions(nugget, monkeypatch):
    model, rng = smooth(nugget=nugget)
    X = rng.standard_normal(model.shape)
    exact = model.solve(X)
    diagonal = np.diagonal(model.precision()).reshape(model.shape)
    short = Single.of(model)
    assert short.outer is not None
    assert short.U.shape[1] < 20
    monkeypatch.setattr(module, "WORTH", 0.0)
    whole = Single.of(model)
    assert whole.outer is None
    assert whole.U.shape == (40, 40)
    for single, allowed in (short, 1e-3), (whole, 1e-4):
        found = single.solve(X.astype(np.float32))
        assert found.dtype == np.float32
        assert np.linalg.norm(found - exact) < allowed * np.linalg.norm(exact)
        np.testing.assert_allclose(single.diagonal(), diagonal, rtol=allowed)


@pytest.mark.parametrize("worth", [0.0, 1.0])
def test_leaving_out_directions_does_not_move_the_answer(worth, monkeypatch):
    monkeypatch.setattr(module, "WORTH", worth)
    model, rng = smooth()
    X, observed = model.draw(rng, 1)[:, 0], rng.random(model.shape) > 0.3
    S = reference.covariance(model.rows.to_dense(), model.C, model.N)
    full, rest = refined(model, X, observed, tol=1e-9)
    assert rest <= 1e-9
    np.testing.assert_allclose(full, reference.condition(S, X, observed)[0], rtol=1e-6, atol=1e-7)


def test_nothing_missing_and_nothing_but_zeros_are_no_work():
    model, X, observed, _ = problem("sum")
    full, rest = refined(model, X, np.ones_like(observed))
    np.testing.assert_allclose(full, X, rtol=1e-15)
    assert rest == 0
    assert not refined(model, np.zeros_like(X), observed)[0].any()


def test_large_matrices_are_refined_and_what_that_does_not_reach_is_done_in_double(monkeypatch):
    model, X, observed, S = problem("sum", n=30, m=12)
    expected = reference.condition(S, X, observed)[0]
    monkeypatch.setattr(inference, "LARGE", 10)
    rng = np.random.default_rng(0)
    full, _ = inference.infer(model, X, observed, "exact", 0, rng)
    assert 1e-13 < np.linalg.norm(full - expected) / np.linalg.norm(expected) < 1e-5
    monkeypatch.setattr(inference, "refined", lambda model, X, observed: (np.where(observed, X, 0.0), 1.0))
    full, _ = inference.infer(model, X, observed, "exact", 0, rng)
    assert np.linalg.norm(full - expected) / np.linalg.norm(expected) < 1e-3


def test_rounds_end_where_they_gain_nothing(monkeypatch):
    model, X, observed, S = problem("sum", n=30, m=12)
    rounds, run = [], module.conjugate_gradients
    monkeypatch.setattr(module, "conjugate_gradients", lambda *a, **k: rounds.append(1) or run(*a, **k))
    monkeypatch.setattr(module, "ROUNDS", 100)
    full, rest = refined(model, X, observed, tol=0.0)
    assert 0 < rest < 1e-12
    assert len(rounds) < 10
    np.testing.assert_allclose(full, reference.condition(S, X, observed)[0], rtol=1e-8, atol=1e-9)
