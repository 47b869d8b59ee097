"""Canonical order: of samples, views, rows and columns, decided by the data and not by how they came.

Draws, starting values, landmarks, hidden entries, folds and ties follow it, so that the same data in
another order give the same answer.  Numbers are compared to nine or ten digits: far above rounding (sums in
another order differ in the last digits) and far below what samples differ in.

There are three keys to sort by, because no one of them serves all:

* :func:`order_kernels`, for draws (hidden cells, landmarks, starts) over kernels of any kind, those in
  chunks or larger than memory too: one number per sample and view, the size of its kernel row,

      size(t) = sum over the views of t of  sum_i k(t, i)^2 / (mean diagonal)^2,

  views by the sum of their part.  Ties go by id, and by name of the view.
* :func:`order_for_learning`, for whoever learns with labels (machines, trees, folds): several statistics
  of each sample in each view, and its labels, by levels whose names decide nothing.  Ids decide nothing
  either: samples that agree in all of it stay as they came, as they are interchangeable.
* :func:`order_tables`, for tables whose rows *and* columns (or more modes, tied by kernels) have to be
  put in order together, when neither has one yet: statistics of a row tie with those of another that has
  the same values in other columns.  Hashes of all entries are refined until they tell everything apart.
"""

import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from absentia.core import (
    Array,
    Dense,
    Gram,
    Operator,
    RandomState,
    get_factors,
    has_factors,
    make_generator,
    serializable,
)
from absentia.core.linalg import invert_permutation, thin_gram
from absentia.data._ids import is_missing, show_id
from absentia.data._kernelviews import KernelViews
from absentia.data._presence import Presence
from absentia.data._views import Views

#: To so many digits, relative to the largest, sizes and statistics are compared.
_DIGITS = 9
#: Bytes of kernels that are brought into an order of their own at most.
_MAX_COPIED = 2**30
#: Rounds of hashing before what is alike counts as equal; bits of a value that count.
_ROUNDS, _BITS = 4, 33

#: More samples than this are many: folds are few, and parameters are chosen on some of them.
MANY_SAMPLES = 5000

#: A table and the mode that each of its axes belongs to; a kernel has the same mode twice.
OrderTable = tuple[Array, tuple[int, ...]]


# --------------------------------------------------------------------------------------- for draws, by size


@serializable
class CanonicalOrder(NamedTuple):
    """Positions of samples and of views in the order that draws are made in."""

    samples: Array
    views: Array

    @property
    def numbers(self) -> Array:
        """The place of each sample in that order."""
        return invert_permutation(self.samples)

    def lottery(self, rng: np.random.Generator) -> Array:
        """A random number for each sample."""
        return np.asarray(rng.random(len(self.samples))[self.numbers])

    def among(self, chosen: Array) -> Array:
        """The order of the samples at the positions `chosen`, as positions among them."""
        return np.argsort(self.numbers[chosen], kind="stable")


def order_kernels(X: KernelViews) -> CanonicalOrder:
    """The order of the samples and views of square kernels."""
    sizes = np.zeros(X.observed.shape)
    for v, name in enumerate(X.names):
        mean = X.mean_diagonal(name)
        sizes[X.observed[:, v], v] = _row_squares(X.operator(name), mean) if mean > 0 else 0.0
    return _order_by_size(X, sizes)


def _order_by_size(X: Presence, sizes: Array) -> CanonicalOrder:
    """The order by `sizes`, samples x views and not negative; ties by id and by name."""
    samples = np.lexsort((invert_permutation(_by_id(X.ids)), round_sizes(sizes.sum(axis=1))))
    return CanonicalOrder(samples, np.lexsort((np.array(X.names), round_sizes(sizes.sum(axis=0)))))


def _row_squares(operator: Operator, scale: float) -> Array:
    """``sum_i k(t, i)^2 / scale^2`` of every row; where that cannot be told, the diagonal's squares."""
    if isinstance(operator, Dense):
        A = operator.A / scale
        return np.einsum("ij,ij->i", A, A, dtype=np.float64)
    if isinstance(operator, Gram):
        root, S = np.sqrt(scale), np.zeros((operator.right.shape[1],) * 2)
        for rows in _chunks(operator.right):
            rows /= root
            S += rows.T @ rows
        squares = [np.einsum("ij,ij->i", rows @ S, rows) for rows in _chunks(operator.left)]
        return np.concatenate([np.zeros(0), *squares]) / scale
    return np.asarray(operator.diagonal() / scale, dtype=np.float64) ** 2


def round_sizes(sizes: Array) -> Array:
    """Sizes relative to the largest, to :data:`_DIGITS` digits, so that rounding does not show."""
    largest = float(sizes.max(initial=0.0))
    return np.round(sizes / largest, _DIGITS) if 0 < largest < np.inf else np.zeros(len(sizes))


def _by_id(ids: Array) -> Array:
    """Positions of the samples in the order of their ids."""
    if ids.dtype == object:
        return np.array(sorted(range(len(ids)), key=lambda t: repr(ids[t])), dtype=int)
    return np.argsort(ids, kind="stable")


# ------------------------------------------------------------------- for learning, by statistics and labels


def kernel_profiles(X: KernelViews) -> list[Array]:
    """By view, (observed samples x 3): own kernel value, sum of the row, sum of its squares."""
    return [
        _factor_profile(*get_factors(X.operator(name)))
        if has_factors(X.operator(name))
        else _dense_profile(np.asarray(X.block(name)))
        for name in X.names
    ]


def _dense_profile(K: Array) -> Array:
    if not len(K):
        return np.zeros((0, 3))
    ones = np.ones(len(K), dtype=K.dtype)
    columns = [np.diagonal(K), K @ ones, np.einsum("ij,ij->i", K, K)]
    return _round_columns(np.array(columns, dtype=np.float64).T, float(np.diagonal(K).max()))


def _factor_profile(Phi: Array, diagonal: Array | None) -> Array:
    """:func:`_dense_profile` of ``Phi Phi' + diag(diagonal)``, which is not formed."""
    if not len(Phi):
        return np.zeros((0, 3))
    d = np.zeros(len(Phi)) if diagonal is None else diagonal
    length = np.einsum("ij,ij->i", Phi, Phi, dtype=np.float64)
    total, S = thin_gram(Phi, np.ones((len(Phi), 1), Phi.dtype))[:, 0], thin_gram(Phi, Phi)
    squares = np.concatenate([np.einsum("ij,ij->i", rows @ S, rows) for rows in _chunks(Phi)])
    columns = [length + d, Phi @ total + d, squares + 2 * d * length + d**2]
    return _round_columns(np.array(columns, dtype=np.float64).T, float((length + d).max()))


def _chunks(Phi: Array, size: int = 8192) -> Iterator[Array]:
    return (np.array(Phi[a : a + size], dtype=np.float64) for a in range(0, len(Phi), size))


def feature_profiles(X: Views) -> list[Array]:
    """By view, (observed samples x 3): how many features are there, their sum, their sum of squares."""
    return [_block_profile(X.block(name)) for name in X.names]


def _block_profile(block: Any) -> Array:
    if getattr(block, "profile", None) is not None:  # in chunks, and looked at already
        return _round_columns(block.profile, 1.0)
    return table_profile(block.toarray() if scipy.sparse.issparse(block) else block)


def table_profile(table: Array) -> Array:
    """How many features each row of a table has (NaN: absent), their sum and their sum of squares."""
    seen = ~np.isnan(table)
    filled = np.where(seen, table, 0.0)
    columns = [seen.sum(axis=1), filled.sum(axis=1), (filled**2).sum(axis=1)]
    return _round_columns(np.column_stack(columns).astype(np.float64), 1.0)


def _round_columns(columns: Array, unit: float) -> Array:
    """Columns in units of the largest value that they have or (sums that cancel) could have, rounded."""
    size = np.abs(columns).max(axis=0, initial=0.0)
    size = np.maximum(size, np.abs([unit, unit * len(columns), 0.0]))
    return np.asarray(np.round(columns / np.where(size > 0, size, 1.0), _DIGITS) + 0.0)


def order_for_learning(X: KernelViews | Views, *labels: Array) -> tuple[Array, Array]:
    """Positions of the views that someone has, and of the samples, in an order of their own.

    Beyond :data:`_MAX_COPIED` bytes of kernels, which that would copy, they stay as they came.
    """
    counts = X.observed.sum(axis=0)
    if isinstance(X, KernelViews) and 8 * float((counts.astype(np.float64) ** 2).sum()) > _MAX_COPIED:
        return np.flatnonzero(counts), np.arange(len(X))
    profiles = kernel_profiles(X) if isinstance(X, KernelViews) else feature_profiles(X)
    views = _view_order(profiles)
    labels = labels if X.groups is None else (*labels, X.groups)
    return views[counts[views] > 0], order_by_profiles(profiles, X.observed, *labels)


def _view_order(profiles: Sequence[Array]) -> Array:
    """Positions of the views in an order of their own."""
    keys = [(len(p), *np.round(p.sum(axis=0) / max(len(p), 1), _DIGITS)) for p in profiles]
    return _lexsort_rows(np.array(keys, dtype=np.float64))


def order_by_profiles(profiles: Sequence[Array], observed: Array, *more: Array) -> Array:
    """Positions of the samples in an order of their own; `more` tells apart those with equal rows."""
    views = _view_order(profiles)
    keys = [observed[:, views].astype(np.float64)]
    for v in views:
        filled = np.zeros((len(observed), profiles[v].shape[1]))
        filled[observed[:, v]] = profiles[v]
        keys.append(filled)
    table = np.column_stack(keys)
    return _lexsort_rows(np.column_stack([table, *(_level_order(column, table) for column in more)]))


def _level_order(column: Array, table: Array) -> Array:
    """The levels of a column (names of classes, say) as numbers that do not hang on what they are called.

    They are numbered by how many samples have them, then by the mean row of these in `table`.
    """
    _, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    means = [np.bincount(codes, values) / counts for values in table.T]
    keys = np.column_stack([counts, np.round(means, _DIGITS).T]) if means else counts[:, None]
    return invert_permutation(_lexsort_rows(keys))[codes]


def _lexsort_rows(table: Array) -> Array:
    """Positions of the rows in lexicographic order, the first column first; equals as they came."""
    return np.lexsort(table.T[::-1])


# --------------------------------------------------------------------- for tables, by hashes of all entries


def order_tables(sizes: Sequence[int], tables: Sequence[OrderTable]) -> list[Array]:
    """For each mode (rows, columns, ...) of `tables`, the indices that put it in canonical order.

    Every member of a mode has a key, a whole number modulo 2^64.  In each round the key of a row takes in
    the sum, over its entries, of a hash of (value, keys of the entry's other modes): sums of whole numbers
    do not depend on order.  Rounds end when all keys differ.  What still has the same key after
    them is equal, or so symmetric that its content does not tell it apart: the order in which it came
    decides there.

    Examples
    --------
    >>> X = np.array([[3.0, 1.0], [2.0, np.nan], [0.0, 5.0]])
    >>> rows, columns = order_tables(X.shape, [(X, (0, 1))])
    >>> again, others = order_tables(X.shape, [(X[[2, 0, 1]], (0, 1))])
    >>> bool(np.array_equal(X[np.ix_(rows, columns)], X[[2, 0, 1]][np.ix_(again, others)], equal_nan=True))
    True
    """
    keys = [np.zeros(n, dtype=np.uint64) for n in sizes]
    for used in (tables[:1], tables):  # kernels are large: looked at only where there is need
        hashed = [(_mix(_leading_bits(A) + _salt(t)), modes) for t, (A, modes) in enumerate(used)]
        for _ in range(_ROUNDS):
            keys = [_refine_keys(keys, mode, hashed) for mode in range(len(keys))]
            if all(len(np.unique(key)) == len(key) for key in keys):
                return [np.argsort(key) for key in keys]
    for mode in reversed(range(len(keys))):  # the others as they stand tell apart all that is not equal
        ranks = [_ranks(key) if other != mode else key for other, key in enumerate(keys)]
        keys[mode] = _refine_keys(ranks, mode, hashed)
    return [np.argsort(key, kind="stable") for key in keys]


def _refine_keys(keys: list[Array], mode: int, hashed: Sequence[OrderTable]) -> Array:
    """The keys of one mode after taking in its entries."""
    key = _mix(keys[mode])
    for H, modes in hashed:
        if mode not in modes:
            continue
        axis = modes.index(mode)
        entry = H
        for other, of in enumerate(modes):
            if other != axis:
                entry = entry + _along(_mix(keys[of] + _salt(other)), other, H.ndim)
        rest = tuple(a for a in range(H.ndim) if a != axis)
        key = key + _mix(_mix(entry).sum(axis=rest, dtype=np.uint64))
        if modes.count(mode) > 1:  # a kernel: its diagonal is of one sample alone
            key = key + _mix(np.diagonal(H) + _salt(7))
    return key


def _along(key: Array, axis: int, ndim: int) -> Array:
    return key.reshape([-1 if a == axis else 1 for a in range(ndim)])


def _ranks(key: Array) -> Array:
    return invert_permutation(np.argsort(key, kind="stable")).astype(np.uint64)


def _leading_bits(A: Array) -> Array:
    """The leading bits of each value, some ten digits; all NaN and both zeros are one.

    The last bits of what was scaled by a mean or a spread depend on the order it was summed in.
    """
    mantissa, exponent = np.frexp(np.array(A, dtype=np.float64, order="C"))
    A = np.ldexp(np.round(np.ldexp(mantissa, _BITS)), exponent - _BITS) + 0.0
    A[np.isnan(A)] = np.nan
    return A.view(np.uint64)


def _salt(k: int) -> Array:
    return np.array([k + 1], dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def _mix(x: Array) -> Array:
    """A whole number scattered over 2^64 (the finalizer of SplitMix64)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


# ---------------------------------------------------------------------------------------------------- folds


def number_groups(groups: Array | None) -> Array | None:
    """Groups (n,) as 0, 1, ... in the order in which they come; None where they keep nothing together.

    That is where there are none, every sample is its own, or all are one, of which no part can be left out
    but by samples.
    """
    if groups is None:
        return None
    _, first, codes = np.unique(groups, return_index=True, return_inverse=True)
    return invert_permutation(np.argsort(first))[codes] if 1 < len(first) < len(groups) else None


def stack_groups(groups: Array) -> list[Array]:
    """Positions of the members of groups, for each size of groups one table, groups x members."""
    counts = np.unique(groups, return_counts=True)[1]
    parts = np.split(np.argsort(groups, kind="stable"), np.cumsum(counts)[:-1])
    return [np.array([part for part in parts if len(part) == size]) for size in np.unique(counts)]


def count_groups(groups: Array | None, members: Array) -> int:
    """How many groups the samples at positions `members` are of; where there are none, how many samples."""
    codes = number_groups(groups)
    return len(members) if codes is None else len(np.unique(codes[members]))


def count_fewest(y: Array, groups: Array | None = None) -> int:
    """How many samples, or where there are groups how many groups, the rarest label of `y` has."""
    return min(count_groups(groups, np.flatnonzero(y == label)) for label in np.unique(y))


def make_folds(
    order: Array, y: Array, k: int, random_state: RandomState | None = None, groups: Array | None = None
) -> list[tuple[Array, Array]]:
    """`k` pairs of positions, to learn from and to hold out, each with its part of every class.

    `order` holds positions of samples, `y` the labels of all.  The samples of a class are dealt out to the
    folds in a drawn order: dealt in turn along an order by features, neighbours of one class would never
    be held out together, and labels of pure noise could be told.  For the same reason every data set is
    dealt in an order of its own: unless a generator is given, labels along `order` are part of the seed.
    Classes are numbered as they come along it, so that their names decide nothing.

    With `groups`, a label for each sample, whole groups are dealt out (:func:`_deal_groups`); there are no
    more folds than groups.
    """
    _, first, codes = np.unique(y[order], return_index=True, return_inverse=True)
    codes = np.argsort(np.argsort(first))[codes]
    if not isinstance(random_state, np.random.Generator | np.random.RandomState):
        given = np.atleast_1d(0 if random_state is None else random_state).tolist()
        random_state = [*given, zlib.crc32(codes.astype("<i8").tobytes())]
    rng = make_generator(random_state)
    place, dealt = np.full(len(y), -1), 0
    together = None if groups is None else number_groups(groups[order])
    if together is not None:
        k = min(k, int(together.max()) + 1)
        place[order] = _deal_groups(codes, together, k, rng)
    for code in range(len(first) if together is None else 0):
        members = order[codes == code]
        place[rng.permutation(members)] = (dealt + np.arange(len(members))) % k
        dealt += len(members)
    return [
        (np.flatnonzero((place >= 0) & (place != fold)), np.flatnonzero(place == fold)) for fold in range(k)
    ]


def _deal_groups(codes: Array, groups: Array, k: int, rng: np.random.Generator) -> Array:
    """The fold (n,) of each sample of classes and groups 0, 1, ..., with whole groups in a fold.

    Groups of the class that the fewest groups have come first, larger ones before smaller ones, equals in a
    drawn order.  Each goes to the fold that has least of its classes, of equals the smallest.
    """
    counts = np.zeros((groups.max() + 1, codes.max() + 1))
    np.add.at(counts, (groups, codes), 1)
    holders = (counts > 0).sum(axis=0)
    rarest = np.where(counts > 0, holders, len(counts)).min(axis=1)
    share, size = counts / counts.sum(axis=0), counts.sum(axis=1)
    drawn = rng.permutation(len(counts))
    fold, held = np.empty(len(counts), dtype=int), np.zeros((k, counts.shape[1]))
    sizes = np.zeros(k)
    for group in drawn[np.lexsort((-size[drawn], rarest[drawn]))]:
        crowded = np.round((held * share[group]).sum(axis=1), _DIGITS)
        fold[group] = np.lexsort((sizes, crowded))[0]
        held[fold[group]] += share[group]
        sizes[fold[group]] += size[group]
    return fold[groups]


def make_time_folds(times: Array, k: int, groups: Array | None = None) -> list[tuple[Array, Array]]:
    """At most `k` pairs of positions: all that came before, to learn from, and a block in time to hold out.

    The samples are cut along `times` (n,) into `k` + 1 blocks of about equal size, each of which but the
    first is held out once (scikit-learn's TimeSeriesSplit, by distinct times).  Samples of one time are in
    one block, so that there may be fewer.  With `groups`, a label for each sample, whoever has a sample in
    the block is not learned from.
    """
    _, codes, counts = np.unique(times, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    block = np.unique((middle * (k + 1) / len(times)).astype(int), return_inverse=True)[1][codes]
    folds = []
    for b in range(1, int(block.max()) + 1):
        before, test = block < b, np.flatnonzero(block == b)
        if groups is not None:
            before &= ~np.isin(groups, groups[test])
        folds.append((np.flatnonzero(before), test))
    return folds


def parse_times(times: Any, ids: Array) -> Array:
    """Times of the samples `ids` as numbers (n,): numbers as they are, dates in seconds.

    `times` are numbers, dates, or texts of either (``2024-03``, ``2024-03-01``, ``2024-03-01T12:30``);
    dates without a time zone are all of one.
    """
    values = np.asarray(times)
    if values.shape != (len(ids),):
        raise ValueError(f"times of shape {values.shape} for {len(ids)} samples; one each is wanted")
    values = values.astype("datetime64[us]") if values.dtype.kind == "M" else values
    numbers, of_kind = np.empty(len(ids)), dict[bool, tuple[str, str]]()
    for k, value in enumerate(values.tolist()):
        try:
            numbers[k], is_date = _parse_time(value)
        except (TypeError, ValueError, OverflowError):
            came = "unknown" if is_missing(value) or value == "" else repr(str(value)[:40])
            raise ValueError(
                f"the time of sample {show_id(ids[k])} is {came}; a number or a date as 2024-03-01 or "
                "2024-03-01T12:30 is wanted of every sample"
            ) from None
        of_kind.setdefault(is_date, (show_id(ids[k]), str(value)[:40]))
    if len(of_kind) > 1:
        words = " and ".join(f"{value!r} of sample {sample}" for sample, value in of_kind.values())
        raise ValueError(f"times are numbers and dates, {words}; give one kind of them")
    return numbers


def _parse_time(value: Any) -> tuple[float, bool]:
    """A time as a number, and whether it was a date; raises for what is neither."""
    if isinstance(value, str):
        text = value.strip()
        try:
            value = float(text)
        except ValueError:
            value = datetime.fromisoformat(f"{text}-01" if len(text) == len("2024-03") else text)
    is_date = isinstance(value, date)
    if is_date:
        value = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if not np.isfinite(number := float(value)):
        raise ValueError(value)
    return number, is_date


def choose_n_folds(n: int, usual: int) -> int:
    """How many folds to cut `n` samples into: the `usual` number, or two of many (:data:`MANY_SAMPLES`)."""
    return usual if n <= MANY_SAMPLES else min(usual, 2)


def subsample_classes(y: Array, max_samples: int) -> Array:
    """Positions of at most about `max_samples` samples, evenly spaced among those of each class.

    Of every class two at least, if it has them.
    """
    if len(y) <= max_samples:
        return np.arange(len(y))
    chosen = []
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        count = max(min(2, len(members)), round(max_samples * len(members) / len(y)))
        chosen.append(members[np.linspace(0, len(members) - 1, count).astype(int)])
    return np.sort(np.concatenate(chosen))
