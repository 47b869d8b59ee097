"""Multi-incomplete-view clustering: one non-negative representation of samples that lack views.

Reference
---------
W. Shao, L. He, P. S. Yu. Multiple incomplete views clustering via weighted nonnegative matrix factorization
with L2,1 regularization. ECML PKDD 2015, 318-334.

Model
-----
Each view is a product of non-negative factors, ``X_v ~ U_v V_v'``, and the U_v of all views are near one
common U*.  Rows of samples that lack a view are the view's mean, and count less: their weight is the share
of samples that have the view.

Objective
---------
With w_v the samples' weights in view v (one where observed), and W_v = diag(w_v),

    sum_v |W_v (X_v - U_v V_v')|^2 + alpha_v |W_v (U_v - U*)|^2 + beta_v sum_i |U_v(i, :)|

over non-negative U_v, V_v, U*, where columns of V_v add up to one: without that the second and third term
would be made small by making V large.

Algorithm
---------
Each step lowers the objective, because it minimises a bound of it that touches it where it stands:

* U_v: for non-negative u and u0, ``u A u' - 2 u b'`` with a non-negative matrix A is at most
  ``sum_j (u0 A)_j u_j^2 / u0_j - 2 b_j u_j`` (Lee and Seung), and ``|u| <= |u|^2 / (2 |u0|) + |u0| / 2``.
  Together they give ``U <- U (W^2 X V + alpha W^2 U*) / (W^2 U V'V + alpha W^2 U + beta/2 D U)``,
  ``D = diag(1 / |U(i, :)|)``.
* V_v: the same bound, kept on the constraint: ``V(k, j) = V0(k, j) max(N(k, j) + lam_j, 0) / M(k, j)`` with
  ``N = X' W^2 U``, ``M = V0 U' W^2 U`` and lam_j such that the column adds up to one.
* U*: the mean of the U_v with weights ``alpha_v w_v^2``, exactly.

Departures from the paper
-------------------------
* The paper updates V freely, divides its columns by their sums and multiplies U by them.  The product
  stays, but the other two terms change with U, and the objective can rise.  Here V never leaves the
  constraint.
* The paper's updates are the square roots of these factors: shorter steps on a looser bound.

The paper on cross-view kernel transfer compares with it; here it does what its figures need, no more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from absentia import Views
from absentia.methods.base import (
    Array,
    RandomState,
    Solution,
    Status,
    StoppingRule,
    iterate,
    make_generator,
    warn,
)

_TINY = 1e-300


@dataclass(frozen=True)
class _ViewTerm:
    """A view's term of the objective: features of all samples, their squared weights, alpha and beta."""

    X: Array
    w2: Array
    alpha: float
    beta: float


@dataclass(frozen=True)
class _State:
    """Factors of each view and the common representation."""

    U: tuple[Array, ...]
    V: tuple[Array, ...]
    star: Array


# --------------------------------------------------------------------------------------------- steps


def _objective(terms: Sequence[_ViewTerm], state: _State) -> float:
    total = 0.0
    for term, U, V in zip(terms, state.U, state.V, strict=True):
        miss = np.sum((term.X - U @ V.T) ** 2, axis=1) + term.alpha * np.sum((U - state.star) ** 2, axis=1)
        total += float(term.w2 @ miss) + term.beta * float(np.linalg.norm(U, axis=1).sum())
    return total


def _update_u(term: _ViewTerm, U: Array, V: Array, star: Array) -> Array:
    """The next U of a view, others fixed; each row on its own."""
    w2 = term.w2[:, None]
    up = w2 * (term.X @ V + term.alpha * star)
    rows = np.linalg.norm(U, axis=1, keepdims=True)
    down = w2 * (U @ (V.T @ V) + term.alpha * U) + term.beta / 2 * U / np.maximum(rows, _TINY)
    return U * up / np.maximum(down, _TINY)


def _update_v(term: _ViewTerm, U: Array, V: Array) -> Array:
    """The next V of a view, others fixed; columns add up to one."""
    weighted = term.w2[:, None] * U
    N, M = term.X.T @ weighted, V @ (U.T @ weighted)
    return _on_simplex(V / np.maximum(M, _TINY), N)


def _on_simplex(g: Array, N: Array) -> Array:
    """``g max(N + lam, 0)`` with, in each column, the lam that makes the sum one.

    The sum rises with lam and is linear between the values -N; so those above -lam are the largest N, and
    the right number of them is the largest for which the last is still positive.
    """
    order = np.argsort(-N, axis=0, kind="stable")
    slope = np.cumsum(np.take_along_axis(g, order, axis=0), axis=0)
    height = np.cumsum(np.take_along_axis(g * N, order, axis=0), axis=0)
    lam = (1.0 - height) / np.maximum(slope, _TINY)
    positive = (np.take_along_axis(N, order, axis=0) + lam > 0) & (slope > 0)
    last = len(N) - 1 - np.argmax(positive[::-1], axis=0)
    V = g * np.maximum(N + lam[last, np.arange(N.shape[1])], 0.0)
    return V / np.maximum(V.sum(axis=0), _TINY)  # rounding


def _consensus(terms: Sequence[_ViewTerm], U: Sequence[Array]) -> Array:
    """The representation nearest to those of all views."""
    weights = [term.alpha * term.w2[:, None] for term in terms]
    total = sum(weight * u for weight, u in zip(weights, U, strict=True))
    return total / np.maximum(sum(weights), _TINY)


def _update(terms: Sequence[_ViewTerm], state: _State) -> _State:
    """Every block once."""
    V = tuple(_update_v(term, u, v) for term, u, v in zip(terms, state.U, state.V, strict=True))
    U = tuple(_update_u(term, u, v, state.star) for term, u, v in zip(terms, state.U, V, strict=True))
    return _State(U, V, _consensus(terms, U))


def _draw_start(
    terms: Sequence[_ViewTerm], n_components: int, rng: np.random.Generator, sizes: Array
) -> _State:
    """Random positive factors, drawn in the order of `sizes`; products have about the views' row sums."""
    U, V = {}, {}
    ranks = np.argsort(np.argsort(sizes.sum(axis=1), kind="stable"))
    for k in np.argsort(sizes.sum(axis=0), kind="stable").tolist():
        X = terms[k].X
        v = rng.uniform(0.5, 1.5, (X.shape[1], n_components))
        V[k] = v / v.sum(axis=0)
        spread = rng.uniform(0.5, 1.5, (len(X), n_components))[ranks]
        U[k] = spread * X.sum(axis=1, keepdims=True) / n_components
    U_start = tuple(U[k] for k in range(len(terms)))
    return _State(U_start, tuple(V[k] for k in range(len(terms))), _consensus(terms, U_start))


# -------------------------------------------------------------------------------------------- driver


def fit_mic(
    views: Views,
    n_components: int,
    *,
    alpha: float = 0.01,
    beta: float = 0.01,
    scale: Literal["minmax"] | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    random_state: RandomState = None,
) -> Solution[_State]:
    """Factors of incomplete views; ``state.star`` is the representation, samples x components.

    Parameters
    ----------
    views : Views
        Numeric features; non-negative unless `scale` is given.
    alpha, beta : float
        How near the views' representations are to the common one; how strongly whole rows shrink.
    scale : {"minmax", None}
        ``"minmax"`` maps each feature to [0, 1].
    tol, max_iter, random_state
        As in :class:`absentia.EMFill`.  The start goes with the data, not with their order.
    """
    names = [name for v, name in enumerate(views.names) if views.observed[:, v].any()]
    terms = [_view_term(views, name, alpha, beta, scale) for name in names]
    squares = np.column_stack([np.einsum("ij,ij->i", term.X, term.X) for term in terms])
    sizes = np.round(squares / np.maximum(squares.max(axis=0), _TINY), 9)
    solution = iterate(
        lambda state: _update(terms, state),
        lambda state: _objective(terms, state),
        _draw_start(terms, n_components, make_generator(random_state), sizes),
        stop=StoppingRule(tol),
        max_iter=max_iter,
    )
    if solution.status in (Status.MAX_ITER, Status.NOT_FINITE):
        warn(f"MIC {solution.message} ({solution.n_iter} iterations)", ConvergenceWarning)
    return solution


def _view_term(views: Views, name: str, alpha: float, beta: float, scale: str | None) -> _ViewTerm:
    """A view over all samples: where it is absent the mean, with less weight."""
    present, X = views.observed[:, views.names.index(name)], np.asarray(views.block(name), dtype=np.float64)
    low, span = np.zeros(X.shape[1]), np.ones(X.shape[1])
    if scale == "minmax":
        low, span = X.min(axis=0), np.ptp(X, axis=0)
        span[span == 0] = 1.0
    elif (X < 0).any():
        raise ValueError(f"view {name!r}: {X.min():.6g} is negative; pass scale='minmax'")
    filled = np.tile((X.mean(axis=0) - low) / span, (len(views), 1))
    filled[present] = (X - low) / span
    return _ViewTerm(filled, np.where(present, 1.0, present.mean()) ** 2, alpha, beta)
