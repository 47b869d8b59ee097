"""Parquet tables: numbers go to one array, ids and texts stay as they are written."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from absentia import io

pytest.importorskip("pyarrow")


def written(tmp_path, frame, **more):
    frame.to_parquet(tmp_path / "t.parquet", **more)
    return io.read(tmp_path / "t.parquet")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_keep_their_precision_order_and_gaps(tmp_path, dtype):
    X = np.random.default_rng(0).normal(size=(150, 150)).astype(dtype)
    X[3, 4] = X[7, 149] = np.nan
    frame = pd.DataFrame(X, [f"s{k}" for k in range(150)], [f"g{j}" for j in range(150)])
    views = written(tmp_path, frame, row_group_size=40)
    assert views.block("t").dtype == dtype
    np.testing.assert_array_equal(views.block("t"), X)
    assert views.features("t").tolist() == frame.columns.tolist()
    assert views.ids.tolist() == frame.index.tolist()


def test_columns_of_all_kinds_stand_where_they_stood(tmp_path):
    frame = pd.DataFrame(
        {
            "g.1": [1.5, np.nan, 2.5],
            "stage": ["late", None, "early"],
            "n": pd.array([1, None, 3], dtype="Int64"),
            "id": [1, 2, 3],
            "g": np.array([1, 2, 3], dtype=np.int32),
            "smokes": [True, False, True],
        }
    )
    views = written(tmp_path, frame)
    assert views.ids.tolist() == ["1", "2", "3"]
    assert views.features("t").tolist() == ["g.1", "stage", "n", "g", "smokes"]
    assert views.levels("t") == {"stage": ("early", "late")}
    wanted = [[1.5, 1, 1, 1, 1], [np.nan, np.nan, np.nan, 2, 0], [2.5, 0, 3, 3, 1]]
    np.testing.assert_array_equal(views.block("t"), wanted)


def test_whole_numbers_that_doubles_cannot_hold_are_ids_all_the_same(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0], "barcodes": [2**53 + 1, 2**53 + 3]})
    frame.to_parquet(tmp_path / "t.parquet")
    views = io.read(tmp_path / "t.parquet", id="barcodes")
    assert views.ids.tolist() == [str(2**53 + 1), str(2**53 + 3)]


def test_decimal_commas_do_not_touch_columns_of_declared_numbers(tmp_path):
    frame = pd.DataFrame({"id": ["a", "b"], "x": [1.234, 2.345], "y": ["0,5", "1,25"]})
    views = written(tmp_path, frame)
    np.testing.assert_array_equal(views.block("t"), [[1.234, 0.5], [2.345, 1.25]])


def test_reading_takes_little_more_than_the_array(tmp_path):
    X = np.random.default_rng(0).normal(size=(2000, 400))
    pd.DataFrame(X, [f"s{k}" for k in range(2000)]).add_prefix("g").to_parquet(tmp_path / "t.parquet")
    io.read(tmp_path / "t.parquet")
    tracemalloc.start()
    io.read(tmp_path / "t.parquet")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.6 * X.nbytes  # Arrow's own, of 64 columns at a time, is not counted
