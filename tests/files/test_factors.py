"""Kernels by factors, in files and out of them."""

import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia import CVKT, KernelViews, MeanFill, ZeroFill, io
from absentia.core import Completed, Dense, Gram, factors_of
from absentia.data import _kernel_checks
from absentia.files._errors import FileError

PHI = np.array([[1.0, 0.5], [0.2, 2.0], [np.nan, np.nan], [1.0, 1.0]])


def problem(n=40, seed=0, dtype=float):
    """Factors of two views, each absent for some."""
    rng = np.random.default_rng(seed)
    ids = np.array([f"s{i}" for i in range(n)])
    parts = {}
    for name, width in (("a", 3), ("b", 5)):
        has = rng.random(n) < 0.7
        has[:2] = True
        parts[name] = ids[has], rng.standard_normal((int(has.sum()), width)).astype(dtype)
    return KernelViews.from_factors(parts)


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(_kernel_checks, "FEW", 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_factors_round_trip_to_the_bit(tmp_path, always, dtype):
    kernels = problem(dtype=dtype)
    path = io.write(tmp_path / "k.npz", kernels, y=np.arange(len(kernels)))
    with np.load(path) as held:
        assert set(held) == {"phi_a", "phi_b", "mask", "ids", "names", "y"}
        assert held["phi_a"].shape == (len(kernels), 3)
        np.testing.assert_array_equal(np.isnan(held["phi_a"]).all(axis=1), ~kernels.observed[:, 0])
    back = io.read(path)
    np.testing.assert_array_equal(back.ids, kernels.ids)
    np.testing.assert_array_equal(back.observed, kernels.observed)
    for name in kernels.names:
        assert isinstance(back.operator(name), Gram)
        assert back.operator(name).dtype == dtype
        np.testing.assert_array_equal(back.operator(name).left, kernels.operator(name).left)


@pytest.mark.parametrize("filler", [MeanFill(), ZeroFill(), CVKT(rounds=1)])
def test_completed_kernels_come_back_as_they_were_and_thin(tmp_path, always, filler):
    whole = filler.fit_transform(problem())
    path = io.write(tmp_path / "k.npz", whole)
    back = io.read(path)
    np.testing.assert_allclose(back.to_dense(), whole.to_dense(), atol=1e-12)
    with np.load(path) as held:
        assert ("own_a" in held) == (factors_of(whole.operator("a")).own > 0).any()
    assert isinstance(back.operator("a"), Completed if isinstance(filler, CVKT) else Gram)
    again = io.read(io.write(tmp_path / "again.npz", back))
    np.testing.assert_allclose(again.to_dense(), whole.to_dense(), atol=1e-12)
    assert back.indefinite("a") is None


def test_few_samples_and_kernels_without_factors_are_written_whole(tmp_path, monkeypatch):
    kernels = problem()
    with np.load(io.write(tmp_path / "k.npz", kernels)) as held:
        assert "K" in held
    monkeypatch.setattr(_kernel_checks, "FEW", 3)
    dense = KernelViews.within(kernels, {n: Dense(kernels.block(n)) for n in kernels.names})
    with np.load(io.write(tmp_path / "d.npz", dense)) as held:
        assert "K" in held


def test_views_without_a_direction_are_written_too(tmp_path, always):
    kernels = problem()
    empty = {
        name: Gram(np.zeros((int(seen.sum()), 0)))
        for name, seen in zip("ab", kernels.observed.T, strict=True)
    }
    back = io.read(io.write(tmp_path / "k.npz", KernelViews.within(kernels, empty)))
    assert not back.block("a").any()


def test_writing_many_samples_takes_few_of_them_at_a_time(tmp_path, monkeypatch):
    Phi = np.random.default_rng(0).standard_normal((40_000, 40))
    kernels = KernelViews.from_factors({"a": (np.arange(len(Phi)), Phi)}, copy=False)
    tracemalloc.start()
    path = io.write(tmp_path / "k.npz", kernels)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > Phi.nbytes
    assert most < 2 * Phi.nbytes + (32 << 20)


def test_own_alone_and_names_and_mask_say_what_they_say_elsewhere(tmp_path):
    np.savez(
        tmp_path / "k.npz",
        phi_x=PHI,
        own_x=[0.0, 0.5, np.nan, 0.0],
        phi_y=np.arange(8).reshape(4, 2),
        ids=list("abcd"),
        names=["y", "x"],
        mask=[[1, 1], [0, 1], [1, 0], [1, 0]],
    )
    kernels = io.read(tmp_path / "k.npz")
    assert kernels.names == ("y", "x")
    np.testing.assert_array_equal(kernels.observed, [[1, 1], [0, 1], [1, 0], [1, 0]])
    K = PHI[:2] @ PHI[:2].T
    K[1, 1] += 0.5
    np.testing.assert_allclose(kernels.block("x"), K)
    assert kernels.operator("y").dtype == float


WRONG = {
    "without": {"own_x": np.zeros(4)},
    "samples x factors": {"phi_x": np.ones(4)},
    "a column at least": {"phi_x": np.ones((4, 0))},
    "one row for each of the 4": {"phi_x": PHI, "phi_y": np.ones((3, 2))},
    "NaN or infinite": {"phi_x": np.array([[1.0, np.nan], [1.0, 2.0]])},
    "sample 1: it holds what is NaN or infinite": {"phi_x": np.array([[1.0], [np.inf]])},
    "0 or more": {"phi_x": PHI, "own_x": [0, -1, 0, 0]},
    "no finite number": {"phi_x": PHI, "own_x": [0, np.inf, 0, 0]},
    "has 3 values for 4": {"phi_x": PHI, "own_x": [0.0, 0, 0]},
    "one number for each": {"phi_x": PHI, "own_x": np.zeros((4, 1))},
    "both 'K' and": {"phi_x": PHI, "K": np.ones((1, 4, 4))},
    "both 'phi_...' keys and": {"phi_x": PHI, "view_x": np.ones((4, 1))},
    "complex128": {"phi_x": PHI.astype(complex)},
    "'names' lists": {"phi_x": PHI, "names": ["y"]},
    "ids": {"phi_x": PHI, "ids": ["a", "b", "c"]},
    "appear": {"phi_x": PHI, "ids": ["a", "a", "b", "c"]},
    "<U1": {"phi_x": np.array([["a"], ["b"]])},
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_with_a_strangers_file_is_one_sentence(tmp_path, words):
    arrays = dict(WRONG[words])
    if "phi_x" not in arrays:
        arrays["phi_y"] = PHI
    np.savez(tmp_path / "k.npz", **arrays)
    with pytest.raises(FileError, match=re.escape(words)):
        io.read(tmp_path / "k.npz")


arrays = st.sampled_from(
    [
        PHI,
        PHI[:2],
        PHI.astype(np.float32),
        np.ones(4),
        np.zeros(4),
        -np.ones(4),
        np.array("x"),
        np.ones((4, 2), int),
        np.ones((4, 2), bool),
        np.ones((2, 4, 4)),
        np.full((4, 2), np.nan),
        np.array(["a", "b", "c", "d"]),
        np.zeros((0, 2)),
        np.full((4, 1), 1e200),
    ]
)
keys = st.sampled_from(
    ["phi_x", "own_x", "phi_y", "own_y", "phi_", "own_", "mask", "ids", "names", "K", "view_x"]
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(keys, arrays, max_size=5))
def test_any_arrays_are_kernels_or_a_sentence(tmp_path_factory, held):
    path = tmp_path_factory.mktemp("any") / "k.npz"
    np.savez(path, **held)
    try:
        found = io.read(path)
    except FileError:
        return
    except UserWarning:
        return
    if isinstance(found, KernelViews):
        assert all(
            found.operator(name).shape[0] == found.observed[:, v].sum()
            for v, name in enumerate(found.names)
        )
