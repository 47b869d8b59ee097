"""A matrix with missing entries, completed by probabilistic matrix addition.

The model is in ``_model``, inference in ``_inference``, estimation in ``_estimation`` and ``_evidence``;
units of the columns and the choice of a row kernel are in ``_holdout``.

Rows and columns are put in their canonical order (``absentia.data.order_tables``) before anything else, and
back at the end: no answer depends on the order in which they came.

Departures from the paper: kernels by EM with posterior covariance instead of plug-in; one kernel alone is
estimated with a prior whose strength has the greatest marginal likelihood (``_evidence``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from absentia.core import (
    Array,
    PositiveInt,
    argmin_key,
    clone_without_callbacks,
    estimator,
    get_parameters,
    limit_threads_if_small,
    serializable,
    warn,
)
from absentia.core.linalg import invert_permutation
from absentia.data import AbsenceWarning, OrderTable, order_tables
from absentia.methods.matrix._estimation import (
    AdditiveModel,
    FreeParts,
    GivenParts,
    initial_model,
    observed_variances,
)
from absentia.methods.matrix._evidence import EvidenceUpdate, RowKernelUpdate, propose_updates
from absentia.methods.matrix._holdout import (
    MatrixImputer,
    calibrate_deviations,
    column_scale,
    measure_ratios,
)
from absentia.methods.matrix._inference import (
    complete_unrelated_rows,
    draw_posterior,
    log_marginal_likelihood,
    posterior_variance,
)
from absentia.methods.matrix._model import MAX_DENSE_ROWS, KroneckerGaussian, RowKernel
from absentia.methods.matrix._validation import (
    Kernel,
    get_names,
    read_column_kernel,
    read_gaps,
    read_kernel,
    read_numbers,
)

#: Posterior draws behind each E-step, where there are too many missing entries for the exact one.
_N_DRAWS = 4


@serializable
@dataclass(frozen=True)
class _ScaledMatrix:
    """A matrix in units of `scale`, centred, and its observed entries, in the canonical order of both axes.

    `mean` is in units of `scale`, and like it in the order in which columns came.
    """

    X: Array
    observed: Array
    rows: Array
    columns: Array
    mean: Array
    scale: Array

    @classmethod
    def from_array(
        cls, X: Array, scale: Array, center: bool, kernels: Sequence[OrderTable]
    ) -> _ScaledMatrix:
        observed, X = ~np.isnan(X), X / scale
        rows, columns = order_tables(X.shape, [(X, (0, 1)), *kernels])
        mean = np.nanmean(X, axis=0) if center else np.zeros(X.shape[1])
        grid = np.ix_(rows, columns)
        return cls(np.where(observed, X - mean, 0.0)[grid], observed[grid], rows, columns, mean, scale)

    def restore_order(self, Z: Array) -> Array:
        """Z (..., n, m) in the order in which rows and columns came, in the units of the matrix."""
        return (
            Z[..., invert_permutation(self.rows)[:, None], invert_permutation(self.columns)[None, :]]
            * self.scale
        )

    def restore(self, Z: Array) -> Array:
        """The same with means added again."""
        return self.restore_order(Z + self.mean[self.columns])


@estimator
class PMAImputer(OneToOneFeatureMixin, MatrixImputer, AdditiveModel):  # type: ignore[misc]
    """Complete a matrix whose rows are alike and whose columns are alike.

    Parameters
    ----------
    row_kernel : "heldout", "estimate", "none" or array (n, n), default "heldout"
        Covariance between rows, in the units of the matrix; "none" takes rows as unrelated.  "heldout"
        hides a tenth of the observed entries and takes "estimate" or "none", whichever predicts them
        better, and with no more rows than columns also tries an estimated one with unrelated columns;
        "none" where there are too few entries to tell, and beyond 4000 rows.
    col_kernel : "estimate", "none" or array (m, m), default "estimate"
        Covariance between columns, in the units of the matrix.  Where one is given and no row kernel is,
        "heldout" also tries a column kernel that is estimated and shrunk towards the given one.  "none",
        beside ``row_kernel="estimate"``, takes columns as unrelated.
    standardize : "auto" or bool, default "auto"
        Divide columns by their standard deviations inside, so that their units do not matter.  Results are
        in the units of the matrix.  "auto" does unless a column kernel is given.  What is given is divided
        alike: with both kernels given this changes no answer.
    amplitude : "auto", "estimate" or float, default "auto"
        What a row kernel that is given is multiplied by.  "auto" estimates it as long as the column kernel
        is estimated; if both are given, they stay as they are.  If only a column kernel is given, a number
        multiplies that, and "estimate" with ``row_kernel="none"`` estimates a column kernel and shrinks it
        towards the given one as far as the marginal likelihood says.
    inference : {"exact", "map", "gibbs"}, default "exact"
        For fixed kernels all three have one answer, the last with Monte-Carlo error.  After "gibbs",
        standard deviations are those of the draws.
    estimate : {"em", "paper"}, default "em"
        How kernels are estimated that are not given.  "paper" is the paper's own way, in turn with the
        steps of "map" or "gibbs" inference and without a prior; it relates rows unless ``row_kernel`` is
        "none".  By "map" one of the two parts then shrinks to nothing; by "gibbs" `model_` has the chain's
        mean kernels.
    n_samples : int, default 500
        Draws behind the standard deviations (and of each Gibbs chain) where there are too many missing
        entries for the exact ones.
    shrinkage : "auto" or float, default "auto"
        Pseudo-observations with which estimated kernels are shrunk towards a simple one.  "auto" chooses by
        marginal likelihood where one kernel is estimated, beside one that is given or alone, and is 2 where
        both are.
    nugget : float, default 1e-3
        Least eigenvalue of an estimated column kernel, relative to the entries' variance.
    center : bool, default True
        Remove the columns' observed means.
    tol, max_iter : float and int
        Estimation stops when kernels move by less than `tol` (relative).
    random_state : int, Generator, RandomState or None, default None
        Of draws and of the entries that "heldout" hides.  None: the fixed seed 0.
    verbose : bool, default False
        Write a line to stderr every other second, and one at the end.

    Attributes
    ----------
    model_ : absentia.methods.matrix._model.KroneckerGaussian
        In the units of the matrix.
    completed_ : ndarray (n, m)
    mean_, scale_ : ndarray (m,)
        Means that were removed, and what the columns were divided by.
    row_kernel_ : {"estimate", "none", "given"}
        Which row kernel is used.
    col_kernel_ : {"estimate", "none", "given"}
        Which column kernel is used.
    rows_ : str
        Which row kernel and why, in a sentence.
    heldout_curve_ : dict
        Root mean square error of the hidden entries, in units of `scale_`, without a row kernel ("none"),
        with an estimated one ("estimate"), with that alone ("alone"), and with a column kernel shrunk
        towards the given one ("shrunk"); for ``row_kernel="heldout"``.
    hidden_ratios_ : tuple of arrays of shape (n_hidden,)
        Of observed entries that were hidden for the purpose: the row, numbered in the canonical order, and
        the error in the model's own standard deviations.  Empty where no kernel is estimated.
    widening_ : float
        What standard deviations are multiplied by so that 95 % intervals cover 95 % of entries hidden for
        the purpose; 1 where no kernel is estimated.
    diagnostics_ : dict
        After Gibbs sampling, the worst `r_hat` (should be near 1) and `effective_sample_size`.
    log_marginal_likelihood_ : float
        Of the observed entries, under the fitted kernels; estimated when more than 1000 are missing.
    n_iter_, kernel_changes_, converged_, status_ : int, ndarray, bool, str
        Steps of EM, how far the kernels moved in each (relative), and how it ended.  Absent if no kernel
        was estimated.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((30, 1)) + rng.standard_normal((1, 4)) + 0.1 * rng.standard_normal((30, 4))
    >>> gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    >>> filled = PMAImputer().fit_transform(gaps)
    >>> bool(np.abs(filled - X).max() < 0.6)
    True
    """

    _: KW_ONLY
    row_kernel: Literal["heldout", "estimate", "none"] | Kernel = "heldout"
    col_kernel: Literal["estimate", "none"] | Kernel = "estimate"
    standardize: bool | Literal["auto"] = "auto"
    n_samples: PositiveInt = 500
    center: bool = True

    @property
    def scale_equivariant(self) -> bool:
        """Whether the units of columns do not matter: they are standardized and no kernel is given."""
        given = not (isinstance(self.row_kernel, str) and isinstance(self.col_kernel, str))
        return bool(self.standardize) and not given

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose and estimate what is to be, and complete X (n, m), NaN where missing."""
        self._reset()
        self._forget()
        row_names, column_names = get_names(X, 0), get_names(X, 1)
        X = read_gaps(self, X)
        K1 = self._read_row_kernel(len(X), row_names)
        K2 = read_column_kernel(self.col_kernel, X.shape[1], column_names)
        standardize = K2 is None if self.standardize == "auto" else self.standardize
        self.scale_ = column_scale(X) if standardize else np.ones(X.shape[1])
        kernels = [(K, (axis, axis)) for axis, K in enumerate((K1, K2)) if K is not None]
        matrix = _ScaledMatrix.from_array(X, self.scale_, self.center, kernels)
        with limit_threads_if_small(max(X.shape)):
            mode, self.rows_ = self._choose_mode(X)
            self.row_kernel_ = {"alone": "estimate", "shrunk": "none"}.get(mode, mode)
            self.col_kernel_ = "none" if mode == "alone" else "estimate" if K2 is None else "given"
            model = self._fit_model(matrix, K1, K2, mode)
            free = FreeParts("fixed", N=K2 is None, K=self.row_kernel_ == "estimate")
            model, completion = self._infer(
                model, matrix.X, matrix.observed, self.n_samples, self._rng(), free
            )
        full, self.diagnostics_, self._draw_std = completion
        self._X, self._matrix, self._model = X, matrix, model
        self.mean_ = matrix.mean * self.scale_
        original = model.permute(invert_permutation(matrix.rows), invert_permutation(matrix.columns))
        self.model_ = original.rescale_columns(self.scale_)
        self.completed_ = np.where(np.isnan(X), matrix.restore(full), X)
        return self

    def transform(self, X: Any) -> Array:
        """The training matrix completed; other rows completed from their own entries.

        The row kernel says nothing of rows that were not in the fit: they are completed by the columns'
        covariance, with the row part's variance as noise.
        """
        return np.asarray(self.predict(X))

    def predict(self, X: Any = None, return_std: bool = False) -> Any:
        """The completed training matrix, or other rows as in :meth:`transform`.

        With `return_std` also standard deviations (observed: 0).  The model's own take estimated kernels
        for true; they are multiplied by ``widening_``, for which the fit is repeated up to three times the
        first time they are asked for.  Those of other rows only where rows are taken as unrelated.
        """
        check_is_fitted(self, "completed_")
        if X is not None:
            X = read_numbers(self, X, fit=False, gaps=True)
            if not np.array_equal(X, self._X, equal_nan=True):
                mean, std = self._complete_new_rows(X)
                if return_std and self.row_kernel_ == "none":  # then rows of the fit are no different
                    std = std * self.widening_
                return (mean, std) if return_std else mean
        mean = self.completed_.copy()
        return (mean, self._std() * self.widening_) if return_std else mean

    def sample(self, n_samples: int = 1) -> Array:
        """Independent draws of the completed matrix, (n_samples, n, m), as wide as deviations are."""
        check_is_fitted(self, "completed_")
        get_parameters(self)["n_samples"].check(n_samples, type(self).__name__)
        matrix = self._matrix
        draws = matrix.restore(
            draw_posterior(self._model, matrix.X, matrix.observed, self._rng(), n_samples)
        )
        draws = self.completed_ + (draws - self.completed_) * self.widening_
        return np.where(np.isnan(self._X), draws, self._X)

    @cached_property
    def hidden_ratios_(self) -> tuple[Array, Array]:
        check_is_fitted(self, "completed_")
        if not hasattr(self, "kernel_changes_"):
            return np.zeros(0, dtype=int), np.zeros(0)  # no kernel was estimated
        fixed = self._chosen_parameters() | {"random_state": self._seed}
        if self.estimate == "em":  # for fixed kernels all have one answer
            fixed |= {"inference": "exact"}

        def predict(X: Array) -> tuple[Array, Array]:
            part = clone_without_callbacks(self, **fixed).fit(X)
            return part.completed_, part._std()

        with limit_threads_if_small(max(self._X.shape)):
            return measure_ratios(self._X, predict, seed=self._seed, unit=column_scale(self._X))

    @cached_property
    def widening_(self) -> float:
        check_is_fitted(self, "completed_")
        return calibrate_deviations(self.hidden_ratios_[1]) if hasattr(self, "kernel_changes_") else 1.0

    def _chosen_parameters(self) -> dict[str, Any]:
        """Parameters with which what was chosen is fitted without choosing."""
        if not isinstance(self.row_kernel, str):
            return {}
        columns = {"col_kernel": "none"} if self.col_kernel_ == "none" else {}
        shrunk = self.col_kernel_ == "given" and self.row_kernel_ == "none"
        return {"row_kernel": self.row_kernel_, **columns, **({"amplitude": "estimate"} if shrunk else {})}

    @cached_property
    def log_marginal_likelihood_(self) -> float:
        check_is_fitted(self, "completed_")
        matrix = self._matrix
        value = log_marginal_likelihood(self._model, matrix.X, matrix.observed, self._rng())
        # a density: dividing by the scale multiplied it
        return value - float((matrix.observed * np.log(self.scale_[matrix.columns])).sum())

    def _std(self) -> Array:
        if self._draw_std is not None:
            return self._matrix.restore_order(self._draw_std)
        variance = posterior_variance(self._model, self._matrix.observed, self._rng(), self.n_samples)
        return self._matrix.restore_order(np.sqrt(np.maximum(variance, 0.0)))

    def _complete_new_rows(self, X: Array) -> tuple[Array, Array]:
        """Rows completed from their own entries, and standard deviations."""
        model, matrix = self._model, self._matrix
        order = invert_permutation(matrix.columns)
        S = (model.N + model.C * float(model.rows.diagonal().mean()))[np.ix_(order, order)]
        full, std = complete_unrelated_rows(S, X / matrix.scale - matrix.mean)
        return np.where(np.isnan(X), (full + matrix.mean) * matrix.scale, X), std * matrix.scale

    # ------------------------------------------------------------------------------- which kernels are used

    def _check(self) -> None:
        super()._check()
        words = isinstance(self.row_kernel, str) and isinstance(self.col_kernel, str)
        if words and self.amplitude != "auto":
            raise ValueError(
                f"amplitude={self.amplitude!r} is that of a kernel that is given; with "
                f"row_kernel={self.row_kernel!r} and col_kernel={self.col_kernel!r} leave it at 'auto'"
            )
        alone = words and self.row_kernel == "estimate" and self.estimate == "em"
        if self._columns_unrelated() and not alone:
            raise ValueError(
                "col_kernel='none' (unrelated columns) is for row_kernel='estimate' and estimate='em'; ask "
                "for those"
            )

    def _estimates_rows(self) -> bool:
        """Whether a row kernel is estimated without trying one and none; the paper chooses nothing."""
        word = self.row_kernel if isinstance(self.row_kernel, str) else ""
        return word == "estimate" or (word == "heldout" and self.estimate == "paper")

    def _columns_unrelated(self) -> bool:
        return isinstance(self.col_kernel, str) and self.col_kernel == "none"

    def _read_row_kernel(self, n: int, names: Array | None) -> Array | None:
        """The row kernel that is given, if it is; refuse to estimate one that is too large."""
        if not isinstance(self.row_kernel, str):
            return read_kernel(self.row_kernel, "row_kernel", n, names, "heldout")
        if self._estimates_rows() and n > MAX_DENSE_ROWS:
            raise ValueError(
                f"row_kernel='estimate' with {n} rows needs {n}x{n} numbers; give one, take 'none', or use "
                "PMARegressor on features of the rows"
            )
        return None

    def _choose_mode(self, X: Array) -> tuple[str, str]:
        """How rows and columns are related, and why, in a sentence.

        Rows: "given", "estimate" or "none"; "alone" is an estimated row kernel with unrelated columns,
        "shrunk" no row kernel and an estimated column kernel that is shrunk towards the given one.
        """
        n, m = X.shape
        if not isinstance(self.row_kernel, str):
            amplitude = "; its amplitude was estimated" if self._fixed_amplitude(True) is None else ""
            return "given", f"as given{amplitude}"
        columns_given = not isinstance(self.col_kernel, str)
        unrelated = "shrunk" if columns_given and self.amplitude == "estimate" else "none"
        if self.row_kernel == "none":
            return unrelated, "none: rows are taken as unrelated"
        if self.row_kernel == "estimate" and self._columns_unrelated():
            return "alone", f"estimated ({n} × {n}), columns taken as unrelated"
        if self._estimates_rows():
            return "estimate", f"estimated ({n} × {n})"
        if n > MAX_DENSE_ROWS:
            warn(
                f"{n} rows are too many to estimate how they are related (at most {MAX_DENSE_ROWS}): taken "
                "as unrelated; to relate them, give row_kernel (on the command line, in an .npz file)",
                AbsenceWarning,
            )
            why = f"none, as {n} rows are too many to estimate one: rows are taken as unrelated"
            return unrelated, why
        candidates = {word: {"row_kernel": word, "inference": "exact"} for word in ("none", "estimate")}
        if columns_given and self.amplitude == "auto":
            candidates["shrunk"] = candidates["none"] | {"amplitude": "estimate"}
        elif not columns_given and n <= m:
            candidates["alone"] = candidates["estimate"] | {"col_kernel": "none"}
        self._select_by_holdout(X, candidates, self.scale_)
        mode, why = _explain_choice(n, self.heldout_curve_)
        return unrelated if mode == "none" else mode, why

    def _fit_model(
        self, matrix: _ScaledMatrix, K1: Array | None, K2: Array | None, mode: str
    ) -> KroneckerGaussian:
        """The model with the kernels that are given, and the others estimated; in the canonical order."""
        X, observed = matrix.X, matrix.observed
        amplitude = self._fixed_amplitude(True) if K1 is not None else None
        scaled = K1 is not None and amplitude is None
        if K1 is None and K2 is not None and not isinstance(self.amplitude, str):
            K2 = K2 * self.amplitude
        free = FreeParts("scale" if scaled else "fixed", N=K2 is None, K=self.row_kernel_ == "estimate")
        variances = observed_variances(X, observed)
        level = float(variances.mean())
        nugget = self.nugget * level
        if mode == "alone":
            strength = None if isinstance(self.shrinkage, str) else self.shrinkage
            update = RowKernelUpdate(level, nugget, strength)
            return self._fit_by_evidence([(update.start(*X.shape), update)], X, observed)
        rows = self._initial_rows(matrix, K1, level)
        start = initial_model(rows, X, observed, free)
        start = GivenParts(K2, matrix.scale, amplitude).permute(matrix.columns).insert(start, free)
        if self.estimate == "paper":
            return start
        if mode == "shrunk":
            proposals = propose_updates(start, variances, nugget, kernel=start.N)
            return self._fit_by_evidence(proposals, X, observed)
        if K2 is None and self.shrinkage == "auto" and mode != "estimate":
            proposals = propose_updates(start, variances, nugget, free=scaled)
            return self._fit_by_evidence(proposals, X, observed)
        return self._estimate(start, X, observed, free, nugget=nugget, seed=self._seed)

    def _initial_rows(self, matrix: _ScaledMatrix, K1: Array | None, level: float) -> RowKernel:
        """The row kernel to begin from."""
        n = len(matrix.X)
        if K1 is None:
            estimated = self.row_kernel_ == "estimate"
            return RowKernel(np.eye(n), np.full(n, level / 2)) if estimated else RowKernel.zero(n)
        return RowKernel.from_dense(K1[np.ix_(matrix.rows, matrix.rows)])

    def _fit_by_evidence(
        self,
        candidates: Sequence[tuple[KroneckerGaussian, EvidenceUpdate | RowKernelUpdate]],
        X: Array,
        observed: Array,
    ) -> KroneckerGaussian:
        """Of several models the one with the greatest bound on the marginal likelihood."""
        solutions = []
        for start, update in candidates:
            solution = self._run_em(start, X, observed, update, seed=self._seed, n_draws=_N_DRAWS)
            bound = 0.0
            if len(candidates) > 1 and isinstance(update, EvidenceUpdate):
                bound = update.bound_likelihood(solution.state, X, observed, self._rng())
            solutions.append((bound, solution))
        best = max(solutions, key=lambda pair: pair[0])[1]
        self._set_convergence(best)
        return best.state.model


def _explain_choice(n: int, curve: Mapping[str, float]) -> tuple[str, str]:
    """The key of ``PMAImputer.heldout_curve_`` that predicts hidden entries best, and why in a sentence."""
    if not curve:
        return "none", "none, as there are too few entries to tell: rows are taken as unrelated"
    best = argmin_key(curve)
    error = curve[best]
    if best == "alone":
        others = min(value for key, value in curve.items() if key != "alone")
        return best, (
            f"estimated ({n} × {n}), columns taken as unrelated; on hidden entries RMSE {error:.3g}, and "
            f"{others:.3g} otherwise"
        )
    if best == "estimate":
        return best, (
            f"estimated ({n} × {n}); on hidden entries RMSE {error:.3g}, and {curve['none']:.3g} without "
            "one"
        )
    rows = "rows taken as unrelated" + (", columns shrunk to the given kernel," if best == "shrunk" else "")
    return best, (
        f"none: on hidden entries, {rows} have RMSE {error:.3g}, and {curve['estimate']:.3g} with an "
        "estimated one"
    )
