"""Kernels of features beside scikit-learn: factors, whole kernels, widths, a machine on one kernel.

    python benchmarks/kernel_speed.py [--quick]          # half a CPU minute

CPU seconds on one BLAS thread, the two one after the other in turn, medians; ratios are what travels.
Ours standardises, clips and normalises; scikit-learn's gets features that are standardised.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import common  # before NumPy: one BLAS thread
import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.svm import SVC

from absentia import AverageKernelSVC, KernelViews, ViewKernels, Views
from absentia.kernels import _fitting

Case = tuple[str, Callable[[], Any], Callable[[], Any], float]


def cases(quick: bool) -> Iterator[Case]:
    """What is done, ours, theirs, and the ratio that is wanted."""
    rng, part = np.random.default_rng(0), 10 if quick else 1
    for kind in (np.float64, np.float32):
        for d in (100, 500):
            X = rng.standard_normal((20_000 // part, d)).astype(kind)
            ours, theirs = (
                ViewKernels(approx="nystrom", gamma=1 / d),
                Nystroem(gamma=1 / d, n_components=200),
            )
            yield f"factors, {d} features, {kind.__name__}", *_fits(ours, theirs, X), 1.3
    for n, d in ((3000, 500), (4000, 50)):
        X = rng.standard_normal((n // part, d))
        views, whole = Views.from_dict({"a": X}), ViewKernels(approx=None, gamma=1 / d)
        yield (
            f"whole kernel, {n} x {d}",
            lambda m=whole, v=views: m.fit_transform(v),
            lambda X=X, d=d: rbf_kernel(X, gamma=1 / d),
            1.3,
        )
    X = rng.standard_normal((1000 // part, 20_000))
    above = np.triu_indices(len(X), 1)
    yield (
        "median distance, 20,000 features",
        lambda: _fitting._median_distance(X, "sqeuclidean"),
        lambda: np.median(euclidean_distances(X, squared=True)[above]),
        1.3,
    )
    for n, n_views in itertools.product((200, 800, 2000), (1, 4)):
        yield f"average kernel machine, {n} samples, {n_views} view(s)", *_machines(n // part, n_views), 3.5


def _machines(n: int, n_views: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """A machine on the average of kernels, with C given; scikit-learn's gets the kernels to average too."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n_views, n, 20))
    y = features[:, :, 0].sum(axis=0) / n_views**0.5 + 0.5 * rng.standard_normal(n) > 0
    K = [rbf_kernel(view) for view in features]
    kernels = KernelViews.from_dense(K)
    return (
        lambda: AverageKernelSVC().fit(kernels, y),
        lambda: SVC(kernel="precomputed").fit(sum(K) / n_views, y),
    )


def _fits(ours: Any, theirs: Any, X: np.ndarray) -> tuple[Callable[[], Any], Callable[[], Any]]:
    views = Views.from_dict({"a": X})
    return lambda: ours.fit_transform(views), lambda: theirs.fit_transform(X)


def main() -> None:
    arguments = common.parser(__doc__).parse_args()
    warnings.simplefilter("ignore")
    rows, claims = [], []
    for what, ours, theirs, wanted in cases(arguments.quick):
        mine, other = common.interleaved([ours, theirs], 5)
        rows.append({"what": what, "CPU s": mine, "scikit-learn": other, "times": mine / other})
        claims.append(common.Claim(f"{what}, times", mine / other, at_most=wanted))
    common.finish("kernel_speed", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
