"""Archives that end in their own checksum: right for any way of writing, and blind to nothing."""

import hashlib
import io
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from absentia.files import read_arrays, write_arrays
from absentia.files._seal import COMMENT, DIGITS, Sealing, seal_of


@given(st.lists(st.binary(max_size=150), max_size=8))
def test_all_but_the_last_digits_is_passed_on_however_it_is_written(pieces):
    file = io.BytesIO()
    sealing = Sealing(file)
    for piece in [*pieces, COMMENT]:
        assert sealing.write(piece) == len(piece)
    sealing.seal()
    before = b"".join(pieces) + COMMENT[:-DIGITS]
    assert file.getvalue() == before + hashlib.sha256(before).hexdigest().encode()
    assert seal_of(file) is True


@pytest.mark.parametrize("place", [0, 10, -1, -DIGITS, -DIGITS - 1])
def test_a_changed_byte_breaks_the_seal(tmp_path, place):
    path = write_arrays(tmp_path / "a.npz", {"x": np.arange(5)}, sealed=True)
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    assert not seal_of(io.BytesIO(content))


def test_a_sealed_archive_is_an_archive_like_any_other(tmp_path):
    arrays = {"x": np.arange(5.0), "long": np.zeros(300_000), "name": np.array("text")}
    path = write_arrays(tmp_path / "a.npz", arrays, sealed=True)
    with path.open("rb") as file:
        assert seal_of(file) is True
    assert zipfile.ZipFile(path).testzip() is None
    for read in (read_arrays(path), np.load(path)):
        assert sorted(read) == sorted(arrays)
        np.testing.assert_array_equal(read["x"], arrays["x"])


def test_what_has_no_seal_is_said_to_have_none(tmp_path):
    with write_arrays(tmp_path / "a.npz", {"x": np.arange(5)}).open("rb") as file:
        assert seal_of(file) is None
    assert seal_of(io.BytesIO(b"")) is None
