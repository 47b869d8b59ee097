"""How large a matrix: 100,000 x 6 with a Nystrom row kernel, and 2000 x 2000 with both kernels given.

Made-up data, 20 % missing.  CPU seconds of the whole fit and the largest memory of the process.  Errors are
of the missing entries: the share of labels that are wrong; mean square relative to that of the matrix.
"""

from __future__ import annotations

import json

import common
import numpy as np

from absentia import PMAClassifier, PMAImputer
from absentia.methods.matrix._estimate import squared_distances
from absentia.methods.matrix._model import Addition


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


def square(n: int) -> dict[str, float]:
    """n x n drawn from the model with RBF kernels over both sides."""
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((n, 5)), rng.standard_normal((n, 5))
    K1 = np.exp(-squared_distances(A, A) / 10)
    K2 = np.exp(-squared_distances(B, B) / 10) + 0.1 * np.eye(n)
    X = Addition.pma(K1, K2).draw(rng, 1)[:, 0]
    hidden = rng.random(X.shape) < 0.2
    imputer = PMAImputer(row_kernel=K1, col_kernel=K2, center=False)
    seconds, _ = common.cpu(lambda: imputer.fit(np.where(hidden, np.nan, X)))
    error = float(np.mean((imputer.completed_ - X)[hidden] ** 2) / np.mean(X[hidden] ** 2))
    return {"CPU s": seconds, "peak MB": common.peak_rss(), "error": error}


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("n", nargs="?", type=int)
    arguments = parser.parse_args()
    if arguments.part:
        print(json.dumps({"labels": labels, "square": square}[arguments.part](arguments.n), default=float))
        return
    many, side = (5000, 300) if arguments.quick else (100_000, 2000)
    one = common.child(__file__, "labels", many)
    two = common.child(__file__, "square", side)
    rows = [{"problem": f"{many} x 6, Nystrom", **one}, {"problem": f"{side} x {side}", **two}]
    claims = [
        common.Claim("100,000 x 6: CPU s", one["CPU s"], at_most=90),
        common.Claim("100,000 x 6: peak MB", one["peak MB"], at_most=4096),
        common.Claim("2000 x 2000: CPU s", two["CPU s"], at_most=60),
    ]
    common.finish("pma_scale", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
