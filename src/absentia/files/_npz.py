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
factors are never made whole.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews, Views, by_factors, check_unique, named
from absentia.files._archive import Pieces, archive, write_arrays
from absentia.files._errors import PathLike, reading
from absentia.files._factors import factor_arrays, from_factors, is_factors, named_factors
from absentia.files._options import Options

MOST_VIEWS = 1_000
NOTHING_SAID = Options()
PIECE = 8 << 20  # bytes of what is made to be written


def read_npz(path: PathLike, options: Options = NOTHING_SAID) -> Views | KernelViews:
    """Read :class:`Views` (``view_<name>``) or :class:`KernelViews` (``K``, ``phi_<name>``)."""
    with reading(path):
        options.refuse("id", "views", "layer", "use_rep", why="an .npz file")
        with archive(path) as members:
            arrays = {key: member.read() for key, member in members.items() if is_data(key)}
            held = sorted(members)
        if not arrays:
            raise ValueError(f"holds {_neither(held)}")
        return from_arrays(arrays)


def write_npz(path: PathLike, data: Views | KernelViews, **extra: Any) -> Path:
    """Write Views or square KernelViews to ``.npz``; `extra` arrays go in beside them."""
    return write_arrays(path, {**_to_arrays(data), **extra})


def from_arrays(arrays: Mapping[str, Array]) -> Views | KernelViews:
    """Views or KernelViews from arrays under the keys of the module's docstring."""
    views = {key.removeprefix("view_"): a for key, a in arrays.items() if _is_view(key)}
    factors = named_factors(arrays)
    there = {"'K'": "K" in arrays, "'phi_...' keys": bool(factors), "'view_...' keys": bool(views)}
    kinds = [word for word, is_there in there.items() if is_there]
    if len(kinds) > 1:
        raise ValueError(f"holds both {kinds[0]} and {kinds[1]}; keep one of the two")
    if "K" in arrays:
        K = arrays["K"]
        if K.ndim != 3:
            raise ValueError(f"'K' has shape {K.shape}; wanted (views, samples, samples)")
        ids, mask, names = beside(arrays, *K.shape[:2])
        return KernelViews.from_dense(K, mask, ids, names)
    if factors:
        ids, mask, names = beside(arrays, len(factors), _length(factors))
        return from_factors(_in_order(factors, names), arrays, ids, mask)
    if not views:
        raise ValueError(f"holds {_neither(sorted(arrays))}")
    ids, mask, names = beside(arrays, len(views), _length(views))
    views = _in_order(views, names)
    found = Views.from_dict(views, ids=ids, observed=mask)
    features = {name: _feature_texts(arrays, name) for name in views if f"features_{name}" in arrays}
    levels = {name: _level_texts(arrays, name) for name in views if f"levels_{name}" in arrays}
    return named(found, features, levels) if features or levels else found


def _length(views: Mapping[str, Array]) -> int:
    first = next(iter(views.values()))
    return first.shape[0] if first.ndim else 0


def _in_order(views: Mapping[str, Array], names: list[str] | None) -> dict[str, Array]:
    if names is None:
        return dict(views)
    if sorted(names) != sorted(views):
        raise ValueError(f"'names' lists {names} but the views are {sorted(views)}")
    return {name: views[name] for name in names}


def _feature_texts(arrays: Mapping[str, Array], name: str) -> list[str]:
    texts = arrays[f"features_{name}"]
    if texts.ndim != 1 or texts.dtype.kind != "U":
        raise ValueError(
            f"'features_{name}' is {texts.dtype} of shape {texts.shape}; a list of texts is wanted"
        )
    return [str(text) for text in texts.tolist()]


def _level_texts(arrays: Mapping[str, Array], name: str) -> dict[str, list[str]]:
    text = arrays[f"levels_{name}"]
    found = json.loads(str(text)) if text.shape == () and text.dtype.kind == "U" else None
    if not isinstance(found, dict) or not all(
        isinstance(own, list) and all(isinstance(level, str) for level in own) for own in found.values()
    ):
        raise ValueError(f"'levels_{name}' must be a JSON text, {{feature: [levels]}}")
    return found


def _neither(held: list[str]) -> str:
    return (
        f"neither 'K' nor 'view_<name>' but {held[:12] or 'nothing'}; name feature views view_<name> or "
        "give kernels as K, or their factors as phi_<name>"
    )


def beside(
    arrays: Mapping[str, Array], n_views: int, n: int
) -> tuple[Array | None, Array | None, list[str] | None]:
    """Ids, mask and names of `n` samples and `n_views` views out of a file, None where it has none."""
    names, ids = arrays.get("names", arrays.get("view_names")), checked_ids(arrays.get("ids"))
    # lists of the wrong length are refused before anything is made of their items
    if n_views > MOST_VIEWS:
        raise ValueError(f"holds {n_views} views; at most {MOST_VIEWS} are taken")
    if names is not None and names.ndim == 1 and len(names) != n_views:
        raise ValueError(f"{len(names)} names for {n_views} kernels or views; one per view is wanted")
    if ids is not None and len(ids) != n:
        raise ValueError(f"ids: {len(ids)} ids for {n} samples; one id per sample is wanted")
    mask = arrays.get("mask")
    if mask is not None and mask.dtype.kind not in "biuf":
        raise ValueError(f"'mask' holds {mask.dtype}; True (present) and False (absent) are wanted")
    return ids, mask, None if names is None else _texts(names)


def _texts(names: Array) -> list[str]:
    if names.ndim != 1 or names.dtype.kind != "U":
        raise ValueError(f"'names' must be a list of texts; it is {names.dtype} of shape {names.shape}")
    return [str(name) for name in names]


def checked_ids(ids: Array | None, what: str = "ids") -> Array | None:
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


def _is_view(key: str) -> bool:
    return key.startswith("view_") and key not in ("view_names", "view_")


def is_data(key: str) -> bool:
    """Whether :func:`from_arrays` reads this key."""
    beside = key.startswith(("features_", "levels_"))
    return beside or is_factors(key) or key in ("K", "mask", "ids", "names", "view_names") or _is_view(key)


def _to_arrays(data: Views | KernelViews) -> dict[str, Array | Pieces]:
    check_unique(data.ids, "ids")
    for name in data.names:
        if not name or "\0" in name or name == "names":
            raise ValueError(f"a view named {name!r} cannot be written to .npz; rename it")
    common: dict[str, Array | Pieces]
    common = {"mask": data.observed, "ids": _plain(data.ids), "names": np.array(data.names)}
    if isinstance(data, KernelViews):
        data.demand_square()
        if by_factors(data):
            return {**factor_arrays(data, PIECE), **common}
        rows = (one for name in data.names for one in _pieces(data, name, 8 * len(data)))
        return {"K": Pieces(np.dtype(float), (data.n_views, *data.shape), rows), **common}
    return {f"view_{name}": _view(data, name) for name in data.names} | common | _names_of(data)


def _names_of(data: Views) -> dict[str, Array]:
    """Names of features and levels of categories, for views that have them."""
    found = {}
    for name in data.names:
        features, levels = data.features(name), data.levels(name)
        if features is not None:
            found[f"features_{name}"] = features
        if levels:
            found[f"levels_{name}"] = np.array(json.dumps({key: list(own) for key, own in levels.items()}))
    return found


def _view(data: Views, name: str) -> Pieces:
    block = data.block(name)
    width = block.shape[1]
    return Pieces(block.dtype, (len(data), width), _pieces(data, name, width * block.dtype.itemsize))


def _pieces(data: Views | KernelViews, name: str, row: int) -> Iterator[Array]:
    """Rows of a view, each of so many bytes, some at a time."""
    step = max(PIECE // row, 1)
    for start in range(0, len(data), step):
        yield data.padded(name, np.arange(start, min(start + step, len(data))))


def _plain(ids: Array) -> Array:
    """Ids without object dtype, which could only be stored as a pickle."""
    return ids.astype(str) if ids.dtype == object else ids
