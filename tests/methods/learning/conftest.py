"""What the tests of classifiers share."""

import pytest

from absentia import ViewKernels, datasets, missingness
from absentia.testing import _tools as tools


@pytest.fixture(scope="session")
def kernels():
    """Kernels of 120 digits with three of six views each, and their labels."""
    return tools.digit_kernels(120), tools.digits(120)[1]


@pytest.fixture(scope="session")
def complete():
    """Complete kernels, who is taken to have which view, and two classes."""
    views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    mask = missingness.fixed_per_sample(views, 2, random_state=0)
    return ViewKernels().fit_transform(views), mask, y < 5
