"""What who lacks which view means: patterns, groups that nothing links, samples strange to a view."""

from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from absentia.core import Array, warn


class AbsenceWarning(UserWarning):
    """Something about who lacks what that changes what can be learned."""


def shown(x: Any) -> str:
    """An id as the user wrote it."""
    return repr(x.item() if isinstance(x, np.generic) and x.dtype.kind not in "mM" else x)


def patterns(observed: Array) -> tuple[Array, Array]:
    """Distinct rows of `observed` and how many samples have each, most frequent first."""
    distinct, counts = np.unique(observed, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return distinct[order], counts[order]


def components(observed: Array) -> Array:
    """Label of each sample's connected component of co-observation; -1 for a sample without views.

    Two samples are linked when some view sees both.  Between components no kernel entry is ever
    observed, so nothing in the data says how they relate.  Components are numbered by size.
    """
    n = len(observed)
    if n == 0:
        return np.zeros(0, dtype=int)
    links = scipy.sparse.csr_array(observed)
    graph = scipy.sparse.block_array([[None, links], [links.T, None]], format="csr")
    labels = connected_components(graph, directed=False)[1][:n]
    seen = observed.any(axis=1)
    values, counts = np.unique(labels[seen], return_counts=True)
    rank = np.full(int(labels.max()) + 1, -1)
    rank[values[np.argsort(-counts, kind="stable")]] = np.arange(len(values))
    return np.asarray(rank[labels])


def strangers(observed: Array, has: Array, *, chained: bool) -> Array:
    """Absent cells, samples x views, of samples that nothing links to those who have the view.

    `has` says which views the samples have that are learned from.  A sample is linked to a view if one of
    those has both this view and one of the sample's own; `chained`, if such links lead there in several
    steps.
    """
    link = has.T.astype(int) @ has.astype(int) > 0
    if chained:
        _, label = connected_components(link, directed=False)
        link = label[:, None] == label
    reached = observed.astype(int) @ link.astype(int) > 0
    return np.asarray(~observed & ~reached & has.any(axis=0))


def warn_of_strangers(X: Any, *, chained: bool) -> None:
    """Warn of absent cells of kernels that can only be filled with the mean."""
    lost = strangers(X.observed, X.column_observed, chained=chained)
    if X.square:
        lost &= X.observed.any(axis=1, keepdims=True)  # samples without any view were warned of already
    if lost.any():
        t, k = np.argwhere(lost)[0]
        why = "is linked by no chain of views to" if chained else "shares no view with"
        warn(
            f"{lost.sum()} absent cell(s), e.g. sample {shown(X.ids[t])} in view {X.names[k]!r}: the "
            f"sample {why} any sample that has this one; it becomes the mean there",
            AbsenceWarning,
        )
