r"""Probabilistic matrix addition for matrices with missing entries, labels or targets.

A. Agovic, A. Banerjee and S. Chatterjee, "Probabilistic matrix addition", ICML 2011.

The model is in :mod:`absentia.matrix.model`, inference in :mod:`~.inference` and :mod:`~.gibbs`, estimation
in :mod:`~.estimate`.  Rows of new samples (Section 4): ``E[x*] = K(x*, X) P(X completed) C`` plus column
means, where P is the precision; the new row's own G has mean zero, so that with ``C = I`` labels help each
other only through what is missing in training.

Departures from the paper: kernels by EM with posterior covariance instead of plug-in; labels as -1 and +1
instead of truncated log-odds (which are a multiple of them); an optional label covariance C in the
row part.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import ndtr
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from absentia.base import IterativeMixin
from absentia.linalg import Array, symmetrize
from absentia.matrix import estimate, inference
from absentia.matrix.estimate import What, squared_distances
from absentia.matrix.gibbs import gibbs
from absentia.matrix.labels import MultiLabelMixin, check_features, kept, read_labels, read_targets
from absentia.matrix.model import Addition, RowKernel, nystrom_factor

#: Beyond this many rows the row kernel is approximated on landmarks unless asked otherwise.
MANY = 4000


def _generator(random_state: Any) -> np.random.Generator:
    return np.random.default_rng(check_random_state(random_state).randint(2**31))


def _column_kernel(K: Any, m: int, nugget: float) -> Array:
    K = np.asarray(K, dtype=float)
    if K.shape != (m, m):
        raise ValueError(f"col_kernel has shape {K.shape}; {(m, m)} is wanted, or 'estimate'")
    return symmetrize(K) + nugget * float(np.trace(K)) / m * np.eye(m)


def infer(
    model: Addition, X: Array, observed: Array, how: str, n_samples: int, rng: np.random.Generator
) -> Array:
    """X completed by "exact", "map" or "gibbs" inference."""
    if how == "exact":
        return inference.complete(model, X, observed, tol=1e-6)
    if how == "map":
        return np.asarray(inference.mode(model, X, observed).state[:, 0])
    if how == "gibbs":
        return gibbs(model, X, observed, rng, n_samples=n_samples).mean(X)
    raise ValueError(f"inference must be 'exact', 'map' or 'gibbs', not {how!r}")


# --------------------------------------------------------------------------------------------- imputer


class PMAImputer(TransformerMixin, IterativeMixin, BaseEstimator):  # type: ignore[misc]
    """Complete a matrix whose rows are alike and whose columns are alike.

    Parameters
    ----------
    row_kernel, col_kernel : "estimate" or array, default "estimate"
        Covariance between rows (n, n) and between columns (m, m).  Of a row kernel that is given, the
        amplitude is estimated as long as the column kernel is; if both are given, they stay as they are.
    inference : {"exact", "map", "gibbs"}, default "exact"
        For fixed kernels all three have one answer, the last with Monte-Carlo error.
    n_samples : int, default 500
        Draws behind the standard deviations (and of each Gibbs chain) where there are too many missing
        entries for the exact ones.
    shrinkage : float, default 2.0
        Pseudo-observations with which estimated kernels are drawn towards a multiple of the identity.
    nugget : float, default 1e-3
        Least eigenvalue of the column kernel, relative to the entries' variance.
    center : bool, default True
        Remove the columns' observed means.
    tol, max_iter : float and int
        Estimation stops when kernels move by less than `tol` (relative).

    Attributes
    ----------
    model_ : absentia.matrix.model.Addition
    completed_ : ndarray (n, m)
    mean_ : ndarray (m,)
    log_marginal_likelihood_ : float
        Of the observed entries, under the fitted kernels; estimated when more than 1000 are missing.

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
        X, _ = read_targets(X, len(X))
        self._X, self._seen = X, ~np.isnan(X)
        self.mean_ = np.nanmean(X, axis=0) if self.center else np.zeros(X.shape[1])
        self._rng_seed = int(_generator(self.random_state).integers(2**31))
        self.__dict__.pop("log_marginal_likelihood_", None)
        centred = np.where(self._seen, X - self.mean_, 0.0)
        self.model_ = self._model(centred)
        full = infer(self.model_, centred, self._seen, self.inference, self.n_samples, self._rng())
        self.completed_ = np.where(self._seen, X, full + self.mean_)
        self.n_features_in_ = X.shape[1]
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """The completed matrix."""
        return self.fit(X).completed_.copy()

    def transform(self, X: Any) -> Array:
        """The training matrix completed; other rows completed from their own entries.

        The row kernel says nothing of rows it has not seen: they are completed by the columns'
        covariance, with the row part's variance as noise.
        """
        check_is_fitted(self, "completed_")
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has shape {X.shape}; {self.n_features_in_} columns are wanted")
        if np.array_equal(X, self._X, equal_nan=True):
            return self.completed_.copy()
        seen = ~np.isnan(X)
        S = self.model_.N + self.model_.C * float(self.model_.rows.diagonal().mean())
        alone = Addition(RowKernel.none(len(X)), np.eye(len(S)), S)
        full = inference.complete(alone, np.where(seen, X - self.mean_, 0.0), seen) + self.mean_
        return np.where(seen, X, full)

    def predict(self, X: Any = None, return_std: bool = False) -> Any:
        """The completed training matrix; with `return_std` also standard deviations (observed: 0)."""
        check_is_fitted(self, "completed_")
        if not return_std:
            return self.completed_.copy()
        few = (~self._seen).sum() <= inference.SMALL
        variance = inference.variance(self.model_, self._seen, None if few else self._rng(), self.n_samples)
        return self.completed_.copy(), np.sqrt(np.maximum(variance, 0.0))

    def sample(self, n_samples: int = 1) -> Array:
        """Independent draws of the completed matrix from the posterior, (n_samples, n, m)."""
        check_is_fitted(self, "completed_")
        centred = np.where(self._seen, self._X - self.mean_, 0.0)
        found = inference.draws(self.model_, centred, self._seen, self._rng(), n_samples) + self.mean_
        return np.where(self._seen, self._X, found)

    @cached_property
    def log_marginal_likelihood_(self) -> float:
        check_is_fitted(self, "completed_")
        few = (~self._seen).sum() <= inference.SMALL
        full = np.where(self._seen, self._X - self.mean_, 0.0)
        return inference.log_marginal(self.model_, full, self._seen, None if few else self._rng())

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self._rng_seed)

    def _model(self, X: Array) -> Addition:
        n, m = X.shape
        free_rows, free_cols = _is_estimate(self.row_kernel), _is_estimate(self.col_kernel)
        if free_rows and n > MANY:
            raise ValueError(
                f"row_kernel='estimate' with {n} rows needs {n}x{n} numbers from {m} columns; give one, "
                "or use PMARegressor on features of the rows"
            )
        rows = RowKernel(np.eye(n), np.ones(n)) if free_rows else _given_rows(self.row_kernel, n)
        what = What(C="scale" if free_cols and not free_rows else "no", N=free_cols, K=free_rows)
        start = estimate.starting(rows, X, self._seen, what)
        level = 2 * float(np.diagonal(start.N).mean())
        if free_rows:
            start = replace(start, rows=rows.scaled(level / 2))
        if not free_cols:
            start = replace(start, N=_column_kernel(self.col_kernel, m, 1e-10))
        if not (free_rows or free_cols):
            return start
        solution = estimate.learn(
            start,
            X,
            self._seen,
            what,
            shrinkage=self.shrinkage,
            nugget=self.nugget * level,
            seed=self._rng_seed,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self._record(solution)
        return solution.state.model


def _is_estimate(kernel: Any) -> bool:
    if isinstance(kernel, str):
        if kernel != "estimate":
            raise ValueError(f"a kernel is 'estimate' or an array, not {kernel!r}")
        return True
    return False


def _given_rows(K: Any, n: int) -> RowKernel:
    if isinstance(K, RowKernel):
        return K
    K = np.asarray(K, dtype=float)
    if K.shape != (n, n):
        raise ValueError(f"row_kernel has shape {K.shape}; {(n, n)} is wanted, or 'estimate'")
    return RowKernel.dense(K)


# ------------------------------------------------------------------------------------------ new rows


class _RowModel(IterativeMixin, BaseEstimator):  # type: ignore[misc]
    """Targets of samples with a kernel between samples: fitting, and the distribution of new rows."""

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        gamma: Any = "ml",
        col_kernel: Any = "estimate",
        label_covariance: bool = False,
        inference: str = "exact",
        n_landmarks: int | None = None,
        shrinkage: float = 2.0,
        nugget: float = 1e-3,
        discard: bool = False,
        n_samples: int = 20,
        tol: float = 2e-3,
        max_iter: int = 300,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.col_kernel = col_kernel
        self.label_covariance = label_covariance
        self.inference = inference
        self.n_landmarks = n_landmarks
        self.shrinkage = shrinkage
        self.nugget = nugget
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

    def _what(self) -> What:
        return What(C="free" if self.label_covariance else "scale", N=_is_estimate(self.col_kernel))

    def _fit(self, X: Array, Y: Array, rows: Array) -> Array:
        """Learn from the given rows of X and Y; the completed Y of all rows."""
        if self.kernel not in ("rbf", "precomputed"):
            raise ValueError(f"kernel must be 'rbf' or 'precomputed', not {self.kernel!r}")
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(f"kernel='precomputed' wants a square kernel to fit, not {X.shape}")
        rng = _generator(self.random_state)
        seen = ~np.isnan(Y[rows])
        self.mean_ = np.where(
            seen.any(axis=0), np.nansum(Y[rows], axis=0) / np.maximum(seen.sum(axis=0), 1), 0
        )
        centred = np.where(seen, Y[rows] - self.mean_, 0.0)
        self._rows = rows
        start = self._start(X[rows], centred, seen, rng)
        self._learn(start, centred, seen, rng)
        full = infer(self.model_, centred, seen, self.inference, 25 * self.n_samples, rng)
        self._weigh(full, seen, rng)
        known = ~np.isnan(Y)
        out = np.where(known, Y, 0.0)
        out[rows] = np.where(known[rows], out[rows], full + self.mean_)
        left = np.setdiff1d(np.arange(len(Y)), rows)
        if len(left):
            out[left] = np.where(known[left], out[left], self._mean(X[left]))
        return out

    def _start(self, X: Array, Y: Array, seen: Array, rng: np.random.Generator) -> Addition:
        """The row kernel, its anchors and a model to begin from."""
        begin = None
        what = self._what()
        if self.kernel == "rbf":
            if isinstance(self.gamma, str) and self.gamma == "ml":
                self.gamma_, begin, self.gamma_curve_ = estimate.choose_gamma(X, Y, seen, what, rng)
            else:
                self.gamma_ = self._fixed_gamma(X, rng)
        n = len(X)
        size = self.n_landmarks if self.n_landmarks is not None else (n if n <= MANY else 500)
        some = np.sort(rng.choice(n, min(size, n), replace=False))
        self._anchors = self._rows[some] if self.kernel == "precomputed" else X[some]
        dtype = np.float32 if n > 5 * MANY else np.float64
        K = self._against(X, dtype)
        self._self = 1.0
        if self.kernel == "precomputed":
            self._self = float(np.diagonal(X[:, self._rows]).mean())
        if size >= n:
            rows = RowKernel.dense(K)
            self._T = rows.U
        else:
            R = nystrom_factor(np.eye(size), K[some])  # K R is the factor
            Phi = K @ R.astype(dtype)
            rows = RowKernel.factor(Phi)
            # k(x*, anchors) T is what U makes of k(x*, X): Phi* Phi' U
            self._T = R @ (Phi.T @ rows.U)
        if begin is not None:
            return replace(begin, rows=rows)
        return estimate.starting(rows, Y, seen, what)

    def _fixed_gamma(self, X: Array, rng: np.random.Generator) -> float:
        if self.gamma == "median":
            some = X[rng.choice(len(X), min(len(X), 1000), replace=False)]
            return 1.0 / float(np.median(squared_distances(some, some)[~np.eye(len(some), dtype=bool)]))
        if isinstance(self.gamma, str) or not self.gamma > 0:
            raise ValueError(f"gamma must be 'ml', 'median' or a positive number, not {self.gamma!r}")
        return float(self.gamma)

    def _against(self, X: Array, dtype: Any = np.float64) -> Array:
        """Kernel of samples against the anchors."""
        if self.kernel == "precomputed":
            return X[:, self._anchors].astype(dtype, copy=False)
        K = squared_distances(X.astype(dtype), self._anchors.astype(dtype))
        K *= -dtype(self.gamma_)
        return np.exp(K, out=K)

    def _learn(self, start: Addition, Y: Array, seen: Array, rng: np.random.Generator) -> None:
        what = self._what()
        level = float((Y[seen] ** 2).mean())
        if not what.N:
            start = replace(start, N=_column_kernel(self.col_kernel, Y.shape[1], 1e-10))
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
        self.model_ = solution.state.model

    def _weigh(self, full: Array, seen: Array, rng: np.random.Generator) -> None:
        """What predictions need: weights of the anchors, and those of posterior deviations."""
        model, k = self.model_, self.n_samples
        U = model.rows.U

        def weights(Z: Array) -> Array:
            A = model.solve(Z).reshape(len(full), -1).astype(U.dtype)
            return np.asarray((U.T @ A).reshape(U.shape[1], *Z.shape[1:]) @ model.C, dtype=float)

        self._H = weights(full)
        self._H_spread = None
        if k and not seen.all() and full.size * k <= 2_000_000:
            D = inference.deviations(model, seen, model.draw(rng, k), tol=1e-3)
            self._H_spread = weights(D)

    def _mean(self, X: Array) -> Array:
        return np.asarray(self._against(X) @ (self._T @ self._H) + self.mean_)

    def _distribution(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of new rows, noise included."""
        model = self.model_
        u = self._against(X) @ self._T
        inside = (u**2) @ (model.c**2 / model.d)
        white = np.maximum(model.c * self._self - inside, 0.0)
        variance = white @ (model.W**2).T + np.diagonal(model.N)
        if self._H_spread is not None:  # what is not known of the missing training labels
            k = self._H_spread.shape[1]
            moved = np.einsum("ir,rkj->ikj", u, self._H_spread, optimize=True)
            variance = variance + (moved**2).sum(axis=1) / k
        return u @ self._H + self.mean_, variance


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
        Covariance of labels within a sample.
    label_covariance : bool, default False
        Also estimate a covariance of labels in the row part: labels that go together in like samples.
    inference : {"exact", "map", "gibbs"}, default "exact"
    n_landmarks : int or None, default None
        Landmarks of a Nystrom row kernel; None means all samples up to 4000, and 500 beyond.
    shrinkage, nugget : float
        As in :class:`PMAImputer`.
    discard : bool, default False
        Learn only from samples with every label known.  For comparison.
    n_samples : int, default 20
        Posterior draws by which probabilities allow for labels unknown in training.

    Attributes
    ----------
    labels_ : ndarray (n, labels)
        The training labels, completed.
    scores_ : ndarray (n, labels)
        Expected labels, between -1 and 1 or a little beyond; known ones as given.
    gamma_, gamma_curve_ : float, list of (gamma, log-likelihood)
    model_ : absentia.matrix.model.Addition

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
        X = check_features(X)
        labels = read_labels(Y, len(X))
        self.scores_ = self._fit(X, labels.signs, kept(labels, self.discard))
        self._remember(X, labels)
        completed = np.where(self.scores_ > 0, labels.classes[1], labels.classes[0])
        self.labels_ = completed[:, 0] if labels.vector else completed
        return self

    def _scores(self, X: Array) -> Array:
        return self._mean(X)

    def _probabilities(self, X: Array) -> Array:
        mean, variance = self._distribution(X)
        return np.asarray(ndtr(mean / np.sqrt(variance)))


class PMARegressor(_RowModel):
    """Regression on several targets of which some are unknown; as :class:`PMAClassifier`.

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

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from X and Y (n, targets) with NaN where unknown."""
        X = check_features(X)
        targets, self._vector = read_targets(Y, len(X))
        known = ~np.isnan(targets)
        rows = np.flatnonzero(known.all(axis=1)) if self.discard else np.arange(len(X))
        if not len(rows):
            raise ValueError("discard=True leaves no sample: every one has an unknown target")
        self.scale_ = np.where(np.nanstd(targets, axis=0) > 0, np.nanstd(targets, axis=0), 1.0)
        completed = self._fit(X, targets / self.scale_, rows) * self.scale_
        completed = np.where(known, targets, completed)
        self.completed_ = completed[:, 0] if self._vector else completed
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Expected targets of new samples, and their standard deviations if asked for."""
        check_is_fitted(self, "completed_")
        X = check_features(X)
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} columns, but the fit had {self.n_features_in_}")
        mean, variance = self._distribution(X) if return_std else (self._mean(X), np.zeros(0))
        shape = np.s_[:, 0] if self._vector else np.s_[:]
        if not return_std:
            return (mean * self.scale_)[shape]
        return (mean * self.scale_)[shape], (np.sqrt(variance) * self.scale_)[shape]

    def score(self, X: Any, Y: Any) -> float:
        """R^2 over the known targets, averaged over columns."""
        found, Y = np.asarray(self.predict(X)), np.asarray(Y, dtype=float)
        found, Y = found.reshape(len(Y), -1), Y.reshape(len(Y), -1)
        residual = np.nansum((Y - found) ** 2, axis=0)
        total = np.nansum((Y - np.nanmean(Y, axis=0)) ** 2, axis=0)
        return float((1 - residual / np.where(total > 0, total, 1.0)).mean())
