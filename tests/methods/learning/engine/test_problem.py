"""A problem and its points: bounds, dust."""

import numpy as np

from absentia.methods.learning.engine import without_dust
from absentia.methods.learning.engine._problem import lifted


def test_weights_next_to_the_threshold_can_be_rounded_up_too():
    eta = np.array([1.0, 0.0, 5e-7, 5e-8, 0.3])
    up = lifted(eta)
    np.testing.assert_array_equal(up[[0, 1, 3, 4]], eta[[0, 1, 3, 4]])
    np.testing.assert_array_equal(without_dust(up) > 0, [True, False, True, False, True])
    assert lifted(up) is up
