"""How many components a low-rank model gets: eigenvalue rules, and what predicts hidden samples best."""

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from absentia.core import CLEAR, Array
from absentia.methods.completion.mkmc._fast import Seen

#: Eigenvalues are counted on at most so many samples, drawn at random beyond.
MOST = 4000


def count_above(S: Array, threshold: float) -> int:
    """Number of eigenvalues of a symmetric matrix above `threshold`.

    By Sylvester's law of inertia: as many as ``S - threshold I = L D L'`` has positive pivots, at a
    fraction of the cost of the eigenvalues.
    """
    shifted = S - threshold * np.eye(len(S), dtype=S.dtype)
    (factorise,) = scipy.linalg.get_lapack_funcs(("sytrf",), (shifted,))
    ldu, pivots, info = factorise(shifted, lower=1, overwrite_a=1)
    if info < 0:
        raise np.linalg.LinAlgError("symmetric factorisation failed")
    diagonal, below = ldu.diagonal(), ldu.diagonal(-1)
    positive, i = 0, 0
    while i < len(S):
        if pivots[i] > 0:
            positive += int(diagonal[i] > 0)
            i += 1
        else:  # a 2 x 2 pivot; its determinant is negative, unless both eigenvalues have one sign
            determinant = diagonal[i] * diagonal[i + 1] - below[i] ** 2
            positive += 1 if determinant < 0 else 2 * int(diagonal[i] > 0)
            i += 2
    return positive


def count_components(S: Array, rule: str) -> int:
    """Number of eigenvalues of `S` above their mean ("gk", Guttman-Kaiser) or above one ("kaiser").

    Above means by more than :data:`CLEAR`: eigenvalues that are all alike are not counted by rounding.
    """
    threshold = {"gk": float(np.trace(S)) / len(S), "kaiser": 1.0}[rule]
    return int(np.clip(count_above(S, (1 + CLEAR) * threshold), 1, len(S) - 1))


def zero_filled_mean(views: Sequence[Seen], samples: Array) -> Array:
    """Mean of all kernels over `samples`, zero where a sample is absent."""
    S = np.zeros((len(samples), len(samples)))
    for view in views:
        here = np.isin(samples, view.v)
        inside = np.searchsorted(view.v, samples[here])
        S[np.ix_(here, here)] += view.Q.block(inside, inside)
    return S / sum(view.weight for view in views)


def by_rule(views: Sequence[Seen], size: int, rule: str, rng: np.random.Generator, order: Array) -> int:
    """Guttman-Kaiser or Kaiser on the mean of the zero-filled kernels, the papers' first model.

    Of more than :data:`MOST` samples that many are drawn, in their `order`.
    """
    samples = np.arange(size)
    if size > MOST:
        samples = np.sort(order[rng.choice(size, MOST, replace=False)])
    return count_components(zero_filled_mean(views, samples), rule)


def short_path(size: int, counted: int) -> list[int]:
    """Few ranks to try: 2, 4, 8, ... up to a third of the samples, at most 128, and those counted."""
    most = max(min(size // 3, 128), 1)
    return sorted({min(2**i, most) for i in range(1, 8)} | {counted})


def path(size: int) -> list[int]:
    """Ranks to try: 1, 2, 3, 4, 6, 8, 12, 16, ... up to a third of the samples, at most 256."""
    ranks = {1, 2, 3} | {int(2 ** (i / 2)) for i in range(4, 17)}
    most = max(min(size // 3, 256), 1)
    return sorted(q for q in ranks if q <= most)
