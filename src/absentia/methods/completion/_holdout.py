"""Choosing by hiding what is known, and completing it: one rule, one word (``"heldout"``), one curve.

A tenth of each view's observed samples is hidden.  Which ones depends on the data, not on the order of
samples or views.  Of many samples so many may be drawn first as tell what is best (:data:`MOST`).  What is
completed is compared with what was hidden: relative Frobenius error of the hidden rows, against the samples
that were kept and among themselves, mean over views.
"""

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np

from absentia.core import (
    Array,
    Gram,
    Operator,
    RandomState,
    along_path,
    factors_of,
    generator,
    has_factors,
    thin_gram,
)
from absentia.data import KernelViews, ordering
from absentia.data.missingness import fixed_per_view

#: So much of each view is hidden.
SHARE = 0.1
MOST = 2500  # samples tell what is best as well as more do
AT_ONCE = 1 << 24  # kernel values are made together and compared

Key = TypeVar("Key")


@dataclass(frozen=True)
class Holdout:
    """Kernels of which some observed cells are hidden, to see how well these come back.

    `whole` are these samples, all of them or those that were drawn, with nothing hidden.
    """

    whole: KernelViews
    part: KernelViews

    @classmethod
    def of(
        cls, X: KernelViews, random_state: RandomState = None, share: float = SHARE, most: int | None = None
    ) -> Self:
        """A sample all of whose views would be hidden keeps them: nothing could be said of it.

        Of more samples than `most` so many are drawn.
        """
        rng = generator(random_state)
        X = X if most is None else drawn_from(X, most, rng)
        order = ordering(X)
        drawn = np.ix_(order.samples, order.views)
        keep = np.empty_like(X.observed)
        keep[drawn] = fixed_per_view(X.observed[drawn], share, random_state=rng, allow_empty=True)
        keep[X.observed.any(axis=1) & ~(X.observed & keep).any(axis=1)] = True
        return cls(X, X.hide(keep))

    @property
    def n_hidden(self) -> int:
        """How many cells are hidden in views that somebody is left in."""
        hidden = (self.whole.observed & ~self.part.observed).sum(axis=0)
        return int(hidden[self.part.observed.any(axis=0)].sum())

    def error(self, completed: KernelViews) -> float:
        """Of the hidden cells, as they were completed."""
        return relative_error(self.whole, completed, self.part.observed)

    def errors(self, completed: KernelViews) -> dict[str, float]:
        """Of the hidden cells by view, as they were completed; views without any are left out."""
        return view_errors(self.whole, completed, self.part.observed)

    def curve(
        self,
        path: Iterable[Key],
        complete: Callable[[Key], KernelViews],
        patience: int = 2,
        hopeless: float = np.inf,
    ) -> dict[Key, float]:
        """Errors along a path of values, left as :func:`absentia.core.along_path` says."""
        return along_path(path, lambda value: self.error(complete(value)), patience, hopeless)


def drawn_from(X: KernelViews, most: int, random_state: RandomState = None) -> KernelViews:
    """At most so many samples, the same ones in whatever order they come; they stay in that order."""
    if len(X) <= most:
        return X
    numbers = ordering(X).lottery(generator(random_state))
    drawn = np.sort(np.argsort(numbers, kind="stable")[:most])
    return X[np.ix_(drawn, drawn)]


def relative_error(truth: KernelViews, completed: KernelViews, before: Array) -> float:
    """Relative error of rows that `truth` has and that were absent `before`, mean over views."""
    errors = view_errors(truth, completed, before)
    return float(np.mean(list(errors.values()))) if errors else 0.0


def view_errors(truth: KernelViews, completed: KernelViews, before: Array) -> dict[str, float]:
    """The same by view, of those where there is something to measure."""
    errors = {}
    for v in range(truth.n_views):
        has = truth.observed[:, v]
        out = np.flatnonzero(has & ~before[:, v])
        columns = np.flatnonzero(has & before[:, v] if truth.square else truth.column_observed[:, v])
        if not len(out) or not len(columns):
            continue
        missed, size = _squares(truth, completed, v, out, columns)
        if truth.square:
            among = _squares(truth, completed, v, out, out)
            missed, size = 2 * missed + among[0], 2 * size + among[1]
        errors[truth.names[v]] = float(np.sqrt(missed / max(size, 1e-300)))
    return errors


def _squares(
    truth: KernelViews, completed: KernelViews, v: int, rows: Array, columns: Array
) -> tuple[float, float]:
    """Sums of squares of what was missed, and of what there was."""
    name = truth.names[v]
    inside = np.cumsum(truth.observed[:, v]) - 1, np.cumsum(truth.column_observed[:, v]) - 1
    true, made = truth.operator(name), completed.operator(name)
    if len(rows) * len(columns) <= AT_ONCE:
        return _compare_rows(true, made, rows, columns, inside)
    found = _by_factors(true, made, rows, columns, inside)
    if found is not None:
        return found
    step = max(AT_ONCE // len(columns), 1)
    parts = [rows[start : start + step] for start in range(0, len(rows), step)]
    sums = np.sum([_compare_rows(true, made, part, columns, inside) for part in parts], axis=0)
    return float(sums[0]), float(sums[1])


def _compare_rows(
    true: Operator, made: Operator, rows: Array, columns: Array, inside: tuple[Array, Array]
) -> tuple[float, float]:
    there = true.block(inside[0][rows], inside[1][columns])
    gap = made.block(rows, columns) - there
    return float(np.vdot(gap, gap)), float(np.vdot(there, there))


def _by_factors(
    true: Operator, made: Operator, rows: Array, columns: Array, inside: tuple[Array, Array]
) -> tuple[float, float] | None:
    """The same where both are factors, those of the columns being the same: nothing is formed then.

    With ``Phi_r Phi_c'`` the truth and ``F_r Phi_c'`` what was made, ``(F_r - Phi_r) Phi_c'`` was missed.
    """
    if not (isinstance(true, Gram) and true.left is true.right and has_factors(made)):
        return None
    Phi, (F, _) = true.left, factors_of(made)
    width, of_columns = Phi.shape[1], Phi[inside[1][columns]]
    beyond = F[columns, width:]
    if F.shape[1] < width or not np.array_equal(F[columns, :width], of_columns) or beyond.any():
        return None
    if len(np.intersect1d(rows, columns)):  # what is added to the diagonal would count
        return None
    inner, of_rows = thin_gram(of_columns, of_columns), Phi[inside[0][rows]]
    gap = F[rows, :width] - of_rows
    return _size(gap, inner), _size(of_rows, inner)


def _size(left: Array, inner: Array) -> float:
    """The sum of squares of ``left right'``, `inner` being ``right' right``."""
    return float(np.vdot(thin_gram(left, left), inner))


def hidden_rows(X: KernelViews) -> Array:
    """Which cells of new samples to keep when each that has several views loses one, by its id."""
    keep = np.ones_like(X.observed)
    for t, (sample, present) in enumerate(zip(X.ids.tolist(), X.observed, strict=True)):
        has = np.flatnonzero(present)
        if len(has) > 1:
            keep[t, has[zlib.crc32(repr(sample).encode()) % len(has)]] = False
    return keep & X.observed
