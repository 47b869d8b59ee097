"""Whatever is wrong with a file is one sentence that names it."""

import errno
import os
import signal
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from absentia import KernelViews, Views, io
from absentia.core import available_memory
from absentia.files import Options, _base, file_errors, read_new
from helpers.crafted_archives import READERS, VIEW, bomb, header, zipped


def test_honest_data_that_do_not_fit_are_one_sentence(tmp_path, monkeypatch):
    """A kernel may be read and the copies made of it be too much."""
    path = tmp_path / "k.npz"
    np.savez_compressed(path, K=np.ones((1, 50, 50)))

    def too_much(*_):
        raise MemoryError

    monkeypatch.setattr(KernelViews, "from_dense", too_much)
    with pytest.raises(io.FileError, match=r"k.npz: its data and the copies .* do not fit into the memory"):
        io.read(path)


@pytest.mark.parametrize("reader", READERS)
def test_what_may_not_be_read_is_one_sentence(tmp_path, reader):
    path = zipped(tmp_path / "v.npz", view_a=VIEW)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(io.FileError, match="permission denied"):
        READERS[reader](path)


def raising(error):
    with file_errors("data.npz"):
        raise error


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ValueError("has no\n  rows"), "data.npz: has no rows"),
        (TypeError("is a list"), "data.npz: is a list"),
        (KeyError("x"), "data.npz: damaged file (KeyError: 'x')"),
        (OSError(errno.ENOENT, "No such file"), "data.npz: no such file"),
        (OSError(errno.ENOTDIR, "Not a directory"), "data.npz: no such file"),
        (OSError(errno.EIO, "Input/output error"), "data.npz: Input/output error"),
        (OSError("odd"), "data.npz: odd"),
    ],
)
def test_whatever_is_raised_becomes_one_sentence(error, sentence):
    with pytest.raises(io.FileError) as caught:
        raising(error)
    assert str(caught.value) == sentence
    assert caught.value.__cause__ is error


def test_what_has_a_name_already_and_what_the_user_made_an_error_stays():
    for error in (io.FileError("other.npz: is a folder"), UserWarning("take care"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as caught:
            raising(error)
        assert caught.value is error


def test_no_sentence_is_longer_than_anyone_reads():
    assert io.one_line("a \n b") == "a b"
    assert io.one_line("x" * 700) == "x" * 600 + " ..."


def in_little_memory(code, *arguments, megabytes=900):
    """Run `code` in a process that may take so much memory; it prints, or dies."""
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({megabytes << 20},) * 2)\n{code}"
    run = subprocess.run(
        [sys.executable, "-c", limited, *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


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
    with pytest.raises(io.FileError, match=r"would take|damaged|shape|not plain|not an array") as caught:
        io.read(path)
    assert str(caught.value).startswith(f"{path}: '")


def test_what_inflates_beyond_the_ceiling_is_refused_before_it_is_inflated(tmp_path, monkeypatch):
    path = bomb(tmp_path / "v.npz", 50)
    assert path.stat().st_size < 80_000
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "30M")
    with pytest.raises(
        io.FileError, match=r"would take 52.4 MB .*at most 31.5 MB are.*ABSENTIA_MAX_BYTES to more"
    ):
        io.read(path)
    inflated = []
    read = zipfile.ZipExtFile.read
    monkeypatch.setattr(zipfile.ZipExtFile, "read", lambda *a: inflated.append(x := read(*a)) or x)
    with pytest.raises(io.FileError, match="would take"):
        read_new(path)
    assert sum(map(len, inflated)) < 20_000  # the header and little more
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


@pytest.mark.slow
def test_the_ceiling_is_a_share_of_what_a_limited_process_may_take(tmp_path):
    path = bomb(tmp_path / "v.npz", 240)
    code = (
        "import sys; from absentia import io\ntry: io.read(sys.argv[1])\nexcept io.FileError as e: print(e)"
    )
    assert "would take" in in_little_memory(code, path)


def test_the_ceiling_is_below_what_is_free():
    assert 0 < _base._default_limit() < available_memory()


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
            (tmp_path, "is a folder|give it that ending|is a named pipe|leads|no labels"),
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
                io.read_matrix(tmp_path / name)
            with pytest.raises(io.FileError, match=r"is a (named pipe|device)"):
                io.read_labels(str(tmp_path / name), Views.from_dict({"a": np.eye(2)}), tmp_path)
    finally:
        signal.alarm(0)


def test_a_link_to_a_file_is_that_file(tmp_path):
    np.savez(tmp_path / "v.npz", view_a=np.eye(2))
    (tmp_path / "link.npz").symlink_to(tmp_path / "v.npz")
    assert len(io.read(tmp_path / "link.npz")) == 2


def test_what_a_format_has_no_use_for_is_refused_by_name():
    Options(id="x").refuse("views", why="a table")
    with pytest.raises(ValueError, match=r"id and layer cannot be given for an \.npz file"):
        Options(id="x", layer="counts").refuse("id", "layer", "views", why="an .npz file")
