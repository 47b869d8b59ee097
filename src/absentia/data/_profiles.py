"""An order of samples and views that comes from what they are, not from where they stand.

Ties are everywhere at the start of a machine (all coefficients are zero), and which of equals is taken
first decides where within `tol` it ends; folds are cut by position.  So that neither the order of samples
nor that of the views changes an answer, both are first brought into an order of their own: by a few numbers
that do not depend on order (sums of a kernel's rows, say), rounded to nine digits, because sums in another
order differ in the last ones.  Samples that agree in all of them stay as they came.
"""

import zlib
from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse

from absentia.core import Array, RandomState, factors_of, generator, has_factors, thin_gram
from absentia.data._kernelviews import KernelViews
from absentia.data._views import Views

DIGITS = 9
COPIED = 2**30  # bytes of kernels that are brought into an order of their own at most

#: More samples than this are many: folds are few, and parameters are chosen on some of them.
MANY = 5000


def kernel_profiles(X: KernelViews) -> list[Array]:
    """For every view and observed sample: its own kernel value, the sum of its row, its sum of squares."""
    return [
        _thin_profile(*factors_of(X.operator(name)))
        if has_factors(X.operator(name))
        else _profile(np.asarray(X.block(name)))
        for name in X.names
    ]


def _thin_profile(Phi: Array, own: Array | None) -> Array:
    """The same of ``Phi Phi' + diag(own)``."""
    if not len(Phi):
        return np.zeros((0, 3))
    own = np.zeros(len(Phi)) if own is None else own
    length = np.einsum("ij,ij->i", Phi, Phi, dtype=np.float64)
    total, S = thin_gram(Phi, np.ones((len(Phi), 1), Phi.dtype))[:, 0], thin_gram(Phi, Phi)
    squares = np.concatenate([np.einsum("ij,ij->i", rows @ S, rows) for rows in _chunks(Phi)])
    columns = [length + own, Phi @ total + own, squares + 2 * own * length + own**2]
    return _digits(np.array(columns, dtype=np.float64).T, float((length + own).max()))


def _chunks(Phi: Array, size: int = 8192) -> Iterator[Array]:
    return (Phi[a : a + size].astype(np.float64) for a in range(0, len(Phi), size))


def _profile(K: Array) -> Array:
    if not len(K):
        return np.zeros((0, 3))
    one = np.ones(len(K), dtype=K.dtype)
    columns = [np.diagonal(K), K @ one, np.einsum("ij,ij->i", K, K)]
    return _digits(np.array(columns, dtype=np.float64).T, float(np.diagonal(K).max()))


def feature_profiles(X: Views) -> list[Array]:
    """The same of features: how many there are, their sum and their sum of squares."""
    blocks = [X.block(name) for name in X.names]
    return [table_profile(block.toarray() if scipy.sparse.issparse(block) else block) for block in blocks]


def table_profile(table: Array) -> Array:
    """How many features each sample has (NaN: absent), their sum and their sum of squares."""
    seen = ~np.isnan(table)
    filled = np.where(seen, table, 0.0)
    columns = [seen.sum(axis=1), filled.sum(axis=1), (filled**2).sum(axis=1)]
    return _digits(np.column_stack(columns).astype(np.float64), 1.0)


def _digits(columns: Array, unit: float) -> Array:
    """Columns in units of the largest value they have or (sums that cancel) could have, to nine digits."""
    size = np.abs(columns).max(axis=0, initial=0.0)
    size = np.maximum(size, np.abs([unit, unit * len(columns), 0.0]))
    return np.asarray(np.round(columns / np.where(size > 0, size, 1.0), DIGITS) + 0.0)


def own_order(X: KernelViews | Views, *labels: Array) -> tuple[Array, Array]:
    """Positions of the views that someone has, and of the samples, in an order of their own.

    Beyond :data:`COPIED` bytes of kernels, which that would copy, they stay as they came.
    """
    counts = X.observed.sum(axis=0)
    if isinstance(X, KernelViews) and 8 * float((counts.astype(np.float64) ** 2).sum()) > COPIED:
        return np.flatnonzero(counts), np.arange(len(X))
    profiles = kernel_profiles(X) if isinstance(X, KernelViews) else feature_profiles(X)
    views = view_order(profiles)
    return views[counts[views] > 0], sample_order(profiles, X.observed, *labels)


def view_order(profiles: Sequence[Array]) -> Array:
    """Positions of the views in an order of their own."""
    keys = [(len(one), *np.round(one.sum(axis=0) / max(len(one), 1), DIGITS)) for one in profiles]
    return _sorted(np.array(keys, dtype=np.float64))


def sample_order(profiles: Sequence[Array], observed: Array, *more: Array) -> Array:
    """Positions of the samples in an order of their own; `more` tells apart those with equal rows."""
    views = view_order(profiles)
    keys = [observed[:, views].astype(np.float64)]
    for v in views:
        filled = np.zeros((len(observed), profiles[v].shape[1]))
        filled[observed[:, v]] = profiles[v]
        keys.append(filled)
    table = np.column_stack(keys)
    return _sorted(np.column_stack([table, *(_level_order(column, table) for column in more)]))


def _level_order(column: Array, table: Array) -> Array:
    """The levels of a column (names of classes, say) as numbers that do not hang on what they are called.

    They are numbered by how many samples have them, then by the mean row of these in `table`.
    """
    _, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    means = [np.bincount(codes, one) / counts for one in table.T]
    keys = np.column_stack([counts, np.round(means, DIGITS).T]) if means else counts[:, None]
    place = np.empty(len(counts), dtype=np.intp)
    place[_sorted(keys)] = np.arange(len(counts))
    return place[codes]


def _sorted(table: Array) -> Array:
    """Positions of the rows in lexicographic order, the first column first; equals as they came."""
    return np.lexsort(table.T[::-1])


def folds(
    order: Array, y: Array, k: int, random_state: RandomState | None = None
) -> list[tuple[Array, Array]]:
    """`k` pairs of positions, to learn from and to hold out, each with its part of every class.

    `order` holds positions of samples, `y` the labels of all.  The samples of a class are dealt out to the
    folds in a drawn order: dealt in turn along an order by features, neighbours of one class would never
    be held out together, and labels of pure noise could be told.  For the same reason every data set is
    dealt in an order of its own: unless a generator is given, labels along `order` are part of the seed.
    Classes are numbered as they come along it, so that their names decide nothing.
    """
    _, first, codes = np.unique(y[order], return_index=True, return_inverse=True)
    codes = np.argsort(np.argsort(first))[codes]
    if not isinstance(random_state, np.random.Generator | np.random.RandomState):
        given = np.atleast_1d(0 if random_state is None else random_state).tolist()
        random_state = [*given, zlib.crc32(codes.astype("<i8").tobytes())]
    rng = generator(random_state)
    place, dealt = np.full(len(y), -1), 0
    for code in range(len(first)):
        own = order[codes == code]
        place[rng.permutation(own)] = (dealt + np.arange(len(own))) % k
        dealt += len(own)
    return [
        (np.flatnonzero((place >= 0) & (place != fold)), np.flatnonzero(place == fold)) for fold in range(k)
    ]


def suited_folds(n: int, usual: int) -> int:
    """How many folds to cut `n` samples into: the `usual` number, or two of many (:data:`MANY`)."""
    return usual if n <= MANY else min(usual, 2)


def some_of(y: Array, most: int) -> Array:
    """Positions of at most about `most` samples, evenly spaced among those of each class.

    Of every class two at least, if it has them.
    """
    if len(y) <= most:
        return np.arange(len(y))
    chosen = []
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        count = max(min(2, len(own)), round(most * len(own) / len(y)))
        chosen.append(own[np.linspace(0, len(own) - 1, count).astype(int)])
    return np.sort(np.concatenate(chosen))
