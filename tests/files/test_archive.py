"""Untrusted archives do not hang or escape as tracebacks; plain arrays come back as they were."""

import os
import struct
import zipfile
from contextlib import suppress

import numpy as np
import pytest

from absentia import Views, io, models
from absentia.files._archive import npy_content
from helpers.crafted_archives import READERS, VIEW, bomb, header, raw, refused, zipped


def test_a_model_or_labels_are_read_without_inflating_what_is_not_needed(tmp_path, monkeypatch):
    path = bomb(tmp_path / "m.npz", 20)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("y.npy", raw(np.array([0, 1])))
        archive.writestr("model.npy", raw(np.array("{}")))
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "10M")
    assert io.read_labels("y", Views.from_dict({"a": np.eye(2)}), path).values.tolist() == [0, 1]
    with pytest.raises(io.FileError, match="not that of an absentia model"):
        models.load(path)
    with pytest.raises(io.FileError, match="holds views"):
        io.read_matrix(path)


def changed(path, at, new, name=b"view_a.npy", directory=True):
    """Overwrite bytes in the directory's entry (or the local one) of a member."""
    content = bytearray(path.read_bytes())
    entry = content.rindex(b"PK\1\2") if directory else content.index(b"PK\3\4")
    content[entry + at : entry + at + len(new)] = new
    path.write_bytes(bytes(content))
    return path


def encrypted(path):
    changed(changed(zipped(path, view_a=VIEW), 8, b"\1"), 6, b"\1", directory=False)


def unsupported(path):
    zipped(path, zipfile.ZIP_LZMA, view_a=VIEW)


def overlapping(path):
    zipped(path, view_a=VIEW, view_b=VIEW)
    changed(path, 42, struct.pack("<I", 20))


def twice(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("view_a.npy", VIEW)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("view_a.npy", raw(np.zeros((2, 2))))


def many(path):
    zipped(path, **{f"x{k}": b"" for k in range(10_001)})


def crowded(path):
    """A directory of more than four megabytes, which would be a hundred thousand objects."""
    with zipfile.ZipFile(path, "w") as archive:
        for k in range(70):
            info = zipfile.ZipInfo(f"x{k}.npy")
            info.extra = b"\x99\x99" + struct.pack("<H", 60_000) + bytes(60_000)
            archive.writestr(info, b"")


STRANGE = [
    (encrypted, "'view_a' is damaged .*encrypted"),
    (unsupported, "'view_a' is compressed in a way"),
    (overlapping, "'view_a' is damaged|'view_b' is damaged"),
    (twice, "holds 'view_a' more than once"),
    (many, "holds 10001 arrays; at most 10000"),
    (crowded, "table of contents is larger than 4.19 MB"),
    (
        lambda p: zipped(p, view_a=header("<f8", "(" + " " * 20_000 + "2, 2)") + bytes(32)),
        "not an array that NumPy reads",
    ),
    (lambda p: zipped(p, view_a=header("<f8", "(2, 2)") + bytes(24)), "takes .* bytes, not"),
    (lambda p: zipped(p, view_a=header("<f8", "(2, 2)") + bytes(40)), "takes .* bytes, not"),
    (lambda p: zipped(p, view_a=header("O", "(2, 2)") + bytes(32)), "'view_a' is not plain|pickled"),
    (
        lambda p: zipped(p, view_a=header("|O", "(2, 2)") + bytes(32)),
        "'view_a' holds pickled Python objects",
    ),
    (
        lambda p: zipped(p, view_a=header([("a", "<f8")], "(2, 2)") + bytes(32)),
        "is not plain numbers or texts",
    ),
    (lambda p: zipped(p, view_a=header("<f8,<f4", "(2, 2)") + bytes(48)), "is not plain numbers or texts"),
    (lambda p: zipped(p, view_a=header("<f8", "-" * 9000 + "1") + bytes(32)), "is not an array"),
    (lambda p: zipped(p, view_a=header("<f8", "(2, -2)") + bytes(32)), "is not plain numbers or texts"),
    (lambda p: zipped(p, view_a=header("<i3", "(2, 2)") + bytes(32)), "'view_a'"),
    (lambda p: zipped(p, view_a=header("|b1", "(1, 2)") + b"\0\2"), "neither True nor False"),
    (
        lambda p: zipped(p, view_a=VIEW, ids=header("<U1", "(2,)") + struct.pack("<2I", 97, 0x110000)),
        "characters",
    ),
    (
        lambda p: zipped(p, view_a=VIEW, ids=header("<U1", "(2,)") + struct.pack("<2I", 97, 0xD800)),
        "characters",
    ),
    (lambda p: zipped(p, view_a=VIEW, ids=raw(np.zeros((2, 0)))), r"'ids' is float64 of shape \(2, 0\)"),
    (lambda p: zipped(p, view_a=VIEW, ids=raw(np.array([1, np.nan]))), "'ids' holds nan"),
    (lambda p: zipped(p, view_a=VIEW, ids=raw(np.array([1j, 2j]))), "'ids' is complex128"),
    (lambda p: zipped(p, view_a=VIEW, ids=raw(np.array([b"\xff", b"a"]))), "codec"),
    (lambda p: zipped(p, view_a=VIEW, mask=raw(np.array([["1"], ["0"]]))), "'mask' holds <U1"),
    (lambda p: np.savez_compressed(p, K=np.ones((100_000, 1, 1))), "holds 100000 views; at most 1000"),
    (
        lambda p: np.savez_compressed(p, view_a=np.eye(2), names=np.zeros(200_000, "U1")),
        "200000 names for 1",
    ),
    (lambda p: np.savez_compressed(p, view_a=np.eye(2), ids=np.zeros(200_000, "U1")), "200000 ids for 2"),
    (lambda p: p.write_bytes(b"PK\5\6" + bytes(8) + b"\xff" * 30), "not an .npz file"),
    (lambda p: p.write_bytes(b"PK\6\7" + bytes(16) + b"PK\5\6" + b"\xff" * 18), "not an .npz file"),
]


@pytest.mark.parametrize(("make", "sentence"), STRANGE, ids=[s[:30] for _, s in STRANGE])
def test_strange_archives_are_named_with_one_sentence(tmp_path, make, sentence):
    path = tmp_path / "data.npz"
    make(path)
    refused(io.read, path, sentence)


@pytest.mark.slow_params("read_matrix-holds 10001 arrays; at most 10")
@pytest.mark.parametrize("make", [s[0] for s in STRANGE], ids=[s[:30] for _, s in STRANGE])
@pytest.mark.parametrize("reader", READERS)
def test_no_reader_says_anything_but_file_error(tmp_path, make, reader):
    path = tmp_path / "data.npz"
    make(path)
    with suppress(io.FileError):
        READERS[reader](path)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.array([["a", "ßü"], ["", "longer"]]),
        np.array(["a", "é"], dtype=">U3"),
        np.array([True, False]),
        np.array("text"),
        np.zeros((3, 0)),
        np.zeros((0, 3), np.float32),
        np.array([b"ab", b"c"]),
        np.array([1 + 2j]),
        np.array(["2020-01-01", "NaT"], dtype="M8[D]"),
        np.array(["", ""]),
        np.array(7),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "write", [np.savez, np.savez_compressed, lambda p, a: io.write_arrays(p, {"a": a})]
)
def test_every_plain_array_comes_back(tmp_path, array, write):
    path = tmp_path / "a.npz"
    write(path, a=array) if write in (np.savez, np.savez_compressed) else write(path, array)
    back = io.read_arrays(path)["a"]
    np.testing.assert_array_equal(back, array)
    assert back.shape == array.shape
    assert back.dtype == array.dtype.newbyteorder("=")
    assert back.dtype.isnative
    with np.load(path) as file:
        np.testing.assert_array_equal(file["a"], array)


def test_extended_precision_is_read_as_double(tmp_path):
    np.savez(tmp_path / "a.npz", a=np.array([1.5, 2.5], np.longdouble))
    assert io.read_arrays(tmp_path / "a.npz")["a"].dtype == np.float64


@pytest.mark.parametrize(
    "array",
    [np.array([{}, 1], dtype=object), np.array([None]), np.zeros(2, [("a", "f8")]), np.zeros(1, "V4")],
)
def test_what_is_no_plain_array_is_not_written(tmp_path, array):
    with pytest.raises(io.FileError, match=r"out.npz: 'a' holds .*only a pickle could store"):
        io.write_arrays(tmp_path / "out.npz", {"a": array})
    assert os.listdir(tmp_path) == []


def test_a_file_holds_the_arrays_given_and_nothing_else(tmp_path):
    path = io.write_arrays(tmp_path / "out.npz", {"a": [1, 2], "allow": "x"})
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["a.npy", "allow.npy"]
        assert archive.testzip() is None


@pytest.mark.parametrize("key", ["", "a\0b", "\ud800"])
def test_names_that_would_not_come_back_are_not_written(tmp_path, key):
    with pytest.raises(io.FileError, match="cannot be named"):
        io.write_arrays(tmp_path / "out.npz", {key: 1})
    with pytest.raises(io.FileError, match="characters that there are not"):
        io.write_arrays(tmp_path / "out.npz", {"a": "\ud800"})


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((2, 3)),
        np.asfortranarray(np.zeros((2, 3), ">i4")),
        np.array("a"),
        np.zeros((0, 4), "M8[D]"),
    ],
    ids=repr,
)
def test_what_numpy_writes_is_understood(tmp_path, array):
    (tmp_path / "a.npy").write_bytes(raw(array))
    found = npy_content(tmp_path / "a.npy")["a"]
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.flags.f_contiguous == array.flags.f_contiguous
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("version", [1, 2])
def test_every_version_is_read(tmp_path, version):
    values = np.arange(6.0).reshape(3, 2).T
    (tmp_path / "a.npy").write_bytes(header("<f8", "(2, 3)", True, version) + values.tobytes("F"))
    np.testing.assert_array_equal(npy_content(tmp_path / "a.npy")["a"], values)


@pytest.mark.parametrize(
    ("kind", "shape", "need"),
    [
        ("<f8", (3, 4), 96),
        ("|b1", (3, 4), 96),
        ("<f8", (1000, 0), 8000),
        ("<U0", (1000,), 64_000),
        ("<U100", (2,), 800),
    ],
)
def test_the_memory_that_is_needed_counts_what_holds_nothing_too(tmp_path, monkeypatch, kind, shape, need):
    path = tmp_path / "a.npy"
    path.write_bytes(header(kind, shape) + np.zeros(shape, kind).tobytes() * (kind != "<U0"))
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", str(need))
    assert npy_content(path)["a"].shape == shape
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", str(need - 1))
    refused(npy_content, path, "an array, .* would take")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not an array"),
        (b"\x93NUMPY\4\0" + bytes(20), "is not an array"),
        (b"\x93NUMPY\1\0\x05\0[1]\n ", "is not an array"),
        (header("<f8", "(2, 3)")[:-20], "is not an array"),
        (header("<f8", "(" + "2, " * 9000 + ")"), "is not an array"),
        (header("|O", "(2,)"), "pickled Python objects"),
        (header("<f8", "__import__('os')"), "is not an array"),
        (header("<f8", "(2,), 'more': print"), "is not an array"),
        (header("V8", "(2,)"), "not plain numbers"),
        (header("<f8", "(2,)", "None"), "is not an array"),
        (header("<f9", "(2,)"), "is not an array"),
        (header("<f8", "(-2,)"), "not plain numbers"),
        (header("<f8", "(" + "2, " * 33 + ")"), "is damaged"),
        (header("<f8", f"({1 << 63},)"), "is damaged"),
        (header("<f8", "True"), "is not an array"),
        (header("<f8", "(2 3)"), "is not an array"),
        (header("<f8", "(" + "9" * 5000 + ",)"), "is not an array"),
    ],
)
def test_what_is_no_header_is_refused(tmp_path, content, sentence):
    (tmp_path / "a.npy").write_bytes(content)
    refused(npy_content, tmp_path / "a.npy", sentence)
