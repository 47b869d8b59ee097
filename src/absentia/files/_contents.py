"""The arrays of a container by name, for whoever wants one that is no view: labels above all."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from absentia.core import Array
from absentia.files._anndata import obs_columns
from absentia.files._archive import read_arrays
from absentia.files._beside import as_vector
from absentia.files._errors import PathLike, reading
from absentia.files._hdf5 import hdf5_content
from absentia.files._mat import mat_content
from absentia.files._npy import npy_array
from absentia.files._npz import checked_ids
from absentia.files._zarr import zarr_content


class Held(NamedTuple):
    """Values for samples, and whose they are; None if they are in the order of the file's samples."""

    ids: Array | None
    values: Array


CONTENTS: dict[str, Callable[[PathLike], Mapping[str, Any]]] = {
    ".npz": read_arrays,
    ".npy": lambda path: {Path(path).stem: npy_array(path)},
    ".mat": mat_content,
    ".h5": hdf5_content,
    ".hdf5": hdf5_content,
    ".zarr": zarr_content,
}
OBSERVATIONS = (".h5ad", ".h5mu")


def arrays_of(path: PathLike) -> dict[str, Array]:
    """The arrays in a file by name; those of cells, structs and groups as ``outer/inner``.

    Vectors are one-dimensional, however they lie in the file; sparse matrices are left out.  Of ``.h5ad``
    and ``.h5mu`` files these are the columns of obs, with ``obs_names`` beside them.

    Parameters
    ----------
    path : path-like
        An .npz, .npy, .mat, .h5, .hdf5, .zarr, .h5ad or .h5mu file.
    """
    path = Path(path)
    ending = path.suffix.lower()
    with reading(path):
        if ending in OBSERVATIONS:
            names, columns = obs_columns(path)
            return {"obs_names": names, **columns}
        if ending not in CONTENTS:
            raise ValueError(
                f"is no container of arrays; it may end in {', '.join((*CONTENTS, *OBSERVATIONS))}"
            )
        return dict(_flat("", CONTENTS[ending](path)))


def _flat(prefix: str, content: Mapping[str, Any]) -> list[tuple[str, Array]]:
    found: list[tuple[str, Array]] = []
    for key, x in content.items():
        vector = as_vector(x)
        if vector is not None:
            found.append((prefix + key, vector))
        elif isinstance(x, np.ndarray):
            found.append((prefix + key, x))
        elif isinstance(x, list | Mapping):
            inner = x if isinstance(x, Mapping) else {str(place): one for place, one in enumerate(x)}
            found += _flat(f"{prefix}{key}/", inner)
    return found


def label_array(path: PathLike, name: str) -> Held:
    """An array of a file, one value for each sample, with the samples' ids if the file has them.

    Parameters
    ----------
    path : path-like
        As in :func:`arrays_of`.
    name : str
        Which array, or which column of obs.
    """
    with reading(path):
        arrays = arrays_of(path)
        if name not in arrays:
            raise ValueError(
                f"holds no array {name[:80]!r} but {list(arrays)[:12] or 'nothing'}; name one of them"
            )
        values, ids = arrays[name], arrays.get("obs_names", arrays.get("ids"))
        if values.ndim not in (1, 2):
            raise ValueError(
                f"{name!r} has shape {values.shape}; a value, or a row, for each sample is wanted"
            )
        if ids is not None and (ids.ndim != 1 or len(ids) != len(values)):
            ids = None
        return Held(checked_ids(ids), values)
