r"""Estimating the kernels of ``_model.KroneckerGaussian`` by EM.

The paper alternates steps of inference with plugging in ``K1 = FF'/m``, ``K2 = GG'/n``; see below.
With MAP inference that goes up a joint density which has no maximum: within a few rounds one of the two
parts shrinks to nothing.  Here the E-step keeps the posterior covariance,

.. math:: N = E[G'G \mid X_o] / n, \quad C = E[F'K^+F \mid X_o] / r, \quad K_1 = E[FF' \mid X_o] / m,

so that the marginal likelihood of the observed entries rises.  Given the full X, both expectations are
closed in the eigenbases; what the missing entries add comes from their posterior deviations, exact
when there are few, a few posterior draws of fixed noise when there are many.

Estimated kernels are shrunk as by an inverse-Wishart prior of `shrinkage` pseudo-observations at their
starting size; for free `K1` and `N` together the likelihood itself has no maximum without it.  ``K1 + tI``
with ``N - tI`` is the same model: the common part is kept in N (its nugget), where new rows need it.
Columns are centred by their observed means before anything else.

The paper's own way (``estimate="paper"``)
-------------------------------------------
After every step of inference, one F and one G (n, m), the kernels are what these say:

.. math:: K_1 = F F' / m, \qquad K_2 = G' G / n .

By "map" a step solves the Sylvester equation for F (eq. 16) and sets the missing entries to their mode
given F (eq. 17): that goes up a joint density of X, F and the kernels which has no maximum, so one part
shrinks to nothing if it is left to.  By "gibbs" F and the missing entries are draws: an estimate made of
draws has the posterior's variance in it, and neither part need shrink.  The answer is the mean of one
chain, its deviations are the chain's own, and the model has the means of the kernels on its way.

Departures from the paper: a ridge of `nugget` times the variance is added to what is estimated, since
FF'/m is singular with fewer columns than rows and GG'/n next to it once it shrinks.  "map" begins at the
mode under the first kernels, not at random values, which would stay in the kernels for good.  Draws are
those of ``_inference``, F at once and the missing entries of a row at once, not entry by entry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.linalg

from absentia.core import (
    Array,
    Estimator,
    Iterative,
    NonNegative,
    Positive,
    PositiveInt,
    RandomState,
    estimator,
)
from absentia.core.linalg import symmetrize
from absentia.core.optimize import Solution, StoppingRule, iterate
from absentia.methods.matrix._inference import (
    Completion,
    Inference,
    complete_by_gradients,
    condition_rows,
    conditional_mean,
    draw_F,
    infer,
    posterior,
    update_missing,
)
from absentia.methods.matrix._model import KroneckerGaussian, RowKernel, apply_rows
from absentia.methods.matrix._validation import Kernel

#: Up to this many missing entries, the E-step has their whole covariance instead of draws.
_MAX_EXACT_MISSING = 150
#: A kernel that carries less than this fraction of the variance is measured against that fraction.
_MIN_FRACTION = 0.05
#: Pseudo-observations with which kernels are shrunk where nothing else chooses how much.
_DEFAULT_SHRINKAGE = 2.0

#: An M-step: the next model, from this one, X completed (n, m) and posterior deviations (n, k, m).
_Update = Callable[[KroneckerGaussian, Array, Array | None], KroneckerGaussian]


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
    update: _Update,
    *,
    n_draws: int = 2,
    seed: int = 0,
    tol: float = 1e-3,
    precision: float = 1e-3,
    **options: Any,
) -> Solution[EMState]:
    """EM from `start`; X (n, m) is centred.  Stops when the kernels move by less than `tol`, relative.

    `precision` is that of the completions within the loop; each starts from the one before.  `options` are
    those of ``iterate``.
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
    return iterate(step, None, first, stop=stop, **options)


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


# ------------------------------------------------------------------------- kernels inside the inference


@dataclass(frozen=True)
class _PlugInUpdate:
    """The model with FF'/m and GG'/n for the kernels that are free, and a ridge."""

    free: FreeParts
    ridge: float

    def __call__(self, model: KroneckerGaussian, F: Array, G: Array) -> KroneckerGaussian:
        n, m = F.shape
        if self.free.K:
            model = replace(
                model,
                rows=RowKernel.from_dense(F @ np.linalg.solve(model.C, F.T) / m + self.ridge * np.eye(n)),
            )
        return replace(model, N=G.T @ G / n + self.ridge * np.eye(m)) if self.free.N else model


def _alternate_modes(
    start: KroneckerGaussian,
    X: Array,
    observed: Array,
    update: _PlugInUpdate,
    *,
    tol: float,
    **options: Any,
) -> Solution[EMState]:
    """MAP inference and estimates of the kernels in turn, until these move by less than `tol`, relative."""

    def step(state: EMState) -> EMState:
        Z = state.completed[:, None]
        F = state.model.expect_F(Z)
        Z = update_missing(Z, F, condition_rows(state.model, observed))
        model = update(state.model, F[:, 0], (Z - F)[:, 0])
        return EMState(model, Z[:, 0], None, _measure_change(state.model, model))

    first = EMState(start, conditional_mean(start, X, observed, tol=1e-6), None)
    stop = StoppingRule(tol, "the kernels' relative change", lambda state: state.change)
    return iterate(step, None, first, stop=stop, **options)


def _sample_with_kernels(
    start: KroneckerGaussian,
    X: Array,
    observed: Array,
    update: _PlugInUpdate,
    rng: np.random.Generator,
    n_samples: int,
) -> tuple[KroneckerGaussian, Completion]:
    """One chain of F, missing entries and kernels in turn; half as many steps again go before it."""
    model, missing, level = start, ~observed, np.sqrt((X[observed] ** 2).mean())
    Z = np.where(observed, X, level * rng.standard_normal(X.shape))[:, None]
    values = np.empty((1, n_samples, int(missing.sum())))
    K, N = np.zeros((len(X), len(X)) if update.free.K else ()), np.zeros_like(start.N)
    for t in range(-(n_samples // 2), n_samples):
        F = draw_F(model, Z, rng)
        Z = update_missing(Z, F, condition_rows(model, observed), rng)
        model = update(model, F[:, 0], (Z - F)[:, 0])
        if t >= 0:
            values[0, t] = Z[:, 0][missing]
            N += model.N / n_samples
            if update.free.K:
                K += model.rows.to_dense() / n_samples
    rows = RowKernel.from_dense(K) if update.free.K else start.rows
    return replace(start, rows=rows, N=N), Completion.of_draws(X, observed, values)


# ----------------------------------------------------- estimators of models with kernels given or estimated


@estimator
class AdditiveModel(Iterative, Estimator):
    """Models of ``_model``: the parameters they share, and kernels estimated by EM.

    There is no objective: what is watched is how far the kernels move.  Where none is estimated, there are
    no attributes of an iteration.
    """

    _: KW_ONLY
    col_kernel: Literal["estimate"] | Kernel = "estimate"
    amplitude: Positive | Literal["auto", "estimate"] = "auto"
    inference: Inference = "exact"
    estimate: Literal["em", "paper"] = "em"
    shrinkage: NonNegative | Literal["auto"] = "auto"
    nugget: NonNegative = 1e-3
    tol: NonNegative = 2e-3
    max_iter: PositiveInt = 300
    random_state: RandomState = None
    verbose: bool = False

    def _check(self) -> None:
        if self.estimate == "em":
            return
        if self.inference == "exact":
            raise ValueError(
                "estimate='paper' is part of the paper's inference, a step of one for a step of the other; "
                "ask for inference='map' or 'gibbs' too"
            )
        if self.shrinkage != "auto" or self.amplitude == "estimate":
            raise ValueError(
                "estimate='paper' has no prior and estimates no amplitude; leave shrinkage and amplitude "
                "at 'auto', or give the amplitude as a number"
            )

    def _forget(self) -> None:
        """Take away what an earlier fit left and this one may not have."""
        iteration = ("n_iter_", "kernel_changes_", "converged_", "status_")
        chosen = ("gamma_", "gamma_curve_", "label_covariance_curve_")
        for name in (*iteration, *chosen, "log_marginal_likelihood_", "hidden_ratios_", "widening_"):
            self.__dict__.pop(name, None)

    def _set_convergence(self, solution: Solution[Any]) -> None:
        super()._set_convergence(solution)
        self.kernel_changes_ = self.__dict__.pop("objective_")

    def _fixed_amplitude(self, rows_given: bool) -> float | None:
        """The number the row kernel is multiplied by; None if it is estimated."""
        if not isinstance(self.amplitude, str):
            return float(self.amplitude)
        both_given = rows_given and not isinstance(self.col_kernel, str)
        return 1.0 if self.estimate == "paper" or (self.amplitude == "auto" and both_given) else None

    def _estimate(
        self,
        start: KroneckerGaussian,
        X: Array,
        observed: Array,
        free: FreeParts,
        *,
        nugget: float,
        seed: int,
    ) -> KroneckerGaussian:
        """The model with its free parts estimated from `start` on."""
        if not free.any:
            return start
        shrinkage = _DEFAULT_SHRINKAGE if isinstance(self.shrinkage, str) else self.shrinkage
        solution = self._run_em(start, X, observed, MomentUpdate(free, start, shrinkage, nugget), seed=seed)
        self._set_convergence(solution)
        return solution.state.model

    def _run_em(
        self, start: KroneckerGaussian, X: Array, observed: Array, update: _Update, **options: Any
    ) -> Solution[EMState]:
        return run_em(start, X, observed, update, **self._iteration(), **options)

    def _iteration(self) -> dict[str, Any]:
        return {"tol": self.tol, "max_iter": self.max_iter, "callback": self._make_callback()}

    def _infer(
        self,
        model: KroneckerGaussian,
        X: Array,
        observed: Array,
        n_samples: int,
        rng: np.random.Generator,
        free: FreeParts,
    ) -> tuple[KroneckerGaussian, Completion]:
        """X (n, m) completed, by the paper's way with the free kernels estimated meanwhile."""
        if self.estimate == "em" or not free.any:
            return model, infer(model, X, observed, self.inference, n_samples, rng)
        update = _PlugInUpdate(free, max(self.nugget * float((X[observed] ** 2).mean()), 1e-12))
        if self.inference == "gibbs":
            return _sample_with_kernels(model, X, observed, update, rng, n_samples)
        solution = _alternate_modes(model, X, observed, update, **self._iteration())
        self._set_convergence(solution)
        return solution.state.model, Completion(solution.state.completed, {})


@dataclass(frozen=True)
class GivenParts:
    """The column kernel N and the amplitude, in the units of the matrix; None where they are estimated.

    The model is of the matrix divided by `scale`; what is given is divided alike, so that it means the
    same.
    """

    N: Array | None
    scale: Array
    amplitude: float | None

    def permute(self, order: Array) -> GivenParts:
        """The same with columns in another order."""
        N = None if self.N is None else self.N[np.ix_(order, order)]
        return GivenParts(N, self.scale[order], self.amplitude)

    def insert(self, model: KroneckerGaussian, free: FreeParts) -> KroneckerGaussian:
        """`model` with what is given put in."""
        if self.N is not None:
            model = replace(model, N=self.N / np.multiply.outer(self.scale, self.scale))
        if free.C == "free":
            return model
        # one amplitude for all columns in the units of the matrix
        unit = np.diag(self.scale**-2.0)
        if self.amplitude is not None:
            return replace(model, C=self.amplitude * unit)
        if self.N is not None:
            return replace(model, C=unit * float(np.trace(model.C) / np.trace(unit)))
        return model
