"""How large a matrix: 100,000 x 6 with a Nystrom row kernel, and 2000 x 2000 with both kernels given.

Made-up data, 20 % missing.  CPU seconds of the whole fit and the largest memory of the process.  Errors are
of the missing entries: the share of labels that are wrong; mean square relative to that of the matrix.

Then from kernels and a matrix with gaps to the expectation, eigenvectors counted: 593 x 6, made up and (if
ABSENTIA_DATA has ml_emotions.npz) the labels of Emotions under the kernels that PMAClassifier learns from
what is not hidden, against a Cholesky factorisation of the observed entries' covariance; 2000 x 2000 to a
residual of 1e-6.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import common
import numpy as np
import scipy.linalg
from pma_completion import dense, problem
from sklearn.preprocessing import StandardScaler

from absentia import PMAClassifier, PMAImputer, datasets
from absentia.core.linalg import squared_distances
from absentia.methods.matrix._inference import _relative_residual, conditional_mean, infer
from absentia.methods.matrix._model import KroneckerGaussian, RowKernel


def labels(n: int) -> dict[str, float]:
    """n x 6 labels: signs of smooth functions of eight features plus noise shared between labels."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 8))
    waves = np.cos(X @ rng.standard_normal((8, 40)) * 0.5 + rng.uniform(0, 6, 40))
    Y = (
        waves @ rng.standard_normal((40, 6)) / 4
        + rng.standard_normal((n, 6)) @ rng.standard_normal((6, 6)) / 4
    )
    Y = np.where(Y - np.median(Y, axis=0) > 0, 1.0, -1.0)
    hidden = rng.random(Y.shape) < 0.2
    model = PMAClassifier(label_covariance=False, n_landmarks=min(500, n // 10), random_state=0)
    seconds, _ = common.cpu(lambda: model.fit(X, np.where(hidden, np.nan, Y)))
    wrong = float(np.mean((model.labels_ != Y)[hidden]))
    return {"CPU s": seconds, "peak MB": common.peak_rss(), "error": wrong, "EM steps": model.n_iter_}


def kernels(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """n x n drawn from the model with RBF kernels over both sides: these, the matrix, who is hidden."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((n, 5)), rng.standard_normal((n, 5))
    K1 = np.exp(-squared_distances(A, A) / 10)
    K2 = np.exp(-squared_distances(B, B) / 10) + 0.1 * np.eye(n)
    X = KroneckerGaussian(RowKernel.from_dense(K1), np.eye(n), K2).draw(rng, 1)[:, 0]
    return K1, K2, X, rng.random(X.shape) < 0.2


def square(n: int) -> dict[str, float]:
    K1, K2, X, hidden = kernels(n)
    imputer = PMAImputer(row_kernel=K1, col_kernel=K2, center=False)
    seconds, _ = common.cpu(lambda: imputer.fit(np.where(hidden, np.nan, X)))
    error = float(np.mean((imputer.completed_ - X)[hidden] ** 2) / np.mean(X[hidden] ** 2))
    return {"CPU s": seconds, "peak MB": common.peak_rss(), "error": error}


def precise(n: int) -> list[dict[str, Any]]:
    """n x n from kernels to the expectation, to a residual of 1e-6."""
    K1, K2, X, hidden = kernels(n)
    X, seen = np.where(hidden, 0.0, X), ~hidden

    def completed() -> np.ndarray:
        return conditional_mean(
            KroneckerGaussian(RowKernel.from_dense(K1), np.eye(n), K2), X, seen, tol=1e-6
        )

    seconds, full = common.cpu(completed)
    model = KroneckerGaussian(RowKernel.from_dense(K1), np.eye(n), K2)
    left = _relative_residual(model, X, full, seen)
    return [{"problem": f"{n} x {n}, to 1e-6", "CPU s": seconds, "relative residual": left}]


def emotions() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The labels less their known means, 20 % hidden, and the kernels that are learned from the others."""
    data = datasets.load_benchmark("ml_emotions")
    features = StandardScaler().fit_transform(data.views.block(data.views.names[0]).astype(float))
    Y = np.where(np.asarray(data.target) > 0, 1.0, -1.0)
    seen = np.random.default_rng(0).random(Y.shape) > 0.2
    gaps = np.where(seen, Y, np.nan)
    model = PMAClassifier(label_covariance=False, random_state=0).fit(features, gaps)
    K1 = float(model.model_.C[0, 0]) * np.exp(-model.gamma_ * squared_distances(features, features))
    return (K1 + K1.T) / 2, model.model_.N, np.where(seen, Y - np.nanmean(gaps, axis=0), 0.0), seen


def thin(n: int, repeats: int) -> list[dict[str, Any]]:
    """n x 6 from kernels to the expectation: dense, with eigenvectors as before, and from the kernels."""
    K1, K2, _, X, seen = problem(n, 6)
    rows = _thin(f"{n} x 6", K1, K2, X, seen, repeats)
    if os.environ.get("ABSENTIA_DATA"):
        rows += _thin("Emotions", *emotions(), repeats)
    return rows


def _thin(
    name: str, K1: np.ndarray, K2: np.ndarray, X: np.ndarray, seen: np.ndarray, repeats: int
) -> list[dict[str, Any]]:
    i, j = np.nonzero(seen)
    S = K1[np.ix_(i, i)] * (j[:, None] == j) + K2[np.ix_(j, j)] * (i[:, None] == i)
    gaps, eye = np.where(seen, X, np.nan), np.eye(len(K2))

    def given() -> np.ndarray:
        model, rng = KroneckerGaussian(RowKernel.from_dense(K1), eye, K2), np.random.default_rng(0)
        return infer(model, X, seen, "exact", 0, rng)[0]

    def whole() -> np.ndarray:
        return PMAImputer(row_kernel=K1, col_kernel=K2, center=False).fit_transform(gaps)

    ways: dict[str, Callable[[], np.ndarray]] = {
        "dense": lambda: dense(K1, K2, X, seen),
        "eigenvectors": lambda: conditional_mean(
            KroneckerGaussian(RowKernel.from_dense(K1), eye, K2), X, seen
        ),
        "kernels": given,
        "PMAImputer, checks included": whole,
        "Cholesky alone, of what is formed": lambda: scipy.linalg.cholesky(S, check_finite=False),
    }
    exact = dense(K1, K2, X, seen)[~seen]
    found = [function()[~seen] for function in list(ways.values())[:4]]
    errors = [float(np.linalg.norm(one - exact) / np.linalg.norm(exact)) for one in found]
    times = common.interleaved(list(ways.values()), repeats)
    return [
        {
            "problem": f"{name}, {what}",
            "CPU s": seconds,
            "ratio": times[0] / seconds,
            "relative error": error,
        }
        for what, seconds, error in zip(ways, times, [*errors, None], strict=True)
    ]


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("sizes", nargs="*", type=int)
    arguments = parser.parse_args()
    if arguments.part:
        parts = {"labels": labels, "square": square, "precise": precise, "thin": thin}
        print(json.dumps(parts[arguments.part](*arguments.sizes), default=float))
        return
    many, side, few = (5000, 300, 300) if arguments.quick else (100_000, 2000, 593)
    one = common.child(__file__, "labels", many)
    two = common.child(__file__, "square", side)
    exact = common.child(__file__, "precise", side)
    small = common.child(__file__, "thin", few, 3 if arguments.quick else 15)
    rows = [
        {"problem": f"{many} x 6, Nystrom", **one},
        {"problem": f"{side} x {side}", **two},
        *exact,
        *small,
    ]
    claims = [
        common.Claim("100,000 x 6: CPU s", one["CPU s"], at_most=90),
        common.Claim("100,000 x 6: peak MB", one["peak MB"], at_most=4096),
        common.Claim("2000 x 2000: CPU s", two["CPU s"], at_most=60),
        common.Claim("2000 x 2000, double: CPU s", exact[0]["CPU s"], at_most=30),
        common.Claim("2000 x 2000, double: residual", exact[0]["relative residual"], at_most=1e-6),
    ]
    for row in small[2::5]:
        claims += [
            common.Claim(f"{row['problem']}: dense over it", row["ratio"], at_least=20),
            common.Claim(f"{row['problem']}: relative error", row["relative error"], at_most=1e-6),
        ]
    common.finish("pma_scale", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
