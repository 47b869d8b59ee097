"""The task of kernel completion: observed cells (a sample in a view) are hidden, completed and scored.

Errors are those of :mod:`absentia.data.metrics` over the kernel rows of hidden cells, in the columns of
the samples that have the view, where the truth is known.  Kernels are read some rows at a time.
"""

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews, metrics, order_kernels
from absentia.tasks._base import Metric, Task

_BLOCK_ROWS = 256  # of a kernel that are in memory at a time


class KernelCompletion(Task):
    """Completion of kernel matrices, a task without targets."""

    name, family, simplest = "completion", "completer", "mean"
    metrics = (  # name, whether more is better, whether a share, description
        Metric("ARE", False, True, "mean relative error of hidden rows; 1 is as bad as zeros"),
        Metric("CA", False, True, "1 - cosine between hidden rows and what they were completed to"),
        Metric("Frobenius", False, True, "norm of the error of hidden rows relative to their norm"),
        Metric("similarity", True, True, "structural similarity of hidden rows compared as images"),
    )


def score_hidden_rows(truth: KernelViews, completed: KernelViews, cells: Array) -> dict[str, float | None]:
    """Every metric on the rows of hidden `cells` (h, 2), mean over views; None if undefined."""
    cells = cells[np.argsort(order_kernels(truth).numbers[cells[:, 0]], kind="stable")]
    errors, misalignment = compute_row_errors(truth, completed, cells)
    by_view = []
    for v in np.unique(cells[:, 1]):
        in_view = cells[:, 1] == v
        K, K_hat = _hidden_rows(truth, completed, cells[in_view, 0], v)
        scale = truth.mean_diagonal(truth.names[v]) or 1.0
        relative_errors = errors[in_view][~np.isnan(errors[in_view])]
        are = relative_errors.mean() if len(relative_errors) else np.nan
        frobenius = np.linalg.norm(K_hat - K) / np.maximum(np.linalg.norm(K), 1e-300)
        similarity = metrics.similarity_of_rows(K, K_hat, data_range=2 * scale)
        by_view.append((are, misalignment[v], frobenius, similarity))
    if np.isinf(by_view).any():
        raise ValueError("gave values that are not finite")
    finite = [[x for x in values if not np.isnan(x)] for values in zip(*by_view, strict=True)]
    means = [float(np.mean(values)) if values else None for values in finite]
    return dict(zip((metric.name for metric in KernelCompletion.metrics), means, strict=True))


def _hidden_rows(truth: KernelViews, completed: KernelViews, rows: Array, v: int) -> tuple[Array, Array]:
    """Rows of a view's kernel, true and completed, rows x samples that have the view.

    Columns are in canonical order: structural similarity compares neighbours, which must not depend on
    the order of the samples.
    """
    name, present = truth.names[v], np.flatnonzero(truth.observed[:, v])
    columns = order_kernels(truth).among(present)
    K = truth.operator(name).block(np.searchsorted(present, rows), columns)
    return np.asarray(K), np.asarray(completed.operator(name).block(rows, present[columns]))


def compute_row_errors(truth: KernelViews, completed: KernelViews, cells: Array) -> tuple[Array, Array]:
    """Relative error of each cell's row (h,), infinite where it is not finite, and CA by view (n_views,).

    Parameters
    ----------
    truth : KernelViews
        Kernels in which these cells are observed.
    completed : KernelViews
        The same samples, all views completed.
    cells : (h, 2) int
        Sample and view.
    """
    errors, misalignment = np.full(len(cells), np.nan), np.full(truth.n_views, np.nan)
    for v, name in enumerate(truth.names):
        in_view = np.flatnonzero(cells[:, 1] == v)
        columns = np.flatnonzero(truth.observed[:, v])
        products = np.zeros(3)
        for part in np.array_split(in_view, max(1, -(-len(in_view) // _BLOCK_ROWS))):
            rows = cells[part, 0]
            K = truth.operator(name).block(np.searchsorted(columns, rows), np.arange(len(columns)))
            K_hat = completed.operator(name).block(rows, columns)
            norms = np.linalg.norm(K, axis=1)
            error_norms = np.linalg.norm(K_hat - K, axis=1)
            relative_errors = np.full(len(rows), np.nan)
            np.divide(error_norms, norms, out=relative_errors, where=norms > 0)
            errors[part] = np.where((norms > 0) & ~np.isfinite(error_norms), np.inf, relative_errors)
            products += [np.vdot(K, K_hat), np.vdot(K, K), np.vdot(K_hat, K_hat)]
        if products[1] > 0:
            norm_product = np.sqrt(products[1] * products[2])
            misalignment[v] = max(1 - products[0] / norm_product, 0.0) if norm_product > 0 else 1.0
    return errors, misalignment
