"""How much memory kernels of features take beside the features."""

import tracemalloc

import numpy as np
import pytest

from absentia import ViewKernels, Views


@pytest.fixture
def traced():
    tracemalloc.start()
    yield tracemalloc
    tracemalloc.stop()


def test_factors_take_one_and_a_half_views_at_most(rng, traced):
    n, d = 20_000, 250
    X = {name: rng.standard_normal((n, d), dtype=np.float32) for name in ("a", "b")}
    X["a"][0, 0] = np.nan
    views = Views.from_dict(X)
    before = traced.get_traced_memory()[0]
    traced.reset_peak()
    kernels = ViewKernels(approx="nystrom", n_landmarks=50).fit_transform(views)
    kept = sum(kernels.operator(name).left.nbytes for name in kernels.names)
    assert traced.get_traced_memory()[1] - before < kept + 1.1 * n * d * 4


def test_a_whole_kernel_is_made_once(rng, traced):
    views = Views.from_dict({"a": rng.standard_normal((1500, 5))})
    before = traced.get_traced_memory()[0]
    ViewKernels(approx=None).fit_transform(views)
    # distances between the thousand that the width is found with: a kernel and half of one more
    assert traced.get_traced_memory()[1] - before < 2 * 1500**2 * 8


def test_what_is_mapped_from_a_file_and_complete_is_not_copied(rng, tmp_path, traced):
    X = rng.standard_normal((4000, 100))
    absent = X.copy()
    absent[:1000] = np.nan
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "absent.npy", absent)
    mapped = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("x", "absent")}
    before = traced.get_traced_memory()[0]
    traced.reset_peak()
    views = Views.from_dict(mapped)
    assert traced.get_traced_memory()[1] - before < X.nbytes
    np.testing.assert_array_equal(views.block("x"), X)
    np.testing.assert_array_equal(views.block("absent"), X[1000:])
    changeable = np.load(tmp_path / "x.npy", mmap_mode="r+")
    own = Views.from_dict({"x": changeable})
    changeable[0, 0] = 7.0
    assert own.block("x")[0, 0] == X[0, 0]
