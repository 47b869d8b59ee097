"""Completion: cells, a sample in a view each, are hidden, completed, and compared with the truth.

Errors are those of :mod:`absentia.data.metrics` over the rows of hidden cells, as far as the truth is
known: the columns of the samples that have the view.  Kernels are read some rows at a time.
"""

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews, metrics, order_kernels
from absentia.tasks._base import Metric, Task

_BLOCK_ROWS = 256  # of a kernel that are looked at together


class KernelCompletion(Task):
    """Nothing is predicted: whole kernels are wanted."""

    name, family, simplest = "completion", "completer", "mean"
    metrics = (
        Metric("ARE", False, True, "mean relative error of hidden rows; 1 is as bad as zeros"),
        Metric("CA", False, True, "1 - cosine between hidden rows and what they were completed to"),
        Metric("Frobenius", False, True, "norm of the error of hidden rows relative to their norm"),
        Metric("similarity", True, True, "structural similarity of hidden rows seen as pictures"),
    )

    def order_keys(self, y: Array) -> tuple[Array, ...]:
        return ()


def score_hidden_rows(truth: KernelViews, completed: KernelViews, cells: Array) -> dict[str, float | None]:
    """Every metric on the rows of hidden cells (h, 2), mean over views; None where it cannot be told."""
    cells = cells[np.argsort(order_kernels(truth).numbers[cells[:, 0]], kind="stable")]
    errors, misaligned = row_errors(truth, completed, cells)
    by_view = []
    for v in np.unique(cells[:, 1]):
        own = cells[:, 1] == v
        K, K_hat = _hidden_rows(truth, completed, cells[own, 0], v)
        size = truth.mean_diagonal(truth.names[v]) or 1.0
        relative = errors[own][~np.isnan(errors[own])]
        are = relative.mean() if len(relative) else np.nan
        frobenius = np.linalg.norm(K_hat - K) / np.maximum(np.linalg.norm(K), 1e-300)
        similarity = metrics.similarity_of_rows(K, K_hat, data_range=2 * size)
        by_view.append((are, misaligned[v], frobenius, similarity))
    if np.isinf(by_view).any():
        raise ValueError("gave values that are not finite")
    finite = [[x for x in values if not np.isnan(x)] for values in zip(*by_view, strict=True)]
    means = [float(np.mean(values)) if values else None for values in finite]
    return dict(zip((metric.name for metric in KernelCompletion.metrics), means, strict=True))


def _hidden_rows(truth: KernelViews, completed: KernelViews, rows: Array, v: int) -> tuple[Array, Array]:
    """Rows of a view's kernel, true and completed, over the samples that have the view.

    Columns are in an order that the data decide: neighbours in a picture have to be the same ones
    whatever order samples come in.
    """
    name, has = truth.names[v], np.flatnonzero(truth.observed[:, v])
    columns = order_kernels(truth).among(has)
    K = truth.operator(name).block(np.searchsorted(has, rows), columns)
    return np.asarray(K), np.asarray(completed.operator(name).block(rows, has[columns]))


def row_errors(truth: KernelViews, completed: KernelViews, cells: Array) -> tuple[Array, Array]:
    """Relative error of each cell's row (infinite where it is no number), and CA over the rows by view.

    Parameters
    ----------
    truth : KernelViews
        Incomplete, but with these cells.
    completed : KernelViews
        The same samples with everything observed.
    cells : (h, 2) int
        Sample and view.
    """
    errors, misaligned = np.full(len(cells), np.nan), np.full(truth.n_views, np.nan)
    for v, name in enumerate(truth.names):
        own = np.flatnonzero(cells[:, 1] == v)
        columns = np.flatnonzero(truth.observed[:, v])
        products = np.zeros(3)
        for part in np.array_split(own, max(1, -(-len(own) // _BLOCK_ROWS))):
            rows = cells[part, 0]
            K = truth.operator(name).block(np.searchsorted(columns, rows), np.arange(len(columns)))
            K_hat = completed.operator(name).block(rows, columns)
            size = np.linalg.norm(K, axis=1)
            missed = np.linalg.norm(K_hat - K, axis=1)
            np.divide(missed, size, out=(relative := np.full(len(rows), np.nan)), where=size > 0)
            errors[part] = np.where((size > 0) & ~np.isfinite(missed), np.inf, relative)
            products += [np.vdot(K, K_hat), np.vdot(K, K), np.vdot(K_hat, K_hat)]
        if products[1] > 0:
            norms = np.sqrt(products[1] * products[2])
            misaligned[v] = max(1 - products[0] / norms, 0.0) if norms > 0 else 1.0
    return errors, misaligned
