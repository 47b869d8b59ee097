"""What the tests of classifiers share."""

import pytest

from absentia import ViewKernels, datasets, missingness
from helpers.digit_samples import half_seen_digits


@pytest.fixture(scope="session")
def kernels():
    """Kernels of 120 digits with three of six views each, and their labels."""
    views, y = half_seen_digits(120)
    return ViewKernels().fit_transform(views), y


@pytest.fixture(scope="session")
def complete():
    """Complete kernels, who is taken to have which view, and two classes."""
    views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    mask = missingness.fixed_per_sample(views, 2, random_state=0)
    return ViewKernels().fit_transform(views), mask, y < 5
