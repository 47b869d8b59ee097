"""What an array says of itself is read without evaluating it, and refused where it cannot be."""

import io as memory

import numpy as np
import pytest

from absentia.files._headers import read_header
from archives import header, raw


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
def test_what_numpy_writes_is_understood(array):
    content = raw(array)
    found = read_header(memory.BytesIO(content))
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert found.elements == array.size
    assert found.fortran == (array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous)
    assert content[found.length :] == array.tobytes("A")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_version_is_read(version):
    found = read_header(memory.BytesIO(header("<f8", "(2L, 3)", True, version)))
    assert found[:3] == (np.dtype("<f8"), (2, 3), True)


def test_the_memory_that_is_needed_counts_what_holds_nothing_too():
    need = lambda kind, shape: read_header(memory.BytesIO(header(kind, shape))).need
    assert need("<f8", "(3, 4)") == 96
    assert need("|b1", "(3, 4)") == 96
    assert need("<f8", "(1000, 0)") == 8000
    assert need("<U0", "(1000,)") == 64_000
    assert need("<U100", "(2,)") == 800


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "does not begin"),
        (b"\x93NUMPY\4\0" + bytes(20), "does not begin"),
        (b"\x93NUMPY\1\0\x05\0[1]\n ", "does not begin"),
        (header("<f8", "(2, 3)")[:-20], "ends inside its header"),
        (header("<f8", "(" + "2, " * 9000 + ")"), "header of .* bytes, more than 10000"),
        (header("|O", "(2,)"), "pickled Python objects"),
        (header("<f8", "__import__('os')"), "not plain numbers"),
        (header("<f8", "(2,), 'more': print"), "not plain numbers"),
        (header("V8", "(2,)"), "not plain numbers"),
        (header("<f8", "(2,)", "None"), "not plain numbers"),
        (header("<f9", "(2,)"), "a type that there is not"),
        (header("<f8", "(" + "2, " * 33 + ")"), "which is none"),
        (header("<f8", f"({1 << 63},)"), "which is none"),
        (header("<f8", "True"), "which is none"),
        (header("<f8", "(2 3)"), "which is none"),
        (header("<f8", "(L)"), "which is none"),
        (header("<f8", "(" + "9" * 5000 + ")"), "which is none"),
    ],
)
def test_what_is_no_header_is_refused(content, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_header(memory.BytesIO(content))
