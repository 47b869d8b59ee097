"""Who has which view: ids, names and the boolean matrix ``observed`` that both data structures share."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse

from absentia.core import Array, frozen, kept, warn
from absentia.data._gaps import AbsenceWarning, components, patterns, shown

Align = Literal["union", "intersection", "strict"]


def as_ids(ids: Iterable[Hashable] | None, n: int, what: str = "ids") -> Array:
    """Sample ids as a read-only 1-d array of length `n`; ``None`` counts from zero."""
    if ids is None:
        return frozen(np.arange(n))
    if isinstance(ids, np.ndarray) and ids.ndim == 1 and ids.dtype.kind in "iuUmM" and len(ids) == n:
        return frozen(ids.copy())
    try:
        values = list(ids)
    except TypeError:
        raise ValueError(
            f"{what}: {type(ids).__name__} came; a list or a 1-d array, one id per sample, is wanted"
        ) from None
    if len(values) != n:
        raise ValueError(f"{what}: {len(values)} ids for {n} samples; one id per sample is wanted")
    kinds = {type(x) for x in values}
    array = np.asarray(values) if len(kinds) == 1 and not kinds & {tuple, list} else np.zeros(0)
    if array.shape != (n,):  # ids of several types, or tuples: keep them as they are
        array = np.empty(n, dtype=object)
        array[:] = values  # type: ignore[assignment]
    return frozen(array)


def id_list(ids: Array) -> list[Any]:
    """Ids as hashable Python values; dates stay dates."""
    return list(ids) if ids.dtype.kind in "mM" else ids.tolist()


def check_unique(ids: Array, what: str) -> None:
    """Raise if an id appears twice; say which."""
    if ids.dtype == object:
        repeated = [x for x, count in Counter(ids.tolist()).items() if count > 1]
    else:
        values, counts = np.unique(ids, return_counts=True)
        repeated = list(values[counts > 1])
    if repeated:
        raise ValueError(
            f"{what}: {len(repeated)} sample id(s) appear more than once, e.g. "
            f"{', '.join(shown(x) for x in repeated[:3])}; "
            "give every sample one id, or average the repeated rows first"
        )


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """View names as a tuple of distinct strings, at least one."""
    result = tuple(str(name) for name in names)
    if not result:
        raise ValueError("no view given; at least one is wanted")
    repeated = {name for name in result if result.count(name) > 1}
    if repeated:
        raise ValueError(f"view names must differ; repeated: {sorted(repeated)}")
    return result


def check_observed(observed: Any, n_samples: int, n_views: int) -> Array:
    """`observed` as a boolean matrix, samples x views."""
    mask = np.asarray(observed)
    if mask.shape != (n_samples, n_views):
        hint = "; it looks transposed" if mask.shape == (n_views, n_samples) else ""
        raise ValueError(
            f"observed has shape {mask.shape}, wanted (samples, views) = ({n_samples}, {n_views})" + hint
        )
    if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
        raise ValueError("observed must hold True (present) and False (absent) only")
    return mask.astype(bool)


def as_index(key: Any, n: int) -> Array:
    """Any of int, slice, boolean mask, list or index array as non-negative positions below `n`."""
    if isinstance(key, slice):
        return np.arange(n)[key]
    if isinstance(key, tuple):
        raise IndexError("samples are picked by one index; views by name with .select([...])")
    index = np.atleast_1d(np.asarray(key))
    if index.size == 0:
        return np.zeros(0, dtype=int)
    if index.dtype == bool:
        if index.shape != (n,):
            raise IndexError(f"boolean index of shape {index.shape} for {n} samples")
        return np.flatnonzero(index)
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise IndexError(f"samples are picked by positions or a mask, not by {key!r}")
    if (index < -n).any() or (index >= n).any():
        raise IndexError(f"position {int(index[np.argmax(np.abs(index))])} for {n} samples")
    return np.where(index < 0, index + n, index)


def row_key(key: Any) -> Any:
    """Strip the trailing ``...`` or ``:`` that array code (scikit-learn's too) adds to a row index."""
    if isinstance(key, tuple) and len(key) == 1:
        return key[0]
    if isinstance(key, tuple) and len(key) == 2:
        last = key[1]
        if last is Ellipsis or (isinstance(last, slice) and last == slice(None)):
            return key[0]
    return key


def default_names(n: int) -> list[str]:
    return [f"view{v}" for v in range(n)]


def align_ids(names: Sequence[str], own: Sequence[Array], align: Align) -> tuple[Array, list[Array]]:
    """Common ids, and for each view the row of each of them in that view's table (-1 = none).

    Ids keep the order they have in every view if that is ascending, else the order of appearance.
    """
    if align not in ("union", "intersection", "strict"):
        raise ValueError(f"align must be 'union', 'intersection' or 'strict', not {align!r}")
    for name, ids in zip(names, own, strict=True):
        check_unique(ids, f"view {name!r}")
    if all(ids is own[0] for ids in own):  # arrays: one list of ids for all
        return own[0], [np.arange(len(own[0])) for _ in own]
    kinds = {ids.dtype.kind for ids in own if len(ids)}
    if len(kinds) > 1:
        raise ValueError(
            "sample ids are of different types in different views "
            f"({sorted({type(x).__name__ for ids in own for x in id_list(ids[:1])})}); "
            "convert them all to str or all to int"
        )
    union, rows = _union(own) if kinds != {"O"} else _union_of_objects(own)
    lacking = np.column_stack([row < 0 for row in rows])
    if align == "strict" and lacking.any():
        v = int(np.argmax(lacking.any(axis=0)))
        raise ValueError(
            f"view {names[v]!r} lacks sample {shown(union[np.argmax(lacking[:, v])])} "
            f"(and {lacking[:, v].sum() - 1} more), which align='strict' forbids; "
            "use align='union' to mark them absent"
        )
    keep = ~lacking.any(axis=1) if align == "intersection" else slice(None)
    return frozen(union[keep]), [row[keep] for row in rows]


def _union(own: Sequence[Array]) -> tuple[Array, list[Array]]:
    """Distinct ids of all views and where each view has them, without a Python object per id."""
    everything = np.concatenate(own)
    values, first, code = np.unique(everything, return_index=True, return_inverse=True)
    ascending = all(bool((ids[1:] > ids[:-1]).all()) for ids in own)
    order = np.arange(len(values)) if ascending else np.argsort(first, kind="stable")
    place = np.empty(len(values), dtype=int)
    place[order] = np.arange(len(values))
    rows, begin = [], 0
    for ids in own:
        row = np.full(len(values), -1)
        row[place[code[begin : begin + len(ids)]]] = np.arange(len(ids))
        rows.append(row)
        begin += len(ids)
    return values[order], rows


def _union_of_objects(own: Sequence[Array]) -> tuple[Array, list[Array]]:
    """The same for ids that cannot be sorted: tuples, mixed types."""
    tables = [{x: row for row, x in enumerate(ids.tolist())} for ids in own]
    union = list(dict.fromkeys(x for table in tables for x in table))
    rows = [np.array([table.get(x, -1) for x in union], dtype=int) for table in tables]
    return as_ids(union, len(union)), rows


def positions(observed: Array, index: Array) -> Array:
    """Positions, inside a view's block, of those samples of `index` that have the view."""
    rank = np.cumsum(observed) - 1
    return np.asarray(rank[index[observed[index]]])


def refrozen(state: dict[str, Any]) -> dict[str, Any]:
    """Unpickled arrays are writeable again; undo that."""
    return {k: frozen(x) if isinstance(x, np.ndarray) else x for k, x in state.items()}


def as_table(name: str, table: Any) -> Any:
    """A 2-d float array or csr matrix; float32 stays float32."""
    if scipy.sparse.issparse(table):
        array = scipy.sparse.csr_array(table, copy=True)
    else:
        array = np.ma.filled(table.astype(float), np.nan) if np.ma.isMA(table) else np.asarray(table)
    if array.dtype.kind not in "fiub":
        try:
            if array.dtype.kind not in "OUS":
                raise TypeError
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"view {name!r}: values of type {array.dtype} are not numbers") from None
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(
            f"view {name!r} has shape {array.shape}; wanted two dimensions, "
            "samples x features, with at least one feature"
        )
    return array


@kept
@dataclass(frozen=True, eq=False, repr=False)
class Presence:
    """What :class:`Views` and :class:`KernelViews` share: samples, views, and who has which."""

    ids: Array
    names: tuple[str, ...]
    observed: Array

    @property
    def n_samples(self) -> int:
        return len(self.ids)

    @property
    def n_views(self) -> int:
        return len(self.names)

    def __len__(self) -> int:
        return self.n_samples

    def __array__(self, *_: Any, **__: Any) -> Array:
        kind = type(self).__name__
        raise TypeError(
            f"{kind} holds several views and is not one matrix; put ViewKernels() and "
            "CombineKernels() before an estimator that wants one, or take a view with .block(name)"
        )

    def _column(self, name: str) -> int:
        try:
            return self.names.index(name)
        except ValueError:
            raise KeyError(f"no view {name!r}; the views are {list(self.names)}") from None

    def patterns(self) -> tuple[Array, Array]:
        """Distinct rows of `observed` and their counts, most frequent first."""
        return patterns(self.observed)

    def components(self) -> Array:
        """Connected components of co-observation, see ``_presence.components``."""
        return components(self.observed)

    def _size_of(self, name: str) -> str:
        raise NotImplementedError

    def _headline(self) -> str:
        share = f"{self.observed.mean():.1%} of cells present" if self.observed.size else "empty"
        views = "1 view" if self.n_views == 1 else f"{self.n_views} views"
        return f"{type(self).__name__}: {self.n_samples} samples, {views}, {share}"

    def __repr__(self) -> str:
        width = max(len(name) for name in self.names)
        sizes = [self._size_of(name) for name in self.names]
        size_width = max(len(size) for size in sizes)
        lines = [self._headline()]
        for name, size, present in zip(self.names, sizes, self.observed.T, strict=True):
            share = present.mean() if len(present) else 0.0
            lines.append(
                f"  {name:<{width}}  {size:>{size_width}}  {_bar(share)}  "
                f"{share:4.0%}  {present.sum()} of {len(present)}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(self._size_of(name))}</td>"
            f"<td><progress max='{len(present)}' value='{present.sum()}'></progress></td>"
            f"<td>{present.sum()} of {len(present)}</td></tr>"
            for name, present in zip(self.names, self.observed.T, strict=True)
        )
        return (
            f"<div><b>{html.escape(self._headline())}</b><table><thead><tr><th>view</th>"
            f"<th>size</th><th colspan='2'>samples present</th></tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )

    def warn_of_absence(self) -> None:
        """Warn of views nobody has and of samples without any view."""
        for name, present in zip(self.names, self.observed.T, strict=True):
            if len(present) and not present.any():
                warn(f"view {name!r} is observed for no sample; it carries no information", AbsenceWarning)
        empty = np.flatnonzero(~self.observed.any(axis=1))
        if empty.size:
            some = ", ".join(shown(x) for x in self.ids[empty[:3]])
            warn(
                f"{empty.size} sample(s) have no view at all, e.g. {some}; "
                "nothing can be said of them beyond the average",
                AbsenceWarning,
            )


def _bar(share: float, width: int = 20) -> str:
    full = round(share * width)
    return "█" * full + "░" * (width - full)
