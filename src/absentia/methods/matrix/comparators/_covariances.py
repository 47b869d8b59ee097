"""Gaussian processes with other covariances of labels: coregionalization, and none at all.

* `MatrixLMC`: the intrinsic model of coregionalization, ``K2 (x) K1 + noise``; exact, as PMA.
* `LabelGP`: a Gaussian process for every label, none knowing of the others.
"""

from absentia.core import estimator
from absentia.methods.matrix._classifier import PMAClassifier
from absentia.methods.matrix._estimate import What


class _Estimated(PMAClassifier):
    """A classifier whose covariance of labels is always estimated."""

    def _covariances(self, m: int) -> tuple[bool, ...]:
        return (self.label_covariance is True,)

    def _check(self) -> None:
        super()._check()
        if not (isinstance(self.col_kernel, str) and isinstance(self.amplitude, str)):
            raise ValueError(
                f"{type(self).__name__} always estimates the covariance of labels; leave col_kernel and "
                "amplitude as they are, or use PMAClassifier"
            )


@estimator
class MatrixLMC(_Estimated):
    """Intrinsic model of coregionalization: row kernel times label covariance, plus noise.

    Parameters
    ----------
    col_kernel, amplitude, label_covariance
        Without effect: the labels' covariance and its size are always estimated, and cannot be given.
    kernel, gamma, inference, n_landmarks, shrinkage, nugget, center
        As in :class:`PMAClassifier`.
    discard, n_samples, tol, max_iter, random_state, verbose
        As in :class:`PMAClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> Y = np.hstack([X > 0.5, X < 0.5]).astype(float)
    >>> Y[3, 0] = np.nan
    >>> MatrixLMC(random_state=0).fit(X, Y).labels_[3]
    array([0., 1.])
    """

    def _what(self) -> What:
        return What(C="free", noise_only=True)


@estimator
class LabelGP(_Estimated):
    """A Gaussian process for every label, with one kernel width and amplitudes and noises of their own.

    Parameters
    ----------
    kernel, gamma, inference, n_landmarks, shrinkage, nugget, center, discard, n_samples
        As in :class:`PMAClassifier`.
    tol, max_iter, random_state, verbose
        As in :class:`PMAClassifier`.
    col_kernel, amplitude, label_covariance
        Have no place in it, and cannot be given.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [0.7], [0.8], [0.9]]
    >>> LabelGP(random_state=0).fit(X, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]).predict([[0.85]])
    array([1.])
    """

    def _check(self) -> None:
        super()._check()
        if self.label_covariance is True:
            raise ValueError(
                "LabelGP knows of no covariance between labels; label_covariance must not be True"
            )

    def _what(self) -> What:
        return What(C="free", diagonal=True)
