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
views.  ``mask``, ``observed``, ``present`` (1 = present) and ``missing``, ``absent`` (1 = absent) say who
has which view, ``ids`` and ``names`` what samples and views are called.  If none of the usual names is
there, all other tables are the views.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from absentia.core import Array, warn
from absentia.data import AbsenceWarning, KernelViews, Views, default_names
from absentia.files._memory import Budget
from absentia.files._npz import checked_ids

KERNELS = re.compile(r"(?:k|kh|km|ks|kernels?|kernel_?mat(?:rix|rices)?|gram)_?\d*", re.I)
FEATURES = re.compile(r"(?:x|xs|data|fea|feas?|features?|views?)_?\d*|view_.+", re.I)
LABELS = re.compile(
    r"y|y0|gt|gnd|truth|ground_?truth|true_?labels?|labels?|targets?|class(?:es)?|y_(?:train|true)", re.I
)
PRESENT, ABSENT = ("mask", "observed", "present"), ("missing", "absent")
IDS, NAMES = ("ids", "id", "sample_ids", "obs_names"), ("names", "view_names", "viewnames")
ASIDE = {*PRESENT, *ABSENT, *IDS, *NAMES, "index", "indices", "feature_names"}
SYMMETRY = 1e-5  # of the largest value: which way a stack lies; the kernels' own check comes later

Content = Mapping[str, Any]


class Found(NamedTuple):
    """Tables by the names of their views.

    Also the key that they came from, if it was one; whether they have names of their own; whether their
    order is one that the file means.
    """

    tables: dict[str, Any]
    key: str | None = None
    named: bool = True
    ordered: bool = False

    @property
    def called_kernels(self) -> bool:
        keys = list(self.tables) if self.key is None else [self.key]
        return all(KERNELS.fullmatch(key) for key in keys)


def guess(content: Content, views: Mapping[str, Sequence[str]] | None = None) -> Views | KernelViews:
    """Views or KernelViews out of what a file holds.

    Parameters
    ----------
    content : mapping of str to array, sparse matrix, list or dict
        What the file holds.
    views : mapping of str to sequence of str, optional
        Which arrays make up each view; ``"X/0"`` and ``"X/rna"`` are those of a bundle ``X``.
    """
    found = _named(content, views) if views else _usual(content)
    group = content.get(found.key or "")
    beside = {**(group if isinstance(group, Mapping) else {}), **content}
    found = _renamed(found, beside)
    tables = {name: _numbers(name, table) for name, table in found.tables.items()}
    kernels = _are_kernels(tables, found.called_kernels)
    if not kernels:
        tables = _upright(tables, _vector_length(beside))
    n = next(iter(tables.values())).shape[0]
    ids, observed = _ids(beside, n), _observed(beside, n, len(tables))
    if observed is not None and not found.ordered:
        raise ValueError(
            f"a mask is there, but which of its columns is which of {list(tables)} is not said; "
            "put 'names', the views in the order of the columns, beside it"
        )
    if not kernels:
        return Views.from_dict(tables, ids=ids, observed=observed)
    dense = {name: _dense(name, K) for name, K in tables.items()}
    _check_diagonals(dense, observed)
    return KernelViews.from_dense(dense, observed, ids)


# ---------------------------------------------------------------------------- which are the views


def _usual(content: Content) -> Found:
    """The views by the usual names, or else all tables that are nothing else."""
    tables = {key: x for key, x in content.items() if not _is_aside(key) and _is_tabular(x)}
    kernels = {key: x for key, x in tables.items() if KERNELS.fullmatch(key)}
    features = {key: x for key, x in tables.items() if FEATURES.fullmatch(key)}
    if kernels and features:
        raise ValueError(f"holds both kernels and features: {_shapes(kernels | features)}; {_HOW}")
    chosen = kernels or features or tables
    if not chosen:
        raise ValueError(f"holds no table that could be a view but {_shapes(content) or 'nothing'}")
    bundles = [key for key, x in chosen.items() if _is_bundle(x)]
    if not bundles:
        return _in_order({key.removeprefix("view_") or key: x for key, x in chosen.items()}, None)
    if len(chosen) > 1:
        raise ValueError(f"holds several arrays that could be the views: {_shapes(chosen)}; {_HOW}")
    return _unbundled(bundles[0], chosen[bundles[0]])


_HOW = "say which are meant, as in views={'expr': ['X1'], 'clin': ['X2']}"


def _named(content: Content, views: Mapping[str, Sequence[str]]) -> Found:
    """The views that the user names; a bundle that is named alone is all of its views."""
    picked = {name: [_at(content, key) for key in keys] for name, keys in views.items()}
    if len(picked) == 1:
        ((name, parts),) = picked.items()
        if len(parts) == 1 and _is_bundle(parts[0]):
            return _unbundled(views[name][0], parts[0])
    for name, parts in picked.items():
        for key, part in zip(views[name], parts, strict=True):
            if _is_bundle(part) or not _is_tabular(part):
                raise ValueError(f"view {name!r}: {key!r} is {_shape(part)}; one table is wanted")
    return Found(
        {name: parts[0] if len(parts) == 1 else _joined(name, parts) for name, parts in picked.items()}
    )


def _at(content: Content, key: str) -> Any:
    """What lies under a name, or under the name of a bundle and a place inside it."""
    if key in content:
        return content[key]
    outer, _, inner = key.rpartition("/")
    if outer in content and _is_bundle(content[outer]):
        inside = _numbered(outer, content[outer])
        if inner in inside:
            return inside[inner]
    raise ValueError(f"holds no array {key!r} but {_shapes(content) or 'nothing'}")


def _joined(name: str, parts: Sequence[Any]) -> Any:
    rows = {part.shape[0] for part in parts}
    if len(rows) > 1:
        raise ValueError(f"view {name!r}: its arrays have {sorted(rows)} rows; as many in each are wanted")
    sparse = any(scipy.sparse.issparse(part) for part in parts)
    return scipy.sparse.hstack(parts, format="csr") if sparse else np.hstack([np.asarray(p) for p in parts])


def _unbundled(key: str, bundle: Any) -> Found:
    parts = _numbered(key, bundle)
    if isinstance(bundle, Mapping):
        return _in_order(parts, key)
    tables = dict(zip(default_names(len(parts)), parts.values(), strict=True))
    return Found(tables, key, named=False, ordered=True)


def _in_order(tables: dict[str, Any], key: str | None) -> Found:
    """Tables in the order of their numbers, K2 before K10; without numbers the order means nothing."""
    numbers = [re.fullmatch(r"(.*?)_?(\d{1,9})", name) for name in tables]
    stems = {None if found is None else found[1] for found in numbers}
    if len(tables) == 1 or len(stems) > 1 or None in stems:
        return Found(tables, key, ordered=len(tables) == 1)
    rank = {name: int(found[2]) for name, found in zip(tables, numbers, strict=True) if found}
    return Found({name: tables[name] for name in sorted(tables, key=rank.__getitem__)}, key, ordered=True)


def _numbered(key: str, bundle: Any) -> dict[str, Any]:
    """The tables of a bundle by name, or by number where they have none."""
    if isinstance(bundle, Mapping):
        return {name: x for name, x in bundle.items() if not _is_aside(name) and _is_tabular(x)}
    parts = bundle if isinstance(bundle, list) else _slices(key, bundle)
    return {str(place): part for place, part in enumerate(parts)}


def _is_aside(key: str) -> bool:
    return key.lower() in ASIDE or LABELS.fullmatch(key) is not None


def _is_bundle(x: Any) -> bool:
    return isinstance(x, Mapping | list) or (isinstance(x, np.ndarray) and x.ndim == 3)


def _is_tabular(x: Any) -> bool:
    """Whether something is a table of numbers, or a bundle of such; vectors and single numbers are not."""
    if isinstance(x, Mapping):
        return any(
            _is_tabular(part) and not _is_bundle(part) for key, part in x.items() if not _is_aside(key)
        )
    if isinstance(x, list):
        return bool(x) and all(_is_tabular(part) and not _is_bundle(part) for part in x)
    if scipy.sparse.issparse(x):
        return True
    return x.dtype.kind in "biuf" and (x.ndim == 3 or (x.ndim == 2 and x.shape[0] > 1)) and x.size > 1


def _shapes(content: Content, most: int = 8) -> str:
    shown = [f"{key[:80]!r} {_shape(x)}" for key, x in list(content.items())[:most]]
    return ", ".join(shown) + (", ..." if len(content) > most else "")


def _shape(x: Any) -> str:
    if isinstance(x, Mapping):
        return f"with {_shapes(x, 4) or 'nothing'}"
    if isinstance(x, list):
        return f"{len(x)} of {', '.join(dict.fromkeys(_shape(part) for part in x[:4]))}"
    return str(tuple(x.shape)) if x.dtype.kind in "biuf" else f"{x.dtype} {tuple(x.shape)}"


# ------------------------------------------------------------------------------- kernels, and which way


def _slices(key: str, stack: Array) -> list[Array]:
    """The kernels of a stack, (views, n, n) or (n, n, views)."""
    a, b, c = stack.shape
    first, last = b == c, a == b
    if first and last and a > 1:
        first, last = _all_symmetric(stack), _all_symmetric(np.moveaxis(stack, 2, 0))
        if first == last:
            both = "both ways" if first else "neither way"
            raise ValueError(
                f"{key!r} has shape {stack.shape} and its slices are symmetric {both}, so which "
                f"axis counts "
                "the views cannot be told; give each kernel as an array of its own"
            )
    if not (first or last):
        raise ValueError(
            f"{key!r} has shape {stack.shape}; a stack of kernels, (views, n, n) or (n, n, views), "
            f"is wanted, or "
            "each view as an array of its own"
        )
    return list(stack) if first else list(np.moveaxis(stack, 2, 0))


def _all_symmetric(stack: Any) -> bool:
    return all(_is_symmetric(K) for K in stack)


def _is_symmetric(K: Any) -> bool:
    """Up to rounding, and NaN in the same places."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        return False
    if scipy.sparse.issparse(K):
        scale, gap = abs(K).max(), abs(K - K.T).max()
        return bool(gap <= SYMMETRY * scale)
    if not np.array_equal(np.isnan(K), np.isnan(K.T)):
        return False
    scale = np.abs(K[~np.isnan(K)]).max(initial=0.0)
    with np.errstate(invalid="ignore"):
        return bool((np.nan_to_num(np.abs(K - K.T)) <= SYMMETRY * scale).all())


def _are_kernels(tables: Mapping[str, Any], called: bool) -> bool:
    """Square, over the same samples, and symmetric; those that are called kernels are checked later."""
    shapes = {table.shape for table in tables.values()}
    square = len(shapes) == 1 and all(a == b for a, b in shapes)
    if called and not square:
        raise ValueError(f"kernels are square and of one size, not {_shapes(tables)}; {_HOW}")
    return square and (called or _all_symmetric(tables.values()))


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
                f"{int(np.argmax(empty))}, have nothing but zeros in the kernel; they are probably "
                f"absent and "
                "are taken as observed: put NaN into their rows and columns, or a 'mask' (samples x views, "
                "1 = present) beside the kernels",
                AbsenceWarning,
            )


def _upright(tables: dict[str, Any], known: int | None) -> dict[str, Any]:
    """Feature tables with samples as rows, by the number of samples that all share."""
    sides = [set(table.shape) for table in tables.values()]
    common = set.intersection(*sides)
    if not common:
        raise ValueError(
            f"the views share no number of samples: {_shapes(tables)}; give all views over the same "
            f"samples, "
            f"absent ones as rows of NaN, or {_HOW}"
        )
    rows = {table.shape[0] for table in tables.values()}
    settled = known in common
    n = known if settled else next(iter(rows)) if len(rows) == 1 else next(iter(common))
    if len(common) > 1 and not settled and len(rows) > 1:
        raise ValueError(
            f"samples could be rows or columns: {_shapes(tables)}; turn the views so that samples "
            f"are the rows "
            "of all, or put labels or 'ids', one for each sample, beside them"
        )
    turned = [name for name, table in tables.items() if table.shape[0] != n]
    unsure = len(common) > 1 and not settled and not all(side == {n} for side in sides)
    if unsure or (turned and len(turned) < len(tables) and not settled):
        warn(
            f"samples could be rows or columns ({_shapes(tables)}): {n} samples are taken"
            + (f", and {turned} turned" if turned else ", as rows")
            + "; put labels or 'ids', one for each sample, beside the views to settle it"
        )
    return {name: table.T if name in turned else table for name, table in tables.items()}


# ------------------------------------------------------------------------------------- beside the views


def as_vector(x: Any) -> Array | None:
    """A list of values in any of its guises: 1-d, one row, one column, a cell array of texts."""
    if isinstance(x, list):
        if not x or not all(isinstance(one, np.ndarray) and one.size == 1 for one in x):
            return None
        Budget().spend(max(one.itemsize for one in x) * len(x), f"a list of {len(x)} texts")
        return np.array([one.item() for one in x])
    if not isinstance(x, np.ndarray) or x.ndim == 0 or x.size != max(x.shape):
        return None
    return x.ravel()


def _first(beside: Content, names: Sequence[str]) -> tuple[str, Any] | None:
    lower = {key.lower(): key for key in beside}
    return next(((lower[name], beside[lower[name]]) for name in names if name in lower), None)


def _vector_length(beside: Content) -> int | None:
    """The number of samples, as ids or labels say it; None if they do not, or not with one voice."""
    keys = [key for key in beside if key.lower() in IDS or LABELS.fullmatch(key)]
    vectors = [as_vector(beside[key]) for key in keys]
    lengths = {len(vector) for vector in vectors if vector is not None and len(vector) > 1}
    return lengths.pop() if len(lengths) == 1 else None


def _ids(beside: Content, n: int) -> Array | None:
    found = _first(beside, IDS)
    if found is None:
        return None
    key, values = found[0], as_vector(found[1])
    if values is None or len(values) != n:
        raise ValueError(f"{key!r} is {_shape(found[1])} for {n} samples; one id for each is wanted")
    if values.dtype.kind == "f" and (values == np.round(values)).all():  # MATLAB's numbers are double
        values = values.astype(np.int64)
    return checked_ids(values, key)


def _renamed(found: Found, beside: Content) -> Found:
    """Tables under, or in the order of, the names that lie beside them, if these are texts, one for each."""
    said, tables = _first(beside, NAMES), found.tables
    vector = None if said is None else as_vector(said[1])
    if vector is None or vector.dtype.kind != "U" or len(vector) != len(tables):
        return found
    names = vector.tolist()
    if len(set(names)) < len(names):
        raise ValueError(f"the views' names are not distinct: {names}; give each its own")
    if set(names) == set(tables):
        return found._replace(tables={name: tables[name] for name in names}, ordered=True)
    if found.named:
        return found
    return found._replace(tables=dict(zip(names, tables.values(), strict=True)))


def _observed(beside: Content, n: int, n_views: int) -> Array | None:
    """Who has which view, samples x views, if an array says so."""
    said = {key: x for key, x in beside.items() if key.lower() in (*PRESENT, *ABSENT)}
    masks = {}
    for key, x in said.items():
        mask = _as_mask(x, n, n_views)
        if mask is None and _looks_like_mask(x, n):
            raise ValueError(
                f"{key!r} has shape {x.shape} for {n} samples and {n_views} views; (samples, views) is wanted"
            )
        if mask is None:
            warn(
                f"{key!r} is {_shape(x)} and is left alone: who has which view is told by 0 and 1 of shape "
                f"(samples, views) = ({n}, {n_views})",
                AbsenceWarning,
            )
        else:
            masks[key] = mask if key.lower() in PRESENT else ~mask
    if len({mask.tobytes() for mask in masks.values()}) > 1:
        raise ValueError(f"{sorted(masks)} do not agree on who has which view; keep one")
    index = _first(beside, ("index",))
    if not masks and index is not None and _as_mask(index[1], n, n_views) is not None:
        warn(
            f"{index[0]!r} may say who has which view and is left alone: call it 'mask' (1 = present) or "
            "'missing' (1 = absent)",
            AbsenceWarning,
        )
    return next(iter(masks.values()), None)


def _looks_like_mask(x: Any, n: int) -> bool:
    table = isinstance(x, np.ndarray) and x.ndim == 2 and n in x.shape and min(x.shape) > 1
    return table and bool(np.isin(x, (0, 1)).all())


def _as_mask(x: Any, n: int, n_views: int) -> Array | None:
    if scipy.sparse.issparse(x) and x.shape in ((n, n_views), (n_views, n)):
        x = x.toarray()
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "biuf" or not np.isin(x, (0, 1)).all():
        return None
    if x.shape == (n, n_views):
        return x.astype(bool)
    return x.T.astype(bool) if x.shape == (n_views, n) else None


# --------------------------------------------------------------------------------------------- numbers


def _numbers(name: str, table: Any) -> Any:
    """A table in floating point, if there is memory for it."""
    if table.dtype.kind == "f" and table.dtype.itemsize in (4, 8):
        return table
    if not scipy.sparse.issparse(table):
        Budget().spend(8 * table.size, f"view {name!r} of shape {table.shape}")
    return table.astype(np.float64)


def _dense(name: str, K: Any) -> Array:
    if not scipy.sparse.issparse(K):
        return np.asarray(K)
    Budget().spend(8 * K.shape[0] * K.shape[1], f"the kernel of view {name!r}, of shape {K.shape},")
    return np.asarray(K.toarray())
