"""What the estimators share: completing, samples with a kernel between them, kernels estimated by EM."""

from collections.abc import Mapping
from dataclasses import KW_ONLY
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
    Solution,
    estimator,
    generator,
    least,
    parameters_of,
    unwatched,
)
from absentia.methods.matrix import _estimate as estimate
from absentia.methods.matrix._checks import Kernel
from absentia.methods.matrix._completing import heldout_curve
from absentia.methods.matrix._inference import Inference
from absentia.methods.matrix._model import Addition

Key = TypeVar("Key")

#: Pseudo-observations with which kernels are shrunk where nothing else chooses how much.
SHRINKAGE = 2.0


class Completing(TransformerMixin, Estimator):  # type: ignore[misc]
    """Estimators that complete what they are fitted to."""

    completed_: Array
    heldout_curve_: dict[Any, float]
    random_state: Any
    _seed: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """What was fitted to, completed."""
        return self.fit(X).completed_.copy()

    def _start_afresh(self) -> None:
        """Check parameters, forget an earlier fit's choices, draw a seed for all that is random in this."""
        self._check_parameters()
        self.__dict__.pop("heldout_curve_", None)
        self._seed = int(generator(self.random_state).integers(2**31))

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self._seed)

    def _check_draws(self, n: Any) -> None:
        """A number of draws is one as the parameter `n_samples` is."""
        parameters_of(self)["n_samples"].check(n, type(self).__name__)

    def _by_hiding(
        self, X: Array, candidates: Mapping[Key, Mapping[str, Any]], unit: Array | float = 1.0
    ) -> Key:
        """Of several sets of parameters the one that predicts hidden entries best, the first if none can.

        Let the simplest come first: it is taken of those that do equally well.
        """

        def complete(key: Key, part: Array) -> Array:
            trial = unwatched(self, random_state=self._seed, **candidates[key])
            return np.asarray(trial.fit(part).completed_)

        self.heldout_curve_ = heldout_curve(X, candidates, complete, seed=self._seed, unit=unit)
        return least(self.heldout_curve_) if self.heldout_curve_ else next(iter(candidates))


class OfSamples:
    """Estimators of samples that come as features or, with ``kernel="precomputed"``, as a kernel."""

    kernel: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.target_tags.required = tags.target_tags.multi_output = True
        return tags


@estimator
class Additive(Iterative, Estimator):
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

    def _record(self, solution: Solution[Any]) -> None:
        super()._record(solution)
        self.kernel_changes_ = self.__dict__.pop("objective_")

    def _estimated(
        self, start: Addition, X: Array, seen: Array, what: estimate.What, *, nugget: float, seed: int
    ) -> Addition:
        """The model with its kernels estimated from `start` on, as far as they are."""
        if not what.any:
            return start
        shrinkage = SHRINKAGE if isinstance(self.shrinkage, str) else self.shrinkage
        solution = self._em(start, X, seen, what, shrinkage=shrinkage, nugget=nugget, seed=seed)
        self._record(solution)
        return solution.state.model

    def _em(
        self, start: Addition, X: Array, seen: Array, what: estimate.What, **options: Any
    ) -> Solution[estimate.Fit]:
        watch, tol, most = self._watch(), self.tol, self.max_iter
        return estimate.learn(start, X, seen, what, tol=tol, max_iter=most, callback=watch, **options)
