"""How well were kernels completed, and how well labels ranked where some are unknown?

For kernels, the four measures of Huusari, Capponi, Villoutreix and Kadri, "Cross-view kernel transfer",
Pattern Recognition 129 (2022), and the LogDet divergence.  Kernels come as one (n, n) matrix, as (V, n, n),
as a list of matrices or as `KernelViews`; both the truth and what is measured against it must be complete.
Each measure is one number per view: ``average=True`` returns the mean over views, ``average=False`` an
array.  `KernelViews` are made arrays one view at a time.

For several labels, one-error, coverage, ranking loss and average precision as in scikit-learn (coverage
counts from zero, as in the multi-label literature, unlike scikit-learn's), over the *known* labels of each
sample only.  Labels are positive (> 0), negative (<= 0) or NaN (unknown).  Samples for which a measure has
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

from absentia.core.linalg import logdet_divergence
from absentia.data._kernelviews import KernelViews
from absentia.data._presence import Presence

__all__ = [
    "are",
    "average_precision",
    "ca_error",
    "coverage",
    "frobenius_error",
    "hamming_error",
    "logdet_divergence",
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
    _, pairs = _pairs(truth, completed)
    per_view = []
    for v, K, K_hat in pairs:
        norms = _true_norm(v, K) * _norm(K_hat)
        alignment = (K * K_hat).sum() / (norms if norms > 0 else 1.0)
        per_view.append(max(1 - alignment, 0.0))  # rounding dips below zero
    return _result(per_view, average)


def are(
    truth: _Kernels, completed: _Kernels, observed: ArrayLike | Presence, *, average: bool = True
) -> float | _Floats:
    r"""Average relative error of the rows that were missing (eq. 8, not squared), lower is better.

    .. math:: \operatorname{mean}_{t \text{ missing}} \|\hat K_{t:} - K_{t:}\| / \|K_{t:}\|

    `observed` (n_samples x n_views, True = was observed; n_samples suffice for one matrix) says
    which rows to skip.  Rows whose truth is zero have no relative error and are skipped as well.
    A view with nothing to measure is nan and does not enter the average, which is nan only if
    there is nothing to measure in any view.

    Examples
    --------
    >>> are(np.eye(2), np.zeros((2, 2)), [True, False])
    1.0
    """
    shape, pairs = _pairs(truth, completed)
    seen, per_view = _seen(observed, shape[1::-1]), []
    for v, K, K_hat in pairs:
        size = np.linalg.norm(K, axis=1)
        measured = ~seen[:, v] & (size > 0)
        error = np.linalg.norm(K_hat - K, axis=1)[measured] / size[measured]
        per_view.append(error.mean() if len(error) else np.nan)
    measured_views = [x for x in per_view if not np.isnan(x)]
    return _result(measured_views if average and measured_views else per_view, average)


def frobenius_error(truth: _Kernels, completed: _Kernels, *, average: bool = True) -> float | _Floats:
    r"""Relative error of the whole kernel, observed part included (eq. 9), lower is better.

    .. math:: \|K - \hat K\|_F / \|K\|_F

    Examples
    --------
    >>> frobenius_error(np.eye(2), 1.5 * np.eye(2))
    0.5
    """
    _, pairs = _pairs(truth, completed)
    return _result([_norm(K - K_hat) / _true_norm(v, K) for v, K, K_hat in pairs], average)


def structural_similarity(
    truth: _Kernels, completed: _Kernels, *, average: bool = True, window: int = 7, data_range: float = 2.0
) -> float | _Floats:
    """Structural similarity of kernels seen as images (eq. 10), higher is better, at most 1.

    Eq. 10 with sample covariances in every `window` x `window` square that fits in the matrix,
    ``c1 = (0.01 data_range)^2`` and ``c2 = (0.03 data_range)^2``, averaged over squares: what image
    libraries compute.  The default `data_range`, that of kernels within [-1, 1], gives the paper's
    figures.  The order of samples matters.

    Examples
    --------
    >>> structural_similarity(np.eye(9), np.eye(9))
    1.0
    """
    shape, pairs = _pairs(truth, completed)
    _check_window(window, shape[1], data_range)
    c1, c2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    return _result([_similarity(K, K_hat, window, c1, c2) for _, K, K_hat in pairs], average)


def similarity_of_rows(truth: ArrayLike, completed: ArrayLike, *, data_range: float = 2.0) -> float:
    """Structural similarity of some rows of a kernel, (m, n), such as those that had been hidden.

    As :func:`structural_similarity` with the largest window of at most 7 that fits; nan if there are fewer
    than three rows or columns.

    Examples
    --------
    >>> similarity_of_rows(np.eye(9)[:4], np.eye(9)[:4])
    1.0
    """
    K, K_hat = (np.asarray(x, dtype=np.float64) for x in (truth, completed))
    if K.shape != K_hat.shape or K.ndim != 2:
        raise ValueError(f"truth has shape {K.shape}, completed {K_hat.shape}; pass the same rows of both")
    window = min(7, min(K.shape) - 1 + min(K.shape) % 2)
    if window < 3:
        return float("nan")
    return _similarity(K, K_hat, window, (0.01 * data_range) ** 2, (0.03 * data_range) ** 2)


def _similarity(K: _Floats, K_hat: _Floats, window: int, c1: float, c2: float) -> float:
    m, m_hat = _local_mean(K, window), _local_mean(K_hat, window)
    to_sample = window**2 / (window**2 - 1)
    var = to_sample * (_local_mean(K * K, window) - m * m)
    var_hat = to_sample * (_local_mean(K_hat * K_hat, window) - m_hat * m_hat)
    cov = to_sample * (_local_mean(K * K_hat, window) - m * m_hat)
    luminance = (2 * m * m_hat + c1) / (m * m + m_hat * m_hat + c1)
    structure = (2 * cov + c2) / (var + var_hat + c2)
    return float((luminance * structure).mean())


def _local_mean(K: _Floats, window: int) -> _Floats:
    """Mean over each square that fits: (m, n) to (m - window + 1, n - window + 1)."""
    inside = tuple(slice(window // 2, size - window // 2) for size in K.shape)
    return np.asarray(uniform_filter(K, size=window)[inside])


def _check_window(window: int, n: int, data_range: float) -> None:
    if window % 2 == 0 or not 3 <= window <= n:
        raise ValueError(f"window={window} on kernels of {n} samples; pass an odd number from 3 to {n}")
    if not data_range > 0:
        raise ValueError(f"data_range={data_range}; pass the positive span of the kernel's values")


def _norm(K: _Floats) -> float:
    return float(np.linalg.norm(K))


def _true_norm(v: int, K: _Floats) -> float:
    norm = _norm(K)
    if not norm:
        raise ValueError(f"truth: view {v} is all zero, so no error is relative to it; drop it")
    return norm


def _result(per_view: Sequence[float], average: bool) -> float | _Floats:
    return float(np.mean(per_view)) if average else np.array(per_view)


def _pairs(truth: _Kernels, completed: _Kernels) -> tuple[_Shape, Iterator[tuple[int, _Floats, _Floats]]]:
    """The shape of both stacks, and the number and the two kernels of each view, one view at a time."""
    for what in ("ids", "names"):
        one, other = getattr(truth, what, None), getattr(completed, what, None)
        if one is not None and other is not None and not np.array_equal(one, other):
            raise ValueError(f"truth and completed have different {what}; bring them into the same order")
    (shape, K), (shape_hat, K_hat) = _stack("truth", truth), _stack("completed", completed)
    if shape != shape_hat:
        raise ValueError(
            f"truth has shape {shape}, completed {shape_hat} (views, samples, samples); "
            "pass the same views and samples in both"
        )
    return shape, ((v, *pair) for v, pair in enumerate(zip(K, K_hat, strict=True)))


def _stack(name: str, kernels: Any) -> tuple[_Shape, Iterator[_Floats]]:
    """The shape (V, n, n) of kernels, and the complete kernels of the views, one after the other."""
    if isinstance(kernels, KernelViews):
        shape: _Shape = (kernels.n_views, *kernels.shape)
        stack: Iterator[Any] = (kernels.select([view]).to_dense()[0] for view in kernels.names)
    else:
        shapes = [np.shape(block) for block in kernels]
        if len(set(shapes)) != 1:
            raise ValueError(f"{name}: views have shapes {shapes}; pass kernels over the same samples")
        K = np.asarray(kernels, dtype=np.float64)
        K = K[None] if K.ndim == 2 else K
        shape, stack = K.shape, iter(K)
    if len(shape) != 3 or shape[1] != shape[2]:
        raise ValueError(f"{name} has shape {shape}; pass (n, n) or (V, n, n)")
    return shape, (_check_complete(name, v, K) for v, K in enumerate(stack))


def _check_complete(name: str, v: int, K: _Floats) -> _Floats:
    n_missing = int((~np.isfinite(K)).sum())
    if n_missing:
        raise ValueError(f"{name}: {n_missing} entries of view {v} are NaN or infinite; complete it first")
    return K


def _seen(observed: Any, shape: _Shape) -> _Mask:
    """`observed` as samples x views."""
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

    Examples
    --------
    >>> one_error([[1, 0, np.nan], [0, 1, 0]], [[0.9, 0.1, 1.0], [0.8, 0.3, 0.1]])
    0.5
    """
    positive, known, S = _check_labels(truth, scores)
    use = positive.any(axis=1)
    top = np.where(known, S, -np.inf)[use].argmax(axis=1)
    return _mean(~positive[use][np.arange(len(top)), top])


def coverage(truth: ArrayLike, scores: ArrayLike, *, normalize: bool = False) -> float:
    """How far down the ranking the last positive label is (0: at the top); lower is better.

    With `normalize`, divided by the number of known labels less one.

    Examples
    --------
    >>> coverage([[1, 0, 1]], [[0.9, 0.5, 0.1]])
    2.0
    """
    positive, known, S = _check_labels(truth, scores)
    use = positive.any(axis=1) & ((known.sum(axis=1) > 1) if normalize else True)
    last = np.where(positive, S, np.inf).min(axis=1)[use]
    depth = (known[use] & (S[use] >= last[:, None])).sum(axis=1) - 1.0
    return _mean(depth / (known[use].sum(axis=1) - 1) if normalize else depth)


def ranking_loss(truth: ArrayLike, scores: ArrayLike) -> float:
    """Share of pairs (positive, negative) in the wrong order; lower is better.

    Equal scores are in the wrong order, as in scikit-learn's ``label_ranking_loss``: a constant score has
    loss 1.

    Examples
    --------
    >>> ranking_loss([[1, 0, np.nan, 0]], [[0.5, 0.9, 1.0, 0.1]])
    0.5
    >>> ranking_loss([[1, 0]], [[0.5, 0.5]])
    1.0
    """
    positive, known, S = _check_labels(truth, scores)
    negative = known & ~positive
    use = positive.any(axis=1) & negative.any(axis=1)
    p, q, S = positive[use], negative[use], S[use]
    wrong = np.zeros(len(S))
    for j in range(S.shape[1]):  # label j as the positive one of the pair
        wrong += p[:, j] * (q & (S[:, [j]] <= S)).sum(axis=1)
    return _mean(wrong / (p.sum(axis=1) * q.sum(axis=1)))


def average_precision(truth: ArrayLike, scores: ArrayLike) -> float:
    """Of the labels ranked down to each positive one, the share that is positive; higher is better.

    Examples
    --------
    >>> average_precision([[1, 0, np.nan, 1]], [[0.9, 0.5, 1.0, 0.1]])  # (1 + 2/3) / 2
    0.8333333333333333
    """
    positive, known, S = _check_labels(truth, scores)
    use = positive.any(axis=1)
    p, k, S = positive[use], known[use], S[use]
    total = np.zeros(len(S))
    for j in range(S.shape[1]):
        above = S[:, [j]] <= S
        total += np.where(p[:, j], (p & above).sum(axis=1) / np.maximum((k & above).sum(axis=1), 1), 0.0)
    return _mean(total / p.sum(axis=1))


def hamming_error(truth: ArrayLike, predicted: ArrayLike) -> float:
    """Share of the known labels that are predicted wrong (by their sign); lower is better.

    Examples
    --------
    >>> hamming_error([[1, -1, np.nan]], [[1, 1, 1]])
    0.5
    """
    positive, known, S = _check_labels(truth, predicted)
    return _mean((S > 0)[known] != positive[known])


def roc_auc(truth: ArrayLike, scores: ArrayLike, *, average: bool = True) -> float | _Floats:
    """Share of pairs of samples, one that has a label and one that has not, in the right order, by label.

    The area under the ROC curve.  Ties count half; unknown labels (NaN in `truth`) are left out.

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
    areas = np.array([_area(p[k], s[k]) for p, k, s in zip(positive.T, known.T, S.T, strict=True)])
    return _mean(areas[~np.isnan(areas)]) if average else areas


def _area(positive: _Mask, score: _Floats) -> float:
    """From the ranks of the positive ones (Mann and Whitney): ties have the mean of theirs."""
    p = int(positive.sum())
    q = len(positive) - p
    if not p or not q:
        return float("nan")
    return float((rankdata(score)[positive].sum() - p * (p + 1) / 2) / (p * q))


def _check_labels(truth: ArrayLike, scores: ArrayLike) -> tuple[_Mask, _Mask, _Floats]:
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
    return float(np.mean(values)) if len(values) else float("nan")
