"""What each view is worth."""

import numpy as np

from absentia.app.report._contribution import contributions


def test_losses_and_gains_are_counted_over_those_who_have_the_view():
    truth = np.array([0, 0, 1, 1, 1])
    predicted = np.array([0, 1, 1, 1, 0])
    observed = np.array([[1, 1], [1, 1], [1, 0], [0, 1], [1, 1]], bool)
    without = np.column_stack([predicted, predicted])
    without[0, 0] = without[2, 0] = 1 - truth[0]  # the first is lost, the third stays right
    without[1, 1] = 0  # gained
    rows = contributions(["a", "b"], observed, truth, predicted, without)
    a, b = rows
    assert (a.count, a.alone, a.lost, a.gained) == ("4", "1", "1", "0")
    assert (a.with_it, a.without_it, a.drop) == ("50.0%", "25.0%", "−25.0")
    assert (b.lost, b.gained, b.drop, b.width) == ("0", "1", "+25.0", 0.0)
    assert a.width == 100.0
    assert a.few


def test_a_view_that_nobody_has_and_a_method_that_was_not_asked_are_not_there():
    ones = np.ones(3, int)
    observed = np.array([[True, False]] * 3)
    without = np.ones((3, 2), int)
    assert [row.name for row in contributions(["a", "b"], observed, ones, ones, without)] == ["a"]
    assert contributions(["a", "b"], observed, ones, ones, None) == []
