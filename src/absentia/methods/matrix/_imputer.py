"""A matrix with missing entries, completed by probabilistic matrix addition.

The model is in ``_model``, inference in ``_inference``, estimation in ``_estimate``; units of the columns
and the choice of a row kernel are in ``_completing``.

Rows and columns are put in the order of ``_order`` before anything else, and back at the end: no answer
depends on the order in which they came.

Departures from the paper: kernels by EM with posterior covariance instead of plug-in; one kernel alone is
estimated with a prior whose strength has the greatest marginal likelihood (``_evidence``, ``_alone``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from absentia.core import Array, PositiveInt, estimator, inverse, serializable, suited_to, unwatched, warn
from absentia.data import AbsenceWarning, Table, canonical
from absentia.methods.matrix import _checks as checks
from absentia.methods.matrix._alone import RowsAlone, chosen_kernels
from absentia.methods.matrix._base import Additive, Completing
from absentia.methods.matrix._checks import Kernel
from absentia.methods.matrix._completing import column_scale, widening
from absentia.methods.matrix._estimate import What, starting
from absentia.methods.matrix._evidence import DRAWS, Shrinking, Target, beside
from absentia.methods.matrix._given import Given, fixed_amplitude, read_column_kernel
from absentia.methods.matrix._inference import infer
from absentia.methods.matrix._likelihood import log_marginal
from absentia.methods.matrix._mean import few
from absentia.methods.matrix._mode import conditionals, missing_given_rows
from absentia.methods.matrix._model import MANY, Addition, GivenRows, RowKernel
from absentia.methods.matrix._spread import draws, variance


@serializable
@dataclass(frozen=True)
class Problem:
    """A matrix in units of `scale`, centred, who is observed, and the order of ``_order`` they are in.

    `mean` is in units of `scale`, and like it in the order in which columns came.
    """

    X: Array
    seen: Array
    rows: Array
    columns: Array
    mean: Array
    scale: Array

    @classmethod
    def of(cls, X: Array, scale: Array, center: bool, kernels: Sequence[Table]) -> Problem:
        seen, X = ~np.isnan(X), X / scale
        rows, columns = canonical(X.shape, [(X, (0, 1)), *kernels])
        mean = np.nanmean(X, axis=0) if center else np.zeros(X.shape[1])
        grid = np.ix_(rows, columns)
        return cls(np.where(seen, X - mean, 0.0)[grid], seen[grid], rows, columns, mean, scale)

    def back(self, Z: Array) -> Array:
        """Z (..., n, m) in the order in which rows and columns came, in the units of the matrix."""
        return Z[..., inverse(self.rows)[:, None], inverse(self.columns)[None, :]] * self.scale

    def restored(self, Z: Array) -> Array:
        """The same with means put back."""
        return self.back(Z + self.mean[self.columns])


@estimator
class PMAImputer(OneToOneFeatureMixin, Completing, Additive):  # type: ignore[misc]
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
        "heldout" also tries a column kernel that is estimated and drawn towards the given one.  "none",
        beside ``row_kernel="estimate"``, takes columns as unrelated.
    standardize : "auto" or bool, default "auto"
        Divide columns by their standard deviations inside, so that their units do not matter.  Results are
        in the units of the matrix.  "auto" does unless a column kernel is given.  What is given is divided
        alike: with both kernels given this changes no answer.
    amplitude : "auto", "estimate" or float, default "auto"
        What a row kernel that is given is multiplied by.  "auto" estimates it as long as the column kernel
        is estimated; if both are given, they stay as they are.  If only a column kernel is given, a number
        multiplies that, and "estimate" with ``row_kernel="none"`` estimates a column kernel and draws it
        towards the given one as far as the marginal likelihood says.
    inference : {"exact", "map", "gibbs"}, default "exact"
        For fixed kernels all three have one answer, the last with Monte-Carlo error.
    n_samples : int, default 500
        Draws behind the standard deviations (and of each Gibbs chain) where there are too many missing
        entries for the exact ones.
    shrinkage : "auto" or float, default "auto"
        Pseudo-observations with which estimated kernels are drawn towards a simple one.  "auto" chooses by
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
    model_ : absentia.methods.matrix._model.Addition
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
        with an estimated one ("estimate") and with that alone ("alone"); for ``row_kernel="heldout"``.
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

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose and estimate what is to be, and complete X (n, m), NaN where missing."""
        self._start_afresh()
        self._forget()
        names = checks.names_of(X, 0), checks.names_of(X, 1)
        X = checks.read_gaps(self, X)
        K1 = self._given_rows(len(X), names[0])
        K2 = read_column_kernel(self.col_kernel, X.shape[1], names[1])
        standardize = K2 is None if self.standardize == "auto" else self.standardize
        self.scale_ = column_scale(X) if standardize else np.ones(X.shape[1])
        kernels = [(K, (a, a)) for a, K in enumerate((K1, K2)) if K is not None]
        problem = Problem.of(X, self.scale_, self.center, kernels)
        with suited_to(max(X.shape)):
            self.row_kernel_, self.rows_, how = self._choose_rows(X)
            self.col_kernel_ = "none" if how == "alone" else "estimate" if K2 is None else "given"
            model = self._model(problem, K1, K2, how)
            full, self.diagnostics_ = infer(
                model, problem.X, problem.seen, self.inference, self.n_samples, self._rng()
            )
        self._X, self._problem, self._ordered = X, problem, model
        self.mean_ = problem.mean * self.scale_
        self.model_ = model.permuted(inverse(problem.rows), inverse(problem.columns)).stretched(self.scale_)
        self.completed_ = np.where(np.isnan(X), problem.restored(full), X)
        return self

    def transform(self, X: Any) -> Array:
        """The training matrix completed; other rows completed from their own entries.

        The row kernel says nothing of rows it has not seen: they are completed by the columns'
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
            X = checks.read_table(self, X, fit=False, gaps=True)
            if not np.array_equal(X, self._X, equal_nan=True):
                mean, std = self._new_rows(X)
                alike = return_std and self.row_kernel_ == "none"  # then rows of the fit are no different
                return (mean, std * self.widening_ if alike else std) if return_std else mean
        mean = self.completed_.copy()
        return (mean, self._std() * self.widening_) if return_std else mean

    def sample(self, n_samples: int = 1) -> Array:
        """Independent draws of the completed matrix, (n_samples, n, m), as wide as deviations are."""
        check_is_fitted(self, "completed_")
        self._check_draws(n_samples)
        p = self._problem
        found = p.restored(draws(self._ordered, p.X, p.seen, self._rng(), n_samples))
        found = self.completed_ + (found - self.completed_) * self.widening_
        return np.where(np.isnan(self._X), found, self._X)

    @cached_property
    def widening_(self) -> float:
        check_is_fitted(self, "completed_")
        if not hasattr(self, "kernel_changes_"):
            return 1.0  # no kernel was estimated
        again = self._chosen | {"inference": "exact", "random_state": self._seed}

        def predict(X: Array) -> tuple[Array, Array]:
            part = unwatched(self, **again).fit(X)
            return part.completed_, part._std()

        with suited_to(max(self._X.shape)):
            return widening(self._X, predict, seed=self._seed, unit=column_scale(self._X))

    @property
    def _chosen(self) -> dict[str, Any]:
        """Parameters with which what was chosen is fitted without choosing."""
        if not isinstance(self.row_kernel, str):
            return {}
        columns = {"col_kernel": "none"} if self.col_kernel_ == "none" else {}
        drawn = {"amplitude": "estimate"} if self.col_kernel_ == "given" else {}
        return {"row_kernel": self.row_kernel_, **columns, **(drawn if self.row_kernel_ == "none" else {})}

    @cached_property
    def log_marginal_likelihood_(self) -> float:
        check_is_fitted(self, "completed_")
        p = self._problem
        inside = log_marginal(self._ordered, p.X, p.seen, None if few(p.seen) else self._rng())
        # a density: dividing by the scale multiplied it
        return inside - float((p.seen * np.log(self.scale_[p.columns])).sum())

    def _std(self) -> Array:
        p = self._problem
        found = variance(self._ordered, p.seen, None if few(p.seen) else self._rng(), self.n_samples)
        return p.back(np.sqrt(np.maximum(found, 0.0)))

    def _new_rows(self, X: Array) -> tuple[Array, Array]:
        """Rows completed from their own entries, and standard deviations."""
        model, p = self._ordered, self._problem
        order = inverse(p.columns)
        S = (model.N + model.C * float(model.rows.diagonal().mean()))[np.ix_(order, order)]
        seen = ~np.isnan(X)
        given = conditionals(Addition(RowKernel.none(len(X)), np.eye(len(S)), S), seen)
        centred = np.where(seen, X / p.scale - p.mean, 0.0)[:, None, :]
        full = missing_given_rows(centred, np.zeros_like(centred), given)[:, 0] + p.mean
        std = np.zeros(X.shape)
        for part in given:
            std[np.ix_(part.rows, part.gone)] = np.sqrt((part.root**2).sum(axis=0))
        return np.where(seen, X, full * p.scale), std * p.scale

    # ------------------------------------------------------------------------------------- what is used

    def _check(self) -> None:
        if (
            isinstance(self.row_kernel, str)
            and isinstance(self.col_kernel, str)
            and self.amplitude != "auto"
        ):
            raise ValueError(
                f"amplitude={self.amplitude!r} is that of a kernel that is given; with "
                f"row_kernel={self.row_kernel!r} and col_kernel={self.col_kernel!r} leave it at 'auto'"
            )
        if self._unrelated and not (isinstance(self.row_kernel, str) and self.row_kernel == "estimate"):
            raise ValueError(
                "col_kernel='none' (unrelated columns) is for row_kernel='estimate'; ask for that"
            )

    @property
    def _unrelated(self) -> bool:
        """Whether columns are to be taken as unrelated."""
        return isinstance(self.col_kernel, str) and self.col_kernel == "none"

    def _amplitude(self) -> float | None:
        both = not isinstance(self.row_kernel, str) and not isinstance(self.col_kernel, str)
        return fixed_amplitude(self.amplitude, both)

    def _given_rows(self, n: int, names: Array | None) -> Array | None:
        """The row kernel that is given, if it is; refuse to estimate one that is too large."""
        if not isinstance(self.row_kernel, str):
            return checks.read_kernel(self.row_kernel, "row_kernel", n, names, ", or 'heldout'")
        if self.row_kernel == "estimate" and n > MANY:
            raise ValueError(
                f"row_kernel='estimate' with {n} rows needs {n}x{n} numbers; give one, take 'none', or use "
                "PMARegressor on features of the rows"
            )
        return None

    def _choose_rows(self, X: Array) -> tuple[str, str, str]:
        """Which row kernel is used, why, and how: columns "drawn" to a given kernel, or rows "alone"."""
        n, m = X.shape
        if not isinstance(self.row_kernel, str):
            amplitude = "; its amplitude was estimated" if self._amplitude() is None else ""
            return "given", f"as given{amplitude}", ""
        columns = not isinstance(self.col_kernel, str)
        drawn = "drawn" if columns and self.amplitude == "estimate" else ""
        if self.row_kernel == "none":
            return "none", "none: rows are taken as unrelated", drawn
        if self.row_kernel == "estimate":
            if self._unrelated:
                return "estimate", f"estimated ({n} × {n}), columns taken as unrelated", "alone"
            return "estimate", f"estimated ({n} × {n})", ""
        if n > MANY:
            warn(
                f"{n} rows are too many to estimate how they are related (at most {MANY}): taken as "
                "unrelated; to relate them, give row_kernel (on the command line, in an .npz file)",
                AbsenceWarning,
            )
            why = f"none, as {n} rows are too many to estimate one: rows are taken as unrelated"
            return "none", why, drawn
        words = {word: {"row_kernel": word, "inference": "exact"} for word in ("none", "estimate")}
        if columns and self.amplitude == "auto":
            words["drawn"] = words["none"] | {"amplitude": "estimate"}
        elif not columns and n <= m:
            words["alone"] = words["estimate"] | {"col_kernel": "none"}
        self._by_hiding(X, words, self.scale_)
        return chosen_kernels(n, self.heldout_curve_, drawn)

    def _model(self, problem: Problem, K1: Array | None, K2: Array | None, how: str) -> Addition:
        X, seen, n = problem.X, problem.seen, len(problem.X)
        free = self.row_kernel_ == "estimate"
        kernel = RowKernel(np.eye(n), np.ones(n)) if free else RowKernel.none(n)
        amplitude = self._amplitude() if K1 is not None else None
        if K1 is not None:
            given = GivenRows(K1).permuted(problem.rows)
            # where nothing is estimated, eigenvectors may not be needed at all
            kernel = RowKernel.dense(given.to_dense()) if K2 is None or amplitude is None else given
        if K1 is None and K2 is not None and not isinstance(self.amplitude, str):
            K2 = K2 * self.amplitude
        scaled = K1 is not None and amplitude is None
        what = What(C="scale" if scaled else "no", N=K2 is None, K=free)
        start = starting(kernel, X, seen, what)
        variances = 2 * np.diagonal(start.N)
        level = float(variances.mean())
        if free:
            start = replace(start, rows=kernel.scaled(level / 2))
        start = Given(K2, problem.scale, amplitude).permuted(problem.columns).start(start, what)
        nugget = self.nugget * level
        if how == "alone":
            update = RowsAlone(level, nugget, None if isinstance(self.shrinkage, str) else self.shrinkage)
            options = {"seed": self._seed, "n_draws": DRAWS, "update": update}
            solution = self._em(update.start(*X.shape), X, seen, What(), **options)
            self._record(solution)
            return solution.state.model
        if how == "drawn":
            target = Target.of(variances, start.N)
            return self._by_evidence([(start, Shrinking(target, nugget, free=False))], X, seen)
        if K2 is None and self.shrinkage == "auto" and not free:
            return self._by_evidence(beside(start, variances, nugget, scaled), X, seen)
        return self._estimated(start, X, seen, what, nugget=nugget, seed=self._seed)

    def _by_evidence(
        self, candidates: Sequence[tuple[Addition, Shrinking]], X: Array, seen: Array
    ) -> Addition:
        """Of several models the one with the greatest bound on the marginal likelihood."""
        found = []
        for start, update in candidates:
            options = {"seed": self._seed, "n_draws": DRAWS, "update": update}
            solution = self._em(start, X, seen, What(), **options)
            rng = None if few(seen) else self._rng()
            value = update.bound(solution.state, X, seen, rng) if len(candidates) > 1 else 0.0
            found.append((value, solution))
        best = max(found, key=lambda pair: pair[0])[1]
        self._record(best)
        return best.state.model
