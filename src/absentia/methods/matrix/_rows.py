r"""Targets of samples under a kernel between samples: what the PMA classifier and regressor share.

Rows of new samples (Section 4 of the paper): ``E[x*] = K(x*, X) P(X completed) C`` plus column means, where
P is the precision; the new row's own G has mean zero, so that with ``C = I`` labels help each other only
through what is missing in training.

Samples, labels and features are put in the order of ``_order`` before anything else, and back at the end.
"""

import copy
from dataclasses import KW_ONLY, replace
from typing import Literal

import numpy as np

from absentia.core import Array, Positive, PositiveInt, estimator, generator, inverse, warn
from absentia.data import Table, canonical
from absentia.methods.matrix import _estimate as estimate
from absentia.methods.matrix._anchors import anchored, median_gamma
from absentia.methods.matrix._base import Additive, OfSamples
from absentia.methods.matrix._estimate import What
from absentia.methods.matrix._given import Given, fixed_amplitude, read_column_kernel
from absentia.methods.matrix._inference import infer
from absentia.methods.matrix._likelihood import log_marginal
from absentia.methods.matrix._mean import few, is_small
from absentia.methods.matrix._model import Addition, RowKernel
from absentia.methods.matrix._spread import spread

#: Up to this many numbers, predictions keep how unknown training labels move them.
SPREAD = 2_000_000
#: A mean so many standard deviations from zero is worth a word where means are not removed.
FAR = 5


@estimator
class RowModel(OfSamples, Additive):
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
        if self.label_covariance is True and not isinstance(self.amplitude, str):
            raise ValueError(
                "label_covariance=True estimates the row part's size; leave amplitude at 'auto'"
            )

    def _amplitude(self) -> float | None:
        """What the row kernel is multiplied by; None if it is estimated."""
        rows_given = self.kernel == "precomputed" or not isinstance(self.gamma, str)
        return fixed_amplitude(self.amplitude, rows_given and not isinstance(self.col_kernel, str))

    def _what(self) -> What:
        C = "free" if self.label_covariance_ else "scale" if self._amplitude() is None else "no"
        return What(C=C, N=isinstance(self.col_kernel, str))

    def _covariances(self, m: int) -> tuple[bool, ...]:
        """Without and with a label covariance: what is tried."""
        if isinstance(self.label_covariance, bool):
            return (self.label_covariance,)
        # of one label there is nothing to covary, and an amplitude that is given stays as it is
        return (False, True) if m > 1 and self._amplitude() is None else (False,)

    def _fit(self, X: Array, Y: Array, rows: Array, scale: Array, names: Array | None) -> Array:
        """Learn from the given rows of X and Y (in units of `scale`); the completed Y of all rows."""
        self._forget()
        tried = self._covariances(Y.shape[1])
        self.label_covariance_ = tried[0]
        rng, what = generator(self.random_state), self._what()
        N = read_column_kernel(self.col_kernel, Y.shape[1], names)
        seen = ~np.isnan(Y[rows])
        mean = np.where(seen, Y[rows], 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
        centers = what.any if self.center == "auto" else self.center
        self.mean_ = mean if centers else np.zeros(len(mean))
        self._put_in_order(X, Y, rows, N)
        Z = Y[np.ix_(self._rows, self._labels)]
        seen = ~np.isnan(Z)
        Z = np.where(seen, Z - self.mean_[self._labels], 0.0)
        given = Given(N, scale, self._amplitude()).permuted(self._labels)
        rng = self._learn(tried, X[self._rows][:, self._columns], Z, seen, rng, given)
        full, self.diagnostics_ = infer(self._model, Z, seen, self.inference, 25 * self.n_samples, rng)
        self._weigh(full, seen, rng)
        if not what.any:
            _warn_of_means(self._model, (mean - self.mean_)[self._labels])
        self.model_ = self._model.permuted(np.argsort(self._rows), inverse(self._labels)).stretched(scale)
        return self._completed(X, Y, full)

    def _learn(
        self,
        tried: tuple[bool, ...],
        X: Array,
        Y: Array,
        seen: Array,
        rng: np.random.Generator,
        given: Given,
    ) -> np.random.Generator:
        """Estimate the model, with the better of the label covariances that are tried; what is left of rng.

        Each begins from the same random state, as if it had been asked for.
        """
        found = {}
        for covariance in tried:
            own = copy.deepcopy(rng)
            self._forget()
            self.label_covariance_ = covariance
            self._model = self._learned(self._start(X, Y, seen, own, given), Y, seen, own)
            value = self._likely(Y, seen, own) if len(tried) > 1 else 0.0
            found[covariance] = value, dict(self.__dict__), own
        best = max(found, key=lambda covariance: found[covariance][0])
        self.__dict__.update(found[best][1])
        if len(tried) > 1:
            self.label_covariance_curve_ = {covariance: found[covariance][0] for covariance in tried}
        return found[best][2]

    def _likely(self, Y: Array, seen: Array, rng: np.random.Generator) -> float:
        """Log marginal likelihood of what is observed, less one for each number of a covariance (AIC).

        Without that, the larger model would be the likelier always.
        """
        m = Y.shape[1]
        probes = None if few(seen) else copy.deepcopy(rng)
        cost = m * (m + 1) / 2 - 1 if self.label_covariance_ else 0.0
        return log_marginal(self._model, Y, seen, probes, tol=1e-4) - cost

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
            self._columns = rows[order[0]]
        else:
            order = canonical((len(rows), Y.shape[1], X.shape[1]), [*labels, (X[rows], (0, 2))])
            self._columns = order[2]
        self._rows, self._labels = rows[order[0]], order[1]

    def _start(self, X: Array, Y: Array, seen: Array, rng: np.random.Generator, given: Given) -> Addition:
        """The row kernel, its anchors and a model to begin from; all in the order of the fit."""
        what = self._what()

        def begin(rows: RowKernel, Y: Array, seen: Array) -> Addition:
            return given.start(estimate.starting(rows, Y, seen, what), what)

        first, gamma = None, None
        if self.kernel == "rbf" and self.gamma == "ml":
            gamma, first, self.gamma_curve_ = estimate.choose_gamma(X, Y, seen, what, rng, start=begin)
        elif self.kernel == "rbf":
            gamma = median_gamma(X, rng) if isinstance(self.gamma, str) else float(self.gamma)
        if gamma is not None:
            self.gamma_ = gamma
        rows, self._anchors = anchored(X, gamma, self.n_landmarks, rng)
        return begin(rows, Y, seen) if first is None else replace(first, rows=rows)

    def _learned(self, start: Addition, Y: Array, seen: Array, rng: np.random.Generator) -> Addition:
        what = self._what()
        if not what.any:
            return start
        nugget = max(self.nugget * float((Y[seen] ** 2).mean()), 1e-12)
        return self._estimated(start, Y, seen, what, nugget=nugget, seed=int(rng.integers(2**31)))

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
        if missing and full.size * missing <= SPREAD and is_small(model, seen):
            self._H_spread = weights(spread(model, seen))
        elif missing and full.size * k <= SPREAD:
            self._H_spread = weights(spread(model, seen, rng, k, tol=1e-3))

    # ----------------------------------------------------------------------------------- new samples

    def _mean(self, X: Array) -> Array:
        """Expected targets of samples."""
        anchors = self._anchors
        return self._back(anchors.against(X[:, self._columns]) @ (anchors.T @ self._H)) + self.mean_

    def _distribution(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of new rows, noise included."""
        model, anchors = self._model, self._anchors
        u = anchors.against(X[:, self._columns]) @ anchors.T
        inside = (u**2) @ (model.c**2 / model.d)
        white = np.maximum(model.c * anchors.own - inside, 0.0)
        variance = white @ (model.W**2).T + np.diagonal(model.N)
        if self._H_spread is not None:  # what is not known of the missing training labels
            moved = np.einsum("ir,rkj->ikj", u, self._H_spread, optimize=True)
            variance = variance + (moved**2).sum(axis=1)
        return self._back(u @ self._H) + self.mean_, self._back(variance)

    def _back(self, Z: Array) -> Array:
        """Columns of Z in the order in which labels came."""
        return Z[:, inverse(self._labels)]


def _warn_of_means(model: Addition, mean: Array) -> None:
    """Say so when means that were not removed are far beyond what the given kernels allow."""
    variance = float(model.rows.diagonal().mean()) * np.diagonal(model.C) + np.diagonal(model.N)
    if (np.abs(mean) > FAR * np.sqrt(variance)).any():
        warn(
            f"the given kernels have mean zero, but a column's mean is more than {FAR} standard deviations "
            "from it; pass center=True to remove means"
        )
