"""Kernels of new samples against training samples: out of a file, and in the training samples' order."""

import numpy as np
import pytest

from absentia import AbsentMKLClassifier, KernelViews, Views, io, models
from absentia.files import read_new
from conftest import random_problem
from helpers.crafted_archives import refused, write_rows

NEW, OLD = np.arange(40, 50), np.arange(40)


@pytest.fixture
def kernels():
    return random_problem(50, 3)


def fit(kernels, samples=OLD):
    """A model of the kernels of training samples, whose classes do not matter here."""
    return models.Model(
        AbsentMKLClassifier(constraint="mean").fit(
            kernels[np.ix_(samples, samples)], np.arange(len(samples)) % 2
        )
    )


def test_rows_come_back_with_who_has_which_view(kernels, tmp_path):
    back = read_new(write_rows(tmp_path / "r.npz", kernels, NEW, OLD))
    wanted = kernels[np.ix_(NEW, OLD)]
    assert not back.square
    np.testing.assert_array_equal(back.to_dense(), wanted.to_dense())
    np.testing.assert_array_equal(back.observed, wanted.observed)
    np.testing.assert_array_equal(back.column_ids, wanted.column_ids)


def test_features_and_square_kernels_are_read_as_ever(kernels, tmp_path):
    square = read_new(io.write(tmp_path / "k.npz", kernels))
    assert isinstance(square, KernelViews)
    assert square.square
    views = Views.from_dict({"a": np.eye(3)})
    assert read_new(io.write(tmp_path / "v.npz", views)).names == ("a",)


def test_columns_are_found_by_id_and_views_by_name(kernels):
    shuffled = np.random.default_rng(0).permutation(50)
    part = kernels[np.ix_(NEW, shuffled)].select(["view2", "view0"])
    found = fit(kernels).rows(part)
    wanted = kernels[np.ix_(NEW, OLD)].to_dense()
    assert found.names == kernels.names
    np.testing.assert_array_equal(found.column_ids, kernels.ids[OLD])
    np.testing.assert_array_equal(found.to_dense()[[0, 2]], wanted[[0, 2]])
    assert np.isnan(found.to_dense()[1]).all()
    assert not found.observed[:, 1].any()


@pytest.mark.filterwarnings("ignore:.*take no part in training")
def test_what_training_had_must_be_there(kernels):
    with pytest.raises(ValueError, match=r"5 of the 40 training samples .*, e.g. 0, are not among the col"):
        fit(kernels).rows(kernels[np.ix_(NEW, np.arange(5, 50))])
    with pytest.raises(ValueError, match=r"view 'view2' was not there in training: \['view0', 'view1'\]"):
        fit(kernels.select(["view0", "view1"])).rows(kernels)
    keep = np.ones((50, 3), bool)
    lost = int(np.argmax(kernels.observed[:, 1]))
    keep[lost, 1] = False
    with pytest.raises(ValueError, match=f"view 'view1': .* no values against training sample {lost},"):
        fit(kernels).rows(kernels.hide(keep)[np.ix_(NEW, OLD)])


BAD_ROWS = [
    ({"column_ids": None}, "10 rows and 40 columns; say with 'column_ids'"),
    ({"K": np.ones((2, 3))}, r"'K' is float64 of shape \(2, 3\)"),
    ({"K": np.array([[["a"]]])}, "'K' is <U1"),
    ({"ids": ["a"]}, "1 ids for 10 samples"),
    ({"column_ids": ["a"]}, "column_ids: 1 ids for 40"),
    ({"names": ["a"]}, "1 names for 3 kernels"),
    ({"mask": np.ones((3, 10))}, "it looks transposed"),
    ({"mask": np.ones((10, 3))}, "the kernel is NaN or infinite against"),
    ({"K": None}, "'K' is"),
]


@pytest.mark.parametrize(("changes", "sentence"), BAD_ROWS, ids=[s[:20] for _, s in BAD_ROWS])
def test_bad_rows_are_named_with_one_sentence(tmp_path, kernels, changes, sentence):
    path = tmp_path / "r.npz"
    write_rows(path, kernels, NEW, OLD, **changes)
    refused(read_new, path, sentence)


def test_new_samples_come_in_any_file(tmp_path):
    (tmp_path / "a.csv").write_text("key,x\np,1\nq,2\n")
    for path in (tmp_path, tmp_path / "a.csv"):
        new = read_new(path, id="key")
        assert (new.names, new.ids.tolist()) == (("a",), ["p", "q"])
    io.write(tmp_path / "v.npz", new)
    assert read_new(tmp_path / "v.npz").features("a").tolist() == ["x"]
    with pytest.raises(io.FileError, match="id cannot be given"):
        read_new(tmp_path / "v.npz", id="key")
