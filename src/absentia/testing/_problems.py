"""Small problems that checks are tried on."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from absentia import datasets
from absentia.core import Array
from absentia.data import KernelViews, missingness

#: How far the same problem in another order, or with other rounding, may end from itself, relative: sums in
#: another order round differently, by some 1e-15, and a hundred steps of a descent multiply that.
REORDERED = 1e-6


def random_kernels(n: int = 40, n_views: int = 4, seed: int = 0) -> Array:
    """Positive definite kernels that share structure, (n_views, n, n), unit diagonal."""
    return np.asarray(datasets.make_multiview(n, n_views, noise=0.3, random_state=seed).kernels.to_dense())


def random_problem(n: int = 40, n_views: int = 4, absent: float = 0.3, seed: int = 0) -> KernelViews:
    """The same with cells missing."""
    keep = missingness.mcar((n, n_views), absent, random_state=seed)
    return KernelViews.from_dense(random_kernels(n, n_views, seed), observed=keep)


def noisy(K: Array, size: float, rng: np.random.Generator) -> Array:
    """Kernels with symmetric relative noise."""
    noise = size * rng.standard_normal(K.shape)
    return np.asarray(K * (1 + (noise + noise.transpose(0, 2, 1)) / 2))


@contextmanager
def refused(kind: type[Exception], *words: str) -> Iterator[None]:
    """Inside, something must be refused by an error of this kind that says these words."""
    try:
        yield
    except kind as error:
        lacking = [word for word in words if word not in str(error)]
        if lacking:
            raise AssertionError(f"the error does not say {lacking}: {error}") from error
    else:
        raise AssertionError(f"nothing was refused; a {kind.__name__} is wanted that says {list(words)}")
