"""States of models as files: what comes back is what went in, and what was damaged or changed is refused."""

import json

import numpy as np
import pytest

from absentia import io, models
from absentia.core import Packed
from absentia.files._states import _checksum, read_state, write_state
from archives import described, refused

TREE = {"weights": {"is": "array", "number": "0"}, "name": "a"}
ARRAYS = {"0": np.arange(6.0).reshape(2, 3), "1": np.array(["x", "yz"]), "2": np.zeros((0, 2))}


@pytest.fixture
def arrays(tmp_path):
    """A model's file as arrays."""
    return io.read_arrays(write_state(tmp_path / "whole.npz", Packed(TREE, ARRAYS), {"method": "a test"}))


def save(path, arrays):
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    return path


def test_a_state_comes_back_with_what_is_said_about_it(tmp_path):
    state, about = read_state(write_state(tmp_path / "m.npz", Packed(TREE, ARRAYS), {"method": "a test"}))
    assert state.tree == TREE
    assert about == {"method": "a test"}
    assert state.arrays.keys() == ARRAYS.keys()
    for key, array in ARRAYS.items():
        np.testing.assert_array_equal(state.arrays[key], array)


def test_a_file_says_with_what_it_was_made_and_holds_no_pickle(arrays):
    found = json.loads(str(arrays["model"]))
    assert found["format"] == "absentia model"
    assert found["made"]["numpy"] == np.__version__
    assert all(array.dtype != object for array in arrays.values())


def test_the_checksum_is_of_bytes_types_shapes_names_and_words():
    wanted = _checksum({"a": 1}, ARRAYS)
    assert _checksum({"a": 1, "checksum": "any"}, dict(reversed(ARRAYS.items()))) == wanted
    turned = np.asfortranarray(ARRAYS["0"])  # the same values, in another order of memory
    assert _checksum({"a": 1}, ARRAYS | {"0": turned}) == wanted
    changes = [
        ARRAYS | {"0": ARRAYS["0"] + 1},
        ARRAYS | {"0": ARRAYS["0"].reshape(3, 2)},
        ARRAYS | {"0": ARRAYS["0"].view(np.int64)},
        ARRAYS | {"3": np.zeros(0)},
    ]
    assert len({wanted, _checksum({"a": 2}, ARRAYS), *(_checksum({"a": 1}, one) for one in changes)}) == 6


def test_dates_and_empty_texts_have_a_checksum_too():
    one = {"0": np.array(["2020-01-01"], "M8[D]"), "1": np.array(["", ""]), "2": np.array("text")}
    assert _checksum({}, one) != _checksum({}, one | {"0": np.array(["2020-01-02"], "M8[D]")})


BAD = [
    (described("{"), "not a valid model"),
    (described("[" * 10_000), "not a valid model"),
    (described("3"), "not that of an absentia model"),
    (described(format="a poem"), "not that of an absentia model"),
    (described(version=3), "its version is 3; up to 2 can be read here: update absentia"),
    (described(version="new"), "its version is 'new'"),
    (described(version=1), "fit it again"),
    (described(tree=None), "not complete"),
    (described(about=[1]), "not complete"),
    (lambda arrays: {"0": arrays["0"] + 1}, "its checksum is another"),
    (lambda arrays: {"1": None}, "its checksum is another"),
    (lambda arrays: {"more": np.zeros(1)}, "its checksum is another"),
    (lambda arrays: {"model": None}, "holds no model"),
    (lambda arrays: {"model": np.zeros(3)}, "not one text"),
    (lambda arrays: {"model": np.array([str(arrays["model"])])}, "not one text"),
]


@pytest.mark.parametrize("read", [read_state, models.load])
@pytest.mark.parametrize(("change", "sentence"), BAD)
def test_bad_states_are_named_with_one_sentence(tmp_path, arrays, read, change, sentence):
    refused(read, save(tmp_path / "m.npz", arrays | change(arrays)), sentence)


def test_the_state_that_those_are_changes_of_is_fine(tmp_path, arrays):
    assert read_state(save(tmp_path / "m.npz", arrays))[0].tree == TREE
