"""Completing a kernel is saying where the absent samples lie: the four blocks, assembled in one place.

Let K be the observed kernel of a view.  If the features of an absent sample t are a combination of
*axes*, ``sum_j W_tj e_j``, plus something of its own that is orthogonal to all else and has squared length
s_t >= 0, and the axes are combinations of the observed samples, ``e_j = sum_i C_ij phi_i``, then

    K_vh = G W',     K_hh = W E W' + diag(s),     G = K C,     E = C' K C.

Completed in this way a kernel keeps its observed block and is positive semidefinite if that is, whatever
the axes and places are: it is the kernel of actual points.  (E may be more than C' K C: then the axes are
longer than the combinations, by something that is orthogonal to all that was observed.)

A method brings a :class:`Frame` for each view, the axes, and a :class:`Place` for the samples that lack
it, the rows of W and s; for new samples by a rule, :meth:`Placing._place`.  Training kernels, rows of new
samples and their own values are then the same few lines for all methods, and operators throughout: nothing
n x n is formed from kernels that are given by factors.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from absentia.core import Array, Completed, Operator, Side, kept, symmetrize
from absentia.data import KernelViews, Views
from absentia.methods.completion._base import Completer, check_same_samples
from absentia.methods.completion._preimage import features_at


@kept
@dataclass(frozen=True)
class Frame:
    """Axes of a view, as combinations `C` of the samples that have it (None: these themselves).

    `G` are their kernel values with those samples, `E` those with one another.
    """

    C: Array | None
    G: Array
    E: Array

    @classmethod
    def of(cls, K: Operator, C: Array) -> Self:
        """Axes along the combinations `C`, and no longer than these."""
        G = K @ C
        return cls(C, G, symmetrize(C.T @ G))

    def along(self, rows: Operator) -> Array:
        """Kernel values of samples with the axes, from their rows against the observed samples."""
        return rows.to_dense() if self.C is None else np.asarray(rows @ self.C)

    def own(self, W: Array) -> Array:
        """``k(t, t)`` of samples that lie at `W`, before anything of their own."""
        return np.einsum("ij,ij->i", W @ self.E, W)


@kept
@dataclass(frozen=True)
class Place:
    """Where the absent samples of a view lie along its axes, and the squared length that is their own.

    `G`, of new samples: kernel values with the axes of those that *have* the view, where these are not what
    their rows say (:meth:`Frame.along`).
    """

    W: Array
    s: Array
    G: Array | None = None


class Placing(Completer):
    """A completer that says where the absent samples of each view lie."""

    _frames: Sequence[Frame]
    _places: Sequence[Place]
    _along_frames = True  # whether samples with a view relate to absent ones as the frame says

    @abstractmethod
    def _learn(self, X: KernelViews) -> None:
        """Find a frame of each view, and the places of the training samples that lack it."""

    @abstractmethod
    def _place(self, X: KernelViews) -> Sequence[Place]:
        """Places of the rows of `X` that lack a view, by view."""

    def _stays(self, observed: Array, v: int) -> Array:
        """Which samples keep their kernel values in view `v`: those that have it."""
        return np.asarray(observed[:, v])

    def complete_features(self, views: Views) -> Views:
        """The views whose kernels this was fitted on, with the features of absent samples filled in.

        An absent sample is a combination of the observed ones; its features are the same combination of
        theirs.  That is exact for linear kernels, also of standardised features, and an estimate for others
        and for normalised ones.  Features that were observed stay as they are; categories get the level of
        largest weight.

        Parameters
        ----------
        views : Views
            The same samples in the same order, with the same cells absent.
        """
        check_is_fitted(self, "names_in_")
        if "_frames" not in vars(self):  # a solver that brings kernels themselves
            return super().complete_features(views)
        check_same_samples(views, self.names_in_, self.ids_, self._observed)
        return views.completed({name: self._features_of(views, name) for name in views.names})

    def onto_observed(self, name: str, coefficients: Array) -> Array | None:
        """Combinations of all training samples as combinations of those that have the view.

        Parameters
        ----------
        name : str
            The view.
        coefficients : ndarray of shape (combinations, n_samples)
            Of the training samples.

        Returns
        -------
        ndarray of shape (combinations, n_samples), or None
            Zero for samples that lack the view.  None where these are no combinations of the others.
        """
        check_is_fitted(self, "names_in_")
        if "_frames" not in vars(self) or not self._along_frames:
            return None
        v = self.names_in_.index(name)
        present, stays = self._observed[:, v], self._stays(self._observed, v)
        along = coefficients[:, ~stays] @ self._places[v].W
        C = self._frames[v].C
        found = coefficients * stays
        found[:, present] += along if C is None else along @ C.T
        return found

    def _features_of(self, views: Views, name: str) -> Array:
        """Features of the samples that lack a view."""
        v, block = self.names_in_.index(name), views.block(name)
        frame, place, present = self._frames[v], self._places[v], self._observed[:, v]
        moved = ~self._stays(self._observed, v)
        if present.all():
            return np.zeros((0, block.shape[1]))
        if not present.any() or not frame.G.shape[1]:
            why = "nobody has it" if not present.any() else "its absent samples are zero, like no sample"
            raise ValueError(
                f"view {name!r}: {why}; leave it out with views.select([...]), or use MeanFill()"
            )
        levels = views.levels(name)
        columns = views.features(name)
        named = [] if columns is None else columns.tolist()
        sizes = {named.index(column): len(some) for column, some in levels.items()}
        return features_at(block, sizes, frame.C, frame.G, place.W[~present[moved]])

    def _fill(self, X: KernelViews) -> Mapping[str, Array | Operator]:
        return self._assembled(X, self._frames, self._places)

    def _assembled(
        self, X: KernelViews, frames: Sequence[Frame], places: Sequence[Place]
    ) -> dict[str, Operator]:
        """Square kernels completed."""
        kernels: dict[str, Operator] = {}
        for v, (name, frame, place) in enumerate(zip(X.names, frames, places, strict=True)):
            side, stay = self._side(X.observed, v, frame.G, place)
            kernels[name] = Completed.square(
                _picked(X.operator(name), stay, stay),
                *(side.known, side.filled, side.G, side.W),
                *(frame.E, place.s),
            )
        return kernels

    def _fill_rows(self, X: KernelViews) -> tuple[Mapping[str, Array | Operator], Mapping[str, Array]]:
        blocks: dict[str, Array | Operator] = {}
        diagonals: dict[str, Array] = {}
        nothing = scipy.sparse.csr_array(X.shape)
        for v, (name, place) in enumerate(zip(X.names, self._place(X), strict=True)):
            K, frame = X.operator(name), self._frames[v]
            columns, old = self._side(self._observed, v, frame.G, self._places[v])
            rows, new = self._side(X.observed, v, frame.along(K) if place.G is None else place.G, place)
            blocks[name] = Completed(_picked(K, new, old), rows, columns, frame.E, nothing)
            diagonals[name] = np.empty(len(X))
            diagonals[name][rows.known] = X.diagonal(name)[new]
            diagonals[name][rows.filled] = frame.own(place.W) + place.s
        return blocks, diagonals

    def _side(self, observed: Array, v: int, G: Array, place: Place) -> tuple[Side, Array]:
        """Samples as a side of a completed kernel; which of those that have the view keep their values."""
        known = self._stays(observed, v)
        stay = np.flatnonzero(known[observed[:, v]])
        return Side(np.flatnonzero(known), np.flatnonzero(~known), G[stay], place.W), stay


def _picked(K: Operator, rows: Array, columns: Array) -> Operator:
    """These rows and columns, nothing copied if that is all of them."""
    return K if K.shape == (len(rows), len(columns)) else K.select(rows, columns)
