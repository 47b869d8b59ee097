"""Do intervals of completed entries hold?  MKMC, CVKT, the mean and PMA; tables of docs/coverage.md.

    python benchmarks/completion_coverage.py            # 10 CPU minutes or so
    python benchmarks/completion_coverage.py --quick    # one mask each

Observed cells (samples in a view) or entries (of a matrix) are hidden, the rest is completed and calibrated
with ``absentia.calibrate_completer``, and what was hidden is looked up.  Coverage is the share of a hidden
sample's entries inside their intervals, mean over samples; its standard error is that of so many *distinct*
samples, each with the mean of all its views and masks.  *Own* are the model's deviations before anything is
calibrated: of MKMC those of draws (``MKMC.sample``), of PMA the posterior's; CVKT and the mean have none.
*Widened* are those of PMA with ``return_std``.  *No pattern*: samples are hidden with all other views they
have, instead of those that absent ones have.  *Own units* is the width of intervals in units of MKMC's own
deviations, beside those that are used.  The files are found through ABSENTIA_DATA.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import common
import numpy as np
from common import Claim
from scipy.special import ndtri
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from absentia import (
    CVKT,
    MKMC,
    KernelViews,
    MeanFill,
    PMAImputer,
    ViewKernels,
    calibrate_completer,
    datasets,
    missingness,
)
from absentia.methods import _intervals

LEVELS = (0.8, 0.9, 0.95)
N_MASKS, N_MODEL, N_DRAWS = 5, 20, 40  # masks; matrices of the model; draws


class Judged(NamedTuple):
    """Hidden samples: who, the share of entries inside by kind and level, half-widths at 90 %."""

    who: list[Any]
    shares: dict[tuple[str, float], list[float]]
    width: list[float]


# ------------------------------------------------------------------------------------------------- kernels


def made_by_model(seed: int, n: int = 120, n_views: int = 4, n_features: int = 300) -> KernelViews:
    """Kernels of features that have the covariance of MKMC's model: three factors and noise."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((n, 3)) * [1.0, 0.7, 0.5]
    kernels = []
    for _ in range(n_views):
        F = W @ rng.standard_normal((3, n_features)) + 0.6 * rng.standard_normal((n, n_features))
        kernels.append(F @ F.T / n_features)
    return KernelViews.from_dense(np.array(kernels))


def load_kernels(name: str, n: int = 300, names: tuple[str, ...] = ()) -> KernelViews:
    views = datasets.load_benchmark(name).views
    views = views.select(names) if names else views
    rows = np.sort(np.random.default_rng(0).permutation(len(views))[:n])
    return ViewKernels().fit_transform(views[rows])


def hide_some(share: float) -> Callable[[KernelViews, int], np.ndarray]:
    return lambda X, seed: missingness.mcar(X, share, random_state=seed)


def leave_one(X: KernelViews, seed: int) -> np.ndarray:
    """Two fifths of the samples keep one view of theirs, the others all."""
    rng = np.random.default_rng(seed)
    keep, rows = np.ones_like(X.observed), rng.permutation(len(X))[: round(0.4 * len(X))]
    for t in rows:
        keep[t] = False
        keep[t, rng.choice(np.flatnonzero(X.observed[t]))] = True
    return keep


def kernel_sets() -> Iterator[tuple[str, Callable[[int], KernelViews], Callable]]:
    yield "MKMC's model, 4 views, 30 %", made_by_model, hide_some(0.3)
    yield "MKMC's model, 16 views, 30 %", lambda seed: made_by_model(seed, n_views=16), hide_some(0.3)
    made = datasets.make_multiview(200, 4, random_state=0).kernels
    yield "made up, 30 %", lambda seed: made, hide_some(0.3)
    sets = {
        "mfeat": ("mfeat", ("fou", "kar", "zer", "mor")), "tcga": ("tcga_breast_mixomics", ()),
        "cll": ("cll_mofaCLL", ()), "3sources": ("3sources_full416", ()), "uwave": ("uwave_train", ()),
    }  # fmt: skip
    for name, (file, names) in sets.items():
        X = load_kernels(file, names=names)
        yield f"{name}, 30 %", lambda seed, X=X: X, hide_some(0.3)
        if name in ("mfeat", "tcga"):
            yield f"{name}, one view or all", lambda seed, X=X: X, leave_one


def own_deviations(completer: Any, completed: KernelViews) -> np.ndarray | None:
    """Standard deviations of draws, views x samples x samples, of what has any."""
    if not isinstance(completer, MKMC):
        return None
    draws = [draw.to_dense() for draw in completer.sample(N_DRAWS, n_features=300, random_state=0)]
    return np.sqrt(np.mean([(draw - completed.to_dense()) ** 2 for draw in draws], axis=0))


def judge_kernels(make: Callable, source: Callable, mask: Callable, n_masks: int) -> dict[str, Any]:
    judged = {kind: Judged([], {}, []) for kind in _intervals._KINDS}
    ratio = []
    for seed in range(n_masks):
        X = source(seed)
        keep = mask(X, seed)
        part, completer = X.hide(keep), make()
        completer.fit(part)
        intervals = calibrate_completer(completer, part, prefit=True)
        own = own_deviations(completer, intervals.completed)
        for v, name in enumerate(X.names):
            data = 0 if X is source(seed) else seed  # drawn anew, others are tested
            judge_view(X, part, intervals, name, None if own is None else own[v], judged, ratio, data)
    return {"judged": judged, "ratio": float(np.mean(ratio)) if ratio else None}


def judge_view(X, part, intervals, name, own, judged, ratio, data) -> None:
    """Add the hidden samples of a view."""
    v = X.names.index(name)
    known = np.flatnonzero(X.observed[:, v])
    grid, has = np.ix_(known, known), part.observed[known, v]
    error = np.abs(intervals.completed.block(name)[grid] - X.block(name))
    itself = np.eye(len(known), dtype=bool)
    masks = {"observed": has & ~itself, "absent": ~has & ~itself, "itself": itself}
    ends = {level: intervals.interval(name, coverage=level) for level in LEVELS}
    half = {level: ((high - low) / 2)[grid] for level, (low, high) in ends.items()}
    for kind, mask in masks.items():
        found = judged[kind]
        for t in np.flatnonzero(~has):
            here = mask[t]
            found.who.append((X.ids[known[t]], data))
            found.width.append(float(half[0.9][t, here].mean()))
            for level in LEVELS:
                inside = {"calibrated": half[level][t, here] * (1 + 1e-9) + 1e-12}
                if own is not None:
                    inside["own"] = ndtri((1 + level) / 2) * own[grid][t, here]
                for which, width in inside.items():
                    found.shares.setdefault((which, level), []).append(
                        float((error[t, here] <= width).mean())
                    )
    if own is not None:
        rows, unit = np.ix_(~has, has), own[grid]
        equal = half[0.9][rows]
        width = [(np.quantile(error[rows] / u, 0.9) * u).mean() for u in (unit[rows], equal)]
        ratio.append(width[0] / width[1])


# ------------------------------------------------------------------------------------------------ matrices


def made_by_pma(seed: int, n: int = 100, m: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A matrix of the model, its row kernel and its column kernel."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 10, n)
    K1 = np.exp(-((t[:, None] - t) ** 2) / 2) + 1e-6 * np.eye(n)
    A = rng.standard_normal((m, 3))
    K2 = 0.5 * A @ A.T + 0.2 * np.eye(m)
    X = np.linalg.cholesky(K1) @ rng.standard_normal((n, m))
    return X + rng.standard_normal((n, m)) @ np.linalg.cholesky(K2).T, K1, K2


def hide_entries(X: np.ndarray, seed: int, blocks: bool) -> np.ndarray:
    """A fifth of the entries; or, of two fifths of the rows, the first or the other half of the columns."""
    rng = np.random.default_rng(seed)
    if not blocks:
        return rng.random(X.shape) < 0.2
    hidden, draw, half = np.zeros(X.shape, dtype=bool), rng.random(len(X)), X.shape[1] // 2
    hidden[draw < 0.2, :half], hidden[draw > 0.8, half:] = True, True
    return hidden


def matrix_sets() -> Iterator[tuple[str, Callable, bool]]:
    def make(given: bool) -> Callable:
        def draw(seed: int) -> tuple[np.ndarray, PMAImputer]:
            X, K1, K2 = made_by_pma(seed)
            return X, PMAImputer(row_kernel=K1, col_kernel=K2, center=False) if given else PMAImputer()

        return draw

    yield "PMA's model, kernels given", make(True), False
    yield "PMA's model, estimated", make(False), False
    tables = {
        "wine": load_wine().data, "diabetes": load_diabetes().data[:250],
        "wdbc": load_breast_cancer().data[:250],
    }  # fmt: skip
    for name, X in tables.items():
        for blocks in (False, True):
            what = "halves of rows" if blocks else "entries"
            yield f"{name}, {what}", lambda seed, X=X: (X, PMAImputer()), blocks


def judge_matrix(source: Callable, blocks: bool, n_masks: int) -> Judged:
    judged = Judged([], {}, [])
    for seed in range(n_masks):
        X, imputer = source(seed)
        hidden = hide_entries(X, seed, blocks)
        gaps = np.where(hidden, np.nan, X)
        intervals = calibrate_completer(imputer.fit(gaps), gaps, prefit=True)
        own = imputer.predict(return_std=True)[1] / imputer.widening_
        error, scale = np.abs(intervals.completed - X), X.std(axis=0)
        ends = {level: intervals.interval(coverage=level) for level in LEVELS}
        for t in np.flatnonzero(hidden.any(axis=1)):
            here = hidden[t]
            judged.who.append((t, 0 if X is source(seed)[0] else seed))
            judged.width.append(float(((ends[0.9][1] - ends[0.9][0]) / 2 / scale)[t, here].mean()))
            for level, (low, high) in ends.items():
                widths = {
                    "calibrated": (high - low)[t, here] / 2,
                    "own": ndtri((1 + level) / 2) * own[t, here],
                }
                widths["widened"] = widths["own"] * imputer.widening_
                for which, width in widths.items():
                    judged.shares.setdefault((which, level), []).append(
                        float((error[t, here] <= width).mean())
                    )
    return judged


# -------------------------------------------------------------------------------------------------- output


def summarise(judged: Judged, which: str, level: float) -> tuple[float, float] | None:
    """Coverage in %, and its standard error by distinct sample."""
    if (which, level) not in judged.shares:
        return None
    shares = np.array(judged.shares[which, level])
    _, place = np.unique(np.array([str(who) for who in judged.who]), return_inverse=True)
    by_sample = np.bincount(place, shares) / np.bincount(place)
    return 100 * float(shares.mean()), 100 * float(by_sample.std(ddof=1) / np.sqrt(len(by_sample)))


def make_row(name: str, method: str, entries: str, judged: Judged) -> dict[str, Any]:
    row: dict[str, Any] = {"set": name, "method": method, "entries": entries}
    for which in ("own", "widened", "calibrated"):
        for level in LEVELS:
            found = summarise(judged, which, level)
            if found is not None:
                row[f"{which} {100 * level:g}"] = found[0]
                row["se"] = found[1] if level == 0.9 else row.get("se")
    return row | {"half-width": float(np.mean(judged.width))}


def make_claims(row: dict[str, Any]) -> list[Claim]:
    what = f"{row['set']}, {row['method']}, {row['entries']}: %"
    return [Claim(what, row["calibrated 90"], at_least=90 - 2 * row["se"])]


class NoPattern:
    """Hides a view of a sample and leaves it all others, while it lasts."""

    def __enter__(self) -> None:
        self.draw = _intervals._draw_rounds
        _intervals._draw_rounds = lambda *a: [r._replace(keep=~r.judged) for r in self.draw(*a)]

    def __exit__(self, *_: object) -> None:
        _intervals._draw_rounds = self.draw


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--masks", type=int, default=N_MASKS, help="of each set of kernels or matrices")
    options = parser.parse_args()
    common.files_folder()
    n_masks = 1 if options.quick else options.masks
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    for name, source, blocks in matrix_sets():
        n = N_MODEL if "model" in name and not options.quick else n_masks
        rows.append(make_row(name, "PMA", "entry", judge_matrix(source, blocks, n)))
        common.table([rows[-1]])
    methods = {"MKMC": MKMC, "CVKT": CVKT, "mean": lambda: MeanFill("blocks")}
    for name, source, mask in kernel_sets():
        for method, make in methods.items():
            done = judge_kernels(make, source, mask, n_masks)
            new = [make_row(name, method, kind, judged) for kind, judged in done["judged"].items()]
            new[0]["own units"] = done["ratio"]
            if "one view" in name and method == "CVKT":
                with NoPattern():
                    plain = judge_kernels(make, source, mask, n_masks)["judged"]
                for row, judged in zip(new, plain.values(), strict=True):
                    row["no pattern 90"] = summarise(judged, "calibrated", 0.9)[0]
            rows += new
            common.table(new)
    common.finish(
        "completion_coverage", options.quick, rows, [claim for row in rows for claim in make_claims(row)]
    )


if __name__ == "__main__":
    main()
