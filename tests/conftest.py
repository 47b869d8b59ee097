"""What all tests share."""

import os

# small matrices: more BLAS threads than one only get in each other's way
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pathlib import Path

import numpy as np
import pytest
import threadpoolctl

from absentia import ViewKernels, datasets, missingness
from absentia.testing._problems import random_kernels, random_problem  # noqa: F401

# where NumPy was there before this file, the variables came too late
threadpoolctl.threadpool_limits(int(os.environ["OPENBLAS_NUM_THREADS"]))

# what no processor's rounding can change: files, pages, commands, masks, the house itself
NOT_NUMERICAL = (
    *("app", "browser", "datasets", "experiment/engine", "files", "core/test_random"),
    *(
        f"data/test_{name}"
        for name in ("gaps", "ids", "missingness", "presence", "swapping", "tables", "views")
    ),
)


def pytest_collection_modifyitems(items):
    """Everything else is marked `numerical`, for runs as other processors (make test-portable)."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            name = item.path.relative_to(here).as_posix()
            if "/" in name and not name.startswith(NOT_NUMERICAL):
                item.add_marker(pytest.mark.numerical)


@pytest.fixture(scope="session")
def data_folder():
    """The public benchmark files; tests that want them skip where they are not."""
    folder = os.environ.get("ABSENTIA_DATA")
    if not folder:
        pytest.skip("ABSENTIA_DATA is not set")
    return Path(folder)


@pytest.fixture(scope="session")
def mfeat(data_folder):
    return datasets.load_benchmark("mfeat", data_folder)


@pytest.fixture
def digits():
    """A small incomplete data set with labels: (views, y)."""
    views, y = datasets.load_digit_views(n_samples=120, return_X_y=True)
    return views.hide(missingness.mcar(views, 0.3, random_state=0)), y


@pytest.fixture
def digit_kernels(digits):
    return ViewKernels().fit_transform(digits[0])


@pytest.fixture
def rng():
    return np.random.default_rng(0)
