"""Numbers along an axis."""

import math

import pytest

from absentia.app.report._tracks import MARGIN, axis

NAN = math.nan


def test_everything_is_on_the_axis_in_its_order():
    spans = [(0.8, 0.75, 0.85), (0.7, 0.68, 0.72)]
    along = axis(spans, hundredths=True)
    track = along.track(*spans[0])
    assert MARGIN <= track.low < track.at < track.high <= 100 - MARGIN
    assert (along.at(0.68), along.at(0.85)) == (MARGIN, 100 - MARGIN)
    assert [tick.label for tick in along.ticks] == ["70%", "75%", "80%", "85%"]
    assert [tick.at for tick in along.ticks] == [along.at(x) for x in (0.7, 0.75, 0.8, 0.85)]


def test_differences_have_signs_and_zero_has_none():
    along = axis([(0.01, -0.012, 0.03)], also=(0.0,), hundredths=True, sign=True)
    assert [tick.label for tick in along.ticks] == ["−1", "0", "+1", "+2", "+3"]


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e9])
def test_any_size_has_few_ticks(scale):
    along = axis([(0.3 * scale, 0.1 * scale, 0.9 * scale)])
    assert 3 <= len(along.ticks) <= 7
    assert len({tick.label for tick in along.ticks}) == len(along.ticks)


def test_one_that_is_far_off_does_not_squeeze_the_others():
    near = [(x, x - 0.02, x + 0.02) for x in (0.7, 0.72, 0.74, 0.76, 0.78)]
    along = axis([*near, (-50.0, -70.0, -30.0)])
    assert along.low > 0
    track = along.track(-50.0, -70.0, -30.0)
    assert (track.off, track.at) == (-1, MARGIN)
    assert all(along.track(*span).off == 0 for span in near)
    assert axis(near).track(*near[0]).off == 0


def test_an_interval_that_goes_on_beyond_the_axis_says_so():
    near = [(x, x - 0.02, x + 0.02) for x in (0.7, 0.72, 0.74, 0.76)]
    wide, far = (0.73, 0.1, 0.75), (-50.0, -70.0, -30.0)
    along = axis([*near, wide])
    assert along.track(*wide).cut == (True, False)
    assert along.track(0.73, 0.72, 9.0).cut == (False, True)
    assert all(along.track(*span).cut == (False, False) for span in near)
    assert (along.track(*far).off, along.track(*far).cut) == (-1, (False, False))


def test_close_numbers_do_not_cut_their_own_intervals():
    """Intervals are mostly longer than the numbers are apart."""
    spans = [(x, x - 0.08, x + 0.08) for x in (0.72, 0.721, 0.722, 0.723)]
    spans += [(0.704, 0.516, 0.892), (0.725, 0.603, 0.848)]
    along = axis(spans)
    tracks = [along.track(*span) for span in spans]
    assert all(track.cut == (False, False) for track in tracks)
    assert tracks[-2].low < tracks[-1].low < tracks[-1].high < tracks[-2].high


def test_what_must_be_there_is_even_if_far():
    near = [(x, x, x) for x in (5.0, 5.1, 5.2, 5.3)]
    assert axis(near, also=(0.0,)).low == 0


def test_equal_or_absent_numbers_still_have_an_axis():
    assert 0 < axis([(0.5, 0.5, 0.5)]).at(0.5) < 100
    assert 0 < axis([(0.0, 0.0, 0.0)]).at(0.0) < 100
    assert axis([]).ticks
    assert axis([(NAN, NAN, NAN)]).track(NAN, NAN, NAN).at == MARGIN
    track = axis([(0.5, NAN, NAN), (0.7, 0.6, 0.8)]).track(0.5, NAN, NAN)
    assert track.low == track.at == track.high
