"""Leading principal components of complete kernels (kernel PCA), of each view or of their weighted sum.

Kernels are operators: centred in feature space, never formed.  Let ``K = sum_v w_v K_v`` and
``H = I - 11'/n``.  The components are the eigenvectors U of ``H K H`` and the samples' coordinates
``U sqrt(lambda)``.  As the columns of U add up to zero, a new sample with kernel row k has the coordinates
``(k U - m' U) / sqrt(lambda)``, m the row means of K: again one thin product.

Lanczos' method finds them from products ``K x`` alone.  It is given ``H K H + c I`` with c the trace: its
tolerance is relative to the eigenvalue, and that of a kernel of low rank may be zero.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from absentia.core import Array, Operator, make_generator, serializable
from absentia.core.linalg import inverse_sqrt, rounding_level, symmetrize
from absentia.data._ids import show_id
from absentia.data._kernelviews import KernelViews, check_square_kernels
from absentia.data._order import order_kernels

#: Up to so many samples eigenvectors are found of the whole matrix, which is quicker there.
_SMALL = 300
#: Eigenvalues below this share of the largest are rounding: the kernel has no such direction.
_NEGLIGIBLE = 1e-10
#: Entries within this of the largest are as large: which decides the sign does not hang on rounding.
_SAME = 1e-6


@serializable
@dataclass(frozen=True)
class Components:
    """Directions of a centred kernel: orthonormal `vectors` (n x k) and their eigenvalues.

    Where the kernel has fewer than k directions the last columns and `values` are zero.  `total` is the sum
    of all eigenvalues, `offset` what is subtracted from ``rows @ vectors`` to centre new samples.
    """

    vectors: Array
    values: Array
    total: float
    offset: Array

    @property
    def scores(self) -> Array:
        """Coordinates of the samples themselves."""
        return np.asarray(self.vectors * np.sqrt(self.values))

    @property
    def shares(self) -> Array:
        """Part of all variance along each component."""
        return self.values / self.total if self.total > 0 else np.zeros(len(self.values))

    def project(self, along: Array) -> Array:
        """Coordinates of new samples, from their kernel rows times :attr:`vectors`."""
        return np.asarray((along - self.offset) * inverse_sqrt(self.values))


# --------------------------------------------------------------------------------------- of several views


def view_components(kernels: KernelViews, n_components: int) -> dict[str, Components]:
    """The components of every view, in its kernel's own units."""
    _check_complete(kernels, n_components)
    order = order_kernels(kernels).samples
    return {
        name: _find_components([kernels.operator(name)], [1.0], n_components, order)
        for name in kernels.names
    }


def fused_components(kernels: KernelViews, n_components: int) -> tuple[Components, Array]:
    """The components of the weighted sum of all kernels, and the weights.

    A view's weight is one over its total variance and the number of views, so that no view counts more for
    being on another scale; where all samples are one, it has none.
    """
    _check_complete(kernels, n_components)
    operators: list[Operator] = [kernels.operator(name) for name in kernels.names]
    variances = np.array([_total_variance(K) for K in operators])
    varies = variances > 0
    weights = np.where(varies, len(kernels) / np.where(varies, variances, 1.0), 0.0) / max(varies.sum(), 1)
    return _find_components(
        operators, weights.tolist(), n_components, order_kernels(kernels).samples
    ), weights


def _check_complete(kernels: KernelViews, n_components: int) -> None:
    check_square_kernels(kernels)
    if not isinstance(n_components, int | np.integer) or n_components < 1:
        raise ValueError(f"n_components must be a whole number of 1 or more, not {n_components!r}")
    for name, present in zip(kernels.names, kernels.observed.T, strict=True):
        if not present.all():
            raise ValueError(
                f"view {name!r} is absent for {int((~present).sum())} sample(s), e.g. "
                f"{show_id(kernels.ids[np.argmin(present)])}; complete the kernels first, "
                "CVKT(rounds=3).fit_transform(kernels), or use absentia.embed, which does"
            )


# ---------------------------------------------------------------------------------------- of any operators


def _total_variance(K: Operator) -> float:
    """Sum of the eigenvalues of ``H K H``: the samples' squared distances from their mean.

    Zero where that is rounding: all samples are one.
    """
    n = K.shape[0]
    if not n:
        return 0.0
    ones = np.ones((n, 1))
    trace = float(K.diagonal().sum(dtype=np.float64))
    distances = trace - float((ones.T @ (K @ ones)).item()) / n
    return distances if distances > rounding_level(K.dtype) * trace else 0.0


def _find_components(
    kernels: Sequence[Operator], weights: Sequence[float], k: int, order: Array
) -> Components:
    """The `k` leading components of a weighted sum of kernels over the same samples.

    `order` are the samples' positions in canonical order: where Lanczos starts, and which of two equally
    large entries is made positive, goes with it.
    """
    n = len(order)

    def times(X: Array) -> Array:
        product = np.zeros(X.shape)
        for weight, K in zip(weights, kernels, strict=True):
            product += weight * (K @ X)
        return product

    total = sum(w * _total_variance(K) for w, K in zip(weights, kernels, strict=True))
    vectors, values = np.zeros((n, k)), np.zeros(k)
    count = min(k, max(n - 1, 0))
    if total > 0 and count:
        values[:count], vectors[:, :count] = _leading_eigenpairs(times, count, total, order)
    real = values > _NEGLIGIBLE * values.max(initial=0.0)
    values, vectors = np.where(real, values, 0.0), np.where(real, vectors, 0.0)
    vectors = vectors * _signs(vectors[order])
    means = times(np.full((n, 1), 1 / max(n, 1)))
    return Components(vectors, values, total, (means.T @ vectors).ravel())


def _leading_eigenpairs(
    times: Callable[[Array], Array], k: int, total: float, order: Array
) -> tuple[Array, Array]:
    """Largest eigenvalues, and their vectors, of ``H K H``."""
    n = len(order)

    def times_centred(X: Array) -> Array:
        X = times(X - X.mean(axis=0))
        return np.asarray(X - X.mean(axis=0))

    if n <= max(_SMALL, 2 * k + 2):
        values, vectors = scipy.linalg.eigh(symmetrize(times_centred(np.eye(n))), check_finite=False)
        return values[::-1][:k], vectors[:, ::-1][:, :k]
    from scipy.sparse.linalg import LinearOperator, eigsh

    rng = make_generator(0)
    start = np.empty(n)
    start[order] = rng.standard_normal(n)
    shifted = LinearOperator(
        (n, n), lambda x: (times_centred(x.reshape(n, 1)) + total * x.reshape(n, 1)).ravel()
    )
    # SciPy 1.17 draws where Lanczos breaks down, and would draw anew each time
    seeded = {"rng": rng} if "rng" in inspect.signature(eigsh).parameters else {}
    values, vectors = eigsh(shifted, k, which="LA", v0=start, ncv=min(n, max(2 * k + 1, 20)), **seeded)
    down = np.argsort(-values, kind="stable")
    return values[down] - total, vectors[:, down]


def _signs(vectors: Array) -> Array:
    """Signs that make the largest entry of each column positive, of equally large ones the first."""
    if not len(vectors):
        return np.ones(vectors.shape[1])
    size = np.abs(vectors)
    first = np.argmax(size >= (1 - _SAME) * size.max(axis=0), axis=0)
    return np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
