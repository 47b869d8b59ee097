"""Labels of which some are unknown, by probabilistic matrix addition.

Departures from the paper: kernels by EM with posterior covariance instead of plug-in; labels as -1 and +1
instead of truncated log-odds (which are a multiple of them); an optional label covariance C in the
row part.
"""

from typing import Any, Self

import numpy as np
from scipy.special import ndtr

from absentia.core import Array, estimator, suited_to
from absentia.methods.matrix._checks import read_samples
from absentia.methods.matrix._labels import MultiLabelMixin, chosen, read_labels, to_learn_from
from absentia.methods.matrix._rows import RowModel


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
    n_landmarks : int or None, default None
        Landmarks of a Nystrom row kernel; None means all samples up to 4000, and 500 beyond.
    shrinkage : "auto" or float, default "auto"
        Pseudo-observations with which estimated kernels are drawn towards a multiple of the identity;
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
        self._check_parameters()
        table = read_samples(self, X)
        labels = read_labels(Y, X, len(table), self)
        rows = to_learn_from(labels.signs, self.discard)
        with suited_to(len(table)):
            one = np.ones(labels.signs.shape[1])
            self.scores_ = self._fit(table, labels.signs, rows, one, labels.names)
        self._remember(labels)
        completed = chosen(self.scores_, labels.classes)
        self.labels_ = completed[:, 0] if labels.vector else completed
        return self

    def _scores(self, X: Array) -> Array:
        return self._mean(X)

    def _probabilities(self, X: Array) -> Array:
        mean, variance = self._distribution(X)
        return np.asarray(ndtr(mean / np.sqrt(variance)))
