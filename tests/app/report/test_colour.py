"""Colours: even, and readable without hue."""

import numpy as np
import pytest

from absentia.app.report._colour import ABSENT, ERRORS, LEVELS, VALUES, heat_png, oklab
from stories import decode

pytest.importorskip("jinja2")


def test_values_go_to_the_nearest_colour():
    values = np.array([[0.0, 0.5], [1.0, np.nan]])
    index = np.asarray(decode(heat_png(values, VALUES, 0.0, 1.0)))
    np.testing.assert_array_equal(index, [[0, round(0.5 * (LEVELS - 1))], [LEVELS - 1, ABSENT]])
    squared = np.asarray(decode(heat_png(values**2, ERRORS, 0.0, 1.0)))
    np.testing.assert_array_equal(squared, index)


@pytest.mark.parametrize("lut", [VALUES, ERRORS])
def test_colours_are_even_and_readable_without_hue(lut):
    lab = oklab(lut)
    assert (np.diff(lab[:, 0]) > 0).all()
    steps = np.linalg.norm(np.diff(lab, axis=0), axis=1)
    assert steps.max() < 1.6 * steps.min()


def test_oklab_of_white_and_grey():
    np.testing.assert_allclose(oklab([[255, 255, 255]]), [[1, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(oklab([[99, 99, 99]])[0, 1:], 0, atol=1e-6)
    np.testing.assert_allclose(oklab([[2, 2, 2]])[0, 0], np.cbrt(2 / 255 / 12.92), rtol=1e-6)
