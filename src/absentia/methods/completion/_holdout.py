"""Selection by hiding what is known, and completing it: one rule, one word (``"heldout"``), one curve.

A tenth of each view's observed samples is hidden.  Which ones depends on the data, not on the order of
samples or views.  Of many samples so many may be drawn first as tell what is best (:data:`MAX_SAMPLES`).
What is completed is compared with what was hidden: relative Frobenius error of the hidden rows, against the
samples that were kept and among themselves, mean over views.
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
    evaluate_path,
    get_factors,
    has_factors,
    make_generator,
)
from absentia.core.linalg import thin_gram
from absentia.data import KernelViews, order_kernels
from absentia.data.missingness import fixed_per_view

#: Share of each view's samples that is hidden.
_HIDDEN_SHARE = 0.1
#: So many samples tell what is best as well as more do.
MAX_SAMPLES = 2500
#: So many kernel values are formed at once to be compared.
_MAX_VALUES = 1 << 24

Key = TypeVar("Key")


@dataclass(frozen=True)
class Holdout:
    """Kernels of which some observed cells are hidden, to see how well these come back.

    `whole` are these samples, all of them or those that were drawn, with nothing hidden; `part` the same
    with some cells hidden.
    """

    whole: KernelViews
    part: KernelViews

    @classmethod
    def of(
        cls,
        X: KernelViews,
        random_state: RandomState = None,
        share: float = _HIDDEN_SHARE,
        max_samples: int | None = None,
    ) -> Self:
        """Hide a `share` of each view of at most `max_samples` samples of `X`, drawn at random.

        A sample all of whose views would be hidden keeps them: nothing could be said of it.
        """
        rng = make_generator(random_state)
        X = X if max_samples is None else _subsample(X, max_samples, rng)
        order = order_kernels(X)
        in_order = np.ix_(order.samples, order.views)
        keep = np.empty_like(X.observed)
        keep[in_order] = fixed_per_view(X.observed[in_order], share, random_state=rng, allow_empty=True)
        keep[X.observed.any(axis=1) & ~(X.observed & keep).any(axis=1)] = True
        return cls(X, X.hide(keep))

    @property
    def hidden(self) -> Array:
        """Which cells are hidden, samples x views."""
        return np.asarray(self.whole.observed & ~self.part.observed)

    @property
    def n_hidden(self) -> int:
        """How many cells are hidden in views that somebody is left in."""
        return int(self.hidden.sum(axis=0)[self.part.observed.any(axis=0)].sum())

    def error(self, completed: KernelViews) -> float:
        """Relative error of the hidden cells in the `completed` part, mean over views."""
        return relative_error(self.whole, completed, self.part.observed)

    def errors(self, completed: KernelViews) -> dict[str, float]:
        """Relative error of the hidden cells by view; views without any are left out."""
        return _view_errors(self.whole, completed, self.part.observed)

    def curve(
        self,
        path: Iterable[Key],
        complete: Callable[[Key], KernelViews],
        patience: int = 2,
        hopeless: float = np.inf,
    ) -> dict[Key, float]:
        """Errors along a path of values, left as :func:`absentia.core.along_path` says."""
        return evaluate_path(path, lambda value: self.error(complete(value)), patience, hopeless)


def mask_one_view_each(X: KernelViews) -> Array:
    """Which cells of new samples to keep when each that has several views loses one, by its id."""
    keep = np.ones_like(X.observed)
    for t, (sample, present) in enumerate(zip(X.ids.tolist(), X.observed, strict=True)):
        views = np.flatnonzero(present)
        if len(views) > 1:
            keep[t, views[zlib.crc32(repr(sample).encode()) % len(views)]] = False
    return keep & X.observed


def _subsample(X: KernelViews, max_samples: int, rng: np.random.Generator) -> KernelViews:
    """At most so many samples, the same ones in whatever order they come; they stay in that order."""
    if len(X) <= max_samples:
        return X
    drawn = np.sort(np.argsort(order_kernels(X).lottery(rng), kind="stable")[:max_samples])
    return X[np.ix_(drawn, drawn)]


# ------------------------------------------------------------------------------------------- errors


def relative_error(truth: KernelViews, completed: KernelViews, before: Array) -> float:
    """Relative error of rows that `truth` has and that were absent `before`, mean over views."""
    errors = _view_errors(truth, completed, before)
    return float(np.mean(list(errors.values()))) if errors else 0.0


def _view_errors(truth: KernelViews, completed: KernelViews, before: Array) -> dict[str, float]:
    """The same by view, of those where there is something to measure."""
    errors = {}
    for v in range(truth.n_views):
        present = truth.observed[:, v]
        hidden = np.flatnonzero(present & ~before[:, v])
        columns = np.flatnonzero(present & before[:, v] if truth.square else truth.column_observed[:, v])
        if not len(hidden) or not len(columns):
            continue
        squares = _sum_squares(truth, completed, v, hidden, columns)
        if truth.square:
            squares = 2 * squares + _sum_squares(truth, completed, v, hidden, hidden)
        errors[truth.names[v]] = float(np.sqrt(squares[0] / max(squares[1], 1e-300)))
    return errors


def _sum_squares(truth: KernelViews, completed: KernelViews, v: int, rows: Array, columns: Array) -> Array:
    """Sums of squares of the differences, and of the true values, in a block of view `v`."""
    name = truth.names[v]
    inside = np.cumsum(truth.observed[:, v]) - 1, np.cumsum(truth.column_observed[:, v]) - 1
    K, K_hat = truth.operator(name), completed.operator(name)
    if len(rows) * len(columns) <= _MAX_VALUES:
        return _compare_blocks(K, K_hat, rows, columns, inside)
    by_factors = _compare_factors(K, K_hat, rows, columns, inside)
    if by_factors is not None:
        return by_factors
    step = max(_MAX_VALUES // len(columns), 1)
    chunks = [rows[start : start + step] for start in range(0, len(rows), step)]
    return np.sum([_compare_blocks(K, K_hat, chunk, columns, inside) for chunk in chunks], axis=0)


def _compare_blocks(
    K: Operator, K_hat: Operator, rows: Array, columns: Array, inside: tuple[Array, Array]
) -> Array:
    true = K.block(inside[0][rows], inside[1][columns])
    difference = K_hat.block(rows, columns) - true
    return np.array([float(np.vdot(difference, difference)), float(np.vdot(true, true))])


def _compare_factors(
    K: Operator, K_hat: Operator, rows: Array, columns: Array, inside: tuple[Array, Array]
) -> Array | None:
    """The same where both are factors, those of the columns being the same: nothing is formed then.

    With ``Phi_r Phi_c'`` the truth and ``F_r Phi_c'`` what was completed, the difference is
    ``(F_r - Phi_r) Phi_c'``, whose sum of squares is ``<L' L, Phi_c' Phi_c>`` with L its left factor.
    """
    if not (isinstance(K, Gram) and K.left is K.right and has_factors(K_hat)):
        return None
    Phi, (F, _) = K.left, get_factors(K_hat)
    width, Phi_columns = Phi.shape[1], Phi[inside[1][columns]]
    if (
        F.shape[1] < width
        or not np.array_equal(F[columns, :width], Phi_columns)
        or F[columns, width:].any()
    ):
        return None
    if len(np.intersect1d(rows, columns)):  # what is added to the diagonal would count
        return None
    inner, Phi_rows = thin_gram(Phi_columns, Phi_columns), Phi[inside[0][rows]]
    left_factors = F[rows, :width] - Phi_rows, Phi_rows
    return np.array([float(np.vdot(thin_gram(left, left), inner)) for left in left_factors])
