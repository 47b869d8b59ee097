"""What the estimators share: completing, kernels between samples, kernels given or estimated by EM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
from sklearn.base import TransformerMixin

from absentia.core import (
    Array,
    Estimator,
    Iterative,
    NonNegative,
    Positive,
    PositiveInt,
    RandomState,
    argmin_key,
    clone_without_callbacks,
    estimator,
    make_generator,
)
from absentia.core.optimize import Solution
from absentia.methods.matrix._estimation import EMState, FreeParts, MomentUpdate, Update, run_em
from absentia.methods.matrix._holdout import heldout_curve
from absentia.methods.matrix._inference import Inference
from absentia.methods.matrix._model import KroneckerGaussian
from absentia.methods.matrix._validation import Kernel

Key = TypeVar("Key")

#: Pseudo-observations with which kernels are shrunk where nothing else chooses how much.
_DEFAULT_SHRINKAGE = 2.0


class MatrixImputer(TransformerMixin, Estimator):  # type: ignore[misc]
    """Estimators that complete the matrix they are fitted to."""

    completed_: Array
    heldout_curve_: dict[Any, float]
    random_state: Any
    _seed: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Fit X (n, m), NaN where missing, and return it completed."""
        return self.fit(X).completed_.copy()

    def _reset(self) -> None:
        """Check parameters, forget an earlier fit's choices, draw a seed for all that is random in this."""
        self._check_parameters()
        self.__dict__.pop("heldout_curve_", None)
        self._seed = int(make_generator(self.random_state).integers(2**31))

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self._seed)

    def _select_by_holdout(
        self, X: Array, candidates: Mapping[Key, Mapping[str, Any]], unit: Array | float = 1.0
    ) -> Key:
        """Of several sets of parameters the one that predicts hidden entries best, the first if none can.

        Let the simplest come first: it is taken of those that do equally well.
        """

        def complete(key: Key, part: Array) -> Array:
            trial = clone_without_callbacks(self, random_state=self._seed, **candidates[key])
            return np.asarray(trial.fit(part).completed_)

        self.heldout_curve_ = heldout_curve(X, candidates, complete, seed=self._seed, unit=unit)
        return argmin_key(self.heldout_curve_) if self.heldout_curve_ else next(iter(candidates))


class SampleKernelMixin:
    """Estimators of samples that come as features or, with ``kernel="precomputed"``, as a kernel."""

    kernel: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.target_tags.required = tags.target_tags.multi_output = True
        return tags


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
    shrinkage: NonNegative | Literal["auto"] = "auto"
    nugget: NonNegative = 1e-3
    tol: NonNegative = 2e-3
    max_iter: PositiveInt = 300
    random_state: RandomState = None
    verbose: bool = False

    def _forget(self) -> None:
        """Take away what an earlier fit left and this one may not have."""
        iteration = ("n_iter_", "kernel_changes_", "converged_", "status_")
        chosen = ("gamma_", "gamma_curve_", "label_covariance_curve_")
        for name in (*iteration, *chosen, "log_marginal_likelihood_", "widening_"):
            self.__dict__.pop(name, None)

    def _set_convergence(self, solution: Solution[Any]) -> None:
        super()._set_convergence(solution)
        self.kernel_changes_ = self.__dict__.pop("objective_")

    def _fixed_amplitude(self, rows_given: bool) -> float | None:
        """The number the row kernel is multiplied by; None if it is estimated."""
        if not isinstance(self.amplitude, str):
            return float(self.amplitude)
        both_given = rows_given and not isinstance(self.col_kernel, str)
        return 1.0 if self.amplitude == "auto" and both_given else None

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
        self, start: KroneckerGaussian, X: Array, observed: Array, update: Update, **options: Any
    ) -> Solution[EMState]:
        callback, tol, max_iter = self._make_callback(), self.tol, self.max_iter
        return run_em(start, X, observed, update, tol=tol, max_iter=max_iter, callback=callback, **options)


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
