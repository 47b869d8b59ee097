"""What labels are, by what they look like."""

import csv

import numpy as np
import pytest

from absentia import AbsenceWarning, Views, io


@pytest.fixture
def parse(tmp_path):
    """Columns of a table of labels; gives what they are, their values, and who has any."""

    def parse(names, columns, kind=None):
        ids, path = [f"s{k}" for k in range(len(columns[0]))], tmp_path / "labels.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([("id", *names), *zip(ids, *columns, strict=True)])
        views = Views.from_dict({"v": np.zeros((len(ids), 1))}, ids=ids)
        labels = io.read_labels(f"{path}:{','.join(names)}", views, tmp_path, kind=kind)
        return labels.kind, labels.values, labels.known

    return parse


FOUND = [
    (["a", "NA", "b", "?"], "classes", ["a", "", "b", ""]),
    (["1", "2", "", "1"], "classes", ["1", "2", "", "1"]),
    (["1.0", "2.0", "nan", "1"], "classes", ["1", "2", "", "1"]),
    (["01", "02", "", "01"], "classes", ["01", "02", "", "01"]),
    (["1.5", "2", "."], "numbers", [1.5, 2, np.nan]),
    ([str(k) for k in range(21)], "numbers", list(range(21))),
    ([str(k) for k in range(20)], "classes", [str(k) for k in range(20)]),
    (["", "NA"], "classes", ["", ""]),
]


@pytest.mark.parametrize(("cells", "kind", "values"), FOUND, ids=[" ".join(c)[:20] for c, _, _ in FOUND])
def test_one_column(parse, cells, kind, values):
    found, got, known = parse(("y",), [cells])
    assert found == kind
    np.testing.assert_array_equal(got, np.array(values))
    assert known.tolist() == [x not in ("", "NA", "?", "nan", ".") for x in cells]


def test_numbers_that_are_not_written_plainly_are_no_classes(parse):
    with pytest.warns(AbsenceWarning, match="labels 'y' are read as numbers: '[01],5' as"):
        kind, values, known = parse(("y",), [[f"{k},5" for k in range(20)] + ["NA"]])
    assert kind == "numbers"
    assert values[:-1].tolist() == [k + 0.5 for k in range(20)]
    assert known.tolist() == [True] * 20 + [False]
    with pytest.warns(AbsenceWarning, match="'0%' as 0"):
        assert parse(("y",), [[f"{k}%" for k in range(30)]])[1].tolist() == list(range(30))
    with pytest.warns(AbsenceWarning, match="labels 'time' are read as numbers: '[01],5' as"):
        assert parse(("time", "event"), [["1,5", "2"], ["1", "0"]])[1].tolist() == [[1.5, 1], [2, 0]]
    assert parse(("y",), [["1 mg", "2 mg"] * 3])[0] == "classes"  # as whole numbers are


def test_what_is_said_goes_before_what_it_looks_like(parse):
    assert parse(("y",), [["1", "2"]], "numbers")[1].dtype == float
    assert parse(("y",), [["1.5", "2"]], "classes")[1].tolist() == ["1.5", "2"]
    assert parse(("a", "b"), [["1", "0"], ["0", "1"]], "survival")[0] == "survival"


def test_time_and_event_are_survival(parse):
    kind, values, known = parse(("Time", "Event"), [["1", "0", "NA"], ["1", "0", "1"]])
    assert kind == "survival"
    np.testing.assert_array_equal(values, [[1, 1], [0, 0], [np.nan, 1]])
    assert known.tolist() == [True, True, False]
    assert parse(("months", "dead"), [["12.5", "3"], ["yes", "No"]])[0] == "survival"
    assert parse(("a", "b"), [["1", "0"], ["0", "1"]])[0] == "multilabel"


def test_several_columns_are_several_labels(parse):
    kind, values, known = parse(("a", "b", "c"), [["1", "", "NA"], ["0", "1", ""], ["yes", "FALSE", "?"]])
    assert kind == "multilabel"
    np.testing.assert_array_equal(values, [[1, 0, 1], [np.nan, 1, 0], [np.nan] * 3])
    assert known.tolist() == [True, True, False]


BAD = [
    (("a", "b"), [["x"], ["1"]], None, "column 'a' holds 'x'; of several labels each is 1, 0 or empty"),
    (("time", "event"), [["1"], ["2"]], None, "column 'event' holds '2'"),
    (("time", "event"), [["-1"], ["1"]], None, "column 'time' holds -1; times are not negative"),
    (("y",), [["1", "<2"]], "numbers", "column 'y' is to be numbers, and '<2' is none"),
    (("y",), [["1", "inf"]], "numbers", "'inf' is none"),
    (("a", "b"), [["1"], ["1"]], "classes", r"2 columns \(a, b\) cannot be classes; 1 is wanted"),
    (("a",), [["1"]], "survival", "cannot be survival; 2 are wanted"),
    (("y",), [["1,234", "2,345"]], None, "'1,234', which may be 1234 or 1.234"),
    (
        ("y",),
        [[f"<{k}" for k in range(30)]],
        None,
        "column 'y' holds numbers with something else among them",
    ),
    (("a",), [["1"]], "ranks", "labels cannot be 'ranks'; there are classes, numbers"),
]


@pytest.mark.parametrize(("names", "columns", "kind", "sentence"), BAD)
def test_what_cannot_be_is_refused(parse, names, columns, kind, sentence):
    with pytest.raises(ValueError, match=sentence):
        parse(names, columns, kind)
