"""Zarr folders of strangers: what is in them, and nothing outside them."""

import json
import os
import pickle
import re
import shutil

import numpy as np
import pytest
import zarr

import absentia
from absentia import KernelViews, io

rng = np.random.default_rng(0)
K = np.stack([np.eye(5), np.ones((5, 5)), np.diag(np.arange(1.0, 6))])
formats = pytest.mark.parametrize("version", [2, 3])


def written(path, version=3, **members):
    group = zarr.open_group(path, mode="w", zarr_format=version)
    for key, value in members.items():
        group.create_array(key.replace("__", "/"), data=value)
    return path


@formats
def test_kernels_and_views(tmp_path, version):
    found = absentia.read(written(tmp_path / "k.zarr", version, K=np.moveaxis(K, 0, 2), y=np.arange(5)))
    assert isinstance(found, KernelViews)
    np.testing.assert_array_equal(found.to_dense(), K)
    x, z = rng.normal(size=(5, 2)).astype("f4"), rng.normal(size=(5, 3))
    found = absentia.read(written(tmp_path / "v.zarr", version, views__a=x, views__b=z, y=np.arange(5)))
    np.testing.assert_array_equal(found.block("a"), x)
    assert found.names == ("a", "b")
    assert io.label_array(tmp_path / "v.zarr", "y").values.tolist() == [0, 1, 2, 3, 4]


def test_one_array_alone(tmp_path):
    zarr.create_array(str(tmp_path / "K.zarr"), data=K)
    np.testing.assert_array_equal(absentia.read(tmp_path / "K.zarr").to_dense(), K)


@pytest.mark.filterwarnings("ignore:.*not (have a|part in the) Zarr .* specification")
@formats
def test_ids_as_texts(tmp_path, version):
    path = written(tmp_path / "a.zarr", version, X=rng.normal(size=(3, 2)))
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
    path = written(tmp_path / "a.zarr", 2, X=np.eye(3), y=np.arange(3))
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
    other = written(tmp_path / "other.zarr", X=rng.normal(size=(3, 2)))
    for inside in ("X", "X/c"):
        path = tmp_path / "a.zarr"
        shutil.rmtree(path, ignore_errors=True)
        written(path, X=rng.normal(size=(3, 2)))
        shutil.rmtree(path / inside)
        (path / inside).symlink_to(other / inside)
        with pytest.raises(io.FileError, match="is a symbolic link, which is not followed"):
            absentia.read(path)


def test_consolidated_metadata_are_not_believed(tmp_path):
    written(tmp_path / "secret.zarr", 2, S=np.eye(4))
    path = written(tmp_path / "a.zarr", 2, X=np.diag([1.0, 2.0]))
    zarr.consolidate_metadata(str(path), zarr_format=2)
    about = json.loads((path / ".zmetadata").read_text())
    about["metadata"]["../secret.zarr/S/.zarray"] = about["metadata"]["X/.zarray"]
    (path / ".zmetadata").write_text(json.dumps(about))
    assert absentia.read(path).names == ("X",)


def test_declared_sizes_are_not_believed(tmp_path, monkeypatch):
    path = written(tmp_path / "a.zarr", 2, X=np.eye(3))
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
    path = written(tmp_path / "a.zarr", version, X=rng.normal(size=(30, 4)))
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
    path = written(tmp_path / "a.zarr", X=rng.normal(size=(3, 2)))
    (path / place).unlink(missing_ok=True)
    os.mkfifo(path / place)
    with pytest.raises(io.FileError, match=r"a.zarr: '.*' in it is a named pipe, which is not opened"):
        absentia.read(path)
    with pytest.raises(io.FileError, match="a named pipe"):
        io.arrays_of(path)
