r"""How well were labels ranked, where some are unknown?

One-error, coverage, ranking loss and average precision as in scikit-learn (coverage counts from zero, as
in the multi-label literature, unlike scikit-learn's), over the *known* labels of each sample only.  Labels
are positive (> 0), negative (<= 0) or NaN (unknown).  Samples for which a measure has no meaning are
skipped: no known positive label for one-error, coverage and average precision; not both kinds for the
ranking loss.  Tied scores count against, as in scikit-learn; in the area under the ROC curve, which looks
at each label over the samples, half.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

__all__ = ["average_precision", "coverage", "hamming_error", "one_error", "ranking_loss", "roc_auc"]

_Floats = NDArray[np.float64]
_Mask = NDArray[np.bool_]


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
