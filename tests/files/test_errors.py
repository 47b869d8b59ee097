"""Whatever is wrong with a file is one sentence that names it."""

import errno
import os

import numpy as np
import pytest

from absentia import KernelViews, io
from absentia.files._errors import reading
from archives import READERS, VIEW, zipped


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
    with reading("data.npz"):
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
