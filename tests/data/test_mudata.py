"""Views out of MuData and AnnData, results back into them, always by the names of observations."""

import re

import numpy as np
import pandas as pd
import pytest

from absentia import KernelViews, MeanFill, ViewKernels, Views
from absentia.data import _inputs
from helpers.omics import CELLS, modality, quietly, three_modalities


def completed():
    """Incomplete kernels over shuffled samples, and what a filler makes of them."""
    views = Views.from_mudata(three_modalities())
    views = views[np.random.default_rng(0).permutation(len(views))]
    kernels = ViewKernels().fit_transform(views)
    return kernels, MeanFill().fit_transform(kernels)


def test_kernels_go_where_their_observations_are():
    mdata = three_modalities()
    _, full = completed()
    out = full.to_mudata(mdata)
    assert list(full.ids) != list(out.obs_names)
    for v, name in enumerate(full.names):
        K = out.obsp[f"absentia_{name}"]
        for a in full.ids:
            for b in full.ids:
                i, j = out.obs_names.get_indexer([a, b])
                x, y = (full.ids.tolist().index(z) for z in (a, b))
                assert K[i, j] == full.to_dense()[v, x, y]
        part = out.mod[name]
        rows = out.obs_names.get_indexer(part.obs_names)
        np.testing.assert_array_equal(part.obsp[f"absentia_{name}"], K[np.ix_(rows, rows)])
        seen = out.obs[f"absentia_{name}_observed"]
        assert seen.dtype == bool
        assert set(out.obs_names[seen]) == set(CELLS[name])
    assert "absentia_rna" not in mdata.obsp
    assert full.to_mudata(mdata, copy=False) is mdata
    assert "absentia_rna" in mdata.obsp


def test_what_was_observed_can_be_said():
    kernels, full = completed()
    keep = np.ones(kernels.observed.shape, bool)
    keep[0] = [False, *kernels.observed[0, 1:]]
    hidden = kernels.hide(keep)
    out = full.to_mudata(three_modalities(), observed=hidden)
    assert not out.obs.loc[kernels.ids[0], f"absentia_{kernels.names[0]}_observed"]
    with pytest.raises(ValueError, match="observed has no view"):
        full.to_mudata(three_modalities(), observed=kernels.select(kernels.names[:1]))


def test_embeddings_and_predictions_are_lined_up():
    _, full = completed()
    names = full.ids.tolist()
    values = np.array([[float(name[1:]), 0.5] for name in names])
    frame = pd.DataFrame(values, index=names)[::-1]
    column = pd.Series([f"class {name}" for name in names], index=names)[::-1]
    for embedding in (values, frame):
        out = full.to_mudata(three_modalities(), embedding=embedding, obs={"predicted": column})
        np.testing.assert_array_equal(out.obsm["X_absentia"][:, 0], [float(x[1:]) for x in out.obs_names])
        assert out.obs["predicted"].tolist() == [f"class {name}" for name in out.obs_names]
    out = full.to_mudata(three_modalities(), embedding={"rna": values, "": values}, obs={"n": values[:, 0]})
    assert {"X_absentia", "X_absentia_rna"} <= set(out.obsm)
    assert out.obs["n"].tolist() == [float(x[1:]) for x in out.obs_names]
    with pytest.raises(ValueError, match="embedding has 2 rows for 6 samples"):
        full.to_mudata(three_modalities(), embedding=values[:2])


def test_observations_that_are_no_samples_get_nan():
    mdata = three_modalities()
    some = ViewKernels().fit_transform(Views.from_mudata(mdata)[:4])
    out = some.to_mudata(mdata, embedding=np.ones((4, 1)), obs={"k": np.arange(4)})
    other = ~out.obs_names.isin(some.ids)
    assert other.sum() == 2
    assert np.isnan(out.obsm["X_absentia"][other]).all()
    assert np.isnan(out.obsp["absentia_rna"][other]).all()
    assert out.obs["k"].isna().tolist() == other.tolist()
    assert not out.obs.loc[other, "absentia_atac_observed"].any()


def test_samples_that_are_no_observations_are_an_error_and_nothing_is_changed():
    mdata = three_modalities()
    views = Views.from_dict({"rna": np.eye(3)}, ids=["c1", "C2", "x3"])
    with pytest.raises(ValueError, match=re.escape("2 of 3 samples, e.g. 'C2', 'x3', are no observations")):
        views.to_mudata(mdata, copy=False)
    with pytest.raises(ValueError, match="one for each is wanted"):
        Views.from_dict({"rna": np.eye(3)}, ids=["c1", "c2", "c3"]).to_mudata(
            mdata, obs={"a": [1]}, copy=False
        )
    assert not [name for name in mdata.obs if "absentia" in name]
    with pytest.raises(ValueError, match="MuData or AnnData object is wanted, not dict"):
        views.to_mudata({})
    with pytest.raises(ValueError, match="appear more than once as texts"):
        Views.from_dict({"rna": np.eye(2)}, ids=[1, "1"]).to_mudata(mdata)


def test_anndata_takes_them_too():
    adata = modality("rna")
    views = Views.from_anndata(adata)[[2, 0, 3]]
    kernels = ViewKernels().fit_transform(views)
    out = kernels.to_mudata(adata, embedding=np.array([[3.0], [1.0], [4.0]]))
    np.testing.assert_array_equal(out.obsm["X_absentia"].ravel(), [1, np.nan, 3, 4])
    assert out.obsp["absentia_X"][0, 3] == kernels.block("X")[1, 2]
    assert out.obs["absentia_X_observed"].tolist() == [True, False, True, True]


def test_a_new_object_holds_the_views():
    views = Views.from_mudata(three_modalities())
    out = views.to_mudata()
    again = Views.from_mudata(out)
    assert again.names == views.names
    order = [again.ids.tolist().index(x) for x in views.ids]
    for name in views.names:
        np.testing.assert_array_equal(again[order].block(name), views.block(name))
        np.testing.assert_array_equal(again.features(name), views.features(name))
    kernels = ViewKernels().fit_transform(views)
    assert set(kernels.to_mudata().obsp) == {f"absentia_{name}" for name in views.names}


def test_layers_representations_and_what_is_not_there():
    mdata = three_modalities()
    assert Views.from_mudata(mdata, use_rep={"rna": "X_pca"}).features("rna").tolist() == [
        "X_pca_0",
        "X_pca_1",
    ]
    adata = modality("adt")
    adata.obsm["frame"] = pd.DataFrame({"p": [1.0, 2, 3]}, index=adata.obs_names)
    assert Views.from_anndata(adata, use_rep="frame").features("frame").tolist() == ["p"]
    assert Views.from_anndata(adata, layer="log").names == ("log",)
    adata.X = None
    with pytest.raises(ValueError, match=re.escape("has no X; name a layer or use_rep (layers ['log']")):
        Views.from_anndata(adata)
    with pytest.raises(ValueError, match="AnnData object is wanted, not MuData"):
        Views.from_anndata(mdata)


def test_rectangular_kernels_are_refused():
    kernels, _ = completed()
    with pytest.raises(ValueError, match="square"), quietly():
        kernels[np.ix_([0, 1], [2, 3, 4])].to_mudata(three_modalities())


def test_kernels_written_back_can_be_read_again():
    from absentia.data import obsp_blocks

    _, full = completed()
    blocks = obsp_blocks(full.to_mudata(three_modalities()), "absentia_*")
    again = KernelViews.from_blocks(blocks)
    assert set(again.names) == set(full.names)
    assert again.observed.all()


def test_factors_of_many_samples_go_there_instead_of_kernels(monkeypatch):
    views = Views.from_mudata(three_modalities())
    kernels = ViewKernels("linear", approx="nystrom", n_landmarks=3).fit_transform(views)
    full = MeanFill("blocks").fit_transform(kernels)
    assert not any(key.endswith("_factors") for key in full.to_mudata(three_modalities()).obsm)
    monkeypatch.setattr(_inputs, "_MAX_DENSE_SAMPLES", 2)
    out = full.to_mudata(three_modalities(), observed=kernels)
    assert not list(out.obsp)
    where = out.obs_names.get_indexer(list(map(str, full.ids)))
    for name in full.names:
        Phi = out.obsm[f"absentia_{name}_factors"][where]
        K = Phi @ Phi.T
        if f"absentia_{name}_own" in out.obs:
            K += np.diag(out.obs[f"absentia_{name}_own"].to_numpy()[where])
        np.testing.assert_allclose(K, full.block(name), rtol=1e-6, atol=1e-7)


def test_levels_go_along_and_come_back():
    frame = pd.DataFrame({"n": [1.0, 2, 3], "stage": ["I", "III", None]}, index=list("abc"))
    views = Views.from_dict(
        {"clin": frame.assign(stage=pd.Categorical(frame["stage"], ["I", "II", "III"]))}
    )
    out = views.to_mudata()
    assert out.mod["clin"].var["absentia_levels"].tolist() == ["", '["I", "II", "III"]']
    again = Views.from_mudata(out)
    assert again.levels("clin") == views.levels("clin") == {"stage": ("I", "II", "III")}
    np.testing.assert_array_equal(again.block("clin"), views.block("clin"))
    assert again.to_frame("clin")["stage"].tolist()[:2] == ["I", "III"]
    assert Views.from_mudata(Views.from_dict({"a": np.eye(2)}).to_mudata()).levels("a") == {}
    for text, why in [
        ("[", "a JSON list of the levels is wanted"),
        ('{"a": 1}', "a JSON list of the levels is wanted"),
        ('["I"]', "values do not go with its 1 levels"),
    ]:
        out.mod["clin"].var["absentia_levels"] = ["", text]
        with pytest.raises(ValueError, match=f"view 'clin', column 'stage': .*{why}"):
            Views.from_mudata(out)
