"""Files of strangers do not exhaust memory."""

import subprocess
import sys
import zipfile

import numpy as np
import pytest

from absentia import io
from absentia.core import available_memory
from absentia.files import _memory
from absentia.files._rows import read_new
from archives import VIEW, bomb, header, zipped


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
    with pytest.raises(io.FileError, match=r"would take|damaged|shape|not plain") as caught:
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
    assert sum(map(len, inflated)) < 10_000  # the header and little more
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


def test_the_ceiling_is_a_share_of_what_a_limited_process_may_take(tmp_path):
    path = bomb(tmp_path / "v.npz", 240)
    code = (
        "import sys; from absentia import io\ntry: io.read(sys.argv[1])\nexcept io.FileError as e: print(e)"
    )
    assert "would take" in in_little_memory(code, path)


def test_the_ceiling_is_below_what_is_free():
    assert 0 < _memory.ceiling() < available_memory()
