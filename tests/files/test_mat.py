"""MATLAB's files: those of version 5 as SciPy writes them, those of version 7.3 as MATLAB does."""

import re

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse

import absentia
from absentia import KernelViews, Views, io
from absentia.files import mat_content
from helpers.matlab_files import Matlab, written

rng = np.random.default_rng(0)
K = np.stack([np.eye(5), np.ones((5, 5)), np.diag(np.arange(1.0, 6))])
X1, X2 = rng.normal(size=(5, 3)), rng.normal(size=(5, 2))


pytestmark = pytest.mark.parametrize("version", [5, 7.3])


@pytest.mark.parametrize("stack", [K, np.moveaxis(K, 0, 2), list(K)], ids=["first", "last", "cell"])
def test_kernels(tmp_path, version, stack):
    path = written(tmp_path / "a.mat", version, KH=stack, Y=np.arange(5.0)[:, None])
    found = absentia.read(path)
    assert isinstance(found, KernelViews)
    np.testing.assert_array_equal(found.to_dense(), K)
    np.testing.assert_array_equal(io.read_container(path)["Y"], np.arange(5.0))


@pytest.mark.parametrize("turned", [False, True])
def test_a_cell_array_of_features(tmp_path, version, turned):
    cells = [X1.T, X2.T] if turned else [X1, X2]
    names = ["rna", "adt"]
    found = absentia.read(written(tmp_path / "a.mat", version, X=cells, names=names, gt=np.ones((5, 1))))
    assert isinstance(found, Views)
    assert found.names == ("rna", "adt")
    np.testing.assert_array_equal(found.block("rna"), X1)
    np.testing.assert_array_equal(found.block("adt"), X2)


def test_a_struct_has_views_for_fields(tmp_path, version):
    x = X1.copy()
    x[2] = np.nan
    found = absentia.read(
        written(tmp_path / "a.mat", version, data={"rna": x, "adt": X2}, gnd=np.ones((5, 1)))
    )
    assert set(found.names) == {"rna", "adt"}
    np.testing.assert_array_equal(found.observed[:, found.names.index("rna")], [1, 1, 0, 1, 1])


def test_ids_as_texts_masks_and_sparse_matrices(tmp_path, version):
    mask = np.ones((5, 2), bool)
    mask[0, 1] = False
    counts = scipy.sparse.csc_matrix(np.round(np.abs(X1)))
    members = {"X1": counts, "X2": X2, "mask": mask, "ids": ["p1", "p22", "p3", "p4", "p5"]}
    found = absentia.read(written(tmp_path / "a.mat", version, **members))
    assert found.ids.tolist() == ["p1", "p22", "p3", "p4", "p5"]
    np.testing.assert_array_equal(found.observed, mask)
    np.testing.assert_array_equal(found.block("X1").toarray(), counts.toarray())


def test_whole_numbers_do_not_wrap_around(tmp_path, version):
    x = np.full((5, 2), 200, np.uint8)
    x[0] = 0
    found = absentia.read(written(tmp_path / "a.mat", version, X=x, y=np.ones((5, 1))))
    assert found.block("X").dtype == np.float64
    assert found.block("X")[1, 0] * 2 == 400


def test_names_for_what_is_not_clear(tmp_path, version):
    path = written(tmp_path / "a.mat", version, K=K, X=[X1, X2])
    with pytest.raises(io.FileError, match=r"both kernels and features: 'K' \(3, 5, 5\).*views="):
        absentia.read(path)
    assert absentia.read(path, views={"a": ["X/0"], "b": ["X/1"]}).names == ("a", "b")


def test_labels_by_name(tmp_path, version):
    path = written(
        tmp_path / "a.mat", version, X=X1, labels=["a", "b", "a", "c", "b"], s={"t": np.arange(5.0)}
    )
    assert io.read_label_array(path, "labels").values.tolist() == ["a", "b", "a", "c", "b"]
    assert io.read_label_array(path, "s/t").values.tolist() == [0, 1, 2, 3, 4]
    assert io.read_label_array(path, "labels").ids is None
    with pytest.raises(io.FileError, match="holds no labels 'z'"):
        io.read_label_array(path, "z")


def test_a_part_of_a_file(tmp_path, version):
    whole = written(tmp_path / "whole.mat", version, X=X1, Z=rng.normal(size=(200, 30))).read_bytes()
    for keep in (0, 50, 200, len(whole) // 2, len(whole) - 10):
        (tmp_path / "a.mat").write_bytes(whole[:keep])
        with pytest.raises(io.FileError, match=re.escape("a.mat: ")):
            absentia.read(tmp_path / "a.mat")
    (tmp_path / "a.mat").write_bytes(b"not a file of MATLAB's at all" * 100)
    with pytest.raises(io.FileError, match=re.escape("a.mat: not a .mat file")):
        absentia.read(tmp_path / "a.mat")


def test_what_is_packed_is_weighed(tmp_path, version, monkeypatch):
    if version == 5:
        path = written(tmp_path / "a.mat", 5, X=[np.zeros((1000, 1000)), np.zeros((1000, 3))])
        assert path.stat().st_size < 1 << 16
    else:
        file = Matlab(tmp_path / "a.mat")
        file.file.create_dataset("X", (10**6, 10**6), "f8", chunks=(10, 10))
        path = file.close()
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "1M")
    with pytest.raises(io.FileError, match="ABSENTIA_MAX_BYTES"):
        absentia.read(path)


def test_cells_that_lead_astray(tmp_path, version):
    if version == 5:
        pytest.skip("references are those of HDF5")
    for name, target in (("none", None), ("external", h5py.ExternalLink("x.h5", "/")), ("deep", "deep")):
        file = Matlab(tmp_path / f"{name}.mat")
        if target is None:
            file.file.create_dataset("X", (1, 2), h5py.ref_dtype).attrs["MATLAB_class"] = np.bytes_("cell")
        elif name == "external":
            file.file["X"] = target
        else:  # a cell array that holds itself
            file.file.create_dataset("X", (1, 1), h5py.ref_dtype).attrs["MATLAB_class"] = np.bytes_("cell")
            file.file["X"][0, 0] = file.file["X"].ref
        file.close()
    with pytest.raises(io.FileError, match="refer to nothing"):
        absentia.read(tmp_path / "none.mat")
    with pytest.raises(io.FileError, match="could lead to another file"):
        absentia.read(tmp_path / "external.mat")
    with pytest.raises(io.FileError, match="holds no table"):
        absentia.read(tmp_path / "deep.mat")


def test_what_cannot_be_an_array_is_left_alone(tmp_path, version):
    if version == 5:
        path = written(tmp_path / "a.mat", 5, X=X1, y=np.ones(5), z=X1 * 1j, title="text")
    else:
        file = Matlab(tmp_path / "a.mat")
        file.put("X", X1)
        file.put("y", np.ones((5, 1)))
        file.put("title", "text")
        file._made("z", np.zeros((3, 5), [("real", "f8"), ("imag", "f8")]), "double")
        file._made("none", np.array([0, 0], "u8"), "double")
        file.file["none"].attrs["MATLAB_empty"] = np.uint8(1)
        path = file.close()
    found = mat_content(path)
    assert "z" not in found
    assert found["title"] == "text"
    assert absentia.read(path).names == ("X",)


def test_places_outside_a_sparse_matrix_are_an_error(tmp_path, version):
    if version == 5:
        scipy.io.savemat(tmp_path / "a.mat", {"X": scipy.sparse.csc_matrix(np.diag([7.0, 8.0, 9.0]))})
        whole = (tmp_path / "a.mat").read_bytes()
        places = np.arange(3, dtype="<i4").tobytes()  # the rows, before where the columns begin
        (tmp_path / "a.mat").write_bytes(whole.replace(places, np.full(3, 10**6, "<i4").tobytes(), 1))
    else:
        written(tmp_path / "a.mat", version, X=scipy.sparse.csc_matrix(np.diag([7.0, 8.0, 9.0])))
        with h5py.File(tmp_path / "a.mat", "a") as file:
            file["X/ir"][:] = 10**6
    with pytest.raises(io.FileError, match="values outside of it"):
        absentia.read(tmp_path / "a.mat")
