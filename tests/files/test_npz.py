import os
import warnings
import zipfile

import numpy as np
import pytest

from absentia import AbsenceWarning, KernelViews, Views, io
from conftest import random_problem


def some_views():
    return Views.from_dict(
        {"b": [[1.0, 2.0], [np.nan, 3.0], [np.nan, np.nan]], "a": [[1.0], [2.0], [3.0]]},
        ids=["x", "y", "z"],
    )


def test_views_round_trip(tmp_path):
    views = some_views()
    back = io.read(io.write(tmp_path / "v.npz", views))
    assert isinstance(back, Views)
    assert back.names == ("b", "a")
    np.testing.assert_array_equal(back.ids, views.ids)
    np.testing.assert_array_equal(back.observed, views.observed)
    for name in views.names:
        np.testing.assert_array_equal(back.block(name), views.block(name))


def test_kernels_round_trip_with_extras(tmp_path):
    kv = random_problem()
    path = io.write(tmp_path / "k.npz", kv, y=np.arange(40))
    back = io.read(path)
    assert isinstance(back, KernelViews)
    np.testing.assert_array_equal(back.to_dense(), kv.to_dense())
    np.testing.assert_array_equal(np.load(path)["y"], np.arange(40))


def test_a_file_without_mask_ids_or_names_is_enough(tmp_path):
    np.savez(tmp_path / "v.npz", view_mri=np.ones((3, 2)), view_csf=[[1.0], [np.nan], [2.0]], y=[0, 1, 0])
    views = io.read(tmp_path / "v.npz")
    assert views.names == ("mri", "csf")
    np.testing.assert_array_equal(views.observed[:, 1], [True, False, True])


def test_names_give_the_order_of_the_masks_columns(tmp_path):
    mask = np.array([[True, True], [True, False]])
    np.savez(
        tmp_path / "v.npz", view_a=np.ones((2, 1)), view_b=np.ones((2, 1)), mask=mask, names=["b", "a"]
    )
    views = io.read(tmp_path / "v.npz")
    assert views.names == ("b", "a")
    np.testing.assert_array_equal(views.observed, mask)


def test_ids_that_are_neither_text_nor_numbers_are_written_as_text(tmp_path):
    ids = np.array([1, "a"], dtype=object)
    path = io.write(tmp_path / "v.npz", Views.from_dict({"a": np.ones((2, 1))}, ids=ids))
    np.testing.assert_array_equal(io.read(path).ids, ["1", "a"])


# ------------------------------------------------------------------------------------ files from strangers


class Bomb:
    def __reduce__(self):
        return (os.mkdir, ("bomb-went-off",))


def save(**arrays):
    return lambda path: np.savez(path, **arrays)


def truncated(path):
    np.savez(path, K=np.eye(50)[None])
    path.write_bytes(path.read_bytes()[:-300])


def not_an_array(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("K.npy", b"this is no array")


def raw_member(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("K", b"hello")


I2 = np.eye(2)
ASYMMETRIC = np.array([[[1.0, 0.5], [0.1, 1.0]]])

FILES = [
    (lambda path: path.write_bytes(b""), "the file is empty"),
    (lambda path: path.write_text("a,b\n1,2\n"), "not an .npz file"),
    (lambda path: path.mkdir(), "is a folder"),
    (lambda path: None, "no such file"),
    (truncated, "not an .npz file|damaged"),
    (not_an_array, "'K' .*"),
    (raw_member, "'K' is not an array"),
    (save(), "neither 'K' nor 'view_<name>' but nothing"),
    (save(X=I2), r"neither 'K' nor 'view_<name>' but \['X'\]"),
    (save(K=I2[None], view_a=I2), "holds both"),
    (save(K=I2), r"'K' has shape \(2, 2\)"),
    (save(K=np.ones((1, 2, 3))), r"\(2, 3\), wanted \(2, 2\)"),
    (save(K=ASYMMETRIC), "'view0': kernel is not symmetric"),
    (save(K=np.array([[[1.0, np.nan], [np.nan, 1.0]]])), "'view0'.*is nan"),
    (save(K=I2[None], ids=["p", "p"]), "'p'"),
    (save(K=I2[None], mask=np.ones((1, 2))), "observed has shape"),
    (save(K=I2[None], names=["a", "b"]), "2 names for 1"),
    (save(view_a=I2, view_b=np.eye(3)), "view 'b' has 3 rows"),
    (save(view_a=I2, names=[b"a"]), "'names' must be a list of texts"),
    (save(view_a=I2, names="a"), "'names' must be a list of texts"),
    (save(view_a=np.zeros((0, 2))), "no sample"),
    (save(view_a=I2, names=["b"]), r"'names' lists \['b'\]"),
    (save(view_a=np.array(["red", "blue"])), "view 'a'"),
    (save(view_a=np.array([{"a": 1}, 2], dtype=object)), "'view_a' holds pickled Python objects"),
    (save(K=np.array([Bomb()], dtype=object)), "'K' holds pickled Python objects"),
]


@pytest.mark.parametrize(("make", "sentence"), FILES, ids=[s[:28] for _, s in FILES])
def test_bad_files_are_named_with_one_sentence(tmp_path, monkeypatch, make, sentence):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data.npz"
    make(path)
    with pytest.raises(io.FileError, match=sentence) as caught:
        io.read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).count(str(path)) == 1
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "bomb-went-off").exists()


def test_damage_anywhere_in_a_file_is_a_file_error(tmp_path):
    """A few bytes flipped: zip, zlib and header errors of all kinds, or arrays that are not what they say."""
    whole = io.write(tmp_path / "whole.npz", random_problem(12, 2)).read_bytes()
    rng = np.random.default_rng(0)
    path, refused = tmp_path / "data.npz", 0
    for _ in range(150):
        damaged = bytearray(whole)
        for position in rng.integers(0, len(whole), 3):
            damaged[position] = rng.integers(0, 256)
        path.write_bytes(bytes(damaged))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                io.read(path)
        except io.FileError:
            refused += 1
    assert refused > 75


def test_other_keys_are_left_alone_even_pickled_ones(tmp_path):
    np.savez(tmp_path / "k.npz", K=I2[None], y=np.array([Bomb()], dtype=object))
    assert io.read(tmp_path / "k.npz").shape == (2, 2)


@pytest.mark.parametrize("name", ["names", "", "a\0b"])
def test_names_that_could_not_be_read_back_are_not_written(tmp_path, name):
    with pytest.raises(ValueError, match="cannot be written"):
        io.write(tmp_path / "v.npz", Views.from_dict({name: np.ones((2, 1))}))
    with pytest.raises(ValueError, match="more than once"):
        io.write(tmp_path / "v.npz", Views.from_dict({"a": np.ones((2, 1))})[[0, 0]])


def test_absence_is_warned_of_when_reading(tmp_path):
    np.savez(tmp_path / "k.npz", K=np.ones((2, 2, 2)), mask=[[1, 0], [1, 0]])
    with pytest.warns(AbsenceWarning, match="'view1' is observed for no sample"):
        io.read(tmp_path / "k.npz")


# ------------------------------------------------------------------------------------ whole or not at all


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "out.npz"
    io.write(path, some_views())
    before = path.read_bytes()

    def fail(file):
        file.write(b"half")
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        io.write_whole(path, fail)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["out.npz"]


def test_objects_are_never_written_as_pickles(tmp_path):
    with pytest.raises(ValueError, match=r"pickle|Object arrays"):
        io.write_arrays(tmp_path / "out.npz", {"a": np.array([{}, 1], dtype=object)})
    assert os.listdir(tmp_path) == []


def test_the_folder_must_exist(tmp_path):
    with pytest.raises(io.FileError, match="does not exist"):
        io.write(tmp_path / "nowhere" / "out.npz", some_views())
    with pytest.raises(io.FileError, match="is a folder"):
        io.write(tmp_path, some_views())


def test_rectangular_kernels_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="square KernelViews"):
        io.write(tmp_path / "k.npz", random_problem()[[0, 1]])
