"""HDF5 files of strangers: what is in them, and nothing outside them."""

import json
import os
import pickle
import re
import shutil

import h5py
import numpy as np
import pytest
import zarr

import absentia
from absentia import KernelViews, io

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
    for read in (absentia.read, io.read_container):
        with pytest.raises(io.FileError, match=r"which could lead to another file|from other files"):
            read(tmp_path / "a.h5")
    (tmp_path / "a.h5").rename(tmp_path / "a.h5ad")
    with pytest.raises(io.FileError, match=r"another file|other files"):
        absentia.read(tmp_path / "a.h5ad")


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


def add_attribute(member, name, dtype):
    """An attribute of one value, which is not written."""
    kind = h5py.h5t.py_create(dtype, logical=True)
    h5py.h5a.create(member.id, name, kind, h5py.h5s.create_simple((1,)))


def test_sequences_of_varying_length_are_refused_before_hdf5_follows_them(tmp_path):
    """Damaged ones lead HDF5 out of its memory: one byte makes them of a text."""
    sequences = h5py.vlen_dtype(np.dtype("f8"))
    inside = np.dtype([("a", "f8"), ("b", sequences)])
    for kind in (sequences, inside):
        with h5py.File(tmp_path / "a.h5ad", "w") as file:
            file["X"] = np.eye(3)
            add_attribute(file["X"], b"encoding-version", kind)
        with pytest.raises(
            io.FileError, match=r"a.h5ad: the attribute 'encoding-version' of '/X' holds seq"
        ):
            absentia.read(tmp_path / "a.h5ad")
        with h5py.File(tmp_path / "b.h5ad", "w") as file:
            file.create_dataset("uns/x", (2,), dtype=kind)
        with pytest.raises(io.FileError, match=r"b.h5ad: '/uns/x' holds sequences of varying length"):
            absentia.read(tmp_path / "b.h5ad")
        with h5py.File(tmp_path / "c.mat", "w") as file:
            file["X"] = np.eye(3)
            add_attribute(file["X"], b"MATLAB_class", kind)
        with pytest.raises(io.FileError, match=r"c.mat: the attribute 'MATLAB_class' of '/X' holds seq"):
            absentia.read(tmp_path / "c.mat")


def test_overwritten_texts_are_refused_before_hdf5_stays_on_them_forever(tmp_path):
    path = written(tmp_path / "a.h5", X=np.eye(3), ids=["a", "b", "c"])
    data = bytearray(path.read_bytes())
    start = data.index(b"GCOL") + 16
    data[start : start + 500] = bytes(500)
    path.write_bytes(data)
    with pytest.raises(io.FileError, match=r"a.h5: is damaged: texts in it are overwritten; copy"):
        absentia.read(path)


def test_large_attributes_count(tmp_path, monkeypatch):
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "1M")
    with h5py.File(tmp_path / "a.h5ad", "w", libver="latest") as file:
        file["X"] = np.eye(3)
        file["X"].attrs["about"] = np.zeros(100_000)
    with pytest.raises(
        io.FileError, match=r"the attribute 'about' of '/X' would take .*ABSENTIA_MAX_BYTES"
    ):
        absentia.read(tmp_path / "a.h5ad", chunks=False)


def test_groups_within_themselves_end(tmp_path):
    with h5py.File(tmp_path / "a.h5ad", "w") as file:
        file.create_group("g")["again"] = file["/"]
    with pytest.raises(io.FileError, match="more than once"):
        absentia.read(tmp_path / "a.h5ad")


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


formats = pytest.mark.parametrize("version", [2, 3])


def written_of_zarr(path, version=3, **members):
    group = zarr.open_group(path, mode="w", zarr_format=version)
    for key, value in members.items():
        group.create_array(key.replace("__", "/"), data=value)
    return path


@formats
def test_kernels_and_views(tmp_path, version):
    found = absentia.read(
        written_of_zarr(tmp_path / "k.zarr", version, K=np.moveaxis(K, 0, 2), y=np.arange(5))
    )
    assert isinstance(found, KernelViews)
    np.testing.assert_array_equal(found.to_dense(), K)
    x, z = rng.normal(size=(5, 2)).astype("f4"), rng.normal(size=(5, 3))
    found = absentia.read(
        written_of_zarr(tmp_path / "v.zarr", version, views__a=x, views__b=z, y=np.arange(5))
    )
    np.testing.assert_array_equal(found.block("a"), x)
    assert found.names == ("a", "b")
    assert io.read_label_array(tmp_path / "v.zarr", "y").values.tolist() == [0, 1, 2, 3, 4]


def test_one_array_alone(tmp_path):
    zarr.create_array(str(tmp_path / "K.zarr"), data=K)
    np.testing.assert_array_equal(absentia.read(tmp_path / "K.zarr").to_dense(), K)


@pytest.mark.filterwarnings("ignore:.*not (have a|part in the) Zarr .* specification")
@formats
def test_ids_as_texts(tmp_path, version):
    path = written_of_zarr(tmp_path / "a.zarr", version, X=rng.normal(size=(3, 2)))
    ids = np.array(["a", "bb", "é"])
    zarr.open_group(path, mode="a").create_array("ids", data=ids.astype("T" if version == 3 else "U"))
    assert absentia.read(path).ids.tolist() == ["a", "bb", "é"]


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("code was run",))


@pytest.mark.parametrize(
    ("filters", "compressor"),
    [(["vlen-utf8", "pickle"], None), (["vlen-utf8"], "pickle"), (["pickle"], None)],
)
def test_pickles_are_refused(tmp_path, filters, compressor):
    path = written_of_zarr(tmp_path / "a.zarr", 2, X=np.eye(3), y=np.arange(3))
    about = path / "y" / ".zarray"
    said = json.loads(about.read_text()) | {"dtype": "|O", "fill_value": None}
    said |= {"filters": [{"id": name} for name in filters], "compressor": compressor and {"id": compressor}}
    about.write_text(json.dumps(said))
    (path / "y" / "0").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(
        io.FileError, match="a.zarr: " if "vlen-utf8" not in filters else "is packed by Pickle"
    ):
        absentia.read(path)


def test_links_are_refused(tmp_path):
    other = written_of_zarr(tmp_path / "other.zarr", X=rng.normal(size=(3, 2)))
    for inside in ("X", "X/c"):
        path = tmp_path / "a.zarr"
        shutil.rmtree(path, ignore_errors=True)
        written_of_zarr(path, X=rng.normal(size=(3, 2)))
        shutil.rmtree(path / inside)
        (path / inside).symlink_to(other / inside)
        with pytest.raises(io.FileError, match="is a symbolic link, which is not followed"):
            absentia.read(path)


def test_consolidated_metadata_are_not_believed(tmp_path):
    written_of_zarr(tmp_path / "secret.zarr", 2, S=np.eye(4))
    path = written_of_zarr(tmp_path / "a.zarr", 2, X=np.diag([1.0, 2.0]))
    zarr.consolidate_metadata(str(path), zarr_format=2)
    about = json.loads((path / ".zmetadata").read_text())
    about["metadata"]["../secret.zarr/S/.zarray"] = about["metadata"]["X/.zarray"]
    (path / ".zmetadata").write_text(json.dumps(about))
    assert absentia.read(path).names == ("X",)


def test_declared_sizes_are_not_believed_of_zarr(tmp_path, monkeypatch):
    path = written_of_zarr(tmp_path / "a.zarr", 2, X=np.eye(3))
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "1M")
    about = path / "X" / ".zarray"
    said = json.loads(about.read_text())
    for change in ({"shape": [10**9, 10**9]}, {"chunks": [10**6, 10**6]}):
        about.write_text(json.dumps(said | change))
        with pytest.raises(io.FileError, match="ABSENTIA_MAX_BYTES"):
            absentia.read(path)


@formats
def test_what_is_no_zarr_folder_or_a_part_of_one(tmp_path, version):
    (tmp_path / "none.zarr").mkdir()
    (tmp_path / "file.zarr").write_bytes(b"x")
    for name, why in (
        ("none", "no Zarr group"),
        ("file", "a Zarr folder is wanted"),
        ("gone", "no such file"),
    ):
        with pytest.raises(io.FileError, match=re.escape(why)):
            absentia.read(tmp_path / f"{name}.zarr")
    path = written_of_zarr(tmp_path / "a.zarr", version, X=rng.normal(size=(30, 4)))
    about = path / "X" / ("zarr.json" if version == 3 else ".zarray")
    whole = about.read_text()
    for text in (whole[:20], whole.replace("float64", "object").replace("<f8", "|O"), "{}", "[]"):
        about.write_text(text)
        with pytest.raises(io.FileError, match=re.escape("a.zarr: ")):
            absentia.read(path)
    about.write_text(whole)
    chunk = path / "X" / ("c/0/0" if version == 3 else "0.0")
    chunk.write_bytes(chunk.read_bytes()[:-30])
    with pytest.raises(io.FileError, match=re.escape("a.zarr: ")):
        absentia.read(path)


@formats
@pytest.mark.parametrize("dtype", ["f8", "i4", "bool"])
def test_a_chunk_that_is_not_there_is_no_zero(tmp_path, version, dtype):
    path = tmp_path / "a.zarr"
    group = zarr.open_group(path, mode="w", zarr_format=version)
    group.create_array("X", data=np.ones((6, 4), dtype), chunks=(2, 4))
    group.create_array("y", data=np.arange(1, 7))
    assert absentia.read(path).shape[0] == 6
    (path / "X" / ("c/1/0" if version == 3 else "1.0")).unlink()
    with pytest.raises(io.FileError, match=r"a.zarr: '/X' lacks 1 of its 3 chunks, which would be read as"):
        absentia.read(path)


def test_chunks_of_nan_need_not_be_there(tmp_path):
    group = zarr.open_group(tmp_path / "a.zarr", mode="w")
    array = group.create_array("X", shape=(6, 4), chunks=(2, 4), dtype="f8", fill_value=np.nan)
    array[:4] = rng.normal(size=(4, 4))
    group.create_array("y", data=np.arange(1, 7))
    with pytest.warns(absentia.AbsenceWarning, match="2 sample"):
        assert absentia.read(tmp_path / "a.zarr").observed[:, 0].tolist() == [True] * 4 + [False] * 2


@pytest.mark.parametrize("place", ["X/c/0/0", "X/zarr.json", "zarr.json", "more"])
def test_a_pipe_is_not_waited_for(tmp_path, place):
    path = written_of_zarr(tmp_path / "a.zarr", X=rng.normal(size=(3, 2)))
    (path / place).unlink(missing_ok=True)
    os.mkfifo(path / place)
    with pytest.raises(io.FileError, match=r"a.zarr: '.*' in it is a named pipe, which is not opened"):
        absentia.read(path)
    with pytest.raises(io.FileError, match="a named pipe"):
        io.read_container(path)
