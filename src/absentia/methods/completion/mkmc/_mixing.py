"""Several model kernels behind groups of views: the objective, its descent, who belongs where.

View k belongs to model z_k.  With ``L_k(M) = 1/2 [logdet M_vv + trace(M_vv^-1 Q_vv)]`` on the samples v
that view k sees (``_estimator``), M_0 the model common to all views, and L_0 and L_I the same of kernels
M_0 and I that see everyone,

    F(M_1, ..., M_C, z) = sum_k L_k(M_{z_k}) + sum_c [pull L_0(M_c) + prior L_I(M_c)].

Given z that is one mutual completion for each group, with M_0 as one more view of weight `pull`; given the
models each view goes to the one that says it best.  Neither step lets F rise.  In the notation of the
papers the M-step is ``S_c = (sum of the group's completed kernels + pull M_0 + prior I) / (n_c + pull +
prior)``; nothing is imputed here, though (``_fast``).

Memberships are whole: L_k is minus a log-likelihood of n_k samples, and shares ``exp(-L_k(M_c))`` of a
view would be zero or one but for a few nats.  A view alone in its group still has M_0 to be completed
from.  Infinite `pull` is one model for all, no pull a fit of each group by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.cluster.hierarchy
from scipy.spatial.distance import squareform

from absentia.core import (
    CLEAR,
    Array,
    Callback,
    Descent,
    LowRankPlusDiagonal,
    Point,
    Scaled,
    Sloped,
    Solution,
    Status,
    Stop,
    alike,
    centred,
    descend,
    inverse,
    iterate,
)
from absentia.data import KernelViews, ordering
from absentia.methods.completion.mkmc import _fast, _foldin
from absentia.methods.completion.mkmc._fast import Noise, Seen, VisibleProblem
from absentia.methods.completion.mkmc._foldin import Folded, Latent, Row
from absentia.methods.completion.mkmc._paper import NOISE_FLOOR
from absentia.methods.completion.mkmc._views import merge_views

#: Views are sent to models so many times at the most; twice is usual.
ROUNDS = 10
#: So many new samples are folded in at once.
CHUNK = 256
#: Views are compared on at most so many of the samples that both have.
COMPARED = 1000


# ------------------------------------------------------------------------------------ first groups


def alignments(X: KernelViews) -> Array:
    """How alike views are: correlation of their kernels about the mean, on the samples that both have."""
    numbers, found = ordering(X).numbers, np.eye(X.n_views)
    inside = np.cumsum(X.observed, axis=0) - 1
    for a in range(X.n_views):
        for b in range(a):
            both = np.flatnonzero(X.observed[:, a] & X.observed[:, b])
            both = both[np.argsort(numbers[both], kind="stable")[:COMPARED]]
            one, other = (_about_mean(X, v, inside[both, v]) for v in (a, b))
            size = float(np.linalg.norm(one) * np.linalg.norm(other))
            found[a, b] = found[b, a] = float(np.vdot(one, other)) / size if size > 0 else 0.0
    return found


def _about_mean(X: KernelViews, v: int, samples: Array) -> Array:
    """The kernel of some samples about their mean, as a share of its trace; zero if all are one."""
    K = np.asarray(X.operator(X.names[v]).block(samples, samples), dtype=np.float64)
    trace = float(np.trace(K))
    return np.zeros_like(K) if trace <= 0 or alike(K) else centred(K / trace)


def groups_of(X: KernelViews, likeness: Array, n_models: int) -> Array:
    """Views in at most `n_models` groups of those that are alike (average linkage), the largest first."""
    order = ordering(X).views
    if X.n_views < 2 or n_models < 2:
        return np.zeros(X.n_views, dtype=int)
    apart = np.round(1.0 - likeness[np.ix_(order, order)], 6)  # ties are not for rounding to break
    np.fill_diagonal(apart, 0.0)
    tree = scipy.cluster.hierarchy.linkage(squareform(apart, checks=False), "average")
    labels = scipy.cluster.hierarchy.fcluster(tree, n_models, "maxclust")
    _, first, which, sizes = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    rank = inverse(np.lexsort((first, -sizes)))
    return np.asarray(rank[which][inverse(order)])


# ---------------------------------------------------------------------------------------- descent


class Terms(NamedTuple):
    """What is added for each model: the common model with weight `pull`, the identity with `prior`."""

    common: LowRankPlusDiagonal
    pull: float
    prior: float

    def problem(self, views: Sequence[Seen]) -> VisibleProblem:
        """What one model has to explain."""
        size = len(self.common.d)
        views = merge_views([view for view in views if len(view.v)])
        if self.pull:
            weight: int = self.pull  # type: ignore[assignment]  # of the common model any number will do
            views = [*views, Seen(Scaled(self.common, self.pull), np.arange(size), weight)]
        return VisibleProblem.of(views, size, self.prior, np.float64)


@dataclass(frozen=True)
class Mixed:
    """Fitted models, the model of each view, and how the run went."""

    models: list[LowRankPlusDiagonal]
    members: Array
    solution: Solution[Descent[Sloped]]
    n_evaluations: int


def mix(
    views: Sequence[Seen],
    members: Array,
    terms: Terms,
    noise: Noise,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Mixed:
    """Descend from the common model and first groups, send views to their models, and again."""
    models, traces = [terms.common] * (int(members.max()) + 1), []
    left, spent = max_iter, 0
    for _ in range(ROUNDS):
        run = descend_jointly(views, members, models, terms, noise, tol, left, callback)
        models, solution, spent = run.models, run.solution, spent + run.n_evaluations
        traces.append(solution.trace)
        left -= solution.n_iter
        moved = nearest(views, models, members)
        settled = np.array_equal(moved, members)
        kept, members = np.unique(moved, return_inverse=True)
        models = [models[c] for c in kept]
        if settled or left < 1 or solution.status in (Status.STOPPED, Status.NOT_FINITE):
            break
    return Mixed(models, members, replace(solution, trace=np.concatenate(traces)), spent)


def descend_jointly(
    views: Sequence[Seen],
    members: Array,
    models: Sequence[LowRankPlusDiagonal],
    terms: Terms,
    noise: Noise,
    tol: float,
    max_iter: int,
    callback: Callback | None,
) -> Mixed:
    """All models at once, from where they are, the views staying where they belong."""
    problems = [
        terms.problem([view for view, z in zip(views, members, strict=True) if z == c])
        for c in range(len(models))
    ]

    def run(point: Point) -> Sloped:
        return together(problems, noise, point)

    firsts = [_fast.as_point(p, noise, model) for p, model in zip(problems, models, strict=True)]
    start = Descent(run(tuple(part for first in firsts for part in first)))
    stop = Stop(tol, patience=_fast.PATIENCE)
    solution = descend(run, start, stop=stop, max_iter=max_iter, callback=callback)
    ends = _pairs(solution.state.at.point)
    found = [_fast.as_operator(p, point) for p, point in zip(problems, ends, strict=True)]
    return Mixed(found, members, solution, solution.state.n_evaluations)


def together(problems: Sequence[VisibleProblem], noise: Noise, point: Point) -> Sloped:
    """The sum of the models' objectives, a function of all their loadings and noise variances."""
    found = [_fast.evaluate(p, noise, own) for p, own in zip(problems, _pairs(point), strict=True)]

    def precondition(v: Point) -> Point:
        own = zip(found, _pairs(v), strict=True)
        return tuple(part for one, pair in own for part in one.precondition(pair))

    return Sloped(
        tuple(part for one in found for part in one.point),
        sum(one.value for one in found),
        tuple(part for one in found for part in one.gradient),
        precondition,
    )


def _pairs(point: Point) -> list[Point]:
    return [point[i : i + 2] for i in range(0, len(point), 2)]


def unlikeliness(view: Seen, model: LowRankPlusDiagonal) -> float:
    """``L_k``: half of ``logdet M_vv + trace(M_vv^-1 Q_vv)``."""
    own = model.principal(view.v)
    return (own.logdet() + own.trace_solve(view.Q)) / 2


def nearest(views: Sequence[Seen], models: Sequence[LowRankPlusDiagonal], members: Array) -> Array:
    """The model that says each view best; views stay where no other is clearly better."""
    found = members.copy()
    for k, view in enumerate(views):
        if len(view.v):
            values = np.array([unlikeliness(view, model) for model in models])
            if values.min() < values[members[k]] - CLEAR * len(view.v):
                found[k] = int(values.argmin())
    return found


# ------------------------------------------------------------------------------------- new samples


class Part(NamedTuple):
    """What a view, or a kernel that sees everyone, says of new samples, and how much it counts."""

    weight: float
    latent: Latent
    row: Row


def fold_in(parts: Sequence[Part], noise: float | None) -> tuple[Array, Array, list[Array]]:
    """Loadings, noise variances and, by part, ``G[t]`` of new samples: ``_foldin.fold_in`` with weights.

    `noise` is the variance all samples share (PCA), or None where each has its own (factor analysis).
    """
    n, q = parts[0].row.a.shape
    w, d, G = np.zeros((n, q)), np.ones(n), [np.zeros((n, q)) for _ in parts]
    for begin in range(0, n, CHUNK):
        t = slice(begin, begin + CHUNK)
        rows = [Row(part.row.a[t], part.row.own[t], part.row.present[t]) for part in parts]
        found = _fold_in([part._replace(row=row) for part, row in zip(parts, rows, strict=True)], noise)
        w[t], d[t] = found.w, found.d
        for total, own in zip(G, found.G, strict=True):
            total[t] = own
    return w, d, G


def _fold_in(parts: Sequence[Part], noise: float | None) -> Folded:
    weights = [part.weight * part.row.present for part in parts]
    weight = np.sum(weights, axis=0)
    total = np.sum([w * part.row.own for w, part in zip(weights, parts, strict=True)], axis=0)
    n, q = parts[0].row.a.shape
    d = np.full(n, noise) if noise is not None else np.maximum(total / weight, NOISE_FLOOR)

    def step(last: Folded) -> Folded:
        found = [_foldin._with_sample(p.latent, p.row.a, p.row.own, last.w, last.d) for p in parts]
        num = sum(w[:, None] * G for w, (G, _) in zip(weights, found, strict=True))
        A = sum(w[:, None, None] * E for w, (_, E) in zip(weights, found, strict=True))
        new = np.linalg.solve(A, np.asarray(num)[:, :, None])[:, :, 0]
        d = last.d
        if noise is None:
            d = np.maximum((total - np.sum(new * num, axis=1)) / weight, NOISE_FLOOR)
        moved = float(np.abs(new - last.w).max()) / max(float(np.abs(new).max()), 1e-12)
        return Folded(new, d, [G for G, _ in found], moved)

    stop = Stop(1e-8, "the loadings' relative change", lambda folded: folded.moved)
    return iterate(step, None, Folded(np.zeros((n, q)), d, []), stop=stop, max_iter=100).state
