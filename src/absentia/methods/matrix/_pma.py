r"""Probabilistic matrix addition for matrices with missing entries, labels or targets.

A. Agovic, A. Banerjee and S. Chatterjee, "Probabilistic matrix addition", ICML 2011.

The model is in ``_model``, inference in ``_inference`` and ``_gibbs``, estimation
in ``_estimate``.  Rows of new samples (Section 4): ``E[x*] = K(x*, X) P(X completed) C`` plus column
means, where P is the precision; the new row's own G has mean zero, so that with ``C = I`` labels help each
other only through what is missing in training.

Rows and columns are put in the order of ``_order`` before anything else, and back at the end: no answer
depends on the order in which they came.

Departures from the paper: kernels by EM with posterior covariance instead of plug-in; labels as -1 and +1
instead of truncated log-odds (which are a multiple of them); an optional label covariance C in the
row part.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.linalg
from scipy.special import ndtr
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, RegressorMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from absentia.core import (
    Array,
    NotPositiveDefiniteError,
    Solution,
    cholesky,
    generator,
    inverse,
    squared_distances,
    suited_to,
    symmetrize,
    warn,
)
from absentia.methods.matrix import _checks as checks
from absentia.methods.matrix import _estimate as estimate
from absentia.methods.matrix import _inference as inference
from absentia.methods.matrix._estimate import What
from absentia.methods.matrix._gibbs import Chains, effective_sample_size, gibbs, r_hat
from absentia.methods.matrix._labels import (
    MultiLabelMixin,
    chosen,
    kept,
    read_labels,
    read_targets,
    read_truth,
)
from absentia.methods.matrix._model import Addition, RowKernel, nystrom_factor
from absentia.methods.matrix._order import Table, canonical

#: Beyond this many rows the row kernel is approximated on landmarks unless asked otherwise.
MANY = 4000
#: Beyond this many entries they are completed to a relative residual of 1e-4.
LARGE = 1_000_000
#: Least eigenvalue of a column kernel that is given, relative to their mean; above it, it is used as it is.
FLOOR = 1e-10
#: Least standard deviation of a target, relative to its greatest value.
LEAST_SCALE = 1e-10
#: Up to this many numbers, predictions keep how unknown training labels move them.
SPREAD = 2_000_000

#: A mean so many standard deviations from zero is worth a word where means are not removed.
FAR = 5


def _column_kernel(K: Any, m: int, names: Array | None = None) -> Array:
    """A column kernel as given; eigenvalues below :data:`FLOOR` of their mean are lifted to that."""
    K = checks.read_kernel(K, "col_kernel", m, names, ", or 'estimate'")
    least = FLOOR * float(np.trace(K)) / m
    try:
        cholesky(K - least * np.eye(m))
        return K
    except NotPositiveDefiniteError:
        values, V = scipy.linalg.eigh(K)
    return symmetrize((V * np.maximum(values, least)) @ V.T)


def _diagnosed(chains: Chains) -> dict[str, float]:
    """The worst entry's R-hat and effective sample size."""
    if not chains.values.shape[2]:
        return {
            "r_hat": 1.0,
            "effective_sample_size": float(chains.values.shape[0] * chains.values.shape[1]),
        }
    ess = effective_sample_size(chains.values)
    return {"r_hat": float(r_hat(chains.values).max()), "effective_sample_size": float(ess.min())}


def infer(
    model: Addition, X: Array, observed: Array, how: str, n_samples: int, rng: np.random.Generator
) -> tuple[Array, dict[str, float]]:
    """X completed by "exact", "map" or "gibbs" inference, and what there is to say of it."""
    if how == "exact" and X.size > LARGE:
        single = replace(model, rows=RowKernel(model.rows.U.astype(np.float32), model.rows.l))
        full = inference.complete(single, X, observed, tol=1e-4)
        _warn_of_residual(inference.residual(single, X, full, observed), 1e-3)
        return full, {}
    if how == "exact":
        full = inference.posterior_mean(model, X, observed)
        _warn_of_residual(inference.residual(model, X, full, observed), 1e-6)
        return full, {}
    if how == "map":
        solution = inference.mode(model, X, observed)
        if not solution.converged:
            _warn_of_residual(inference.residual(model, X, solution.state[:, 0], observed), 0.0)
        return np.asarray(solution.state[:, 0]), {"n_iter": float(solution.n_iter)}
    chains = gibbs(model, X, observed, rng, n_samples=n_samples)
    return chains.mean(X), _diagnosed(chains)


def _warn_of_residual(residual: float, most: float) -> None:
    if residual > most:
        warn(
            f"missing entries were completed to a relative residual of {residual:.1g} only; the kernels "
            "are nearly singular: add a nugget to the diagonal of the column kernel",
            ConvergenceWarning,
        )


INFERENCE = ("exact", "map", "gibbs")


class _KernelEstimation:
    """Fitted attributes of what estimates kernels by EM; none where no kernel is estimated."""

    def _forget(self) -> None:
        for name in ("n_iter_", "kernel_changes_", "converged_", "status_"):
            self.__dict__.pop(name, None)

    def _record(self, solution: Solution[Any]) -> None:
        self.n_iter_ = solution.n_iter
        self.kernel_changes_ = solution.trace
        self.converged_ = solution.converged
        self.status_ = solution.sentence
        if not self.converged_:
            warn(f"{type(self).__name__} {self.status_} ({self.n_iter_} iterations)", ConvergenceWarning)


def _is_estimate(kernel: Any) -> bool:
    if isinstance(kernel, str):
        if kernel != "estimate":
            raise ValueError(f"a kernel is 'estimate' or an array, not {kernel!r}")
        return True
    return False


def _check_amplitude(amplitude: Any) -> None:
    if isinstance(amplitude, str):
        if amplitude not in ("auto", "estimate"):
            raise ValueError(
                f"amplitude must be 'auto', 'estimate' or a positive number, not {amplitude!r}"
            )
        return
    checks.check_number("amplitude", amplitude, above=0.0)


def _fixed_amplitude(amplitude: Any, both_given: bool) -> float | None:
    """The number the row kernel is multiplied by; None if it is estimated."""
    if isinstance(amplitude, str):
        return 1.0 if amplitude == "auto" and both_given else None
    return float(amplitude)


# --------------------------------------------------------------------------------------------- imputer


@dataclass(frozen=True)
class _Problem:
    """A centred matrix, who is observed, and the order of ``_order`` that both are in."""

    X: Array
    seen: Array
    rows: Array
    columns: Array

    @classmethod
    def of(cls, X: Array, mean: Array, kernels: list[Table]) -> _Problem:
        rows, columns = canonical(X.shape, [(X, (0, 1)), *kernels])
        grid = np.ix_(rows, columns)
        seen = ~np.isnan(X)
        return cls(np.where(seen, X - mean, 0.0)[grid], seen[grid], rows, columns)

    def back(self, Z: Array) -> Array:
        """Z (..., n, m) in the order in which rows and columns came."""
        return Z[..., inverse(self.rows)[:, None], inverse(self.columns)[None, :]]


class PMAImputer(
    OneToOneFeatureMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    _KernelEstimation,
    BaseEstimator,  # type: ignore[misc]
):
    """Complete a matrix whose rows are alike and whose columns are alike.

    Parameters
    ----------
    row_kernel, col_kernel : "estimate" or array, default "estimate"
        Covariance between rows (n, n) and between columns (m, m), in the units of the matrix.
    amplitude : "auto", "estimate" or float, default "auto"
        What a row kernel that is given is multiplied by.  "auto" estimates it as long as the column kernel
        is estimated; if both are given, they stay as they are.
    inference : {"exact", "map", "gibbs"}, default "exact"
        For fixed kernels all three have one answer, the last with Monte-Carlo error.
    n_samples : int, default 500
        Draws behind the standard deviations (and of each Gibbs chain) where there are too many missing
        entries for the exact ones.
    shrinkage : float, default 2.0
        Pseudo-observations with which estimated kernels are drawn towards a multiple of the identity.
    nugget : float, default 1e-3
        Least eigenvalue of an estimated column kernel, relative to the entries' variance.
    center : bool, default True
        Remove the columns' observed means.
    tol, max_iter : float and int
        Estimation stops when kernels move by less than `tol` (relative).
    random_state : int, Generator, RandomState or None, default None
        See ``_random``; None is the fixed seed 0.

    Attributes
    ----------
    model_ : absentia.methods.matrix._model.Addition
    completed_ : ndarray (n, m)
    mean_ : ndarray (m,)
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

    def __init__(
        self,
        *,
        row_kernel: Any = "estimate",
        col_kernel: Any = "estimate",
        amplitude: Any = "auto",
        inference: str = "exact",
        n_samples: int = 500,
        shrinkage: float = 2.0,
        nugget: float = 1e-3,
        center: bool = True,
        tol: float = 2e-3,
        max_iter: int = 300,
        random_state: Any = None,
    ) -> None:
        self.row_kernel = row_kernel
        self.col_kernel = col_kernel
        self.amplitude = amplitude
        self.inference = inference
        self.n_samples = n_samples
        self.shrinkage = shrinkage
        self.nugget = nugget
        self.center = center
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Estimate what is to be estimated and complete X (n, m), NaN where missing."""
        self._check()
        names = checks.names_of(X, 0), checks.names_of(X, 1)
        X = checks.read_gaps(self, X)
        self._forget()
        self.__dict__.pop("log_marginal_likelihood_", None)
        self._rng_seed = int(generator(self.random_state).integers(2**31))
        mean = np.nanmean(X, axis=0) if self.center else np.zeros(X.shape[1])
        K1, K2, kernels = self._given(X, names)
        problem = _Problem.of(X, mean, kernels)
        with suited_to(max(X.shape)):
            model = self._model(problem, K1, K2)
            full, self.diagnostics_ = infer(
                model, problem.X, problem.seen, self.inference, self.n_samples, self._rng()
            )
        self.mean_, self._X, self._problem, self._ordered = mean, X, problem, model
        self.model_ = model.permuted(inverse(problem.rows), inverse(problem.columns))
        self.completed_ = np.where(np.isnan(X), problem.back(full) + mean, X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """The completed matrix."""
        return self.fit(X).completed_.copy()

    def transform(self, X: Any) -> Array:
        """The training matrix completed; other rows completed from their own entries.

        The row kernel says nothing of rows it has not seen: they are completed by the columns'
        covariance, with the row part's variance as noise.
        """
        return np.asarray(self.predict(X))

    def predict(self, X: Any = None, return_std: bool = False) -> Any:
        """The completed training matrix, or other rows as in :meth:`transform`.

        With `return_std` also standard deviations (observed: 0).
        """
        check_is_fitted(self, "completed_")
        if X is not None:
            X = checks.read_table(self, X, fit=False, gaps=True)
            if not np.array_equal(X, self._X, equal_nan=True):
                mean, std = self._new_rows(X)
                return (mean, std) if return_std else mean
        return (self.completed_.copy(), self._std()) if return_std else self.completed_.copy()

    def sample(self, n_samples: int = 1) -> Array:
        """Independent draws of the completed matrix from the posterior, (n_samples, n, m)."""
        check_is_fitted(self, "completed_")
        checks.check_whole("n_samples", n_samples)
        p = self._problem
        found = p.back(inference.draws(self._ordered, p.X, p.seen, self._rng(), n_samples)) + self.mean_
        return np.where(np.isnan(self._X), found, self._X)

    @cached_property
    def log_marginal_likelihood_(self) -> float:
        check_is_fitted(self, "completed_")
        p = self._problem
        few = (~p.seen).sum() <= inference.SMALL
        return inference.log_marginal(self._ordered, p.X, p.seen, None if few else self._rng())

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self._rng_seed)

    def _std(self) -> Array:
        p = self._problem
        few = (~p.seen).sum() <= inference.SMALL
        variance = inference.variance(self._ordered, p.seen, None if few else self._rng(), self.n_samples)
        return p.back(np.sqrt(np.maximum(variance, 0.0)))

    def _new_rows(self, X: Array) -> tuple[Array, Array]:
        """Rows completed from their own entries, and standard deviations."""
        seen = ~np.isnan(X)
        S = self.model_.N + self.model_.C * float(self.model_.rows.diagonal().mean())
        given = inference.conditionals(Addition(RowKernel.none(len(X)), np.eye(len(S)), S), seen)
        centred = np.where(seen, X - self.mean_, 0.0)[:, None, :]
        full = inference.missing_given_rows(centred, np.zeros_like(centred), given)[:, 0] + self.mean_
        std = np.zeros(X.shape)
        for part in given:
            std[np.ix_(part.rows, part.gone)] = np.sqrt((part.root**2).sum(axis=0))
        return np.where(seen, X, full), std

    def _check(self) -> None:
        free_rows, _ = _is_estimate(self.row_kernel), _is_estimate(self.col_kernel)
        checks.check_word("inference", self.inference, INFERENCE)
        checks.check_whole("n_samples", self.n_samples)
        checks.check_number("shrinkage", self.shrinkage, least=0.0)
        checks.check_number("nugget", self.nugget, least=0.0)
        checks.check_flags(center=self.center)
        checks.check_stopping(self)
        _check_amplitude(self.amplitude)
        if free_rows and self.amplitude != "auto":
            raise ValueError(
                f"amplitude={self.amplitude!r} is that of a row kernel that is given; with "
                "row_kernel='estimate' leave it at 'auto'"
            )

    def _given(
        self, X: Array, names: tuple[Array | None, Array | None]
    ) -> tuple[RowKernel | Array | None, Array | None, list[Table]]:
        """The kernels that are given, read, and as tables that take part in the order."""
        n, m = X.shape
        K1: RowKernel | Array | None = None
        tables: list[Table] = []
        if isinstance(self.row_kernel, RowKernel):
            K1 = self.row_kernel
            if K1.n != n:
                raise ValueError(f"row_kernel is of {K1.n} rows; {n} are wanted, or 'estimate'")
        elif not _is_estimate(self.row_kernel):
            K1 = checks.read_kernel(self.row_kernel, "row_kernel", n, names[0], ", or 'estimate'")
            tables.append((K1, (0, 0)))
        elif n > MANY:
            raise ValueError(
                f"row_kernel='estimate' with {n} rows needs {n}x{n} numbers from {m} columns; give one, "
                "or use PMARegressor on features of the rows"
            )
        K2 = None if _is_estimate(self.col_kernel) else _column_kernel(self.col_kernel, m, names[1])
        return K1, K2, [*tables, *([] if K2 is None else [(K2, (1, 1))])]

    def _model(self, problem: _Problem, K1: RowKernel | Array | None, K2: Array | None) -> Addition:
        X, seen = problem.X, problem.seen
        n, rows = len(X), problem.rows
        if K1 is None:
            kernel = RowKernel(np.eye(n), np.ones(n))
        elif isinstance(K1, RowKernel):
            kernel = K1.permuted(rows)
        else:
            kernel = RowKernel.dense(K1[np.ix_(rows, rows)])
        fixed = _fixed_amplitude(self.amplitude, K1 is not None and K2 is not None)
        scale = K1 is not None and fixed is None
        what = What(C="scale" if scale else "no", N=K2 is None, K=K1 is None)
        start = estimate.starting(kernel, X, seen, what)
        level = 2 * float(np.diagonal(start.N).mean())
        if K1 is None:
            start = replace(start, rows=kernel.scaled(level / 2))
        elif fixed is not None:
            start = replace(start, C=fixed * start.C)
        if K2 is not None:
            start = replace(start, N=K2[np.ix_(problem.columns, problem.columns)])
        return self._estimated(start, problem, what, level) if what.any else start

    def _estimated(self, start: Addition, problem: _Problem, what: What, level: float) -> Addition:
        solution = estimate.learn(
            start,
            problem.X,
            problem.seen,
            what,
            shrinkage=self.shrinkage,
            nugget=self.nugget * level,
            seed=self._rng_seed,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self._record(solution)
        return solution.state.model


# ------------------------------------------------------------------------------------------ new rows


class _RowModel(_KernelEstimation, BaseEstimator):  # type: ignore[misc]
    """Targets of samples with a kernel between samples: fitting, and the distribution of new rows."""

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        gamma: Any = "ml",
        col_kernel: Any = "estimate",
        amplitude: Any = "auto",
        label_covariance: bool = False,
        inference: str = "exact",
        n_landmarks: int | None = None,
        shrinkage: float = 2.0,
        nugget: float = 1e-3,
        center: Any = "auto",
        discard: bool = False,
        n_samples: int = 20,
        tol: float = 2e-3,
        max_iter: int = 300,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.col_kernel = col_kernel
        self.amplitude = amplitude
        self.label_covariance = label_covariance
        self.inference = inference
        self.n_landmarks = n_landmarks
        self.shrinkage = shrinkage
        self.nugget = nugget
        self.center = center
        self.discard = discard
        self.n_samples = n_samples
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    def _check(self) -> None:
        checks.check_word("kernel", self.kernel, ("rbf", "precomputed"))
        _check_gamma(self.gamma)
        _is_estimate(self.col_kernel)
        _check_amplitude(self.amplitude)
        checks.check_word("inference", self.inference, INFERENCE)
        checks.check_flags(label_covariance=self.label_covariance, discard=self.discard)
        if not (isinstance(self.center, str) and self.center == "auto"):
            checks.check_flags(center=self.center)
        if self.n_landmarks is not None:
            checks.check_whole("n_landmarks", self.n_landmarks)
        checks.check_number("shrinkage", self.shrinkage, least=0.0)
        checks.check_number("nugget", self.nugget, least=0.0)
        checks.check_whole("n_samples", self.n_samples)
        checks.check_stopping(self)
        if self.label_covariance and not isinstance(self.amplitude, str):
            raise ValueError(
                "label_covariance=True estimates the row part's size; leave amplitude at 'auto'"
            )

    def _given_amplitude(self) -> float | None:
        """What the row kernel is multiplied by; None if it is estimated."""
        rows_given = self.kernel == "precomputed" or not isinstance(self.gamma, str)
        return _fixed_amplitude(self.amplitude, rows_given and not _is_estimate(self.col_kernel))

    def _centers(self) -> bool:
        return bool(self._what().any if isinstance(self.center, str) else self.center)

    def _what(self) -> What:
        C = "free" if self.label_covariance else "scale" if self._given_amplitude() is None else "no"
        return What(C=C, N=_is_estimate(self.col_kernel))

    def _features(self, X: Any) -> Array:
        """X to fit: features, or a kernel."""
        names = checks.names_of(X, 0), checks.names_of(X, 1)
        table = checks.read_table(self, X, fit=True)
        if self.kernel == "precomputed":
            if table.shape[0] != table.shape[1]:
                raise ValueError(f"kernel='precomputed' wants a square kernel to fit, not {table.shape}")
            checks.check_names(
                "the rows of the kernel", names[0], "its columns", names[1], "K.loc[K.columns]"
            )
            table = checks.check_kernel(table, "the kernel")
        return table

    def _fit(self, X: Array, Y: Array, rows: Array, scale: Array, names: Array | None) -> Array:
        """Learn from the given rows of X and Y (in units of `scale`); the completed Y of all rows."""
        self._forget()
        rng = generator(self.random_state)
        m = Y.shape[1]
        N = None if _is_estimate(self.col_kernel) else _column_kernel(self.col_kernel, m, names)
        seen = ~np.isnan(Y[rows])
        mean = np.where(seen, Y[rows], 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
        self.mean_ = mean if self._centers() else np.zeros(m)
        self._put_in_order(X, Y, rows, N)
        grid = np.ix_(self._rows, self._labels)
        seen = ~np.isnan(Y[grid])
        centred = np.where(seen, Y[grid] - self.mean_[self._labels], 0.0)
        given = _Given(N, scale, self._given_amplitude()).permuted(self._labels)
        start = self._start(self._inside(X[self._rows]), centred, seen, rng, given)
        self._learn(start, centred, seen, rng)
        full, self.diagnostics_ = infer(
            self._model, centred, seen, self.inference, 25 * self.n_samples, rng
        )
        self._weigh(full, seen, rng)
        if not self._what().any:
            _warn_of_means(self._model, mean[self._labels] - self.mean_[self._labels])
        self.model_ = self._model.permuted(np.argsort(self._rows), inverse(self._labels)).stretched(scale)
        return self._completed(X, Y, full)

    def _completed(self, X: Array, Y: Array, full: Array) -> Array:
        """Y with unknown entries as expected: of training rows, and of those left out."""
        known = ~np.isnan(Y)
        out = np.where(known, Y, 0.0)
        expected = np.empty((len(full), Y.shape[1]))
        expected[:, self._labels] = full
        out[self._rows] = np.where(known[self._rows], out[self._rows], expected + self.mean_)
        left = np.setdiff1d(np.arange(len(Y)), self._rows)
        if len(left):
            out[left] = np.where(known[left], out[left], self._mean(X[left]))
        return out

    def _put_in_order(self, X: Array, Y: Array, rows: Array, N: Array | None) -> None:
        """Find the order of ``_order`` of the training rows, the labels and the features."""
        labels: list[Table] = [(Y[rows], (0, 1)), *([] if N is None else [(N, (1, 1))])]
        if self.kernel == "precomputed":
            order = canonical((len(rows), Y.shape[1]), [*labels, (X[np.ix_(rows, rows)], (0, 0))])
            self._rows, self._labels = rows[order[0]], order[1]
            self._columns = self._rows
        else:
            sizes = len(rows), Y.shape[1], X.shape[1]
            order = canonical(sizes, [*labels, (X[rows], (0, 2))])
            self._rows, self._labels, self._columns = rows[order[0]], order[1], order[2]

    def _inside(self, X: Array) -> Array:
        """The columns of X in the order of the fit: features, or training samples."""
        return X[:, self._columns]

    def _start(self, X: Array, Y: Array, seen: Array, rng: np.random.Generator, given: _Given) -> Addition:
        """The row kernel, its anchors and a model to begin from; all in the order of the fit."""
        what = self._what()

        def begin(rows: RowKernel, Y: Array, seen: Array) -> Addition:
            return given.start(estimate.starting(rows, Y, seen, what), what)

        first = None
        if self.kernel == "rbf":
            if isinstance(self.gamma, str) and self.gamma == "ml":
                self.gamma_, first, self.gamma_curve_ = estimate.choose_gamma(
                    X, Y, seen, what, rng, start=begin
                )
            else:
                self.gamma_ = self._fixed_gamma(X, rng)
        rows = self._row_kernel(X, rng)
        return begin(rows, Y, seen) if first is None else replace(first, rows=rows)

    def _row_kernel(self, X: Array, rng: np.random.Generator) -> RowKernel:
        n = len(X)
        size = self.n_landmarks if self.n_landmarks is not None else (n if n <= MANY else 500)
        some = np.sort(rng.choice(n, min(size, n), replace=False))
        self._anchors = some if self.kernel == "precomputed" else X[some]
        dtype = np.float32 if n > 5 * MANY else np.float64
        K = self._against(X, dtype)
        self._self = float(np.diagonal(X).mean()) if self.kernel == "precomputed" else 1.0
        if size >= n:
            rows = RowKernel.dense(K)
            self._T = rows.U
            return rows
        R = nystrom_factor(np.eye(size), K[some])  # K R is the factor
        Phi = K @ R.astype(dtype)
        rows = RowKernel.factor(Phi)
        # k(x*, anchors) T is what U makes of k(x*, X): Phi* Phi' U
        self._T = R @ (Phi.T @ rows.U)
        return rows

    def _fixed_gamma(self, X: Array, rng: np.random.Generator) -> float:
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        some = X[rng.choice(len(X), min(len(X), 1000), replace=False)]
        off = squared_distances(some, some)[~np.eye(len(some), dtype=bool)]
        return 1.0 / max(float(np.median(off)) if len(off) else 1.0, 1e-300)

    def _against(self, X: Array, dtype: Any = np.float64) -> Array:
        """Kernel of samples against the anchors; columns of X are in the order of the fit."""
        if self.kernel == "precomputed":
            return X[:, self._anchors].astype(dtype, copy=False)
        K = squared_distances(X.astype(dtype), self._anchors.astype(dtype))
        K *= -dtype(self.gamma_)
        return np.exp(K, out=K)

    def _learn(self, start: Addition, Y: Array, seen: Array, rng: np.random.Generator) -> None:
        what = self._what()
        self._model = start
        if not what.any:
            return
        level = float((Y[seen] ** 2).mean())
        solution = estimate.learn(
            start,
            Y,
            seen,
            what,
            shrinkage=self.shrinkage,
            nugget=max(self.nugget * level, 1e-12),
            seed=int(rng.integers(2**31)),
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self._record(solution)
        self._model = solution.state.model

    def _weigh(self, full: Array, seen: Array, rng: np.random.Generator) -> None:
        """What predictions need: weights of the anchors, and those of posterior deviations."""
        model, k = self._model, self.n_samples
        U = model.rows.U

        def weights(Z: Array) -> Array:
            A = model.solve(Z).reshape(len(full), -1).astype(U.dtype)
            return np.asarray((U.T @ A).reshape(U.shape[1], *Z.shape[1:]) @ model.C, dtype=float)

        self._H = weights(full)
        self._H_spread = None
        missing = int((~seen).sum())
        if missing and full.size * missing <= SPREAD and inference.is_small(model, seen):
            self._H_spread = weights(inference.spread(model, seen))
        elif missing and full.size * k <= SPREAD:
            self._H_spread = weights(inference.spread(model, seen, rng, k, tol=1e-3))

    def _mean(self, X: Array) -> Array:
        return self._back(self._against(self._inside(X)) @ (self._T @ self._H)) + self.mean_

    def _distribution(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of new rows, noise included."""
        model = self._model
        u = self._against(self._inside(X)) @ self._T
        inside = (u**2) @ (model.c**2 / model.d)
        white = np.maximum(model.c * self._self - inside, 0.0)
        variance = white @ (model.W**2).T + np.diagonal(model.N)
        if self._H_spread is not None:  # what is not known of the missing training labels
            moved = np.einsum("ir,rkj->ikj", u, self._H_spread, optimize=True)
            variance = variance + (moved**2).sum(axis=1)
        return self._back(u @ self._H) + self.mean_, self._back(variance)

    def _back(self, Z: Array) -> Array:
        """Columns of Z in the order in which labels came."""
        return Z[:, inverse(self._labels)]


def _check_gamma(gamma: Any) -> None:
    if isinstance(gamma, str) and gamma in ("ml", "median"):
        return
    if isinstance(gamma, str):
        raise ValueError(f"gamma must be 'ml', 'median' or a positive number, not {gamma!r}")
    checks.check_number("gamma", gamma, above=0.0)


def _warn_of_means(model: Addition, mean: Array) -> None:
    """Say so when means that were not removed are far beyond what the given kernels allow."""
    variance = float(model.rows.diagonal().mean()) * np.diagonal(model.C) + np.diagonal(model.N)
    if (np.abs(mean) > FAR * np.sqrt(variance)).any():
        warn(
            f"the given kernels have mean zero, but a column's mean is more than {FAR} standard deviations "
            "from it; pass center=True to remove means"
        )


@dataclass(frozen=True)
class _Given:
    """What is given of a row model: the column kernel N and the amplitude, in the units of the targets.

    The model is of the targets divided by `scale`; what is given is divided alike, so that it means the
    same.
    """

    N: Array | None
    scale: Array
    amplitude: float | None

    def permuted(self, order: Array) -> _Given:
        N = None if self.N is None else self.N[np.ix_(order, order)]
        return _Given(N, self.scale[order], self.amplitude)

    def start(self, model: Addition, what: What) -> Addition:
        """`model` with what is given put in."""
        if self.N is not None:
            model = replace(model, N=self.N / np.multiply.outer(self.scale, self.scale))
        if what.C == "free":
            return model
        # one amplitude for all columns in the units of the targets
        unit = np.diag(self.scale**-2.0)
        if self.amplitude is not None:
            return replace(model, C=self.amplitude * unit)
        if self.N is not None:
            return replace(model, C=unit * float(np.trace(model.C) / np.trace(unit)))
        return model


class PMAClassifier(MultiLabelMixin, _RowModel):
    """Multi-label classification with some labels unknown, in training and beyond.

    Parameters
    ----------
    kernel : {"rbf", "precomputed"}, default "rbf"
        With "precomputed", X is the kernel between samples: square to fit, rows of new samples
        against training samples to predict.
    gamma : "ml", "median" or float, default "ml"
        Width of the RBF kernel; "ml" has the greatest marginal likelihood of the known labels.
    col_kernel : "estimate" or array (labels, labels), default "estimate"
        Covariance of labels, as -1 and +1, within a sample.
    amplitude : "auto", "estimate" or float, default "auto"
        What the row kernel is multiplied by.  "auto" estimates it unless both kernels are given (the row
        kernel precomputed or of a `gamma` that is a number, the column kernel an array): then they stay as
        they are.
    label_covariance : bool, default False
        Also estimate a covariance of labels in the row part: labels that go together in like samples.
    inference : {"exact", "map", "gibbs"}, default "exact"
    n_landmarks : int or None, default None
        Landmarks of a Nystrom row kernel; None means all samples up to 4000, and 500 beyond.
    shrinkage, nugget : float
        As in :class:`PMAImputer`.
    center : "auto" or bool, default "auto"
        Remove the labels' means; with False they are taken to be zero.  "auto" removes them unless the
        whole model is given, kernels and amplitude.
    discard : bool, default False
        Learn only from samples with every label known.  For comparison.
    n_samples : int, default 20
        Posterior draws by which probabilities allow for labels unknown in training, where there are too
        many for the exact amount; beyond 2,000,000 numbers (samples x labels x draws) they do not.
    tol, max_iter : float and int
        Estimation stops when kernels move by less than `tol` (relative).
    random_state : int, Generator, RandomState or None, default None
        See ``_random``; None is the fixed seed 0.

    Attributes
    ----------
    labels_ : ndarray (n, labels)
        The training labels, completed.
    scores_ : ndarray (n, labels)
        Expected labels, between -1 and 1 or a little beyond; known ones as given.
    gamma_, gamma_curve_ : float, list of (gamma, log-likelihood)
    model_ : absentia.methods.matrix._model.Addition
    diagnostics_ : dict
        As in :class:`PMAImputer`.
    n_iter_, kernel_changes_, converged_, status_ : int, ndarray, bool, str
        As in :class:`PMAImputer`.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(80, 5, n_classes=3, random_state=0)
    >>> Y = np.where(np.random.default_rng(0).random(Y.shape) < 0.3, np.nan, Y)
    >>> model = PMAClassifier(random_state=0).fit(X, Y)
    >>> model.labels_.shape, model.predict_proba(X[:2]).shape
    ((80, 3), (2, 3))
    """

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from X (n, features), or a kernel (n, n), and Y (n, labels) with NaN where unknown."""
        self._check()
        table = self._features(X)
        labels = read_labels(Y, X, len(table), self)
        one = np.ones(labels.signs.shape[1])
        with suited_to(len(table)):
            self.scores_ = self._fit(table, labels.signs, kept(labels, self.discard), one, labels.names)
        self._remember(labels)
        completed = chosen(self.scores_, labels.classes)
        self.labels_ = completed[:, 0] if labels.vector else completed
        return self

    def _scores(self, X: Array) -> Array:
        return self._mean(X)

    def _probabilities(self, X: Array) -> Array:
        mean, variance = self._distribution(X)
        return np.asarray(ndtr(mean / np.sqrt(variance)))


class PMARegressor(RegressorMixin, _RowModel):  # type: ignore[misc]
    """Regression on several targets of which some are unknown; as :class:`PMAClassifier`.

    Parameters
    ----------
    standardize : bool, default True
        Estimate on targets divided by their standard deviations, so that their units do not matter.  A
        `col_kernel` and an `amplitude` that are given are in the units of the targets and divided alike:
        with both given this changes no answer.
    kernel, gamma, col_kernel, amplitude, label_covariance, inference, n_landmarks, shrinkage, nugget
    center, discard, n_samples, tol, max_iter, random_state
        As in :class:`PMAClassifier`.

    Attributes
    ----------
    completed_ : ndarray (n, targets)
        The training targets, completed.
    scale_ : ndarray (targets,)
        What the targets were divided by.
    mean_ : ndarray (targets,)
        What was then taken off.
    model_ : absentia.methods.matrix._model.Addition
        In the units of the targets.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (60, 1))
    >>> Y = np.hstack([np.sin(X), np.cos(X)]) + 0.05 * rng.standard_normal((60, 2))
    >>> Y[rng.random(Y.shape) < 0.3] = np.nan
    >>> mean, std = PMARegressor(random_state=0).fit(X, Y).predict([[1.0]], return_std=True)
    >>> bool(np.abs(mean - [np.sin(1), np.cos(1)]).max() < 0.15)
    True
    """

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        gamma: Any = "ml",
        col_kernel: Any = "estimate",
        amplitude: Any = "auto",
        label_covariance: bool = False,
        standardize: bool = True,
        inference: str = "exact",
        n_landmarks: int | None = None,
        shrinkage: float = 2.0,
        nugget: float = 1e-3,
        center: Any = "auto",
        discard: bool = False,
        n_samples: int = 20,
        tol: float = 2e-3,
        max_iter: int = 300,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            kernel,
            gamma=gamma,
            col_kernel=col_kernel,
            amplitude=amplitude,
            label_covariance=label_covariance,
            inference=inference,
            n_landmarks=n_landmarks,
            shrinkage=shrinkage,
            nugget=nugget,
            center=center,
            discard=discard,
            n_samples=n_samples,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
        )
        self.standardize = standardize

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from X and Y (n, targets) with NaN where unknown."""
        self._check()
        checks.check_flags(standardize=self.standardize)
        table = self._features(X)
        targets = read_targets(Y, X, len(table), self)
        Y, known = targets.values, ~np.isnan(targets.values)
        rows = np.flatnonzero(known.all(axis=1)) if self.discard else np.arange(len(Y))
        if not len(rows):
            raise ValueError("discard=True leaves no sample: every one has an unknown target")
        self._vector, self._target_names = targets.vector, targets.names
        self.scale_ = _scale(Y) if self.standardize else np.ones(Y.shape[1])
        with suited_to(len(table)):
            completed = self._fit(table, Y / self.scale_, rows, self.scale_, targets.names) * self.scale_
        completed = np.where(known, Y, completed)
        self.completed_ = completed[:, 0] if self._vector else completed
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Expected targets of new samples, and their standard deviations if asked for."""
        check_is_fitted(self, "completed_")
        X = checks.read_table(self, X, fit=False)
        mean, variance = self._distribution(X) if return_std else (self._mean(X), np.zeros(0))
        shape = np.s_[:, 0] if self._vector else np.s_[:]
        if not return_std:
            return (mean * self.scale_)[shape]
        return (mean * self.scale_)[shape], (np.sqrt(variance) * self.scale_)[shape]

    def score(self, X: Any, y: Any) -> float:
        """R^2 over the known targets, averaged over the columns that have any."""
        found = np.asarray(self.predict(X))
        Y = read_truth(y, X, self._target_names, found.shape)
        found, Y = found.reshape(len(Y), -1), Y.reshape(len(Y), -1)
        known = ~np.isnan(Y).all(axis=0)
        found, Y = found[:, known], Y[:, known]
        residual = np.nansum((Y - found) ** 2, axis=0)
        total = np.nansum((Y - np.nanmean(Y, axis=0)) ** 2, axis=0)
        return float((1 - residual / np.where(total > 0, total, 1.0)).mean())


def _scale(Y: Array) -> Array:
    """Standard deviations of the columns; next to nothing for a constant one, and 1 if that is zero."""
    scale = np.maximum(np.nanstd(Y, axis=0), LEAST_SCALE * np.nanmax(np.abs(Y), axis=0))
    return np.where(scale > 0, scale, 1.0)
