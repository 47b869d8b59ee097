"""Ids of samples: of any kind, each once, lined up between views; and values that are known by them.

Values go to the samples whose ids they carry, never by position where ids are there.  :func:`align_values`
lines a Series, a mapping or a frame up with samples.  :func:`check_order` is for whoever takes values by
position, as scikit-learn does: values that carry ids have to stand as the samples do.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Literal

import numpy as np

from absentia.core import Array, warn
from absentia.core.linalg import as_readonly, invert_permutation

Align = Literal["union", "intersection", "strict"]


class AbsenceWarning(UserWarning):
    """Something about who lacks what that changes what can be learned.

    Examples
    --------
    >>> import warnings
    >>> from absentia import AbsenceWarning
    >>> with warnings.catch_warnings(action="ignore", category=AbsenceWarning):
    ...     pass  # what is fitted here says nothing of who lacks what
    """


def show_id(x: Any) -> str:
    """An id as the user wrote it."""
    return repr(x.item() if isinstance(x, np.generic) and x.dtype.kind not in "mM" else x)


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, or pandas' NA and NaT."""
    if value is None:
        return True
    try:
        return bool(value != value)  # NaN is not itself
    except TypeError:  # pandas' NA says neither
        return True
    except ValueError:  # an array
        return False


# ---------------------------------------------------------------------------------------- ids between views


def as_ids(ids: Iterable[Hashable] | None, n: int, what: str = "ids") -> Array:
    """Sample ids as a read-only 1-d array of length `n`; ``None`` counts from zero."""
    if ids is None:
        return as_readonly(np.arange(n))
    if isinstance(ids, np.ndarray) and ids.ndim == 1 and ids.dtype.kind in "iuUmM" and len(ids) == n:
        return as_readonly(ids.copy())
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
    return as_readonly(array)


def id_list(ids: Array) -> list[Any]:
    """Ids as hashable Python values; dates stay dates."""
    return list(ids) if ids.dtype.kind in "mM" else ids.tolist()


def normalize_id(text: str) -> str:
    """An id as it looks: in Unicode form C, without characters that do not show.

    Parameters
    ----------
    text : str
        The id.
    """
    if text.isascii():
        return text
    return "".join(x for x in unicodedata.normalize("NFC", text) if unicodedata.category(x) != "Cf").strip()


def find_duplicates(values: Iterable[Hashable]) -> list[Any]:
    """What appears more than once, in the order of its first appearance."""
    return [x for x, count in Counter(values).items() if count > 1]


def first_ids(ids: Iterable[Any]) -> str:
    """The first three ids as the user wrote them, for sentences."""
    return ", ".join(show_id(x) for x in list(ids)[:3])


def check_unique_ids(ids: Array, what: str) -> None:
    """Raise if an id appears twice; say which."""
    if ids.dtype == object:
        twice = find_duplicates(ids.tolist())
    else:
        values, counts = np.unique(ids, return_counts=True)
        twice = list(values[counts > 1])
    if twice:
        raise ValueError(
            f"{what}: {len(twice)} sample id(s) appear more than once, e.g. "
            f"{first_ids(twice)}; give every sample one id, or average the repeated rows first"
        )


def align_ids(names: Sequence[str], view_ids: Sequence[Array], align: Align) -> tuple[Array, list[Array]]:
    """Common ids, and for each view the row of each of them in that view's table (-1 = none).

    Ids keep the order they have in every view if that is ascending, else the order of appearance.
    """
    if align not in ("union", "intersection", "strict"):
        raise ValueError(f"align must be 'union', 'intersection' or 'strict', not {align!r}")
    for name, ids in zip(names, view_ids, strict=True):
        check_unique_ids(ids, f"view {name!r}")
    if all(ids is view_ids[0] for ids in view_ids):  # arrays: one list of ids for all
        return view_ids[0], [np.arange(len(view_ids[0])) for _ in view_ids]
    kinds = {ids.dtype.kind for ids in view_ids if len(ids)}
    if len(kinds) > 1:
        raise ValueError(
            "sample ids are of different types in different views "
            f"({sorted({type(x).__name__ for ids in view_ids for x in id_list(ids[:1])})}); "
            "convert them all to str or all to int"
        )
    union, rows = _union(view_ids)
    lacking = np.column_stack([row < 0 for row in rows])
    if align == "strict" and lacking.any():
        v = int(np.argmax(lacking.any(axis=0)))
        raise ValueError(
            f"view {names[v]!r} lacks sample {show_id(union[np.argmax(lacking[:, v])])} "
            f"(and {lacking[:, v].sum() - 1} more), which align='strict' forbids; "
            "use align='union' to mark them absent"
        )
    _warn_of_forms(union)
    keep = ~lacking.any(axis=1) if align == "intersection" else slice(None)
    return as_readonly(union[keep]), [row[keep] for row in rows]


def _warn_of_forms(ids: Array) -> None:
    """Point out ids that look the same and differ in their characters."""
    texts = [x for x in ids.tolist() if isinstance(x, str) and not x.isascii()]
    texts_of_all = {x for x in ids.tolist() if isinstance(x, str)} if texts else set()
    other = {x: normalize_id(x) for x in texts}
    lookalikes = [x for x, form in other.items() if form != x and form in texts_of_all]
    if lookalikes:
        warn(
            f"{len(lookalikes)} sample id(s), e.g. {lookalikes[0]!a}, look as others do, "
            f"{other[lookalikes[0]]!a}, and are taken for other samples: they differ in Unicode form or "
            "characters that do not show; write them alike (unicodedata.normalize('NFC', id))",
            AbsenceWarning,
        )


def _union(view_ids: Sequence[Array]) -> tuple[Array, list[Array]]:
    """Distinct ids of all views, and where each view has them."""
    import pandas as pd

    everything = np.concatenate(view_ids)
    code = pd.factorize(everything)[0]  # in the order of appearance
    values = everything[np.unique(code, return_index=True)[1]]
    if everything.dtype != object and all(bool((ids[1:] > ids[:-1]).all()) for ids in view_ids):
        order = np.argsort(values)
        values, code = values[order], invert_permutation(order)[code]
    rows, begin = [], 0
    for ids in view_ids:
        row = np.full(len(values), -1)
        row[code[begin : begin + len(ids)]] = np.arange(len(ids))
        rows.append(row)
        begin += len(ids)
    return values, rows


def find_holders(rows: Array, size: int) -> tuple[Array, Array | None]:
    """Who has a view, and the rows of its table in their order; None if it is that as it is."""
    having = np.flatnonzero(rows >= 0)
    order = rows[having]
    as_it_is = len(order) == size and bool((order == np.arange(size)).all())
    return having, None if as_it_is else order


# --------------------------------------------------------------------------------------------- values by id


#: What often differs between ids that are meant to be the same.
WAYS_TO_DIFFER = "case, spaces, - _ . or zeros"


def _loosen(text: str) -> str:
    """An id without what people write one way here and another way there."""
    plain = re.sub(r"\.0$", "", normalize_id(text).strip().casefold())
    return re.sub(r"[\s_.-]", "", re.sub(r"(?<!\d)0+(?=\d)", "", plain))


def match_ids(ids: Iterable[str], others: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of ids, one of each side and on that side only, that differ only in how they are written."""
    left, right = dict.fromkeys(ids), dict.fromkeys(others)
    by_key = {_loosen(x): x for x in right if x not in left}
    return [(x, by_key[key]) for x in left if x not in right and (key := _loosen(x)) in by_key]


def align_values(ids: Array, y: Any) -> Array:
    """Values of `y` in the order of `ids`; NaN, or None among what is no number, where there is none.

    Ids are compared as they are, then as texts.  Those without a counterpart are counted in a warning; if
    no id has one, an error says how they differ.
    """
    sample_ids, values = id_list(ids), _values_by_id(ids, y)
    keys = _matching_keys(sample_ids, values)
    if not any(key in values for key in keys):
        raise ValueError(_describe_mismatch("y", sample_ids, list(values)))
    _warn_of_unmatched(sample_ids, values, keys)
    return as_column([values.get(key) for key in keys])


def check_order(ids: Array, y: Any, what: str = "y") -> None:
    """Raise if `y` carries ids, and they are not `ids` in their order.

    Whole numbers that no sample is called by are positions, as pandas gives them, unless they show that
    `y` was sorted or shuffled by itself.
    """
    if isinstance(y, Mapping):
        raise TypeError(f"{what} is a {type(y).__name__}; one value per sample is wanted: views.align(y)")
    index = _index(y)
    if index is None or (len(index) == len(ids) and _equal_ids(index, ids)):
        return
    sample_ids, y_ids = id_list(ids), list(index)
    sample_texts, y_texts = [_text(x) for x in sample_ids], [_text(x) for x in y_ids]
    if sample_texts == y_texts:
        return
    common = set(sample_texts) & set(y_texts)
    if not common and _are_integers(y_ids) and not _are_integers(sample_ids):
        if not _is_range(y_ids) and sorted(y_ids) == list(range(len(ids))):
            raise ValueError(
                f"{what}'s index is 0 to {len(ids) - 1} in another order: it was sorted or shuffled apart "
                f"from the views; give {what}.sort_index(), or {what}.to_numpy() if it is as they are"
            )
        return
    if not common:
        raise ValueError(_describe_mismatch(what, sample_ids, y_ids))
    raise ValueError(_describe_disorder(what, sample_ids, y_ids) + f"; take {what} = views.align({what})")


# ------------------------------------------------------------------------------------- values and their ids


def _values_by_id(ids: Array, y: Any) -> dict[Hashable, Any]:
    """The values of `y` by the ids that they carry."""
    if isinstance(y, Mapping):
        return dict(y)
    columns = list(y.columns) if hasattr(y, "columns") else None
    index = _index(y)
    if columns is not None and len(columns) == 2 and (index is None or _is_range(index)):
        keys, values = _id_column(ids, [y[name].to_list() for name in columns])
    elif index is None or (columns is not None and len(columns) != 1):
        raise TypeError(_describe_no_ids(y, columns))
    else:
        keys, values = list(index), (y if columns is None else y[columns[0]]).to_list()
    if twice := find_duplicates(keys):
        raise ValueError(
            f"y: {len(twice)} id(s) appear more than once, e.g. {first_ids(twice)}; one value each is "
            "wanted"
        )
    return dict(zip(keys, values, strict=True))


def _id_column(ids: Array, columns: Sequence[list[Any]]) -> tuple[list[Any], list[Any]]:
    """Of two columns first the one that names more of the samples."""
    sample_texts = {_text(x) for x in id_list(ids)}
    first, second = columns
    matches = [len(sample_texts & {_text(x) for x in column}) for column in columns]
    return (second, first) if matches[1] > matches[0] else (first, second)


def _describe_no_ids(y: Any, columns: list[Any] | None) -> str:
    if columns is not None:
        return (
            f"y has {len(columns)} columns ({', '.join(map(str, columns[:5]))}); take one with an index, "
            "frame['label'], or two without: ids and labels, frame[['id', 'label']]"
        )
    return (
        f"y is a {type(y).__name__} and carries no ids; a pandas Series, a mapping from id to value, or a "
        "frame of two columns, ids and values, is wanted"
    )


def _index(y: Any) -> Any:
    """The index of a Series or frame as pandas has it; None for what has none."""
    return y.index if hasattr(y, "iloc") and hasattr(y, "index") else None


def _is_range(index: Any) -> bool:
    """Whether an index only counts the rows."""
    return list(index) == list(range(len(index)))


def as_column(values: list[Any]) -> Array:
    """Values as an array: numbers with NaN where unknown, all else with None."""
    unknown = np.array([is_missing(value) for value in values], dtype=bool)
    known = [value for value, missing in zip(values, unknown, strict=True) if not missing]
    kinds = {type(value) for value in known}
    numeric = all(issubclass(kind, int | float | np.number) and kind is not bool for kind in kinds)
    array = np.asarray(known) if len(kinds) == 1 or numeric else None
    if array is not None and array.ndim == 1 and not unknown.any():
        return array
    numbers = array is not None and array.ndim == 1 and array.dtype.kind in "iuf"
    result = np.full(len(values), np.nan if numbers else None, dtype=float if numbers else object)
    for place, value in zip(np.flatnonzero(~unknown), known, strict=True):
        result[place] = value
    return result


# ------------------------------------------------------------------------------------------- ids and texts


def _text(x: Any) -> str:
    """An id as a text; 7.0, which numbers become beside a gap, is 7, and dates are moments."""
    if isinstance(x, float | np.floating) and float(x).is_integer():
        return str(int(x))
    if isinstance(x, np.datetime64 | date):
        return str(np.asarray(x, dtype="datetime64[ns]"))
    return str(x)


def _equal_ids(index: Any, ids: Array) -> bool:
    """Whether ids are the same to begin with, without a text for each."""
    values = np.asarray(index)
    return values.dtype.kind == ids.dtype.kind and values.ndim == 1 and bool((values == ids).all())


def _are_integers(ids: Sequence[Any]) -> bool:
    return all(isinstance(x, int | np.integer) and not isinstance(x, bool) for x in ids)


def _matching_keys(sample_ids: Sequence[Any], values: Mapping[Hashable, Any]) -> list[Any]:
    """For each id the key of `values` that means it: itself, the only one of its text, else some object."""
    named = set(sample_ids)
    spare = [key for key in values if key not in named]
    counts = Counter(_text(key) for key in spare)
    texts = {_text(key): key for key in spare if counts[_text(key)] == 1}
    return [x if x in values else texts.get(_text(x), object()) for x in sample_ids]


# ---------------------------------------------------------------------------------------------- sentences


def _warn_of_unmatched(
    sample_ids: Sequence[Any], values: Mapping[Hashable, Any], keys: Sequence[Any]
) -> None:
    used = set(keys)
    without_value = [x for x, key in zip(sample_ids, keys, strict=True) if key not in values]
    without_sample = [key for key in values if key not in used]
    parts = []
    if without_value:
        example = show_id(without_value[0])
        parts.append(f"{len(without_value)} of {len(sample_ids)} samples have no value, e.g. {example}")
    if without_sample:
        parts.append(f"{len(without_sample)} id(s) of y are no sample, e.g. {show_id(without_sample[0])}")
    if parts:
        warn("; ".join(parts) + _hint(without_value, without_sample), AbsenceWarning)


def _hint(sample_ids: Sequence[Any], y_ids: Sequence[Any]) -> str:
    """What ids without a counterpart differ by, if that is something that often does."""
    pairs = match_ids(map(_text, sample_ids), map(_text, y_ids))
    return f"; {pairs[0][0]!r} and {pairs[0][1]!r} differ only in {WAYS_TO_DIFFER}" if pairs else ""


def _describe_mismatch(what: str, sample_ids: Sequence[Any], y_ids: Sequence[Any]) -> str:
    hint = _hint(sample_ids, y_ids)
    remedy = "make them alike" if hint else f"give {what}.to_numpy() if it is in the order of the samples"
    return (
        f"{what} is by {first_ids(y_ids) or 'nothing'}, the samples are called {first_ids(sample_ids)}: "
        f"no id in common{hint}; {remedy}"
    )


def _describe_disorder(what: str, sample_ids: Sequence[Any], y_ids: Sequence[Any]) -> str:
    ours, theirs = {_text(x) for x in sample_ids}, {_text(x) for x in y_ids}
    without_sample = [x for x in y_ids if _text(x) not in ours]
    without_value = [x for x in sample_ids if _text(x) not in theirs]
    if without_sample or without_value:
        counts = f"{len(without_sample)} that are no sample, {len(without_value)} samples not among them"
        example = show_id((without_sample + without_value)[0])
        return f"{what} is by other ids than the samples: {counts}, e.g. {example}"
    if len(y_ids) != len(sample_ids):
        return f"{what} has {len(y_ids)} values for {len(sample_ids)} samples"
    i = next(i for i, (a, b) in enumerate(zip(sample_ids, y_ids, strict=True)) if _text(a) != _text(b))
    return (
        f"{what} is by the samples' ids, but in another order: at position {i} it has {show_id(y_ids[i])}, "
        f"the samples {show_id(sample_ids[i])}"
    )
