"""Digits as samples with absent views, text ids and few classes."""

from functools import cache

import numpy as np

from absentia import ViewKernels, Views, datasets, missingness


def digit_views(n=240, absent=0.3, n_classes=3, seed=0):
    """Digits 0, 1, ... as `n` samples in random order with text ids, views absent, and their classes."""
    views, y = datasets.load_digit_views(return_X_y=True)
    chosen = np.random.default_rng(seed).permutation(np.flatnonzero(y < n_classes))[:n]
    tables = views[chosen].hide(missingness.mcar((n, views.n_views), absent, random_state=seed)).to_dict()
    return Views.from_dict(tables, ids=np.array([f"d{i}" for i in chosen])), y[chosen]


@cache
def half_seen_digits(n=60):
    """Digits, each with three of its six views, and which they are."""
    views, y = datasets.load_digit_views(n_samples=n, return_X_y=True)
    return views.hide(missingness.fixed_per_sample(views, 3, random_state=0)), y


@cache
def half_seen_kernels(n=60):
    """Kernels of these views."""
    return ViewKernels().fit_transform(half_seen_digits(n)[0])
