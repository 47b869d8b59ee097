"""``.h5ad`` and ``.h5mu`` in and out."""

import re
import warnings

import h5py
import numpy as np
import pytest
import scipy.sparse

import absentia
from absentia import KernelViews, Views, io
from absentia.files import _annotated
from helpers.omics import CELLS, modality, saved, three_modalities


def row(views, name, cell):
    place = views.ids[views.observed[:, views.names.index(name)]].tolist().index(cell)
    return views.block(name)[place]


def cell_of(adata, cell, layer=None):
    """A row of an AnnData object; slices of it are what pandas 3 warns of."""
    values = adata.X if layer is None else adata.layers[layer]
    return values[adata.obs_names.get_loc(cell)]


def test_modalities_with_different_observations_are_views(tmp_path):
    mdata = three_modalities()
    found = absentia.read(saved(tmp_path / "a.h5mu", mdata))
    assert isinstance(found, Views)
    assert set(found.names) == set(CELLS)
    assert sorted(found.ids) == ["c1", "c2", "c3", "c4", "c5", "c6"]
    for v, name in enumerate(found.names):
        assert set(found.ids[found.observed[:, v]]) == set(CELLS[name])
        for cell in CELLS[name]:
            np.testing.assert_array_equal(row(found, name, cell), cell_of(mdata.mod[name], cell))
    assert found.features("rna").tolist() == ["rna0", "rna1", "rna2"]


def test_layers_and_representations(tmp_path):
    mdata = three_modalities()
    path = saved(tmp_path / "a.h5mu", mdata)
    log = absentia.read(path, layer="log")
    np.testing.assert_array_equal(row(log, "adt", "c4"), cell_of(mdata.mod["adt"], "c4", "log"))
    found = absentia.read(path, use_rep="rna=X_pca, adt=X_pca")
    assert [found.block(name).shape[1] for name in ("rna", "adt", "atac")] == [2, 2, 3]
    np.testing.assert_array_equal(row(found, "adt", "c4"), mdata.mod["adt"].obsm["X_pca"][0])
    for wrong, why in (
        ({"layer": "raw"}, "layers holds no 'raw' but ['log']"),
        ({"use_rep": "X_umap"}, "obsm holds no 'X_umap' but ['X_pca']"),
        ({"use_rep": "dna=X_pca"}, "no modality 'dna'"),
        ({"use_rep": "rna="}, "is not as in rna=X_pca"),
        ({"layer": "log", "use_rep": "X_pca"}, "exclude one another"),
        ({"id": "x"}, "id cannot be given"),
    ):
        with pytest.raises(io.FileError, match=re.escape(why)):
            absentia.read(path, **wrong)


def test_one_modality_alone(tmp_path):
    adata = modality("rna")
    adata.X = scipy.sparse.csr_matrix(adata.X)
    path = saved(tmp_path / "a.h5ad", adata)
    found = absentia.read(path)
    assert (found.names, found.ids.tolist()) == (("X",), CELLS["rna"])
    np.testing.assert_array_equal(found.block("X").toarray(), adata.X.toarray())
    np.testing.assert_array_equal(absentia.read(path, use_rep="X_pca").block("X_pca"), adata.obsm["X_pca"])
    kernels = absentia.read(path, use_rep="similar")
    assert isinstance(kernels, KernelViews)
    np.testing.assert_array_equal(kernels.block("similar"), adata.obsp["similar"])


def test_kernels_of_modalities(tmp_path):
    mdata = three_modalities()
    path = saved(tmp_path / "a.h5mu", mdata)
    found = absentia.read(path, use_rep="similar")
    assert isinstance(found, KernelViews)
    assert not found.observed.all()
    i = found.ids[found.observed[:, found.names.index("adt")]].tolist()
    here = mdata.mod["adt"].obs_names.get_indexer(i)
    np.testing.assert_array_equal(found.block("adt"), mdata.mod["adt"].obsp["similar"][np.ix_(here, here)])
    del mdata.mod["rna"].obsp["similar"]
    with pytest.raises(io.FileError, match=r"\['rna'\] have no kernel 'similar'"):
        absentia.read(saved(path, mdata), use_rep="similar")


def test_columns_of_obs_are_labels_with_ids(tmp_path):
    path = saved(tmp_path / "a.h5mu", three_modalities())
    labels = io.read_label_array(path, "subtype")
    assert sorted(labels.values) == [f"type of c{k}" for k in range(1, 7)]
    assert [f"type of {cell}" for cell in labels.ids] == labels.values.tolist()
    adata = modality("adt")
    adata.obs["grade"], adata.obs["age"], adata.obs["sick"] = (
        [1, 2, 3],
        [1.5, np.nan, 2],
        [True, False, True],
    )
    adata.obs.loc["c2", "batch"] = np.nan
    arrays = io.read_container(saved(tmp_path / "a.h5ad", adata))
    assert arrays["obs_names"].tolist() == CELLS["adt"]
    assert arrays["batch"].tolist() == ["x", "", "x"]
    assert (arrays["grade"].dtype.kind, arrays["sick"].dtype) == ("i", bool)
    np.testing.assert_array_equal(arrays["age"], [1.5, np.nan, 2])


def test_written_whole_or_not_at_all(tmp_path, monkeypatch):
    mdata = three_modalities()
    path = io.write_mudata(tmp_path / "a.h5mu", mdata)
    path.chmod(0o600)
    before = path.read_bytes()
    back = io.read_mudata(path)
    np.testing.assert_array_equal(back.mod["adt"].X, mdata.mod["adt"].X)
    assert io.write_mudata(tmp_path / "a.h5ad", modality("rna")).exists()
    mdata.uns["bad"] = object()
    with pytest.raises(Exception, match=r"uns|object|type"):
        io.write_mudata(path, mdata)
    assert path.read_bytes() == before
    assert sorted(x.name for x in tmp_path.iterdir()) == ["a.h5ad", "a.h5mu"]
    with pytest.raises(io.FileError, match=r"MuData object goes to a file that ends in \.h5mu"):
        io.write_mudata(tmp_path / "b.h5ad", mdata)
    with pytest.raises(ValueError, match="MuData or AnnData object is wanted, not dict"):
        io.write_mudata(tmp_path / "b.h5ad", {})


@pytest.mark.parametrize("where", ["layers/x", "obs/x", "uns/a/b/x", "obsm/x"])
def test_no_link_is_followed(tmp_path, where):
    path = saved(tmp_path / "a.h5ad", modality("rna"))
    with h5py.File(path, "a") as file:
        file[where] = h5py.ExternalLink("/etc/passwd", "x")
    with pytest.raises(io.FileError, match="could lead to another file"):
        absentia.read(path)


def test_sizes_are_checked_first(tmp_path, monkeypatch):
    path = saved(tmp_path / "a.h5ad", modality("rna"))
    with h5py.File(path, "a") as file:
        file["layers"].create_dataset("huge", (4, 10**9), "f4", chunks=(1, 100))
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", "10M")
    monkeypatch.setattr("anndata.read_h5ad", lambda *_: pytest.fail("was opened"))
    with pytest.raises(io.FileError, match="ABSENTIA_MAX_BYTES"):
        absentia.read(path, chunks=False)


def test_damaged_files_and_files_of_another_kind(tmp_path):
    whole = saved(tmp_path / "whole.h5mu", three_modalities()).read_bytes()
    for keep in (0, 300, len(whole) // 2):
        (tmp_path / "a.h5mu").write_bytes(whole[:keep])
        with pytest.raises(io.FileError, match=re.escape("a.h5mu: not an HDF5 file, or a part of one")):
            absentia.read(tmp_path / "a.h5mu")
    with pytest.raises(io.FileError, match=r"is it an \.h5ad file"):
        absentia.read(saved(tmp_path / "b.h5ad", modality("rna")).rename(tmp_path / "b.h5mu"))
    with h5py.File(tmp_path / "c.h5ad", "w") as file:
        file["X"] = np.eye(3)
    with pytest.raises(io.FileError, match=re.escape("c.h5ad: ")):
        absentia.read(tmp_path / "c.h5ad")


def test_what_is_said_by_modality():
    assert _annotated._split_by_modality("X_pca", "use_rep") == "X_pca"
    assert _annotated._split_by_modality("rna=X_pca,adt=X_lsi", "use_rep") == {
        "rna": "X_pca",
        "adt": "X_lsi",
    }
    assert _annotated._split_by_modality(None, "use_rep") is None


def test_places_outside_a_sparse_matrix_are_an_error(tmp_path):
    adata = modality("rna")
    adata.layers["counts"] = scipy.sparse.csr_matrix(np.eye(4, 3))
    path = saved(tmp_path / "a.h5ad", adata)
    with h5py.File(path, "a") as file:
        file["layers/counts/indices"][0] = 1_000_000
    with pytest.raises(io.FileError, match=r"a\.h5ad: not an \.h5ad file, or a damaged one"):
        absentia.read(path, layer="counts")


def test_obs_of_a_modality_can_be_labels(tmp_path):
    import pandas as pd

    from absentia import io

    mudata, anndata = pytest.importorskip("mudata"), pytest.importorskip("anndata")
    table = pd.DataFrame(np.arange(8.0).reshape(4, 2), list("abcd"), ["p", "q"])
    rna, adt = anndata.AnnData(table[:3]), anndata.AnnData(table[1:])
    rna.obs["celltype"], rna.obs["depth"] = ["T", "B", "T"], [1.5, 2.5, 3.5]
    with warnings.catch_warnings(action="ignore"):
        mudata.MuData({"rna": rna, "adt": adt}).write(tmp_path / "x.h5mu")
    data = io.read(tmp_path / "x.h5mu")
    labels = io.read_labels("rna:celltype", data, tmp_path / "x.h5mu")
    assert dict(zip(data.ids.tolist(), labels.values.tolist(), strict=True)) == {
        "a": "T",
        "b": "B",
        "c": "T",
        "d": "",
    }
    depth = io.read_label_array(tmp_path / "x.h5mu", "rna:depth")
    np.testing.assert_array_equal(depth.values, [1.5, 2.5, 3.5, np.nan])


def test_a_layer_that_some_modalities_lack_is_taken_where_it_is(tmp_path):
    mdata = three_modalities()
    del mdata.mod["adt"].layers["log"]
    path = saved(tmp_path / "a.h5mu", mdata)
    with pytest.warns(
        absentia.AbsenceWarning, match="modality 'adt': layers holds no 'log', and X is taken"
    ):
        found = absentia.read(path, layer="log")
    np.testing.assert_array_equal(row(found, "rna", "c1"), cell_of(mdata.mod["rna"], "c1", "log"))
    np.testing.assert_array_equal(row(found, "adt", "c4"), cell_of(mdata.mod["adt"], "c4"))
    with pytest.raises(io.FileError, match=re.escape("layers holds no 'log' but nothing")):
        absentia.read(path, layer="rna=log,adt=log")
    with pytest.raises(io.FileError, match=re.escape("layers holds no 'raw' but ['log']")):
        absentia.read(path, layer="raw")


def test_frames_of_old_files_are_arrays_with_fields(tmp_path):
    with h5py.File(tmp_path / "old.h5ad", "w") as file:
        file["X"] = np.arange(6.0).reshape(3, 2)
        file["obs"] = np.array([(b"a", 1), (b"b", 2), (b"c", 3)], dtype=[("index", "S3"), ("n", "i4")])
        file["var"] = np.array([(b"p", 1), (b"q", 2)], dtype=[("index", "S3"), ("n", "i4")])
    found = absentia.read(tmp_path / "old.h5ad")
    assert (found.ids.tolist(), found.features("X").tolist()) == (["a", "b", "c"], ["p", "q"])
    assert io.read_label_array(tmp_path / "old.h5ad", "n").values.tolist() == [1, 2, 3]


def test_what_is_not_asked_for_is_not_read(tmp_path, monkeypatch):
    path = saved(tmp_path / "a.h5mu", three_modalities())
    names, read = [], _annotated._read_whole
    monkeypatch.setattr(_annotated, "_read_whole", lambda path, x: names.append(x.name) or read(path, x))
    absentia.read(path, layer="log")
    assert {name for name in names if name.endswith(("/log", "/X", "/X_pca", "/similar"))} == {
        f"/mod/{name}/layers/log" for name in CELLS
    }
