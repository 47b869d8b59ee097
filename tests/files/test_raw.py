"""Cells of any type as texts."""

import datetime
from decimal import Decimal

import numpy as np
import pytest

from absentia.files._raw import Raw, cell_text, id_called

CELLS = [
    (None, ""),
    (float("nan"), ""),
    (True, "True"),
    (np.int64(7), "7"),
    (7.0, "7"),
    (np.float64(0.1), "0.1"),
    (1e300, "1e+300"),
    ("a", "a"),
    (b"a", "a"),
    (Decimal("1.50"), "1.50"),
    (datetime.datetime(2020, 1, 2), "2020-01-02"),
    (datetime.datetime(2020, 1, 2, 3, 4), "2020-01-02 03:04:00"),
    (datetime.date(2020, 1, 2), "2020-01-02"),
]


@pytest.mark.parametrize(("value", "text"), CELLS, ids=repr)
def test_a_cell_stands_as_it_would_in_a_table(value, text):
    assert cell_text(value) == text


def test_what_no_table_holds_is_refused():
    with pytest.raises(ValueError, match="a cell holds a list"):
        cell_text([1])


def test_floats_come_back_to_the_last_bit():
    for x in np.random.default_rng(0).normal(size=100) * 10.0 ** np.arange(-50, 50):
        assert float(cell_text(x)) == x


def test_transposing_makes_ids_of_the_first_line():
    raw = Raw(["gene", "p", "q"], [["g1", "g2"], ["1", "2"], ["3", "4"]], [2, 3]).transposed()
    assert raw.names == ["", "g1", "g2"]
    assert raw.columns == [["p", "q"], ["1", "3"], ["2", "4"]]
    assert list(raw.lines) == [2, 3]  # columns of the file


def test_columns_that_are_called_as_ids_are():
    assert id_called(["a", "Patient ID", "SAMPLE", "identity"]) == [2, 1]
