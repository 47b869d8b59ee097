"""Files of strangers do not exhaust memory, hang or escape as tracebacks; files of ours are there whole."""

import io as memory
import os
import signal
import stat
import struct
import subprocess
import sys
import time
import zipfile
from contextlib import suppress

import numpy as np
import pytest

from absentia import KernelViews, Views, io, models
from absentia.files import _archive as files
from absentia.files import _labels as labels
from absentia.files import _tables as tables
from absentia.files._rows import read_new


def header(descr, shape, fortran=False, version=1):
    """The beginning of an array, with anything in it."""
    text = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode("latin1")
    return (
        b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text
    )


def zipped(path, compression=zipfile.ZIP_STORED, **members):
    """An archive of arrays, each given by its bytes."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for key, content in members.items():
            archive.writestr(f"{key}.npy", content)
    return path


def raw(array):
    content = memory.BytesIO()
    np.save(content, array)
    return content.getvalue()


VIEW = raw(np.eye(2))
READERS = {
    "io.read": io.read,
    "read_new": read_new,
    "read_matrix": tables.read_matrix,
    "models.load": models.load,
    "read_labels": lambda path: labels.read_labels("y", path, np.arange(2)),
    "keys": io.keys,
}


def in_little_memory(code, *arguments, megabytes=900):
    """Run `code` in a process that may take so much memory; it prints, or dies."""
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({megabytes << 20},) * 2)\n{code}"
    run = subprocess.run(
        [sys.executable, "-c", limited, *map(str, arguments)], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


# -------------------------------------------------------------------------------- sizes before allocating

TINY = {
    "ids of nothing": {"view_a": VIEW, "ids": header("<f8", "(1000000000, 0)")},
    "empty texts": {"view_a": VIEW, "ids": header("<U0", "(1000000000000,)")},
    "a view of no columns": {"view_a": header("<f8", "(100000000000, 0)")},
    "more than there is": {"view_a": header("<f8", "(1000000, 1000000)") + b"abc"},
    "a long text": {"view_a": VIEW, "names": header("<U999999999", "(1,)")},
    "beyond 64 bits": {"view_a": header("<f8", f"({1 << 62}, {1 << 62})")},
    "many dimensions": {"view_a": header("<f8", "(" + "2, " * 40 + ")")},
}


@pytest.mark.parametrize("case", TINY)
def test_a_tiny_file_cannot_ask_for_much_memory(tmp_path, monkeypatch, case):
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "64M")  # whatever the machine has
    path = zipped(tmp_path / "v.npz", **TINY[case])
    with pytest.raises(io.FileError, match=r"would take|damaged|shape|not plain") as caught:
        io.read(path)
    assert str(caught.value).startswith(f"{path}: '")


def bomb(path, megabytes):
    return zipped(
        path,
        zipfile.ZIP_DEFLATED,
        view_a=header("<f8", f"({megabytes << 7}, 1024)") + bytes(megabytes << 20),
    )


def test_what_inflates_beyond_the_ceiling_is_refused_before_it_is_inflated(tmp_path, monkeypatch):
    path = bomb(tmp_path / "v.npz", 50)
    assert path.stat().st_size < 80_000
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "30M")
    with pytest.raises(
        io.FileError, match=r"would take 52.4 MB .*at most 31.5 MB are.*ABSENTIA_MAX_BYTES to more"
    ):
        io.read(path)
    began = time.process_time()
    with pytest.raises(io.FileError, match="would take"):
        read_new(path)
    assert time.process_time() - began < 0.2
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "1e9")
    assert io.read_arrays(path)["view_a"].shape == (50 << 7, 1024)
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "much")
    with pytest.raises(io.FileError, match="is 'much'; a number of bytes is wanted"):
        io.read(path)


def test_several_arrays_share_one_ceiling(tmp_path, monkeypatch):
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "30000")
    path = tmp_path / "v.npz"
    np.savez(path, **{f"view_{k}": np.ones((100, 10)) for k in range(3)})
    assert len(io.read(path)) == 100
    np.savez(path, **{f"view_{k}": np.ones((100, 10)) for k in range(4)})
    with pytest.raises(
        io.FileError, match=r"'view_3'.* 8 kB of memory \(32 kB with what comes before it\)"
    ):
        io.read(path)


def test_a_model_or_labels_are_read_without_inflating_what_is_not_needed(tmp_path, monkeypatch):
    path = bomb(tmp_path / "m.npz", 20)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("y.npy", raw(np.array([0, 1])))
        archive.writestr("model.npy", raw(np.array("{}")))
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "10M")
    assert labels.read_labels("y", path, np.arange(2))[0].tolist() == [0, 1]
    with pytest.raises(io.FileError, match="not that of an absentia model"):
        models.load(path)
    with pytest.raises(io.FileError, match="holds views"):
        tables.read_matrix(path)


def test_the_ceiling_is_a_share_of_what_a_limited_process_may_take(tmp_path):
    path = bomb(tmp_path / "v.npz", 240)
    code = (
        "import sys; from absentia import io\ntry: io.read(sys.argv[1])\nexcept io.FileError as e: print(e)"
    )
    assert "would take" in in_little_memory(code, path)


def test_free_memory_is_what_the_container_leaves(tmp_path):
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("600000\n")
    (tmp_path / "memory.stat").write_text("anon 100\ninactive_file 50000\n")
    assert list(files._container_memory(tmp_path)) == [450_000]
    (tmp_path / "memory.max").write_text("max\n")
    assert list(files._container_memory(tmp_path)) == []
    assert 0 < files.ceiling() < files.available_memory()


def test_honest_data_that_do_not_fit_are_one_sentence(tmp_path, monkeypatch):
    """A kernel may be read and the copies made of it be too much."""
    path = tmp_path / "k.npz"
    np.savez_compressed(path, K=np.ones((1, 50, 50)))

    def too_much(*_):
        raise MemoryError

    monkeypatch.setattr(KernelViews, "from_dense", too_much)
    with pytest.raises(io.FileError, match=r"k.npz: its data and the copies .* do not fit into the memory"):
        io.read(path)


# -------------------------------------------------------------------------------------- what is no file


@pytest.mark.parametrize("reader", READERS)
def test_only_regular_files_are_opened(tmp_path, reader):
    read = READERS[reader]
    pipe, loop, device = (tmp_path / f"{name}.npz" for name in ("pipe", "loop", "device"))
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    device.symlink_to("/dev/zero")
    signal.alarm(20)  # a hang is a failure, not a hang
    try:
        for path, sentence in [
            (pipe, "is a named pipe"),
            (loop, "symbolic link that leads back to itself"),
            (device, "is a device"),
            (tmp_path, "is a folder|give it that ending"),
            (tmp_path / "gone.npz", "no such file"),
            (tmp_path / "a.npz" / "b.npz", "no such file"),
            (tmp_path / ("x" * 300 + ".npz"), "name too long"),
            (tmp_path / "nul\0.npz", "no such file"),
        ]:
            with pytest.raises(io.FileError, match=sentence) as caught:
                read(path)
            assert str(caught.value).startswith(f"{path}: ")
    finally:
        signal.alarm(0)


def test_tables_too_are_regular_files(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    signal.alarm(20)
    try:
        for name in ("pipe.csv", "zero.csv"):
            with pytest.raises(io.FileError, match=r"is a (named pipe|device)"):
                tables.read_matrix(tmp_path / name)
            with pytest.raises(io.FileError, match=r"is a (named pipe|device)"):
                labels.from_table(tmp_path / name, np.arange(2))
    finally:
        signal.alarm(0)


def test_a_link_to_a_file_is_that_file(tmp_path):
    np.savez(tmp_path / "v.npz", view_a=np.eye(2))
    (tmp_path / "link.npz").symlink_to(tmp_path / "v.npz")
    assert len(io.read(tmp_path / "link.npz")) == 2


@pytest.mark.parametrize("reader", READERS)
def test_what_may_not_be_read_is_one_sentence(tmp_path, reader):
    path = zipped(tmp_path / "v.npz", view_a=VIEW)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(io.FileError, match="permission denied"):
        READERS[reader](path)


# ---------------------------------------------------------------------------------- archives of strangers


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
    (encrypted, "'view_a' is encrypted"),
    (unsupported, "'view_a' is compressed in a way"),
    (overlapping, "lies inside another array"),
    (twice, "holds 'view_a' more than once"),
    (many, "holds 10001 arrays; at most 10000"),
    (crowded, "table of contents is larger than 4.19 MB"),
    (lambda p: zipped(p, **{"view_" + "a" * 2000: VIEW}), "name has 2009 characters"),
    (lambda p: zipped(p, view_a=header("<f8", "(" + " " * 20_000 + "2, 2)") + bytes(32)), "header of 20"),
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
    (
        lambda p: zipped(p, view_a=header("<f8", "-" * 9000 + "1") + bytes(32)),
        "is not plain numbers or texts",
    ),
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
    with pytest.raises(io.FileError, match=sentence) as caught:
        io.read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).count(str(path)) == 1
    assert "\n" not in str(caught.value)


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


# ---------------------------------------------------------------------------------------------- writing


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


@pytest.mark.parametrize("key", ["", "a\0b", "x" * 1000, "\ud800"])
def test_names_that_would_not_come_back_are_not_written(tmp_path, key):
    with pytest.raises(io.FileError, match="cannot be named"):
        io.write_arrays(tmp_path / "out.npz", {key: 1})
    with pytest.raises(io.FileError, match="characters that there are not"):
        io.write_arrays(tmp_path / "out.npz", {"a": "\ud800"})


def write(path, content=b"content"):
    return files.write_whole(path, lambda file: file.write(content))


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_replaced_keeps_its_mode_and_what_is_new_follows_the_umask(tmp_path, monkeypatch):
    path = tmp_path / "secret.npz"
    path.write_bytes(b"old")
    path.chmod(0o600)
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask is the whole process's"))
        write(path)
        assert mode(path) == 0o600
        assert mode(write(tmp_path / "new.npz")) == 0o640
        path.chmod(0o664)
        assert mode(write(path)) == 0o664
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert path.read_bytes() == b"content"


def test_what_replaces_a_secret_is_never_open_to_others(tmp_path):
    path, seen = tmp_path / "secret.npz", []
    path.write_bytes(b"old")
    path.chmod(0o600)

    def save(file):
        seen.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode))
        file.write(b"new")

    files.write_whole(path, save)
    assert seen == [0o600]


def test_file_and_folder_are_flushed_around_the_renaming(tmp_path, monkeypatch):
    done = []
    replace, fsync = os.replace, os.fsync
    kind = lambda handle: "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file"
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append(kind(handle)), fsync(handle)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append(os.path.getsize(a)), replace(a, b)))
    write(tmp_path / "out.npz")
    assert done == ["file", 7, "folder"]


def test_a_link_stays_and_what_it_points_to_is_written(tmp_path):
    (tmp_path / "real").mkdir()
    target, link, dangling = tmp_path / "real" / "a.npz", tmp_path / "link.npz", tmp_path / "dangling.npz"
    target.write_bytes(b"old")
    link.symlink_to(target)
    dangling.symlink_to(tmp_path / "real" / "b.npz")
    assert write(link) == link
    write(dangling)
    assert link.is_symlink()
    assert target.read_bytes() == (tmp_path / "real" / "b.npz").read_bytes() == b"content"
    loop = tmp_path / "loop.npz"
    loop.symlink_to(loop)
    with pytest.raises(io.FileError, match="leads back to itself"):
        write(loop)
    assert loop.is_symlink()


def test_only_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(io.FileError, match="pipe: is a named pipe; a file name is wanted"):
        write(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"")
    for name in ("file/out.npz", "gone/out.npz"):
        with pytest.raises(io.FileError, match=r"the folder .* does not exist"):
            write(tmp_path / name)
    with pytest.raises(io.FileError, match=r"cannot be written.*too long"):
        write(tmp_path / ("x" * 300))
    with pytest.raises(io.FileError, match="no file can have that name"):
        write(tmp_path / "a\0b")
    assert sorted(os.listdir(tmp_path)) == ["file", "pipe"]


def test_a_long_name_is_written_too(tmp_path):
    path = tmp_path / ("x" * 250 + ".npz")
    assert write(path).read_bytes() == b"content"
    assert len(os.listdir(tmp_path)) == 1


def test_a_disk_that_is_full_is_one_sentence_and_no_litter(tmp_path):
    def full(file):
        raise OSError(28, "No space left on device")

    with pytest.raises(io.FileError, match=r"out.npz: cannot be written \(No space left on device\)"):
        files.write_whole(tmp_path / "out.npz", full)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_may_not_be_written_to_is_one_sentence(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write everywhere")
    with pytest.raises(io.FileError, match=r"cannot be written .permission denied"):
        write(folder / "out.npz")


# ----------------------------------------------------------------------------------------- what was left


def killed_writer(path):
    """A process that is killed while it writes `path`; its process id."""
    code = """
import os, signal, sys
from absentia.files import _archive as files
def save(file):
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
files.write_whole(sys.argv[1], save)
"""
    process = subprocess.run([sys.executable, "-c", code, str(path)], timeout=60)
    assert process.returncode == -signal.SIGKILL


def test_what_a_killed_process_left_is_removed_by_the_next_one(tmp_path):
    path = tmp_path / "out.npz"
    killed_writer(path)
    assert [name.endswith(".part") for name in os.listdir(tmp_path)] == [True]
    write(path)
    assert os.listdir(tmp_path) == ["out.npz"]


def test_only_our_own_stale_files_of_the_same_name_are_removed(tmp_path):
    host, dead = files._host(), 2**22 + 1  # beyond the largest process id of Linux
    now, old = time.time(), time.time() - 2 * files.DAY
    stale = {
        f".out.npz.{host}-{dead}-0123abcd.part": now,
        f".out.npz.{host}-{os.getppid()}-0123abcd.part": old,
    }
    stale |= {".out.npz.00000000-77-0123abcd.part": old}
    kept = {
        f".out.npz.{host}-{os.getppid()}-0123abce.part": now,  # someone is writing
        ".out.npz.00000000-77-0123abce.part": now,  # on another machine
        f".other.npz.{host}-{dead}-0123abcd.part": old,
        ".out.npz.notes.part": old,
        "out.npz.part": old,
        f".out.npz.{host}-{dead}-0123abcd.part.bak": old,
    }
    for name, age in (stale | kept).items():
        (tmp_path / name).write_bytes(b"")
        os.utime(tmp_path / name, (age, age))
    (tmp_path / f".out.npz.{host}-{dead}-0123abcf.part").mkdir()
    write(tmp_path / "out.npz")
    assert set(os.listdir(tmp_path)) == {*kept, "out.npz", f".out.npz.{host}-{dead}-0123abcf.part"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_no_way_of_stopping_leaves_litter(tmp_path, error):
    def stop(file):
        file.write(b"half")
        raise error

    with pytest.raises(error):
        files.write_whole(tmp_path / "out.npz", stop)
    assert os.listdir(tmp_path) == []


def test_views_and_ids_of_all_kinds_come_back(tmp_path):
    for ids in (["x", "=y"], [1, 2], np.array(["2020-01-01", "2021-01-01"], "M8[D]"), [0.5, 1.5]):
        views = Views.from_dict({"a/b": np.eye(2)}, ids=ids)
        back = io.read(io.write(tmp_path / "v.npz", views))
        np.testing.assert_array_equal(back.ids, views.ids)
