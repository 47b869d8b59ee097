"""What the variants of multi-view kernel completion share: the data, and the weights of the views."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Protocol, Self

import numpy as np
from scipy.optimize import nnls

from absentia.core import (
    Array,
    Descent,
    Point,
    Sloped,
    Stop,
    alike,
    by_pattern,
    cholesky,
    cholesky_solve,
    dot,
    iterate,
    plus,
    quasi_newton,
    serializable,
    symmetrize,
)
from absentia.methods.completion._subspace import Basis, Coordinates

# ----------------------------------------- A kernel as coordinates: what ``_estimator`` works with inside
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
RANK_TOL = 1e-10


@serializable
@dataclass(frozen=True)
class KernelCoordinates:
    """Origin and axes of a view; ``C`` are the coordinates of the samples that have it."""

    C: Array
    axes: Array  # kernel values about the origin, times this, are coordinates
    means: Array  # <mu, phi_i>
    grand: float  # <mu, mu>
    p: Array  # sqrt(s) <mu, e_j>
    scale: float  # s
    center: bool

    @classmethod
    def of(cls, K: Array, center: bool) -> Self:
        nothing, K = center and alike(K), symmetrize(np.asarray(K, dtype=np.float64))
        means = K.mean(axis=1) if center else np.zeros(len(K))
        grand = float(means.mean()) if center else 0.0
        about = K - means - means[:, None] + grand
        w, U = np.linalg.eigh(about)
        lowest = max(RANK_TOL * w[-1], 1e-14 * len(K) * K.diagonal().max())
        real = (w > lowest) & (not nothing)
        w, U = w[real], U[:, real] * np.clip((w[real] / lowest - 1) / 9, 0.0, 1.0) ** 2
        scale = float(about.diagonal().mean()) if len(w) else 0.0  # all samples alike: nothing to scale
        axes = U / np.sqrt(w * scale)
        return cls(U * np.sqrt(w / scale), axes, means, grand, (means @ axes) * scale, scale, center)

    def reorder(self, order: Array) -> Self:
        """The same with the observed samples in another order."""
        return replace(self, C=self.C[order], axes=self.axes[order], means=self.means[order])

    @property
    def rank(self) -> int:
        return self.C.shape[1]

    def middles(self, n: int, width: int) -> Array:
        """Coordinates of the mean of the observed samples, `n` times, with as many axes as wanted."""
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
        own = np.zeros(len(y)) if square is None else square - np.einsum("ij,ij->i", y, y)
        return Coordinates(np.column_stack([np.ones(len(y)), y]), self.scale * np.maximum(own, 0.0))

    # ------------------------------------------------------------------- from kernels to coordinates

    def about(self, k: Array) -> Array:
        """Rows of kernel values of new samples with the observed ones, about the origin, unit scale."""
        return np.asarray((k - self._mean_of(k)[:, None] - self.means + self.grand) / (self.scale or 1.0))

    def _mean_of(self, k: Array) -> Array:
        """``<mu, phi_t>`` of new samples from their rows `k`."""
        return k.mean(axis=1) if self.center else np.zeros(len(k))

    def locate(self, k: Array) -> Array:
        """Coordinates of new samples from their rows `k` of kernel values."""
        return np.asarray((self.about(k) * self.scale) @ self.axes)

    def square(self, k: Array, own: Array) -> Array:
        """Squared length, in coordinates, of new samples with rows `k` and own values `own`."""
        return np.asarray((own - 2 * self._mean_of(k) + self.grand) / (self.scale or 1.0))


#: How much uneven weights of views cost, in units of the views' mean square.
EVEN = 1e-9


@serializable
@dataclass(frozen=True)
class MKCProblem:
    """Coordinates of the observed samples of each view, who they are, and the objective's weights."""

    C: Sequence[Array]
    observed: Array  # samples x views
    c1: float = 1.0
    c2: float = 1.0
    c3: float = 1e-3
    everywhere: bool = True  # views are compared on all samples, not on those they see only

    @property
    def size(self) -> int:
        return len(self.observed)

    @property
    def n_views(self) -> int:
        return len(self.C)

    @cached_property
    def seen(self) -> list[Array]:
        return [np.flatnonzero(present) for present in self.observed.T]

    @cached_property
    def hidden(self) -> list[Array]:
        return [np.flatnonzero(~present) for present in self.observed.T]

    @cached_property
    def K(self) -> list[Array]:
        return [C @ C.T for C in self.C]

    @cached_property
    def shares(self) -> Array:
        """Weight of one squared kernel entry in the within-view loss of each view."""
        return np.array([self.c1 / (self.n_views * len(C) ** 2) for C in self.C])

    @cached_property
    def shared_samples(self) -> list[Array]:
        """The samples on which each view's kernel is compared with the others'."""
        return [np.arange(self.size)] * self.n_views if self.everywhere else self.seen

    @cached_property
    def between_shares(self) -> Array:
        """Weight of one squared kernel entry in the between-view loss of each view."""
        return np.array([self.c2 / (self.n_views * len(samples) ** 2) for samples in self.shared_samples])

    def uniform(self) -> Array:
        V = self.n_views
        return (np.ones((V, V)) - np.eye(V)) / (V - 1)


@dataclass(frozen=True)
class Local(Sloped):
    """The objective at a point, with the view weights that are best there, and coordinates."""

    S: Array
    F: list[Array]


def lazily(make: Callable[[], Callable[[Point], Point]]) -> Callable[[Point], Point]:
    """What `make` makes, once it is called: preconditioners cost factorisations, and few are needed."""
    made = cache(make)
    return lambda direction: made()(direction)


# ------------------------------------------------------------------------------------- view weights


def agreement(S: Array) -> Array:
    """``M`` with ``sum_v |a_v - sum_u S_vu a_u|^2 = a' M a``."""
    left = np.eye(len(S)) - S
    return np.asarray(left.T @ left)


def simplex_minimum(H: Array) -> Array:
    """The s with ``s >= 0`` and ``sum s = 1`` that makes ``s' H s`` least; H is positive semidefinite.

    Non-negative least squares in disguise.  Put ``x = tau s``: the least of ``x'Hx + (1 - sum x)^2`` over
    tau is ``h / (1 + h)`` with ``h = s'Hs``, which rises with h; so its minimiser over ``x >= 0``, divided
    by its sum, is the s that is wanted.
    """
    w, U = np.linalg.eigh(H)
    w = np.maximum(w, 0.0) / max(float(w[-1]), 1e-300)
    left = np.vstack([np.sqrt(w)[:, None] * U.T, np.ones(len(H))])
    x, _ = nnls(left, np.append(np.zeros(len(H)), 1.0))
    return np.asarray(x / x.sum())


def best_row(gram: Array, v: int) -> Array:
    """Weights of the other views that bring their mean nearest to view `v`; `gram` holds inner products."""
    others = np.delete(np.arange(len(gram)), v)
    # |X_v - sum s_u X_u|^2 = |sum s_u (X_u - X_v)|^2, as the weights add up to one
    H = gram[np.ix_(others, others)] - gram[others, v] - gram[others, v][:, None] + gram[v, v]
    # of weights that are as good, the most even: where views are alike rounding has no say
    H[np.diag_indices_from(H)] += EVEN * float(np.trace(gram)) / len(gram)
    row = np.zeros(len(gram))
    row[others] = simplex_minimum(H)
    return row


def best_weights(X: Array, where: Sequence[Array] | None = None) -> Array:
    """View weights S that make ``sum_v |X_v - sum_u S_vu X_u|^2`` least, on rows and columns `where`."""
    V = len(X)
    if where is None:
        flat = X.reshape(V, -1)
        gram = flat @ flat.T
        return np.stack([best_row(gram, v) for v in range(V)])
    S = np.zeros((V, V))
    for v, samples in enumerate(where):
        flat = X[:, samples[:, None], samples].reshape(V, -1)
        S[v] = best_row(flat @ flat.T, v)
    return S


# ----------------------------------- Descent that never rises, with the view weights always at their best
#
# With S the best weights at a point, the objective is a function of the point alone, and its gradient is
# the partial one (S is where the partial derivative in S vanishes on the simplex): quasi-Newton steps lower
# it. Every few of them a proximal step follows, which is what sets whole columns exactly to zero, or
# revives one.


MEMORY = 8
#: A proximal step follows every so many steps.
SHRINK_EVERY = 5


class Variant(Protocol):
    """One of the three objectives: where to start, what it is at a point, how to shrink, new samples."""

    problem: MKCProblem

    def start(self) -> Point: ...
    def evaluate(self, point: Point) -> Local: ...
    def shrunk(self, at: Local, eta: float) -> Point | None: ...
    def coordinates(self, point: Point) -> list[Array]: ...
    def basis(self, point: Point) -> Array: ...
    def fold(self, point: Point, S: Array, rows: "Rows") -> tuple[list[Array], Array]: ...


@dataclass(frozen=True)
class Turn:
    """Where the descent stands, how many steps it took, and the length of the last proximal one."""

    descent: Descent[Local]
    eta: float = 1.0
    steps: int = 1

    @property
    def at(self) -> Local:
        return self.descent.at


def alternate(variant: Variant) -> Callable[[Turn], Turn]:
    """One step of the descent, and now and then a proximal one."""
    step = quasi_newton(variant.evaluate, MEMORY)

    def turn(state: Turn) -> Turn:
        state = replace(state, descent=step(state.descent), steps=state.steps + 1)
        return _shrink(variant, state) if state.steps % SHRINK_EVERY == 0 else state

    return turn


def _shrink(variant: Variant, state: Turn) -> Turn:
    """A proximal step, halved until the objective falls enough; a changed set of columns clears memory."""
    at, eta = state.at, state.eta
    for _ in range(30):
        point = variant.shrunk(at, eta)
        if point is None:
            return state
        trial = variant.evaluate(point)
        moved = plus(point, -1.0, at.point)
        if trial.value <= at.value - 0.25 / eta * dot(moved, moved):
            same = np.array_equal(variant.basis(trial.point), variant.basis(at.point))
            pairs = state.descent.pairs if same else ()
            return replace(state, descent=replace(state.descent, at=trial, pairs=pairs), eta=2 * eta)
        eta /= 2
    return replace(state, eta=1.0)


# -------------------- New samples in a fitted multi-view kernel completion, everything learned held fixed
#
# The objective is that of the fit with one more row, of which only what depends on the new row counts.  The
# new sample's kernel value with itself, one entry among hundreds, is left out of ht and app and held fixed
# in sdp; so every problem here is convex, and each new sample is on its own.


#: Rounds of :func:`free_rows`; a fixed number, so that a sample does not depend on its companions.
ROUNDS = 30


@dataclass(frozen=True)
class Rows:
    """New samples: which views they have, and there their kernel rows and coordinates (zero elsewhere)."""

    observed: Array  # new samples x views
    about: Sequence[Array]  # kernel values with the samples of each view, about its origin, unit scale
    C: Sequence[Array]  # coordinates
    square: Array  # new samples x views: squared lengths

    def __len__(self) -> int:
        return len(self.observed)


# ----------------------------------------------------------------------------------------- ht and app


def coefficient_curvature(problem: MKCProblem, M: Array) -> Array:
    """Second derivatives of ht's between-view loss in a sample's coefficients, all views in a row."""
    ends = np.cumsum([0, *(len(seen) for seen in problem.seen)])
    H = np.zeros((ends[-1], ends[-1]))
    for v, one in enumerate(problem.seen):
        for u, other in enumerate(problem.seen):
            _, i, j = np.intersect1d(one, other, return_indices=True)
            H[ends[v] + i, ends[u] + j] = 2 * problem.c2 / (problem.n_views * problem.size) * M[v, u]
    return H


def kernel_curvature(problem: MKCProblem, M: Array, T: Sequence[Array]) -> Array:
    """The same for app: a sample's kernel row is ``b T'``, and every entry counts on both sides."""
    share = 4 * problem.c2 / (problem.n_views * problem.size**2)
    return np.block(
        [[share * M[v, u] * one.T @ other for u, other in enumerate(T)] for v, one in enumerate(T)]
    )


def combine_rows(
    problem: MKCProblem, T: Sequence[Array], between: Array, W: Array, rows: Rows
) -> list[Array]:
    """Coefficients of new samples, by view, where the quadratic objective in them is least.

    With a_t the kernel row about the origin and ``T = F_seen C'``, so that coefficients b give the row
    ``b T'``, the within-view loss of a new row is ``2 c1 / (V n^2) |a_t - b T'|^2`` in each view the sample
    has (a row counts as a column too).  `between` is the curvature of the between-view loss and `W` that of
    the bound of the penalty.  One linear system for all samples that have the same views.
    """
    ends = np.cumsum([0, *(len(seen) for seen in problem.seen)])
    H = between.copy()
    H[np.diag_indices_from(H)] += np.concatenate([w[seen] for w, seen in zip(W, problem.seen, strict=True)])
    H[np.diag_indices_from(H)] += 1e-9 * between.diagonal().mean()  # for c3 = 0
    within = [4 * share * t.T @ t for share, t in zip(problem.shares, T, strict=True)]
    right = np.hstack(
        [4 * share * a @ t for share, a, t in zip(problem.shares, rows.about, T, strict=True)]
    )
    b = np.zeros_like(right)
    for pattern, mine in by_pattern(rows.observed):
        total = H.copy()
        for v in np.flatnonzero(pattern):
            total[ends[v] : ends[v + 1], ends[v] : ends[v + 1]] += within[v]
        b[mine] = cholesky_solve(cholesky(total, "curvature of new rows"), right[mine].T).T
    return np.split(b, ends[1:-1], axis=1)


# ----------------------------------------------------------------------------------------------- sdp


def free_rows(M: Array, F: Sequence[Array], rows: "Rows") -> tuple[list[Array], Array]:
    """Coordinates and squared lengths of new samples in all views, when kernels are free.

    A new sample's own values agree with one another first.  Then, view by view and round after round, its
    kernel row ``F_v f`` in each view it lacks is brought where the between-view loss is least, f being no
    longer than the own value allows: every round lowers a convex function, and what comes out is positive
    semidefinite.
    """
    square = agreed_squares(M, rows)
    f = [np.pad(C, ((0, 0), (0, one.shape[1] - C.shape[1]))) for C, one in zip(rows.C, F, strict=True)]
    spectra = [np.linalg.eigh(one.T @ one) for one in F]

    def sweep(f: list[Array]) -> list[Array]:
        f = list(f)
        for v, present in enumerate(rows.observed.T):
            lacking = np.flatnonzero(~present)
            others = [u for u in range(len(F)) if u != v and M[v, u] != 0]
            target = -sum((M[v, u] / M[v, v]) * (f[u][lacking] @ F[u].T) for u in others)
            if len(lacking):
                new = f[v].copy()
                new[lacking] = within_ball(spectra[v], target @ F[v], square[lacking, v])
                f[v] = new
        return f

    def loss(f: list[Array]) -> float:
        k = np.stack([row @ one.T for row, one in zip(f, F, strict=True)])
        return float(np.vdot(k, np.tensordot(M, k, 1)))

    return iterate(sweep, loss, f, stop=Stop(0), max_iter=ROUNDS).state, square


def agreed_squares(M: Array, rows: Rows) -> Array:
    """Squared lengths in all views: known ones as they are, the others where they agree best.

    Departures from the mean, one, are what is to agree; where nothing ties them down they are nought.
    """
    square = np.where(rows.observed, rows.square, 1.0)
    for t, present in enumerate(rows.observed):
        lacking = np.flatnonzero(~present)
        H = M[np.ix_(lacking, lacking)] + 1e-6 * np.eye(len(lacking))
        square[t, lacking] -= np.linalg.solve(H, M[np.ix_(lacking, present)] @ (square[t, present] - 1.0))
    return np.maximum(square, 0.0)


def within_ball(spectrum: tuple[Array, Array], g: Array, most: Array) -> Array:
    """Rows f that make ``f F'F f' - 2 f g'`` least with ``|f|^2 <= most``; `spectrum` is that of F'F.

    ``f = g (F'F + rho)^-1`` with the least rho >= 0 that makes it short enough, found by bisection.
    """
    values, Q = np.maximum(spectrum[0], 0.0), spectrum[1]
    g = g @ Q
    low = np.full(len(g), 1e-12 * max(float(values[-1]), 1e-300))
    length = np.linalg.norm(g, axis=1)
    high = np.maximum(length / np.sqrt(np.maximum(most, 1e-300)), low)  # long enough: |f| <= |g| / rho
    for _ in range(60):
        rho = np.sqrt(low * high)
        short = np.sum((g / (values + rho[:, None])) ** 2, axis=1) <= most
        low, high = np.where(short, low, rho), np.where(short, rho, high)
    return np.asarray((g / (values + high[:, None])) @ Q.T)
