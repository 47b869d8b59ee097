r"""Labels and targets of which some are unknown, by probabilistic matrix addition.

Rows of new samples (Section 4 of the paper): ``E[x*] = K(x*, X) P(X completed) C`` plus column means, where
P is the precision; the new row's own G has mean zero, so that with ``C = I`` labels help each other only
through what is missing in training.

The width of an RBF row kernel is found by marginal likelihood (:func:`_select_gamma`), with amplitude and
column kernel estimated at each width, on a sample of rows if there are many.

The row kernel is whole or, of many samples, through landmarks (Nystrom): :class:`_Anchors` are the samples
that all others are compared with.

Samples, labels and features are put in their canonical order (``absentia.data.order_tables``) before
anything else, and back at the end.

Departures from the paper: kernels by EM with posterior covariance instead of plug-in; labels as -1 and +1
instead of truncated log-odds (which are a multiple of them); an optional label covariance C in the
row part.
"""

import copy
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import scipy.linalg
import scipy.optimize
from scipy.special import ndtr
from sklearn.base import RegressorMixin
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from absentia.core import (
    TIE_RTOL,
    Array,
    Positive,
    PositiveInt,
    argmin_key,
    estimator,
    limit_threads_if_small,
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
from absentia.methods.matrix._holdout import column_scale
from absentia.methods.matrix._inference import (
    is_factorizable,
    log_marginal_likelihood,
    posterior_deviations,
)
from absentia.methods.matrix._model import EIGENVALUE_RTOL, MAX_DENSE_ROWS, KroneckerGaussian, RowKernel
from absentia.methods.matrix._validation import (
    PartialTargets,
    read_column_kernel,
    read_numbers,
    read_partial_labels,
    read_samples,
    read_targets,
    read_truth,
)

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


def _decide(scores: Array, classes: Array) -> Array:
    """The second class where the score is positive; a score that is zero to rounding has the first."""
    return np.asarray(np.where(scores > TIE_RTOL, classes[1], classes[0]))


class MultiLabelMixin(SampleKernelMixin):
    """`fit`, `predict`, `predict_proba` and `score` from `_fit_labels`, `_scores` and `_probabilities`.

    These are no classifiers by scikit-learn's tags: its default splitters would look for classes in Y
    and refuse unknown labels.  So ``cv=5`` means five plain folds.
    """

    discard: bool
    _check_parameters: Callable[[], None]
    _scores: Callable[[Array], Array]
    _probabilities: Callable[[Array], Array]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)  # two values, in one column or several
        return tags

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from X (n, features), or a kernel (n, n), and Y (n, labels) with NaN where unknown."""
        self._check_parameters()
        table = read_samples(self, X)
        labels, classes = read_partial_labels(Y, X, len(table), self)
        with limit_threads_if_small(len(table)):
            self._fit_labels(table, labels, labels.select_rows(self.discard))
        self.classes_, self._vector, self._label_names = classes, labels.vector, labels.names
        return self

    def _fit_labels(self, X: Array, labels: PartialTargets, rows: Array) -> None:
        """Learn from these rows of X and of labels that are -1, +1 or NaN."""
        raise NotImplementedError

    def _read_new_samples(self, X: Any) -> Array:
        check_is_fitted(self, "classes_")
        return read_numbers(self, X, fit=False)

    def decision_function(self, X: Any) -> Array:
        """Scores (n, labels), positive where the label is predicted."""
        scores = self._scores(self._read_new_samples(X))
        return scores[:, 0] if self._vector else scores

    def predict(self, X: Any) -> Array:
        """Labels (n, labels), in the values they were given."""
        return _decide(self.decision_function(X), self.classes_)

    def predict_proba(self, X: Any) -> Array:
        """Probability of each label (n, labels); of the two classes (n, 2) if Y was a vector."""
        p = self._probabilities(self._read_new_samples(X))
        return np.hstack([1 - p, p]) if self._vector else p

    def score(self, X: Any, y: Any) -> float:
        """Fraction of the known labels that are predicted right."""
        predicted = self.predict(X)
        Y = read_truth(y, X, self._label_names, predicted.shape)
        known = ~np.isnan(Y)
        return float((predicted[known] == Y[known]).mean())


@estimator
class PMAClassifier(MultiLabelMixin, RowModel):
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
    label_covariance : "auto" or bool, default "auto"
        Also estimate a covariance of labels in the row part: labels that go together in like samples.
        "auto" does if the known labels are likelier with it (log marginal likelihood, less one for each
        number of the covariance), and does not where the row part's size is given.  False is the paper's
        model.
    inference : {"exact", "map", "gibbs"}, default "exact"
        How unknown training labels are completed; for fixed kernels all three have one answer.
    estimate : {"em", "paper"}, default "em"
        How the column kernel is estimated.  "paper" is the paper's own way, in turn with the steps of
        "map" or "gibbs" inference and without a prior, under a row kernel that stays as it is; a width by
        "ml" is still that of EM.
    n_landmarks : int or None, default None
        Landmarks of a Nystrom row kernel; None means all samples up to 4000, and 500 beyond.
    shrinkage : "auto" or float, default "auto"
        Pseudo-observations with which estimated kernels are shrunk towards a multiple of the identity;
        "auto" is 2.
    nugget : float, default 1e-3
        Least eigenvalue of an estimated column kernel, relative to the labels' variance.
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
        Of landmarks and draws.  None: the fixed seed 0.
    verbose : bool, default False
        Write a line to stderr every other second, and one at the end.

    Attributes
    ----------
    labels_ : ndarray (n, labels)
        The training labels, completed.
    scores_ : ndarray (n, labels)
        Expected labels, between -1 and 1 or a little beyond; known ones as given.
    label_covariance_ : bool
        Whether a covariance of labels was estimated.
    label_covariance_curve_ : dict
        Log-likelihood without and with one, less the cost of its numbers; if "auto" tried both.
    gamma_, gamma_curve_ : float, list of (gamma, log-likelihood)
    model_ : absentia.methods.matrix._model.KroneckerGaussian
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
        super().fit(X, Y)
        completed = _decide(self.scores_, self.classes_)
        self.labels_ = completed[:, 0] if self._vector else completed
        return self

    def _fit_labels(self, X: Array, labels: PartialTargets, rows: Array) -> None:
        self.scores_ = self._fit(X, labels, rows, np.ones(labels.values.shape[1]))

    def _scores(self, X: Array) -> Array:
        return self._mean(X)

    def _probabilities(self, X: Array) -> Array:
        mean, variance = self._distribution(X)
        return np.asarray(ndtr(mean / np.sqrt(variance)))


class _FreeCovarianceClassifier(PMAClassifier):
    """A classifier whose covariance of labels is always estimated."""

    def _label_covariances(self, m: int) -> tuple[bool, ...]:
        return (False,)  # nothing is to be chosen

    def _check(self) -> None:
        given = not (isinstance(self.col_kernel, str) and isinstance(self.amplitude, str))
        if given or self.label_covariance is True or self.estimate != "em":
            raise ValueError(
                f"{type(self).__name__} always estimates its own covariance of labels; leave col_kernel, "
                "amplitude, label_covariance and estimate as they are, or use PMAClassifier"
            )


@estimator
class MatrixLMC(_FreeCovarianceClassifier):
    """Intrinsic model of coregionalization: row kernel times label covariance, plus noise.

    Parameters
    ----------
    col_kernel, amplitude, label_covariance, estimate
        The labels' covariance and its size are always estimated, by EM, and cannot be given.
    kernel, gamma, inference, n_landmarks, shrinkage, nugget, center
        As in :class:`PMAClassifier`.
    discard, n_samples, tol, max_iter, random_state, verbose
        As in :class:`PMAClassifier`.

    Examples
    --------
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> Y = np.hstack([X > 0.5, X < 0.5]).astype(float)
    >>> Y[3, 0] = np.nan
    >>> MatrixLMC(random_state=0).fit(X, Y).labels_[3]
    array([0., 1.])
    """

    def _free_parts(self) -> FreeParts:
        return FreeParts(C="free", noise_only=True)


@estimator
class LabelGP(_FreeCovarianceClassifier):
    """A Gaussian process for every label, with one kernel width and amplitudes and noises of their own.

    Parameters
    ----------
    kernel, gamma, inference, n_landmarks, shrinkage, nugget, center, discard, n_samples
        As in :class:`PMAClassifier`.
    tol, max_iter, random_state, verbose
        As in :class:`PMAClassifier`.
    col_kernel, amplitude, label_covariance, estimate
        Have no place in it, and cannot be given.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [0.7], [0.8], [0.9]]
    >>> LabelGP(random_state=0).fit(X, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]).predict([[0.85]])
    array([1.])
    """

    def _free_parts(self) -> FreeParts:
        return FreeParts(C="free", diagonal=True)


@estimator
class PMARegressor(RegressorMixin, RowModel):  # type: ignore[misc]
    """Regression on several targets of which some are unknown; as :class:`PMAClassifier`.

    Parameters
    ----------
    standardize : bool, default True
        Estimate on targets divided by their standard deviations, so that their units do not matter.  A
        `col_kernel` and an `amplitude` that are given are in the units of the targets and divided alike:
        with both given this changes no answer.
    label_covariance : "auto" or bool, default False
        As in :class:`PMAClassifier`.
    kernel, gamma, col_kernel, amplitude, inference, estimate, n_landmarks, shrinkage
        As in :class:`PMAClassifier`.
    nugget, center, discard, n_samples, tol, max_iter, random_state, verbose
        As in :class:`PMAClassifier`.

    Attributes
    ----------
    completed_ : ndarray (n, targets)
        The training targets, completed.
    scale_ : ndarray (targets,)
        What the targets were divided by.
    mean_ : ndarray (targets,)
        What was then taken off.
    model_ : absentia.methods.matrix._model.KroneckerGaussian
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

    _: KW_ONLY
    standardize: bool = True
    label_covariance: bool | Literal["auto"] = False

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from X and Y (n, targets) with NaN where unknown."""
        self._check_parameters()
        table = read_samples(self, X)
        targets = read_targets(Y, X, len(table), self)
        Y = targets.values
        rows = targets.select_rows(self.discard)
        self._vector, self._target_names = targets.vector, targets.names
        self.scale_ = column_scale(Y) if self.standardize else np.ones(Y.shape[1])
        scaled = replace(targets, values=Y / self.scale_)
        with limit_threads_if_small(len(table)):
            completed = self._fit(table, scaled, rows, self.scale_) * self.scale_
        completed = np.where(np.isnan(Y), completed, Y)
        self.completed_ = completed[:, 0] if self._vector else completed
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Expected targets of new samples, and their standard deviations if asked for."""
        check_is_fitted(self, "completed_")
        X = read_numbers(self, X, fit=False)
        columns = np.s_[:, 0] if self._vector else np.s_[:]
        if not return_std:
            return (self._mean(X) * self.scale_)[columns]
        mean, variance = self._distribution(X)
        return (mean * self.scale_)[columns], (np.sqrt(variance) * self.scale_)[columns]

    def score(self, X: Any, y: Any) -> float:
        """R^2 over the known targets, averaged over the columns that have any."""
        predicted = np.asarray(self.predict(X))
        Y = read_truth(y, X, self._target_names, predicted.shape)
        predicted, Y = predicted.reshape(len(Y), -1), Y.reshape(len(Y), -1)
        known = ~np.isnan(Y).all(axis=0)
        predicted, Y = predicted[:, known], Y[:, known]
        residual = np.nansum((Y - predicted) ** 2, axis=0)
        total = np.nansum((Y - np.nanmean(Y, axis=0)) ** 2, axis=0)
        return float((1 - residual / np.where(total > 0, total, 1.0)).mean())
