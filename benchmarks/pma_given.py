"""Does it help to give PMAImputer a kernel, and does a useless one do harm?

30 % of the entries hidden.  Interactions are made up: few ones among zeros, by factors of rows and columns,
with noisy kernels of both.  Of Emotions and Scene, the labels of 300 samples with an RBF kernel of the
features; of mfeat, one view with an RBF kernel of another.  Average precision of what is hidden where it is
zeros and ones (higher is better), else RMSE in standard deviations of the columns (lower is better).
"wrong" is a random kernel of rank 8, times 1000; "fixed" has the shrinkage 2 instead of the one chosen.
The last four sets need ml_emotions.npz, ml_scene.npz and mfeat.npz in the folder named by ABSENTIA_DATA.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import common
import numpy as np
from sklearn.metrics import average_precision_score

from absentia import PMAImputer, datasets
from absentia.core.linalg import squared_distances

Set = tuple[str, np.ndarray, np.ndarray, np.ndarray | None]


def standardised(X: np.ndarray) -> np.ndarray:
    return np.asarray((X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9))


def rbf(X: np.ndarray) -> np.ndarray:
    D = squared_distances(X, X)
    return np.exp(-D / np.median(D[D > 0]))


def interactions(seed: int, n: int = 223, m: int = 95, noise: float = 0.5) -> Set:
    """Targets of a dozen families, drugs of twenty scaffolds; 3 % of the pairs bind."""
    rng = np.random.default_rng(1000 + seed)
    family = rng.choice(12, m, p=rng.dirichlet(np.full(12, 0.7)))
    B = rng.standard_normal((12, 10))[family] + 0.45 * rng.standard_normal((m, 10))
    scaffold = rng.choice(20, n, p=rng.dirichlet(np.ones(20)))
    A = B[rng.choice(m, 20)][scaffold] + 0.45 * rng.standard_normal((n, 10))
    scores = A @ B.T / np.sqrt(10) + 0.6 * rng.standard_normal((n, 1)) + 0.4 * rng.standard_normal((1, m))
    scores += 0.7 * rng.standard_normal((n, m))
    near = [rbf(np.hstack([Z, noise * rng.standard_normal((len(Z), 30))])) for Z in (A, B)]
    X = (scores > np.quantile(scores, 0.97)).astype(float)
    return f"interactions, noise {noise:g}", X, near[0], near[1]


def labels(name: str, seed: int) -> Set:
    data = datasets.load_benchmark(name)
    some = np.random.default_rng(seed).choice(len(data.views), 300, replace=False)
    features = data.views.block(data.views.names[0]).astype(float)[some]
    return name, (np.asarray(data.target)[some] > 0).astype(float), rbf(standardised(features)), None


def digits(view: str, other: str, n: int, seed: int) -> Set:
    views = datasets.load_benchmark("mfeat").views
    some = np.random.default_rng(seed).choice(len(views), n, replace=False)
    X = views.block(view).astype(float)[some]
    kernel = rbf(standardised(views.block(other).astype(float)[some]))
    return f"mfeat {view}, kernel of {other}", X[:, X.std(axis=0) > 0], kernel, None


def sets(seed: int, quick: bool) -> Iterator[Set]:
    yield interactions(seed, *((60, 25) if quick else (223, 95)), noise=0.5)
    if not quick:
        yield interactions(seed, noise=0.2)
    if os.environ.get("ABSENTIA_DATA") and not quick:
        yield labels("ml_emotions", seed)
        yield labels("ml_scene", seed)
        yield digits("zer", "kar", 200, seed)
        yield digits("fou", "pix", 100, seed)


def score(X: np.ndarray, hidden: np.ndarray, options: dict[str, object]) -> tuple[float, float]:
    """How well hidden entries are found, higher is better, and CPU seconds."""
    gaps = np.where(hidden, np.nan, X)
    took, found = common.cpu(lambda: PMAImputer(**options).fit_transform(gaps))
    if np.isin(X, (0, 1)).all():
        return float(average_precision_score(X[hidden], found[hidden])), took
    gap = ((found - X) / np.nanstd(gaps, axis=0))[hidden]
    return -float(np.sqrt((gap**2).mean())), took


def given(X: np.ndarray, rows: np.ndarray, columns: np.ndarray | None) -> dict[str, dict[str, object]]:
    B = np.random.default_rng(5).standard_normal((len(X), 8))
    found: dict[str, dict[str, object]] = {
        "nothing": {},
        "rows, fixed": {"row_kernel": rows, "shrinkage": 2.0},
        "rows": {"row_kernel": rows},
        "rows, times 1000": {"row_kernel": 1000 * rows},
        "rows, wrong": {"row_kernel": 1000 * B @ B.T},
    }
    if columns is not None:
        found["columns"] = {"col_kernel": columns}
        found["both"] = {"row_kernel": rows, "col_kernel": columns}
    return found


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for seed in range(1 if arguments.quick else arguments.seeds):
        for name, X, K1, K2 in sets(seed, arguments.quick):
            hidden = np.random.default_rng(7000 + seed).random(X.shape) < 0.3
            for what, options in given(X, K1, K2).items():
                found.setdefault((name, what), []).append(score(X, hidden, options))
    rows, claims = [], []
    for (name, what), values in found.items():
        good, took = np.mean(values, axis=0)
        rows.append({"data": name, "given": what, "score": abs(float(good)), "CPU s": float(took)})
        nothing = float(np.mean(found[name, "nothing"], axis=0)[0])
        if what in ("rows", "rows, times 1000", "columns", "rows, wrong"):
            claim = f"{name}: {what} given, better than nothing by"
            slack = -0.02 if what == "rows, wrong" else 0.0
            claims.append(common.Claim(claim, float(good) - nothing, at_least=slack))
    common.finish("pma_given", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
