"""Cross-view kernel transfer as published: steepest descent on the sphere, to compare with.

For one view, with Psi the other views' Nystroem features ``k(t, P) k(P, P)^(-1/2)``, P their landmarks
(zero where absent; neither centred nor scaled), and K the view's kernel, both over the samples that have
the view and another one, subscript c for centred,

    maximise  A(U) = <K_c, Psi_c U U' Psi_c'> / |K_c| |Psi_c U U' Psi_c'|   over |U| = 1     (Eq. 4)

from a random start, normal unless told otherwise (the paper does not say; the authors' code,
github.com/RiikkaHuu/CVKT, draws it uniformly from [0, 1)), and take ``Psi U U' Psi'`` over all samples
(Eq. 6), mapped linearly onto the range of the observed kernel's values and shifted to its mean.  The
alignment does not depend on the scale of U, so the sphere regularises nothing; the limited number of
steps does.

The share of landmarks and the rank are chosen among :data:`_SHARES` by completion error, as in the paper,
on a fifth of the view's samples hidden for the purpose, since the truth is not known.  (The paper says
that it cross-validates them by this error; on what, it does not say.)

With this line search steepest descent oversteps, and a rounding error about doubles in every step: where
another processor, or another number of threads, rounds differently, the kernels after 200 steps differ in
their first digits, though not in how good they are.  The order of samples and views is no such difference:
everything is computed in one order that the data decide (``data.ordering``).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from absentia.core import Array, argmin_key, serializable
from absentia.core.linalg import center_kernel
from absentia.core.optimize import Solution, StoppingRule, iterate
from absentia.data import CanonicalOrder, KernelViews
from absentia.methods.completion.cvkt._features import (
    FeatureMap,
    as_count,
    draw_landmarks,
    feature_map,
    has_other_view,
    keeps_values,
    stack_other_views,
    view_features,
)

#: What the share of landmarks and the rank, as a share of the number of features, are selected from.
_SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
#: Share of a view's samples that are hidden to select by.
_HIDDEN_SHARE = 0.2


# ------------------------------------------------------------------------------------------ descent


class _Iterate(NamedTuple):
    """A transformation, its alignment, what the gradient is made from, and what the last step gained."""

    U: Array
    value: float
    Y: Array  # Psi U
    KY: Array
    YY: Array  # Y'Y, whose norm is that of the transferred kernel
    gain: float = 0.0


@dataclass(frozen=True)
class _AlignmentProblem:
    """Centred features, and the centred kernel at unit norm, of the samples that are learned from."""

    Psi: Array
    K: Array

    @classmethod
    def of(cls, Psi: Array, K: Array) -> Self:
        K = center_kernel(K)
        return cls(Psi - Psi.mean(axis=0), K / (float(np.linalg.norm(K)) or 1.0))

    def evaluate(self, U: Array) -> _Iterate:
        """The alignment of Eq. 4."""
        Y = self.Psi @ U
        KY, YY = self.K @ Y, Y.T @ Y
        norm = float(np.linalg.norm(YY))
        return _Iterate(U, float(np.vdot(Y, KY)) / norm if norm > 0 else 0.0, Y, KY, YY)

    def gradient(self, at: _Iterate) -> Array:
        """Of the alignment: tangent to the sphere as it is, since nothing changes along U itself."""
        norm = float(np.linalg.norm(at.YY))
        if not norm > 0:
            return np.zeros_like(at.U)
        return self.Psi.T @ (2 / norm * (at.KY - at.value / norm * (at.Y @ at.YY)))

    def maximize(
        self, rank: int, rng: np.random.Generator, n_iter: int = 200, init: str = "normal"
    ) -> Solution[_Iterate]:
        """`n_iter` steps of steepest ascent from a random start; the trace holds the alignment."""
        draw = rng.random if init == "uniform" else rng.standard_normal
        U = draw((self.Psi.shape[1], rank))
        start = self.evaluate(U / np.linalg.norm(U))
        return iterate(self._step, lambda at: at.value, start, stop=StoppingRule(0.0), max_iter=n_iter)

    def _step(self, at: _Iterate) -> _Iterate:
        """One step along the gradient with backtracking."""
        direction = self.gradient(at)
        slope = float(np.vdot(direction, direction))
        if not slope > 0:
            return at
        # at first, unit length; then twice as far as would gain what the last step gained
        step = 4 * at.gain / slope if at.gain > 0 else 1 / math.sqrt(slope)
        for _ in range(25):
            U = at.U + step * direction
            candidate = self.evaluate(U / np.linalg.norm(U))
            gain = candidate.value - at.value
            if gain >= 1e-4 * step * slope:
                return candidate._replace(gain=gain)
            step /= 2
        return at


# ------------------------------------------------------------------------------------------ one view


@serializable
class _Rescaling(NamedTuple):
    """Values ``v`` become ``factor * v + shift``."""

    factor: float
    shift: float

    @classmethod
    def fit(cls, K: Array, transferred: Array) -> Self:
        """Minimum and maximum of `transferred` onto those of `K`, then shifted to the mean of `K`."""
        if not K.size or not transferred.size:
            return cls(0.0, 0.0)
        spread = float(np.ptp(transferred))
        factor = float(np.ptp(K)) / spread if spread > 0 else 0.0
        return cls(factor, float(K.mean() - factor * transferred.mean()))

    def apply(self, values: Array) -> Array:
        return self.factor * values + self.shift


@serializable
class ViewTransfer(NamedTuple):
    """One view: landmarks of all views' feature maps, the transformation, and how values are rescaled."""

    landmarks: Sequence[Array | None]
    U: Array
    rescaling: _Rescaling
    mean: float  # of the observed kernel, for samples nothing can be transferred to
    trace: Array


class DescentOptions(NamedTuple):
    """Share of landmarks and rank, None to be selected; number of steps; what the start is drawn from."""

    n_landmarks: float | None
    rank: float | None
    n_iter: int
    init: str = "normal"


def _heldout_error(
    Psi: Array, K: Array, rank: float, hidden: Array, options: DescentOptions, rng: np.random.Generator
) -> float:
    """Completion error (Eq. 7) of a kernel, learned without its rows and columns `hidden`."""
    visible = np.setdiff1d(np.arange(len(K)), hidden)
    problem = _AlignmentProblem.of(Psi[visible], K[np.ix_(visible, visible)])
    columns = as_count(rank, Psi.shape[1])
    Z = Psi @ problem.maximize(columns, rng, options.n_iter, options.init).state.U
    completed = _Rescaling.fit(K[np.ix_(visible, visible)], Z @ Z.T).apply(Z @ Z.T)
    norms = float(np.linalg.norm(K)) * float(np.linalg.norm(completed))
    return 1 - float(np.vdot(K, completed)) / norms if norms > 0 else 1.0


def _select_design(
    features: Mapping[float, Array], K: Array, options: DescentOptions, rng: np.random.Generator
) -> tuple[float, float]:
    """The share of landmarks (the keys of `features`) and the rank that complete hidden rows best."""
    ranks = _SHARES if options.rank is None else (options.rank,)
    choices = [(share, rank) for share in features for rank in ranks]
    if len(choices) == 1 or len(K) < 3:
        return choices[0]
    hidden = rng.permutation(len(K))[: as_count(_HIDDEN_SHARE, len(K))]
    errors = {
        (share, rank): _heldout_error(features[share], K, rank, hidden, options, rng)
        for share, rank in choices
    }
    share, rank = argmin_key(errors)
    return share, rank


def _make_maps(X: KernelViews, landmarks: Sequence[Array | None]) -> list[FeatureMap]:
    kernels = map(X.operator, X.names)
    return [feature_map(K, P, symmetric=True) for K, P in zip(kernels, landmarks, strict=True)]


def _other_features(X: KernelViews, maps: Sequence[FeatureMap], v: int) -> Array:
    """Psi of all row samples."""
    return stack_other_views(view_features(X, maps), v, np.ones(len(X), dtype=bool))


def _fit_view(
    X: KernelViews, v: int, numbers: Array, options: DescentOptions, rng: np.random.Generator
) -> ViewTransfer:
    """Select the share of landmarks and the rank if they are not given, then run the descent."""
    present, other = X.observed[:, v], has_other_view(X.observed, v)
    K = np.asarray(X.block(X.names[v]), dtype=np.float64)
    mean, train = float(K.mean()) if K.size else 0.0, present & other
    shares = _SHARES if options.n_landmarks is None else (options.n_landmarks,)
    landmarks = {share: draw_landmarks(numbers, X.observed, share) for share in shares}
    features = {share: _other_features(X, _make_maps(X, P), v) for share, P in landmarks.items()}
    train_features = {share: Psi[train] for share, Psi in features.items()}
    K_train = K[np.ix_(other[present], other[present])]
    share, rank = _select_design(train_features, K_train, options, rng)
    Psi = features[share]
    if not train.any():
        U, trace = np.zeros((Psi.shape[1], 1)), np.zeros(0)
    else:
        problem = _AlignmentProblem.of(train_features[share], K_train)
        solution = problem.maximize(as_count(rank, Psi.shape[1]), rng, options.n_iter, options.init)
        U, trace = solution.state.U, solution.trace
    Z = (Psi @ U)[other]
    return ViewTransfer(landmarks[share], U, _Rescaling.fit(K, Z @ Z.T), mean, trace)


# ------------------------------------------------------------------------------------------ all views


def fit_descent(
    X: KernelViews, order: CanonicalOrder, options: DescentOptions, rng: np.random.Generator
) -> list[ViewTransfer]:
    """What is learned of each view, in the order that draws are made in."""
    X = _reorder(X, order, order.samples)
    numbers = rng.random(len(X))
    return [_fit_view(X, v, numbers, options, rng) for v in range(X.n_views)]


class DescentTransfer:
    """Kernels by what was learned in `order`, and by the training kernels, samples and views in it too."""

    def __init__(
        self, views: Sequence[ViewTransfer], keep: bool, order: CanonicalOrder, train: KernelViews
    ) -> None:
        self.views, self.keep, self.order = views, keep, order
        train = _reorder(train, order, order.samples)
        self.observed, self.maps = train.observed, [_make_maps(train, view.landmarks) for view in views]
        self.Z = [self._transfer(train, v) for v in range(len(views))]

    def fill(self, X: KernelViews) -> Mapping[str, Array]:
        """The training kernels `X`, completed."""
        back, X = self.order.numbers, _reorder(X, self.order, self.order.samples)
        return {name: self._kernel(X, v, self.Z[v])[np.ix_(back, back)] for v, name in enumerate(X.names)}

    def fill_rows(self, X: KernelViews) -> tuple[dict[str, Array], dict[str, Array]]:
        """Rows of new samples against the training samples, and their own kernel values."""
        blocks, diagonals = {}, {}
        X = _reorder(X, self.order, np.arange(len(X)))
        for v, (name, view) in enumerate(zip(X.names, self.views, strict=True)):
            Z, present = self._transfer(X, v), X.observed[:, v]
            blocks[name] = self._kernel(X, v, Z)[:, self.order.numbers]
            diagonal = view.rescaling.apply(np.einsum("ij,ij->i", Z, Z))
            diagonals[name] = np.where(has_other_view(X.observed, v), diagonal, view.mean)
            keeps = keeps_values(X.observed, v, self.keep)
            diagonals[name][keeps] = X.diagonal(name)[keeps[present]]
        return blocks, diagonals

    def _transfer(self, X: KernelViews, v: int) -> Array:
        """``Psi U`` of all row samples."""
        return _other_features(X, self.maps[v], v) @ self.views[v].U

    def _kernel(self, X: KernelViews, v: int, Z: Array) -> Array:
        """Rows of X, with features `Z`, against the training samples; the mean where nothing is known."""
        view, other = self.views[v], has_other_view(X.observed, v)
        known = other[:, None] & has_other_view(self.observed, v)
        K = np.where(known, view.rescaling.apply(Z @ self.Z[v].T), view.mean)
        rows, columns = X.observed[:, v], X.column_observed[:, v]
        keeps = np.logical_or.outer(
            keeps_values(X.observed, v, self.keep)[rows], keeps_values(self.observed, v, self.keep)[columns]
        )
        block = np.ix_(rows, columns)
        K[block] = np.where(keeps, X.block(X.names[v]), K[block])
        return K


def _reorder(X: KernelViews, order: CanonicalOrder, rows: Array) -> KernelViews:
    """`X` with its views and column samples in that order, and these rows."""
    return X[np.ix_(rows, order.samples)].select([X.names[v] for v in order.views])
