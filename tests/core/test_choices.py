"""Choices that rounding does not make."""

import numpy as np

from absentia.core._choices import inverse, least


def test_of_values_that_are_tied_the_first_is_taken():
    assert least({1: 2.0, 2: 1.0 + 1e-12, 3: 1.0, 4: 1.5}) == 2
    assert least({1: 2.0, 2: 1.0 + 1e-6, 3: 1.0, 4: 1.5}) == 3
    assert least({"a": -1.0 + 1e-12, "b": -1.0}) == "a"


def test_a_permutation_is_undone(rng):
    order = rng.permutation(9)
    np.testing.assert_array_equal(order[inverse(order)], np.arange(9))
    np.testing.assert_array_equal(inverse(order)[order], np.arange(9))
