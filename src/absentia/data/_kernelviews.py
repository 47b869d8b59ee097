"""Several kernels over the same samples, each known only where its view was observed.

:class:`KernelViews` is immutable, like :class:`absentia.Views`: it holds one kernel per view over the
samples that have it, as an operator, and takes ``np.ix_`` so that scikit-learn can split it.

The ``from_...`` constructors validate; slices of a valid object are trusted.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse

from absentia import core as linalg
from absentia.core import (
    Array,
    Chunked,
    ChunkedGram,
    Dense,
    Gram,
    Operator,
    as_chunks,
    frozen,
    is_chunked,
    kept,
    warn,
)
from absentia.data._gaps import shown
from absentia.data._kernel_checks import check_kernel
from absentia.data._presence import (
    Align,
    Presence,
    align_ids,
    as_ids,
    as_index,
    as_table,
    check_names,
    check_observed,
    check_unique,
    default_names,
    positions,
    refrozen,
    row_key,
)

#: Kernels that are not arrays are made arrays of up to so many bytes without a word.
DENSE_BYTES = 2**30


class DenseWarning(UserWarning):
    """A kernel given by factors, or in chunks, is made an array that takes much memory."""


@kept
@dataclass(frozen=True, eq=False, repr=False)
class KernelViews(Presence):
    """Several kernels over the same samples, each known only where its view was observed.

    Square objects (samples against themselves) come from :meth:`from_dense`, :meth:`from_blocks`,
    :meth:`from_factors` and from ``ViewKernels().fit_transform``.  Taking rows and columns,
    ``kv[np.ix_(test, train)]``, gives a rectangular one: new samples against training samples, which
    also remembers every row's own kernel value ``k(t, t)``.

    Attributes
    ----------
    ids, names, observed
        As in :class:`Views`; of the rows.
    column_ids, column_observed
        The same of the columns; equal to the rows' when :attr:`square`.
    shape : (n_rows, n_columns)

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import KernelViews
    >>> K = np.stack([np.eye(3), np.eye(3)])
    >>> K[1, 2] = K[1, :, 2] = np.nan                 # the third sample lacks the second view
    >>> kv = KernelViews.from_dense(K, names=["seq", "expr"])
    >>> kv.block("expr").shape
    (2, 2)
    """

    column_ids: Array = field(default_factory=lambda: np.zeros(0))
    column_observed: Array = field(default_factory=lambda: np.zeros((0, 0), bool))
    square: bool = True
    _operators: Mapping[str, Operator] = field(default_factory=dict)
    _diagonals: Mapping[str, Array] = field(default_factory=dict)

    @classmethod
    def from_dense(
        cls,
        K: Any,
        observed: Any = None,
        ids: Iterable[Hashable] | None = None,
        names: Sequence[str] | None = None,
    ) -> Self:
        """From full ``n x n`` kernels, one per view.

        Parameters
        ----------
        K : array of shape (n_views, n, n), or dict or list of (n, n) arrays or data frames
            Rows and columns of absent samples hold NaN, or anything when `observed` is given.  Data
            frames are aligned by their index.
        observed : array of bool, shape (n, n_views), optional
            Who has which view; by default a sample is absent where its row is NaN throughout.
        ids, names : optional
            Sample ids (default 0, 1, ...) and view names (default ``view0``, ``view1``, ... or
            the keys of the dict).
        """
        if _all_frames(K):
            if observed is not None or ids is not None:
                raise ValueError("ids and observed go with arrays; data frames carry their own index")
            return cls.from_blocks(_framed_blocks(K, names))
        kernels, names = _named_kernels(K, names)
        n = kernels[0].shape[0]
        for name, kernel in zip(names, kernels, strict=True):
            if kernel.ndim != 2 or kernel.shape != (n, n):
                raise ValueError(
                    f"view {name!r}: kernel has shape {kernel.shape}, wanted ({n}, {n}): "
                    "all kernels square and over the same samples; "
                    "for kernels over different samples use KernelViews.from_blocks"
                )
        sample_ids = as_ids(ids, n)
        if observed is None:
            mask = np.column_stack([~np.isnan(kernel).all(axis=1) for kernel in kernels])
            for name, kernel, seen in zip(names, kernels, mask.T, strict=True):
                _check_columns(name, kernel, seen, sample_ids)
        else:
            mask = check_observed(observed, n, len(names))
        check_unique(sample_ids, "ids")
        blocks = {
            name: np.array(kernel[np.ix_(seen, seen)])
            for name, kernel, seen in zip(names, kernels, mask.T, strict=True)
        }
        return cls._square(sample_ids, names, mask, {k: Dense(b) for k, b in blocks.items()})

    @classmethod
    def from_blocks(
        cls, blocks: Mapping[str, tuple[Iterable[Hashable], Any]], align: Align = "union"
    ) -> Self:
        """From ``{name: (ids, kernel)}``: each kernel over the samples that have the view.

        Dask and zarr arrays stay where they are (see ``_chunked``).  One pass over their
        chunks, a product with one random vector from either side, finds values that are not finite,
        negative diagonals and, unless differences cancel by chance, asymmetry.  That such a kernel
        is positive semidefinite is taken on trust.
        """
        names = check_names(list(blocks))
        operators: dict[str, Operator] = {}
        own_ids = []
        for name, (ids, values) in zip(names, blocks.values(), strict=True):
            kernel = as_chunks(name, values) if is_chunked(values) else np.array(_dense(name, values))
            ids = as_ids(ids, _length(ids), f"view {name!r}")
            if kernel.shape != (len(ids), len(ids)):
                raise ValueError(
                    f"view {name!r}: kernel has shape {kernel.shape} but {len(ids)} ids are given; "
                    "pass the kernel over observed samples only, or use KernelViews.from_dense"
                )
            own_ids.append(ids)
            operators[name] = Chunked(kernel) if is_chunked(kernel) else Dense(kernel)
        return cls._from_operators(names, own_ids, operators, align)

    @classmethod
    def from_factors(
        cls,
        factors: Mapping[str, tuple[Iterable[Hashable], Any]],
        align: Align = "union",
        *,
        copy: bool = True,
    ) -> Self:
        """From ``{name: (ids, Phi)}`` with kernel ``Phi Phi'``, which is never formed.

        ``copy=False`` keeps a reference to the arrays, which may be memory-mapped, when no
        reordering is needed.  Dask and zarr arrays are never copied; one pass over their chunks, for
        the diagonal, finds values that are not finite.
        """
        names = check_names(list(factors))
        operators: dict[str, Operator] = {}
        own_ids = []
        for name, (ids, values) in zip(names, factors.values(), strict=True):
            Phi = as_chunks(name, values) if is_chunked(values) else _dense(name, values)
            Phi = np.array(Phi) if copy and not is_chunked(Phi) else Phi
            ids = as_ids(ids, _length(ids), f"view {name!r}")
            if Phi.ndim != 2 or len(Phi) != len(ids):
                raise ValueError(
                    f"view {name!r}: factors have shape {Phi.shape} but {len(ids)} ids are given; "
                    "one row per observed sample is wanted"
                )
            own_ids.append(ids)
            operators[name] = ChunkedGram(Phi) if is_chunked(Phi) else Gram(Phi)
        return cls._from_operators(names, own_ids, operators, align)

    @classmethod
    def _from_operators(
        cls,
        names: tuple[str, ...],
        own_ids: Sequence[Array],
        operators: Mapping[str, Operator],
        align: Align,
    ) -> Self:
        ids, rows = align_ids(names, own_ids, align)
        mask = np.column_stack([r >= 0 for r in rows])
        ordered: dict[str, Operator] = {}
        for name, r in zip(names, rows, strict=True):
            order = r[r >= 0]
            operator = operators[name]
            in_order = len(order) == operator.shape[0] and bool((np.diff(order) == 1).all())
            ordered[name] = operator if in_order else operator.select(order, order)
        return cls._square(frozen(ids), names, mask, ordered)

    @classmethod
    def _square(
        cls,
        ids: Array,
        names: tuple[str, ...],
        observed: Array,
        operators: Mapping[str, Operator],
    ) -> Self:
        """Validate and build: the one door for kernels from outside."""
        if not len(ids):
            raise ValueError("no sample is left; at least one is wanted")
        for v, name in enumerate(names):
            check_kernel(name, operators[name], ids[observed[:, v]])
        result = cls.within(Presence(ids, names, observed), operators)
        result.warn_of_absence()
        return result

    @classmethod
    def within(cls, samples: Presence, kernels: Mapping[str, Array | Operator]) -> Self:
        """Kernels of `samples` among themselves, from valid parts (nothing is checked again)."""
        operators = {n: k if isinstance(k, Operator) else Dense(k) for n, k in kernels.items()}
        diagonals = {name: frozen(np.asarray(op.diagonal())) for name, op in operators.items()}
        ids, observed = frozen(samples.ids), frozen(samples.observed)
        return cls(ids, samples.names, observed, ids, observed, True, operators, diagonals)

    @classmethod
    def between(
        cls,
        rows: Presence,
        columns: Presence,
        blocks: Mapping[str, Array | Operator],
        diagonals: Mapping[str, Array],
    ) -> Self:
        """Kernels of new samples (`rows`) against known ones (`columns`), from valid parts.

        ``blocks[name]`` has one row per row sample and one column per column sample that has the
        view; ``diagonals[name]`` holds the row samples' own kernel values.
        """
        operators = {n: b if isinstance(b, Operator) else Dense(b) for n, b in blocks.items()}
        return cls(
            rows.ids,
            columns.names,
            rows.observed,
            columns.ids,
            columns.observed,
            False,
            operators,
            {name: frozen(np.asarray(d)) for name, d in diagonals.items()},
        )

    def completed(self, kernels: Mapping[str, Array | Operator]) -> Self:
        """The same samples and views with everything observed: `kernels` over all samples."""
        full = Presence(self.ids, self.names, np.ones_like(self.observed))
        return type(self).within(full, kernels)

    def completed_rows(
        self, kernels: Mapping[str, Array | Operator], diagonals: Mapping[str, Array]
    ) -> Self:
        """The same rows against the same columns with everything observed."""
        rows = Presence(self.ids, self.names, frozen(np.ones_like(self.observed)))
        columns = Presence(self.column_ids, self.names, frozen(np.ones_like(self.column_observed)))
        return type(self).between(rows, columns, kernels, diagonals)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_samples, len(self.column_ids)

    def operator(self, name: str) -> Operator:
        """The kernel between the rows and the columns that have the view, as an operator."""
        self._column(name)
        return self._operators[name]

    def block(self, name: str) -> Array:
        """The kernel between the rows and the columns that have the view, as an array.

        Where that has to be made from factors or chunks and takes more than a GiB, a
        :class:`DenseWarning` says so before.
        """
        operator = self.operator(name)
        _warn_of_size(name, operator)
        return operator.to_dense()

    def diagonal(self, name: str) -> Array:
        """``k(t, t)`` of every row sample that has the view."""
        self._column(name)
        return self._diagonals[name]

    def mean_diagonal(self, name: str) -> float:
        """Mean of :meth:`diagonal`, however large its values; zero for a view that nobody has."""
        diagonal = self.diagonal(name)
        largest = float(np.max(diagonal, initial=0.0))
        return largest * float(np.mean(diagonal / largest, dtype=np.float64)) if largest > 0 else 0.0

    def indefinite(self, name: str) -> tuple[float, float] | None:
        """Lowest and largest eigenvalue of a kernel that has a negative one beyond rounding, else None.

        Found out once.  A product of factors has none, and a kernel in chunks, perhaps larger than
        memory, is taken on trust.
        """
        if name not in self._spectra:
            operator = self.operator(name)
            trusted = isinstance(operator, Gram | ChunkedGram | Chunked)
            self._spectra[name] = None if trusted else linalg.indefinite(self.block(name))
        return self._spectra[name]

    @cached_property
    def _spectra(self) -> dict[str, tuple[float, float] | None]:
        return {}

    def __getitem__(self, key: Any) -> Self:
        rows, cols = self._row_and_column_index(key)
        operators: dict[str, Operator] = {}
        diagonals: dict[str, Array] = {}
        for v, name in enumerate(self.names):
            r = positions(self.observed[:, v], rows)
            c = positions(self.column_observed[:, v], cols)
            operators[name] = self._operators[name].select(r, c)
            diagonals[name] = frozen(self._diagonals[name][r])
        return replace(
            self,
            ids=frozen(self.ids[rows]),
            observed=frozen(self.observed[rows]),
            column_ids=frozen(self.column_ids[cols]),
            column_observed=frozen(self.column_observed[cols]),
            square=self.square and np.array_equal(rows, cols),
            _operators=operators,
            _diagonals=diagonals,
        )

    def _row_and_column_index(self, key: Any) -> tuple[Array, Array]:
        key = row_key(key)
        n, m = self.shape
        if not isinstance(key, tuple):
            return as_index(key, n), np.arange(m)
        if len(key) != 2:
            raise IndexError(f"kernels have rows and columns; got {len(key)} indices")
        rows, cols = key
        if isinstance(rows, slice) or isinstance(cols, slice):
            return as_index(rows, n), as_index(cols, m)
        if np.ndim(rows) != 2 or np.ndim(cols) != 2 or np.shape(rows)[1] != 1 or np.shape(cols)[0] != 1:
            raise IndexError("to take rows and columns write kv[np.ix_(rows, cols)]")
        return as_index(np.ravel(rows), n), as_index(np.ravel(cols), m)

    def hide(self, keep: Any) -> Self:
        """The same samples with the views that `keep` marks False taken away (rows; columns if square)."""
        keep = check_observed(keep, self.n_samples, self.n_views)
        observed = self.observed & keep
        operators: dict[str, Operator] = {}
        diagonals: dict[str, Array] = {}
        for v, name in enumerate(self.names):
            r = np.flatnonzero(keep[self.observed[:, v], v])
            c = r if self.square else np.arange(self._operators[name].shape[1])
            operators[name] = self._operators[name].select(r, c)
            diagonals[name] = frozen(self._diagonals[name][r])
        return replace(
            self,
            observed=frozen(observed),
            column_observed=frozen(observed) if self.square else self.column_observed,
            _operators=operators,
            _diagonals=diagonals,
        )

    def select(self, names: Sequence[str]) -> Self:
        """The same samples with only the views named."""
        columns = [self._column(name) for name in names]
        return replace(
            self,
            names=check_names(names),
            observed=frozen(self.observed[:, columns]),
            column_observed=frozen(self.column_observed[:, columns]),
            _operators={name: self._operators[name] for name in names},
            _diagonals={name: self._diagonals[name] for name in names},
        )

    def repair(self, how: Literal["clip", "shift"] = "clip") -> Self:
        """Make every kernel positive semidefinite, leaving those that already are.

        ``"clip"`` sets negative eigenvalues to zero (the nearest such matrix); ``"shift"`` adds the
        lowest eigenvalue's size to the diagonal, which keeps all differences between samples.
        """
        repairs = {"clip": linalg.clip_eigenvalues, "shift": linalg.shift_eigenvalues}
        if how not in repairs:
            raise ValueError(f"how must be 'clip' or 'shift', not {how!r}")
        self.demand_square()
        operators = dict(self._operators)
        for name, operator in self._operators.items():
            if self.indefinite(name) is not None:
                operators[name] = Dense(repairs[how](operator.to_dense()))
        return type(self).within(self, operators)

    def demand_columns(self, names: tuple[str, ...], ids: Array) -> None:
        """Raise unless the views are `names` and the columns the training samples `ids`, in order."""
        if self.names != names:
            raise ValueError(f"views {list(self.names)} came, {list(names)} were there in training")
        if not np.array_equal(self.column_ids, ids):
            raise ValueError(
                f"the columns must be the {len(ids)} training samples, in their order; "
                f"this has {self.shape[1]} columns: take kernel_views[np.ix_(new, train)]"
            )

    def demand_square(self) -> None:
        """Raise unless rows and columns are the same samples."""
        if not self.square:
            raise ValueError(
                f"a square KernelViews (samples against themselves) is wanted; this one is "
                f"{self.shape[0]} rows against {self.shape[1]} columns"
            )

    def to_dense(self) -> Array:
        """``(n_views, n_rows, n_columns)`` with NaN where absent; meant for small n."""
        dense = np.full((self.n_views, *self.shape), np.nan)
        for v, name in enumerate(self.names):
            seen = np.ix_(self.observed[:, v], self.column_observed[:, v])
            dense[v][seen] = self.block(name)
        return dense

    def _headline(self) -> str:
        if self.square:
            return super()._headline()
        return f"{super()._headline()}, against {self.shape[1]} samples"

    def _size_of(self, name: str) -> str:
        r, c = self._operators[name].shape
        return f"{r} x {c} kernel"

    def __setstate__(self, state: dict[str, Any]) -> None:
        state["_diagonals"] = {name: frozen(x) for name, x in state["_diagonals"].items()}
        self.__dict__.update(refrozen(state))


def _warn_of_size(name: str, operator: Operator) -> None:
    rows, columns = operator.shape
    size = rows * columns * operator.dtype.itemsize
    if size > DENSE_BYTES and not isinstance(operator, Dense):
        warn(
            f"view {name!r}: the {rows} x {columns} kernel, not held as an array so far, is made one of "
            f"{size / 2**30:.1f} GiB, and so may be those of other views and what is made of them; use a "
            "method that works with factors (MKMC, CVKT(n_landmarks=...)), or fewer samples",
            DenseWarning,
        )


def _named_kernels(K: Any, names: Sequence[str] | None) -> tuple[list[Array], tuple[str, ...]]:
    if isinstance(K, Mapping):
        names = list(K) if names is None else names
        K = list(K.values())
    kernels = list(K)
    if not kernels:
        raise ValueError("no kernel given; at least one is wanted")
    if np.ndim(kernels[0]) != 2:
        raise ValueError(
            f"K has shape {np.shape(K)}; wanted (n_views, n, n), or a list or dict of (n, n) kernels"
        )
    names = default_names(len(kernels)) if names is None else names
    if len(names) != len(kernels):
        raise ValueError(f"{len(names)} names for {len(kernels)} kernels; one per view is wanted")
    names = check_names(names)
    return [_dense(name, kernel) for name, kernel in zip(names, kernels, strict=True)], names


def _dense(name: str, kernel: Any) -> Array:
    table = as_table(name, kernel)
    return table.toarray() if scipy.sparse.issparse(table) else table


def _all_frames(K: Any) -> bool:
    tables = list(K.values()) if isinstance(K, Mapping) else K
    return isinstance(tables, list | tuple) and bool(tables) and all(hasattr(t, "iloc") for t in tables)


def _framed_blocks(K: Any, names: Sequence[str] | None) -> dict[str, tuple[Any, Any]]:
    """Kernels in data frames over the samples that are not NaN, columns in the order of the index."""
    tables = K if isinstance(K, Mapping) else dict(zip(names or default_names(len(K)), K, strict=True))
    blocks = {}
    for name, frame in tables.items():
        if set(frame.columns) != set(frame.index) or len(frame.columns) != len(frame.index):
            raise ValueError(f"view {name!r}: rows and columns of the data frame are not the same samples")
        frame = frame.loc[:, list(frame.index)]
        there = ~frame.isna().all(axis=1)
        kept = frame.loc[there, there.to_numpy()]
        blocks[name] = (kept.index, kept.to_numpy())
    return blocks


def _check_columns(name: str, kernel: Array, seen: Array, ids: Array) -> None:
    """A sample whose row is NaN must be NaN in its column too."""
    stray = ~np.isnan(kernel[:, ~seen])
    if stray.any():
        i, j = np.argwhere(stray)[0]
        raise ValueError(
            f"view {name!r}: sample {shown(ids[~seen][j])} is NaN in its whole row but not in its column "
            f"(sample {shown(ids[i])}); a sample that lacks the view must be NaN in both"
        )


def _length(ids: Any) -> int:
    try:
        return len(ids)
    except TypeError:
        raise TypeError(f"sample ids must be a sequence, not {type(ids).__name__}") from None


def check_kernels(X: Any) -> KernelViews:
    """A square KernelViews with somebody in it, or an error that says what to pass."""
    if not isinstance(X, KernelViews):
        raise TypeError(
            f"KernelViews are wanted, not {type(X).__name__}; make them from features with "
            "ViewKernels().fit_transform(views), or from arrays with KernelViews.from_dense(K)"
        )
    X.demand_square()
    if len(X) == 0:
        raise ValueError("there is no sample to learn from")
    return X
