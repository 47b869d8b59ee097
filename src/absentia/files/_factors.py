"""Kernels that are held as factors, ``Phi Phi' + diag(own)``, as arrays of a file and back.

Their keys are in the docstring of ``_npz``.  Samples in which nothing is added to the diagonal are one
block of factors, those with something of their own lie along the same factors: all that is made of such
kernels stays linear in the samples.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from absentia.core import Array, Completed, Gram, Operator, factors_of
from absentia.data import KernelViews, Presence, as_ids, check_names, check_observed, check_unique, shown
from absentia.files._archive import Pieces

PHI, OWN = "phi_", "own_"


def is_factors(key: str) -> bool:
    """Whether a key names factors, or what is added to their diagonal."""
    return key.startswith((PHI, OWN)) and key not in (PHI, OWN)


def named_factors(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The factors among arrays, by the name of the view."""
    return {key.removeprefix(PHI): a for key, a in arrays.items() if key.startswith(PHI) and key != PHI}


# ------------------------------------------------------------------------------------------ out of files


def from_factors(
    factors: Mapping[str, Array], arrays: Mapping[str, Array], ids: Array | None, mask: Array | None
) -> KernelViews:
    """Kernels of `factors` by view, in their order.

    Parameters
    ----------
    factors : mapping of str to array
        By the names of views.
    arrays : mapping of str to array
        All that the file holds; ``own_<name>`` is looked for.
    ids, mask : array, optional
        As they stand in the file.
    """
    names = check_names(list(factors))
    lost = [key for key in arrays if key.startswith(OWN) and key != OWN and key[len(OWN) :] not in factors]
    if lost:
        raise ValueError(f"holds {lost[0]!r} without {PHI + lost[0][len(OWN) :]!r}, to which it is added")
    for name, Phi in factors.items():
        _check_array(PHI + name, Phi, 2)
    n = len(next(iter(factors.values())))
    for name, Phi in factors.items():
        if len(Phi) != n or not Phi.shape[1]:
            raise ValueError(
                f"{PHI + name!r} is of shape {Phi.shape}; one row for each of the {n} samples is wanted, "
                "and a column at least"
            )
    own_ids = as_ids(ids, n)
    check_unique(own_ids, "ids")
    found = np.column_stack([~np.isnan(Phi).all(axis=1) for Phi in factors.values()])
    observed = found if mask is None else check_observed(mask, n, len(names))
    operators = {
        name: _operator(name, Phi, arrays.get(OWN + name), has, own_ids)
        for (name, Phi), has in zip(factors.items(), observed.T, strict=True)
    }
    kernels = KernelViews.within(Presence(own_ids, names, observed), operators)
    kernels.warn_of_absence()
    return kernels


def _check_array(key: str, values: Array, ndim: int) -> None:
    if values.ndim != ndim or values.dtype.kind not in "fiub":
        wanted = "samples x factors" if ndim == 2 else "one number for each sample"
        raise ValueError(f"{key!r} is {values.dtype} of shape {values.shape}; wanted are {wanted}")


def _operator(name: str, Phi: Array, own: Array | None, has: Array, ids: Array) -> Operator:
    rows = _floats(Phi[has])
    _check_rows(f"{PHI}{name}", np.asarray(np.isfinite(rows).all(axis=1)), ids[has], "NaN or infinite")
    if own is None:
        return Gram(rows)
    _check_array(OWN + name, own, 1)
    if len(own) != len(has):
        raise ValueError(f"{OWN + name!r} has {len(own)} values for {len(has)} samples")
    added = np.asarray(own[has], dtype=np.float64)
    fine = np.isfinite(added) & (added >= 0)
    _check_rows(f"{OWN}{name}", np.asarray(fine), ids[has], "no finite number of 0 or more")
    if not added.any():
        return Gram(rows)
    v, h = np.flatnonzero(added == 0), np.flatnonzero(added)
    known, filled = rows[v], rows[h]
    return Completed.square(Gram(known), v, h, known, filled, np.eye(rows.shape[1]), added[h])


def _floats(values: Array) -> Array:
    single = values.dtype.kind == "f" and values.dtype.itemsize <= 4
    return np.asarray(values, dtype=np.float32 if single else np.float64)


def _check_rows(key: str, fine: Array, ids: Array, what: str) -> None:
    if not fine.all():
        first = int(np.argmin(fine))
        raise ValueError(
            f"{key!r}, sample {shown(ids[first])}: it holds what is {what}; a sample that lacks the view "
            "must be NaN throughout, or False in 'mask'"
        )


# ---------------------------------------------------------------------------------------------- to files


def factor_arrays(data: KernelViews, piece: int) -> dict[str, Array | Pieces]:
    """Factors of all views over all samples, NaN where absent; made some bytes (`piece`) at a time."""
    found: dict[str, Array | Pieces] = {}
    for name, has in zip(data.names, data.observed.T, strict=True):
        Phi, own = factors_of(data.operator(name))
        if not Phi.shape[1]:
            Phi = np.zeros((len(Phi), 1))
        shape = (len(has), Phi.shape[1])
        step = max(piece // (shape[1] * Phi.dtype.itemsize), 1)
        found[PHI + name] = Pieces(Phi.dtype, shape, _padded(Phi, has, step), packed=False)
        if own is not None and np.any(own):
            found[OWN + name] = _spread(np.asarray(own, dtype=np.float64), has)
    return found


def _padded(Phi: Array, has: Array, step: int) -> Iterator[Array]:
    before = 0
    for start in range(0, len(has), step):
        part = has[start : start + step]
        after = before + int(part.sum())
        yield _spread(Phi[before:after], part)
        before = after


def _spread(values: Array, has: Array) -> Array:
    """Values of those who have a view, NaN for the others."""
    full = np.full((len(has), *values.shape[1:]), np.nan, dtype=values.dtype)
    full[has] = values
    return full
