"""What all tests share."""

import ctypes
import os
import signal
import sys

# small matrices: more BLAS threads than one only get in each other's way
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")  # pictures without a screen
# pages that call absentia as a person does find that of this environment
os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")

from pathlib import Path

import numpy as np
import pytest
import threadpoolctl
from hypothesis import HealthCheck, settings

from absentia import ViewKernels, datasets, missingness
from absentia.app import _exit_codes, _terminal
from absentia.core import _estimator
from absentia.methods.learning import _held_out
from absentia.testing._tools import add_noise, random_kernels, random_problem  # noqa: F401

# where NumPy was there before this file, the variables came too late
threadpoolctl.threadpool_limits(int(os.environ["OPENBLAS_NUM_THREADS"]))

# nothing hangs on how fast it runs: clocks stand still unless a test brings one, and every run is the same
_terminal._clock = _estimator._clock = lambda: 0.0
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

# a signal that asks to end ends the tests, at once and in the middle of compiled code too: commands that
# run in this process leave it alone, but where a test is about it
_exit_codes._END_SIGNALS = ()
if "PYTEST_XDIST_WORKER" in os.environ and sys.platform == "linux":
    ctypes.CDLL(None).prctl(
        1, signal.SIGKILL
    )  # PR_SET_PDEATHSIG: this process ends with the one that began it

# what no processor's rounding can change: files, pages, commands, masks, the house itself
NOT_NUMERICAL = (
    *("app", "browser", "datasets", "experiment/engine", "files", "core/test_determinism", "papers/data"),
    *(f"data/test_{name}" for name in ("ids", "missingness", "presence", "swapping", "tables", "views")),
)


def pytest_collection_modifyitems(config, items):
    """Mark what is slow for some parameters only, and everything that is `numerical` (make test-portable)."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            name = item.path.relative_to(here).as_posix()
            if "/" in name and not name.startswith(NOT_NUMERICAL):
                item.add_marker(pytest.mark.numerical)
    mark_slow_params(items, whole=config.args_source is pytest.Config.ArgsSource.TESTPATHS)


def mark_slow_params(items, whole):
    """``@pytest.mark.slow_params("id", ...)``: slow with these parameters; in a whole run, ids that no test has are refused."""
    unknown = {}
    for item in items:
        for marker in item.iter_markers("slow_params"):
            left = unknown.setdefault(item.nodeid.partition("[")[0], set(marker.args))
            left.discard(item.callspec.id)
            if item.callspec.id in marker.args:
                item.add_marker(pytest.mark.slow)
    wrong = {name: sorted(left) for name, left in unknown.items() if left}
    if whole and wrong:
        raise pytest.UsageError(f"slow_params name parameters that tests do not have: {wrong}")


_STRENGTHS = {name: getattr(_held_out, name) for name in ("_GRID", "_FOLDS")}


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


@pytest.fixture(scope="module")
def few_strengths():
    """Two strengths in two folds, where C is selected in this process: for files that are about pages and commands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_held_out, "_GRID", (1.0, 10.0))
        patch.setattr(_held_out, "_FOLDS", 2)
        yield


@pytest.fixture
def all_strengths(monkeypatch):
    """The strengths and folds that every process has, in a file that has few of them."""
    for name, value in _STRENGTHS.items():
        monkeypatch.setattr(_held_out, name, value)


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
