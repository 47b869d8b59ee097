"""Matrices, labels and targets with gaps, drawn from models that are known."""

import numpy as np
import pytest

from absentia.core.linalg import squared_distances
from absentia.methods.matrix._model import KroneckerGaussian, RowKernel
from reference import pma as reference


def positive(n, rng, floor=0.1):
    A = rng.standard_normal((n, n))
    return A @ A.T / n + floor * np.eye(n)


def kronecker_sum(K1, K2, C=None):
    """The model of probabilistic matrix addition; C correlates the columns of F."""
    rows = K1 if isinstance(K1, RowKernel) else RowKernel.from_dense(K1)
    return KroneckerGaussian(rows, np.eye(len(K2)) if C is None else C, K2)


def problem(kind, seed=0, n=9, m=4, absent=0.3):
    """(model, X, observed, dense covariance)"""
    rng = np.random.default_rng(seed)
    K1, K2 = positive(n, rng), positive(m, rng)
    if kind == "sum":
        model, C, N = kronecker_sum(K1, K2), np.eye(m), K2
    elif kind == "product":
        model, C, N = kronecker_sum(K1, 0.3 * np.eye(m), K2), K2, 0.3 * np.eye(m)
    else:
        C, N = positive(m, rng), K2
        if kind == "low rank":
            Phi = rng.standard_normal((n, 3))
            K1 = Phi @ Phi.T
            model = kronecker_sum(RowKernel.from_factor(Phi), N, C)
        else:
            model = kronecker_sum(K1, N, C)
    X = model.draw(rng, 1)[:, 0]
    observed = rng.random((n, m)) > absent
    observed[0], observed[1] = False, True
    return model, X, observed, reference.covariance(K1, C, N)


KINDS = ["sum", "product", "label covariance", "low rank"]
every_kind = pytest.mark.parametrize("kind", KINDS)
every_seed = pytest.mark.parametrize("seed", range(3))
tight = {"rtol": 1e-8, "atol": 1e-9}


def rbf(A, B=None, gamma=0.2):
    return np.exp(-gamma * squared_distances(A, A if B is None else B))


def labelled(n=150, absent=0.2, seed=0):
    """Features, labels, labels with gaps: smooth functions plus noise that labels share."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    noise = rng.standard_normal((n, 1)) * np.array([1.0, -1.0, 0.2, 1.0])
    scores = np.column_stack([X[:, 0], X[:, 1], X[:, 0] * X[:, 1], X[:, 2]]) + 0.7 * noise
    Y = (scores > 0).astype(float)
    return X, Y, np.where(rng.random(Y.shape) < absent, np.nan, Y)


def from_model(n=60, m=5, absent=0.25, seed=0):
    """A matrix from the model with gaps: (truth, gaps, K1, K2)."""
    rng = np.random.default_rng(seed)
    K1 = rbf(rng.standard_normal((n, 2)))
    A = rng.standard_normal((m, m))
    K2 = 0.5 * A @ A.T / m + 0.1 * np.eye(m)
    X = kronecker_sum(K1, K2).draw(rng, 1)[:, 0]
    return X, np.where(rng.random(X.shape) < absent, np.nan, X), K1, K2


def from_given_kernels(n=40, new=30, seed=0, shift=0.0):
    """Targets of very different units drawn from the model: features, kernels, gaps of training rows, truth."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + new, 2))
    A = rng.standard_normal((4, 4))
    K1, K2 = rbf(X, gamma=0.5), A @ A.T / 4 + 0.1 * np.eye(4)
    unit = np.array([0.15, 0.25, 0.6, 1.3]) / np.sqrt(np.diagonal(K2))
    K2 = K2 * np.multiply.outer(unit, unit)
    Y = kronecker_sum(K1, K2).draw(rng, 1)[:, 0] + shift
    return X, K1, K2, np.where(rng.random(Y.shape) < 0.25, np.nan, Y)[:n], Y
