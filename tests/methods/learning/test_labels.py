"""Labels and weights of samples: what is refused, and what they become."""

import numpy as np
import pytest

from absentia.data import Presence
from absentia.methods.learning._labels import check_labels, one_against_rest, sample_weights

X = Presence(np.array(list("pqrst")), ("a",), np.array([[True], [True], [True], [False], [True]]))


def test_labels_become_positions_of_their_classes():
    labels = check_labels(X, ["no", "yes", "no", "no", "yes"], [1, 2, 1, 1, 3])
    assert labels.classes.tolist() == ["no", "yes"]
    assert labels.codes.tolist() == [0, 1, 0, 0, 1]
    np.testing.assert_allclose(labels.prior, [3 / 8, 5 / 8])
    np.testing.assert_allclose(labels.weighted({"no": 2.0, "yes": 1.0}), [2, 2, 2, 2, 3])
    # as often as each other: 5 / (2 * 3) and 5 / (2 * 2), whatever the samples weigh
    np.testing.assert_allclose(
        labels.weighted("balanced") / labels.weight, [5 / 6, 5 / 4, 5 / 6, 5 / 6, 5 / 4]
    )


def test_a_class_of_samples_that_do_not_count_is_none():
    labels = check_labels(X, [1, 0, 1, 0, 9], [1, 1, 1, 1, 0])
    assert labels.classes.tolist() == [0, 1]
    assert labels.codes.tolist() == [1, 0, 1, 0, -1]
    assert labels.weighted(None)[4] == 0
    signs = one_against_rest(labels.codes, 2)
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
    found = one_against_rest(np.array([2, 0, 1, -1]), 3)
    assert [one.tolist() for one in found] == [[-1, 1, -1, -1], [-1, -1, 1, -1], [1, -1, -1, -1]]


def test_weights_are_ones_unless_given():
    np.testing.assert_array_equal(sample_weights(None, 3), np.ones(3))
    np.testing.assert_array_equal(sample_weights([0, 1, 2], 3), [0.0, 1.0, 2.0])
    with pytest.raises(ValueError, match="sample_weight must be 3 non-negative numbers, not all zero"):
        sample_weights([0, 0, 0], 3)
