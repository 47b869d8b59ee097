r"""Targets of samples under a kernel between samples: what the PMA classifier and regressor share.

Rows of new samples (Section 4 of the paper): ``E[x*] = K(x*, X) P(X completed) C`` plus column means, where
P is the precision; the new row's own G has mean zero, so that with ``C = I`` labels help each other only
through what is missing in training.

The width of an RBF row kernel is found by marginal likelihood (:func:`_select_gamma`), with amplitude and
column kernel estimated at each width, on a sample of rows if there are many.

The row kernel is whole or, of many samples, through landmarks (Nystrom): :class:`_Anchors` are the samples
that all others are compared with.

Samples, labels and features are put in their canonical order (``absentia.data.order_tables``) before
anything else, and back at the end.
"""

import copy
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.linalg
import scipy.optimize

from absentia.core import (
    Array,
    Positive,
    PositiveInt,
    argmin_key,
    estimator,
    make_generator,
    serializable,
    warn,
)
from absentia.core.linalg import invert_permutation, squared_distances, symmetrize
from absentia.data import OrderTable, order_tables
from absentia.methods.matrix._estimation import (
    AdditiveModel,
    FreeParts,
    GivenParts,
    MomentUpdate,
    initial_model,
    run_em,
)
from absentia.methods.matrix._inference import (
    is_factorizable,
    log_marginal_likelihood,
    posterior_deviations,
)
from absentia.methods.matrix._model import EIGENVALUE_RTOL, MAX_DENSE_ROWS, KroneckerGaussian, RowKernel
from absentia.methods.matrix._validation import PartialTargets, read_column_kernel

#: So many landmarks if there are more than :data:`MAX_DENSE_ROWS` samples.
_N_LANDMARKS = 500
#: The median distance is that between at most so many samples.
_MAX_MEDIAN_SAMPLES = 1000
#: Up to this many numbers, predictions keep how unknown training labels move them.
_MAX_DEVIATION_NUMBERS = 2_000_000
#: The width of an RBF kernel is chosen on at most this many rows.
_MAX_GAMMA_ROWS = 600
#: A mean so many standard deviations from zero is worth a warning where means are not removed.
_FAR = 5


@serializable
@dataclass(frozen=True)
class _Anchors:
    """Training samples that all others are compared with.

    `points` are their features, or their positions among the columns of a kernel if `gamma` is None;
    `mean_diagonal` is what the kernel of a sample with itself is on average.  ``compare(X) @ T`` is what
    the row kernel's eigenvectors make of the kernel of X against all training samples.
    """

    points: Array
    gamma: float | None
    mean_diagonal: float
    T: Array

    def compare(self, X: Array) -> Array:
        """The kernel of X against the anchors."""
        return _compute_kernel(X, self.points, self.gamma, np.float64)


def _make_row_kernel(
    X: Array, gamma: float | None, n_landmarks: int | None, rng: np.random.Generator
) -> tuple[RowKernel, _Anchors]:
    """The row kernel of X, features or (`gamma` None) a kernel; on landmarks if these are fewer."""
    n = len(X)
    size = n_landmarks if n_landmarks is not None else (n if n <= MAX_DENSE_ROWS else _N_LANDMARKS)
    landmarks = np.sort(rng.choice(n, min(size, n), replace=False))
    points = landmarks if gamma is None else X[landmarks]
    dtype = np.float32 if n > 5 * MAX_DENSE_ROWS else np.float64
    K = _compute_kernel(X, points, gamma, dtype)
    diagonal = float(np.diagonal(X).mean()) if gamma is None else 1.0
    if size >= n:
        rows = RowKernel.from_dense(K)
        return rows, _Anchors(points, gamma, diagonal, rows.U)
    R = _nystrom_root(K[landmarks])
    Phi = K @ R.astype(dtype)
    rows = RowKernel.from_factor(Phi)
    # k(x*, anchors) T is what U makes of k(x*, X): Phi* Phi' U
    return rows, _Anchors(points, gamma, diagonal, R @ (Phi.T @ rows.U))


def _nystrom_root(K_mm: Array) -> Array:
    """R (m, m) with ``(K_nm R)(K_nm R)' = K_nm K_mm^+ K_mn``, the Nystrom approximation on landmarks."""
    values, Q = scipy.linalg.eigh(symmetrize(K_mm).astype(float), check_finite=False)
    # a nugget on the landmarks: directions of smaller eigenvalue are rounding, which division would blow up
    nugget = values[-1] * max(EIGENVALUE_RTOL, 10 * np.finfo(K_mm.dtype).eps)
    if not nugget > 0:  # a kernel of zeros
        return np.zeros_like(Q)
    return np.asarray(Q / np.sqrt(np.maximum(values, 0.0) + nugget))


def _compute_kernel(X: Array, points: Array, gamma: float | None, dtype: Any) -> Array:
    if gamma is None:
        return X[:, points].astype(dtype, copy=False)
    K = squared_distances(X.astype(dtype), points.astype(dtype))
    K *= -dtype(gamma)
    return np.exp(K, out=K)


# --------------------------------------------------------------------------------------------- kernel width


def _median_gamma(D: Array) -> float:
    """One over the median of squared distances D between different samples."""
    off = D[~np.eye(len(D), dtype=bool)]
    return 1.0 / max(float(np.median(off)) if len(off) else 1.0, 1e-300)


def _select_gamma(
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
    unit = _median_gamma(D)
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


class SampleKernelMixin:
    """Estimators of samples that come as features or, with ``kernel="precomputed"``, as a kernel."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        tags.target_tags.required = tags.target_tags.multi_output = True
        return tags


@estimator
class RowModel(SampleKernelMixin, AdditiveModel):
    """Targets of samples with a kernel between samples: fitting, and the distribution of new rows."""

    kernel: Literal["rbf", "precomputed"] = "rbf"
    _: KW_ONLY
    gamma: Positive | Literal["ml", "median"] = "ml"
    label_covariance: bool | Literal["auto"] = "auto"
    n_landmarks: PositiveInt | None = None
    center: bool | Literal["auto"] = "auto"
    discard: bool = False
    n_samples: PositiveInt = 20

    def _check(self) -> None:
        super()._check()
        if self.label_covariance is True and not (
            isinstance(self.amplitude, str) and self.estimate == "em"
        ):
            raise ValueError(
                "label_covariance=True estimates the row part's size; leave amplitude at 'auto' and "
                "estimate at 'em'"
            )

    def _amplitude(self) -> float | None:
        """What the row kernel is multiplied by; None if it is estimated."""
        return self._fixed_amplitude(self.kernel == "precomputed" or not isinstance(self.gamma, str))

    def _free_parts(self) -> FreeParts:
        size: Literal["scale", "fixed"] = "scale" if self._amplitude() is None else "fixed"
        return FreeParts("free" if self.label_covariance_ else size, N=isinstance(self.col_kernel, str))

    def _label_covariances(self, m: int) -> tuple[bool, ...]:
        """Without and with a label covariance: what is tried."""
        if isinstance(self.label_covariance, bool):
            return (self.label_covariance,)
        # of one label there is nothing to covary, and an amplitude that is given stays as it is
        return (False, True) if m > 1 and self._amplitude() is None else (False,)

    def _fit(self, X: Array, targets: PartialTargets, rows: Array, scale: Array) -> Array:
        """Learn from the given rows of X and targets (in units of `scale`); all targets, completed."""
        Y = targets.values
        self._forget()
        options = self._label_covariances(Y.shape[1])
        self.label_covariance_ = options[0]
        rng, free = make_generator(self.random_state), self._free_parts()
        N = read_column_kernel(self.col_kernel, Y.shape[1], targets.names)
        mean = np.nanmean(Y[rows], axis=0)
        center = free.any if self.center == "auto" else self.center
        self.mean_ = mean if center else np.zeros(len(mean))
        self._set_order(X, Y, rows, N)
        Z = Y[np.ix_(self._rows, self._labels)]
        observed = ~np.isnan(Z)
        Z = np.where(observed, Z - self.mean_[self._labels], 0.0)
        given = GivenParts(N, scale, self._amplitude()).permute(self._labels)
        rng = self._select_model(options, X[self._rows][:, self._columns], Z, observed, rng, given)
        model, completion = self._infer(self._model, Z, observed, 25 * self.n_samples, rng, free)
        self._model: KroneckerGaussian = model
        full, self.diagnostics_, _ = completion
        self._set_weights(full, observed, rng)
        if not free.any:
            _warn_of_means(self._model, (mean - self.mean_)[self._labels])
        original = self._model.permute(np.argsort(self._rows), invert_permutation(self._labels))
        self.model_ = original.rescale_columns(scale)
        return self._complete(X, Y, full)

    def _select_model(
        self,
        options: tuple[bool, ...],
        X: Array,
        Y: Array,
        observed: Array,
        rng: np.random.Generator,
        given: GivenParts,
    ) -> np.random.Generator:
        """Estimate the model, with the better of the label covariances that are tried; its generator.

        Each begins from the same random state, as if it had been asked for.
        """
        values, fitted = {}, {}
        for covariance in options:
            own_rng = copy.deepcopy(rng)
            self._forget()
            self.label_covariance_ = covariance
            start = self._initial_model(X, Y, observed, own_rng, given)
            self._model = self._estimate_model(start, Y, observed, own_rng)
            values[covariance] = (
                self._penalized_likelihood(Y, observed, own_rng) if len(options) > 1 else 0.0
            )
            fitted[covariance] = dict(self.__dict__), own_rng
        attributes, own_rng = fitted[max(values, key=lambda covariance: values[covariance])]
        self.__dict__.update(attributes)
        if len(options) > 1:
            self.label_covariance_curve_ = values
        return own_rng

    def _penalized_likelihood(self, Y: Array, observed: Array, rng: np.random.Generator) -> float:
        """Log marginal likelihood of what is observed, less one for each number of a covariance (AIC).

        Without that, the larger model would be the likelier always.
        """
        m = Y.shape[1]
        penalty = m * (m + 1) / 2 - 1 if self.label_covariance_ else 0.0
        return log_marginal_likelihood(self._model, Y, observed, copy.deepcopy(rng), tol=1e-4) - penalty

    def _complete(self, X: Array, Y: Array, full: Array) -> Array:
        """Y with unknown entries as expected: of training rows, and of those left out."""
        expected = np.empty(Y.shape)
        expected[self._rows] = self._restore_labels(full) + self.mean_
        left = np.setdiff1d(np.arange(len(Y)), self._rows)
        if len(left):
            expected[left] = self._mean(X[left])
        return np.where(np.isnan(Y), expected, Y)

    def _set_order(self, X: Array, Y: Array, rows: Array, N: Array | None) -> None:
        """Find the canonical order of the training rows, the labels and the features."""
        labels: list[OrderTable] = [(Y[rows], (0, 1)), *([] if N is None else [(N, (1, 1))])]
        if self.kernel == "precomputed":
            order = order_tables((len(rows), Y.shape[1]), [*labels, (X[np.ix_(rows, rows)], (0, 0))])
            self._columns = rows[order[0]]
        else:
            order = order_tables((len(rows), Y.shape[1], X.shape[1]), [*labels, (X[rows], (0, 2))])
            self._columns = order[2]
        self._rows, self._labels = rows[order[0]], order[1]

    def _initial_model(
        self, X: Array, Y: Array, observed: Array, rng: np.random.Generator, given: GivenParts
    ) -> KroneckerGaussian:
        """The row kernel, its anchors and a model to begin from; all in the order of the fit."""
        free = self._free_parts()

        def start(rows: RowKernel, Y: Array, observed: Array) -> KroneckerGaussian:
            return given.insert(initial_model(rows, Y, observed, free), free)

        model, gamma = None, None
        if self.kernel == "rbf" and self.gamma == "ml":
            gamma, model, self.gamma_curve_ = _select_gamma(X, Y, observed, free, rng, start)
        elif self.kernel == "rbf" and self.gamma == "median":
            sample = X[rng.choice(len(X), min(len(X), _MAX_MEDIAN_SAMPLES), replace=False)]
            gamma = _median_gamma(squared_distances(sample, sample))
        elif self.kernel == "rbf":
            gamma = float(self.gamma)
        if gamma is not None:
            self.gamma_ = gamma
        rows, self._anchors = _make_row_kernel(X, gamma, self.n_landmarks, rng)
        if model is None or self.estimate == "paper":
            return start(rows, Y, observed)
        return replace(model, rows=rows)

    def _estimate_model(
        self, start: KroneckerGaussian, Y: Array, observed: Array, rng: np.random.Generator
    ) -> KroneckerGaussian:
        free = self._free_parts()
        if self.estimate == "paper" or not free.any:
            return start
        nugget = max(self.nugget * float((Y[observed] ** 2).mean()), 1e-12)
        return self._estimate(start, Y, observed, free, nugget=nugget, seed=int(rng.integers(2**31)))

    def _set_weights(self, full: Array, observed: Array, rng: np.random.Generator) -> None:
        """What predictions need: weights of the anchors, and those of posterior deviations."""
        model, k = self._model, self.n_samples
        U = model.rows.U

        def weigh(Z: Array) -> Array:
            A = model.solve(Z).reshape(len(full), -1).astype(U.dtype)
            return np.asarray((U.T @ A).reshape(U.shape[1], *Z.shape[1:]) @ model.C, dtype=float)

        self._weights = weigh(full)
        self._deviation_weights = None
        n_missing = int((~observed).sum())
        if (
            n_missing
            and full.size * n_missing <= _MAX_DEVIATION_NUMBERS
            and is_factorizable(model, observed)
        ):
            self._deviation_weights = weigh(posterior_deviations(model, observed))
        elif n_missing and full.size * k <= _MAX_DEVIATION_NUMBERS:
            self._deviation_weights = weigh(posterior_deviations(model, observed, rng, k, tol=1e-3))

    # ----------------------------------------------------------------------------------- new samples

    def _mean(self, X: Array) -> Array:
        """Expected targets of samples."""
        anchors = self._anchors
        weighted = anchors.compare(X[:, self._columns]) @ (anchors.T @ self._weights)
        return self._restore_labels(weighted) + self.mean_

    def _distribution(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of new rows, noise included."""
        model, anchors = self._model, self._anchors
        u = anchors.compare(X[:, self._columns]) @ anchors.T
        explained = (u**2) @ (model.c**2 / model.d)
        white = np.maximum(model.c * anchors.mean_diagonal - explained, 0.0)
        variance = white @ (model.W**2).T + np.diagonal(model.N)
        if self._deviation_weights is not None:  # what is not known of the missing training labels
            moved = np.einsum("ir,rkj->ikj", u, self._deviation_weights, optimize=True)
            variance = variance + (moved**2).sum(axis=1)
        return self._restore_labels(u @ self._weights) + self.mean_, self._restore_labels(variance)

    def _restore_labels(self, Z: Array) -> Array:
        """Columns of Z in the order in which labels came."""
        return Z[:, invert_permutation(self._labels)]


def _warn_of_means(model: KroneckerGaussian, mean: Array) -> None:
    """Say so when means that were not removed are far beyond what the given kernels allow."""
    variance = float(model.rows.diagonal().mean()) * np.diagonal(model.C) + np.diagonal(model.N)
    if (np.abs(mean) > _FAR * np.sqrt(variance)).any():
        warn(
            f"the given kernels have mean zero, but a column's mean is more than {_FAR} standard "
            "deviations from it; pass center=True to remove means"
        )
