"""With both kernels unknown, how much of one matrix can be had back?  (Figure 2 of the paper.)

Matrices drawn from the model, X = F + G, with a fifth of the entries hidden (one of five folds); mean
square error of what is hidden, with the oracle, which has both kernels, beside.  The paper does not say
how its own were drawn.  Here rows are points in the plane with an RBF kernel and columns have three
factors and noise of variance 0.1 ("plane, factors"), or are points too, with the same noise ("plane,
plane"), or both kernels are Wishart, of as many degrees of freedom as they have rows ("Wishart,
Wishart").

Without features a Gaussian process can only have an estimated kernel: "GPR-D1" is one between rows
(columns are independent draws), "GPR-D2" one between columns.  Each with an inverse-Wishart prior of a
fixed strength, 2, and of the strength of the greatest marginal likelihood ("evidence").  "PMA, factors"
has the row kernel BB' and the column kernel AA' + sI, by EM, ranks up to 4 each on hidden observed
entries.  Differences are paired: to PMAImputer() as it was before (shrinkage=2, no candidate with a row
kernel alone), with standard errors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import common
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from absentia import PMF, PMAImputer
from absentia.methods.matrix._estimation import expect_moments, run_em
from absentia.methods.matrix._holdout import _heldout_curve
from absentia.methods.matrix._inference import conditional_mean
from absentia.methods.matrix._model import KroneckerGaussian, RowKernel

Fill = Callable[[np.ndarray], np.ndarray]
KINDS = ("plane, factors", "plane, plane", "Wishart, Wishart")


def plane(n: int, rng: np.random.Generator) -> np.ndarray:
    Z = rng.standard_normal((n, 2))
    return np.exp(-((Z[:, None] - Z) ** 2).sum(axis=2) / 2)


def wishart(n: int, rng: np.random.Generator, rank: int, noise: float) -> np.ndarray:
    A = rng.standard_normal((n, rank))
    return A @ A.T / rank + noise * np.eye(n)


def drawn(kind: str, n: int, m: int, seed: int) -> tuple[np.ndarray, ...]:
    """X, who is hidden, and the kernels."""
    rng = np.random.default_rng([seed, n, m])
    rows, columns = kind.split(", ")
    K1 = plane(n, rng) if rows == "plane" else wishart(n, rng, n, 0.0)
    K2 = plane(m, rng) + 0.1 * np.eye(m) if columns == "plane" else wishart(m, rng, 3, 0.1)
    if columns == "Wishart":
        K2 = wishart(m, rng, m, 1e-6)
    X = KroneckerGaussian(RowKernel.from_dense(K1), np.eye(m), K2).draw(rng, 1)[:, 0]
    hidden = rng.permutation(n * m).reshape(n, m) % 5 == 0
    return X, hidden, K1, K2


# ------------------------------------------------------------------------------------- other estimates


def low_rank(S: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray, float]:
    """The probabilistic principal components of S: vectors, values less the noise, and the noise."""
    values, vectors = np.linalg.eigh(S)
    noise = float(values[: len(S) - rank].mean())
    return vectors[:, len(S) - rank :], np.maximum(values[len(S) - rank :] - noise, 0.0), noise


def by_factors(gaps: np.ndarray, rank1: int, rank2: int) -> np.ndarray:
    """EM for K1 = BB', K2 = AA' + sI: expected second moments, cut to the ranks."""
    mean, seen = np.nanmean(gaps, axis=0), ~np.isnan(gaps)
    X = np.where(seen, gaps - mean, 0.0)
    (n, m), level = X.shape, float((X**2).sum() / seen.sum())

    def update(model: KroneckerGaussian, full: np.ndarray, D: np.ndarray | None) -> KroneckerGaussian:
        E = expect_moments(model, full, D, rows=True)
        U, values, more = low_rank(E.K, rank1)
        V, others, noise = low_rank(E.N, rank2)
        more = more * (n - rank1) / n if rank1 else 0.0
        N = (V * others) @ V.T + max(noise + more, 1e-3 * level) * np.eye(m)
        return KroneckerGaussian(RowKernel(U, values), np.eye(m), N)

    # from the singular vectors of the matrix filled with means
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    A = Vt[:rank2].T * s[:rank2] / np.sqrt(2 * n)
    rows = RowKernel(U[:, :rank1], s[:rank1] ** 2 / (2 * m))
    start = KroneckerGaussian(rows, np.eye(m), A @ A.T + 0.3 * level * np.eye(m))
    model = run_em(start, X, seen, update, tol=2e-3, max_iter=200).state.model
    return conditional_mean(model, X, seen) + mean


def soft_impute(gaps: np.ndarray, share: float) -> np.ndarray:
    """Singular values less a share of the greatest, missing entries put in, until nothing moves."""
    mean, seen = np.nanmean(gaps, axis=0), ~np.isnan(gaps)
    X = np.where(seen, gaps - mean, 0.0)
    cut = share * np.linalg.norm(X, 2)
    full = X
    for _ in range(300):
        U, s, Vt = np.linalg.svd(full, full_matrices=False)
        low = (U * np.maximum(s - cut, 0.0)) @ Vt
        old, full = full, np.where(seen, X, low)
        if np.abs(full - old).max() < 1e-4:
            break
    return full + mean


def chosen(fill: Callable[..., np.ndarray], candidates: list[tuple[float, ...]]) -> Fill:
    """What predicts hidden observed entries best, and with that all that is hidden."""

    def fill_with_best(gaps: np.ndarray) -> np.ndarray:
        curve = _heldout_curve(gaps, candidates, lambda key, part: fill(part, *key), seed=0)
        return fill(gaps, *min(curve, key=curve.__getitem__))

    return fill_with_best


def pma(**parameters: object) -> Fill:
    return lambda gaps: PMAImputer(**parameters).fit_transform(gaps)


def as_before(gaps: np.ndarray) -> np.ndarray:
    """PMAImputer() when it shrank by 2 always, and tried rows unrelated and both kernels."""
    fills = {word: pma(row_kernel=word, shrinkage=2.0) for word in ("none", "estimate")}
    options = {"seed": int(np.random.default_rng(0).integers(2**31)), "unit": np.nanstd(gaps, axis=0)}
    curve = _heldout_curve(gaps, fills, lambda word, part: fills[word](part), **options)
    return fills[min(curve, key=curve.__getitem__)](gaps)


def methods(K1: np.ndarray, K2: np.ndarray) -> dict[str, Fill]:
    ranks = [(a, b) for a in (0, 1, 2, 4) for b in (1, 2, 4)]
    rows = {"row_kernel": "estimate", "col_kernel": "none"}
    return {
        "oracle: both kernels": pma(row_kernel=K1, col_kernel=K2, center=False),
        "row kernel given": pma(row_kernel=K1),
        "PMAImputer() as it was": as_before,
        "PMAImputer()": pma(),
        "PMA, both estimated": pma(row_kernel="estimate"),
        "PMA, factors": chosen(by_factors, ranks),
        "GPR-D1": pma(**rows, shrinkage=2.0),
        "GPR-D2": pma(row_kernel="none", shrinkage=2.0),
        "GPR-D1, evidence": pma(**rows),
        "GPR-D2, evidence": pma(row_kernel="none"),
        "PMF": lambda gaps: PMF().fit_transform(gaps),
        "soft impute": chosen(soft_impute, [(float(x),) for x in np.geomspace(0.5, 0.01, 10)]),
        "column means": lambda gaps: np.broadcast_to(np.nanmean(gaps, axis=0), gaps.shape),
    }


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--few", action="store_true", help="only PMAImputer, as it was and is")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    shapes = [(50, 20), (50, 50), (20, 50)]
    rows = []
    for kind in arguments.kinds:
        for n, m in [(30, 12)] if arguments.quick else shapes:
            errors: dict[str, list[float]] = {}
            seconds: dict[str, float] = {}
            n_seeds = 2 if arguments.quick else arguments.seeds
            for seed in range(arguments.first, arguments.first + n_seeds):
                X, hidden, K1, K2 = drawn(kind, n, m, seed)
                gaps = np.where(hidden, np.nan, X)
                for name, fill in methods(K1, K2).items():
                    if arguments.few and not name.startswith("PMAImputer()"):
                        continue
                    took, found = common.cpu(lambda fill=fill, gaps=gaps: fill(gaps))
                    errors.setdefault(name, []).append(float(((found - X)[hidden] ** 2).mean()))
                    seconds[name] = seconds.get(name, 0.0) + took
            shown = []
            for name, found in errors.items():
                gap = np.array(found) - np.array(errors["PMAImputer() as it was"])
                shown.append(
                    {
                        "rows, columns": f"{kind}, {n} x {m}",
                        "method": name,
                        "mean square error": float(np.mean(found)),
                        "less what it was": float(gap.mean()),
                        "standard error": float(gap.std(ddof=1) / np.sqrt(len(gap))),
                        "CPU s": seconds[name] / len(found),
                    }
                )
            common.table(shown)
            rows += shown
    common.finish("pma_structured", arguments.quick, rows)


if __name__ == "__main__":
    main()
