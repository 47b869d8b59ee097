"""Texts as archives write them, small and made up."""

import numpy as np
import pytest

from absentia.papers.data import _texts


def test_plain_tables():
    assert _texts.fields("1, 2,x\n\n3,4 ,y\n") == [["1", "2", "x"], ["3", "4", "y"]]
    assert _texts.fields("  1   2\r\n 3\t4 \r\n", None) == [["1", "2"], ["3", "4"]]
    np.testing.assert_array_equal(
        _texts.numbers([["1", "?"], ["-.5e1", "NA"]]), [[1, np.nan], [-5, np.nan]]
    )
    with pytest.raises(ValueError, match="line 3 has 1 fields, the first 2"):
        _texts.fields("1,2\n\n3\n")
    with pytest.raises(ValueError, match="the file is empty"):
        _texts.fields("\n\n")
    for cell in ("<html>", "1_0"):
        with pytest.raises(ValueError, match="is no number"):
            _texts.number(cell)


def test_classes_by_a_table():
    assert _texts.coded(["g", "b"], {"b": -1, "g": 1}).tolist() == [1, -1]
    with pytest.raises(ValueError, match=r"class 'x' is none of \['b', 'g'\]"):
        _texts.coded(["g", "x"], {"b": -1, "g": 1})


def test_libsvm_lines():
    X, y = _texts.libsvm("+1 1:0.5 3:-2\n-1 2:7 # a comment\n\n-1\n")
    np.testing.assert_array_equal(X, [[0.5, 0, -2], [0, 7, 0], [0, 0, 0]])
    np.testing.assert_array_equal(y, [1, -1, -1])
    for bad in ("1 0:1", "1 2:1 1:1", "1 a:1", "1 5", "1 99999999:1"):
        with pytest.raises(ValueError, match=r"line 1: .* is no place:value, or out of order"):
            _texts.libsvm(bad)


DENSE = """% about
@RELATION 'a relation'

@attribute 'first one' REAL
@ATTRIBUTE "it\\'s" numeric
@attribute class {tested_negative,tested_positive}
@DATA
1,?,tested_positive
% in between
 -2.5, 3 , 'tested_negative'
"""


def test_arff_dense():
    found = _texts.arff(DENSE)
    assert found.names == ["first one", "it's", "class"]
    assert found.column(-1) == ["tested_positive", "tested_negative"]
    np.testing.assert_array_equal(
        _texts.numbers([row[:-1] for row in found.rows]), [[1, np.nan], [-2.5, 3]]
    )


def test_arff_sparse_and_labels_with_spaces_between():
    text = "@relation r\n@attribute a numeric\n@attribute b {0, 1}\n@attribute c {0,1}\n@data\n{0 2.5,2 1}\n{}\n0,1,1\n"
    assert _texts.arff(text).rows == [["2.5", "0", "1"], ["0", "0", "0"], ["0", "1", "1"]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<html>\n", "line 1 is no line of an ARFF file"),
        ("@relation r\n@attribute a numeric\n", "holds no @data"),
        ("@attribute a numeric\n@data\n1,2\n", "line 3 has 2 fields for 1 attributes"),
        ("@attribute a numeric\n@data\n{3 1}\n", "is of none of 1 attributes"),
        ("@attribute a\n@data\n1\n", "line 1 declares no attribute"),
        ("@data\n", "declares no attributes or holds no data"),
    ],
)
def test_arff_that_is_none(text, said):
    with pytest.raises(ValueError, match=said):
        _texts.arff(text)


@pytest.mark.parametrize(
    "text",
    [
        "#c\n@problemName U\n@classLabel true 1 2\n@data\n0.5,1.5,-2:2\n1,2,3:1\n",
        "2\t0.5\t1.5\t-2\n1\t1\t2\t3\n",
        "  2.0000000e+00  5e-1  1.5 -2\n  1.0  1 2 3\n",
        "2,0.5,1.5,-2\n1,1,2,3\n",
    ],
)
def test_series_of_any_ending(text):
    X, y = _texts.series(text)
    np.testing.assert_array_equal(X, [[0.5, 1.5, -2], [1, 2, 3]])
    assert y.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("@data\n", "holds no series"),
        ("@data\n1,2:3:4\n", "line 2 is no series of one dimension"),
        ("1 2 3\n1 2\n", "line 2 has 1 values, the first 2"),
        ("1.5 2 3\n", "no whole numbers"),
        ("<html> 1\n", "is no number"),
    ],
)
def test_series_that_are_none(text, said):
    with pytest.raises(ValueError, match=said):
        _texts.series(text)
