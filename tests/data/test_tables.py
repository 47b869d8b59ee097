"""Tables of numbers as they come: frames, arrays, sparse and masked ones, with names or without."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from absentia.data._tables import array_parts, as_table, frame_part, is_frame, named_part


@pytest.mark.parametrize(
    ("table", "dtype"),
    [
        ([[1, 2]], np.float64),
        (np.ones((1, 2), np.float32), np.float32),
        (np.ones((1, 2), np.float16), np.float64),
        (np.ones((1, 2), bool), np.float64),
        (np.array([[1, True]], object), np.float64),
        (scipy.sparse.csr_array(np.ones((1, 2), np.float32)), np.float32),
        (scipy.sparse.coo_array(np.ones((1, 2), int)), np.float64),
    ],
    ids=str,
)
def test_numbers_of_any_kind_become_floats_and_single_precision_stays(table, dtype):
    found = as_table("a", table)
    assert found.dtype == dtype
    assert found.shape == (1, 2)
    assert scipy.sparse.issparse(found) == scipy.sparse.issparse(table)


def test_what_is_masked_or_none_is_missing():
    masked = np.ma.array([[1.0, 2.0]], mask=[[False, True]])
    for table in (
        masked,
        np.ma.array([[1, 2]], mask=[[0, 1]], dtype=object),
        np.array([[1.0, None]], object),
    ):
        np.testing.assert_array_equal(as_table("a", table), [[1.0, np.nan]])


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ([["1.5", "2"]], "view 'a': values of type <U3 are not numbers; encode them"),
        (np.array([[1, "2"]], object), "view 'a': values of type object are not numbers, e.g. '2'"),
        ([[1j, 2.0]], "view 'a': values of type complex128 are not numbers"),
        ([[1.0], [1.0, 2.0]], "view 'a' is no table of numbers"),
        (np.array([[10**400]], object), "view 'a' is no table of numbers"),
        (np.ones(3), r"view 'a' has shape \(3,\); wanted two dimensions"),
        (np.ones((3, 0)), "at least one feature"),
    ],
    ids=str,
)
def test_what_is_no_table_is_refused_by_view(table, sentence):
    with pytest.raises(ValueError, match=sentence):
        as_table("a", table)


def test_a_frame_brings_its_ids_and_features():
    frame = pd.DataFrame({"p": [1, 2], "q": [0.5, np.nan]}, index=["x", "y"])
    assert is_frame(frame)
    assert not is_frame(frame["p"])
    assert not is_frame(frame.to_numpy())
    part = frame_part("a", frame)
    assert part.ids.tolist() == ["x", "y"]
    assert part.features.tolist() == ["p", "q"]
    np.testing.assert_array_equal(part.values, [[1, 0.5], [2, np.nan]])
    assert part.levels == {}
    coded = frame_part(
        "a", frame.assign(r=["u", None], s=pd.Categorical(["lo", "hi"], ["lo", "mid", "hi"]))
    )
    assert coded.levels == {"r": ("u",), "s": ("lo", "mid", "hi")}
    np.testing.assert_array_equal(coded.values, [[1, 0.5, 0, 0], [2, np.nan, np.nan, 2]])


def test_a_frame_of_another_library_has_its_ids_in_a_column():
    polars = pytest.importorskip("polars")
    columns = {"age": [50, None], "stage": ["II", ""], "Patient": ["x", "y"], "well": [True, False]}
    part = frame_part("a", polars.DataFrame(columns))
    assert part.ids.tolist() == ["x", "y"]
    assert part.features.tolist() == ["age", "stage", "well"]
    assert part.levels == {"stage": ("II",)}
    np.testing.assert_array_equal(part.values, [[50, 0, 1], [np.nan, np.nan, 0]])
    with pytest.raises(ValueError, match="view 'a': a polars frame has no index; call the column"):
        frame_part("a", polars.DataFrame({"age": [1]}))
    import datetime

    days = {"id": ["x"], "day": [datetime.date(2020, 1, 1)]}
    with pytest.raises(ValueError, match=r"'day' \(dates\)"):
        frame_part("a", polars.DataFrame(days))


@pytest.mark.parametrize(
    ("ids", "features", "sentence"),
    [
        (["x", None], ["p"], r"view 'a': the id of sample 1 is missing \(None\)"),
        ([1.0, np.nan], ["p"], "the id of sample 1 is missing"),
        (pd.MultiIndex.from_tuples([("x", np.nan), ("y", 1)]), ["p"], "the id of sample 0 is missing"),
        ([{}, {}], ["p"], "cannot be an id"),
        ("xy", ["p"], "the ids are a str"),
        (
            ["x", "y"],
            ["p", "q", 1, "1", "p"],
            r"view 'a': 2 column name\(s\) appear more than once, e.g. 'p'",
        ),
    ],
)
def test_ids_are_there_and_features_differ(ids, features, sentence):
    with pytest.raises(ValueError, match=sentence):
        named_part("a", ids, np.ones((2, len(features))), features)


def test_arrays_have_one_row_for_every_sample_and_share_their_ids():
    one, other = array_parts(("a", "b"), [np.ones((2, 1)), [[1.0, 2.0]] * 2], ["x", "y"])
    assert one.ids is other.ids
    assert one.features is None
    assert array_parts(("a",), [np.ones((2, 1))], None)[0].ids.tolist() == [0, 1]
    with pytest.raises(ValueError, match="view 'b' has 3 rows but view 'a' has 2"):
        array_parts(("a", "b"), [np.ones((2, 1)), np.ones((3, 1))], None)
