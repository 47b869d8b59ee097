"""One array in a file."""

import re

import numpy as np
import pytest
import scipy.sparse

import absentia
from absentia import AbsenceWarning, KernelViews, Views, io
from helpers.crafted_archives import header, raw, zipped

K = np.stack([np.eye(5), np.ones((5, 5)), np.diag(np.arange(1.0, 6))])


def saved(path, array):
    np.save(path, array)
    return path


@pytest.mark.parametrize("stack", [K, np.moveaxis(K, 0, 2), np.asfortranarray(K)])
def test_a_stack_of_kernels(tmp_path, stack):
    found = absentia.read(saved(tmp_path / "labels.npy", stack))
    np.testing.assert_array_equal(found.to_dense(), K)


def test_one_table_is_a_view_with_the_name_of_the_file(tmp_path):
    x = np.arange(12).reshape(3, 4).astype(">f4")
    x[1] = np.nan
    with pytest.warns(AbsenceWarning, match="1 sample"):
        found = absentia.read(saved(tmp_path / "expr.npy", x))
    assert isinstance(found, Views)
    assert (found.names, found.shape) == (("expr",), (3, 1))
    np.testing.assert_array_equal(found.observed[:, 0], [1, 0, 1])
    assert isinstance(absentia.read(saved(tmp_path / "one.npy", K[2])), KernelViews)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (header("<f8", "(2, 2)") + bytes(31), "damaged: float64 of shape (2, 2) takes"),
        (header("<f8", "(1000000000, 1000)") + bytes(8), "damaged"),
        (header("|O", "(2, 2)") + bytes(32), "pickled"),
        (b"", "is not an array"),
        (raw(np.zeros(3)), "no table that could be a view"),
        (raw(np.zeros((2, 3, 4))), "a stack of kernels"),
        (raw(np.array([["a", "b"]])), "one table is wanted"),
    ],
)
def test_what_is_no_array_of_ours(tmp_path, content, why):
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(io.FileError, match=re.escape(why)) as error:
        absentia.read(tmp_path / "a.npy")
    assert str(tmp_path / "a.npy") in str(error.value)


def test_memory_is_asked_for_first(tmp_path, monkeypatch):
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "1k")
    with pytest.raises(io.FileError, match="ABSENTIA_MAX_BYTES"):
        absentia.read(saved(tmp_path / "a.npy", np.zeros((20, 20))))
    with pytest.raises(io.FileError, match="views cannot be given"):
        absentia.read(tmp_path / "a.npy", views={"a": ["b"]})


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_a_sparse_matrix(tmp_path, form):
    x = scipy.sparse.random_array((8, 30), density=0.2, rng=0, format=form)
    scipy.sparse.save_npz(tmp_path / "counts.npz", x)
    found = absentia.read(tmp_path / "counts.npz")
    assert (found.names, len(found)) == (("counts",), 8)
    np.testing.assert_array_equal(found.block("counts").toarray(), x.toarray())


def sparse_parts(**changes):
    x = scipy.sparse.random_array((4, 3), density=0.5, rng=0, format="csr")
    parts = {"format": np.array(b"csr"), "data": x.data, "indices": x.indices, "indptr": x.indptr}
    return {key: raw(value) for key, value in ({**parts, "shape": np.array(x.shape)} | changes).items()}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"indices": np.full(6, 7, np.int32)}, "counts.npz: "),
        ({"indices": np.full(6, -1, np.int32)}, "counts.npz: "),
        ({"indptr": np.array([0, 9, 9, 9, 9])}, "counts.npz: "),
        ({"indptr": np.array([0, 4, 2, 4, 6])}, "values outside of it"),
        ({"indptr": np.array([0, 4, 9, 9, 0])}, "values outside of it"),
        ({"indptr": np.array([0, 0, 0, 0, -5])}, "values outside of it"),
        ({"shape": np.array([4, 3, 2])}, "two dimensions"),
        ({"shape": np.array([4, 1 << 50])}, "ABSENTIA_MAX_BYTES"),
        ({"format": np.array(b"dia")}, "save it as csr or csc"),
        ({"indices": np.zeros(6)}, "not whole numbers"),
    ],
)
def test_parts_of_a_sparse_matrix_are_not_believed(tmp_path, changes, why):
    zipped(tmp_path / "counts.npz", **sparse_parts(**changes))
    with pytest.raises(io.FileError, match=re.escape(why)):
        absentia.read(tmp_path / "counts.npz")
