"""The frame of charts of shares."""

from absentia.app.report._square import BOTTOM, LEFT, RIGHT, SIZE, TICKS, TOP, x_of, y_of


def test_shares_run_from_corner_to_corner():
    assert (x_of(0), x_of(1)) == (LEFT, SIZE - RIGHT)
    assert (y_of(0), y_of(1)) == (SIZE - BOTTOM, TOP)
    assert [label for _, _, label in TICKS] == ["0%", "25%", "50%", "75%", "100%"]
