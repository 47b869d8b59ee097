"""Whether probabilities come true."""

import numpy as np
import pytest

from absentia.app.report._calibration import calibration, wilson

pytest.importorskip("jinja2")


def test_calibration_is_perfect_when_probabilities_come_true():
    given = np.repeat([0.05, 0.25, 0.65, 0.95], 100)
    came = np.concatenate([np.arange(100) < 100 * p for p in (0.05, 0.25, 0.65, 0.95)]).astype(int)
    chart = calibration(came, np.column_stack([1 - given, given]), ["no", "yes"])
    assert chart.error == "0.0"
    assert len(chart.dots) == 4
    for dot in chart.dots:  # on the diagonal: as far from the left as from the bottom
        across = (dot.x - chart.left) / (chart.right - chart.left)
        up = (chart.bottom - dot.y) / (chart.bottom - chart.top)
        assert across == pytest.approx(up, abs=2e-3)
        assert dot.high < dot.y < dot.low
        assert not dot.few


def test_calibration_of_more_classes_judges_the_most_probable_one():
    probabilities = np.tile([0.6, 0.3, 0.1], (50, 1))
    chart = calibration(np.zeros(50, int), probabilities, list("abc"))
    assert chart.error == "40.0"
    assert "50 samples given 60% on average: 100% came true" in chart.dots[0].title
    assert calibration(np.zeros(5, int), probabilities[:5], list("abc")).has_few


def test_an_interval_covers_the_share_and_narrows_with_samples():
    # Wilson's interval of 8 in 10, from the formula by hand
    np.testing.assert_allclose(wilson(8, 10), (0.4902, 0.9433), atol=1e-4)
    assert wilson(0, 5)[0] == 0
    assert wilson(5, 5)[1] == pytest.approx(1)
    low, high = wilson(800, 1000)
    assert high - low < 0.06
