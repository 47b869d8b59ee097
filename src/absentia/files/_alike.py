"""Ids that are written differently and may be the same: in case, spaces, signs, zeros or type."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote

from absentia.data import normal_id, shown

HOW = "case, spaces, - _ . or zeros"


def loose(sample: str) -> str:
    """An id without what people write one way here and another way there."""
    plain = re.sub(r"\.0$", "", normal_id(sample).strip().casefold())
    return re.sub(r"[\s_.-]", "", re.sub(r"(?<!\d)0+(?=\d)", "", plain))


def alike(own: Iterable[str], others: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of ids, one of each side and on that side only, that differ only in how they are written.

    Parameters
    ----------
    own, others : iterable of str
        Ids of the two sides.
    """
    left, right = dict.fromkeys(own), dict.fromkeys(others)
    by_key = {loose(x): x for x in right if x not in left}
    return [(x, by_key[key]) for x in left if x not in right and (key := loose(x)) in by_key]


def differences(ids: Mapping[str, Sequence[str]], columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Sentences about ids of views that may be the same samples; an error where nothing is common.

    Parameters
    ----------
    ids : mapping of str to sequence of str
        The ids of each view.
    columns : mapping of str to sequence of str
        The names of the features of each view.
    """
    counts = Counter(x for own in ids.values() for x in set(own))
    sentences, seen = _turned(ids, columns), dict[str, str]()
    for name, own in ids.items():
        alone = len(ids) > 1 and not any(counts[x] > 1 for x in own)
        if alone:
            _refuse_turned(
                name, columns[name], {other: set(x) for other, x in ids.items() if other != name}
            )
        pairs = alike(own, seen)
        if pairs:
            mine, other = pairs[0]
            what = (
                f"view {name!r}: {len(pairs)} of its ids, e.g. {shown(mine)}, differ only in {HOW} from "
                f"ids of others, e.g. {shown(other)} of {seen[other]!r}; if they are the same samples, "
                "write them alike"
            )
            if alone:
                raise ValueError(f"{what}: as it is, it has no sample in common with any other view")
            sentences.append(what)
        seen |= {x: name for x in own if x not in seen}
    return sentences


def _refuse_turned(name: str, columns: Sequence[str], others: Mapping[str, set[str]]) -> None:
    for other, ids in others.items():
        known = sum(column in ids for column in columns)
        if known > 1 and 2 * known >= len(columns):
            raise ValueError(
                f"view {name!r} has no sample in common with any other view, but its columns are named as "
                f"the samples of {other!r} are: it seems to be transposed; give --transpose {quote(name)}, "
                "or write transpose = true into a manifest"
            )


def _turned(ids: Mapping[str, Sequence[str]], columns: Mapping[str, Sequence[str]]) -> list[str]:
    """A sentence if no two views have a sample in common, but nearly all have their columns in common."""
    own, names = [set(x) for x in ids.values()], [set(x) for x in columns.values()]
    if len(own) < 2 or len(set.union(*own)) < sum(map(len, own)):
        return []
    counts = Counter(column for one in columns.values() for column in dict.fromkeys(one))
    if any(2 * sum(counts[column] > 1 for column in one) < max(len(one), 4) for one in names):
        return []
    some = ", ".join(shown(x) for x in [x for x in counts if counts[x] > 1][:3])
    return [
        f"the views {', '.join(map(repr, ids))} have no sample in common, but columns of the same names "
        f"({some}, ...): if the columns are the samples (genes x samples), give --transpose"
    ]
