"""Metrics of completed kernels, and of label rankings where some labels are unknown.

For kernels, the four measures of Huusari, Capponi, Villoutreix and Kadri, "Cross-view kernel transfer",
Pattern Recognition 129 (2022).  Kernels come as one (n, n) matrix, as (V, n, n),
as a list of V matrices or as `KernelViews`; both the truth and the completed kernels must be without gaps.
Each metric is one number per view: ``average=True`` returns the mean over views, ``average=False`` an array
of shape (V,).  `KernelViews` are made arrays one view at a time.

For several labels, one-error, coverage, ranking loss and average precision as in scikit-learn (coverage
counts from zero, as in the multi-label literature, unlike scikit-learn's), over the *known* labels of each
sample only.  Labels are positive (> 0), negative (<= 0) or NaN (unknown).  Samples for which a metric has
no meaning are skipped: no known positive label for one-error, coverage and average precision; not both
kinds for the ranking loss.  Tied scores count against, as in scikit-learn; in the area under the ROC curve,
which looks at each label over the samples, half.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import uniform_filter
from scipy.stats import rankdata

from absentia.data._kernelviews import KernelViews
from absentia.data._presence import Presence

__all__ = [
    "are",
    "average_precision",
    "ca_error",
    "coverage",
    "frobenius_error",
    "one_error",
    "ranking_loss",
    "roc_auc",
    "similarity_of_rows",
    "structural_similarity",
]

_Floats = NDArray[np.float64]
_Mask = NDArray[np.bool_]
_Shape = tuple[int, ...]
_Kernels = ArrayLike | Sequence[ArrayLike] | KernelViews


def ca_error(truth: _Kernels, completed: _Kernels, *, average: bool = True) -> float | _Floats:
    r"""Completion accuracy error (eq. 7), lower is better.

    .. math:: 1 - \langle K, \hat K \rangle / (\|K\|_F \|\hat K\|_F)

    Blind to the scale of a kernel.  A completed kernel that is all zero scores 1.

    Examples
    --------
    >>> round(ca_error(np.eye(4), np.diag([5.0, 0.0, 0.0, 0.0])), 12)
    0.5
    """
    _, pairs = _pair_views(truth, completed)
    errors = []
    for v, K, K_hat in pairs:
        norms = _positive_norm(v, K) * np.linalg.norm(K_hat)
        alignment = (K * K_hat).sum() / (norms if norms > 0 else 1.0)
        errors.append(max(1 - alignment, 0.0))  # rounding dips below zero
    return _average_views(errors, average)


def are(
    truth: _Kernels, completed: _Kernels, observed: ArrayLike | Presence, *, average: bool = True
) -> float | _Floats:
    r"""Average relative error of the rows that were missing (eq. 8, not squared), lower is better.

    .. math:: \operatorname{mean}_{t \text{ missing}} \|\hat K_{t:} - K_{t:}\| / \|K_{t:}\|

    `observed` has shape (n_samples, n_views), or (n_samples,) for one matrix: True where a row was observed
    and is skipped.  Rows whose truth is zero have no relative error and are skipped as well.
    A view without any row to measure is nan and does not enter the average, which is nan only if
    all views are.

    Examples
    --------
    >>> are(np.eye(2), np.zeros((2, 2)), [True, False])
    1.0
    """
    (n_views, n_samples, _), pairs = _pair_views(truth, completed)
    mask = _check_observed(observed, (n_samples, n_views))
    errors = np.full(n_views, np.nan)
    for v, K, K_hat in pairs:
        norms = np.linalg.norm(K, axis=1)
        rows = ~mask[:, v] & (norms > 0)
        if rows.any():
            errors[v] = (np.linalg.norm(K_hat - K, axis=1)[rows] / norms[rows]).mean()
    return _mean(errors[~np.isnan(errors)]) if average else errors


def frobenius_error(truth: _Kernels, completed: _Kernels, *, average: bool = True) -> float | _Floats:
    r"""Relative error of the whole kernel, observed part included (eq. 9), lower is better.

    .. math:: \|K - \hat K\|_F / \|K\|_F

    Examples
    --------
    >>> frobenius_error(np.eye(2), 1.5 * np.eye(2))
    0.5
    """
    _, pairs = _pair_views(truth, completed)
    return _average_views(
        [np.linalg.norm(K - K_hat) / _positive_norm(v, K) for v, K, K_hat in pairs], average
    )


def structural_similarity(
    truth: _Kernels, completed: _Kernels, *, average: bool = True, data_range: float = 2.0
) -> float | _Floats:
    """Structural similarity of kernels seen as images (eq. 10), higher is better, at most 1.

    Eq. 10 with sample covariances in every 7 x 7 square that fits in the matrix (of fewer samples the
    largest odd square), ``c1 = (0.01 data_range)^2`` and ``c2 = (0.03 data_range)^2``, averaged over
    squares: what image libraries compute.  `data_range` is the largest possible value less the smallest;
    its default is that of kernels within [-1, 1] and gives the paper's figures.  The order of samples
    matters.

    Examples
    --------
    >>> structural_similarity(np.eye(9), np.eye(9))
    1.0
    """
    _, pairs = _pair_views(truth, completed)
    return _average_views(
        [similarity_of_rows(K, K_hat, data_range=data_range) for _, K, K_hat in pairs], average
    )


def similarity_of_rows(truth: ArrayLike, completed: ArrayLike, *, data_range: float = 2.0) -> float:
    """Structural similarity of some rows of one kernel, such as those that had been hidden.

    Both arrays have shape (m, n), m rows of n values.  :func:`structural_similarity` with the largest odd
    window of at most 7 that fits in m x n; nan if there are fewer than three rows or columns.

    Examples
    --------
    >>> similarity_of_rows(np.eye(9)[:4], np.eye(9)[:4])
    1.0
    """
    K, K_hat = (np.asarray(x, dtype=np.float64) for x in (truth, completed))
    if K.shape != K_hat.shape or K.ndim != 2:
        raise ValueError(f"truth has shape {K.shape}, completed {K_hat.shape}; pass the same rows of both")
    side = min(K.shape)
    window = min(7, side if side % 2 else side - 1)
    if window < 3:
        return float("nan")
    c1, c2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    m, m_hat = _local_mean(K, window), _local_mean(K_hat, window)
    bessel = window**2 / (window**2 - 1)  # from the variance of the square to that of a sample
    var = bessel * (_local_mean(K * K, window) - m * m)
    var_hat = bessel * (_local_mean(K_hat * K_hat, window) - m_hat * m_hat)
    cov = bessel * (_local_mean(K * K_hat, window) - m * m_hat)
    luminance = (2 * m * m_hat + c1) / (m * m + m_hat * m_hat + c1)
    structure = (2 * cov + c2) / (var + var_hat + c2)
    return float((luminance * structure).mean())


def _local_mean(K: _Floats, window: int) -> _Floats:
    """Mean over each square that fits: (m, n) to (m - window + 1, n - window + 1)."""
    inside = tuple(slice(window // 2, size - window // 2) for size in K.shape)
    return np.asarray(uniform_filter(K, size=window)[inside])


def _positive_norm(v: int, K: _Floats) -> float:
    """Frobenius norm of the true kernel of view `v`, which must not be zero."""
    norm = float(np.linalg.norm(K))
    if not norm:
        raise ValueError(f"truth: view {v} is all zero, so no error is relative to it; drop it")
    return norm


def _average_views(values: Sequence[Any], average: bool) -> float | _Floats:
    """The mean of one number per view, or the numbers as an array of shape (V,)."""
    return float(np.mean(values)) if average else np.array(values)


def _pair_views(
    truth: _Kernels, completed: _Kernels
) -> tuple[_Shape, Iterator[tuple[int, _Floats, _Floats]]]:
    """The shape (V, n, n) of both, and an iterator over ``v, K, K_hat``, each kernel of shape (n, n)."""
    for attribute in ("ids", "names"):
        left, right = getattr(truth, attribute, None), getattr(completed, attribute, None)
        if left is not None and right is not None and not np.array_equal(left, right):
            raise ValueError(
                f"truth and completed have different {attribute}; bring them into the same order"
            )
    (shape, K), (shape_hat, K_hat) = _iterate_views("truth", truth), _iterate_views("completed", completed)
    if shape != shape_hat:
        raise ValueError(
            f"truth has shape {shape}, completed {shape_hat} (views, samples, samples); "
            "pass the same views and samples in both"
        )
    return shape, ((v, *pair) for v, pair in enumerate(zip(K, K_hat, strict=True)))


def _iterate_views(argument: str, kernels: Any) -> tuple[_Shape, Iterator[_Floats]]:
    """The shape (V, n, n) of kernels, and an iterator over those of the views, checked to be without gaps.

    `argument` is what errors call them, "truth" or "completed".
    """
    if isinstance(kernels, KernelViews):
        shape: _Shape = (kernels.n_views, *kernels.shape)
        stack: Iterator[Any] = (kernels.select([view]).to_dense()[0] for view in kernels.names)
    else:
        shapes = [np.shape(block) for block in kernels]
        if len(set(shapes)) != 1:
            raise ValueError(f"{argument}: views have shapes {shapes}; pass kernels over the same samples")
        K = np.asarray(kernels, dtype=np.float64)
        K = K[None] if K.ndim == 2 else K
        shape, stack = K.shape, iter(K)
    if len(shape) != 3 or shape[1] != shape[2]:
        raise ValueError(f"{argument} has shape {shape}; pass (n, n) or (V, n, n)")
    return shape, (_check_complete(argument, v, K) for v, K in enumerate(stack))


def _check_complete(argument: str, v: int, K: _Floats) -> _Floats:
    """`K`, which must be finite."""
    n_missing = int((~np.isfinite(K)).sum())
    if n_missing:
        raise ValueError(
            f"{argument}: {n_missing} entries of view {v} are NaN or infinite; complete it first"
        )
    return K


def _check_observed(observed: Any, shape: _Shape) -> _Mask:
    """`observed`, a mask or what has one, as booleans of `shape` (samples, views)."""
    mask = np.asarray(getattr(observed, "observed", observed))
    mask = mask[:, None] if mask.ndim == 1 else mask
    if mask.shape != shape or mask.dtype != np.bool_:
        raise ValueError(
            f"observed has shape {mask.shape} and type {mask.dtype}; pass booleans of shape "
            f"{shape} (samples, views), True where the sample was observed"
        )
    return mask


# ------------------------------------------------------------------------------------------ several labels


def one_error(truth: ArrayLike, scores: ArrayLike) -> float:
    """Share of samples whose highest-scored known label is negative; lower is better.

    Parameters
    ----------
    truth : array-like of shape (n_samples, n_labels)
        Positive (> 0), negative (<= 0) or NaN (unknown).
    scores : array-like of shape (n_samples, n_labels)
        Higher for labels that a sample is thought to have.

    Examples
    --------
    >>> one_error([[1, 0, np.nan], [0, 1, 0]], [[0.9, 0.1, 1.0], [0.8, 0.3, 0.1]])
    0.5
    """
    positive, known, S = _check_labels(truth, scores)
    rows = np.flatnonzero(positive.any(axis=1))
    top = np.where(known, S, -np.inf)[rows].argmax(axis=1)
    return _mean(~positive[rows, top])


def coverage(truth: ArrayLike, scores: ArrayLike, *, normalize: bool = False) -> float:
    """How far down the ranking the last positive label is (0: at the top); lower is better.

    Parameters
    ----------
    truth : array-like of shape (n_samples, n_labels)
        Positive (> 0), negative (<= 0) or NaN (unknown).
    scores : array-like of shape (n_samples, n_labels)
        Higher for labels that a sample is thought to have.
    normalize : bool, default False
        Divide by the number of the sample's known labels less one, for values in [0, 1].

    Examples
    --------
    >>> coverage([[1, 0, 1]], [[0.9, 0.5, 0.1]])
    2.0
    """
    positive, known, S = _check_labels(truth, scores)
    rows = positive.any(axis=1) & ((known.sum(axis=1) > 1) if normalize else True)
    positive, known, S = positive[rows], known[rows], S[rows]
    lowest = np.where(positive, S, np.inf).min(axis=1, keepdims=True)  # score of the last positive label
    depth = (known & (lowest <= S)).sum(axis=1) - 1.0
    return _mean(depth / (known.sum(axis=1) - 1) if normalize else depth)


def ranking_loss(truth: ArrayLike, scores: ArrayLike) -> float:
    """Share of pairs (positive, negative) in the wrong order; lower is better.

    Equal scores are in the wrong order, as in scikit-learn's ``label_ranking_loss``: a constant score has
    loss 1.

    Parameters
    ----------
    truth : array-like of shape (n_samples, n_labels)
        Positive (> 0), negative (<= 0) or NaN (unknown).
    scores : array-like of shape (n_samples, n_labels)
        Higher for labels that a sample is thought to have.

    Examples
    --------
    >>> ranking_loss([[1, 0, np.nan, 0]], [[0.5, 0.9, 1.0, 0.1]])
    0.5
    >>> ranking_loss([[1, 0]], [[0.5, 0.5]])
    1.0
    """
    positive, known, S = _check_labels(truth, scores)
    negative = known & ~positive
    rows = positive.any(axis=1) & negative.any(axis=1)
    positive, negative, S = positive[rows], negative[rows], S[rows]
    n_wrong = np.zeros(len(S))
    for j in range(S.shape[1]):  # label j as the positive one of the pair
        n_wrong += positive[:, j] * (negative & (S[:, [j]] <= S)).sum(axis=1)
    return _mean(n_wrong / (positive.sum(axis=1) * negative.sum(axis=1)))


def average_precision(truth: ArrayLike, scores: ArrayLike) -> float:
    """Of the labels ranked down to each positive one, the share that is positive; higher is better.

    Parameters
    ----------
    truth : array-like of shape (n_samples, n_labels)
        Positive (> 0), negative (<= 0) or NaN (unknown).
    scores : array-like of shape (n_samples, n_labels)
        Higher for labels that a sample is thought to have.

    Examples
    --------
    >>> average_precision([[1, 0, np.nan, 1]], [[0.9, 0.5, 1.0, 0.1]])  # (1 + 2/3) / 2
    0.8333333333333333
    """
    positive, known, S = _check_labels(truth, scores)
    rows = positive.any(axis=1)
    positive, known, S = positive[rows], known[rows], S[rows]
    total = np.zeros(len(S))
    for j in range(S.shape[1]):
        ranked = known & (S[:, [j]] <= S)  # down to label j, and with it
        precision = (positive & ranked).sum(axis=1) / np.maximum(ranked.sum(axis=1), 1)
        total += np.where(positive[:, j], precision, 0.0)
    return _mean(total / positive.sum(axis=1))


def roc_auc(truth: ArrayLike, scores: ArrayLike, *, average: bool = True) -> float | _Floats:
    """Area under the ROC curve of each label; higher is better.

    The share of pairs of samples, one with the label and one without, whose scores are in the right
    order.  Ties count half; unknown labels (NaN in `truth`) are left out.

    Parameters
    ----------
    truth : array of shape (n_samples, n_labels)
        Positive (> 0), negative (<= 0) or NaN.
    scores : array of shape (n_samples, n_labels)
        Higher for those who are thought to have the label.
    average : bool, default True
        The mean over labels, or one number for each.

    Returns
    -------
    float or ndarray of shape (n_labels,)
        A label that all known samples have, or none, is NaN and does not enter the mean, which is NaN only
        if all of them are.

    Examples
    --------
    >>> Y = [[1, 1], [0, 1], [1, np.nan], [0, 1]]
    >>> roc_auc(Y, [[0.9, 1], [0.5, 2], [0.5, 3], [0.1, 4]], average=False)
    array([0.875,   nan])
    """
    positive, known, S = _check_labels(truth, scores)
    areas = np.array([_roc_area(p[k], s[k]) for p, k, s in zip(positive.T, known.T, S.T, strict=True)])
    return _mean(areas[~np.isnan(areas)]) if average else areas


def _roc_area(positive: _Mask, scores: _Floats) -> float:
    """The area of one label by the statistic of Mann and Whitney; both arrays have shape (n_samples,)."""
    n_positive = int(positive.sum())
    n_pairs = n_positive * (len(positive) - n_positive)
    if not n_pairs:
        return float("nan")
    rank_sum = rankdata(scores)[positive].sum()  # tied scores share the mean of their ranks
    return float((rank_sum - n_positive * (n_positive + 1) / 2) / n_pairs)


def _check_labels(truth: ArrayLike, scores: ArrayLike) -> tuple[_Mask, _Mask, _Floats]:
    """Which labels are known to be positive, which are known, and scores: all (samples, labels)."""
    if np.iscomplexobj(truth) or np.iscomplexobj(scores):
        raise ValueError("truth or scores are complex; pass real numbers")
    Y, S = np.asarray(truth, dtype=float), np.asarray(scores, dtype=float)
    if Y.ndim != 2 or Y.shape != S.shape:
        raise ValueError(f"truth has shape {Y.shape}, scores {S.shape}; pass (samples, labels) in both")
    known = ~np.isnan(Y)
    if np.isnan(S[known]).any():
        i, j = np.argwhere(np.isnan(S) & known)[0]
        raise ValueError(f"scores: sample {i}, label {j} is NaN, though its truth is known")
    return known & (Y > 0), known, S


def _mean(values: _Floats | _Mask) -> float:
    """The mean, nan of nothing."""
    return float(np.mean(values)) if len(values) else float("nan")
