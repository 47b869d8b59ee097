"""Values of absent views: what comes back of hidden cells, and whether the measures of trust hold.

    ABSENTIA_DATA=/path/to/benchmarks python benchmarks/absent_values.py [--quick] [--mofa PYTHON]

A quarter of the samples of each view is hidden (everybody keeps a view), in three draws of five sets: TCGA,
CLL, mfeat, uwave and made-up views to which as many features of pure noise are added.  At most 300 samples
and 100 features of each view.  Methods see standardised features: means, scikit-learn's KNNImputer and
soft-impute (Mazumder, Hastie and Tibshirani, 2010) on the joined table, MOFA by mofapy2 if `--mofa` names a
Python that has it, and ``absentia.complete_values``.  Neighbours, shrinkage and factors are those of
least error when further rows of views are hidden; options of absentia were settled on other sets
(scene, wine, made-far, musk1, sonar, wdbc, spambase, emotions, yeast, proteinfold, digits).

Printed are medians over features of the correlation and of the error relative to the mean (below 1 is
better than the mean), averaged over views and draws; then, of absentia, how many hidden cells 95 %
intervals cover, and precision and recall of "not to be trusted" for features whose correlation over the
hidden cells is below 0.1.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import common  # noqa: F401 - before NumPy: one BLAS thread
import numpy as np
import small_tasks
from sklearn.impute import KNNImputer

import absentia
from absentia import Views

SETS = ["tcga", "cll", "mfeat", "uwave", "made-near"]
N_SAMPLES, N_FEATURES, SHARE = 300, 100, 0.25
MOFA = """
import sys, numpy as np
from mofapy2.run.entry_point import entry_point
data = np.load(sys.argv[1])
ends, model = np.cumsum(data["widths"])[:-1], entry_point()
model.set_data_options(scale_views=False)
model.set_data_matrix([[part] for part in np.split(data["X"], ends, axis=1)])
model.set_model_options(factors=int(data["factors"]))
model.set_train_options(iter=500, convergence_mode="fast", seed=0, quiet=True)
model.build(); model.run()
Z = model.model.nodes["Z"].getExpectation()
np.save(sys.argv[2], np.hstack([Z @ W.T for W in model.model.nodes["W"].getExpectation()]))
"""


def load(name: str, seed: int) -> Views:
    """Some samples and features of a set; everybody has two views, no feature is constant."""
    _, tables, _ = next(small_tasks.SETS[name][0]())
    rng = np.random.default_rng(seed)
    if name == "made-near":
        tables = {v: np.hstack([X, rng.normal(size=X.shape)]) for v, X in tables.items()}
    views = Views.from_dict(tables)
    views = views[np.sort(rng.permutation(np.flatnonzero(views.observed.sum(axis=1) > 1))[:N_SAMPLES])]
    tables = {}
    for view, X in views.to_dict().items():
        able = np.flatnonzero(np.nanstd(X, axis=0) > 1e-9)
        tables[view] = X[:, np.sort(rng.permutation(able)[:N_FEATURES])]
    return Views.from_dict(tables)


def hide(views: Views, seed: int) -> tuple[Views, np.ndarray]:
    """The views with a quarter of their rows hidden, and which (samples x views)."""
    rng = np.random.default_rng(seed)
    drop = views.observed & (rng.random(views.observed.shape) < SHARE)
    for row in np.flatnonzero((drop == views.observed).all(axis=1)):
        drop[row, rng.choice(np.flatnonzero(drop[row]))] = False
    return views.hide(~drop), drop


# -------------------------------------------------------------------------------------- other methods


def impute_soft(X: np.ndarray, strength: float, n_iter: int = 100) -> np.ndarray:
    """Soft-impute: singular values of the filled table drawn to zero, until nothing changes."""
    missing, filled = np.isnan(X), np.nan_to_num(X)
    strength *= np.linalg.norm(filled, 2)
    for _ in range(n_iter):
        U, s, V = np.linalg.svd(filled, full_matrices=False)
        low = (U * np.maximum(s - strength, 0)) @ V
        change = np.square(low - filled)[missing].sum() / max(np.square(filled[missing]).sum(), 1e-12)
        filled[missing] = low[missing]
        if change < 1e-5:
            break
    return filled


def impute_mofa(X: np.ndarray, factors: int, widths: list[int], python: str) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        came, went = Path(folder) / "in.npz", Path(folder) / "out.npy"
        np.savez(came, X=X, widths=widths, factors=factors)
        subprocess.run([python, "-c", MOFA, came, went], check=True, capture_output=True)
        return np.where(np.isnan(X), np.load(went), X)


def select(impute: Callable, options: list, views: Views) -> np.ndarray:
    """The standardised table imputed with the option of least error on further hidden rows."""
    less, drop = hide(views, 99)
    X, part = standardize(views), standardize(less)
    widths = [views.block(name).shape[1] for name in views.names]
    cells = np.repeat(drop, widths, axis=1) & ~np.isnan(X)
    errors = [np.square(impute(part, option) - X)[cells].mean() for option in options]
    return impute(X, options[int(np.argmin(errors))])


def standardize(views: Views) -> np.ndarray:
    X = np.hstack(list(views.to_dict().values()))
    deviation = np.nanstd(X, axis=0)
    return (X - np.nanmean(X, axis=0)) / np.where(deviation > 0, deviation, 1.0)


def unstandardize(views: Views, X: np.ndarray) -> dict[str, np.ndarray]:
    table = np.hstack(list(views.to_dict().values()))
    deviation = np.nanstd(table, axis=0)
    X = np.nanmean(table, axis=0) + X * np.where(deviation > 0, deviation, 1.0)
    ends = np.cumsum([views.block(name).shape[1] for name in views.names])[:-1]
    return dict(zip(views.names, np.split(X, ends, axis=1), strict=True))


def methods(mofa: str | None) -> Iterator[tuple[str, Callable[[Views], dict[str, np.ndarray]]]]:
    yield "mean", lambda views: unstandardize(views, np.zeros((len(views), sum_widths(views))))
    grids: list[tuple[str, Callable, list]] = [
        ("KNNImputer", lambda X, k: KNNImputer(n_neighbors=k).fit_transform(X), [5, 10, 20, 40]),
        ("soft-impute", impute_soft, [0.4, 0.2, 0.1, 0.05, 0.02]),
    ]
    for name, impute, options in grids:
        yield name, lambda views, i=impute, o=options: unstandardize(views, select(i, o, views))
    if mofa:

        def run(views: Views) -> dict[str, np.ndarray]:
            widths = [views.block(name).shape[1] for name in views.names]
            table = select(lambda X, k: impute_mofa(X, k, widths, mofa), [2, 5, 15], views)
            return unstandardize(views, table)

        yield "MOFA", run


def sum_widths(views: Views) -> int:
    return sum(views.block(name).shape[1] for name in views.names)


# ------------------------------------------------------------------------------------------ measuring


def measure(views: Views, part: Views, drop: np.ndarray, filled: dict[str, np.ndarray]) -> list[tuple]:
    """By view, correlation and relative error of each feature over the hidden cells."""
    by_view = []
    for v, name in enumerate(views.names):
        truth, told = views.padded(name, np.arange(len(views)))[drop[:, v]], filled[name][drop[:, v]]
        mean = np.nanmean(part.block(name), axis=0)
        correlation, error = np.zeros(truth.shape[1]), np.full(truth.shape[1], np.nan)
        for j in range(truth.shape[1]):
            t, p = (x[~np.isnan(truth[:, j]), j] for x in (truth, told))
            if len(t) < 5 or t.std() == 0:
                correlation[j] = np.nan
                continue
            correlation[j] = np.corrcoef(t, p)[0, 1] if p.std() > 1e-9 * t.std() else 0.0
            error[j] = np.sqrt(np.mean((t - p) ** 2) / np.mean((t - mean[j]) ** 2))
        by_view.append((correlation, error))
    return by_view


def judge(
    views: Views, drop: np.ndarray, done: absentia.CompletedValues, measures: list[tuple]
) -> np.ndarray:
    """Covered and all hidden cells; features worthless and marked, worthless, marked."""
    counts = np.zeros(5)
    for v, name in enumerate(views.names):
        truth = views.padded(name, np.arange(len(views)))[drop[:, v]]
        told = done.views.padded(name, np.arange(len(views)))[drop[:, v]]
        near = np.abs(truth - told) <= 1.96 * done.std[name].to_numpy()[drop[:, v]]
        table = done.table()
        marked = ~table.loc[table["view"] == name, "trusted"].to_numpy(dtype=bool)
        judged, worthless = ~np.isnan(measures[v][0]), measures[v][0] < 0.1
        counts += [near[~np.isnan(truth)].sum(), (~np.isnan(truth)).sum(), (worthless & marked).sum(),
                   worthless.sum(), (marked & judged).sum()]  # fmt: skip
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one draw of TCGA and made-up views")
    parser.add_argument("--mofa", metavar="PYTHON", help="a Python that has mofapy2")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    total = np.zeros(5)
    for name in ["tcga", "made-near"] if args.quick else SETS:
        rows: dict[str, list] = {}
        counts = np.zeros(5)
        for seed in range(1 if args.quick else 3):
            views = load(name, seed)
            part, drop = hide(views, seed)
            for method, fill in methods(args.mofa):
                rows.setdefault(method, []).extend(measure(views, part, drop, fill(part)))
            done = absentia.complete_values(part, keep="all")
            measures = measure(views, part, drop, done.views.to_dict())
            rows.setdefault("complete_values", []).extend(measures)
            counts += judge(views, drop, done, measures)
        total += counts
        for method, pairs in rows.items():
            middle = np.mean([[np.nanmedian(x) for x in pair] for pair in pairs], axis=0)
            print(f"{name:10} {method:18} correlation {middle[0]:.3f}  relative error {middle[1]:.3f}")
        say(name, counts)
    say("all", total)


def say(name: str, counts: np.ndarray) -> None:
    covered, cells, both, worthless, marked = counts
    print(
        f"{name:10} covered {covered / cells:.3f}; of {worthless:.0f} worthless features {both:.0f} "
        f"marked, of {marked:.0f} marked {both:.0f} worthless (recall {both / max(worthless, 1):.2f}, "
        f"precision {both / max(marked, 1):.2f})",
        flush=True,
    )


if __name__ == "__main__":
    main()
