"""Only regular files are opened, and nothing is waited for."""

import os
import signal

import numpy as np
import pytest

from absentia import Views, io
from absentia.files import _labels as labels
from absentia.files import _tables as tables
from archives import READERS


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
                tables.read_matrix(tmp_path / name)
            with pytest.raises(io.FileError, match=r"is a (named pipe|device)"):
                labels.read_labels(str(tmp_path / name), Views.from_dict({"a": np.eye(2)}), tmp_path)
    finally:
        signal.alarm(0)


def test_a_link_to_a_file_is_that_file(tmp_path):
    np.savez(tmp_path / "v.npz", view_a=np.eye(2))
    (tmp_path / "link.npz").symlink_to(tmp_path / "v.npz")
    assert len(io.read(tmp_path / "link.npz")) == 2
