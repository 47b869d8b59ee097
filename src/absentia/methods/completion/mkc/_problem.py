"""What the variants of multi-view kernel completion share: the data, and the weights of the views."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.optimize import nnls

from absentia.core import Array, Point, Sloped, kept

#: How much uneven weights of views cost, in units of the views' mean square.
EVEN = 1e-9


@kept
@dataclass(frozen=True)
class Problem:
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
    def compared(self) -> list[Array]:
        """The samples on which each view's kernel is compared with the others'."""
        return [np.arange(self.size)] * self.n_views if self.everywhere else self.seen

    @cached_property
    def between_shares(self) -> Array:
        """Weight of one squared kernel entry in the between-view loss of each view."""
        return np.array([self.c2 / (self.n_views * len(samples) ** 2) for samples in self.compared])

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
