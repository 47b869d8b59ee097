r"""Estimating the kernels of ``_model.Addition`` by EM.

The paper alternates completing the matrix with plugging in ``K1 = FF'/m``, ``K2 = GG'/n``.  That maximises
a joint density which has no maximum: within a few rounds one of the two parts shrinks to nothing.  Here the
E-step keeps the posterior covariance,

.. math:: N = E[G'G \mid X_o] / n, \quad C = E[F'K^+F \mid X_o] / r, \quad K_1 = E[FF' \mid X_o] / m,

so that the marginal likelihood of the observed entries rises.  Given the full X, both expectations are
closed in the eigenbases; what the missing entries add comes from their :func:`~._spread.spread`, exact
when there are few, a few posterior draws of fixed noise when there are many.

Estimated kernels are shrunk as by an inverse-Wishart prior of `shrinkage` pseudo-observations at their
starting size; for free `K1` and `N` together the likelihood itself has no maximum without it.  ``K1 + tI``
with ``N - tI`` is the same model: the common part is kept in N (its nugget), where new rows need it.
Columns are centred by their observed means before anything else.

The width of an RBF row kernel is found by marginal likelihood (:func:`choose_gamma`), with all of the above
estimated at each width, on a sample of rows if there are many.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import scipy.optimize

from absentia.core import Array, Callback, Solution, Stop, iterate, least, squared_distances, symmetrize
from absentia.methods.matrix._likelihood import log_marginal
from absentia.methods.matrix._mean import complete, few
from absentia.methods.matrix._model import Addition, RowKernel, apply_rows
from absentia.methods.matrix._spread import posterior

#: Up to this many missing entries, the E-step has their whole covariance instead of draws.
EXACT = 150
#: A kernel that carries less than this share of the variance is measured against that share.
SHARE = 0.05


@dataclass(frozen=True)
class What:
    """What is estimated: C ("no", "scale" for a multiple of C, "free"), N and K1 or not."""

    C: str = "scale"
    N: bool = True
    K: bool = False
    noise_only: bool = False  # N a multiple of the identity (I-LMC)
    diagonal: bool = False  # C and N diagonal: a process of its own for every column

    @property
    def any(self) -> bool:
        return self.C != "no" or self.N or self.K


@dataclass(frozen=True)
class Fit:
    """A model, the completed X under it, deviations, and how far the last step moved."""

    model: Addition
    completed: Array
    D: Array | None
    change: float = np.inf


@dataclass(frozen=True)
class Moments:
    """Expectations of the E-step; `F` only if the row kernel is estimated."""

    C: Array
    N: Array
    K: Array | None


def moments(model: Addition, X: Array, D: Array | None, rows: bool = False) -> Moments:
    """E[F'K^+F]/r, E[G'G]/n and E[FF']/m given the observed entries, from X completed and deviations D."""
    U, s, W = model.rows.U, model.shrink, model.W
    full = X[:, None, :] if D is None else np.concatenate([X[:, None, :], D], axis=1)
    Z = full @ model.V
    f = s[:, None, :] * apply_rows(U.T, Z)
    g = Z - apply_rows(U, f)
    n, r, over = model.shape[0], model.rows.rank, model.rows.over
    in_C = np.einsum("ika,i,ikb->ab", f, over, f, optimize=True) + np.diag(over @ s)
    in_N = np.tensordot(g, g, axes=([0, 1], [0, 1])) + np.diag(s.sum(axis=0))
    in_K = None
    if rows:
        F = apply_rows(U, f) @ W.T
        in_K = np.tensordot(F, F, axes=([1, 2], [1, 2])) + (U * (s @ (W**2).sum(axis=0))) @ U.T
        in_K = symmetrize(in_K) / model.shape[1]
    return Moments(symmetrize(W @ in_C @ W.T) / r, symmetrize(W @ in_N @ W.T) / n, in_K)


def maximise(
    model: Addition, E: Moments, what: What, prior: Addition, shrinkage: float, nugget: float
) -> Addition:
    """The M-step: new C, N and K1, shrunk towards `prior` by `shrinkage` pseudo-observations."""
    (n, m), r = model.shape, model.rows.rank
    C, N, rows = model.C, model.N, model.rows
    if what.N:
        N = (n * E.N + shrinkage * prior.N) / (n + shrinkage)
        if what.noise_only:
            N = np.eye(m) * np.trace(N) / m
        N = floored(np.diag(np.diagonal(N)) if what.diagonal else N, nugget)
    if what.C == "free":
        C = (r * E.C + shrinkage * prior.C) / (r + shrinkage)
        C = np.diag(np.diagonal(C)) if what.diagonal else C
    elif what.C == "scale":
        # the multiple t of C with the greatest likelihood: tr(C^-1 E[F'K^+F]) / (r m)
        C = C * float(np.trace(np.linalg.lstsq(C, E.C, rcond=None)[0])) / m
    if what.K and E.K is not None:
        K = (m * E.K + shrinkage * np.eye(n) * np.trace(prior.rows.to_dense()) / n) / (m + shrinkage)
        rows = RowKernel.dense(K)
        common = float(rows.l[0])  # K - tI, N + tI: the same model
        rows, N = RowKernel(rows.U, rows.l - common), N + common * np.eye(m)
    return Addition(rows, C, N)


def floored(N: Array, nugget: float) -> Array:
    """N with eigenvalues of at least `nugget`."""
    values, V = scipy.linalg.eigh(N)
    return symmetrize((V * np.maximum(values, nugget)) @ V.T)


def learn(
    start: Addition,
    X: Array,
    observed: Array,
    what: What,
    *,
    shrinkage: float = 2.0,
    nugget: float = 1e-4,
    n_draws: int = 2,
    seed: int = 0,
    tol: float = 1e-3,
    max_iter: int = 100,
    precision: float = 1e-3,
    callback: Callback | None = None,
    update: Callable[[Addition, Array, Array | None], Addition] | None = None,
) -> Solution[Fit]:
    """EM from `start`; X (n, m) is centred.  Stops when the kernels move by less than `tol`, relative.

    `precision` is that of the completions within the loop; each starts from the one before.  `update` is
    another M-step than that of `what`: the next model, from this, X completed and deviations.
    """
    small = int((~observed).sum()) <= EXACT

    def estimated(model: Addition, full: Array, D: Array | None) -> Addition:
        return maximise(model, moments(model, full, D, what.K), what, start, shrinkage, nugget)

    m_step = estimated if update is None else update

    def step(fit: Fit) -> Fit:
        model = fit.model
        full: Array
        D: Array | None
        if observed.all():
            full, D = X, None
        elif small:
            full, D = posterior(model, X, observed)
        else:
            full, D = _with_draws(fit, X, observed, np.random.default_rng(seed), n_draws, precision)
        new = m_step(model, full, D)
        return Fit(new, full, D, _moved(model, new))

    first = Fit(start, np.where(observed, X, 0.0), None)
    stop = Stop(tol, "the kernels' relative change", lambda fit: fit.change)
    return iterate(step, None, first, stop=stop, max_iter=max_iter, callback=callback)


def _with_draws(
    fit: Fit, X: Array, observed: Array, rng: np.random.Generator, k: int, tol: float
) -> tuple[Array, Array]:
    """X completed and deviations, in one solve that begins where the last round ended.

    The noise is the same every time, so that EM is a fixed map.
    """
    prior = fit.model.draw(rng, k)
    begin = np.zeros_like(prior) if fit.D is None else prior - fit.D * np.sqrt(k)
    both = np.concatenate([X[:, None], prior], axis=1)
    done = complete(
        fit.model, both, observed, start=np.concatenate([fit.completed[:, None], begin], 1), tol=tol
    )
    return done[:, 0], (prior - done[:, 1:]) / np.sqrt(k)


def _moved(old: Addition, new: Addition) -> float:
    """How far kernels moved, each relative to its size, or to :data:`SHARE` of the whole if that is more.

    A part that fades out does so ever more slowly: its own relative change would never fall.
    """
    k, c = float(new.rows.diagonal().mean()), float(np.diagonal(new.C).mean())
    size = {"C": k * _norm(new.C), "N": _norm(new.N), "K": c * _norm(new.rows.l)}
    whole = size["C"] + size["N"]
    steps = [
        (k * _norm(new.C - old.C), max(size["C"], SHARE * whole)),
        (_norm(new.N - old.N), max(size["N"], SHARE * whole)),
        (c * _norm(new.rows.l - old.rows.l), max(size["K"], SHARE * np.sqrt(len(new.rows.l)) * whole)),
    ]
    return max(step / max(scale, 1e-300) for step, scale in steps)


def _norm(A: Array) -> float:
    return float(np.linalg.norm(A))


def starting(rows: RowKernel, X: Array, observed: Array, what: What) -> Addition:
    """Half of each column's observed variance to the rows, half to the columns."""
    m = X.shape[1]
    seen = np.maximum(observed.sum(axis=0), 1)
    variances = np.where(observed, X, 0.0) ** 2
    v = np.maximum(variances.sum(axis=0) / seen, 1e-12 + 1e-6 * variances.sum() / seen.sum())
    level = float(v.mean())
    size = float(rows.diagonal().mean()) or 1.0
    C = np.eye(m) * level / (2 * size) if what.C != "no" else np.eye(m)
    N = np.eye(m) * level / 2 if what.noise_only else np.diag(v / 2)
    return Addition(rows, C, N)


# -------------------------------------------------------------------------------------- kernel width


def choose_gamma(
    features: Array,
    X: Array,
    observed: Array,
    what: What,
    rng: np.random.Generator,
    *,
    start: Callable[[RowKernel, Array, Array], Addition] | None = None,
    max_rows: int = 600,
    em: Callable[..., Solution[Fit]] = learn,
) -> tuple[float, Addition, list[tuple[float, float]]]:
    """Width of the RBF row kernel with the greatest marginal likelihood of the observed entries.

    `start` makes the model to begin from out of a row kernel, X and who is observed.  Returns gamma, the
    model at it (over the sampled rows), and what was tried: (gamma, log-likelihood).
    """
    begin_at = (lambda rows, X, seen: starting(rows, X, seen, what)) if start is None else start
    n = len(features)
    some = np.sort(rng.choice(n, max_rows, replace=False)) if n > max_rows else np.arange(n)
    D = squared_distances(features[some], features[some])
    off = D[~np.eye(len(D), dtype=bool)]
    unit = 1.0 / max(float(np.median(off)) if len(off) else 1.0, 1e-300)
    Xs, seen = X[some], observed[some]
    seed = int(rng.integers(2**31))
    tried: dict[float, tuple[float, Addition]] = {}
    latest: list[Addition] = []

    def value(log_gamma: float) -> float:
        rows = RowKernel.dense(np.exp(-np.exp(log_gamma) * unit * D))
        begin = replace(latest[-1], rows=rows) if latest else begin_at(rows, Xs, seen)
        model = begin
        if what.any:
            model = em(begin, Xs, seen, what, tol=3e-3, max_iter=40, seed=seed).state.model
        latest.append(model)
        probes = None if few(seen) else np.random.default_rng(seed)
        lml = log_marginal(model, Xs, seen, probes, tol=1e-4)
        tried[np.exp(log_gamma) * unit] = lml, model
        return -lml

    scipy.optimize.minimize_scalar(
        value, bounds=np.log([0.02, 20.0]), method="bounded", options={"xatol": 0.25}
    )
    gamma = least({g: -tried[g][0] for g in sorted(tried)})
    return float(gamma), tried[gamma][1], sorted((float(g), t[0]) for g, t in tried.items())
