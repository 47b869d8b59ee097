"""Kernels as they come, and whether they are kernels."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from absentia import KernelViews
from absentia.core import Dense, Gram, LowRankPlusDiagonal
from absentia.data import check_kernel

IDS = np.array(list("pqrs"))


def kernel():
    X = np.random.default_rng(0).normal(size=(4, 3))
    return X @ X.T


def changed(i, j, value):
    A = kernel()
    A[i, j] = value
    return A


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
def test_what_is_wrong_is_named(A, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_kernel("a", Dense(A), IDS)


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


def test_other_operators_are_checked_as_arrays_and_nobody_is_fine():
    check_kernel("a", LowRankPlusDiagonal(np.ones((4, 1)), np.ones(4)), IDS)
    with pytest.raises(ValueError, match="sample 's' with itself is -9"):
        check_kernel("a", LowRankPlusDiagonal(np.ones((4, 1)), np.array([1.0, 1.0, 1.0, -10.0])), IDS)
    check_kernel("a", Dense(np.zeros((0, 0))), IDS[:0])


A = np.array([[2.0, 1.0], [1.0, 3.0]])


@pytest.mark.parametrize("values", [A, A.tolist(), scipy.sparse.csr_array(A), pd.DataFrame(A)], ids=type)
@pytest.mark.parametrize("factors", [False, True])
def test_blocks_and_factors_are_operators_over_their_own_ids(values, factors):
    make = KernelViews.from_factors if factors else KernelViews.from_blocks
    views = make({"a": (["p", "q"], values)})
    operator = views.operator("a")
    assert views.ids.tolist() == ["p", "q"]
    assert type(operator) is (Gram if factors else Dense)
    np.testing.assert_array_equal(operator.to_dense(), A @ A.T if factors else A)


def test_arrays_are_copied_unless_they_may_stay():
    for copy in (True, False):
        operator = KernelViews.from_factors({"a": (["p", "q"], A)}, copy=copy).operator("a")
        assert np.shares_memory(operator.left, A) != copy
    assert not np.shares_memory(KernelViews.from_blocks({"a": (["p", "q"], A)}).operator("a").A, A)
    K = np.stack([A])
    assert not np.shares_memory(KernelViews.from_dense(K).block("view0"), K)


@pytest.mark.parametrize(
    ("ids", "factors", "sentence"),
    [
        ("pqr", False, r"view 'a': kernel has shape \(2, 2\) but 3 ids are given; .*from_dense"),
        ("p", True, r"view 'a': factors have shape \(2, 2\) but 1 ids are given; one row per"),
    ],
)
def test_every_row_has_an_id(ids, factors, sentence):
    make = KernelViews.from_factors if factors else KernelViews.from_blocks
    with pytest.raises(ValueError, match=sentence):
        make({"a": (list(ids), A)})
    with pytest.raises(TypeError, match="sample ids must be a sequence, not int"):
        make({"a": (2, A)})


def test_kernels_over_all_samples_have_names_and_one_shape():
    assert KernelViews.from_dense(np.stack([A, A])).names == ("view0", "view1")
    assert KernelViews.from_dense({"x": A}).names == ("x",)
    assert KernelViews.from_dense([A], names=["y"]).names == ("y",)
    with pytest.raises(ValueError, match=r"view 'y': kernel has shape \(3, 3\), wanted \(2, 2\)"):
        KernelViews.from_dense({"x": A, "y": np.eye(3)})
    with pytest.raises(ValueError, match="2 names for 1 kernels"):
        KernelViews.from_dense([A], names=["x", "y"])
    with pytest.raises(ValueError, match=r"K has shape \(2, 2\)"):
        KernelViews.from_dense(A)


def test_a_sample_is_absent_where_its_row_and_column_are_nan():
    K = np.ones((3, 3))
    K[1] = K[:, 1] = np.nan
    np.testing.assert_array_equal(
        KernelViews.from_dense({"a": K, "b": np.eye(3)}).observed[:, 0], [True, False, True]
    )
    K[2, 1] = 0.0
    with pytest.raises(ValueError, match=r"view 'a': sample 'q' is NaN in its whole row .*\(sample 'r'\)"):
        KernelViews.from_dense({"a": K}, ids=["p", "q", "r"])


def test_frames_are_blocks_in_the_order_of_their_index():
    frame = pd.DataFrame(A, index=["p", "q"], columns=["p", "q"])
    views = KernelViews.from_dense({"a": frame[["q", "p"]]})
    assert views.ids.tolist() == ["p", "q"]
    np.testing.assert_array_equal(views.block("a"), A)
    assert KernelViews.from_dense([frame, frame]).names == ("view0", "view1")
    assert KernelViews.from_dense(np.stack([A])).ids.tolist() == [0, 1]
    with pytest.raises(ValueError, match="view 'a': rows and columns of the data frame"):
        KernelViews.from_dense({"a": frame[["p"]]})
