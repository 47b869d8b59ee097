"""Common parts of the variants of multi-view kernel completion: coordinates, view weights, descent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
from scipy.optimize import nnls

from absentia.core import Array, Dense, measure_spread, serializable
from absentia.core.linalg import symmetrize
from absentia.core.optimize import (
    DescentState,
    GradientEvaluation,
    Point,
    add_scaled,
    dot,
    make_quasi_newton_step,
)
from absentia.methods.completion._base import Basis, Coordinates

# ------------------------------------------------------------------------- a kernel as coordinates
#
# The samples that have a view are vectors phi_i with ``K = Phi Phi'``.  A view's coordinates have their
# origin mu at the samples' mean (or at zero) and their axes along the principal directions e_j of
# ``phi_i - mu``.  With the kernel taken about the origin, ``K_c = H K H`` (H subtracts means), its
# eigenpairs (w_j, u_j) and its mean diagonal s,
#
#     c_i = <phi_i - mu, e_j>_j / sqrt(s),     C = U sqrt(w / s),     C C' = K_c / s,
#
# so that coordinates have unit mean square and do not depend on the kernel's scale.  A sample whose view is
# missing gets coordinates y, which may have more axes than C, perpendicular to everything observed.  Its
# kernel values are those of the vector ``mu + sqrt(s) y``, with ``p_j = sqrt(s) <mu, e_j>``:
#
#     k(y, i) = <mu, phi_i> + p.y + s c_i.y,        k(y, z) = <mu, mu> + p.y + p.z + s y.z.


#: Principal directions with less than this share of the largest variance are rounding; those with up to ten
#: times as much fade, so that none comes or goes at once.
_RANK_TOL = 1e-10


@serializable
@dataclass(frozen=True)
class KernelCoordinates:
    """Origin and axes of a view; ``C`` are the coordinates of the samples that have it."""

    C: Array
    variances: Array  # w_j
    means: Array  # <mu, phi_i>
    grand: float  # <mu, mu>
    scale: float  # s
    center: bool

    @cached_property
    def axes(self) -> Array:
        """Kernel values about the origin, times this, are coordinates."""
        return self.C / self.variances

    @cached_property
    def p(self) -> Array:
        """``sqrt(s) <mu, e_j>``."""
        return (self.means @ self.axes) * self.scale

    @classmethod
    def of(cls, K: Array, center: bool) -> Self:
        no_spread = center and not measure_spread(Dense(K))
        K = symmetrize(np.asarray(K, dtype=np.float64))
        means = K.mean(axis=1) if center else np.zeros(len(K))
        grand = float(means.mean()) if center else 0.0
        centered = K - means - means[:, None] + grand
        w, U = np.linalg.eigh(centered)
        lowest = max(_RANK_TOL * w[-1], 1e-14 * len(K) * K.diagonal().max())
        real = (w > lowest) & (not no_spread)
        w, U = w[real], U[:, real] * np.clip((w[real] / lowest - 1) / 9, 0.0, 1.0) ** 2
        scale = float(centered.diagonal().mean()) if len(w) else 0.0  # all samples alike: nothing to scale
        return cls(U * np.sqrt(w / scale), w, means, grand, scale, center)

    def reorder(self, order: Array) -> Self:
        """The same with the observed samples in another order."""
        return replace(self, C=self.C[order], means=self.means[order])

    @property
    def rank(self) -> int:
        return self.C.shape[1]

    def mean_coordinates(self, n: int, width: int) -> Array:
        """Coordinates of the mean of the observed samples, `n` times, along `width` axes."""
        rows = np.zeros((n, width))
        rows[:, : self.rank] = self.C.mean(axis=0)
        return rows

    def to_basis(self, width: int) -> Basis:
        """The origin and `width` axes, as combinations of the samples as far as these reach."""
        m, r = self.C.shape
        C, G, E = np.zeros((m, 1 + width)), np.zeros((m, 1 + width)), self.scale * np.eye(1 + width)
        C[:, 0] = 1 / m if self.center else 0.0
        C[:, 1 : 1 + r] = self.scale * (self.axes - self.axes.mean(axis=0) * self.center)
        G[:, 0], G[:, 1 : 1 + r] = self.means, self.p + self.scale * self.C
        E[0, 0], E[0, 1 : 1 + r], E[1 : 1 + r, 0] = self.grand, self.p, self.p
        return Basis(C, G, E)

    def to_coordinates(self, y: Array, square: Array | None = None) -> Coordinates:
        """Samples of these coordinates; of squared length `square` if that is more than theirs."""
        remainder = np.zeros(len(y)) if square is None else square - np.einsum("ij,ij->i", y, y)
        return Coordinates(np.column_stack([np.ones(len(y)), y]), self.scale * np.maximum(remainder, 0.0))

    # ------------------------------------------------------------------- from kernels to coordinates

    def center_rows(self, k: Array) -> Array:
        """Kernel rows `k` of new samples with the observed ones, about the origin, unit scale."""
        return (k - self._mean_values(k)[:, None] - self.means + self.grand) / (self.scale or 1.0)

    def _mean_values(self, k: Array) -> Array:
        """``<mu, phi_t>`` of new samples from their rows `k`."""
        return k.mean(axis=1) if self.center else np.zeros(len(k))

    def locate(self, k: Array) -> Array:
        """Coordinates of new samples from their rows `k` of kernel values."""
        return (self.center_rows(k) * self.scale) @ self.axes

    def squared_norms(self, k: Array, diagonal: Array) -> Array:
        """Squared length, in coordinates, of new samples with rows `k` and ``k(t, t)`` in `diagonal`."""
        return (diagonal - 2 * self._mean_values(k) + self.grand) / (self.scale or 1.0)


#: How much uneven weights of views cost, in units of the views' mean square.
_EVENNESS = 1e-9


@dataclass(frozen=True)
class MKCProblem:
    """Data of the objective: coordinates of the observed samples of each view, and its weights."""

    C: Sequence[Array]  # by view, observed samples x axes
    observed: Array  # samples x views
    c1: float = 1.0
    c2: float = 1.0
    c3: float = 1e-3
    on_all_samples: bool = True  # views are compared on all samples, not only on the observed ones

    @property
    def size(self) -> int:
        return len(self.observed)

    @property
    def n_views(self) -> int:
        return len(self.C)

    @cached_property
    def present(self) -> list[Array]:
        """By view, positions of the samples that have it."""
        return [np.flatnonzero(present) for present in self.observed.T]

    @cached_property
    def missing(self) -> list[Array]:
        """By view, positions of the samples that lack it."""
        return [np.flatnonzero(~present) for present in self.observed.T]

    @cached_property
    def K(self) -> list[Array]:
        return [C @ C.T for C in self.C]

    @cached_property
    def within_weights(self) -> Array:
        """Weight of one squared kernel entry in the within-view loss of each view."""
        return np.array([self.c1 / (self.n_views * len(C) ** 2) for C in self.C])

    @cached_property
    def shared_samples(self) -> list[Array]:
        """The samples on which each view's kernel is compared with the others'."""
        return [np.arange(self.size)] * self.n_views if self.on_all_samples else self.present

    @cached_property
    def between_weights(self) -> Array:
        """Weight of one squared kernel entry in the between-view loss of each view."""
        return np.array([self.c2 / (self.n_views * len(samples) ** 2) for samples in self.shared_samples])

    def uniform_view_weights(self) -> Array:
        """Each view compared with the mean of the others, views x views."""
        V = self.n_views
        return (np.ones((V, V)) - np.eye(V)) / (V - 1)


@dataclass(frozen=True)
class MKCEvaluation(GradientEvaluation):
    """The objective at a point, with the view weights that are best there, and coordinates."""

    S: Array  # view weights, views x views
    F: list[Array]  # by view, coordinates of all samples


def make_lazy(make: Callable[[], Callable[[Point], Point]]) -> Callable[[Point], Point]:
    """The preconditioner of `make`, made when first called: it costs factorisations, and few are needed."""
    made = cache(make)
    return lambda direction: made()(direction)


# ------------------------------------------------------------------------------------- view weights


def disagreement_matrix(S: Array) -> Array:
    """``M`` with ``sum_v |a_v - sum_u S_vu a_u|^2 = a' M a``."""
    left = np.eye(len(S)) - S
    return left.T @ left


def _simplex_minimum(H: Array) -> Array:
    """The s with ``s >= 0`` and ``sum s = 1`` that makes ``s' H s`` least; H is positive semidefinite.

    Non-negative least squares in disguise.  Put ``x = tau s``: the least of ``x'Hx + (1 - sum x)^2`` over
    tau is ``h / (1 + h)`` with ``h = s'Hs``, which rises with h; so its minimiser over ``x >= 0``, divided
    by its sum, is the s that is wanted.
    """
    w, U = np.linalg.eigh(H)
    w = np.maximum(w, 0.0) / max(float(w[-1]), 1e-300)
    left = np.vstack([np.sqrt(w)[:, None] * U.T, np.ones(len(H))])
    x, _ = nnls(left, np.append(np.zeros(len(H)), 1.0))
    return x / x.sum()


def _fit_row(gram: Array, v: int) -> Array:
    """Weights of the other views that bring their mean nearest to view `v`; `gram` holds inner products."""
    others = np.delete(np.arange(len(gram)), v)
    # |X_v - sum s_u X_u|^2 = |sum s_u (X_u - X_v)|^2, as the weights add up to one
    H = gram[np.ix_(others, others)] - gram[others, v] - gram[others, v][:, None] + gram[v, v]
    # of weights that are as good, the most even: where views are alike rounding has no say
    H[np.diag_indices_from(H)] += _EVENNESS * float(np.trace(gram)) / len(gram)
    row = np.zeros(len(gram))
    row[others] = _simplex_minimum(H)
    return row


def fit_view_weights(X: Array, where: Sequence[Array] | None = None) -> Array:
    """View weights S that make ``sum_v |X_v - sum_u S_vu X_u|^2`` least, on rows and columns `where`."""
    V = len(X)
    if where is None:
        flat = X.reshape(V, -1)
        gram = flat @ flat.T
        return np.stack([_fit_row(gram, v) for v in range(V)])
    S = np.zeros((V, V))
    for v, samples in enumerate(where):
        flat = X[:, samples[:, None], samples].reshape(V, -1)
        S[v] = _fit_row(flat @ flat.T, v)
    return S


# ------------------------------------------------- descent, with the view weights always at their best
#
# With S the best weights at a point, the objective is a function of the point alone, and its gradient is
# the partial one (S is where the partial derivative in S vanishes on the simplex): quasi-Newton steps lower
# it. Every few of them a proximal step follows, which is what sets whole columns exactly to zero, or
# revives one.


_MEMORY = 8
#: A proximal step follows every so many steps.
_PROXIMAL_EVERY = 5


@dataclass(frozen=True)
class NewRows:
    """New samples: which views they have, and there their kernel rows and coordinates (zero elsewhere)."""

    observed: Array  # new samples x views
    centered: Sequence[Array]  # kernel values with the samples of each view, about its origin, unit scale
    C: Sequence[Array]  # coordinates
    squared_norms: Array  # new samples x views: squared lengths


@dataclass(frozen=True)
class MKCState:
    """Where the descent stands, how many steps it took, and the length of the last proximal one."""

    descent: DescentState[MKCEvaluation]
    eta: float = 1.0
    steps: int = 1

    @property
    def at(self) -> MKCEvaluation:
        return self.descent.at


def make_step(variant: Any) -> Callable[[MKCState], MKCState]:
    """One step of the descent of one of the three variants, and now and then a proximal one."""
    newton_step = make_quasi_newton_step(variant.evaluate, _MEMORY)

    def step(state: MKCState) -> MKCState:
        state = replace(state, descent=newton_step(state.descent), steps=state.steps + 1)
        return _shrink_columns(variant, state) if state.steps % _PROXIMAL_EVERY == 0 else state

    return step


def _shrink_columns(variant: Any, state: MKCState) -> MKCState:
    """A proximal step, halved until the objective falls enough; a changed set of columns clears memory."""
    at, eta = state.at, state.eta
    for _ in range(30):
        point = variant.proximal_step(at, eta)
        if point is None:
            return state
        trial = variant.evaluate(point)
        change = add_scaled(point, -1.0, at.point)
        if trial.value <= at.value - 0.25 / eta * dot(change, change):
            same = np.array_equal(variant.used_samples(trial.point), variant.used_samples(at.point))
            pairs = state.descent.pairs if same else []
            return replace(state, descent=replace(state.descent, at=trial, pairs=pairs), eta=2 * eta)
        eta /= 2
    return replace(state, eta=1.0)
