"""How fast is exact completion in missing space, and how exact?

593 rows (RBF kernel of random features), 6 columns, 20 % missing: conjugate gradients in missing space
against a Cholesky factorisation of the covariance of the observed entries.  Eigenvectors are computed once
per kernel; a row of the table has them in the time as well.  Then the Sylvester equation (16) of the paper
at the same size, by the eigenbasis and by scipy.linalg.solve_sylvester.
"""

from __future__ import annotations

import common
import numpy as np
import scipy.linalg

from absentia.core.linalg import squared_distances
from absentia.methods.matrix._inference import complete_by_gradients
from absentia.methods.matrix._model import KroneckerGaussian, RowKernel


def problem(
    n: int, m: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, KroneckerGaussian, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n, 20))
    K1 = np.exp(-squared_distances(features, features) / 40)
    A = rng.standard_normal((m, m))
    K2 = 0.3 * A @ A.T / m + 0.1 * np.eye(m)
    model = KroneckerGaussian(RowKernel.from_dense(K1), np.eye(m), K2)
    return K1, K2, model, model.draw(rng, 1)[:, 0], rng.random((n, m)) > 0.2


def dense(K1: np.ndarray, K2: np.ndarray, X: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Condition the Gaussian on the observed entries with the covariance formed."""
    i, j = np.nonzero(observed)
    a, b = np.nonzero(~observed)
    S = K1[np.ix_(i, i)] * (j[:, None] == j) + K2[np.ix_(j, j)] * (i[:, None] == i)
    across = K1[np.ix_(a, i)] * (b[:, None] == j) + K2[np.ix_(b, j)] * (a[:, None] == i)
    out = X.copy()
    out[a, b] = across @ scipy.linalg.cho_solve(scipy.linalg.cho_factor(S, overwrite_a=True), X[i, j])
    return out


def main() -> None:
    arguments = common.parser(__doc__).parse_args()
    n, m = (150, 6) if arguments.quick else (593, 6)
    K1, K2, model, X, observed = problem(n, m)
    fast = lambda: complete_by_gradients(model, X, observed, tol=1e-5)  # noqa: E731
    exact = dense(K1, K2, X, observed)
    gone = ~observed
    error = float(np.linalg.norm((fast() - exact)[gone]) / np.linalg.norm(exact[gone]))
    slow_s, fast_s = common.interleaved(
        [lambda: dense(K1, K2, X, observed), fast], 3 if arguments.quick else 15
    )
    eigh_s = common.enough(lambda: RowKernel.from_dense(K1))
    sylvester_s = common.enough(lambda: scipy.linalg.solve_sylvester(K1, K2, K1 @ X))
    basis_s = common.enough(lambda: model.expect_F(X))
    F = scipy.linalg.solve_sylvester(K1, K2, K1 @ X)
    gap = float(np.linalg.norm(model.expect_F(X) - F) / np.linalg.norm(F))
    rows = [
        {"what": "completion, dense Cholesky", "CPU s": slow_s, "ratio": 1.0, "relative error": 0.0},
        {
            "what": "completion, missing space",
            "CPU s": fast_s,
            "ratio": slow_s / fast_s,
            "relative error": error,
        },
        {
            "what": "  with the eigenvectors",
            "CPU s": fast_s + eigh_s,
            "ratio": slow_s / (fast_s + eigh_s),
            "relative error": error,
        },
        {"what": "Sylvester, SciPy", "CPU s": sylvester_s, "ratio": 1.0, "relative error": 0.0},
        {
            "what": "Sylvester, eigenbasis",
            "CPU s": basis_s,
            "ratio": sylvester_s / basis_s,
            "relative error": gap,
        },
        {
            "what": "  with the eigenvectors",
            "CPU s": basis_s + eigh_s,
            "ratio": sylvester_s / (basis_s + eigh_s),
            "relative error": gap,
        },
    ]
    claims = [
        common.Claim("completion: dense Cholesky over missing space", slow_s / fast_s, at_least=30),
        common.Claim("completion: relative error", error, at_most=1e-5),
        common.Claim("Sylvester: SciPy over eigenbasis", sylvester_s / basis_s, at_least=50),
    ]
    common.finish("pma_completion", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
