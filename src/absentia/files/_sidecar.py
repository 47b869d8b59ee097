"""What lies beside the views in a file: labels, ids, names, and who has which view.

The names by which they are known are in ``_schema``'s docstring.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from absentia.core import Array, warn
from absentia.data import AbsenceWarning
from absentia.files._base import Budget
from absentia.files._npz import check_id_array

_LABELS = re.compile(
    r"y|y0|gt|gnd|truth|ground_?truth|true_?labels?|labels?|targets?|class(?:es)?|y_(?:train|true)", re.I
)
_PRESENT, _ABSENT = ("mask", "observed", "present"), ("missing", "absent")
_IDS, VIEW_NAMES = ("ids", "id", "sample_ids", "obs_names"), ("names", "view_names", "viewnames")
_SIDECAR = {*_PRESENT, *_ABSENT, *_IDS, *VIEW_NAMES, "index", "indices", "feature_names"}

Content = Mapping[str, Any]


def is_sidecar(key: str) -> bool:
    """Whether what has this name is no view."""
    return key.lower() in _SIDECAR or _LABELS.fullmatch(key) is not None


def describe_shapes(content: Content, max_items: int = 8) -> str:
    """What a content holds, for a sentence."""
    shown = [f"{key[:80]!r} {describe_shape(x)}" for key, x in list(content.items())[:max_items]]
    return ", ".join(shown) + (", ..." if len(content) > max_items else "")


def describe_shape(x: Any) -> str:
    """What one member of a content is, for a sentence."""
    if isinstance(x, Mapping):
        return f"with {describe_shapes(x, 4) or 'nothing'}"
    if isinstance(x, list):
        return f"{len(x)} of {', '.join(dict.fromkeys(describe_shape(part) for part in x[:4]))}"
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


def find_first(sidecar: Content, names: Sequence[str]) -> tuple[str, Any] | None:
    """The first of these names that is there, in upper or lower case, and what it has."""
    lower = {key.lower(): key for key in sidecar}
    return next(((lower[name], sidecar[lower[name]]) for name in names if name in lower), None)


def count_samples(sidecar: Content) -> int | None:
    """The number of samples, as ids or labels say it; None if they do not, or not with one voice."""
    keys = [key for key in sidecar if key.lower() in _IDS or _LABELS.fullmatch(key)]
    vectors = [as_vector(sidecar[key]) for key in keys]
    lengths = {len(vector) for vector in vectors if vector is not None and len(vector) > 1}
    return lengths.pop() if len(lengths) == 1 else None


def find_ids(sidecar: Content, n: int) -> Array | None:
    """The ids of `n` samples, if an array holds them."""
    entry = find_first(sidecar, _IDS)
    if entry is None:
        return None
    key, values = entry[0], as_vector(entry[1])
    if values is None or len(values) != n:
        raise ValueError(
            f"{key!r} is {describe_shape(entry[1])} for {n} samples; one id for each is wanted"
        )
    if values.dtype.kind == "f" and (values == np.round(values)).all():  # MATLAB's numbers are double
        values = values.astype(np.int64)
    return check_id_array(values, key)


def find_observed(sidecar: Content, n: int, n_views: int) -> Array | None:
    """Who has which view, samples x views, if an array says so."""
    masks = {}
    for key, x in sidecar.items():
        if key.lower() not in (*_PRESENT, *_ABSENT):
            continue
        mask = _as_mask(x, n, n_views)
        if mask is None and _looks_like_mask(x, n):
            raise ValueError(f"{key!r} has shape {x.shape}; (samples, views) = ({n}, {n_views}) is wanted")
        if mask is None:
            warn(
                f"{key!r} is {describe_shape(x)} and is left alone: who has which view is said by 0 and 1 "
                f"of shape (samples, views) = ({n}, {n_views})",
                AbsenceWarning,
            )
        else:
            masks[key] = mask if key.lower() in _PRESENT else ~mask
    if len({mask.tobytes() for mask in masks.values()}) > 1:
        raise ValueError(f"{sorted(masks)} do not agree on who has which view; keep one")
    index = find_first(sidecar, ("index",))
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
