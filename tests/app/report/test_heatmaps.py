"""Heat maps: colours that are even and readable without hue, values where they belong."""

import numpy as np
import pytest

from absentia.app.report._heatmaps import _ABSENT, _LEVELS, ColorScale, _diffuse, _to_oklab, average_blocks
from helpers.report_data import decode

pytest.importorskip("jinja2")


def test_values_go_to_the_nearest_colour():
    values = np.array([[0.0, 0.5], [1.0, np.nan]])
    index = np.asarray(decode(ColorScale(0.0, 1.0).encode(values)))
    np.testing.assert_array_equal(index, [[0, round(0.5 * (_LEVELS - 1))], [_LEVELS - 1, _ABSENT]])
    squared = np.asarray(decode(ColorScale(0.0, 1.0, gamma=0.5).encode(values**2)))
    np.testing.assert_array_equal(squared, index)


@pytest.mark.parametrize("gamma", [1.0, 0.5])
def test_colours_are_even_and_readable_without_hue(gamma):
    lab = _to_oklab(ColorScale(0.0, 1.0, gamma=gamma).colormap)
    assert (np.diff(lab[:, 0]) > 0).all()
    steps = np.linalg.norm(np.diff(lab, axis=0), axis=1)
    assert steps.max() < 1.6 * steps.min()


def test_oklab_of_white_and_grey():
    np.testing.assert_allclose(_to_oklab([[255, 255, 255]]), [[1, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(_to_oklab([[99, 99, 99]])[0, 1:], 0, atol=1e-6)
    np.testing.assert_allclose(_to_oklab([[2, 2, 2]])[0, 0], np.cbrt(2 / 255 / 12.92), rtol=1e-6)


def test_blocks_average_what_is_there(rng):
    values = rng.standard_normal((7, 5))
    values[:3, :2] = np.nan
    values[4, 4] = np.nan
    found = average_blocks(values, np.array([0, 3, 6]), np.array([0, 2, 4]))
    expected = [
        [np.nan, values[:3, 2:4].mean(), values[:3, 4].mean()],
        [values[3:6, :2].mean(), values[3:6, 2:4].mean(), np.nanmean(values[3:6, 4])],
        [values[6, :2].mean(), values[6, 2:4].mean(), values[6, 4]],
    ]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("block", [2, 3])
def test_blocks_are_means_of_what_is_there(block):
    K = np.arange(25.0).reshape(5, 5)
    K[:block, :block] = np.nan
    starts = np.arange(0, 5, block)
    got = average_blocks(K, starts, starts)
    assert np.isnan(got[0, 0])
    for i in range(len(got)):
        for j in range(len(got)):
            part = K[block * i : block * (i + 1), block * j : block * (j + 1)]
            if i or j:
                np.testing.assert_allclose(got[i, j], np.nanmean(part))


def test_as_many_pixels_are_hatched_as_samples_are_absent():
    rng = np.random.default_rng(0)
    for rate in (0.1, 0.5, 0.8):
        share = rng.binomial(8, rate, size=250) / 8
        share[:20], share[100:120] = 0.0, 1.0
        drawn = _diffuse(share)
        assert not drawn[share == 0].any()
        assert drawn[share == 1].all()
        assert abs(drawn.sum() - share.sum()) <= 0.5


def test_a_large_diagonal_does_not_wash_out_the_rest():
    K = np.random.default_rng(0).random((300, 300))
    np.fill_diagonal(K, 1000.0)
    scale = ColorScale.of_values([K])
    assert (scale.below, scale.above) == (False, True)
    assert scale.low == K.min()
    assert scale.high < 1.01
    assert ColorScale.of_errors([K]).low == 0
