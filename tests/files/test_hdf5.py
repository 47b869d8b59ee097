"""HDF5 files of strangers: what is in them, and nothing outside them."""

import re

import h5py
import numpy as np
import pytest

import absentia
from absentia import KernelViews, io
from absentia.files import _hdf5

rng = np.random.default_rng(0)
K = np.stack([np.eye(5), np.ones((5, 5)), np.diag(np.arange(1.0, 6))])


def written(path, **members):
    with h5py.File(path, "w") as file:
        for key, value in members.items():
            file[key.replace("__", "/")] = value
    return path


@pytest.mark.parametrize("name", ["a.h5", "a.hdf5", "A.H5"])
def test_kernels_at_the_root(tmp_path, name):
    found = absentia.read(written(tmp_path / name, K=np.moveaxis(K, 0, 2), y=np.arange(5)))
    assert isinstance(found, KernelViews)
    np.testing.assert_array_equal(found.to_dense(), K)


def test_views_one_group_deep_with_ids_in_texts(tmp_path):
    x, z = rng.normal(size=(5, 2)).astype("f4"), rng.normal(size=(5, 3))
    z[2] = np.nan
    members = {
        "views__expr": x,
        "views__clin": z,
        "ids": ["a", "b", "c", "d", "é"],
        "deep__er__x": np.eye(5),
    }
    found = absentia.read(written(tmp_path / "a.h5", **members))
    assert found.names == ("clin", "expr")
    assert found.ids.tolist() == ["a", "b", "c", "d", "é"]
    np.testing.assert_array_equal(found.block("expr"), x)
    np.testing.assert_array_equal(found.observed[2], [False, True])


def test_arrays_can_be_named(tmp_path):
    path = written(tmp_path / "a.h5", K=K, X=rng.normal(size=(5, 3)), g__w=rng.normal(size=(5, 2)))
    with pytest.raises(io.FileError, match=r"a.h5: holds both kernels and features: 'K' \(3, 5, 5\)"):
        absentia.read(path)
    found = absentia.read(path, views={"a": ["X"], "b": ["g/w"]})
    assert [found.block(name).shape for name in "ab"] == [(5, 3), (5, 2)]
    with pytest.raises(io.FileError, match="use_rep cannot be given"):
        absentia.read(path, use_rep="X")


def external(file, folder):
    file["X"] = h5py.ExternalLink(str(written(folder / "other.h5", secret=np.eye(3))), "secret")


def soft(file, folder):
    file["X"] = h5py.SoftLink("/elsewhere")


def virtual(file, folder):
    other = written(folder / "other.h5", secret=np.eye(3))
    layout = h5py.VirtualLayout((3, 3), "f8")
    layout[:] = h5py.VirtualSource(str(other), "secret", (3, 3))
    file.create_virtual_dataset("X", layout)


def elsewhere(file, folder):
    (folder / "raw").write_bytes(np.eye(3).tobytes())
    file.create_dataset("X", (3, 3), "f8", external=[(str(folder / "raw"), 0, 72)])


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize("trap", [external, soft, virtual, elsewhere])
def test_nothing_leads_out_of_the_file(tmp_path, trap, deep):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["Z"] = np.eye(3)
        trap(file.create_group("g") if deep else file, tmp_path)
    for read in (absentia.read, io.arrays_of):
        with pytest.raises(io.FileError, match=r"which could lead to another file|from other files"):
            read(tmp_path / "a.h5")
    with (
        _hdf5.hdf5_file(tmp_path / "a.h5") as file,
        pytest.raises(ValueError, match=r"another file|other files"),
    ):
        _hdf5.check_tree(file, _hdf5.Budget())


def test_declared_sizes_are_not_believed(tmp_path, monkeypatch):
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "1M")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("X", (10**9, 10**6), "f8", chunks=(10, 10))
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file.create_dataset("X", (2, 2), "f8", chunks=(10**4, 10**4), maxshape=(None, None))
    with h5py.File(tmp_path / "c.h5", "w") as file:
        file.create_dataset("ids", (10**7,), h5py.string_dtype(), chunks=(100,))
    for name in "abc":
        with pytest.raises(io.FileError, match=f"{name}.h5: .*ABSENTIA_MAX_BYTES"):
            absentia.read(tmp_path / f"{name}.h5")


def test_long_texts_count(tmp_path, monkeypatch):
    path = written(tmp_path / "a.h5", X=np.eye(3), title=["x" * 100_000] + ["a"] * 300)
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "10M")
    with pytest.raises(io.FileError, match="texts of '/title' would take"):
        absentia.read(path)


def test_groups_within_themselves_end(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_group("g")["again"] = file["/"]
        with pytest.raises(ValueError, match="more than once"):
            _hdf5.check_tree(file, _hdf5.Budget())


def test_what_is_neither_number_nor_text_is_left_alone(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["X"], file["y"] = rng.normal(size=(4, 2)), np.arange(4)
        file["pairs"] = np.zeros(3, [("a", "f8"), ("b", "i4")])
        file["ragged"] = h5py.Empty("f8")
        file.create_dataset("rows", (2,), h5py.vlen_dtype(np.float64))
        file["type"] = np.dtype("f8")
    assert absentia.read(tmp_path / "a.h5").names == ("X",)


@pytest.mark.parametrize("keep", [0, 4, 100, 1000])
def test_what_is_no_hdf5_file_or_a_part_of_one(tmp_path, keep):
    whole = written(tmp_path / "whole.h5", X=rng.normal(size=(50, 2))).read_bytes()
    (tmp_path / "a.h5").write_bytes(whole[:keep])
    with pytest.raises(io.FileError, match=re.escape("a.h5: not an HDF5 file, or a part of one")):
        absentia.read(tmp_path / "a.h5")


def test_folders_and_missing_files(tmp_path):
    (tmp_path / "a.h5").mkdir()
    with pytest.raises(io.FileError, match="is a folder"):
        absentia.read(tmp_path / "a.h5")
    with pytest.raises(io.FileError, match="no such file"):
        absentia.read(tmp_path / "b.h5")
