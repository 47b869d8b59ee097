"""Ids of samples: of any kind, each once, and lined up between views."""

import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from absentia.core import Array, frozen, inverse, warn
from absentia.data._gaps import AbsenceWarning, shown

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


def normal_id(text: str) -> str:
    """An id as it looks: in Unicode form C, without characters that do not show.

    Parameters
    ----------
    text : str
        The id.
    """
    if text.isascii():
        return text
    return "".join(x for x in unicodedata.normalize("NFC", text) if unicodedata.category(x) != "Cf").strip()


def repeated(values: Iterable[Hashable]) -> list[Any]:
    """What appears more than once, in the order of its first appearance."""
    return [x for x, count in Counter(values).items() if count > 1]


def check_unique(ids: Array, what: str) -> None:
    """Raise if an id appears twice; say which."""
    if ids.dtype == object:
        twice = repeated(ids.tolist())
    else:
        values, counts = np.unique(ids, return_counts=True)
        twice = list(values[counts > 1])
    if twice:
        raise ValueError(
            f"{what}: {len(twice)} sample id(s) appear more than once, e.g. "
            f"{', '.join(shown(x) for x in twice[:3])}; "
            "give every sample one id, or average the repeated rows first"
        )


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
    _warn_of_forms(union)
    keep = ~lacking.any(axis=1) if align == "intersection" else slice(None)
    return frozen(union[keep]), [row[keep] for row in rows]


def _warn_of_forms(ids: Array) -> None:
    """Point out ids that look the same and differ in their characters."""
    texts = [x for x in ids.tolist() if isinstance(x, str) and not x.isascii()]
    there = {x for x in ids.tolist() if isinstance(x, str)} if texts else set()
    other = {x: normal_id(x) for x in texts}
    alike = [x for x, form in other.items() if form != x and form in there]
    if alike:
        warn(
            f"{len(alike)} sample id(s), e.g. {alike[0]!a}, look as others do, {other[alike[0]]!a}, and "
            "are taken for other samples: they differ in Unicode form or characters that do not show; "
            "write them alike (unicodedata.normalize('NFC', id))",
            AbsenceWarning,
        )


def _union(own: Sequence[Array]) -> tuple[Array, list[Array]]:
    """Distinct ids of all views and where each view has them, without a Python object per id."""
    everything = np.concatenate(own)
    values, first, code = np.unique(everything, return_index=True, return_inverse=True)
    ascending = all(bool((ids[1:] > ids[:-1]).all()) for ids in own)
    order = np.arange(len(values)) if ascending else np.argsort(first, kind="stable")
    place = inverse(order)
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


def holders(rows: Array, size: int) -> tuple[Array, Array | None]:
    """Who has a view, and the rows of its table in their order; None if it is that as it is."""
    having = np.flatnonzero(rows >= 0)
    order = rows[having]
    as_it_is = len(order) == size and bool((order == np.arange(size)).all())
    return having, None if as_it_is else order
