"""Random draws that go with the data, not with the order it comes in.

Which samples are hidden to choose a parameter by, which become landmarks, where a random start begins: all
of it is drawn in one order of samples and views that the data decide, so that the same data in another
order, or under other ids, give the same answer.  Samples are ordered by the size of their kernel rows,

    size(t) = sum over the views of t of  sum_i k(t, i)^2 / (mean diagonal)^2,

and views by the sum of their part.  Sizes are compared to nine digits, far above rounding and far below
what samples differ in; those that agree (samples that are alike, kernels without structure) are ordered by
id, and views by name.
"""

from typing import NamedTuple

import numpy as np

from absentia.core import Array, Dense, Gram, Operator, inverse, serializable, thin_gram
from absentia.data._kernelviews import KernelViews
from absentia.data._presence import Presence

#: To so many digits, relative to the largest, sizes are compared.
DIGITS = 9


@serializable
class Ordering(NamedTuple):
    """Positions of samples and of views in the order that draws are made in."""

    samples: Array
    views: Array

    @property
    def numbers(self) -> Array:
        """The place of each sample in that order."""
        return inverse(self.samples)

    def lottery(self, rng: np.random.Generator) -> Array:
        """A random number for each sample."""
        return np.asarray(rng.random(len(self.samples))[self.numbers])

    def among(self, chosen: Array) -> Array:
        """The order of the samples at the positions `chosen`, as positions among them."""
        return np.argsort(self.numbers[chosen], kind="stable")


def ordering(X: KernelViews) -> Ordering:
    """The order of the samples and views of square kernels."""
    sizes = np.zeros(X.observed.shape)
    for v, name in enumerate(X.names):
        mean = X.mean_diagonal(name)
        sizes[X.observed[:, v], v] = _row_squares(X.operator(name), mean) if mean > 0 else 0.0
    return ordered(X, sizes)


def ordered(X: Presence, sizes: Array) -> Ordering:
    """The order by `sizes`, samples x views and not negative; ties by id and by name."""
    samples = np.argsort(rounded(sizes.sum(axis=1))[by_id := _by_id(X.ids)], kind="stable")
    by_name = np.argsort(np.array(X.names), kind="stable")
    views = np.argsort(rounded(sizes.sum(axis=0))[by_name], kind="stable")
    return Ordering(by_id[samples], by_name[views])


# ------------------------------------------------------------------------------------- small pieces


def _row_squares(operator: Operator, scale: float) -> Array:
    """``sum_i k(t, i)^2 / scale^2`` of every row; where that cannot be told, the diagonal's squares."""
    if isinstance(operator, Dense):
        A = operator.A / scale
        return np.einsum("ij,ij->i", A, A, dtype=np.float64)
    if isinstance(operator, Gram):
        left, right = (x / np.sqrt(scale).astype(operator.dtype) for x in (operator.left, operator.right))
        return np.einsum("ij,ij->i", left @ thin_gram(right, right), left, dtype=np.float64)
    return np.asarray(operator.diagonal() / scale, dtype=np.float64) ** 2


def rounded(sizes: Array) -> Array:
    """Sizes relative to the largest, to so many digits that rounding does not show."""
    largest = float(sizes.max(initial=0.0))
    return np.round(sizes / largest, DIGITS) if 0 < largest < np.inf else np.zeros(len(sizes))


def _by_id(ids: Array) -> Array:
    if ids.dtype == object:
        return np.array(sorted(range(len(ids)), key=lambda t: repr(ids[t])), dtype=int)
    return np.argsort(ids, kind="stable")
