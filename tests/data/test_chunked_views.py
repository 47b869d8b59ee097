"""Views whose features stay in chunks: who has what, in whose order, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from absentia import Views

da = pytest.importorskip("dask.array")
zarr = pytest.importorskip("zarr")
pytest.importorskip("pyarrow")

N = 90


@pytest.fixture
def tables():
    """Two views of ninety people; a third of the rows are absent, one value inside a row is missing."""
    rng = np.random.default_rng(0)
    tables = {name: rng.normal(size=(N, d)).astype(np.float32) for name, d in (("a", 4), ("b", 7))}
    for name, table in tables.items():
        table[rng.random(N) < 0.3] = np.nan
        table[-1 if name == "a" else -2] = 1.0
    row = np.flatnonzero(~np.isnan(tables["a"]).any(axis=1))[3]
    tables["a"][row, 2] = np.nan
    tables["a"][0], tables["b"][0] = 1.0, np.nan
    return {name: table[tables["a"][:, 0] == tables["a"][:, 0]] for name, table in tables.items()}


def write_parquet(folder, table, ids, parts=3, names=None):
    folder.mkdir()
    frame = pd.DataFrame(table, columns=names or [f"f{j}" for j in range(table.shape[1])])
    frame.insert(0, "id", ids)
    for k, part in enumerate(np.array_split(np.arange(len(frame)), parts)):
        frame.iloc[part].to_parquet(folder / f"part-{k}.parquet", index=False, row_group_size=11)


def check_alike(chunked, whole):
    assert chunked.chunked
    assert not whole.chunked
    assert chunked.names == whole.names
    assert chunked.ids.tolist() == whole.ids.tolist()
    assert (chunked.observed == whole.observed).all()
    assert chunked.shape == whole.shape
    assert chunked.missing_values == whole.missing_values
    for name in whole.names:
        np.testing.assert_array_equal(chunked.to_memory().block(name), whole.block(name))


def test_dask_and_zarr_arrays_give_the_views_that_arrays_give(tables, tmp_path):
    whole = Views.from_dict(tables)
    check_alike(Views.from_dask({n: da.from_array(x, chunks=(13, 3)) for n, x in tables.items()}), whole)
    stored = {n: zarr.create_array(tmp_path / n, data=x, chunks=(7, 2)) for n, x in tables.items()}
    check_alike(Views.from_zarr(stored), whole)
    check_alike(Views.from_zarr({n: str(tmp_path / n) for n in tables}), whole)


def test_parquet_files_of_other_people_in_another_order_are_lined_up_by_id(tables, tmp_path):
    rng = np.random.default_rng(1)
    ids = np.array([f"P{k:03d}" for k in range(len(tables["a"]))])
    there = {n: rng.permutation(np.flatnonzero(~np.isnan(x).all(axis=1))) for n, x in tables.items()}
    frames = {n: pd.DataFrame(x[there[n]], ids[there[n]]) for n, x in tables.items()}
    for name, rows in there.items():
        write_parquet(tmp_path / name, tables[name][rows], ids[rows])
    chunked = Views.from_parquet({name: tmp_path / name for name in tables})
    check_alike(chunked, Views.from_dict(frames))
    assert chunked.features("b").tolist() == [f"f{j}" for j in range(7)]
    assert chunked.align({x: k for k, x in enumerate(chunked.ids.tolist())}).tolist() == list(
        range(len(chunked))
    )


def test_samples_are_picked_hidden_and_selected_without_being_read(tables):
    whole = Views.from_dict(tables)
    chunked = Views.from_dask({n: da.from_array(x, chunks=(13, -1)) for n, x in tables.items()})
    index = np.random.default_rng(2).permutation(len(whole))[:40]
    keep = np.random.default_rng(3).random((40, 2)) < 0.8
    check_alike(chunked[index].hide(keep).select(["b", "a"]), whole[index].hide(keep).select(["b", "a"]))


def test_an_infinite_value_is_named_by_view_sample_and_column(tables):
    tables["b"][5, 3] = np.inf
    tables["b"][5] = np.where(np.isnan(tables["b"][5]), 0.0, tables["b"][5])
    with pytest.raises(ValueError, match=r"view 'b', sample 5, column 3: infinite"):
        Views.from_dask({n: da.from_array(x, chunks=(13, -1)) for n, x in tables.items()})


def test_texts_repeated_ids_and_other_columns_are_refused_by_name(tmp_path):
    X = np.ones((12, 2))
    write_parquet(tmp_path / "twice", X, [*range(11), 3])
    with pytest.raises(ValueError, match="view 'v': 1 sample id"):
        Views.from_parquet({"v": tmp_path / "twice"})
    pd.DataFrame({"id": [1, 2], "stage": ["I", "II"]}).to_parquet(tmp_path / "texts.parquet")
    with pytest.raises(ValueError, match=r"column 'stage' is .*string.*numbers"):
        Views.from_parquet({"v": tmp_path / "texts.parquet"})
    write_parquet(tmp_path / "odd", X, range(12), parts=2)
    pd.DataFrame({"id": [99], "f0": [1.0], "g": [2.0]}).to_parquet(tmp_path / "odd" / "part-9.parquet")
    with pytest.raises(ValueError, match="column 'f1' is in some of its files"):
        Views.from_parquet({"v": tmp_path / "odd"})
    pd.DataFrame({"who": [1, 2], "f": [1.0, 2.0]}).to_parquet(tmp_path / "noid.parquet", index=False)
    with pytest.raises(ValueError, match=r"which column .* holds the sample ids"):
        Views.from_parquet({"v": tmp_path / "noid.parquet"})
    assert Views.from_parquet({"v": tmp_path / "noid.parquet"}, id="who").ids.tolist() == [1, 2]


def test_columns_of_a_file_in_another_order_go_by_name(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 3))
    write_parquet(tmp_path / "v", X[:12], range(12), parts=2)
    frame = pd.DataFrame(X[12:, ::-1], columns=["f2", "f1", "f0"])
    frame.insert(1, "id", range(12, 20))
    frame.to_parquet(tmp_path / "v" / "part-7.parquet", index=False)
    views = Views.from_parquet({"v": tmp_path / "v"})
    np.testing.assert_array_equal(views.to_memory().block("v"), X)


def test_what_would_not_fit_into_memory_is_refused_before_it_is_read(tables, monkeypatch):
    chunked = Views.from_dask({n: da.from_array(x, chunks=(13, -1)) for n, x in tables.items()})
    monkeypatch.setenv("ABSENTIA_MEMORY", "1k")
    with pytest.raises(ValueError, match="in chunks, made an array, take about"):
        chunked.to_memory()
