"""Which array of a file is what: views or kernels, samples down or across, who has which view.

Files of numbers (``.mat``, ``.npy``, HDF5, Zarr) do not say what their arrays mean.  A *content* is what
such a file holds by name: arrays, sparse matrices, and *bundles* of them (a list: a cell array; a dict: a
struct or a group).  What the names and shapes settle is taken; what they do not is an error that shows
the shapes and says how to name the views, or, where one reading is usual, a warning that says which was
taken.

Names
-----
``K``, ``KH``, ``Km``, ``kernels``, ``K1`` ... are kernels; ``X``, ``Xs``, ``data``, ``fea``, ``X1``,
``view_<name>`` ... are features.  ``y``, ``gt``, ``gnd``, ``truth``, ``labels`` ... are labels and never
views.  ``mask``, ``observed``, ``present``, ``MID`` (1 = present) and ``missing``, ``absent`` (1 = absent)
say who has which view, and so does a cell array ``S`` of structs, one for each view in order, whose
``indx`` has the positions, from 1 on, of the samples that lack it.  ``ids`` and ``names`` are what samples
and views are called.  If none of the usual names is there, all other tables are the views.

``MID`` is in files of the authors of cross-view kernel transfer, ``S{p}.indx`` in those of the authors of
absent multiple kernel learning, whose programs take what it lists away.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from absentia.core import Array, warn
from absentia.data import AbsenceWarning, KernelViews, Views, default_names
from absentia.files._base import Budget
from absentia.files._npz import check_id_array

_KERNELS = re.compile(r"(?:k|kh|km|ks|kernels?|kernel_?mat(?:rix|rices)?|gram)_?\d*", re.I)
_FEATURES = re.compile(r"(?:x|xs|data|fea|feas?|features?|views?)_?\d*|view_.+", re.I)
_LABELS = re.compile(
    r"y|y0|gt|gnd|truth|ground_?truth|true_?labels?|labels?|targets?|class(?:es)?|y_(?:train|true)", re.I
)
_PRESENT, _ABSENT = ("mask", "observed", "present", "mid"), ("missing", "absent")
_OF_PAPERS = {"mid": "1 = present", "s": "whose indx lists the samples that lack a view"}
_IDS, _VIEW_NAMES = ("ids", "id", "sample_ids", "obs_names"), ("names", "view_names", "viewnames")
_SIDECAR = {*_PRESENT, *_ABSENT, *_IDS, *_VIEW_NAMES, "index", "indices", "feature_names", "mask_before"}
_SYMMETRY_TOL = 1e-5  # of the largest value: which way a stack lies; the kernels' own check comes later


_Content = Mapping[str, Any]


class _TableSet(NamedTuple):
    """Tables by the names of their views.

    Also the keys that they came from, whether they have names of their own, and whether their order is one
    that the file means.
    """

    tables: dict[str, Any]
    keys: Sequence[str]
    named: bool = True
    ordered: bool = False

    @property
    def called_kernels(self) -> bool:
        return all(_KERNELS.fullmatch(key.rpartition("/")[2]) for key in self.keys)


def infer_schema(
    content: _Content, views: Mapping[str, Sequence[str]] | None = None
) -> Views | KernelViews:
    """Views or KernelViews out of what a file holds.

    Parameters
    ----------
    content : mapping of str to array, sparse matrix, list or dict
        What the file holds.
    views : mapping of str to sequence of str, optional
        Which arrays make up each view; ``"X/0"`` and ``"X/rna"`` are those of a bundle ``X``.
    """
    sidecar = _sidecar_of_named(content, views) if views else _open_group(content)
    selection = _rename_views(_select_named(content, views) if views else _select_usual(sidecar), sidecar)
    tables = {name: _as_floats(name, table) for name, table in selection.tables.items()}
    kernels = _are_kernels(tables, selection.called_kernels)
    if not kernels:
        tables = _orient(tables, _count_samples(sidecar))
    n = next(iter(tables.values())).shape[0]
    if not views:
        _warn_unused(sidecar, selection, n)
    ids, observed = _find_ids(sidecar, n), _find_observed(sidecar, n, len(tables))
    if observed is not None and not selection.ordered:
        raise ValueError(
            f"a mask is there, but which of its columns is which of {list(tables)} is not said; "
            "put 'names', the views in the order of the columns, beside it"
        )
    if not kernels:
        return Views.from_dict(tables, ids=ids, observed=observed)
    dense = {name: _as_dense(name, K) for name, K in tables.items()}
    _check_diagonals(dense, observed)
    return KernelViews.from_dense(dense, observed, ids)


# ---------------------------------------------------------------------------- which are the views


def _open_group(content: _Content) -> dict[str, Any]:
    """The content with the struct or group opened that holds the tables, if these are not beside it."""
    groups = {key: x for key, x in content.items() if isinstance(x, Mapping) and _tables(x)}
    usual = [key for key in groups if _is_usual(key)]
    tables = _tables(content)
    if not groups or any(map(_is_usual, tables)) or (tables and not usual):
        return dict(content)
    chosen = usual if len(usual) == 1 else list(groups)
    if tables or len(chosen) > 1:
        raise _ambiguous("several that could be the views", groups | tables)
    return _with_group(content, chosen[0])


def _with_group(content: _Content, key: str) -> dict[str, Any]:
    """A content with what is in one of its groups; what lies outside has the last word."""
    return {**content[key], **{other: x for other, x in content.items() if other != key}}


def _is_usual(key: str) -> bool:
    return bool(_FEATURES.fullmatch(key) or _KERNELS.fullmatch(key))


def _tables(content: _Content) -> dict[str, Any]:
    """What could be views; vectors only under a usual name."""
    return {
        key: x
        for key, x in content.items()
        if not _is_sidecar(key)
        and _is_tabular(x)
        and (isinstance(x, list) or min(x.shape) > 1 or _FEATURES.fullmatch(key))
    }


def _warn_unused(content: _Content, selection: _TableSet, n: int) -> None:
    """Warn of numbers for each sample that are not taken: labels of an unusual name, or views."""
    others = {key: x for key, x in content.items() if key not in selection.keys and not _is_sidecar(key)}
    left = {key: x for key, x in others.items() if isinstance(x, Mapping) and _tables(x)}
    left |= {key: x for key, x in others.items() if n in getattr(x, "shape", ()) and x.dtype.kind in "biuf"}
    masks = [key for key, x in left.items() if _as_mask(x, n, len(selection.tables)) is not None]
    if left:
        offer = "; if {!r} says who has which view, call it mask (1 = present) or absent (1 = absent)"
        more = offer.format(masks[0][:80]) if masks else ""
        warn(f"not taken as views: {_list_shapes(left)}; {_ADVICE}{more}")


def _select_usual(content: _Content) -> _TableSet:
    """The views by the usual names, or else all tables that are nothing else."""
    tables = _tables(content)
    kernels = {key: x for key, x in tables.items() if _KERNELS.fullmatch(key)}
    features = {key: x for key, x in tables.items() if _FEATURES.fullmatch(key)}
    if kernels and features:
        raise _ambiguous("both kernels and features", kernels | features)
    chosen = kernels or features or tables
    if not chosen:
        raise ValueError(f"holds no table that could be a view but {_list_shapes(content) or 'nothing'}")
    bundles = [key for key, x in chosen.items() if _is_bundle(x)]
    if not bundles:
        return _sort_numbered(
            {key.removeprefix("view_") or key: x for key, x in chosen.items()}, list(chosen)
        )
    if len(chosen) > 1:
        raise _ambiguous("several arrays that could be the views", chosen)
    return _split_bundle(bundles[0], chosen[bundles[0]])


_ADVICE = "say which are meant, as in views={'expr': ['X1'], 'clin': ['X2']}"


def _ambiguous(what: str, content: _Content) -> ValueError:
    return ValueError(f"holds {what}: {_list_shapes(content)}; {_ADVICE}")


def _select_named(content: _Content, views: Mapping[str, Sequence[str]]) -> _TableSet:
    """The views that the user names; a bundle that is named alone is all of its views."""
    picked = {name: [_look_up(content, key) for key in keys] for name, keys in views.items()}
    if len(picked) == 1:
        ((name, parts),) = picked.items()
        if len(parts) == 1 and _is_bundle(parts[0]):
            return _split_bundle(views[name][0], parts[0])
    for name, parts in picked.items():
        for key, part in zip(views[name], parts, strict=True):
            if _is_bundle(part) or not _is_tabular(part):
                raise ValueError(f"view {name!r}: {key!r} is {_show_shape(part)}; one table is wanted")
    joined = {name: x[0] if len(x) == 1 else _stack_columns(name, x) for name, x in picked.items()}
    return _TableSet(joined, [key for keys in views.values() for key in keys], ordered=len(joined) == 1)


def _sidecar_of_named(content: _Content, views: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What lies beside the views that the user names, also in the group that they are in."""
    outer = {key.partition("/")[0] for keys in views.values() for key in keys}
    groups = [key for key in outer if isinstance(content.get(key), Mapping)]
    return _with_group(content, groups[0]) if len(groups) == 1 else dict(content)


def _look_up(content: _Content, key: str) -> Any:
    """What lies under a name, or under the name of a bundle and a place inside it."""
    if key in content:
        return content[key]
    for outer, x in content.items():
        if key.startswith(f"{outer}/") and _is_bundle(x):
            return _look_up(_bundle_parts(outer, x), key.removeprefix(f"{outer}/"))
    raise ValueError(f"holds no array {key!r} but {_list_shapes(content) or 'nothing'}")


def _stack_columns(name: str, parts: Sequence[Any]) -> Any:
    rows = {part.shape[0] for part in parts}
    if len(rows) > 1:
        raise ValueError(f"view {name!r}: its arrays have {sorted(rows)} rows; as many in each are wanted")
    sparse = any(scipy.sparse.issparse(part) for part in parts)
    return scipy.sparse.hstack(parts, format="csr") if sparse else np.hstack([np.asarray(p) for p in parts])


def _split_bundle(key: str, bundle: Any) -> _TableSet:
    parts = _bundle_parts(key, bundle)
    if isinstance(bundle, Mapping):
        tables = _tables(parts)
        return _sort_numbered(tables, [f"{key}/{name}" for name in tables])
    named = dict(zip(default_names(len(parts)), parts.values(), strict=True))
    return _TableSet(named, [key], named=False, ordered=True)


def _sort_numbered(tables: dict[str, Any], keys: Sequence[str]) -> _TableSet:
    """Tables in the order of their numbers, K2 before K10; without numbers the order means nothing."""
    matches = [re.fullmatch(r"(.*?)_?(\d{1,9})", name) for name in tables]
    stems = {None if match is None else match[1] for match in matches}
    if len(tables) == 1 or len(stems) > 1 or None in stems:
        return _TableSet(tables, keys, ordered=len(tables) == 1)
    rank = {name: int(match[2]) for name, match in zip(tables, matches, strict=True) if match}
    return _TableSet(
        {name: tables[name] for name in sorted(tables, key=rank.__getitem__)}, keys, ordered=True
    )


def _bundle_parts(key: str, bundle: Any) -> dict[str, Any]:
    """The tables of a bundle by name, or by number where they have none."""
    if isinstance(bundle, Mapping):
        return dict(bundle)
    parts = bundle if isinstance(bundle, list) else _split_stack(key, bundle)
    return {str(place): part for place, part in enumerate(parts)}


def _is_bundle(x: Any) -> bool:
    return isinstance(x, Mapping | list) or (isinstance(x, np.ndarray) and x.ndim == 3)


def _is_tabular(x: Any) -> bool:
    """Whether something is a table of numbers, a stack or a list of such."""
    if isinstance(x, list):
        return bool(x) and all(_is_tabular(part) and not _is_bundle(part) for part in x)
    if isinstance(x, Mapping):
        return False
    return scipy.sparse.issparse(x) or (x.dtype.kind in "biuf" and x.ndim in (2, 3) and x.size > 1)


# ------------------------------------------------------------------------------- kernels, and which way


def _split_stack(key: str, stack: Array) -> list[Array]:
    """The kernels of a stack, (views, n, n) or (n, n, views)."""
    a, b, c = stack.shape
    along_first, along_last = b == c, a == b
    if along_first and along_last and a > 1:
        along_first, along_last = (
            all(map(_is_symmetric, way)) for way in (stack, np.moveaxis(stack, 2, 0))
        )
        if along_first == along_last:
            both = "both ways" if along_first else "neither way"
            raise ValueError(
                f"{key!r} has shape {stack.shape} and its slices are symmetric {both}, so which axis "
                "counts the views cannot be told; give each kernel as an array of its own"
            )
    if not (along_first or along_last):
        raise ValueError(
            f"{key!r} has shape {stack.shape}; a stack of kernels, (views, n, n) or (n, n, views), is "
            "wanted, or each view as an array of its own"
        )
    return list(stack) if along_first else list(np.moveaxis(stack, 2, 0))


def _is_symmetric(K: Any) -> bool:
    """Up to rounding, and NaN in the same places."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        return False
    if scipy.sparse.issparse(K):
        scale, gap = abs(K).max(), abs(K - K.T).max()
        return bool(gap <= _SYMMETRY_TOL * scale)
    if not np.array_equal(np.isnan(K), np.isnan(K.T)):
        return False
    scale = np.abs(K[~np.isnan(K)]).max(initial=0.0)
    with np.errstate(invalid="ignore"):
        return bool((np.nan_to_num(np.abs(K - K.T)) <= _SYMMETRY_TOL * scale).all())


def _are_kernels(tables: Mapping[str, Any], called: bool) -> bool:
    """Square, over the same samples, and symmetric; those that are called kernels are checked later."""
    sizes = {side for table in tables.values() for side in table.shape}
    square = len(sizes) == 1
    if called and not square:
        raise ValueError(f"kernels are square and of one size, not {_list_shapes(tables)}; {_ADVICE}")
    return square and (called or all(map(_is_symmetric, tables.values())))


def _check_diagonals(kernels: Mapping[str, Array], observed: Array | None) -> None:
    """Distances are refused; samples with nothing but zeros are probably absent, which is said."""
    for name, K in kernels.items():
        none = K.diagonal() == 0
        empty = none & ~K.any(axis=1)
        if none.any() and none.all() and not empty.all():
            raise ValueError(
                f"view {name!r} is zero along its whole diagonal, as distances are; kernels, which are "
                "similarities, are wanted"
            )
        if empty.any() and observed is None:
            warn(
                f"view {name!r}: {empty.sum()} of {len(K)} samples, the first at position "
                f"{int(np.argmax(empty))}, have nothing but zeros in the kernel; they are probably absent, "
                "but taken as observed: put NaN into their rows and columns, or a 'mask' (samples x views, "
                "1 = present) beside the kernels",
                AbsenceWarning,
            )


def _orient(tables: dict[str, Any], known: int | None) -> dict[str, Any]:
    """Feature tables with samples as rows, by the number of samples that all share."""
    sides = [set(table.shape) for table in tables.values()]
    common = set.intersection(*sides)
    if not common:
        raise ValueError(
            f"the views share no number of samples: {_list_shapes(tables)}; give all views over the "
            f"same samples, absent ones as rows of NaN, or {_ADVICE}"
        )
    rows = {table.shape[0] for table in tables.values()}
    is_known = known in common
    n = known if is_known else next(iter(rows)) if len(rows) == 1 else next(iter(common))
    if len(common) > 1 and not is_known and len(rows) > 1:
        raise ValueError(
            f"samples could be rows or columns: {_list_shapes(tables)}; turn the views so that samples "
            "are the rows of all, or put labels or 'ids', one for each sample, beside them"
        )
    transposed = [name for name, table in tables.items() if table.shape[0] != n]
    unsure = len(common) > 1 and not is_known and not all(side == {n} for side in sides)
    if unsure or (transposed and len(transposed) < len(tables) and not is_known):
        warn(
            f"samples could be rows or columns ({_list_shapes(tables)}): {n} samples are taken"
            + (f", and {transposed} transposed" if transposed else ", as rows")
            + "; put labels or 'ids', one for each sample, beside the views to settle it"
        )
    return {name: table.T if name in transposed else table for name, table in tables.items()}


def _rename_views(selection: _TableSet, sidecar: _Content) -> _TableSet:
    """Tables under, or in the order of, the names that lie beside them, if these are texts, one each."""
    entry, tables = _find_first(sidecar, _VIEW_NAMES), selection.tables
    vector = None if entry is None else as_vector(entry[1])
    if vector is None or vector.dtype.kind != "U" or len(vector) != len(tables):
        return selection
    names = vector.tolist()
    if len(set(names)) < len(names):
        raise ValueError(f"the views' names are not distinct: {names}; give each its own")
    if set(names) == set(tables):
        return selection._replace(tables={name: tables[name] for name in names}, ordered=True)
    if selection.named:
        return selection
    return selection._replace(tables=dict(zip(names, tables.values(), strict=True)))


# --------------------------------------------------------------------------------------------- numbers


def _as_floats(name: str, table: Any) -> Any:
    """A table in floating point, if there is memory for it."""
    if table.dtype.kind == "f" and table.dtype.itemsize in (4, 8):
        return table
    if not scipy.sparse.issparse(table):
        Budget().spend(8 * table.size, f"view {name!r} of shape {table.shape}")
    return table.astype(np.float64)


def _as_dense(name: str, K: Any) -> Array:
    if not scipy.sparse.issparse(K):
        return np.asarray(K)
    Budget().spend(8 * K.shape[0] * K.shape[1], f"the kernel of view {name!r}, of shape {K.shape},")
    return np.asarray(K.toarray())


# --------------------------------------------------------------------- what lies beside the views


def _is_sidecar(key: str) -> bool:
    """Whether what has this name is no view."""
    return key.lower() in _SIDECAR or _LABELS.fullmatch(key) is not None


def _list_shapes(content: _Content, max_items: int = 8) -> str:
    """What a content holds, for a sentence."""
    shown = [f"{key[:80]!r} {_show_shape(x)}" for key, x in list(content.items())[:max_items]]
    return ", ".join(shown) + (", ..." if len(content) > max_items else "")


def _show_shape(x: Any) -> str:
    """What one member of a content is, for a sentence."""
    if isinstance(x, Mapping):
        return f"with {_list_shapes(x, 4) or 'nothing'}"
    if isinstance(x, list):
        return f"{len(x)} of {', '.join(dict.fromkeys(_show_shape(part) for part in x[:4]))}"
    return str(tuple(x.shape)) if x.dtype.kind in "biuf" else f"{x.dtype} {tuple(x.shape)}"


def as_vector(x: Any) -> Array | None:
    """A list of values in any of its guises: 1-d, one row, one column, a cell array of texts."""
    if isinstance(x, list):
        if not x or not all(isinstance(text, np.ndarray) and text.size == 1 for text in x):
            return None
        Budget().spend(max(text.itemsize for text in x) * len(x), f"a list of {len(x)} texts")
        return np.array([text.item() for text in x])
    if not isinstance(x, np.ndarray) or x.ndim == 0 or x.size != max(x.shape):
        return None
    return x.ravel()


def _find_first(sidecar: _Content, names: Sequence[str]) -> tuple[str, Any] | None:
    """The first of these names that is there, in upper or lower case, and what it has."""
    lower = {key.lower(): key for key in sidecar}
    return next(((lower[name], sidecar[lower[name]]) for name in names if name in lower), None)


def _count_samples(sidecar: _Content) -> int | None:
    """The number of samples, as ids or labels say it; None if they do not, or not with one voice."""
    keys = [key for key in sidecar if key.lower() in _IDS or _LABELS.fullmatch(key)]
    vectors = [as_vector(sidecar[key]) for key in keys]
    lengths = {len(vector) for vector in vectors if vector is not None and len(vector) > 1}
    return lengths.pop() if len(lengths) == 1 else None


def _find_ids(sidecar: _Content, n: int) -> Array | None:
    """The ids of `n` samples, if an array holds them."""
    entry = _find_first(sidecar, _IDS)
    if entry is None:
        return None
    key, values = entry[0], as_vector(entry[1])
    if values is None or len(values) != n:
        raise ValueError(f"{key!r} is {_show_shape(entry[1])} for {n} samples; one id for each is wanted")
    if values.dtype.kind == "f" and (values == np.round(values)).all():  # MATLAB's numbers are double
        values = values.astype(np.int64)
    return check_id_array(values, key)


def _find_observed(sidecar: _Content, n: int, n_views: int) -> Array | None:
    """Who has which view, samples x views, if an array says so."""
    masks = {}
    for key, x in sidecar.items():
        if (missing := _missing_by_view(key, x)) is not None:
            masks[key] = ~_mark_positions(key, missing, n, n_views)
        elif key.lower() in (*_PRESENT, *_ABSENT):
            mask = _as_mask(x, n, n_views)
            if mask is not None:
                masks[key] = mask if key.lower() in _PRESENT else ~mask
                continue
            sentence = (
                f"{key!r} is {_show_shape(x)}; who has which view is said by 0 and 1 of shape "
                f"(samples, views) = ({n}, {n_views})"
            )
            if isinstance(x, np.ndarray) and x.ndim == 2 and np.isin(x, (0, 1)).all():
                raise ValueError(sentence)
            warn(f"{sentence}, and it is left alone", AbsenceWarning)
    if len({mask.tobytes() for mask in masks.values()}) > 1:
        raise ValueError(f"{sorted(masks)} do not agree on who has which view; keep one")
    return next(iter(masks.values()), None)


def describe_absence(content: _Content, data: Views | KernelViews) -> tuple[str, ...]:
    """Sentences on who has which view, where that is said as authors of papers say it."""
    return tuple(
        f"{key!r} is taken as who has which view, {_OF_PAPERS[key.lower()]}: "
        f"{int((~data.observed).sum())} of {data.observed.size} are absent"
        for key, x in content.items()
        if key.lower() == "mid" or _missing_by_view(key, x) is not None
    )


def _missing_by_view(key: str, x: Any) -> list[Any] | None:
    """What ``S{p}.indx`` holds, by view; None if this is nothing of the kind."""
    cells = x if isinstance(x, list) else [x]
    if key != "S" or not all(isinstance(cell, Mapping) and "indx" in cell for cell in cells):
        return None
    return [cell["indx"] for cell in cells]


def _mark_positions(key: str, lists: Sequence[Any], n: int, n_views: int) -> Array:
    """Samples x views, True where a list for each view has the position, from 1 on."""
    if len(lists) != n_views:
        raise ValueError(f"{key!r} has {len(lists)} cells for {n_views} views; one for each is wanted")
    marked = np.zeros((n, n_views), dtype=bool)
    for v, places in enumerate(np.ravel(one) for one in lists):
        if places.dtype.kind not in "iuf" or not np.isin(places, np.arange(1, n + 1)).all():
            raise ValueError(
                f"'{key}{{{v + 1}}}.indx' is {_show_shape(places)}; positions of the samples that lack "
                f"view {v + 1} are wanted, whole numbers from 1 to {n}"
            )
        marked[places.astype(np.int64) - 1, v] = True
    return marked


def _as_mask(x: Any, n: int, n_views: int) -> Array | None:
    if scipy.sparse.issparse(x) and x.shape in ((n, n_views), (n_views, n)):
        x = x.toarray()
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "biuf" or not np.isin(x, (0, 1)).all():
        return None
    if x.shape == (n, n_views):
        return x.astype(bool)
    return x.T.astype(bool) if x.shape == (n_views, n) else None
