"""Best of a row, and what cannot be told from it."""

from absentia.papers._cells import Cell, Row, observations, rows_of
from absentia.papers._marking import differs, marked
from reproducing import experiment, records


def test_best_and_like_the_best(tmp_path):
    small = experiment(tmp_path)
    rows = marked(
        rows_of(small, small.measure("error"), observations(small, records(small))), "lower", 0.05
    )
    second = {name: cell.mark for name, cell in rows[1].cells.items()}
    assert second == {"zero": "", "mean": "best", "entries": "like the best", "oracle": ""}
    assert marked(rows, "neither", 0.05) == rows
    # what reads hidden truth is not the best of anything
    assert rows[0].cells["oracle"].mark == ""


def test_higher_may_be_better_and_ties_share(tmp_path):
    a, b, c, _ = experiment(tmp_path).columns
    row = Row(
        "r",
        {"zero": Cell(a, {0: [1.0], 1: [1.2], 2: [1.1]}), "mean": Cell(b, {0: [1.2], 1: [1.0], 2: [1.1]})},
    )
    row.cells["entries"] = Cell(c, {0: [0.1], 1: [0.11], 2: [0.1]})
    found = marked([row], "higher", 0.05)[0].cells
    assert [cell.mark for cell in found.values()] == ["best", "best", ""]


def test_differences_that_are_always_the_same_are_differences(tmp_path):
    a, b, *_ = experiment(tmp_path).columns
    assert differs(Cell(a, {0: [1.0], 1: [2.0]}), Cell(b, {0: [1.5], 1: [2.5]}), 0.05)
    assert differs(Cell(a, {0: [1.0]}), Cell(b, {0: [1.5]}), 0.05)  # nobody can say
    assert not differs(
        Cell(a, {0: [1.0], 1: [2.0], 2: [3.0]}), Cell(b, {0: [1.4], 1: [1.5], 2: [3.2]}), 0.05
    )
