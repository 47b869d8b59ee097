"""Texts as numbers; nothing is guessed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from absentia.files._numbers import MISSING, Mark, is_number, looks_grouped, mark_of, numbers, pointed


def test_missing_values_are_nan():
    found = numbers(["1", *sorted(MISSING), " NA ", "-2.5e3"])
    assert found[0] == 1
    assert found[-1] == -2500
    assert np.isnan(found[1:-1]).all()


def test_further_texts_may_mean_missing_and_are_not_numbers_then():
    np.testing.assert_array_equal(numbers(["-9", "1", " -9 "], MISSING | {"-9"}), [np.nan, 1, np.nan])
    np.testing.assert_array_equal(numbers(["x", "1"], MISSING | {"x"}), [np.nan, 1])


@pytest.mark.parametrize("cells", [["1_000"], ["0x1"], ["<0.5"], ["1,5"], ["1 000"], ["none"], ["-"]])
def test_what_is_no_number_is_none(cells):
    assert numbers(cells) is None


MARKS = [
    (["1", "2.5"], Mark.POINT, [1, 2.5]),
    (["1", "2,5"], Mark.COMMA, [1, 2.5]),
    (["0,125", "1,234"], Mark.COMMA, [0.125, 1.234]),
    (["1,2e3"], Mark.COMMA, [1200]),
    (["1,234"], Mark.UNSURE, None),
    (["12", "1,234", "-23,456"], Mark.UNSURE, None),
    (["1,234.5", "2"], Mark.COMMA_GROUPS, [1234.5, 2]),
    (["1,234,567", "1,234"], Mark.COMMA_GROUPS, [1234567, 1234]),
    (["1,234", "2.5"], Mark.COMMA_GROUPS, [1234, 2.5]),
    (["1.234,5", "1.234", "2"], Mark.POINT_GROUPS, [1234.5, 1234, 2]),
    (["1.234.567", "1,5"], Mark.POINT_GROUPS, [1234567, 1.5]),
    (["1,5", "2.5"], None, None),
    (["1,23,4"], None, None),
    (["<1,5"], None, None),
]


@pytest.mark.parametrize(("cells", "mark", "values"), MARKS, ids=[" ".join(c) for c, _, _ in MARKS])
def test_what_commas_and_points_mean(cells, mark, values):
    assert mark_of(cells) is mark
    if values is not None:
        assert numbers(pointed(cells, mark)).tolist() == values


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_decimal_commas_are_read_to_the_last_bit_or_not_at_all(values):
    cells = [repr(x).replace(".", ",") for x in values]
    if mark_of(cells) is Mark.COMMA:
        assert numbers(pointed(cells, Mark.COMMA)).tolist() == values
    else:
        assert mark_of(cells) in (Mark.UNSURE, Mark.POINT)


def test_single_cells():
    assert is_number(" -1.5e-3 ")
    assert not is_number("nan")
    assert looks_grouped(["1.234", "12", "."])
    assert not looks_grouped(["1.23", "1.234"])
    assert not looks_grouped(["0.123"])
    assert not looks_grouped(["12"])
