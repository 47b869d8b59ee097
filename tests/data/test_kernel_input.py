"""Kernels as they come become operators over the samples that have the view."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from absentia import KernelViews
from absentia.core import Chunked, ChunkedGram, Dense, Gram
from absentia.data._kernel_input import all_frames, as_part, framed_blocks, named_kernels, presence

A = np.array([[2.0, 1.0], [1.0, 3.0]])


@pytest.mark.parametrize("values", [A, A.tolist(), scipy.sparse.csr_array(A), pd.DataFrame(A)], ids=type)
@pytest.mark.parametrize("factors", [False, True])
def test_blocks_and_factors_are_operators_over_their_own_ids(values, factors):
    ids, operator = as_part("a", ["p", "q"], values, factors=factors)
    assert ids.tolist() == ["p", "q"]
    assert type(operator) is (Gram if factors else Dense)
    np.testing.assert_array_equal(operator.to_dense(), A @ A.T if factors else A)


def test_what_is_in_chunks_stays_there():
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(A, chunks=1)
    assert isinstance(as_part("a", "pq", lazy, factors=False).operator, Chunked)
    assert isinstance(as_part("a", "pq", lazy, factors=True).operator, ChunkedGram)


def test_arrays_are_copied_unless_they_may_stay():
    for copy in (True, False):
        _, operator = as_part("a", "pq", A, factors=True, copy=copy)
        assert np.shares_memory(operator.left, A) != copy
    assert not np.shares_memory(as_part("a", "pq", A, factors=False).operator.A, A)
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
    with pytest.raises(ValueError, match=sentence):
        as_part("a", ids, A, factors=factors)
    with pytest.raises(TypeError, match="sample ids must be a sequence, not int"):
        as_part("a", 2, A, factors=factors)


def test_kernels_over_all_samples_have_names_and_one_shape():
    assert list(named_kernels(np.stack([A, A]), None)) == ["view0", "view1"]
    assert list(named_kernels({"x": A}, None)) == ["x"]
    assert list(named_kernels([A], ["y"])) == ["y"]
    with pytest.raises(ValueError, match=r"view 'y': kernel has shape \(3, 3\), wanted \(2, 2\)"):
        named_kernels({"x": A, "y": np.eye(3)}, None)
    with pytest.raises(ValueError, match="2 names for 1 kernels"):
        named_kernels([A], ["x", "y"])
    with pytest.raises(ValueError, match=r"K has shape \(2, 2\)"):
        named_kernels(A, None)


def test_a_sample_is_absent_where_its_row_and_column_are_nan():
    K = np.ones((3, 3))
    K[1] = K[:, 1] = np.nan
    np.testing.assert_array_equal(presence({"a": K}, np.arange(3))[:, 0], [True, False, True])
    K[2, 1] = 0.0
    with pytest.raises(ValueError, match=r"view 'a': sample 'q' is NaN in its whole row .*\(sample 'r'\)"):
        presence({"a": K}, np.array(["p", "q", "r"]))


def test_frames_are_blocks_in_the_order_of_their_index():
    frame = pd.DataFrame(A, index=["p", "q"], columns=["p", "q"])
    assert all_frames([frame])
    assert all_frames({"a": frame})
    assert not all_frames([frame, A])
    assert not all_frames([])
    assert not all_frames(np.stack([A]))
    ids, K = framed_blocks({"a": frame[["q", "p"]]}, None)["a"]
    assert ids.tolist() == ["p", "q"]
    np.testing.assert_array_equal(K, A)
    assert list(framed_blocks([frame, frame], None)) == ["view0", "view1"]
    with pytest.raises(ValueError, match="view 'a': rows and columns of the data frame"):
        framed_blocks({"a": frame[["p"]]}, None)
