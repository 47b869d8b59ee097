"""Cells: means, standard errors, whether they are the published numbers, and which are best."""

from dataclasses import replace

import numpy as np
import pytest

from absentia.papers._cells import Cell, Row, _mark, differs, judge, observations, rows_of
from absentia.papers._experiment import Measure, parse_published
from helpers.small_experiment import TEXT, experiment, records


def cells(tmp_path):
    small = experiment(tmp_path)
    rows = rows_of(small, small.measure("error"), observations(small, records(small)))
    return {row.name: row.cells for row in rows}


def test_numbers_of_trials_become_cells(tmp_path):
    found = cells(tmp_path)
    assert list(found) == ["0.25 missing", "half missing", "more missing"]
    cell = found["half missing"]["zero"]
    assert cell.mean == pytest.approx(0.71)
    assert cell.error == pytest.approx(np.std([0.7, 0.72, 0.71], ddof=1) / np.sqrt(3))
    assert cell.difference == pytest.approx(0.11)
    assert found["half missing"]["oracle"].mean is None


def test_two_columns_of_one_method_are_told_apart_by_parameters(tmp_path):
    found = cells(tmp_path)["0.25 missing"]
    assert found["mean"].mean == pytest.approx(0.32)
    assert found["entries"].mean == pytest.approx(0.32)
    assert found["entries"].values[2] == [0.3]


def test_verdicts_of_cells(tmp_path):
    found = cells(tmp_path)
    assert found["0.25 missing"]["zero"].verdict == "reproduced"
    assert found["0.25 missing"]["zero"].exact
    assert found["0.25 missing"]["mean"].verdict == "reproduced"  # .08 off, and the paper's error is .05
    assert not found["0.25 missing"]["mean"].exact
    assert found["half missing"]["zero"].verdict == "not reproduced"
    assert found["half missing"]["mean"].verdict == ""
    assert found["more missing"]["zero"].verdict == "not run"


@pytest.mark.parametrize(
    ("mean", "error", "text", "better", "repeats", "verdict"),
    [
        (0.1449, None, "0.14", "lower", 1, "reproduced"),
        (0.1451, None, "0.14", "lower", 1, "not reproduced"),
        (0.1451, None, "0.14", "higher", 1, "exceeded"),
        (0.1349, None, "0.14", "lower", 1, "exceeded"),
        (0.1349, None, "0.14", "higher", 1, "not reproduced"),
        (0.1349, None, "0.14", "neither", 1, "not reproduced"),
        (0.1449, None, "0.14", "neither", 1, "reproduced"),
        (0.20, 0.031, "0.14", "lower", 1, "reproduced"),
        (0.20, 0.029, "0.14", "lower", 1, "not reproduced"),
        (0.20, 0.029, "0.14±0.04", "lower", 4, "reproduced"),
        (0.20, 0.01, "0.14±0.04", "lower", 4, "not reproduced"),
        (0.20, 0.0, "0.14±0.04", "lower", 1, "reproduced"),
    ],
)
def test_agreement_is_to_the_last_digit_or_within_two_standard_errors(
    mean, error, text, better, repeats, verdict
):
    assert judge(mean, error, parse_published(text), better, repeats) == verdict


def test_the_error_is_over_repeats_and_of_a_single_one_over_its_parts(tmp_path):
    column = experiment(tmp_path).columns[0]
    several = Cell(column, {0: [1.0, 3.0], 1: [2.0, 6.0]})
    assert several.mean == 3.0
    assert several.error == pytest.approx(np.std([2.0, 4.0], ddof=1) / np.sqrt(2))
    assert Cell(column, {0: [1.0, 3.0]}).error == pytest.approx(np.std([1.0, 3.0], ddof=1) / np.sqrt(2))
    assert Cell(column, {0: [1.0]}).error is None
    assert Cell(column, {0: [1.0, 3.0]}).spread == 1.0


def test_levels_that_a_row_pools_are_no_error(tmp_path):
    small = experiment(tmp_path, TEXT.replace('"{level} missing"', '"all"'))
    found = observations(small, [one for one in records(small) if one["trial"]["repeat"] == 0])
    cell = rows_of(small, small.measure("error"), found)[0].cells["zero"]
    assert cell.mean == pytest.approx(0.6)
    assert cell.error is None
    both = rows_of(small, small.measure("error"), observations(small, records(small)))[0].cells["zero"]
    assert both.error == pytest.approx(np.std([0.6, 0.61, 0.6065], ddof=1) / np.sqrt(3))


def test_what_could_not_be_judged_is_left_out(tmp_path):
    small = experiment(tmp_path)
    one = records(small)[0]
    one["result"] = {"scores": {"error": {"a": 1.0, "b": None}}}
    assert [found.value for found in observations(small, [one])] == [1.0]


# -------------------------------------------------------------------------------- marking


def test_best_and_like_the_best(tmp_path):
    small = experiment(tmp_path)
    rows = rows_of(small, small.measure("error"), observations(small, records(small)))
    second = {name: cell.mark for name, cell in rows[1].cells.items()}
    assert second == {"zero": "", "mean": "best", "entries": "like the best", "oracle": ""}
    neither = replace(small.measure("error"), better="neither")
    unmarked = rows_of(small, neither, observations(small, records(small)))
    assert {cell.mark for row in unmarked for cell in row.cells.values()} == {""}
    # what reads hidden truth is not the best of anything
    assert rows[0].cells["oracle"].mark == ""


def test_higher_may_be_better_and_ties_share(tmp_path):
    a, b, c, _ = experiment(tmp_path).columns
    row = Row(
        "r",
        {"zero": Cell(a, {0: [1.0], 1: [1.2], 2: [1.1]}), "mean": Cell(b, {0: [1.2], 1: [1.0], 2: [1.1]})},
    )
    row.cells["entries"] = Cell(c, {0: [0.1], 1: [0.11], 2: [0.1]})
    found = _mark(row, Measure("error", "higher"), 0.05).cells
    assert [cell.mark for cell in found.values()] == ["best", "best", ""]


def test_differences_that_are_always_the_same_are_differences(tmp_path):
    a, b, *_ = experiment(tmp_path).columns
    assert differs(Cell(a, {0: [1.0], 1: [2.0]}), Cell(b, {0: [1.5], 1: [2.5]}), 0.05)
    assert differs(Cell(a, {0: [1.0]}), Cell(b, {0: [1.5]}), 0.05)  # nobody can say
    assert not differs(
        Cell(a, {0: [1.0], 1: [2.0], 2: [3.0]}), Cell(b, {0: [1.4], 1: [1.5], 2: [3.2]}), 0.05
    )
