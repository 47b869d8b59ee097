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

from absentia.core import Array, RandomState, evaluate_path, make_generator
from absentia.data import KernelViews, number_groups, order_kernels
from absentia.data.missingness import fixed_per_view

#: Share of each view's samples that is hidden.
_HIDDEN_SHARE = 0.1
#: So many samples tell what is best as well as more do.
MAX_SAMPLES = 2500
#: So many kernel values are formed at once to be compared.
_MAX_VALUES = 1 << 24

_Key = TypeVar("_Key")


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
        X = X if max_samples is None else subsample_kernels(X, max_samples, rng)
        order = order_kernels(X)
        in_order = np.ix_(order.samples, order.views)
        keep = np.empty_like(X.observed)
        keep[in_order] = fixed_per_view(X.observed[in_order], share, random_state=rng, allow_empty=True)
        if (groups := number_groups(X.groups)) is not None:  # hidden as their first members are
            first = order.samples[np.unique(groups[order.samples], return_index=True)[1]]
            keep = keep[first[groups]]
        keep[X.observed.any(axis=1) & ~(X.observed & keep).any(axis=1)] = True
        return cls(X, X.hide(keep))

    @classmethod
    def of_rows(cls, X: KernelViews) -> Self:
        """Hide one view of each new sample that has several; which one, its id decides."""
        keep = np.ones_like(X.observed)
        for t, (sample, present) in enumerate(zip(X.ids.tolist(), X.observed, strict=True)):
            views = np.flatnonzero(present)
            if len(views) > 1:
                keep[t, views[zlib.crc32(repr(sample).encode()) % len(views)]] = False
        return cls(X, X.hide(keep))

    @property
    def hidden(self) -> Array:
        """Which cells are hidden, samples x views."""
        return self.whole.observed & ~self.part.observed

    @property
    def n_hidden(self) -> int:
        """How many cells are hidden in views that somebody is left in."""
        return int(self.hidden.sum(axis=0)[self.part.observed.any(axis=0)].sum())

    def error(self, completed: KernelViews) -> float:
        """Relative error of the hidden cells in the `completed` part, mean over views."""
        errors = self.errors(completed)
        return float(np.mean(list(errors.values()))) if errors else 0.0

    def errors(self, completed: KernelViews) -> dict[str, float]:
        """Relative error of the hidden cells by view; views without any are left out."""
        truth, errors = self.whole, {}
        for v, (name, present) in enumerate(zip(truth.names, truth.observed.T, strict=True)):
            hidden = np.flatnonzero(self.hidden[:, v])
            kept = present & self.part.observed[:, v] if truth.square else truth.column_observed[:, v]
            if len(hidden) and kept.any():
                squares = self._sum_squares(completed, v, hidden, np.flatnonzero(kept))
                if truth.square:
                    squares = 2 * squares + self._sum_squares(completed, v, hidden, hidden)
                errors[name] = float(np.sqrt(squares[0] / max(squares[1], 1e-300)))
        return errors

    def _sum_squares(self, completed: KernelViews, v: int, rows: Array, columns: Array) -> Array:
        """Sums of squares of the differences, and of the true values, in a block of view `v`."""
        name = self.whole.names[v]
        K, K_hat = self.whole.operator(name), completed.operator(name)
        inside_rows = np.cumsum(self.whole.observed[:, v]) - 1
        inside_columns = np.cumsum(self.whole.column_observed[:, v]) - 1
        sums, step = np.zeros(2), max(_MAX_VALUES // len(columns), 1)
        for chunk in (rows[start : start + step] for start in range(0, len(rows), step)):
            true = K.block(inside_rows[chunk], inside_columns[columns])
            difference = K_hat.block(chunk, columns) - true
            sums += float(np.vdot(difference, difference)), float(np.vdot(true, true))
        return sums

    def curve(
        self,
        path: Iterable[_Key],
        complete: Callable[[_Key], KernelViews],
        patience: int = 2,
        hopeless: float = np.inf,
    ) -> dict[_Key, float]:
        """Errors along a path of values, left as :func:`absentia.core.along_path` says."""
        return evaluate_path(path, lambda value: self.error(complete(value)), patience, hopeless)


def subsample_kernels(X: KernelViews, max_samples: int, rng: np.random.Generator) -> KernelViews:
    """At most so many samples, the same ones in whatever order they come; they stay in that order."""
    if len(X) <= max_samples:
        return X
    drawn = np.sort(np.argsort(order_kernels(X).lottery(rng), kind="stable")[:max_samples])
    return X[np.ix_(drawn, drawn)]
