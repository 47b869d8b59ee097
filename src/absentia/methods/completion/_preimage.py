"""Features of absent samples, from where they lie among the observed ones.

A completed kernel says that an absent sample t is the combination ``sum_i a_ti phi_i`` of the observed
samples, with ``a = W C'`` (see ``_placement``), in the space that the kernel has made of the features.  The
same combination of the features themselves is

* exact if the kernel is ``B B'``, B the features: then ``phi_i`` *are* the features.  That is seen from the
  frame, as ``G = K C`` is then ``B (B' C)``;
* otherwise an estimate, taken about the mean: ``mean + sum_i a_ti (b_i - mean)``.  So it is exact, too, for
  linear kernels of standardised features, and weights that do not add up to one shrink no sample to zero.

Codes of categories are not averaged: each level is a feature of zeros and ones, and the largest wins.
Values that are missing in observed rows count as their feature's mean, as in :class:`absentia.ViewKernels`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

from absentia.core import Array

#: Two matrices that agree to this, relative to the largest value, are one.
SAME = 1e-6
#: Levels whose weights differ by less are tied; the first wins.
TIED = 1e-9


def features_at(block: Any, sizes: Mapping[int, int], C: Array | None, G: Array, W: Array) -> Array:
    """Features of samples that lie at `W` along the axes `C`, combinations of samples of features `block`.

    `G` are the axes' kernel values with those samples; C None: these are the axes (see ``Frame``).
    `sizes` are the numbers of levels of those columns that hold codes.
    """
    B = _mean_filled(_indicators(block, sizes) if sizes else block)
    mean = np.zeros(B.shape[1]) if _is_linear(C, G, B) else np.asarray(B.mean(axis=0)).ravel()
    along = B if C is None else _product(C.T, B)
    ones = np.ones(B.shape[0]) if C is None else C.sum(axis=0)
    # W C' (B - 1 mean') + 1 mean', nothing of the size of B formed
    rows = _product(W, along) + np.outer(1.0 - W @ ones, mean)
    return _coded(rows, sizes, block.shape[1]) if sizes else rows


def _is_linear(C: Array | None, G: Array, B: Any) -> bool:
    """Whether the kernel is that of the features as they are."""
    expected = _product(B, B.T if C is None else _product(B.T, C))
    largest = float(np.abs(G).max(initial=0.0))
    return largest > 0 and bool(np.abs(expected - G).max() <= SAME * largest)


def _product(A: Any, B: Any) -> Array:
    product = A @ B
    return np.asarray(product.toarray() if scipy.sparse.issparse(product) else product)


def _mean_filled(B: Any) -> Any:
    if scipy.sparse.issparse(B):
        return B  # kernels of sparse views have no missing values
    B = np.asarray(B, dtype=np.float64)
    missing = np.isnan(B)
    if not missing.any():
        return B
    known = np.maximum((~missing).sum(axis=0), 1)
    return np.where(missing, np.where(missing, 0.0, B).sum(axis=0) / known, B)


def _indicators(block: Array, sizes: Mapping[int, int]) -> Array:
    """The columns of numbers, then for each column of codes one of zeros and ones for every level."""
    numbers = [j for j in range(block.shape[1]) if j not in sizes]
    parts = [np.asarray(block[:, numbers], dtype=np.float64)]
    for j, size in sizes.items():
        codes = block[:, j]
        known = np.where(np.isnan(codes)[:, None], np.nan, codes[:, None] == np.arange(size))
        parts.append(known)
    return np.column_stack(parts)


def _coded(rows: Array, sizes: Mapping[int, int], width: int) -> Array:
    """Columns as they came, codes being the levels of largest weight."""
    numbers = [j for j in range(width) if j not in sizes]
    found = np.empty((len(rows), width))
    found[:, numbers] = rows[:, : len(numbers)]
    ends = np.cumsum([len(numbers), *sizes.values()])
    for j, begin, end in zip(sizes, ends[:-1], ends[1:], strict=True):
        weights = rows[:, begin:end]
        found[:, j] = np.argmax(weights >= weights.max(axis=1, keepdims=True) - TIED, axis=1)
    return found
