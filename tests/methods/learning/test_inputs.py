"""What is learned from: kernels or features; labels and weights of samples."""

from types import SimpleNamespace

import numpy as np
import pytest

from absentia import AbsenceWarning, KernelViews, Views
from absentia.data import Presence
from absentia.methods.learning import Either, subset
from absentia.methods.learning._inputs import INPUTS, _check_sample_weight, check_labels, one_vs_rest_signs

VIEWS = Views.from_dict({"a": np.ones((4, 2)), "b": np.ones((4, 3))})
KERNELS = KernelViews.from_dense([np.eye(4), np.eye(4)], names=["a", "b"])


def known(of, X):
    learner = SimpleNamespace(names_in_=X.names, ids_=X.ids, _widths=INPUTS[of].widths(X))
    learner.coded = INPUTS[of].encode(X, learner)
    return learner


@pytest.mark.parametrize(("of", "X", "other"), [("kernels", KERNELS, VIEWS), ("views", VIEWS, KERNELS)])
def test_each_takes_its_own(of, X, other):
    takes = INPUTS[of]
    assert takes.pairwise == (of == "kernels")
    assert takes.check(X, None) is X
    assert takes.check_rows(X, known(of, X)).names == X.names
    for wrong in (other, np.eye(4), None):
        for check in (takes.check, takes.check_rows):
            with pytest.raises(
                TypeError, match=f"^{type(X).__name__} are wanted, not {type(wrong).__name__}"
            ):
                check(wrong, known(of, X))
    rows, columns = np.array([0, 2]), np.array([1, 2, 3])
    part = subset(X, rows, columns)
    assert part.shape == ((2, 3) if of == "kernels" else (2, 2))
    np.testing.assert_array_equal(part.ids, [0, 2])


def test_features_have_to_be_as_many_again():
    learner = known("views", VIEWS)
    assert learner._widths == (2, 3)
    fewer = Views.from_dict({"a": np.ones((1, 2)), "b": np.ones((1, 2))})
    with pytest.raises(ValueError, match=r"view 'b' has 2 features but had 3 in training"):
        INPUTS["views"].check_rows(fewer, learner)
    with pytest.raises(ValueError, match=r"views \['a'\] came, \['a', 'b'\] were there in training"):
        INPUTS["views"].check_rows(VIEWS.select(["a"]), learner)
    assert INPUTS["views"].check_rows(VIEWS.select(["b", "a"]), learner).names == ("a", "b")
    assert len(INPUTS["views"].check_rows(VIEWS[[]], learner)) == 0
    with pytest.raises(ValueError, match="no sample to learn from"):
        INPUTS["views"].check(VIEWS[[]], learner)


def test_kernels_are_square_to_learn_from():
    with pytest.raises(ValueError, match="square"):
        INPUTS["kernels"].check(KERNELS[:2], None)


def test_of_either_kind_features_stay_as_they_are_and_views_may_be_left_out():
    import pandas as pd

    takes = Either(False)
    X = Views.from_dict(
        {"a": pd.DataFrame({"stage": list("uvuv")}), "b": pd.DataFrame({"x": np.arange(4.0)})}
    )
    learner = SimpleNamespace(names_in_=X.names, ids_=X.ids)
    assert takes.encode(X, learner) is X
    some = takes.check_rows(X.select(["b"]), learner)
    assert some.names == X.names
    np.testing.assert_array_equal(some.observed, np.tile([False, True], (4, 1)))
    assert takes.check_rows(X.select(["b", "a"]), learner).levels("a") == {"stage": ("u", "v")}
    more = X.renamed({"a": "c"})
    with pytest.warns(
        AbsenceWarning, match=r"view\(s\) \['c'\] were not there in training and are ignored"
    ):
        assert takes.check_rows(more, learner).names == X.names
    with pytest.raises(ValueError, match=r"views \['c'\] came, \['a', 'b'\] were there in training"):
        takes.check_rows(more.select(["c"]), learner)
    with pytest.raises(TypeError, match="Views are wanted, not KernelViews"):
        takes.check_rows(KERNELS, learner)


X = Presence(np.array(list("pqrst")), ("a",), np.array([[True], [True], [True], [False], [True]]))


def test_labels_become_positions_of_their_classes():
    labels = check_labels(X, ["no", "yes", "no", "no", "yes"], [1, 2, 1, 1, 3])
    assert labels.classes.tolist() == ["no", "yes"]
    assert labels.codes.tolist() == [0, 1, 0, 0, 1]
    np.testing.assert_allclose(labels.prior, [3 / 8, 5 / 8])
    np.testing.assert_allclose(labels.class_weighted({"no": 2.0, "yes": 1.0}), [2, 2, 2, 2, 3])
    # as often as each other: 5 / (2 * 3) and 5 / (2 * 2), whatever the samples weigh
    np.testing.assert_allclose(
        labels.class_weighted("balanced") / labels.weight, [5 / 6, 5 / 4, 5 / 6, 5 / 6, 5 / 4]
    )


def test_a_class_of_samples_that_do_not_count_is_none():
    labels = check_labels(X, [1, 0, 1, 0, 9], [1, 1, 1, 1, 0])
    assert labels.classes.tolist() == [0, 1]
    assert labels.codes.tolist() == [1, 0, 1, 0, -1]
    assert labels.class_weighted(None)[4] == 0
    signs = one_vs_rest_signs(labels.codes, 2)
    assert len(signs) == 1
    assert signs[0].tolist() == [1, -1, 1, -1, -1]


def test_classes_must_have_a_view():
    with pytest.raises(ValueError, match=r"have the class\(es\) \[0\] of \[0, 1\]; two classes or more"):
        check_labels(X, [0, 0, 0, 1, 0])
    with pytest.raises(ValueError, match=r"two classes or more"):
        check_labels(X, [0, 0, 0, 0, 1], [1, 1, 1, 1, 0])


def test_a_sample_without_a_label_is_named():
    with pytest.raises(ValueError, match=r"1 label\(s\) are NaN or None, e.g. of 'r'"):
        check_labels(X, [0.0, 1.0, np.nan, 1.0, 0.0])


def test_more_classes_have_a_vector_each():
    found = one_vs_rest_signs(np.array([2, 0, 1, -1]), 3)
    assert [one.tolist() for one in found] == [[-1, 1, -1, -1], [-1, -1, 1, -1], [1, -1, -1, -1]]


def test_weights_are_ones_unless_given():
    np.testing.assert_array_equal(_check_sample_weight(X, None), np.ones(5))
    np.testing.assert_array_equal(_check_sample_weight(X, [0, 1, 2, 0, 1]), [0.0, 1.0, 2.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="sample_weight must be 5 non-negative numbers, not all zero"):
        _check_sample_weight(X, [0, 0, 0, 0, 0])
