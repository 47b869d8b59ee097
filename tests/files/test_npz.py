import os
import re
import time
import tracemalloc
import warnings
import zipfile
import zlib

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia import CVKT, AbsenceWarning, KernelViews, MeanFill, Views, ZeroFill, io
from absentia.core import Completed, Dense, Gram, get_factors
from absentia.data import _inputs
from absentia.files import FileError, _npz
from conftest import random_problem
from helpers.crafted_archives import refused

COMPRESSOR = zlib.compressobj


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
    (save(view_a=I2, names=[b"a"]), "'names' is .*; a list of texts is wanted"),
    (save(view_a=I2, names="a"), "'names' is .*; a list of texts is wanted"),
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
    refused(io.read, path, sentence)
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
        io.write_atomically(path, fail)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["out.npz"]


def test_objects_are_never_written_as_pickles(tmp_path):
    with pytest.raises(ValueError, match=r"pickle|Object arrays"):
        io.write_arrays(tmp_path / "out.npz", {"a": np.array([{}, 1], dtype=object)})
    assert os.listdir(tmp_path) == []


def test_the_folder_must_exist(tmp_path):
    with pytest.raises(io.FileError, match="does not exist"):
        io.write(tmp_path / "nowhere" / "out.npz", some_views())


def test_rectangular_kernels_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="square KernelViews"):
        io.write(tmp_path / "k.npz", random_problem()[[0, 1]])


def test_views_and_ids_of_all_kinds_come_back(tmp_path):
    for ids in (["x", "=y"], [1, 2], np.array(["2020-01-01", "2021-01-01"], "M8[D]"), [0.5, 1.5]):
        views = Views.from_dict({"a/b": np.eye(2)}, ids=ids)
        back = io.read(io.write(tmp_path / "v.npz", views))
        np.testing.assert_array_equal(back.ids, views.ids)


# ------------------------------------------------------------------------------------- piece by piece


def all_at_once(data):
    """The arrays of a file, every view made whole."""
    views = {"K": data.to_dense()} if isinstance(data, KernelViews) else data.to_dict()
    views = {key if key == "K" else f"view_{key}": array for key, array in views.items()}
    return views | {"mask": data.observed, "ids": data.ids, "names": np.array(data.names)}


def factors(n=30, rank=3, seed=0):
    rng = np.random.default_rng(seed)
    own = {name: np.sort(rng.permutation(n)[: n - n // 5]) for name in "abc"}
    return KernelViews.from_factors({k: (v, rng.normal(size=(len(v), rank))) for k, v in own.items()})


def sparse_views():
    X = scipy.sparse.random(20, 7, 0.4, format="csr", random_state=0)
    X.data[2] = np.nan
    return Views.from_dict({"text": X, "single": np.ones((20, 3), np.float32)})


@pytest.mark.parametrize("make", [random_problem, factors, some_views, sparse_views])
def test_files_are_to_the_byte_as_if_written_at_once(tmp_path, monkeypatch, make):
    monkeypatch.setattr(time, "localtime", lambda *_: time.struct_time((2020, 1, 1, 0, 0, 0, 0, 1, 0)))
    data = make()
    wanted = io.write_arrays(tmp_path / "once.npz", all_at_once(data)).read_bytes()
    assert io.write(tmp_path / "pieces.npz", data).read_bytes() == wanted


@pytest.mark.parametrize("make", [random_problem, some_views, sparse_views])
def test_the_size_of_pieces_changes_nothing(tmp_path, monkeypatch, make):
    monkeypatch.setattr(time, "localtime", lambda *_: time.struct_time((2020, 1, 1, 0, 0, 0, 0, 1, 0)))
    data = make()
    wanted = io.write(tmp_path / "few.npz", data).read_bytes()
    for size in (1, 700):
        monkeypatch.setattr(_npz, "_PIECE", size)
        assert io.write(tmp_path / "many.npz", data).read_bytes() == wanted


@pytest.mark.parametrize("complete", [False, True])
def test_factors_in_pieces_are_the_kernel_but_for_rounding(tmp_path, monkeypatch, complete):
    """A product of some rows may round otherwise than the whole."""
    monkeypatch.setattr(_npz, "_PIECE", 700)
    kernels = MeanFill().fit_transform(factors()) if complete else factors()
    back = io.read_arrays(io.write(tmp_path / "k.npz", kernels))["K"]
    np.testing.assert_allclose(back, kernels.to_dense(), rtol=1e-13, atol=1e-13)


def peak_while_writing(path, data):
    tracemalloc.start()
    try:
        io.write(path, data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("complete", [False, True])
def test_kernels_as_factors_are_written_without_being_made_whole(tmp_path, monkeypatch, complete):
    """Beside factors, some rows of one view at a time: a small part of the 3 x 3000 x 3000 values."""
    monkeypatch.setattr(zlib, "compressobj", lambda level, *rest: COMPRESSOR(0, *rest))  # in less time
    kernels = factors(3000)
    kernels = MeanFill().fit_transform(kernels) if complete else kernels
    assert peak_while_writing(tmp_path / "k.npz", kernels) < 40e6 < 3 * 3000**2 * 8 / 5


@pytest.mark.slow
def test_sparse_views_are_written_without_being_made_whole(tmp_path):
    X = scipy.sparse.random(2000, 5000, 0.001, format="csr", random_state=0)
    views = Views.from_dict({"a": X, "b": X})
    assert peak_while_writing(tmp_path / "v.npz", views) < 40e6 < 2 * 2000 * 5000 * 8 / 3


def test_names_of_features_and_levels_are_checked(tmp_path):
    views = np.array([[0.0, 5.0], [1.0, 6.0]])
    good = {"view_a": views, "features_a": ["sex", "age"], "levels_a": '{"sex": ["f", "m"]}'}
    np.savez(tmp_path / "v.npz", **good)
    assert io.read(tmp_path / "v.npz").levels("a") == {"sex": ("f", "m")}
    for bad, sentence in [
        ({"features_a": [1, 2]}, "a list of texts is wanted"),
        ({"features_a": ["sex"]}, "1 different names for 2 features"),
        ({"levels_a": "["}, "v.npz: "),
        ({"levels_a": "[1]"}, "must be a JSON text"),
        ({"levels_a": '{"sex": "fm"}'}, "must be a JSON text"),
        ({"levels_a": '{"age": ["f", "m"]}'}, "values do not go with its 2 levels"),
        ({"levels_a": [1]}, "must be a JSON text"),
    ]:
        np.savez(tmp_path / "v.npz", **(good | bad))
        with pytest.raises(io.FileError, match=sentence):
            io.read(tmp_path / "v.npz")


PHI = np.array([[1.0, 0.5], [0.2, 2.0], [np.nan, np.nan], [1.0, 1.0]])


def problem(n=40, seed=0, dtype=float):
    """Factors of two views, each absent for some."""
    rng = np.random.default_rng(seed)
    ids = np.array([f"s{i}" for i in range(n)])
    parts = {}
    for name, width in (("a", 3), ("b", 5)):
        has = rng.random(n) < 0.7
        has[:2] = True
        parts[name] = ids[has], rng.standard_normal((int(has.sum()), width)).astype(dtype)
    return KernelViews.from_factors(parts)


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(_inputs, "_MAX_DENSE_SAMPLES", 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_factors_round_trip_to_the_bit(tmp_path, always, dtype):
    kernels = problem(dtype=dtype)
    path = io.write(tmp_path / "k.npz", kernels, y=np.arange(len(kernels)))
    with np.load(path) as held:
        assert set(held) == {"phi_a", "phi_b", "mask", "ids", "names", "y"}
        assert held["phi_a"].shape == (len(kernels), 3)
        np.testing.assert_array_equal(np.isnan(held["phi_a"]).all(axis=1), ~kernels.observed[:, 0])
    back = io.read(path)
    np.testing.assert_array_equal(back.ids, kernels.ids)
    np.testing.assert_array_equal(back.observed, kernels.observed)
    for name in kernels.names:
        assert isinstance(back.operator(name), Gram)
        assert back.operator(name).dtype == dtype
        np.testing.assert_array_equal(back.operator(name).left, kernels.operator(name).left)


@pytest.mark.parametrize("filler", [MeanFill(), ZeroFill(), CVKT(rounds=1)])
def test_completed_kernels_come_back_as_they_were_and_thin(tmp_path, always, filler):
    whole = filler.fit_transform(problem())
    path = io.write(tmp_path / "k.npz", whole)
    back = io.read(path)
    np.testing.assert_allclose(back.to_dense(), whole.to_dense(), atol=1e-12)
    with np.load(path) as held:
        assert ("own_a" in held) == (get_factors(whole.operator("a")).own > 0).any()
    assert isinstance(back.operator("a"), Completed if isinstance(filler, CVKT) else Gram)
    again = io.read(io.write(tmp_path / "again.npz", back))
    np.testing.assert_allclose(again.to_dense(), whole.to_dense(), atol=1e-12)
    assert back.indefinite("a") is None


def test_few_samples_and_kernels_without_factors_are_written_whole(tmp_path, monkeypatch):
    kernels = problem()
    with np.load(io.write(tmp_path / "k.npz", kernels)) as held:
        assert "K" in held
    monkeypatch.setattr(_inputs, "_MAX_DENSE_SAMPLES", 3)
    dense = KernelViews.within(kernels, {n: Dense(kernels.block(n)) for n in kernels.names})
    with np.load(io.write(tmp_path / "d.npz", dense)) as held:
        assert "K" in held


def test_views_without_a_direction_are_written_too(tmp_path, always):
    kernels = problem()
    empty = {
        name: Gram(np.zeros((int(seen.sum()), 0)))
        for name, seen in zip("ab", kernels.observed.T, strict=True)
    }
    back = io.read(io.write(tmp_path / "k.npz", KernelViews.within(kernels, empty)))
    assert not back.block("a").any()


def test_writing_many_samples_takes_few_of_them_at_a_time(tmp_path, monkeypatch):
    Phi = np.random.default_rng(0).standard_normal((40_000, 40))
    kernels = KernelViews.from_factors({"a": (np.arange(len(Phi)), Phi)}, copy=False)
    tracemalloc.start()
    path = io.write(tmp_path / "k.npz", kernels)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > Phi.nbytes
    assert most < 2 * Phi.nbytes + (32 << 20)


def test_own_alone_and_names_and_mask_say_what_they_say_elsewhere(tmp_path):
    np.savez(
        tmp_path / "k.npz",
        phi_x=PHI,
        own_x=[0.0, 0.5, np.nan, 0.0],
        phi_y=np.arange(8).reshape(4, 2),
        ids=list("abcd"),
        names=["y", "x"],
        mask=[[1, 1], [0, 1], [1, 0], [1, 0]],
    )
    kernels = io.read(tmp_path / "k.npz")
    assert kernels.names == ("y", "x")
    np.testing.assert_array_equal(kernels.observed, [[1, 1], [0, 1], [1, 0], [1, 0]])
    K = PHI[:2] @ PHI[:2].T
    K[1, 1] += 0.5
    np.testing.assert_allclose(kernels.block("x"), K)
    assert kernels.operator("y").dtype == float


WRONG = {
    "without": {"own_x": np.zeros(4)},
    "view 'x' has shape (4,); wanted two dimensions": {"phi_x": np.ones(4)},
    "with at least one feature": {"phi_x": np.ones((4, 0))},
    "view 'y' has 3 rows but view 'x' has 4": {"phi_x": PHI, "phi_y": np.ones((3, 2))},
    "sample 0: factors are numbers": {"phi_x": np.array([[1.0, np.nan], [1.0, 2.0]])},
    "sample 1, column 0: infinite": {"phi_x": np.array([[1.0], [np.inf]])},
    "0 or more": {"phi_x": PHI, "own_x": [0, -1, 0, 0]},
    "sample 1: factors are numbers, and what is added to the diagonal a finite number": {
        "phi_x": PHI,
        "own_x": [0, np.inf, 0, 0],
    },
    "of shape (3,); one number for each of the 4 samples": {"phi_x": PHI, "own_x": [0.0, 0, 0]},
    "of shape (4, 1); one number for each": {"phi_x": PHI, "own_x": np.zeros((4, 1))},
    "both 'K' and": {"phi_x": PHI, "K": np.ones((1, 4, 4))},
    "both 'phi_...' keys and": {"phi_x": PHI, "view_x": np.ones((4, 1))},
    "complex128": {"phi_x": PHI.astype(complex)},
    "'names' lists": {"phi_x": PHI, "names": ["y"]},
    "ids": {"phi_x": PHI, "ids": ["a", "b", "c"]},
    "appear": {"phi_x": PHI, "ids": ["a", "a", "b", "c"]},
    "<U1": {"phi_x": np.array([["a"], ["b"]])},
}


@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_with_a_strangers_file_is_one_sentence(tmp_path, words):
    arrays = dict(WRONG[words])
    if "phi_x" not in arrays:
        arrays["phi_y"] = PHI
    np.savez(tmp_path / "k.npz", **arrays)
    with pytest.raises(FileError, match=re.escape(words)):
        io.read(tmp_path / "k.npz")


arrays = st.sampled_from(
    [
        PHI,
        PHI[:2],
        PHI.astype(np.float32),
        np.ones(4),
        np.zeros(4),
        -np.ones(4),
        np.array("x"),
        np.ones((4, 2), int),
        np.ones((4, 2), bool),
        np.ones((2, 4, 4)),
        np.full((4, 2), np.nan),
        np.array(["a", "b", "c", "d"]),
        np.zeros((0, 2)),
        np.full((4, 1), 1e200),
    ]
)
keys = st.sampled_from(
    ["phi_x", "own_x", "phi_y", "own_y", "phi_", "own_", "mask", "ids", "names", "K", "view_x"]
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(keys, arrays, max_size=5))
def test_any_arrays_are_kernels_or_a_sentence(tmp_path_factory, held):
    path = tmp_path_factory.mktemp("any") / "k.npz"
    np.savez(path, **held)
    try:
        found = io.read(path)
    except FileError:
        return
    except UserWarning:
        return
    if isinstance(found, KernelViews):
        assert all(
            found.operator(name).shape[0] == found.observed[:, v].sum()
            for v, name in enumerate(found.names)
        )
