"""Theorem 2 of the paper on absent multiple kernel learning (Liu et al., 2020), for a machine at hand.

For classifiers ``f(x) = sum_p s_p <w_p, phi_p(x)>`` of m views with ``1/2 sum_p |w_p|^2 / gamma_p <= mu``
for some gamma on the simplex, ``|phi_p(x)|^2 <= B``, a margin rho > 0 and n independent samples, with
probability ``1 - 3 delta``

    share of all samples with ``y f <= 0``  <=  share of the training samples with ``y f <= rho``
        + max_p 2 sqrt(2 mu B sum_i s_ip) / (n rho)  +  3 sqrt(ln(1 / delta) / 2n)
        + 16 / rho sqrt(mu B ln((m + 1) / delta) / n).                                                 (36)

The least mu that has room for a machine is ``(sum_p |w_p|)^2 / 2``.  Since ``y f <= sum_p |w_p| sqrt(B)``,
no sample is beyond the margin unless ``2 mu B > rho^2``; then the last term alone is above
``sqrt(128 ln((m + 1) / delta) / n)``.  So with ``128 ln((m + 1) / delta)`` samples or fewer the bound is
above one, whatever was learned.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from absentia import AbsentMKLClassifier, KernelViews, MKLClassifier


class AMKLBound(NamedTuple):
    """Terms of Theorem 2's right-hand side, in its order: :func:`amkl_bound`."""

    margin_error: float
    observed: float
    confidence: float
    views: float

    @property
    def total(self) -> float:
        """Their sum, which bounds the share of wrong samples; above one it says nothing."""
        return float(sum(self))


def amkl_bound(
    machine: MKLClassifier | AbsentMKLClassifier,
    kernels: KernelViews,
    y: Any,
    *,
    rho: float = 1.0,
    delta: float = 0.01,
) -> AMKLBound:
    """The generalisation bound of the paper (Theorem 2, eq. 36) for a machine that was fitted.

    The theorem is about scores without a bias and without division by a sample's share of the margin; so is
    this.  It holds for mu, B, rho and delta chosen beforehand; here mu and B are the least that the machine
    and its training samples allow, which makes the bound, if anything, smaller than the theorem's.

    Parameters
    ----------
    machine : MKLClassifier or AbsentMKLClassifier
        Fitted, of two classes, not in the paper's own form.
    kernels : KernelViews
        The square kernels that it was fitted on.
    y : array-like of shape (n_samples,)
        The classes that it was fitted on, a Series by its index.
    rho : float, default 1
        Margin that a training sample has to have to count as right.
    delta : float, default 0.01
        The bound holds with probability ``1 - 3 delta``.

    Returns
    -------
    AMKLBound
        ``margin_error`` (eq. 35), ``observed``, ``confidence``, ``views``: the terms; ``total``.

    Examples
    --------
    >>> from absentia import AbsentMKLClassifier, ViewKernels, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=200, return_X_y=True)
    >>> keep = missingness.fixed_per_sample(views, 2, random_state=0)
    >>> kernels = ViewKernels().fit_transform(views.hide(keep))
    >>> machine = AbsentMKLClassifier().fit(kernels, y < 5)
    >>> bound = amkl_bound(machine, kernels, y < 5)
    >>> bool(1 - machine.score(kernels, y < 5) < 0.1 < 1 < bound.total)
    True
    """
    _check_machine(machine, kernels)
    if not (math.isfinite(rho) and rho > 0 and 0 < delta < 1 / 3):
        raise ValueError(
            f"rho={rho!r}, delta={delta!r}; a positive number and one between 0 and 1/3 are wanted"
        )
    labels = np.asarray(kernels.align(y) if isinstance(y, pd.Series) else y)
    if labels.shape != (len(kernels),):
        raise ValueError(
            f"y has shape {labels.shape}; a class for each of {len(kernels)} samples is wanted"
        )
    if not np.isin(labels, machine.classes_).all():
        raise ValueError(f"y has other classes than those of the machine, {machine.classes_.tolist()}")
    scores, norms = np.zeros(len(kernels)), np.zeros(kernels.n_views)
    for v, (name, seen) in enumerate(zip(kernels.names, kernels.observed.T, strict=True)):
        z = machine.dual_coef_[0, seen]
        part = machine.weights_[v] * (kernels.operator(name) @ z)
        scores[seen] += part
        norms[v] = math.sqrt(max(machine.weights_[v] * float(z @ part), 0.0))
    margins = np.where(labels == machine.classes_[1], scores, -scores)
    n, m = kernels.observed.shape
    mu = float(norms.sum()) ** 2 / 2
    B = max(float(kernels.diagonal(name).max(initial=0.0)) for name in kernels.names)
    return AMKLBound(
        margin_error=float((margins <= rho).mean()),
        observed=2 * math.sqrt(2 * mu * B * float(kernels.observed.sum(axis=0).max())) / (n * rho),
        confidence=3 * math.sqrt(math.log(1 / delta) / (2 * n)),
        views=16 / rho * math.sqrt(mu * B * math.log((m + 1) / delta) / n),
    )


def _check_machine(machine: Any, kernels: Any) -> None:
    """Refuse what the theorem is not about, and kernels that the machine was not fitted on."""
    known = isinstance(machine, MKLClassifier | AbsentMKLClassifier)
    if not known or getattr(machine, "paper_form", False):
        raise TypeError(
            f"{machine!r}: an MKLClassifier or AbsentMKLClassifier without paper_form is wanted"
        )
    if not hasattr(machine, "classes_") or len(machine.classes_) != 2:
        raise ValueError("the bound is of a machine of two classes that was fitted; call fit first")
    fitted_on = isinstance(kernels, KernelViews) and kernels.names == tuple(machine.names_in_)
    if not fitted_on or not all(
        np.array_equal(machine.ids_, ids) for ids in (kernels.ids, kernels.column_ids)
    ):
        raise ValueError(
            "kernels are not those that the machine was fitted on: views or samples are others, or in "
            "another order"
        )
