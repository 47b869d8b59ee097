"""Text tables, .h5ad and .h5mu files whose features stay in chunks: the same as those that are read."""

import re
import tracemalloc
import warnings

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import absentia
from absentia import AbsenceWarning, FactorLogistic, io
from helpers.omics import saved

pytest.importorskip("pyarrow")
anndata, mudata = pytest.importorskip("anndata"), pytest.importorskip("mudata")


def same(chunked, read):
    """Whether views in chunks are those in memory, to the last digit."""
    assert chunked.names == read.names
    assert chunked.ids.tolist() == read.ids.tolist()
    np.testing.assert_array_equal(chunked.observed, read.observed)
    in_memory = chunked.to_memory()
    for name in read.names:
        block = read.block(name)
        block = block.toarray() if scipy.sparse.issparse(block) else block
        np.testing.assert_array_equal(in_memory.block(name), block)
        assert in_memory.block(name).dtype == block.dtype
        assert chunked.features(name).tolist() == read.features(name).tolist()
        assert chunked.levels(name) == read.levels(name)


# --------------------------------------------------------------------------------------------- text tables


def write_folder(folder, n=1500):
    """Two tables of numbers written in many ways, one of categories, and labels."""
    rng = np.random.default_rng(0)
    ids = np.array([f"s{k:04d}" for k in range(n)])
    folder.mkdir()
    for name, width, sep in (("rna", 40, ","), ("image", 25, "\t")):
        has = rng.permutation(n)[: n - 50 if name == "rna" else n]
        X = pd.DataFrame(rng.normal(size=(len(has), width)), columns=[f"{name}{j}" for j in range(width)])
        X = X.mask(rng.random(X.shape) < 0.05)
        X.iloc[7] = np.nan
        X.insert(0, "id", ids[has])
        X["truth"] = np.where(rng.random(len(has)) < 0.5, "True", "false")
        X["kilo"] = [f"{x:.2f} kg".replace(".", ",") for x in 90 * rng.random(len(has))]
        X["when"] = "2024-03-01"
        X.to_csv(folder / f"{name}.{'csv' if sep == ',' else 'tsv.gz'}", index=False, sep=sep, na_rep="NA")
    clinical = pd.DataFrame({"id": ids, "sex": rng.choice(["f", "m"], n), "age": rng.integers(20, 90, n)})
    clinical.to_csv(folder / "clinical.csv", index=False)
    pd.DataFrame({"id": ids, "y": rng.choice(["a", "b"], n)}).to_csv(folder / "labels.csv", index=False)
    return folder


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "big")


def test_text_tables_in_chunks_are_those_in_memory(folder, tmp_path, monkeypatch):
    ignore = ["when"]
    read = io.read(folder, ignore=ignore)
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "1M")
    with pytest.raises(io.FileError, match=r"at most .* are allowed.*--chunks-in, chunks_in="):
        io.read(folder, ignore=ignore)
    for _ in range(2):  # written, and taken as it is there
        with pytest.warns(AbsenceWarning, match=r"numbers of .* stay in .*cache, as chunks"):
            chunked = io.read(folder, ignore=ignore, chunks_in=tmp_path / "cache")
        same(chunked, read)
        assert chunked.chunked
        assert isinstance(chunked.block("clinical"), np.ndarray)
        assert {path.suffix for path in (tmp_path / "cache").iterdir()} == {".parquet", ".json"}
    monkeypatch.delenv("ABSENTIA_MAX_BYTES")
    assert not io.read(folder, ignore=ignore, chunks_in=tmp_path / "cache", chunks=False).chunked


def test_tables_that_changed_are_written_anew_and_those_of_others_left(folder, tmp_path):
    cache, options = tmp_path / "cache", {"ignore": ["when", "clinical:*"], "chunks": True}
    io.read(folder, chunks_in=cache, **options)
    before = (cache / "rna.parquet").stat().st_mtime_ns
    io.read(folder, chunks_in=cache, **options)
    assert (cache / "rna.parquet").stat().st_mtime_ns == before
    text = (folder / "rna.csv").read_text().replace("rna0", "other", 1)
    (folder / "rna.csv").write_text(text)
    assert io.read(folder, chunks_in=cache, **options).features("rna")[0] == "other"
    options["ignore"] = [*options["ignore"], "rna:other"]
    assert io.read(folder, chunks_in=cache, **options).features("rna")[0] == "rna1"
    (cache / "rna.parquet.json").unlink()
    with pytest.raises(io.FileError, match="is there and not of absentia"):
        io.read(folder, chunks_in=cache, **options)


@pytest.mark.parametrize(
    ("line", "cell", "why"),
    [
        (9, "3,5,1", r"line 9 has 4 fields, line 8 has 3"),
        (9, "<0.5,1", r"column 'a' \('<0\.5' in line 9\) holds numbers with something else"),
        (400, "x,1", r"column 'a' \('x' in line 400\) holds numbers with something else"),
        (9, "inf,1", "infinite or too large"),
    ],
)
def test_what_is_wrong_is_said_as_of_tables_in_memory(tmp_path, line, cell, why):
    lines = ["id,a,b", *(f"s{k},{k / 7},{k}" for k in range(500))]
    lines[line - 1] = f"s{line - 2},{cell}"
    (tmp_path / "big").mkdir()
    (tmp_path / "big" / "v.csv").write_text("\n".join(lines))
    said = []
    for options in ({}, {"chunks": True, "chunks_in": tmp_path / "cache"}):
        with pytest.raises(ValueError, match=why) as caught:
            io.read(tmp_path / "big", **options)
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_categories_do_not_stay_in_chunks(folder, tmp_path):
    with pytest.raises(io.FileError, match=r"clinical\.csv: column\(s\) 'sex' are categories.*ignore"):
        io.read(folder, chunks=True, chunks_in=tmp_path / "cache", ignore=["when"])
    assert not [path for path in (tmp_path / "cache").iterdir() if path.name.startswith("clinical")]


def test_a_table_is_converted_in_little_memory(tmp_path, monkeypatch):
    """Of 3.2 MB of numbers some are in memory at a time."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(4000, 100)).round(4), [f"s{k}" for k in range(4000)])
    (tmp_path / "big").mkdir()
    table.to_csv(tmp_path / "big" / "v.csv")
    read = io.read(tmp_path / "big")
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "2M")
    monkeypatch.setattr("absentia.files._chunks._GROUP_BYTES", 2**18)
    monkeypatch.setattr("absentia.data._chunked_views.PIECE_BYTES", 2**18)
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AbsenceWarning)
            chunked = io.read(tmp_path / "big", chunks_in=tmp_path / "cache")
        assert tracemalloc.get_traced_memory()[1] < 12e6 < 4 * read.block("v").nbytes
    finally:
        tracemalloc.stop()
    same(chunked, read)


# -------------------------------------------------------------------------------------------- h5ad and h5mu


def make_anndata(n, width, kind, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    ids = pd.Index([f"c{k:03d}" for k in rng.permutation(n)])
    X = np.where(rng.random((n, width)) < 0.6, 0, rng.normal(size=(n, width)) * 5).astype(dtype)
    data = anndata.AnnData(
        scipy.sparse.csr_matrix(X) if kind == "csr" else X,
        obs=pd.DataFrame({"y": rng.choice(["a", "b"], n)}, index=ids),
        var=pd.DataFrame(index=[f"f{j}" for j in range(width)]),
    )
    data.layers["log"] = 2 * data.X
    data.obsm["X_pca"] = rng.normal(size=(n, 3))
    data.obsm["scores"] = pd.DataFrame(rng.normal(size=(n, 2)), index=ids, columns=["u", "v"])
    data.obsp["kernel"] = np.eye(n)
    return data


@pytest.fixture
def container(tmp_path):
    parts = {
        "rna": make_anndata(60, 20, "csr"),
        "adt": make_anndata(40, 7, "dense", np.float64, 1),
        "counts": make_anndata(50, 5, "dense", np.int32, 2),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return saved(tmp_path / "a.h5mu", mudata.MuData(parts))


@pytest.mark.parametrize(
    "options", [{}, {"layer": "log"}, {"use_rep": "X_pca"}, {"use_rep": "rna=scores,adt=X_pca"}]
)
def test_matrices_in_chunks_are_those_in_memory(container, options):
    read, chunked = io.read(container, **options), io.read(container, chunks=True, **options)
    assert chunked.chunked
    assert not read.chunked
    same(chunked, read)


def test_large_files_stay_in_chunks_and_labels_are_found_in_them(container, tmp_path, monkeypatch):
    read, y = io.read(container, labels="rna:y")
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "30k")
    with pytest.raises(io.FileError, match=r"at most .* are allowed"):
        io.read(container, chunks=False)
    with pytest.warns(AbsenceWarning, match=r"of features stay in a\.h5mu, as chunks"):
        chunked, again = io.read(container, labels="rna:y")
    assert again.tolist() == y.tolist()
    same(chunked, read)
    known = np.array([label is not None for label in y])
    models = [FactorLogistic().fit(data[known], y[known].astype(str)) for data in (read, chunked)]
    one, two = (model.predict_proba(data) for model, data in zip(models, (read, chunked), strict=True))
    np.testing.assert_allclose(one, two, atol=1e-4)


def test_matrices_that_cannot_stay_in_chunks_are_refused(tmp_path):
    data = make_anndata(20, 6, "csr")
    with pytest.raises(io.FileError, match="'kernel' of obsp is a kernel"):
        io.read(saved(tmp_path / "a.h5ad", data), chunks=True, use_rep="kernel")
    with pytest.raises(io.FileError, match=re.escape("layers holds no 'raw' but ['log']")):
        io.read(tmp_path / "a.h5ad", chunks=True, layer="raw")
    data.X = scipy.sparse.csc_matrix(data.X)
    with pytest.raises(io.FileError, match=r"'/X' is a csc_matrix; .* sparse by rows"):
        io.read(saved(tmp_path / "b.h5ad", data), chunks=True)


@pytest.mark.parametrize("part", ["indices", "indptr", "shape", "link"])
def test_damaged_matrices_in_chunks_are_refused(tmp_path, part):
    path = saved(tmp_path / "a.h5ad", make_anndata(20, 6, "csr"))
    with h5py.File(path, "a") as file:
        X = file["X"]
        if part == "indices":
            X["indices"][3] = 10**6
        elif part == "indptr":
            X["indptr"][5] = 10**6
        elif part == "shape":
            X.attrs["shape"] = (10**9, 6)
        else:
            file["layers"]["out"] = h5py.ExternalLink("other.h5", "/X")
    with pytest.raises(io.FileError, match=r"a\.h5ad: .*(damaged|is a link)"):
        absentia.read(path, chunks=True)
