"""Made-up data: views from shared and private factors, with the truth beside them."""

from collections.abc import Sequence

import numpy as np
from sklearn.utils import Bunch

from absentia.core import Array, RandomState, make_generator
from absentia.data import Views
from absentia.kernels import ViewKernels


def make_multiview(
    n_samples: int = 100,
    n_views: int = 3,
    *,
    n_shared: int = 4,
    n_private: int = 2,
    n_features: int | Sequence[int] = 20,
    n_classes: int = 2,
    private_scale: float = 0.5,
    noise: float = 0.1,
    kernel: str = "rbf",
    random_state: RandomState = None,
) -> Bunch:
    """Views that share some factors and keep others to themselves, with the truth beside them.

    View v of sample i is ``z_i A_v + private_scale * p_iv B_v + noise * e_iv`` with standard normal
    shared factors z, private factors p, loadings A, B (scaled so that each part has unit variance per
    feature before its factor) and noise e.  Classes cut the first shared factor at equal shares.

    Parameters
    ----------
    n_samples, n_views, n_shared, n_private, n_features, n_classes : int
        How many there are; of private factors and of features in each view (features: or one per view).
    private_scale, noise : float
        How strong what a view does not share is, against the shared part's 1.
    kernel : str
        Kernel of ``kernels``, one per view as in :class:`absentia.ViewKernels`.
    random_state : int, Generator, RandomState or None
        Source of randomness; None: the fixed seed 0.

    Returns
    -------
    Bunch
        ``views`` and ``kernels`` (complete), ``target``, ``shared`` (n, n_shared), ``private`` (list of
        (n, n_private)), ``loadings`` (list of (A, B)).

    Examples
    --------
    >>> make_multiview(50, 3, random_state=0).views.shape
    (50, 3)
    """
    rng, widths = make_generator(random_state), _check_widths(n_features, n_views)
    shared = rng.standard_normal((n_samples, n_shared))
    drawn = [_draw_view(rng, shared, n_private, width, private_scale, noise) for width in widths]
    rank = np.argsort(np.argsort(shared[:, 0])) if n_shared else rng.permutation(n_samples)
    truth = {"private": [private for _, _, private, _ in drawn], "loadings": [(A, B) for A, B, *_ in drawn]}
    views = Views.from_dict({f"view{v}": table for v, (*_, table) in enumerate(drawn)})
    kernels = ViewKernels(kernel).fit_transform(views)
    return Bunch(views=views, kernels=kernels, target=rank * n_classes // n_samples, shared=shared, **truth)


def _check_widths(n_features: int | Sequence[int], n_views: int) -> list[int]:
    widths = [n_features] * n_views if isinstance(n_features, int) else list(n_features)
    if len(widths) != n_views:
        raise ValueError(f"n_features gives {len(widths)} widths for {n_views} views")
    return widths


def _draw_view(
    rng: np.random.Generator, shared: Array, n_private: int, width: int, private_scale: float, noise: float
) -> tuple[Array, Array, Array, Array]:
    """One view: its loadings, its private factors and its values."""
    n, n_shared = shared.shape
    A = rng.standard_normal((n_shared, width)) / np.sqrt(max(n_shared, 1))
    B = rng.standard_normal((n_private, width)) / np.sqrt(max(n_private, 1))
    private, error = rng.standard_normal((n, n_private)), rng.standard_normal((n, width))
    return A, B, private, shared @ A + private_scale * private @ B + noise * error
