"""States of models as files: what comes back is what went in, and what was damaged or changed is refused."""

import importlib.util
import json
import os
import pickle
import zipfile
from contextlib import suppress
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import absentia
from absentia import io, models
from absentia.core import Serialized
from absentia.files import read_state, write_state
from absentia.files._outputs import _checksum
from helpers.crafted_archives import described, refused

_spec = importlib.util.spec_from_file_location("make_archives", Path(__file__).parent / "make_archives.py")
make_archives = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(make_archives)

TREE = {"weights": {"is": "array", "number": "0"}, "name": "a"}
ARRAYS = {"0": np.arange(6.0).reshape(2, 3), "1": np.array(["x", "yz"]), "2": np.zeros((0, 2))}


@pytest.fixture
def arrays(tmp_path):
    """A model's file as arrays."""
    return io.read_arrays(
        write_state(tmp_path / "whole.npz", Serialized(TREE, ARRAYS), {"method": "a test"})
    )


def save(path, arrays):
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    return path


def test_a_state_comes_back_with_what_is_said_about_it(tmp_path):
    state, said = read_state(
        write_state(tmp_path / "m.npz", Serialized(TREE, ARRAYS), {"method": "a test"})
    )
    assert state.tree == TREE
    assert said["about"] == {"method": "a test"}
    assert said["version"] == 2
    assert said.keys() == {"format", "version", "made", "about"}
    assert state.arrays.keys() == ARRAYS.keys()
    for key, array in ARRAYS.items():
        np.testing.assert_array_equal(state.arrays[key], array)


def test_a_file_says_with_what_it_was_made_and_holds_no_pickle(arrays):
    found = json.loads(str(arrays["model"]))
    assert found["format"] == "absentia model"
    assert found["made"]["numpy"] == np.__version__
    assert found["made"]["absentia"] == absentia.__version__
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
    assert read_state(save(tmp_path / "m.npz", arrays | described()(arrays)))[0].tree == TREE


def test_what_json_cannot_hold_is_not_said_about_a_model(tmp_path):
    for about in ({"x": object()}, {"x": np.nan}, {"x": {1, 2}}):
        with pytest.raises(TypeError, match="about holds what JSON cannot"):
            write_state(tmp_path / "m.npz", Serialized(TREE, ARRAYS), about)
    assert list(tmp_path.iterdir()) == []
    _, said = read_state(write_state(tmp_path / "m.npz", Serialized(TREE, ARRAYS), {1: (2, None)}))
    assert said["about"] == {"1": [2, None]}


# ------------------------------------------------------------------------------------- damage and strangers


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file as bytes, and a place to write changes of it to."""
    path = tmp_path_factory.mktemp("states") / "m.npz"
    return write_state(path, Serialized(TREE, ARRAYS), {"method": "a test"}).read_bytes(), path


@settings(max_examples=150, deadline=None)
@given(place=st.integers(0, 10**9), flip=st.integers(1, 255))
def test_any_changed_byte_is_refused_or_changes_nothing(whole, place, flip):
    content, path = whole
    changed = bytearray(content)
    changed[place % len(changed)] ^= flip
    path.write_bytes(bytes(changed))
    with suppress(io.FileError):
        state, said = read_state(path)
        assert (state.tree, said["about"]) == (TREE, {"method": "a test"})
        for key, array in ARRAYS.items():
            np.testing.assert_array_equal(state.arrays[key], array)


@settings(max_examples=50, deadline=None)
@given(length=st.integers(0, 10**9))
def test_any_part_of_a_file_is_refused(whole, length):
    content, path = whole
    path.write_bytes(content[: length % len(content)])
    with pytest.raises(io.FileError):
        read_state(path)


@settings(max_examples=50, deadline=None)
@given(content=st.binary(max_size=300))
def test_random_bytes_are_refused(whole, content):
    whole[1].write_bytes(content)
    with pytest.raises(io.FileError):
        read_state(whole[1])


class Bomb:
    """What runs as soon as it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("bomb-went-off",)


@pytest.mark.parametrize("read", [read_state, models.load, models.describe])
def test_pickles_are_named_and_never_opened(tmp_path, monkeypatch, read):
    monkeypatch.chdir(tmp_path)
    plain, joblibs, small = tmp_path / "m.pkl", tmp_path / "m.joblib", tmp_path / "m.z"
    plain.write_bytes(pickle.dumps(Bomb()))
    joblib.dump(Bomb(), joblibs)
    joblib.dump([Bomb(), np.zeros(9)], small, compress=3)
    for path in (plain, joblibs, small):
        refused(read, path, "is a pickle or compressed data.*save the model with absentia.save")
    np.savez(tmp_path / "m.npz", model=np.array(Bomb(), dtype=object))
    refused(read, tmp_path / "m.npz", "pickled Python objects")
    assert not (tmp_path / "bomb-went-off").exists()


def test_other_archives_are_named(tmp_path):
    path = tmp_path / "m.zip"
    with zipfile.ZipFile(path, "w") as other:
        other.writestr("readme.txt", "hello")
    refused(
        read_state,
        path,
        r"holds no model but \['readme.txt'\]; make one with absentia fit or absentia.save",
    )


# ------------------------------------------------------------------------- files that earlier versions wrote


@pytest.mark.filterwarnings("ignore:.*was written with scikit-learn")
@pytest.mark.parametrize("name", sorted(path.name for path in make_archives.HERE.iterdir()))
def test_files_of_every_format_load_and_answer_as_they_did(name):
    path = make_archives.HERE / name
    about = models.describe(path)["about"]
    found = make_archives.answers(absentia.load(path), about["given"])
    np.testing.assert_allclose(found, make_archives.arrays(about["answers"]), rtol=1e-9, atol=1e-12)


def test_there_are_files_of_the_present_format(arrays):
    version = json.loads(str(arrays["model"]))["version"]
    kinds = {path.name for path in make_archives.HERE.iterdir()}
    assert {f"v{version}_{kind}.npz" for kind in ("classifier", "machine", "completer", "imputer")} <= kinds
