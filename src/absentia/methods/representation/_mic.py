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
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from absentia.core import (
    Array,
    Callback,
    Estimator,
    Iterative,
    NonNegative,
    Positive,
    PositiveInt,
    RandomState,
    Stop,
    estimator,
    generator,
    iterate,
    serializable,
)
from absentia.data import Coding, Ordering, Presence, Views, ordered, refusal, shown

#: Numbers of each view: in their order, or by name.
ByView = np.ndarray | list[float] | tuple[float, ...] | Mapping[str, float]

TINY = 1e-300
#: Rounds for new samples; a fixed number, so that a sample does not depend on its companions.
ROUNDS = 300


@dataclass(frozen=True)
class Part:
    """A view: its features over all samples, the samples' squared weights, its two trade-offs."""

    X: Array
    w2: Array
    alpha: float
    beta: float


@dataclass(frozen=True)
class State:
    """Factors of each view and the common representation."""

    U: tuple[Array, ...]
    V: tuple[Array, ...]
    star: Array


# --------------------------------------------------------------------------------------------- steps


def objective(parts: Sequence[Part], state: State) -> float:
    total = 0.0
    for part, U, V in zip(parts, state.U, state.V, strict=True):
        miss = np.sum((part.X - U @ V.T) ** 2, axis=1) + part.alpha * np.sum((U - state.star) ** 2, axis=1)
        total += float(part.w2 @ miss) + part.beta * float(np.linalg.norm(U, axis=1).sum())
    return total


def step_u(part: Part, U: Array, V: Array, star: Array) -> Array:
    """The next U of a view, others fixed; each row on its own."""
    w2 = part.w2[:, None]
    up = w2 * (part.X @ V + part.alpha * star)
    rows = np.linalg.norm(U, axis=1, keepdims=True)
    down = w2 * (U @ (V.T @ V) + part.alpha * U) + part.beta / 2 * U / np.maximum(rows, TINY)
    return np.asarray(U * up / np.maximum(down, TINY))


def step_v(part: Part, U: Array, V: Array) -> Array:
    """The next V of a view, others fixed; columns add up to one."""
    weighted = part.w2[:, None] * U
    N, M = part.X.T @ weighted, V @ (U.T @ weighted)
    return on_simplex(V / np.maximum(M, TINY), N)


def on_simplex(g: Array, N: Array) -> Array:
    """``g max(N + lam, 0)`` with, in each column, the lam that makes the sum one.

    The sum rises with lam and is linear between the values -N; so those above -lam are the largest N, and
    the right number of them is the largest for which the last is still positive.
    """
    order = np.argsort(-N, axis=0, kind="stable")
    slope = np.cumsum(np.take_along_axis(g, order, axis=0), axis=0)
    height = np.cumsum(np.take_along_axis(g * N, order, axis=0), axis=0)
    lam = (1.0 - height) / np.maximum(slope, TINY)
    positive = (np.take_along_axis(N, order, axis=0) + lam > 0) & (slope > 0)
    last = len(N) - 1 - np.argmax(positive[::-1], axis=0)
    V = g * np.maximum(N + lam[last, np.arange(N.shape[1])], 0.0)
    return np.asarray(V / np.maximum(V.sum(axis=0), TINY))  # rounding


def common(parts: Sequence[Part], U: Sequence[Array]) -> Array:
    """The representation nearest to those of all views."""
    weights = [part.alpha * part.w2[:, None] for part in parts]
    total = sum(weight * u for weight, u in zip(weights, U, strict=True))
    return np.asarray(total / np.maximum(sum(weights), TINY))


def step(parts: Sequence[Part], state: State, *, learn: bool = True) -> State:
    """Every block once; with ``learn=False`` the V stay as they are."""
    V = state.V
    if learn:
        V = tuple(step_v(part, u, v) for part, u, v in zip(parts, state.U, V, strict=True))
    U = tuple(step_u(part, u, v, state.star) for part, u, v in zip(parts, state.U, V, strict=True))
    return State(U, V, common(parts, U))


def start(
    parts: Sequence[Part], n_components: int, rng: np.random.Generator, order: Ordering | None = None
) -> State:
    """Random positive factors whose products have about the views' row sums.

    They are drawn in the `order` of samples and views, by default as they come.
    """
    if order is None:
        order = Ordering(np.arange(len(parts[0].X)), np.arange(len(parts)))
    U, V = {}, {}
    for k in order.views.tolist():
        X = parts[k].X
        v = rng.uniform(0.5, 1.5, (X.shape[1], n_components))
        V[k] = v / v.sum(axis=0)
        spread = rng.uniform(0.5, 1.5, (len(X), n_components))[order.numbers]
        U[k] = spread * X.sum(axis=1, keepdims=True) / n_components
    ranked = [U[k] for k in range(len(parts))]
    return State(tuple(ranked), tuple(V[k] for k in range(len(parts))), common(parts, ranked))


# ----------------------------------------------------------------------------------------- estimator


@serializable
@dataclass(frozen=True)
class Scaling:
    """What was learned of a view's features: their least values, their spans, their means."""

    low: Array
    span: Array
    mean: Array
    share: float  # of samples that have the view

    def __call__(self, X: Array) -> Array:
        X = np.maximum((X - self.low) / self.span, 0.0)
        return np.where(np.isnan(X), self.mean, X)


@estimator
class MIC(Iterative, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):  # type: ignore[misc]
    """Multi-incomplete-view factorisation: one non-negative representation of samples that lack views.

    Takes :class:`absentia.Views` and gives an array, samples x components, for any classifier or
    clustering that wants one.  Nothing is completed.

    Parameters
    ----------
    n_components : int, default 10
        Number of columns of the representation.
    alpha, beta : float, or one per view (sequence or dict by name), default 0.01
        How near the views' representations are to the common one; how strongly whole rows shrink.
    scale : {"minmax", None}, default None
        ``"minmax"`` maps each feature to [0, 1] by its range in training (new values below it count as
        zero).  None takes features as they are; negative values are then an error.
    tol : float, default 1e-4
        Stop when the objective's relative change stays below; 0 makes all steps.
    max_iter : int, default 1000
        Stop after so many iterations at the latest.
    random_state : int, Generator, RandomState or None
        Of the start, which goes with the data and not with the order of samples or views.  None: the
        fixed seed 0.
    callback, verbose : callable or None, bool
        Gets a :class:`absentia.core.Progress` each iteration, True stops; lines on stderr now and then.

    Attributes
    ----------
    representation_ : ndarray of shape (n_samples, n_components)
        U*, of the training samples.
    components_ : dict
        V of each view, features x components; columns add up to one.
    objective_ : ndarray
        Objective after each step; never rises beyond rounding.
    n_features_in_ : int
        Features of all views together.
    n_iter_, converged_, status_, names_in_, ids_

    Examples
    --------
    >>> from absentia import MIC, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> mic = MIC(5, scale="minmax", tol=1e-3)
    >>> mic.fit_transform(views).shape
    (60, 5)
    """

    n_components: PositiveInt = 10
    _: KW_ONLY
    alpha: Positive | ByView = 0.01
    beta: NonNegative | ByView = 0.01
    scale: Literal["minmax"] | None = None
    tol: NonNegative = 1e-4
    max_iter: PositiveInt = 1000
    random_state: RandomState = None
    callback: Callback | None = None
    verbose: bool = False

    def fit(self, X: Views, y: Any = None) -> Self:
        """Learn the factors of incomplete training views."""
        self._check_parameters()
        _check_views(X)
        X.demand_order(y)
        X.warn_of_absence()
        self._coding = Coding.learn(X)
        X = self._coding(X)
        self._scaling = {
            name: self._learned(X, v) for v, name in enumerate(X.names) if X.observed[:, v].any()
        }
        if not self._scaling:
            raise ValueError("no sample has any view; there is nothing to learn from")
        self._trade_offs = {
            what: _by_view(what, getattr(self, what), X.names) for what in ("alpha", "beta")
        }
        parts = self._parts(X)
        order = self._ordering(X, parts)
        solution = iterate(
            lambda state: step(parts, state),
            lambda state: objective(parts, state),
            start(parts, self.n_components, generator(self.random_state), order),
            stop=Stop(self.tol),
            max_iter=self.max_iter,
            callback=self._watch(),
        )
        self._record(solution)
        self.representation_ = solution.state.star
        self.components_ = dict(zip(self._scaling, solution.state.V, strict=True))
        self.names_in_, self.ids_ = X.names, X.ids
        self.n_features_in_ = sum(X.block(name).shape[1] for name in X.names)
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.representation_.shape[1])

    def fit_transform(self, X: Views, y: Any = None, **fit_params: Any) -> Any:
        """Learn, and return the representation of the training samples."""
        return self._with_ids(self.fit(X, y).representation_, X.ids)

    def transform(self, X: Views) -> Any:
        """The representation of new samples, the V of all views held fixed.

        With V fixed the objective is convex and every sample is on its own.
        """
        check_is_fitted(self, "components_")
        _check_views(X)
        if X.names != self.names_in_:
            raise ValueError(f"views {list(X.names)} came, {list(self.names_in_)} were there in training")
        parts = self._parts(self._coding.of_new(X))
        V = tuple(self.components_.values())
        level = tuple(
            np.repeat(part.X.sum(axis=1, keepdims=True) / self.n_components, self.n_components, axis=1)
            for part in parts
        )
        state = State(level, V, common(parts, level))
        for_all = iterate(
            lambda state: step(parts, state, learn=False),
            lambda state: objective(parts, state),
            state,
            stop=Stop(0),
            max_iter=ROUNDS,
        )
        return self._with_ids(for_all.state.star, X.ids)

    def _ordering(self, X: Views, parts: Sequence[Part]) -> Ordering:
        """Samples and fitted views by the size of their rows: the start goes with the data."""
        squares = np.column_stack([np.einsum("ij,ij->i", p.X, p.X) for p in parts])
        fitted = Presence(X.ids, tuple(self._scaling), np.ones(squares.shape, dtype=bool))
        return ordered(fitted, squares / np.maximum(squares.max(axis=0), TINY))

    # ------------------------------------------------------------------------------- from views to parts

    def _learned(self, X: Views, v: int) -> Scaling:
        """Range, means and share of a view in training."""
        name = X.names[v]
        block = _dense(X.block(name))
        known = ~np.isnan(block)
        if not known.any(axis=0).all():
            column = int(np.argmin(known.any(axis=0)))
            raise ValueError(f"view {name!r}, column {column}: no value is known; leave the feature out")
        low, span = np.zeros(block.shape[1]), np.ones(block.shape[1])
        if self.scale == "minmax":
            low = np.nanmin(block, axis=0)
            span = np.nanmax(block, axis=0) - low
            span[span == 0] = 1.0
        else:
            _check_non_negative(X, v, block)
        mean = (np.nanmean(block, axis=0) - low) / span
        return Scaling(low, span, mean, float(X.observed[:, v].mean()))

    def _parts(self, X: Views) -> list[Part]:
        """Every view over all samples: the mean, with less weight, where absent."""
        parts = []
        for v, name in enumerate(X.names):
            if name not in self._scaling:
                continue
            scaling, present = self._scaling[name], X.observed[:, v]
            block = _dense(X.block(name))
            if self.scale is None:
                _check_non_negative(X, v, block)
            full = np.tile(scaling.mean, (len(X), 1))
            full[present] = scaling(block)
            weights = np.where(present, 1.0, scaling.share)
            trade = {what: by_view[name] for what, by_view in self._trade_offs.items()}
            parts.append(Part(full, weights**2, **trade))
        return parts


# ------------------------------------------------------------------------------------- small pieces


def _dense(block: Any) -> Array:
    dense = block.toarray() if scipy.sparse.issparse(block) else block
    return np.asarray(dense, dtype=np.float64)


def _check_views(X: Any) -> None:
    if not isinstance(X, Views):
        raise refusal("views", X, "MIC")


def _check_non_negative(X: Views, v: int, block: Array) -> None:
    if (block < 0).any():
        row, column = np.argwhere(block < 0)[0]
        sample = shown(X.ids[X.observed[:, v]][row])
        raise ValueError(
            f"view {X.names[v]!r}, sample {sample}, column {column}: {block[row, column]:.6g} is negative; "
            "non-negative features are wanted: pass scale='minmax', or shift them yourself"
        )


def _by_view(what: str, given: Any, names: Sequence[str]) -> dict[str, float]:
    """One number per view from a number, a sequence or a dict."""
    if isinstance(given, Mapping):
        unknown = set(given) ^ set(names)
        if unknown:
            raise ValueError(f"{what}: one number per view {list(names)} is wanted; see {min(unknown)!r}")
        numbers = [given[name] for name in names]
    else:
        numbers = [given] * len(names) if np.ndim(given) == 0 else list(given)
    if len(numbers) != len(names):
        raise ValueError(f"{what}: {len(numbers)} numbers for {len(names)} views")
    lowest = 0.0 if what == "beta" else TINY  # without alpha there is no common representation
    if not all(np.isfinite(x) and x >= lowest for x in numbers):
        raise ValueError(f"{what}={given!r}; {'positive' if lowest else 'non-negative'} numbers are wanted")
    return dict(zip(names, map(float, numbers), strict=True))
