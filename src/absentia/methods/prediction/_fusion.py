"""Late fusion: one classifier per view, and one rule that combines the probabilities of a sample's views.

With ``p_v(k)`` the probability of class k by view v, ``pi`` the frequencies of the classes, and V(x) the
views that sample x has:

===============  =========================================================================================
``rule``         probabilities of x
===============  =========================================================================================
``"mean"``       the mean of ``p_v`` over V(x)
``"skill"``      proportional to ``pi(k) exp sum_v w_v log(p_v(k) / pi(k))``, the weights w_v the skill of
                 the views (the share of the frequencies' log-loss that held-out probabilities save),
                 divided by the largest sum of skills that a training sample has
``"product"``    the same with all weights one: right if views are independent given the class
===============  =========================================================================================
"""

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from absentia.core import Array, estimator
from absentia.methods.learning import log_loss
from absentia.methods.prediction._view_classifiers import PerViewClassifier, softmax_rows


def _skill(probabilities: Array, y: Array, weight: Array, prior: Array) -> float:
    """The share of the prior's log-loss that held-out probabilities save; not below zero."""
    prior_loss = log_loss(np.tile(prior, (len(y), 1)), y, weight)
    return max(0.0, 1 - log_loss(probabilities, y, weight) / prior_loss) if prior_loss > 0 else 0.0


@estimator
class LateFusion(PerViewClassifier):
    """One classifier per view, learned from the samples that have it; their probabilities are combined.

    Takes :class:`Views` or square :class:`KernelViews`.

    Parameters
    ----------
    estimator : classifier or None
        Any classifier of scikit-learn with ``predict_proba``, which gets the features of one view, or one
        of absentia; None: logistic regression on the view's kernel.
    rule : {"mean", "skill", "product"}, default "mean"
        Mean of the probabilities over the views that a sample has; log-odds weighted by what each view was
        worth on held-out samples; or product, which takes views for independent.
    kernel : str or ViewKernels, default "rbf"
        Of the machines; ``"precomputed"`` says that kernels will come.
    class_weight : dict, "balanced" or None
        Factor on the samples' weights by class.

    Attributes
    ----------
    loo_proba_ : ndarray of shape (n_samples, n_classes)
        Probabilities of each training sample by classifiers without it: left out alone, or in folds where
        the classifiers do not tell; NaN for samples without a view or weight.
    skill_ : dict
        What each view is worth: the share of the log-loss of the class frequencies that its probabilities
        of held-out samples save.  Only with ``rule="skill"``.
    classes_, decision_, names_in_, ids_

    Examples
    --------
    >>> from absentia import LateFusion, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.select(["pixels", "fourier"])
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> LateFusion().fit(views[:40], y[:40] < 5).predict_proba(views[40:]).shape
    (20, 2)
    """

    estimator: Any = None
    _: KW_ONLY
    rule: Literal["mean", "skill", "product"] = "mean"
    kernel: Any = "rbf"
    class_weight: Any = None

    def _learn(self, X: Any, y: Array, weight: Array) -> None:
        super()._learn(X, y, weight)
        self.loo_proba_ = self._scatter_proba(self._left_out, len(X))
        del self._left_out

    def _learn_ordered(self, X: Any, y: Array, weight: Array) -> None:
        self._learn_views(X, y, weight)
        self._view_weights = np.ones(X.n_views)
        proba = self._held_out_proba(X, y, weight)
        if self.rule == "skill":
            skills = np.array(
                [
                    _skill(proba[v, has], y[has], weight[has], self._frequencies)
                    for v, has in enumerate(X.observed.T)
                ]
            )
            self.skill_ = dict(zip(X.names, skills.tolist(), strict=True))
            self._view_weights = skills / max(float((X.observed @ skills).max()), 1e-12)
        self._left_out = self._fuse(X, proba)

    def _counted(self, X: Any) -> Array:
        """Which views have probabilities of which rows; views x rows x 1."""
        taught = np.array([self._view_classifiers[name] is not None for name in X.names])
        return np.asarray(X.observed.T & taught[:, None])[:, :, None]

    def _predict_proba_rows(self, X: Any) -> Array:
        return self._fuse(X, self._view_proba(X))

    def _fuse(self, X: Any, proba: Array) -> Array:
        """Probabilities of the rows out of those by their views, views x rows x classes."""
        if self.rule != "mean":
            log_odds = np.tensordot(self._view_weights, self._log_odds(proba), 1)
            return softmax_rows(np.log(self._frequencies) + log_odds)
        counted = self._counted(X)
        total = counted.sum(axis=0)
        mean = (proba * counted).sum(axis=0) / np.maximum(total, 1)
        return np.where(total > 0, mean, self._frequencies)

    def contributions(self, X: Any) -> Array:
        """What each view adds to each sample's decision, rows x views x classes.

        With ``"mean"``: its part of the probabilities, less its part of the frequencies; together with
        these they sum to the probabilities.  With the other rules: its part of the log-odds.  Zero where it
        is absent.
        """
        return self._predict_view_parts(X, self._decompose_rows)

    def _decompose_rows(self, X: Any) -> Array:
        proba = self._view_proba(X)
        if self.rule == "mean":
            counted = self._counted(X)
            parts = counted * (proba - self._frequencies) / np.maximum(counted.sum(axis=0), 1)
        else:
            parts = self._view_weights[:, None, None] * self._log_odds(proba)
        return np.asarray(parts.transpose(1, 0, 2))
