r"""Estimating the kernels of ``_model.KroneckerGaussian`` by EM.

The paper alternates completing the matrix with plugging in ``K1 = FF'/m``, ``K2 = GG'/n``.  That maximises
a joint density which has no maximum: within a few rounds one of the two parts shrinks to nothing.  Here the
E-step keeps the posterior covariance,

.. math:: N = E[G'G \mid X_o] / n, \quad C = E[F'K^+F \mid X_o] / r, \quad K_1 = E[FF' \mid X_o] / m,

so that the marginal likelihood of the observed entries rises.  Given the full X, both expectations are
closed in the eigenbases; what the missing entries add comes from their posterior deviations, exact
when there are few, a few posterior draws of fixed noise when there are many.

Estimated kernels are shrunk as by an inverse-Wishart prior of `shrinkage` pseudo-observations at their
starting size; for free `K1` and `N` together the likelihood itself has no maximum without it.  ``K1 + tI``
with ``N - tI`` is the same model: the common part is kept in N (its nugget), where new rows need it.
Columns are centred by their observed means before anything else.

The width of an RBF row kernel is found by marginal likelihood (:func:`select_gamma`), with all of the above
estimated at each width, on a sample of rows if there are many.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import scipy.linalg
import scipy.optimize

from absentia.core import Array, argmin_key
from absentia.core.linalg import squared_distances, symmetrize
from absentia.core.optimize import Callback, Solution, StoppingRule, iterate
from absentia.methods.matrix._conditional_mean import complete_by_gradients
from absentia.methods.matrix._inference import log_marginal_likelihood, posterior
from absentia.methods.matrix._model import KroneckerGaussian, RowKernel, apply_rows

#: Up to this many missing entries, the E-step has their whole covariance instead of draws.
_MAX_EXACT_MISSING = 150
#: A kernel that carries less than this fraction of the variance is measured against that fraction.
_MIN_FRACTION = 0.05
#: The width of an RBF kernel is chosen on at most this many rows.
_MAX_GAMMA_ROWS = 600

#: An M-step: the next model, from this one, X completed (n, m) and posterior deviations (n, k, m).
Update = Callable[[KroneckerGaussian, Array, Array | None], KroneckerGaussian]


@dataclass(frozen=True)
class FreeParts:
    """What is estimated: C not at all, up to a multiple or freely; N and K1 or not."""

    C: Literal["fixed", "scale", "free"] = "scale"
    N: bool = True
    K: bool = False
    noise_only: bool = False  # N a multiple of the identity (I-LMC)
    diagonal: bool = False  # C and N diagonal: a process of its own for every column

    @property
    def any(self) -> bool:
        return self.C != "fixed" or self.N or self.K


# --------------------------------------------------------------------------------------------------- E-step


class _Moments(NamedTuple):
    """E[F'K^+F]/r (m, m), E[G'G]/n (m, m) and, if the row kernel is estimated, E[FF']/m (n, n)."""

    C: Array
    N: Array
    K: Array | None


def expect_moments(model: KroneckerGaussian, X: Array, D: Array | None, rows: bool = False) -> _Moments:
    """Second moments of F and G given the observed entries, from X completed and deviations D."""
    U, s, W = model.rows.U, model.gain, model.W
    Z = stack_deviations(X, D) @ model.V
    f = s[:, None, :] * apply_rows(U.T, Z)
    g = Z - apply_rows(U, f)
    n, m = model.shape
    inverse = model.rows.inverse_eigenvalues
    in_C = np.einsum("ika,i,ikb->ab", f, inverse, f, optimize=True) + np.diag(inverse @ s)
    in_N = np.tensordot(g, g, axes=([0, 1], [0, 1])) + np.diag(s.sum(axis=0))
    in_K = None
    if rows:
        F = apply_rows(U, f) @ W.T
        in_K = np.tensordot(F, F, axes=([1, 2], [1, 2])) + (U * (s @ (W**2).sum(axis=0))) @ U.T
        in_K = symmetrize(in_K) / m
    return _Moments(
        symmetrize(W @ in_C @ W.T) / model.rows.effective_rank, symmetrize(W @ in_N @ W.T) / n, in_K
    )


def stack_deviations(X: Array, D: Array | None) -> Array:
    """X completed (n, m) and deviations (n, k, m) as one array (n, 1 + k, m)."""
    return X[:, None, :] if D is None else np.concatenate([X[:, None, :], D], axis=1)


# --------------------------------------------------------------------------------------------------- M-step


@dataclass(frozen=True)
class MomentUpdate:
    """The M-step: new C, N and K1, shrunk towards `prior` by `shrinkage` pseudo-observations.

    Eigenvalues of N are at least `nugget`.
    """

    free: FreeParts
    prior: KroneckerGaussian
    shrinkage: float = 2.0
    nugget: float = 1e-4

    def __call__(self, model: KroneckerGaussian, X: Array, D: Array | None) -> KroneckerGaussian:
        moments = expect_moments(model, X, D, self.free.K)
        rows, C = model.rows, self._update_C(model, moments.C)
        N = self._update_N(model, moments.N) if self.free.N else model.N
        if moments.K is not None:
            n, m = model.shape
            level = np.trace(self.prior.rows.to_dense()) / n
            K = (m * moments.K + self.shrinkage * np.eye(n) * level) / (m + self.shrinkage)
            rows = RowKernel.from_dense(K)
            common = float(rows.l[0])  # K - tI, N + tI: the same model
            rows, N = RowKernel(rows.U, rows.l - common), N + common * np.eye(m)
        return KroneckerGaussian(rows, C, N)

    def _update_N(self, model: KroneckerGaussian, moment: Array) -> Array:
        n, m = model.shape
        N = (n * moment + self.shrinkage * self.prior.N) / (n + self.shrinkage)
        if self.free.noise_only:
            N = np.eye(m) * np.trace(N) / m
        return floor_eigenvalues(np.diag(np.diagonal(N)) if self.free.diagonal else N, self.nugget)

    def _update_C(self, model: KroneckerGaussian, moment: Array) -> Array:
        if self.free.C == "free":
            r = model.rows.effective_rank
            C = (r * moment + self.shrinkage * self.prior.C) / (r + self.shrinkage)
            return np.diag(np.diagonal(C)) if self.free.diagonal else C
        if self.free.C == "scale":
            # the multiple t of C with the greatest likelihood: tr(C^-1 E[F'K^+F]) / (r m)
            return model.C * float(np.trace(np.linalg.lstsq(model.C, moment, rcond=None)[0])) / len(moment)
        return model.C


def floor_eigenvalues(N: Array, floor: float) -> Array:
    """N with eigenvalues of at least `floor`."""
    values, V = scipy.linalg.eigh(N)
    return symmetrize((V * np.maximum(values, floor)) @ V.T)


# ------------------------------------------------------------------------------------------------------- EM


@dataclass(frozen=True)
class EMState:
    """A model, the completed X under it, posterior deviations, and how far the last step moved."""

    model: KroneckerGaussian
    completed: Array
    deviations: Array | None
    change: float = np.inf


def run_em(
    start: KroneckerGaussian,
    X: Array,
    observed: Array,
    update: Update,
    *,
    n_draws: int = 2,
    seed: int = 0,
    tol: float = 1e-3,
    max_iter: int = 100,
    precision: float = 1e-3,
    callback: Callback | None = None,
) -> Solution[EMState]:
    """EM from `start`; X (n, m) is centred.  Stops when the kernels move by less than `tol`, relative.

    `precision` is that of the completions within the loop; each starts from the one before.
    """
    n_missing = int((~observed).sum())

    def step(state: EMState) -> EMState:
        if not n_missing:
            full, D = X, None
        elif n_missing <= _MAX_EXACT_MISSING:
            full, D = posterior(state.model, X, observed)
        else:
            full, D = _complete_with_draws(state, X, observed, seed, n_draws, precision)
        model = update(state.model, full, D)
        return EMState(model, full, D, _measure_change(state.model, model))

    first = EMState(start, np.where(observed, X, 0.0), None)
    stop = StoppingRule(tol, "the kernels' relative change", lambda state: state.change)
    return iterate(step, None, first, stop=stop, max_iter=max_iter, callback=callback)


def _complete_with_draws(
    state: EMState, X: Array, observed: Array, seed: int, k: int, tol: float
) -> tuple[Array, Array | None]:
    """X completed and deviations, in one solve that begins where the last round ended.

    The noise is the same every time, so that EM is a fixed map.
    """
    prior = state.model.draw(np.random.default_rng(seed), k)
    last = state.deviations
    begin = np.zeros_like(prior) if last is None else prior - last * np.sqrt(k)
    start = np.concatenate([state.completed[:, None], begin], 1)
    both = np.concatenate([X[:, None], prior], axis=1)
    full = complete_by_gradients(state.model, both, observed, start=start, tol=tol)
    return full[:, 0], (prior - full[:, 1:]) / np.sqrt(k)


def _measure_change(old: KroneckerGaussian, new: KroneckerGaussian) -> float:
    """How far kernels moved, each relative to its size, or to a fraction of the whole if that is more.

    A part that fades out does so ever more slowly: its own relative change would never fall.
    """
    k, c = float(new.rows.diagonal().mean()), float(np.diagonal(new.C).mean())
    size = {"C": k * _norm(new.C), "N": _norm(new.N), "K": c * _norm(new.rows.l)}
    floor = _MIN_FRACTION * (size["C"] + size["N"])
    steps = [
        (k * _norm(new.C - old.C), max(size["C"], floor)),
        (_norm(new.N - old.N), max(size["N"], floor)),
        (c * _norm(new.rows.l - old.rows.l), max(size["K"], np.sqrt(len(new.rows.l)) * floor)),
    ]
    return max(step / max(scale, 1e-300) for step, scale in steps)


def _norm(A: Array) -> float:
    return float(np.linalg.norm(A))


def observed_variances(X: Array, observed: Array) -> Array:
    """Mean squares of the columns' observed entries (m,), none much smaller than the others."""
    n_observed = np.maximum(observed.sum(axis=0), 1)
    squares = np.where(observed, X, 0.0) ** 2
    floor = 1e-12 + 1e-6 * squares.sum() / n_observed.sum()
    return np.asarray(np.maximum(squares.sum(axis=0) / n_observed, floor))


def initial_model(rows: RowKernel, X: Array, observed: Array, free: FreeParts) -> KroneckerGaussian:
    """Half of each column's observed variance to the rows, half to the columns."""
    m, v = X.shape[1], observed_variances(X, observed)
    level = float(v.mean())
    size = float(rows.diagonal().mean()) or 1.0
    C = np.eye(m) * level / (2 * size) if free.C != "fixed" else np.eye(m)
    N = np.eye(m) * level / 2 if free.noise_only else np.diag(v / 2)
    return KroneckerGaussian(rows, C, N)


# --------------------------------------------------------------------------------------------- kernel width


def median_gamma(D: Array) -> float:
    """One over the median of squared distances D between different samples."""
    off = D[~np.eye(len(D), dtype=bool)]
    return 1.0 / max(float(np.median(off)) if len(off) else 1.0, 1e-300)


def select_gamma(
    features: Array,
    X: Array,
    observed: Array,
    free: FreeParts,
    rng: np.random.Generator,
    start: Callable[[RowKernel, Array, Array], KroneckerGaussian],
) -> tuple[float, KroneckerGaussian, list[tuple[float, float]]]:
    """Width of the RBF row kernel with the greatest marginal likelihood of the observed entries.

    `start` makes the model to begin from out of a row kernel, X and the mask of observed entries.  Returns
    gamma, the model at it (over the sampled rows), and what was tried: (gamma, log-likelihood).
    """
    n = len(features)
    sample = np.sort(rng.choice(n, _MAX_GAMMA_ROWS, replace=False)) if n > _MAX_GAMMA_ROWS else np.arange(n)
    D = squared_distances(features[sample], features[sample])
    unit = median_gamma(D)
    X, observed = X[sample], observed[sample]
    seed = int(rng.integers(2**31))
    tried: dict[float, tuple[float, KroneckerGaussian]] = {}
    latest: list[KroneckerGaussian] = []

    def negative_likelihood(log_gamma: float) -> float:
        rows = RowKernel.from_dense(np.exp(-np.exp(log_gamma) * unit * D))
        model = replace(latest[-1], rows=rows) if latest else start(rows, X, observed)
        if free.any:
            update = MomentUpdate(free, model)
            model = run_em(model, X, observed, update, tol=3e-3, max_iter=40, seed=seed).state.model
        latest.append(model)
        probes = np.random.default_rng(seed)
        likelihood = log_marginal_likelihood(model, X, observed, probes, tol=1e-4)
        tried[np.exp(log_gamma) * unit] = likelihood, model
        return -likelihood

    scipy.optimize.minimize_scalar(
        negative_likelihood, bounds=np.log([0.02, 20.0]), method="bounded", options={"xatol": 0.25}
    )
    gamma = argmin_key({g: -tried[g][0] for g in sorted(tried)})
    return float(gamma), tried[gamma][1], sorted((float(g), t[0]) for g, t in tried.items())
