"""One table, many Gaussian kernels, each a view: the UCI experiments of the absent-MKL paper.

Liu et al., "Absent multiple kernel learning algorithms", TPAMI 42 (2020), section 5.1: 20 kernels whose
widths lie between 2^-7 and 2^7 times the mean distance between two samples, centred and scaled to a unit
diagonal; each is a channel that samples may lack.
"""

from typing import Literal

import numpy as np
from sklearn.metrics import pairwise_distances_chunked

from absentia.core import Array
from absentia.data import Views
from absentia.kernels import ViewKernels


def make_width_views(
    X: Array,
    n_widths: int = 20,
    *,
    span: float = 7.0,
    spacing: Literal["log", "linear"] = "log",
    train: Array | None = None,
) -> tuple[Views, ViewKernels]:
    r"""A table as many views, all alike, and the Gaussian kernel of another width that goes with each.

    View p has the kernel :math:`\exp(-\|x - y\|^2 / 2 \sigma_p^2)` of standardised features, centred and
    with a unit diagonal; widths lie between :math:`2^{-span}` and :math:`2^{span}` times the mean distance
    between two training samples.  Hide views first and fit afterwards: no mean, scale or kernel then has
    seen what is absent.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The table, complete.
    n_widths : int, default 20
        How many views.
    span : float, default 7
        How far widths reach, in powers of two.
    spacing : {"log", "linear"}
        Widths in equal ratios; or in equal steps, as the paper prints, when nearly all are so wide that
        their kernels are alike.
    train : array of int or bool, optional
        The training samples, whose distances set the widths; by default all.

    Returns
    -------
    views : Views
        ``width00``, ``width01``, ..., from narrow to wide.
    kernels : ViewKernels
        Not fitted yet: ``fit_transform`` training samples, ``transform`` others.

    Examples
    --------
    >>> from absentia import missingness
    >>> X, train, test = np.random.default_rng(0).normal(size=(50, 4)), np.arange(30), np.arange(30, 50)
    >>> views, kernels = make_width_views(X, train=train)
    >>> views = views.hide(missingness.fixed_per_sample(views, 6, random_state=0))
    >>> kernels.fit_transform(views[train]).shape, kernels.transform(views[test]).shape
    ((30, 30), (20, 30))
    """
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or not np.isfinite(X).all():
        raise ValueError(f"X has shape {X.shape}; a complete table, (samples, features), is wanted")
    if n_widths < 1 or not span >= 0 or spacing not in ("log", "linear"):
        raise ValueError(
            f"n_widths={n_widths}, span={span}, spacing={spacing!r}; a view at least, a span from 0 on and "
            "'log' or 'linear' are wanted"
        )
    powers = np.linspace(-span, span, n_widths) if n_widths > 1 else np.zeros(1)
    ratios = (
        2.0**powers if spacing == "log" or n_widths == 1 else np.linspace(2.0**-span, 2.0**span, n_widths)
    )
    sigma = _mean_distance(X if train is None else X[np.asarray(train)]) * ratios
    gammas = {f"width{p:02d}": {"gamma": float(1 / (2 * s**2))} for p, s in enumerate(sigma)}
    return Views.from_dict(dict.fromkeys(gammas, X)), ViewKernels("rbf", per_view=gammas, center=True)


def _mean_distance(X: Array) -> float:
    """Between two different samples, features standardised."""
    n, scale = len(X), X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    parts = pairwise_distances_chunked(Z, reduce_func=lambda D, start: D.sum(axis=1)) if n > 1 else ()
    mean = sum(float(part.sum()) for part in parts) / max(n * (n - 1), 1)
    if not mean > 0:
        raise ValueError(f"the {n} training sample(s) are all alike; their distances set no width")
    return mean
