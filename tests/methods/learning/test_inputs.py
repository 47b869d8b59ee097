"""What is learned from: kernels or features; labels and weights of samples."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from absentia import AbsenceWarning, KernelViews, LateFusion, Views
from absentia.core import estimator
from absentia.methods.learning import Classifier, subset
from helpers.smallest_classifiers import NearestMean, Widest

VIEWS = Views.from_dict({"a": np.ones((4, 2)), "b": np.ones((4, 3))})
KERNELS = KernelViews.from_dense([np.eye(4), np.eye(4)], names=["a", "b"])
TWO = [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("kind", "X", "other"),
    [(NearestMean, KERNELS, VIEWS), (Widest, VIEWS, KERNELS)],
    ids=["kernels", "views"],
)
def test_each_takes_its_own(kind, X, other):
    fitted = kind().fit(X, TWO)
    assert fitted.names_in_ == X.names
    for wrong in (other, np.eye(4), None):
        with pytest.raises(TypeError, match=f"^{type(X).__name__} are wanted, not {type(wrong).__name__}"):
            kind().fit(wrong, TWO)
        with pytest.raises(TypeError, match=f"^{type(X).__name__} are wanted, not {type(wrong).__name__}"):
            fitted.predict(wrong)
    part = subset(X, np.array([0, 2]), np.array([1, 2, 3]))
    assert part.shape == ((2, 3) if X is KERNELS else (2, 2))
    np.testing.assert_array_equal(part.ids, [0, 2])


def test_features_have_to_be_as_many_again():
    fitted = Widest().fit(VIEWS, TWO)
    assert fitted.n_features_in_ == 5
    fewer = Views.from_dict({"a": np.ones((1, 2)), "b": np.ones((1, 2))})
    with pytest.raises(ValueError, match=r"view 'b' has 2 features but had 3 in training"):
        fitted.predict(fewer)
    with pytest.raises(ValueError, match=r"views \['a'\] came, \['a', 'b'\] were there in training"):
        fitted.predict(VIEWS.select(["a"]))
    np.testing.assert_array_equal(fitted.predict(VIEWS.select(["b", "a"])), fitted.predict(VIEWS))
    assert len(fitted.predict(VIEWS[[]])) == 0
    with pytest.raises(ValueError, match="no sample to learn from"):
        Widest().fit(VIEWS[[]], [])


def test_kernels_are_square_to_learn_from():
    with pytest.raises(ValueError, match="square"):
        NearestMean().fit(KERNELS[:2], [0, 1])


def test_of_either_kind_views_may_be_left_out_and_others_are_ignored():
    frames = {"a": pd.DataFrame({"stage": list("uvuv") * 5}), "b": pd.DataFrame({"x": np.arange(20.0)})}
    X = Views.from_dict(frames)
    fitted = LateFusion(kernel="linear").fit(X, TWO * 5)
    whole, part = fitted.predict_proba(X), X.hide(np.tile([False, True], (20, 1)))
    np.testing.assert_array_equal(fitted.predict_proba(X.select(["b"])), fitted.predict_proba(part))
    np.testing.assert_array_equal(fitted.predict_proba(X.select(["b", "a"])), whole)
    more = X.rename({"a": "c"})
    with pytest.warns(
        AbsenceWarning, match=r"view\(s\) \['c'\] were not there in training and are ignored"
    ):
        np.testing.assert_array_equal(fitted.predict_proba(more), fitted.predict_proba(part))
    with pytest.raises(ValueError, match=r"views \['c'\] came, \['a', 'b'\] were there in training"):
        fitted.predict(more.select(["c"]))
    with pytest.raises(TypeError, match="Views are wanted, not KernelViews"):
        fitted.predict(KERNELS)


@estimator
class Listener(Classifier):
    """Keeps what it is told to learn."""

    class_weight: Any = None

    def _learn(self, X, y, weight):
        self.codes, self.weight = y, weight

    def _score(self, X):
        return np.zeros((len(X), 1))


with warnings.catch_warnings(action="ignore"):  # the fourth of five samples has no view
    SEEN = np.array([[1], [1], [1], [0], [1]], bool)
    X = KernelViews.from_dense([np.eye(5)], SEEN, list("pqrst"), ["a"])


@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
def test_labels_become_positions_of_their_classes():
    y, sample_weight = ["no", "yes", "no", "no", "yes"], np.array([1, 2, 1, 1, 3])
    told = Listener({"no": 2.0, "yes": 1.0}).fit(X, y, sample_weight)
    assert told.classes_.tolist() == ["no", "yes"]
    assert told.codes.tolist() == [0, 1, 0, 0, 1]
    np.testing.assert_allclose(told.decision_function(X)[3], 2 * 5 / 8 - 1)  # the prior
    np.testing.assert_allclose(told.weight, [2, 2, 2, 0, 3])
    # as often as each other: 5 / (2 * 3) and 5 / (2 * 2), whatever the samples weigh
    balanced = Listener("balanced").fit(X, y, sample_weight).weight
    np.testing.assert_allclose(balanced / sample_weight, [5 / 6, 5 / 4, 5 / 6, 0, 5 / 4])


@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
def test_a_class_of_samples_that_do_not_count_is_none():
    told = Listener().fit(X, [1, 0, 1, 0, 9], [1, 1, 1, 1, 0])
    assert told.classes_.tolist() == [0, 1]
    assert told.codes[:4].tolist() == [1, 0, 1, 0]
    np.testing.assert_array_equal(told.weight, [1, 1, 1, 0, 0])


def test_classes_must_have_a_view():
    with pytest.raises(ValueError, match=r"have the class\(es\) \[0\] of \[0, 1\]; two classes or more"):
        Listener().fit(X, [0, 0, 0, 1, 0])
    with pytest.raises(ValueError, match=r"two classes or more"):
        Listener().fit(X, [0, 0, 0, 0, 1], [1, 1, 1, 1, 0])


def test_a_sample_without_a_label_is_named():
    with pytest.raises(ValueError, match=r"1 label\(s\) are NaN or None, e.g. of 'r'"):
        Listener().fit(X, [0.0, 1.0, np.nan, 1.0, 0.0])


@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
def test_weights_are_ones_unless_given():
    y = [0, 1, 0, 1, 1]
    np.testing.assert_array_equal(Listener().fit(X, y).weight, [1, 1, 1, 0, 1])
    np.testing.assert_array_equal(Listener().fit(X, y, [0.5, 1, 2, 0, 1]).weight, [0.5, 1, 2, 0, 1])
    with pytest.raises(ValueError, match="sample_weight must be 5 non-negative numbers, not all zero"):
        Listener().fit(X, y, [0, 0, 0, 0, 0])
