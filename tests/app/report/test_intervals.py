"""Numbers along an axis."""

import math
import re

import pytest

from absentia.app.report._page import Row
from absentia.app.report._sections import _MARGIN, fit_axis, make_interval_table

NAN = math.nan


def track(axis, *interval):
    """Where a number and its interval are drawn, and the arrows beside it."""
    cell = axis.draw_interval(interval, "method", "words")
    low, high = map(float, re.search(r'<line x1="([\d.]+)%" x2="([\d.]+)%"', cell.text).groups())
    dot = re.search(r'<circle cx="([\d.]+)%"', cell.text)
    arrows = re.findall(r'<path class="(\w+)" d="([^"]+)"', cell.text)
    return low, dot and float(dot.group(1)), high, arrows


def test_everything_is_on_the_axis_in_its_order():
    intervals = [(0.8, 0.75, 0.85), (0.7, 0.68, 0.72)]
    axis = fit_axis(intervals, percent=True)
    low, at, high, arrows = track(axis, *intervals[0])
    assert _MARGIN <= low < at < high <= 100 - _MARGIN
    assert arrows == []
    assert (axis.place(0.68), axis.place(0.85)) == (_MARGIN, 100 - _MARGIN)
    assert list(axis.ticks) == pytest.approx([0.7, 0.75, 0.8, 0.85])
    assert list(axis.ticks.values()) == ["70%", "75%", "80%", "85%"]


def test_differences_have_signs_and_zero_has_none():
    axis = fit_axis([(0.01, -0.012, 0.03)], include=(0.0,), percent=True, sign=True)
    assert list(axis.ticks.values()) == ["−1", "0", "+1", "+2", "+3"]
    assert axis.draw_ticks(3).cells[1].text.count('class="zero"') == 1


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e9])
def test_any_size_has_few_ticks(scale):
    axis = fit_axis([(0.3 * scale, 0.1 * scale, 0.9 * scale)])
    assert 3 <= len(axis.ticks) <= 7
    assert len(set(axis.ticks.values())) == len(axis.ticks)


def test_one_that_is_far_off_does_not_squeeze_the_others():
    near = [(x, x - 0.02, x + 0.02) for x in (0.7, 0.72, 0.74, 0.76, 0.78)]
    axis = fit_axis([*near, (-50.0, -70.0, -30.0)])
    assert axis.low > 0
    assert axis.place(-50.0) == _MARGIN
    assert track(axis, -50.0, -70.0, -30.0)[3] == [("cut", "M0 -5l-6 5l6 5")]
    assert all(track(axis, *interval)[3] == [] for interval in near)


def test_an_interval_that_goes_on_beyond_the_axis_says_so():
    near = [(x, x - 0.02, x + 0.02) for x in (0.7, 0.72, 0.74, 0.76)]
    wide = (0.73, 0.1, 0.75)
    axis = fit_axis([*near, wide])
    assert [kind for kind, _ in track(axis, *wide)[3]] == ["cut"]
    assert track(axis, *wide)[3][0][1] == "M0 -5l-6 5l6 5"
    assert track(axis, 0.73, 0.72, 9.0)[3] == [("cut", "M0 -5l6 5l-6 5")]
    assert all(track(axis, *interval)[3] == [] for interval in near)
    rows = [Row(["a", axis.draw_interval(interval, "method", "")]) for interval in (near[0], wide)]
    table = make_interval_table(axis, "label", ["Name"], rows, "css", base=0.73)
    assert "beyond the chart" in table
    assert f"--base:{axis.place(0.73)}%" in table
    alone = make_interval_table(axis, "label", ["Name"], rows[:1], "css", base=None)
    assert "beyond the chart" not in alone
    assert "--base" not in alone


def test_close_numbers_do_not_cut_their_own_intervals():
    """Intervals are mostly longer than the numbers are apart."""
    intervals = [(x, x - 0.08, x + 0.08) for x in (0.72, 0.721, 0.722, 0.723)]
    intervals += [(0.704, 0.516, 0.892), (0.725, 0.603, 0.848)]
    axis = fit_axis(intervals)
    tracks = [track(axis, *interval) for interval in intervals]
    assert all(arrows == [] for *_, arrows in tracks)
    assert tracks[-2][0] < tracks[-1][0] < tracks[-1][2] < tracks[-2][2]


def test_what_must_be_there_is_even_if_far():
    near = [(x, x, x) for x in (5.0, 5.1, 5.2, 5.3)]
    assert fit_axis(near, include=(0.0,)).low == 0


def test_equal_or_absent_numbers_still_have_an_axis():
    assert 0 < fit_axis([(0.5, 0.5, 0.5)]).place(0.5) < 100
    assert 0 < fit_axis([(0.0, 0.0, 0.0)]).place(0.0) < 100
    assert fit_axis([]).ticks
    assert track(fit_axis([(NAN, NAN, NAN)]), NAN, NAN, NAN)[1] is None
    low, at, high, _ = track(fit_axis([(0.5, NAN, NAN), (0.7, 0.6, 0.8)]), 0.5, NAN, NAN)
    assert low == at == high


def test_the_recommended_is_a_diamond():
    axis = fit_axis([(0.5, 0.4, 0.6)])
    assert 'class="diamond"' in axis.draw_interval((0.5, 0.4, 0.6), "chosen", "").text
    assert 'aria-label="&lt;b&gt;"' in axis.draw_interval((0.5, 0.4, 0.6), "chosen", "<b>").text
