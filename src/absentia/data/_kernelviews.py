"""Several kernels over the same samples, each known only where its view was observed.

:class:`KernelViews` is immutable, like :class:`absentia.Views`: it holds one kernel per view over the
samples that have it, as an operator, and takes ``np.ix_`` so that scikit-learn can split it.

The ``from_...`` constructors validate; slices of a valid object are trusted.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from absentia.core import (
    Array,
    Dense,
    Gram,
    Operator,
    check_memory,
    check_name,
    has_factors,
    serializable,
    warn,
)
from absentia.core.linalg import as_readonly, clip_eigenvalues, psd_violation, shift_eigenvalues
from absentia.data._ids import Align
from absentia.data._inputs import check_kernel, make_index, parse_blocks, parse_dense
from absentia.data._presence import Presence, as_index, input_error, strip_ellipsis

if TYPE_CHECKING:
    import pandas

#: Kernels that are not arrays are made arrays of up to so many bytes without a word.
_DENSE_BYTES = 2**30
#: What is made of whole kernels takes so many times their memory.
_COPIES = 3
_SMALL_BYTES = 2**24  # for which nobody asks how much memory there is


class DenseWarning(UserWarning):
    """A kernel given by factors is made an array that takes much memory."""


@serializable
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
        return cls._square(*parse_dense(K, observed, ids, names))

    @classmethod
    def from_blocks(
        cls, blocks: Mapping[str, tuple[Iterable[Hashable], Any]], align: Align = "union"
    ) -> Self:
        """From ``{name: (ids, kernel)}``: each kernel over the samples that have the view.

        Parameters
        ----------
        blocks : mapping of str to (ids, array)
            The ids of a view's own samples, and their kernel, a row and a column for each.
        align : {"union", "intersection", "strict"}
            Keep every sample of any view, only those of all views, or demand that all views have the
            same samples.
        """
        return cls._square(*parse_blocks(blocks, align, factors=False))

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
        reordering is needed.

        Parameters
        ----------
        factors : mapping of str to (ids, array)
            The ids of a view's own samples, and their factors, a row for each.
        align : {"union", "intersection", "strict"}
            As in :meth:`from_blocks`.
        copy : bool
            Whether later changes of the arrays must not show.
        """
        return cls._square(*parse_blocks(factors, align, factors=True, copy=copy))

    @classmethod
    def _square(cls, samples: Presence, operators: Mapping[str, Operator]) -> Self:
        """Validate and build: the one door for kernels from outside."""
        if not len(samples):
            raise ValueError("no sample is left; at least one is wanted")
        for name, present in zip(samples.names, samples.observed.T, strict=True):
            check_kernel(name, operators[name], samples.ids[present])
        result = cls.within(samples, operators)
        result.warn_of_absence()
        return result

    @classmethod
    def within(cls, samples: Presence, kernels: Mapping[str, Array | Operator]) -> Self:
        """Kernels of `samples` among themselves, from valid parts (nothing is checked again)."""
        operators = _as_operators(kernels)
        diagonals = {name: as_readonly(np.asarray(op.diagonal())) for name, op in operators.items()}
        ids, observed = as_readonly(samples.ids), as_readonly(samples.observed)
        sides = (ids, samples.names, observed, ids, observed)
        return cls(*sides, True, operators, diagonals, groups=samples.groups)

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
        row_diagonals = {name: as_readonly(np.asarray(values)) for name, values in diagonals.items()}
        sides = (rows.ids, columns.names, rows.observed, columns.ids, columns.observed)
        return cls(*sides, False, _as_operators(blocks), row_diagonals, groups=rows.groups)

    def completed(self, kernels: Mapping[str, Array | Operator]) -> Self:
        """The same samples and views with everything observed: `kernels` over all samples."""
        full = Presence(self.ids, self.names, np.ones_like(self.observed), groups=self.groups)
        return type(self).within(full, kernels)

    def completed_rows(
        self, kernels: Mapping[str, Array | Operator], diagonals: Mapping[str, Array]
    ) -> Self:
        """The same rows against the same columns with everything observed."""
        everything = as_readonly(np.ones_like(self.observed))
        rows = Presence(self.ids, self.names, everything, groups=self.groups)
        columns = Presence(self.column_ids, self.names, as_readonly(np.ones_like(self.column_observed)))
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

        Where that has to be made from factors and takes more than a GiB, a
        :class:`DenseWarning` says so before; it is refused where there is no memory for those of all views.
        """
        operator = self.operator(name)
        if not isinstance(operator, Dense):
            self.check_memory()
        _warn_of_size(name, operator)
        return operator.to_dense()

    def check_memory(self) -> None:
        """Raise if arrays of the kernels that are none so far would not fit into memory."""
        given = [K for K in self._operators.values() if not isinstance(K, Dense)]
        size = _COPIES * 8.0 * sum(K.shape[0] * K.shape[1] for K in given)
        if size > _SMALL_BYTES:
            rows, columns = self.shape
            check_memory(
                size,
                f"whole kernels of {rows} x {columns} in {len(given)} view(s), which came as factors,",
                "use a method that works with factors (KernelLogistic, MKMC, CVKT, EMFill, ...; features: "
                "FactorLogistic, FactorRidge), or fewer samples",
            )

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

        Found out once.  Factors and a diagonal have none.
        """
        if name not in self._spectra:
            operator = self.operator(name)
            trusted = isinstance(operator, Gram) or has_factors(operator)
            self._spectra[name] = None if trusted else psd_violation(self.block(name))
        return self._spectra[name]

    @cached_property
    def _spectra(self) -> dict[str, tuple[float, float] | None]:
        return {}

    def _select(self, key: Any) -> Self:
        rows, cols = self._row_and_column_index(key)
        columns = Presence(self.column_ids, self.names, self.column_observed)
        return replace(
            self._part(self._places(rows), columns._places(cols)),
            ids=as_readonly(self.ids[rows]),
            observed=as_readonly(self.observed[rows]),
            groups=self._groups_of(rows),
            column_ids=as_readonly(self.column_ids[cols]),
            column_observed=as_readonly(self.column_observed[cols]),
            square=self.square and np.array_equal(rows, cols),
        )

    def _among(self, index: Array) -> Self:
        return self[np.ix_(index, index)] if self.square else self[index]

    def _part(self, rows: Mapping[str, Array], cols: Mapping[str, Array] | None) -> Self:
        """Other operators and diagonals: those of rows and columns (None: all) of each view's block."""
        operators, diagonals = {}, {}
        for name, operator in self._operators.items():
            c = np.arange(operator.shape[1]) if cols is None else cols[name]
            operators[name] = operator.select(rows[name], c)
            diagonals[name] = as_readonly(self._diagonals[name][rows[name]])
        return replace(self, _operators=operators, _diagonals=diagonals)

    def _row_and_column_index(self, key: Any) -> tuple[Array, Array]:
        key = strip_ellipsis(key)
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
        observed, places = self._without(keep)
        part = self._part(places, places if self.square else None)
        columns = observed if self.square else self.column_observed
        return replace(part, observed=observed, column_observed=columns)

    def repair(self, how: Literal["clip", "shift"] = "clip") -> Self:
        """Make every kernel positive semidefinite, leaving those that already are.

        ``"clip"`` sets negative eigenvalues to zero (the nearest such matrix); ``"shift"`` adds the
        lowest eigenvalue's size to the diagonal, which keeps all differences between samples.
        """
        repairs = {"clip": clip_eigenvalues, "shift": shift_eigenvalues}
        if how not in repairs:
            raise ValueError(f"how must be 'clip' or 'shift', not {how!r}")
        self.check_square()
        operators = dict(self._operators)
        for name, operator in self._operators.items():
            if self.indefinite(name) is not None:
                operators[name] = Dense(repairs[how](operator.to_dense()))
        return type(self).within(self, operators)

    def check_columns(self, names: tuple[str, ...], ids: Array) -> None:
        """Raise unless the views are `names` and the columns the training samples `ids`, in order."""
        if self.names != names:
            raise ValueError(f"views {list(self.names)} came, {list(names)} were there in training")
        if not np.array_equal(self.column_ids, ids):
            raise ValueError(
                f"the columns must be the {len(ids)} training samples, in their order; "
                f"this has {self.shape[1]} columns: take kernel_views[np.ix_(new, train)]"
            )

    def check_square(self) -> None:
        """Raise unless rows and columns are the same samples."""
        if not self.square:
            raise ValueError(
                f"a square KernelViews (samples against themselves) is wanted; this one is "
                f"{self.shape[0]} rows against {self.shape[1]} columns"
            )

    def padded(self, name: str, rows: Array) -> Array:
        """A view's kernel between the samples at positions `rows` and all columns, NaN where absent."""
        v, operator = self._column(name), self.operator(name)
        present, columns = self.observed[:, v], self.column_observed[:, v]
        inside = self._places(rows, [name])[name]
        full = np.full((len(rows), self.shape[1]), np.nan)
        whole = np.array_equal(inside, np.arange(operator.shape[0]))
        values = operator.to_dense() if whole else operator.block(inside, np.arange(operator.shape[1]))
        full[np.ix_(present[rows], columns)] = values
        return full

    def to_dense(self) -> Array:
        """``(n_views, n_rows, n_columns)`` with NaN where absent; meant for small n."""
        dense = np.full((self.n_views, *self.shape), np.nan)
        for v, name in enumerate(self.names):
            seen = np.ix_(self.observed[:, v], self.column_observed[:, v])
            dense[v][seen] = self.block(name)
        return dense

    def to_frame(self, name: str, *, absent: Literal["drop", "keep"] = "drop") -> "pandas.DataFrame":
        """A view's kernel as a pandas DataFrame, ids x ids.

        ``kernels["seq"]`` is ``kernels.to_frame("seq")``.

        Parameters
        ----------
        name : str
            The view.
        absent : {"drop", "keep"}
            Samples that lack the view are left out, or have rows and columns of NaN.
        """
        import pandas as pd

        check_name("absent", absent, ("drop", "keep"))
        v = self._column(name)
        if absent == "keep":
            values, ids, columns = self.padded(name, np.arange(len(self))), self.ids, self.column_ids
        else:
            values, ids = np.array(self.block(name)), self.ids[self.observed[:, v]]
            columns = self.column_ids[self.column_observed[:, v]]
        return pd.DataFrame(values, index=make_index(ids), columns=make_index(columns))

    def _headline(self) -> str:
        if self.square:
            return super()._headline()
        return f"{super()._headline()}, against {self.shape[1]} samples"

    def _size_of(self, name: str) -> str:
        operator = self._operators[name]
        r, c = operator.shape
        factors = f", {operator.left.shape[1]} factors" if isinstance(operator, Gram) else ""
        return f"{r} x {c} kernel{factors}"


def _as_operators(kernels: Mapping[str, Array | Operator]) -> dict[str, Operator]:
    # the second question is that of a protocol, which takes longer than a product of one row
    return {
        name: Dense(K) if isinstance(K, np.ndarray) or not isinstance(K, Operator) else K
        for name, K in kernels.items()
    }


def _warn_of_size(name: str, operator: Operator) -> None:
    rows, columns = operator.shape
    size = rows * columns * operator.dtype.itemsize
    if size > _DENSE_BYTES and not isinstance(operator, Dense):
        warn(
            f"view {name!r}: the {rows} x {columns} kernel, not held as an array so far, is made one of "
            f"{size / 2**30:.1f} GiB, and so may be those of other views and what is made of them; use a "
            "method that works with factors (MKMC, CVKT(n_landmarks=...)), or fewer samples",
            DenseWarning,
        )


def check_square_kernels(X: Any, taker: str = "estimator") -> KernelViews:
    """A square KernelViews with somebody in it, or an error that says what to pass to the `taker`."""
    if not isinstance(X, KernelViews):
        raise input_error("kernels", X, taker)
    X.check_square()
    if len(X) == 0:
        raise ValueError("there is no sample to learn from")
    return X
