"""Tables of every kind: the same frame whichever it comes from."""

import datetime

import numpy as np
import pandas as pd
import pytest

import absentia
import mutations
from absentia import io
from absentia.files import _formats as formats
from absentia.files._frames import Spec, read_frame

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
    frame, notes = read_frame(written(FRAME, tmp_path / f"t{ending}"))
    assert notes == ()
    assert frame.index.tolist() == ["p1", "p2", "p3"]
    np.testing.assert_array_equal(frame[["age", "n"]].to_numpy(float), [[50.5, 1], [np.nan, 2], [61, 3]])
    assert frame["sex"].tolist() == ["f", "m", None]


def test_ids_of_whole_numbers_are_texts_without_a_point(tmp_path):
    for ids in ([1, 2, 3], [1.0, 2.0, 3.0]):
        for ending in (".parquet", ".feather", ".xlsx"):
            path = written(pd.DataFrame({"id": ids, "a": [1.0, 2.0, 3.0]}), tmp_path / f"t{ending}")
            assert read_frame(path)[0].index.tolist() == ["1", "2", "3"]


def test_an_index_that_was_kept_holds_the_ids(tmp_path):
    frame = FRAME.drop(columns="patient")
    for index in (["x", "y", "z"], pd.Index([7, 8, 9], name="key")):
        path = written(frame.set_axis(pd.Index(index), axis=0), tmp_path / "t.parquet")
        assert read_frame(path)[0].index.tolist() == [str(x) for x in index]
        assert list(read_frame(path)[0]) == ["age", "n", "sex"]


def test_categories_and_dates_with_declared_types(tmp_path):
    frame = FRAME.assign(stage=pd.Categorical(["I", "II", "I"]), code=pd.Categorical([1, 2, 1]))
    found, _ = read_frame(written(frame, tmp_path / "t.feather"))
    assert found["stage"].tolist() == ["I", "II", "I"]
    assert found["code"].tolist() == ["1", "2", "1"]
    days = [datetime.datetime(2020, 1, day) for day in (1, 2, 3)]
    for ending in (".parquet", ".feather", ".xlsx"):
        with pytest.raises(
            io.FileError, match=r"columns 'day' \('2020-01-01' in line \d\), 'night'.* hold dates"
        ):
            read_frame(written(FRAME.assign(day=days, night=days), tmp_path / f"d{ending}"))
    with pytest.raises(io.FileError, match=r"column 'many'.*holds neither numbers nor texts"):
        read_frame(written(FRAME.assign(many=[[1], [2], [3]]), tmp_path / "d.parquet"))


def test_sheets(tmp_path):
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as book:
        FRAME.to_excel(book, sheet_name="one", index=False, startrow=2)
        FRAME.assign(n=[7, 8, 9]).to_excel(book, sheet_name="two", index=False)
    frame, notes = read_frame(path)
    assert notes == ("t.xlsx: only the first sheet, 'one', is read; 1 more are not",)
    assert frame["n"].tolist() == [1, 2, 3]
    assert read_frame(path, Spec(sheet="two"))[0]["n"].tolist() == [7, 8, 9]
    with pytest.raises(io.FileError, match="no sheet 'three'"):
        read_frame(path, Spec(sheet="three"))
    with pytest.raises(io.FileError, match=r"sheet is for .xlsx files"):
        read_frame(written(FRAME, tmp_path / "t.csv"), Spec(sheet="one"))


@pytest.mark.parametrize("ending", formats.BINARY)
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

    monkeypatch.setattr(formats, "import_module", refuse)
    with pytest.raises(io.FileError, match=r"need the package \w+: pip install 'absentia\[io\]'"):
        absentia.read(path)


def test_what_is_no_table_is_said(tmp_path):
    with pytest.raises(ValueError, match="is no table that is known"):
        formats.read_raw(tmp_path / "t.doc")
    assert formats.is_table(tmp_path / "T.CSV")
    assert not formats.is_table(tmp_path / "t.npz")


def test_formulas_are_values_or_refused(tmp_path):
    path = written(FRAME.assign(n=["=1+1", "=1+2", "3"]), tmp_path / "t.xlsx")
    with pytest.raises(io.FileError, match=r"2 cell\(s\), the first in line 2, hold formulas"):
        read_frame(path)
    text = mutations.members(path.read_bytes())
    sheet = [
        (name, data.replace(b"<v></v>", b"<v>7</v>").replace(b"<v />", b"<v>7</v>")) for name, data in text
    ]
    path.write_bytes(mutations.packed(sheet))
    assert read_frame(path)[0]["n"].tolist() == [7, 7, 3]


def test_a_line_far_down_does_not_fill_the_memory(tmp_path, monkeypatch):
    path = written(FRAME, tmp_path / "t.xlsx")
    far = [
        (name, data.replace(b'<row r="4"', b'<row r="9999999"'))
        for name, data in mutations.members(path.read_bytes())
    ]
    path.write_bytes(mutations.packed(far))
    with pytest.raises(io.FileError, match="more than 1048576 lines"):
        read_frame(path)
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "1M")
    with pytest.raises(io.FileError, match="the cells of this sheet would take"):
        read_frame(path)


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
