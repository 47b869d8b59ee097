"""Files in and out: one ``.npz`` per data set.

Keys
----
``view_<name>``
    Feature view, samples x features; a row of NaN means the sample lacks the view.  Or:
``K``
    Kernels, views x samples x samples; NaN rows and columns where absent.  Or:
``phi_<name>``, ``own_<name>``
    Kernel by factors, ``phi phi' + diag(own)``: samples x factors, a row of NaN where the view is absent;
    and, optionally, what is added to the diagonal, a number of 0 or more for each sample.  Kernels of more
    than 2000 samples that are held as factors are written so.
``mask``
    Optional, samples x views, True = present; what it marks absent is ignored, whatever it holds.
``ids``, ``names``
    Optional sample ids and view names (``names`` in the order of ``K`` and of the columns of ``mask``;
    for ``view_<name>`` and ``phi_<name>`` the order of the columns of ``mask``, by default the order in the
    file).
    ``view_names`` is read as ``names``.

``features_<name>``, ``levels_<name>``
    Optional names of a view's features, and, for those that are categories, a JSON text
    ``{feature: [level 0, level 1, ...]}``.

Other keys are left alone.  Nothing is ever unpickled.  How files are opened and written, and how much
memory one may take, is in ``_archive``.  Data are written some rows at a time: kernels that are held as
factors are never made whole.  Samples in which nothing is added to the diagonal are one block of factors,
those with something of their own lie along the same factors: all that is made of such kernels stays linear
in the samples.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from absentia.core import Array, Completed, Gram, Operator, get_factor_rows
from absentia.data import (
    KernelViews,
    Presence,
    Views,
    as_ids,
    check_names,
    check_observed,
    check_unique_ids,
    default_names,
    name_features,
    prefers_factors,
    show_id,
)
from absentia.files._archive import Pieces, open_archive, write_arrays
from absentia.files._base import Budget, Options, PathLike, file_errors

_MAX_VIEWS = 1_000
_NO_OPTIONS = Options()
_PIECE = 8 << 20  # bytes of what is made to be written
_PHI, _OWN = "phi_", "own_"


def read_npz(path: PathLike, options: Options = _NO_OPTIONS) -> Views | KernelViews:
    """Read :class:`Views` (``view_<name>``) or :class:`KernelViews` (``K``, ``phi_<name>``)."""
    with file_errors(path):
        options.refuse("id", "views", "layer", "use_rep", why="an .npz file")
        with open_archive(path) as members:
            arrays = {key: member.read() for key, member in members.items() if is_data(key)}
            held = sorted(members)
        if not arrays:
            raise ValueError(f"holds {_describe_keys(held)}")
        return from_arrays(arrays)


def write_npz(path: PathLike, data: Views | KernelViews, **extra: Any) -> Path:
    """Write Views or square KernelViews to ``.npz``; `extra` arrays go in beside them."""
    return write_arrays(path, {**_data_arrays(data), **extra})


def from_arrays(arrays: Mapping[str, Array]) -> Views | KernelViews:
    """Views or KernelViews from arrays under the keys of the module's docstring."""
    views, factors = _arrays_by_view(arrays, "view_"), _arrays_by_view(arrays, _PHI)
    there = {"'K'": "K" in arrays, "'phi_...' keys": bool(factors), "'view_...' keys": bool(views)}
    kinds = [word for word, is_there in there.items() if is_there]
    if len(kinds) > 1:
        raise ValueError(f"holds both {kinds[0]} and {kinds[1]}; keep one of the two")
    if "K" in arrays:
        K = arrays["K"]
        if K.ndim != 3:
            raise ValueError(f"'K' has shape {K.shape}; wanted (views, samples, samples)")
        ids, mask, names = _read_sidecar(arrays, *K.shape[:2])
        return KernelViews.from_dense(K, mask, ids, names)
    if factors:
        ids, mask, names = _read_sidecar(arrays, len(factors), _count_rows(factors))
        return _kernels_from_factors(_sort_views(factors, names), arrays, ids, mask)
    if not views:
        raise ValueError(f"holds {_describe_keys(sorted(arrays))}")
    ids, mask, names = _read_sidecar(arrays, len(views), _count_rows(views))
    views = _sort_views(views, names)
    data = Views.from_dict(views, ids=ids, observed=mask)
    keys = {name: f"features_{name}" for name in views if f"features_{name}" in arrays}
    features = {name: _as_texts(arrays[key], key) for name, key in keys.items()}
    levels = {name: _read_levels(arrays, name) for name in views if f"levels_{name}" in arrays}
    return name_features(data, features, levels) if features or levels else data


def _count_rows(views: Mapping[str, Array]) -> int:
    first = next(iter(views.values()))
    return first.shape[0] if first.ndim else 0


def _sort_views(views: Mapping[str, Array], names: list[str] | None) -> dict[str, Array]:
    if names is None:
        return dict(views)
    if sorted(names) != sorted(views):
        raise ValueError(f"'names' lists {names} but the views are {sorted(views)}")
    return {name: views[name] for name in names}


def _read_levels(arrays: Mapping[str, Array], name: str) -> dict[str, list[str]]:
    text = arrays[f"levels_{name}"]
    levels = json.loads(str(text)) if text.shape == () and text.dtype.kind == "U" else None
    if not isinstance(levels, dict) or not all(
        isinstance(own, list) and all(isinstance(level, str) for level in own) for own in levels.values()
    ):
        raise ValueError(f"'levels_{name}' must be a JSON text, {{feature: [levels]}}")
    return levels


def _describe_keys(held: list[str]) -> str:
    return (
        f"neither 'K' nor 'view_<name>' but {held[:12] or 'nothing'}; name feature views view_<name> or "
        "give kernels as K, or their factors as phi_<name>"
    )


def _read_sidecar(
    arrays: Mapping[str, Array], n_views: int, n: int
) -> tuple[Array | None, Array | None, list[str] | None]:
    """Ids, mask and names of `n` samples and `n_views` views out of a file, None where it has none."""
    names, ids = arrays.get("names", arrays.get("view_names")), check_id_array(arrays.get("ids"))
    # lists of the wrong length are refused before anything is made of their items
    if n_views > _MAX_VIEWS:
        raise ValueError(f"holds {n_views} views; at most {_MAX_VIEWS} are taken")
    if names is not None and names.ndim == 1 and len(names) != n_views:
        raise ValueError(f"{len(names)} names for {n_views} kernels or views; one per view is wanted")
    if ids is not None and len(ids) != n:
        raise ValueError(f"ids: {len(ids)} ids for {n} samples; one id per sample is wanted")
    mask = arrays.get("mask")
    if mask is not None and mask.dtype.kind not in "biuf":
        raise ValueError(f"'mask' holds {mask.dtype}; True (present) and False (absent) are wanted")
    return ids, mask, None if names is None else _as_texts(names, "names")


def _as_texts(array: Array, key: str) -> list[str]:
    if array.ndim != 1 or array.dtype.kind != "U":
        raise ValueError(f"{key!r} is {array.dtype} of shape {array.shape}; a list of texts is wanted")
    return [str(text) for text in array]


def check_id_array(ids: Array | None, what: str = "ids") -> Array | None:
    """Ids as they may come out of a file: one-dimensional; bytes are texts, and nobody is NaN."""
    if ids is None:
        return None
    if ids.ndim != 1 or ids.dtype.kind not in "biufUSmM":
        raise ValueError(
            f"{what!r} is {ids.dtype} of shape {ids.shape}; a list of texts or numbers is wanted"
        )
    if ids.dtype.kind == "S":
        return np.array([x.decode() for x in ids.tolist()], dtype=str)
    if ids.dtype.kind in "fmM" and (ids != ids).any():  # only NaN and NaT differ from themselves
        raise ValueError(f"{what!r} holds {ids[ids != ids][0]}; give every sample an id")
    return ids


def _arrays_by_view(arrays: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    """Arrays whose keys are `prefix` and the name of a view, by that name."""
    keys = [key for key in arrays if key.startswith(prefix) and key not in (prefix, "view_names")]
    return {key.removeprefix(prefix): arrays[key] for key in keys}


def is_data(key: str) -> bool:
    """Whether :func:`from_arrays` reads this key."""
    prefixes = ("view_", _PHI, _OWN, "features_", "levels_")
    return key in ("K", "mask", "ids", "names") or (key.startswith(prefixes) and key not in prefixes)


def _data_arrays(data: Views | KernelViews) -> dict[str, Array | Pieces]:
    check_unique_ids(data.ids, "ids")
    for name in data.names:
        if not name or "\0" in name or name == "names":
            raise ValueError(f"a view named {name!r} cannot be written to .npz; rename it")
    common: dict[str, Array | Pieces]
    common = {"mask": data.observed, "ids": _plain_ids(data.ids), "names": np.array(data.names)}
    if isinstance(data, KernelViews):
        data.check_square()
        if prefers_factors(data):
            return {**_factor_arrays(data), **common}
        rows = (piece for name in data.names for piece in _pieces(data, name, 8 * len(data)))
        return {"K": Pieces(np.dtype(float), (data.n_views, *data.shape), rows), **common}
    return {f"view_{name}": _view_pieces(data, name) for name in data.names} | common | _name_arrays(data)


def _name_arrays(data: Views) -> dict[str, Array]:
    """Names of features and levels of categories, for views that have them."""
    arrays = {}
    for name in data.names:
        features, levels = data.features(name), data.levels(name)
        if features is not None:
            arrays[f"features_{name}"] = features
        if levels:
            arrays[f"levels_{name}"] = np.array(json.dumps({key: list(own) for key, own in levels.items()}))
    return arrays


def _view_pieces(data: Views, name: str) -> Pieces:
    block = data.block(name)
    width = block.shape[1]
    return Pieces(block.dtype, (len(data), width), _pieces(data, name, width * block.dtype.itemsize))


def _pieces(data: Views | KernelViews, name: str, row: int) -> Iterator[Array]:
    """Rows of a view, each of so many bytes, some at a time."""
    step = max(_PIECE // row, 1)
    for start in range(0, len(data), step):
        yield data.padded(name, np.arange(start, min(start + step, len(data))))


def _plain_ids(ids: Array) -> Array:
    """Ids without object dtype, which could only be stored as a pickle."""
    return ids.astype(str) if ids.dtype == object else ids


def read_kernel_rows(arrays: Mapping[str, Array]) -> KernelViews:
    """Kernels of new against training samples: ``K`` (views x new x training) and ``column_ids``."""
    K = arrays.get("K", np.zeros(0))
    if K.ndim != 3 or K.dtype.kind not in "fiub":
        raise ValueError(f"'K' is {K.dtype} of shape {K.shape}; wanted views x new x training samples")
    K = K.astype(np.float64)
    V, n, m = K.shape
    own, mask, given = _read_sidecar(arrays, V, n)
    ids = as_ids(own, n)
    column_ids = as_ids(check_id_array(arrays["column_ids"], "column_ids"), m, "column_ids")
    check_unique_ids(ids, "ids")
    check_unique_ids(column_ids, "column_ids")
    names = check_names(default_names(V) if given is None else given)
    rows = check_observed(~np.isnan(K).all(axis=2).T if mask is None else mask, n, V)
    columns = np.zeros((m, V), bool)
    blocks, diagonals = {}, {}
    for v, name in enumerate(names):
        part = K[v][rows[:, v]]
        columns[:, v] = ~np.isnan(part).all(axis=0) if len(part) else False
        blocks[name] = part[:, columns[:, v]]
        if not np.isfinite(blocks[name]).all():
            i = int(np.argmax(~np.isfinite(blocks[name]).all(axis=1)))
            raise ValueError(
                f"view {name!r}, sample {show_id(ids[rows[:, v]][i])}: the kernel is NaN or infinite "
                "against some training samples that have the view; a sample that lacks it must be NaN "
                "throughout"
            )
        diagonals[name] = np.full(len(part), np.nan)  # k(t, t) is not in the file, nor needed
    return KernelViews.between(
        Presence(ids, names, rows), Presence(column_ids, names, columns), blocks, diagonals
    )


# -------------------------------------------------------------------------------------------- factors


def _kernels_from_factors(
    factors: Mapping[str, Array], arrays: Mapping[str, Array], ids: Array | None, mask: Array | None
) -> KernelViews:
    """Kernels of `factors` (samples x factors) by view; ``own_<name>`` is looked for among all `arrays`."""
    own = _arrays_by_view(arrays, _OWN)
    if lost := [name for name in own if name not in factors]:
        raise ValueError(f"holds {_OWN + lost[0]!r} without {_PHI + lost[0]!r}, to which it is added")
    views = Views.from_dict(factors, ids=ids, observed=mask)  # whose checks are those of factors too
    operators: dict[str, Operator] = {}
    for name, has in zip(views.names, views.observed.T, strict=True):
        Phi, added = views.block(name), own.get(name, np.zeros(len(has)))
        if added.shape != has.shape or added.dtype.kind not in "fiub":
            raise ValueError(
                f"{_OWN + name!r} is {added.dtype} of shape {added.shape}; one number for each of the "
                f"{len(has)} samples is wanted"
            )
        added = np.asarray(added[has], dtype=np.float64)
        wrong = np.isnan(Phi).any(axis=1) | ~(np.isfinite(added) & (added >= 0))
        if wrong.any():
            raise ValueError(
                f"view {name!r}, sample {show_id(views.ids[has][wrong][0])}: factors are numbers, and what "
                "is added to the diagonal a finite number of 0 or more; a sample that lacks the view must "
                "be NaN throughout, or False in 'mask'"
            )
        v, h = np.flatnonzero(added == 0), np.flatnonzero(added)
        axes = np.eye(Phi.shape[1])
        thin = Completed.square(Gram(Phi[v]), v, h, Phi[v], Phi[h], axes, added[h])
        operators[name] = thin if len(h) else Gram(Phi)
    return KernelViews.within(views, operators)


def _factor_arrays(data: KernelViews) -> dict[str, Array | Pieces]:
    """Factors of all views over all samples, NaN where absent."""
    arrays: dict[str, Array | Pieces] = {}
    pairs = {name: get_factor_rows(data.operator(name)) for name in data.names}
    blocks = {v: Phi if Phi.shape[1] else np.zeros((Phi.shape[0], 1)) for v, (Phi, _) in pairs.items()}
    factors = Views(data.ids, data.names, data.observed, blocks)
    for (name, (_, own)), has in zip(pairs.items(), data.observed.T, strict=True):
        arrays[_PHI + name] = _view_pieces(factors, name)._replace(compress=False)
        if own is not None and np.any(own):
            arrays[_OWN + name] = full = np.full(len(has), np.nan)
            full[has] = own
    return arrays


# ------------------------------------------------------------------------------------ sparse matrices

#: What :func:`scipy.sparse.save_npz` writes.
SPARSE_KEYS = frozenset({"format", "data", "indices", "indptr", "shape"})


def read_sparse(path: PathLike) -> Any:
    """A matrix that :func:`scipy.sparse.save_npz` has written, its places checked."""
    with file_errors(path), open_archive(path) as members:
        arrays = {key: members[key].read() for key in SPARSE_KEYS}
    with file_errors(path):
        return build_sparse(arrays, str(_as_text(arrays["format"])))


def build_sparse(arrays: Mapping[str, Array], form: str) -> Any:
    """A sparse matrix by rows ("csr") or columns ("csc") from its parts, which are not believed."""
    makers = {"csr": scipy.sparse.csr_array, "csc": scipy.sparse.csc_array}
    if form not in makers:
        raise ValueError(f"holds a sparse matrix of the form {form[:20]!r}; save it as csr or csc")
    for key in ("indices", "indptr", "shape"):
        if arrays[key].dtype.kind not in "iu" or arrays[key].ndim != 1:
            raise ValueError(
                f"{key!r} is {arrays[key].dtype} of shape {arrays[key].shape}, not whole numbers"
            )
    shape = tuple(int(x) for x in arrays["shape"])
    if len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"holds a sparse matrix of shape {shape}; two dimensions are wanted")
    Budget().spend(16 * sum(shape), f"a sparse matrix of shape {shape}")
    places = [arrays[key].astype(np.int64) for key in ("indices", "indptr")]
    matrix = makers[form]((arrays["data"], *places), shape=shape)
    check_sparse_indices(matrix)
    return matrix.tocsr()


def check_sparse_indices(matrix: Any) -> None:
    """Raise if a matrix by rows or columns has places outside of it, which would be read and written.

    SciPy's own check leaves them out where the last row, or column, says that there are none.
    """
    begin, places = matrix.indptr, matrix.indices
    across = matrix.shape[1 if matrix.format == "csr" else 0]
    steady = begin[0] == 0 and (begin[1:] >= begin[:-1]).all()
    stored = min(len(places), len(matrix.data))
    if not steady or begin[-1] > stored or (places < 0).any() or (places >= across).any():
        raise ValueError(
            f"holds a sparse matrix of shape {matrix.shape} with values outside of it; it is damaged"
        )


def _as_text(value: Array) -> str:
    one = value.item() if value.size == 1 else ""
    return one.decode("latin1") if isinstance(one, bytes) else str(one)
