"""Absent samples as combinations of the samples that have the view: what the simple fillers share.

Let K be the observed kernel of a view.  If the features of an absent sample t are a combination of the
observed ones, ``sum_i a_ti phi_i``, plus something of its own that is orthogonal to all else and has
squared length s_t >= 0, then with the rows a_t in A

    K_ho = A K,     K_hh = A K A' + diag(s).

Completed in this way a kernel keeps its observed block and is positive semidefinite if the observed
block is, whatever A and s are: it is the kernel of actual points.  Here A has low rank, ``A = W C'``.  The
columns of C are *axes*, the first of them the mean of the observed samples; a row of W says where a
sample lies along them.  A method brings the axes, and a rule that turns what is seen of a sample into
its place along them.  The rule serves training samples and new ones alike.

How strongly to regularise, which the data do not say by themselves, is chosen by hiding a tenth of the
observed samples of each view and completing those.  Which ones depends on the data, not on the order of
samples or views (``_order``).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from absentia.core import (
    Accelerated,
    Array,
    Completed,
    Operator,
    RandomState,
    Side,
    Solution,
    along_path,
    least,
    warn,
)
from absentia.data import AbsenceWarning, KernelViews, hide_some, ordering, shown
from absentia.methods.base import Completer, IterativeMixin, check_positive

#: What a kernel's values vary by, relative to the largest, without meaning anything: ten thousand times the
#: rounding of sums over thousands of samples; and where they are kept in single precision.
ROUNDING, ROUNDING_SINGLE = 1e-9, 1e-5
#: Accelerated steps are uneven: so many in a row must change the objective by less than tol.
PATIENCE = 3


def alike(K: Array) -> bool:
    """Whether all samples of a kernel are one but for rounding, so that it tells nothing of them.

    Their mean squared distance from the mean is then below :data:`ROUNDING` of the largest value.
    """
    if not len(K):
        return True
    diagonal = np.diagonal(K)
    spread = float(diagonal.mean(dtype=np.float64)) - float(K.mean(dtype=np.float64))
    return not spread > rounding(K.dtype) * float(diagonal.max())


def rounding(dtype: Any) -> float:
    return ROUNDING if np.dtype(dtype).itemsize > 4 else ROUNDING_SINGLE


@dataclass(frozen=True)
class Axes:
    """Directions in the feature space of a view, and how a sample's kernel row is read along them.

    ``C`` (m x r+1) holds the axes as combinations of the m observed samples ``v``, the mean first;
    ``G = K C`` and ``E = C' K C`` are their kernel values with those samples and with one another.
    ``probe`` and ``offset`` read a row: coordinates are ``row @ probe - offset``, zero for the mean.
    """

    v: Array
    C: Array
    G: Array
    E: Array
    probe: Array
    offset: Array

    @classmethod
    def of(cls, K: Array, v: Array, C: Array, probe: Array) -> Self:
        """Axes through the mean along the combinations `C`, rows read with `probe` (both m x r)."""
        m = len(K)
        if not m:
            nothing = np.zeros((0, 1 + C.shape[1]))
            return cls(v, nothing, nothing, np.zeros((nothing.shape[1],) * 2), probe, np.zeros(C.shape[1]))
        through_mean = np.column_stack([np.full(m, 1.0 / m), C - C.mean(axis=0)])
        probe = probe - probe.mean(axis=0)
        G = K @ through_mean
        return cls(v, through_mean, G, through_mean.T @ G, probe, G[:, 0] @ probe)

    def read(self, rows: Operator) -> Array:
        """Coordinates of samples from their kernel rows against the observed samples."""
        return np.asarray(rows @ self.probe - self.offset)

    def own(self, W: Array) -> Array:
        """``k(t, t)`` of samples that lie at `W` along the axes, before anything of their own."""
        return np.einsum("ij,ij->i", W @ self.E, W)


@dataclass(frozen=True)
class Place:
    """Where samples lie in a view: (1, coordinates) along its axes, and the length that is their own."""

    W: Array
    spread: Array

    @classmethod
    def along(cls, coordinates: Array, spread: Array) -> Self:
        return cls(np.column_stack([np.ones(len(coordinates)), coordinates]), spread)


class CombiningCompleter(IterativeMixin, Completer):
    """A completer that finds axes in each view and a sample's place along those of the views it lacks."""

    heldout_curve_: dict[float, float]
    _axes: list[Axes]
    _places: list[Place]

    @abstractmethod
    def _prepare(self, X: KernelViews) -> Callable[..., Solution[Accelerated]]:
        """A function that fits `X` with a given strength of regularisation."""

    @abstractmethod
    def _place(self, seen: Sequence[Array], observed: Array) -> list[Place]:
        """Places of samples in every view, from their coordinates in those they have (else zero)."""

    def _fit_with(self, X: KernelViews, strength: float, **options: Any) -> None:
        """Fit `X`, and place the training samples."""
        self._record(self._prepare(X)(strength, **options))
        self._places = self._place(coordinates(self._axes, X), X.observed)

    def _by_hiding(self, X: KernelViews, path: Sequence[float], seed: RandomState, **options: Any) -> float:
        """The strength on the path that best completes a tenth of each view's samples, hidden for it."""
        keep = hide_some(X, 0.1, seed, ordering(X))
        self.heldout_curve_ = {}
        if np.array_equal(keep, X.observed):
            return path[len(path) // 2]  # too few samples to hide any
        part = X.hide(keep)
        fit = self._prepare(part)

        def error(strength: float) -> float:
            fit(strength, **options)
            return hiding_error(X, keep, self._axes, self._place(coordinates(self._axes, part), keep))

        self.heldout_curve_ = along_path(path, error)
        return float(least(self.heldout_curve_))

    def _fill(self, X: KernelViews) -> Mapping[str, Array | Operator]:
        kernels = {}
        for name, axes, place in zip(X.names, self._axes, self._places, strict=True):
            h = np.setdiff1d(np.arange(len(X)), axes.v)
            kernels[name] = Completed.square(
                X.operator(name), axes.v, h, axes.G, place.W[h], axes.E, place.spread[h]
            )
        return kernels

    def _fill_rows(self, X: KernelViews) -> tuple[Mapping[str, Array | Operator], Mapping[str, Array]]:
        warn_of_strangers(X, chained=True)
        blocks, diagonals = {}, {}
        new = self._place(coordinates(self._axes, X), X.observed)
        for k, (name, axes) in enumerate(zip(X.names, self._axes, strict=True)):
            present = X.observed[:, k]
            known, filled = np.flatnonzero(present), np.flatnonzero(~present)
            h = np.setdiff1d(np.arange(X.shape[1]), axes.v)
            rows = Side(known, filled, X.operator(name) @ axes.C, new[k].W[filled])
            columns = Side(axes.v, h, axes.G, self._places[k].W[h])
            nothing = scipy.sparse.csr_array(X.shape)
            blocks[name] = Completed(X.operator(name), rows, columns, axes.E, nothing)
            diagonals[name] = axes.own(new[k].W) + new[k].spread
            diagonals[name][present] = X.diagonal(name)
        return blocks, diagonals


def coordinates(axes: Sequence[Axes], X: KernelViews) -> list[Array]:
    """Coordinates of the rows of `X` along the axes of each view, zero where a sample lacks it."""
    found = []
    for k, (name, own) in enumerate(zip(X.names, axes, strict=True)):
        P = np.zeros((len(X), own.probe.shape[1]))
        if len(own.v):
            P[X.observed[:, k]] = own.read(X.operator(name))
        found.append(P)
    return found


def check_iterations(tol: Any, max_iter: Any) -> None:
    """Raise unless `tol` and `max_iter` make sense."""
    if not isinstance(tol, Real) or not 0 <= float(tol) < np.inf:
        raise ValueError(f"tol >= 0 is wanted; got {tol!r}")
    if not isinstance(max_iter, Integral) or max_iter < 1:
        raise ValueError(f"max_iter >= 1 is wanted, a whole number; got {max_iter!r}")


# ------------------------------------------------------------------------------- what cannot be known


def check_fillable(X: KernelViews, *, chained: bool) -> None:
    """Raise if a kernel is indefinite; warn of samples and views nothing can be said of."""
    check_positive(X)
    X.warn_of_absence()
    warn_of_strangers(X, chained=chained)


def strangers(X: KernelViews, *, chained: bool) -> Array:
    """Absent cells, samples x views, of samples that nothing links to those who have the view.

    A sample is linked to a view if some column sample has both this view and one of the sample's own;
    `chained`, if such a link leads there in several steps.
    """
    has = X.column_observed
    link = has.T.astype(int) @ has.astype(int) > 0
    if chained:
        _, label = connected_components(link, directed=False)
        link = label[:, None] == label
    reached = X.observed.astype(int) @ link.astype(int) > 0
    return np.asarray(~X.observed & ~reached & has.any(axis=0))


def warn_of_strangers(X: KernelViews, *, chained: bool) -> None:
    """Warn of absent cells that can only be filled with the mean."""
    lost = strangers(X, chained=chained)
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


# ------------------------------------------------------------------------------- choosing by hiding


def hiding_error(X: KernelViews, keep: Array, axes: Sequence[Axes], places: Sequence[Place]) -> float:
    """Relative Frobenius error of the hidden rows against the kept samples, mean over views."""
    errors = []
    for k, name in enumerate(X.names):
        kept, out = keep[:, k], X.observed[:, k] & ~keep[:, k]
        if kept.any() and out.any():
            inside = X.observed[:, k]
            truth = X.operator(name).block(np.flatnonzero(kept[inside]), np.flatnonzero(out[inside]))
            error = axes[k].G @ places[k].W[out].T - truth
            errors.append(np.linalg.norm(error) / max(float(np.linalg.norm(truth)), 1e-300))
    return float(np.mean(errors)) if errors else 0.0
