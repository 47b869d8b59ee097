"""What must not matter, and how much it does: order of samples, order of views, names of classes.

For every method of the catalogue the same data are given again, samples and views in another order, classes
under other names; the largest difference of what comes out (probabilities, numbers, risks; of kernels,
relative to their norm) is printed.  Data: digits in six views, half of them absent; numbers and a view of
one binary feature, in which most samples are alike; kernels of rank three.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from absentia import KernelViews, ViewKernels, Views, datasets, missingness
from absentia.methods import catalogue
from absentia.testing._tools import takes_kernels

N = 60


def make_problems() -> dict[str, tuple[Views, np.ndarray]]:
    """Views and classes by name."""
    views, y = datasets.load_digit_views(n_samples=N, return_X_y=True)
    hidden = views.hide(missingness.fixed_per_sample(views, 3, random_state=0))
    rng = np.random.default_rng(0)
    alike = {
        "numbers": rng.standard_normal((N, 3)) + (y % 3)[:, None] / 2,
        "sex": rng.integers(0, 2, (N, 1)),
    }
    return {"digits": (hidden, y % 3), "alike": (Views.from_dict(alike), y % 3)}


def thin_kernels() -> KernelViews:
    """Linear kernels of rank three, some samples absent in each."""
    rng = np.random.default_rng(1)
    state = rng.standard_normal((N, 3))
    tables = {f"view {v}": state @ rng.standard_normal((3, 3)) for v in range(4)}
    views = Views.from_dict(tables)
    return ViewKernels("linear").fit_transform(views.hide(missingness.mcar(views, 0.3, random_state=0)))


def subset(X: Any, rows: np.ndarray) -> Any:
    return X[np.ix_(rows, rows)] if isinstance(X, KernelViews) else X[rows]


def answer(entry: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """What a method says of the samples it was fitted to."""
    method = entry.make()
    if "probability" in method.get_params() and "probability" not in entry.fixed:
        method.set_params(probability=True)
    if isinstance(X, Views) and takes_kernels(method):
        X = ViewKernels().fit_transform(X)
    with warnings.catch_warnings(action="ignore"):
        if entry.family == "completer":
            return np.asarray(method.fit_transform(X).to_dense())
        method.fit(X, y)
        return np.asarray(method.predict_proba(X) if entry.family == "classifier" else method.predict(X))


def differences(entry: Any, X: Any, y: np.ndarray, names: np.ndarray | None) -> dict[str, float]:
    """The largest difference that each change makes."""
    rng, base = np.random.default_rng(2), answer(entry, X, y)
    order = rng.permutation(len(X))
    turned = X.select([X.names[v] for v in rng.permutation(X.n_views)])
    moved, other = answer(entry, subset(X, order), y[order]), answer(entry, turned, y)
    if entry.family == "completer":
        scale = np.linalg.norm(base, axis=(1, 2))
        place = [turned.names.index(name) for name in X.names]
        apart = {
            "samples": np.linalg.norm(moved - base[:, order][:, :, order], axis=(1, 2)) / scale,
            "views": np.linalg.norm(other[place] - base, axis=(1, 2)) / scale,
        }
    else:
        apart = {"samples": moved - base[order], "views": other - base}
    if names is not None:
        place = np.searchsorted(np.sort(names), names)
        apart["classes"] = answer(entry, X, names[y])[:, place] - base
    return {what: float(np.abs(values).max()) for what, values in apart.items()}


def problems_of(entry: Any) -> dict[str, tuple[Any, Any, Any]]:
    """Data, labels and other names for the classes, for a method of this family."""
    if entry.family == "completer":
        kernels = ViewKernels().fit_transform(make_problems()["digits"][0])
        return {"digits": (kernels, np.zeros(N), None), "rank 3": (thin_kernels(), np.zeros(N), None)}
    rng = np.random.default_rng(3)
    found: dict[str, tuple[Any, Any, Any]] = {}
    for name, (X, y) in make_problems().items():
        numbers = y + rng.standard_normal(N)
        times = np.column_stack([rng.exponential(np.exp(-y)), rng.random(N) < 0.7])
        target = {"classifier": y, "regressor": numbers, "survival": times}[entry.family]
        found[name] = X, target, np.array(["c", "a", "b"]) if entry.family == "classifier" else None
    return found


def report(entry: Any, tell: Callable[[str], None]) -> None:
    for name, (X, y, names) in problems_of(entry).items():
        if getattr(entry.make(), "complete_cases", False) and name == "digits":
            continue  # nobody has all views
        begin = time.process_time()
        apart = differences(entry, X, y, names)
        cells = " | ".join(
            f"{apart[what]:.0e}" if what in apart else "" for what in ("samples", "views", "classes")
        )
        tell(f"| {entry.name} | {name} | {cells} | {time.process_time() - begin:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only methods that take a second or so")
    parser.add_argument("--methods", nargs="*", help="names of the catalogue")
    given = parser.parse_args()
    quick = {"zero", "mean", "average", "linear", "mmaf", "zero-svm", "ridge-zero"}
    print("| method | data | samples | views | names of classes | CPU s |\n|---|---|---|---|---|---|")
    for entry in catalogue.CATALOGUE:
        wanted = entry.name in quick if given.quick else not given.methods or entry.name in given.methods
        if wanted and entry.family in ("completer", "classifier", "regressor", "survival"):
            report(entry, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
