r"""Kernels estimated inside the inference, as the paper has it (``estimate="paper"``).

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

from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

import numpy as np

from absentia.core import Array, estimator
from absentia.core.optimize import Callback, Solution, StoppingRule, iterate
from absentia.methods.matrix._conditional_mean import conditional_mean
from absentia.methods.matrix._estimation import AdditiveModel, EMState, FreeParts, measure_change
from absentia.methods.matrix._inference import Completion, condition_rows, draw_F, infer, update_missing
from absentia.methods.matrix._model import KroneckerGaussian, RowKernel


@dataclass(frozen=True)
class PlugInUpdate:
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


def alternate_modes(
    start: KroneckerGaussian,
    X: Array,
    observed: Array,
    update: PlugInUpdate,
    *,
    tol: float,
    max_iter: int,
    callback: Callback | None = None,
) -> Solution[EMState]:
    """MAP inference and estimates of the kernels in turn, until these move by less than `tol`, relative."""

    def step(state: EMState) -> EMState:
        Z = state.completed[:, None]
        F = state.model.expect_F(Z)
        Z = update_missing(Z, F, condition_rows(state.model, observed))
        model = update(state.model, F[:, 0], (Z - F)[:, 0])
        return EMState(model, Z[:, 0], None, measure_change(state.model, model))

    first = EMState(start, conditional_mean(start, X, observed, tol=1e-6), None)
    stop = StoppingRule(tol, "the kernels' relative change", lambda state: state.change)
    return iterate(step, None, first, stop=stop, max_iter=max_iter, callback=callback)


def sample_with_kernels(
    start: KroneckerGaussian,
    X: Array,
    observed: Array,
    update: PlugInUpdate,
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


@estimator
class PlugInModel(AdditiveModel):
    """Models that have the paper's estimate of the kernels beside EM."""

    _: KW_ONLY
    estimate: Literal["em", "paper"] = "em"

    def _check(self) -> None:
        super()._check()
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

    def _fixed_amplitude(self, rows_given: bool) -> float | None:
        if self.estimate == "paper" and isinstance(self.amplitude, str):
            return 1.0
        return super()._fixed_amplitude(rows_given)

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
        update = PlugInUpdate(free, max(self.nugget * float((X[observed] ** 2).mean()), 1e-12))
        if self.inference == "gibbs":
            return sample_with_kernels(model, X, observed, update, rng, n_samples)
        solution = alternate_modes(
            model, X, observed, update, tol=self.tol, max_iter=self.max_iter, callback=self._make_callback()
        )
        self._set_convergence(solution)
        return solution.state.model, Completion(solution.state.completed, {})
