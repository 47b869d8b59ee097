"""Is this a kernel?  What is wrong is named with its view and samples, however the kernel is held."""

import numpy as np
import pytest

from absentia.core import Chunked, ChunkedGram, Dense, Gram, LowRankPlusDiagonal
from absentia.data._kernel_checks import check_kernel

IDS = np.array(list("pqrs"))


def kernel():
    X = np.random.default_rng(0).normal(size=(4, 3))
    return X @ X.T


def chunked(A):
    da = pytest.importorskip("dask.array")
    return Chunked(da.from_array(A, chunks=(2, 3)))


def changed(i, j, value):
    A = kernel()
    A[i, j] = value
    return A


@pytest.mark.parametrize("hold", [Dense, chunked])
@pytest.mark.parametrize(
    ("A", "sentence"),
    [
        (changed(0, 2, np.nan), "view 'a': kernel value of samples 'p' and 'r' is nan although both"),
        (changed(1, 1, np.inf), "kernel value of samples 'q' and 'q' is inf"),
        (changed(3, 1, 9.0), r"not symmetric: k\('q', 's'\) = .* but k\('s', 'q'\) = 9; pass \(K"),
        (changed(2, 2, -1.0), "kernel value of sample 'r' with itself is -1; .*negative"),
    ],
    ids=["nan", "infinite", "asymmetric", "negative"],
)
def test_what_is_wrong_is_named_in_arrays_and_in_chunks(hold, A, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_kernel("a", hold(A), IDS)


@pytest.mark.parametrize("sign", [-1, 1])
def test_whichever_row_is_looked_at_the_samples_are_named_in_one_order(sign):
    """In one row two values are off, and one of them more: in chunks that row is looked at."""
    A = changed(3, 1, 9.0)
    A[3, 0] += sign
    for hold in (Dense, chunked):
        with pytest.raises(ValueError, match=r"k\('q', 's'\) = .* but k\('s', 'q'\) = 9"):
            check_kernel("a", hold(A), IDS)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_is_forgiven_and_more_is_not(dtype):
    A = (1000 * kernel()).astype(dtype)
    unit = np.abs(A).max() * (1e-6 if dtype == np.float64 else 1e-5)
    for factor, fine in [(0.5, True), (3.0, False)]:
        skewed, negative = A.copy(), np.diag(np.diagonal(A))
        skewed[0, 1] += factor * unit
        negative[0, 0] = -factor * np.abs(negative).max() * unit / np.abs(A).max()
        for B in (skewed, negative):
            if fine:
                check_kernel("a", Dense(B), IDS)
            else:
                with pytest.raises(ValueError, match="view 'a'"):
                    check_kernel("a", Dense(B), IDS)


def test_factors_are_looked_at_and_not_multiplied():
    left = np.random.default_rng(0).normal(size=(4, 2))
    check_kernel("a", Gram(left), IDS)
    left[2, 1] = np.inf
    with pytest.raises(ValueError, match="view 'a', sample 'r': factor is NaN or infinite"):
        check_kernel("a", Gram(left), IDS)
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="view 'a', sample 'r': factor is NaN or infinite"):
        check_kernel("a", ChunkedGram(da.from_array(left, chunks=2)), IDS)


def test_other_operators_are_checked_as_arrays_and_nobody_is_fine():
    check_kernel("a", LowRankPlusDiagonal(np.ones((4, 1)), np.ones(4)), IDS)
    with pytest.raises(ValueError, match="sample 's' with itself is -9"):
        check_kernel("a", LowRankPlusDiagonal(np.ones((4, 1)), np.array([1.0, 1.0, 1.0, -10.0])), IDS)
    check_kernel("a", Dense(np.zeros((0, 0))), IDS[:0])
