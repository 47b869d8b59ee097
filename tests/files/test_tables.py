"""Tables of every kind: the same frame whichever it comes from."""

import datetime

import numpy as np
import pandas as pd
import pytest

import absentia
from absentia import MKLClassifier, ViewKernels, io
from absentia.files import _base, _tables
from absentia.files._frames import _read_frame
from helpers import corrupted_files

pytest.importorskip("pyarrow")
pytest.importorskip("openpyxl")

FRAME = pd.DataFrame(
    {"patient": ["p1", "p2", "p3"], "age": [50.5, np.nan, 61.0], "n": [1, 2, 3], "sex": ["f", "m", None]}
)


def written(frame, path, **options):
    if path.suffix == ".parquet":
        frame.to_parquet(path, **options)
    elif path.suffix == ".feather":
        frame.to_feather(path, **options)
    elif path.suffix == ".xlsx":
        frame.to_excel(path, **({"index": False} | options))
    else:
        frame.to_csv(path, **({"index": False} | options))
    return path


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather", ".xlsx", ".tsv.gz"])
def test_every_kind_gives_the_same_frame(tmp_path, ending):
    frame, notes = _read_frame(written(FRAME, tmp_path / f"t{ending}"))
    assert notes == ()
    assert frame.index.tolist() == ["p1", "p2", "p3"]
    np.testing.assert_array_equal(frame[["age", "n"]].to_numpy(float), [[50.5, 1], [np.nan, 2], [61, 3]])
    assert frame["sex"].tolist() == ["f", "m", None]


def test_ids_of_whole_numbers_are_texts_without_a_point(tmp_path):
    for ids in ([1, 2, 3], [1.0, 2.0, 3.0]):
        for ending in (".parquet", ".feather", ".xlsx"):
            path = written(pd.DataFrame({"id": ids, "a": [1.0, 2.0, 3.0]}), tmp_path / f"t{ending}")
            assert _read_frame(path)[0].index.tolist() == ["1", "2", "3"]


def test_an_index_that_was_kept_holds_the_ids(tmp_path):
    frame = FRAME.drop(columns="patient")
    for index in (["x", "y", "z"], pd.Index([7, 8, 9], name="key")):
        path = written(frame.set_axis(pd.Index(index), axis=0), tmp_path / "t.parquet")
        assert _read_frame(path)[0].index.tolist() == [str(x) for x in index]
        assert list(_read_frame(path)[0]) == ["age", "n", "sex"]


def test_categories_and_dates_with_declared_types(tmp_path):
    frame = FRAME.assign(stage=pd.Categorical(["I", "II", "I"]), code=pd.Categorical([1, 2, 1]))
    found, _ = _read_frame(written(frame, tmp_path / "t.feather"))
    assert found["stage"].tolist() == ["I", "II", "I"]
    assert found["code"].tolist() == ["1", "2", "1"]
    days = [datetime.datetime(2020, 1, day) for day in (1, 2, 3)]
    for ending in (".parquet", ".feather", ".xlsx"):
        with pytest.raises(
            io.FileError, match=r"columns 'day' \('2020-01-01' in line \d\), 'night'.* hold dates"
        ):
            _read_frame(written(FRAME.assign(day=days, night=days), tmp_path / f"d{ending}"))
    with pytest.raises(io.FileError, match=r"column 'many'.*holds neither numbers nor texts"):
        _read_frame(written(FRAME.assign(many=[[1], [2], [3]]), tmp_path / "d.parquet"))


def test_single_precision_stays_where_a_file_declares_it(tmp_path):
    single = pd.DataFrame({"a": [0.1, np.nan], "b": [2, 3]}, dtype=np.float32)
    for frame in (single, single.convert_dtypes(convert_integer=False)):
        for ending in (".parquet", ".feather"):
            path = written(frame.assign(id=["p", "q"]), tmp_path / f"t{ending}")
            block = absentia.read(path).block("t")
            assert block.dtype == np.float32
            np.testing.assert_array_equal(block, single)
    path = written(single.assign(id=["p", "q"], c=[1.0, 2.0]), tmp_path / "t.parquet")
    assert absentia.read(path).block("t").dtype == np.float64


def test_sheets(tmp_path):
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as book:
        FRAME.to_excel(book, sheet_name="one", index=False, startrow=2)
        FRAME.assign(n=[7, 8, 9]).to_excel(book, sheet_name="two", index=False)
    frame, notes = _read_frame(path)
    assert notes == ("t.xlsx: only the first sheet, 'one', is read; 1 more are not",)
    assert frame["n"].tolist() == [1, 2, 3]
    assert _read_frame(path, sheet="two")[0]["n"].tolist() == [7, 8, 9]


@pytest.mark.parametrize("ending", [".parquet", ".pq", ".feather", ".xlsx"])
def test_damaged_files_are_refused(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    path.write_bytes(b"PK\3\4 nothing that was ever a table")
    with pytest.raises(io.FileError, match=r"^\S+: not a .* damaged"):
        absentia.read(path)
    path.write_bytes(b"")
    with pytest.raises(io.FileError, match="damaged"):
        absentia.read(path)


def test_what_a_file_unpacks_to_is_bounded(tmp_path, monkeypatch):
    long = pd.DataFrame({"id": np.arange(300_000), "a": 0.0})
    paths = [written(long, tmp_path / "t.parquet"), written(long, tmp_path / "t.feather")]
    paths.append(written(long[:5000], tmp_path / "t.xlsx"))
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "1M")
    for path in paths:
        with pytest.raises(io.FileError, match=r"would take .* are allowed"):
            absentia.read(path)


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".xlsx"])
def test_a_package_that_is_not_there_is_named(tmp_path, monkeypatch, ending):
    path = written(FRAME, tmp_path / f"t{ending}")

    def refuse(name, *_, **__):
        raise ImportError(name)

    monkeypatch.setattr(_base, "import_module", refuse)
    with pytest.raises(io.FileError, match=r'needs \w+: pip install "absentia\[io\]"'):
        absentia.read(path)


def test_what_is_no_table_is_said(tmp_path):
    with pytest.raises(ValueError, match="is no table that is known"):
        _tables.read_raw_table(tmp_path / "t.doc")
    assert _tables.is_table(tmp_path / "T.CSV")
    assert not _tables.is_table(tmp_path / "t.npz")


def test_formulas_are_values_or_refused(tmp_path):
    path = written(FRAME.assign(n=["=1+1", "=1+2", "3"]), tmp_path / "t.xlsx")
    with pytest.raises(io.FileError, match=r"2 cell\(s\), the first in line 2, hold formulas"):
        _read_frame(path)
    text = corrupted_files.members(path.read_bytes())
    sheet = [
        (name, data.replace(b"<v></v>", b"<v>7</v>").replace(b"<v />", b"<v>7</v>")) for name, data in text
    ]
    path.write_bytes(corrupted_files.packed(sheet))
    assert _read_frame(path)[0]["n"].tolist() == [7, 7, 3]


def test_a_line_far_down_does_not_fill_the_memory(tmp_path, monkeypatch):
    path = written(FRAME, tmp_path / "t.xlsx")
    far = [
        (name, data.replace(b'<row r="4"', b'<row r="9999999"'))
        for name, data in corrupted_files.members(path.read_bytes())
    ]
    path.write_bytes(corrupted_files.packed(far))
    with pytest.raises(io.FileError, match="more than 1048576 lines"):
        _read_frame(path)
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "1M")
    with pytest.raises(io.FileError, match="the cells of this sheet would take"):
        _read_frame(path)


def test_places_outside_a_feather_file_are_refused(tmp_path):
    """Texts that begin and end where the file says: followed blindly, they end the process."""
    import struct

    pa = pytest.importorskip("pyarrow")
    table = pa.table({"id": ["ab", "cd"], "x": [1.0, 2.0]})
    with pa.ipc.new_file(str(tmp_path / "t.feather"), table.schema) as file:
        file.write_table(table)
    raw = (tmp_path / "t.feather").read_bytes()
    places = struct.pack("<3i", 0, 2, 4)
    assert raw.count(places) == 1
    assert io.read(tmp_path / "t.feather").ids.tolist() == ["ab", "cd"]
    (tmp_path / "t.feather").write_bytes(raw.replace(places, struct.pack("<3i", 0, 2, 2**31 - 1)))
    with pytest.raises(io.FileError, match="not a Feather file, or damaged"):
        io.read(tmp_path / "t.feather")
    (tmp_path / "t.feather").write_bytes(b"FEA1" + raw)
    with pytest.raises(io.FileError, match="version 1"):
        io.read(tmp_path / "t.feather")


def book(path, **sheets):
    with pd.ExcelWriter(path) as content:
        for name, frame in sheets.items():
            frame.to_excel(content, sheet_name=name, index=False, header=len(frame.columns) > 0)
    return path


def test_sheets_are_views(tmp_path):
    other = FRAME.assign(patient=["p2", "p3", "p4"])
    remark = pd.DataFrame({"made by hand": ["yes"]})
    labels = pd.DataFrame({"patient": ["p1", "p2"], "y": ["a", "b"]})
    path = book(
        tmp_path / "t.xlsx", one=FRAME, two=other, about=remark, labels=labels, Sheet3=pd.DataFrame()
    )
    opened = io.open_data(path)
    assert opened.data.names == ("one", "two")
    assert sorted(opened.data.ids.tolist()) == ["p1", "p2", "p3", "p4"]
    assert opened.notes == (
        "t.xlsx: sheet 'labels' is not a view: it is taken for labels",
        "t.xlsx: sheet 'about' is left out: it is no table",
    )
    folder = tmp_path / "d"
    folder.mkdir()
    path.rename(folder / "t.xlsx")
    written(FRAME, folder / "u.csv")
    book(folder / "v.xlsx", any=FRAME, Sheet2=pd.DataFrame())
    assert absentia.read(folder).names == ("t_one", "t_two", "u", "v")
    with pytest.raises(io.FileError, match="no sheet holds a table"):
        absentia.read(book(tmp_path / "e.xlsx", about=remark))


# ------------------------------------------------------------------------- the same data in every format

rng = np.random.default_rng(0)
CLINICAL = pd.DataFrame(
    {
        "age": rng.normal(60, 10, 24).round(3),  # a workbook holds 16 digits
        "smoker": rng.random(24) < 0.5,
        "count": rng.integers(0, 30, 24),
        "stage": rng.choice(["I", "II", "III"], 24),
        "ill": [True, None, *(rng.random(22) < 0.5)],
    },
    index=pd.Index([f"s{k:02}" for k in range(24)], name="id"),
)
CLINICAL.loc[["s03", "s04"], ["age", "stage"]] = None
EXPRESSION = pd.DataFrame(
    rng.normal(size=(20, 3)).round(6), index=CLINICAL.index[4:], columns=["g1", "g2", "g3"]
)
Y = (rng.random(24) < 0.5).astype(int)


def folder_of(ending):
    def write(path, frames):
        path.mkdir()
        for name, frame in frames.items():
            written(frame.reset_index(), path / f"{name}{ending}")
        return path

    return write


def container(path, frames):
    """Ours, made of what the folder of CSV files gives."""
    views = absentia.read(folder_of(".csv")(path.with_suffix(".d"), frames))
    return io.write(path, views) if path.suffix == ".npz" else io.write_mudata(path, views.to_mudata())


def as_arrays(frames):
    whole = {name: frame.reindex(CLINICAL.index).to_numpy(float) for name, frame in frames.items()}
    return {f"view_{name}": table for name, table in whole.items()} | {"ids": np.array(CLINICAL.index)}


def plain_npz(path, frames):
    np.savez(path, **{key: x.astype(str) if key == "ids" else x for key, x in as_arrays(frames).items()})
    return path


def zarr_folder(path, frames):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(path, mode="w", zarr_format=2)
    for key, x in as_arrays(frames).items():
        group.create_array(key, data=x.astype(str) if key == "ids" else x)
    return path


def one_book(path, frames):
    return book(path, **{name: frame.reset_index() for name, frame in frames.items()})


WAYS = [("d", folder_of(f".{x}")) for x in ("csv", "tsv.gz", "parquet", "feather", "xlsx")]
WAYS += [("b.xlsx", one_book), ("b.npz", container), ("b.h5mu", container)]
NUMBERS_ONLY = [("n.npz", plain_npz), ("n.zarr", zarr_folder)]


def probabilities(train, new):
    """Of all samples, in the order of their ids."""
    kernels = ViewKernels()
    order = np.argsort(train.ids)
    K = kernels.fit_transform(train[order])
    model = MKLClassifier(probability=True).fit(K, Y)
    return model.predict_proba(kernels.transform(new[np.argsort(new.ids)]))


@pytest.mark.slow
@pytest.mark.parametrize("categories", [True, False])
def test_the_same_data_give_the_same_predictions_in_every_format(tmp_path, categories):
    columns = list(CLINICAL) if categories else ["age", "smoker", "count"]
    frames = {"clinical": CLINICAL[columns], "expression": EXPRESSION}
    found = {}
    for k, (name, write) in enumerate(WAYS + ([] if categories else NUMBERS_ONLY)):
        place = tmp_path / str(k)
        place.mkdir()
        found[k, name] = absentia.read(write(place / name, frames))
    first = found[0, "d"]
    wanted = probabilities(first, first)
    assert np.ptp(wanted[:, 0]) > 0.01
    for way, views in found.items():
        np.testing.assert_allclose(
            probabilities(views, views), wanted, rtol=0, atol=1e-12, err_msg=str(way)
        )
        np.testing.assert_allclose(
            probabilities(first, views), wanted, rtol=0, atol=1e-12, err_msg=str(way)
        )
