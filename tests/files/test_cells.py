"""Texts as numbers; nothing is guessed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from absentia.files._columns import (
    GAPS,
    UNSURE,
    _could_have_comma,
    find_decimal,
    is_measured,
    is_number,
    parse_numbers,
    parse_written,
)
from helpers.cpu_limit import cpu_limit


def test_missing_values_are_nan():
    found = parse_numbers(["1", *sorted(GAPS), " NA ", "-2.5e3"])
    assert found[0] == 1
    assert found[-1] == -2500
    assert np.isnan(found[1:-1]).all()


@pytest.mark.parametrize("cells", [["1_000"], ["0x1"], ["<0.5"], ["1,5"], ["1 000"], ["none"], ["-"]])
def test_what_is_no_number_is_none(cells):
    assert parse_numbers(cells) is None


MARKS = [
    (["1", "2.5"], ".", [1, 2.5]),
    (["1", "2,5"], ",", [1, 2.5]),
    (["0,125", "1,234"], ",", [0.125, 1.234]),
    (["1,2e3"], ",", [1200]),
    (["1,234"], UNSURE, None),
    (["12", "1,234", "-23,456"], UNSURE, None),
    (["1,234.5", "2"], ".", [1234.5, 2]),
    (["1,234,567", "1,234"], ".", [1234567, 1234]),
    (["1,234", "2.5"], ".", [1234, 2.5]),
    (["1.234,5", "1.234", "2"], ",", [1234.5, 1234, 2]),
    (["1.234.567", "1,5"], ",", [1234567, 1.5]),
    (["1,5", "2.5"], None, None),
    (["1,23,4"], None, None),
    (["<1,5"], None, None),
]


@pytest.mark.parametrize(("cells", "sign", "values"), MARKS, ids=[" ".join(c) for c, _, _ in MARKS])
def test_what_commas_and_points_mean(cells, sign, values):
    assert find_decimal(cells) == sign
    if values is not None:
        assert parse_written(cells, sign).tolist() == values


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_decimal_commas_are_read_to_the_last_bit_or_not_at_all(values):
    cells = [repr(x).replace(".", ",") for x in values]
    if find_decimal(cells) == ",":
        assert parse_written(cells, ",").tolist() == values
    else:
        assert find_decimal(cells) in (UNSURE, ".")


def test_single_cells():
    assert is_number(" -1.5e-3 ")
    assert not is_number("nan")
    assert _could_have_comma(["1.234", "12", "."])
    assert not _could_have_comma(["1.23", "1.234"])
    assert not _could_have_comma(["0.123"])
    assert not _could_have_comma(["12"])


WRITTEN = [
    (["1,5", "-2"], [1.5, -2]),
    (["12%", "3.5 %"], [12, 3.5]),
    (["5 kg", "70.5kg"], [5, 70.5]),
    (["$3", "-$4", "$ -5"], [3, -4, -5]),
    (["3 €", "1.234,5 €"], [3, 1234.5]),
    (["\u22123", "4", "1e\u22122"], [-3, 4, 0.01]),
    (["1'234", "12", "1\u2019234\u2019567.5"], [1234, 12, 1234567.5]),
    (["1 234", "12"], [1234, 12]),
    (["1\u00a0234,5", "12\u202f345"], [1234.5, 12345]),
    (["5 mg/dl", "1e3 mg/dl"], [5, 1000]),
]


@pytest.mark.parametrize(("cells", "values"), WRITTEN, ids=[" ".join(c) for c, _ in WRITTEN])
def test_numbers_that_are_not_written_plainly(cells, values):
    assert parse_numbers(cells) is None
    sign = find_decimal(cells)
    found = parse_written([*cells, "NA"], sign)
    assert found[:-1].tolist() == values
    assert np.isnan(found[-1])


@pytest.mark.parametrize(
    "cells",
    [
        ["5 kg", "500 g"],
        ["5 kg", "5"],
        ["1a", "1b"],
        ["T1", "T2"],
        ["120/80"],
        ["12 34"],
        ["--3"],
        ["$3$"],
        ["0.4±0.1"],
        ["<5"],
        ["5 kg of it"],
        ["1-2"],
        ["10:30"],
    ],
)
def test_what_is_not_written_in_one_way_is_no_number(cells):
    assert find_decimal(cells) is None


def test_a_number_with_something_beside_it_is_told_from_a_code():
    assert all(map(is_measured, ["<0.5", "5 kg", "12%", "0.4 ± 0.1", ">= 3", "\u22125"]))
    assert not any(map(is_measured, ["1a", "12b", "T1", "1-2", "120/80", "5-AB-5", "high"]))


LONG = [
    "1" * 40_000 + "!",
    "1" + " " * 40_000 + "!",
    "1 " * 20_000 + "!",
    "1," * 20_000 + "!",
    "1'" * 20_000,
]


@pytest.mark.parametrize("cell", LONG, ids=[cell[:3] for cell in LONG])
def test_long_cells_take_as_long_as_they_are(cell):
    with cpu_limit():
        assert not is_number(cell)
        assert find_decimal([cell]) is None
        is_measured(cell)
