"""What each column is, and all faults at once."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from absentia.files import _columns
from absentia.files._columns import format_cell
from absentia.files._tables import RawTable
from absentia.files._text import find_id_columns, pack_cells


def typed(**cells):
    n = len(next(iter(cells.values())))
    raw = RawTable(list(cells), list(map(pack_cells, cells.values())), range(2, n + 2))
    return _columns.infer_types(raw, range(len(cells)))


def test_numbers_texts_and_missing_values():
    found, faults, _, _ = typed(
        a=["1", "NA", "2.5"], b=["x ", "?", "'=y"], c=["", "", ""], d=["yes", "no", "true"]
    )
    assert not faults
    np.testing.assert_array_equal(found["a"], [1, np.nan, 2.5])
    assert found["b"].tolist() == ["x", None, "=y"]
    assert np.isnan(found["c"]).all()
    assert found["d"].tolist() == ["yes", "no", "true"]
    assert list(found) == ["a", "b", "c", "d"]


def test_true_and_false_are_1_and_0_however_they_are_written():
    found, faults, _, _ = typed(
        a=["True", "FALSE", "true"], b=["TRUE", "NA", "FALSE"], c=["True", "False", "no"]
    )
    assert not faults
    assert found["a"].tolist() == [True, False, True]
    np.testing.assert_array_equal(found["b"], [1, np.nan, 0])
    assert found["c"].tolist() == ["True", "False", "no"]


FREE = [f"remark {k}" for k in range(60)]
FAULTS = [
    ("date", ["2020-01-02", "", "2021-12-31 10:00"]),
    ("date", ["01.02.2020", "1.2.20", "x"]),
    ("date", ["3/14/2020", "12/1/99", ""]),
    ("date", ["3-Mar-2020", "12 March 99", "March 3, 2020"]),
    ("mixed", ["<0.5", "1", "2"]),
    ("mixed", ["12", "13", "1_4"]),
    ("mixed", [*map(str, range(10)), *["high"] * 90]),
    ("mixed", ["<0,5", "0,7", "1,2"]),
    ("mixed", [f"{k} {'kg' if k % 2 else 'g'}" for k in range(60)]),
    ("mixed", [f"{k % 12} {'kg' if k % 2 else 'g'}" for k in range(600)]),
    ("mixed", [f"{k}%" if k % 2 else f"${k}" for k in range(60)]),
    ("mixed", [f"0.{k}±0.1" for k in range(60)]),
    ("mixed", [f"<{k}" for k in range(12)]),
    ("unsure", ["1,234", "2"]),
    ("free", FREE),
    ("free", [f"{k}-AB-{k}" for k in range(60)]),
]


@pytest.mark.parametrize(("kind", "cells"), FAULTS)
def test_faults(kind, cells):
    found, [fault], _, _ = typed(a=cells)
    assert (fault.kind, fault.column, found) == (kind, "a", {})
    assert fault.cell == cells[fault.line - 2]


@pytest.mark.parametrize(
    "cells",
    [
        ["T1", "T2", "0"],
        ["1-2", "3-4", "5"],
        FREE[:50],
        FREE * 2,
        ["120/80", "130/90", "1"],
        ["10-20-3", "a", "b"],
        ["1a", "1b", "2a", "2b"],
    ],
)
def test_categories_that_only_look_odd(cells):
    found, faults, doubts, _ = typed(a=cells)
    assert not faults
    assert not doubts
    assert found["a"].tolist() == cells


@pytest.mark.parametrize("unit", ["%", " kg", "'000", "\u00a0000"])
@pytest.mark.parametrize("n", [5, 40, 400])
def test_numbers_that_are_not_written_plainly_are_numbers_however_many(unit, n):
    found, faults, doubts, notations = typed(a=[f"{k % 90}{unit}" for k in range(n)])
    assert not faults
    assert not doubts
    assert found["a"].tolist() == [k % 90 * (1000 if "000" in unit else 1) for k in range(n)]
    assert list(notations) == ["a"]


def test_a_few_values_that_may_be_numbers_are_doubtful():
    found, faults, [doubt], _ = typed(a=["<5 mg", "5 mg", "10 g", ""] * 20)
    assert not faults
    assert found["a"].tolist()[:4] == ["<5 mg", "5 mg", "10 g", None]
    assert (doubt.kind, doubt.column, doubt.cell) == ("doubtful", "a", "<5 mg")
    assert (
        "column 'a' ('<5 mg' in line 2) holds values that begin with numbers"
        in _columns.describe_faults([doubt])
    )


def test_other_columns_say_what_a_comma_means():
    found, faults, _, _ = typed(a=["1,234", "2"], b=["0,5", "1"])
    assert not faults
    assert found["a"].tolist() == [1.234, 2]
    found, faults, _, _ = typed(a=["1,234", "2"], b=["0.5", "1"])
    assert not faults
    assert found["a"].tolist() == [1234, 2]
    assert [fault.column for fault in typed(a=["1,234", "2"], b=["0.5", "1"], c=["0,5", "2"])[1]] == ["a"]


def test_a_point_is_no_decimal_point_where_commas_are_decimal():
    _, [fault], _, _ = typed(a=["1.234", "2"], b=["0,5", "1"])
    assert (fault.kind, fault.column, fault.cell) == ("unsure", "a", "1.234")


def test_all_faults_stand_in_one_sentence():
    bad = {f"c{k}": ["<1", "2", "3"] for k in range(20)}
    said = _columns.describe_faults(typed(**bad, day=["2020-01-02"] * 3, n=["1", "2", "3"])[1])
    assert "column 'day' ('2020-01-02' in line 2) holds dates; give a number instead" in said
    assert "'c0' ('<1' in line 2), 'c1'" in said
    assert "and 8 more hold numbers with something else among them" in said
    assert "'n'" not in said


def test_columns_with_declared_types():
    frame = pd.DataFrame(
        {
            "i": [1, 2],
            "b": [True, False],
            "n": pd.array([1, None], dtype="Int64"),
            "m": pd.array([True, None], dtype="boolean"),
            "t": ["x", None],
            "o": [1, "2"],
            "d": pd.to_datetime(["2020-01-02", "2021-01-02"]),
            "l": [[1], [2]],
            "c": [1j, 2j],
        }
    )
    raw = RawTable(list(frame), [frame[c] for c in frame], [1, 2])
    found, faults, _, _ = _columns.infer_types(raw, range(9))
    assert [(fault.kind, fault.column) for fault in faults] == [
        ("date", "d"),
        ("strange", "l"),
        ("strange", "c"),
    ]
    np.testing.assert_array_equal(found["i"], [1, 2])
    assert found["b"].dtype == bool
    np.testing.assert_array_equal(found["n"], [1, np.nan])
    np.testing.assert_array_equal(found["m"], [1, np.nan])
    assert found["t"].tolist() == ["x", None]
    np.testing.assert_array_equal(found["o"], [1, 2])


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
    assert format_cell(value) == text


def test_what_no_table_holds_is_refused():
    with pytest.raises(ValueError, match="a cell holds a list"):
        format_cell([1])


def test_floats_come_back_to_the_last_bit():
    for x in np.random.default_rng(0).normal(size=100) * 10.0 ** np.arange(-50, 50):
        assert float(format_cell(x)) == x


def test_transposing_makes_ids_of_the_first_line():
    cells = [["g1", "g2"], ["1", "2"], ["3", "4"]]
    raw = RawTable(["gene", "p", "q"], list(map(pack_cells, cells)), [2, 3]).transpose()
    assert raw.names == ["", "g1", "g2"]
    assert [raw.texts(place) for place in range(3)] == [["p", "q"], ["1", "3"], ["2", "4"]]
    assert list(raw.lines) == [2, 3]  # columns of the file


def test_columns_that_are_called_as_ids_are():
    assert find_id_columns(["a", "Patient ID", "SAMPLE", "identity"]) == [2, 1]
