"""Late fusion: one classifier per view, and one rule for what the views of a sample say together.

With ``p_v(k)`` the chance of class k by view v, ``pi`` the frequencies of the classes, and V(x) the views
that sample x has:

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
from absentia.methods.prediction._perview import PerView, softmax
from absentia.methods.prediction._views import skill


@estimator
class LateFusion(PerView):
    """One classifier per view, learned from the samples that have it; what they say is combined.

    Takes :class:`Views` or square :class:`KernelViews`.

    Parameters
    ----------
    estimator : classifier or None
        Any classifier of scikit-learn with ``predict_proba``, which gets the features of one view, or one
        of absentia; None: a support vector machine on the view's kernel, its C chosen by cross-validation.
    rule : {"mean", "skill", "product"}, default "mean"
        Mean of the probabilities over the views that a sample has; log-odds weighted by what each view was
        worth on held-out samples; or product, which takes views for independent.
    kernel : str or ViewKernels, default "rbf"
        Of the machines; ``"precomputed"`` says that kernels will come.
    class_weight : dict, "balanced" or None
        Factor on the samples' weights by class.

    Attributes
    ----------
    skill_ : dict
        What each view is worth: the share of the log-loss of the class frequencies that its probabilities
        of held-out samples save.  Only with ``rule="skill"``.
    classes_, names_in_, ids_

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

    def _assemble(self, X: Any, y: Array, weight: Array) -> None:
        self._learn_views(X, y, weight)
        self._shares = np.ones(X.n_views)
        if self.rule == "skill":
            probabilities = self._held_out(X, y, weight)
            skills = np.array(
                [
                    skill(probabilities[v, has], y[has], weight[has], self._frequent)
                    for v, has in enumerate(X.observed.T)
                ]
            )
            self.skill_ = dict(zip(X.names, skills.tolist(), strict=True))
            self._shares = skills / max(float((X.observed @ skills).max()), 1e-12)

    def _chance_rows(self, X: Any) -> Array:
        probabilities = self._said(X)
        if self.rule != "mean":
            return softmax(
                np.log(self._frequent) + np.tensordot(self._shares, self._log_odds(probabilities), 1)
            )
        speaks = self._speaks(X)
        total = speaks.sum(axis=0)[:, None]
        mean = (probabilities * speaks[:, :, None]).sum(axis=0) / np.maximum(total, 1)
        return np.where(total > 0, mean, self._frequent)

    def contributions(self, X: Any) -> Array:
        """What each view adds to each sample's decision, rows x views x classes.

        With ``"mean"``: its part of the probabilities, less its part of the frequencies; together with
        these they sum to the probabilities.  With the other rules: its part of the log-odds.  Zero where it
        is absent.
        """
        X = self._check_rows(X)
        return self._in_views(X, self._parts_of_rows)

    def _parts_of_rows(self, X: Any) -> Array:
        probabilities = self._said(X)
        if self.rule == "mean":
            speaks = self._speaks(X)[:, :, None]
            parts = speaks * (probabilities - self._frequent) / np.maximum(speaks.sum(axis=0), 1)
        else:
            parts = self._shares[:, None, None] * self._log_odds(probabilities)
        return np.asarray(parts.transpose(1, 0, 2))
