"""Small MuData and AnnData objects: modalities with different observations."""

import warnings
from contextlib import nullcontext

import anndata
import mudata
import numpy as np
import pandas as pd

CELLS = {"rna": ["c1", "c2", "c3", "c4"], "adt": ["c4", "c2", "c5"], "atac": ["c1", "c5", "c6", "c3", "c2"]}


def modality(name, columns=3):
    cells = CELLS[name]
    rng = np.random.default_rng(len(cells))
    obs = pd.DataFrame({"batch": pd.Categorical(["x", "y"] * 4)[: len(cells)]}, index=cells)
    var = pd.DataFrame(index=[f"{name}{j}" for j in range(columns)])
    adata = anndata.AnnData(rng.normal(size=(len(cells), columns)).astype("f4"), obs=obs, var=var)
    adata.layers["log"] = adata.X + 1
    adata.obsm["X_pca"] = rng.normal(size=(len(cells), 2))
    adata.obsp["similar"] = adata.X @ adata.X.T
    return adata


def three_modalities():
    """MuData over c1 ... c6, with labels in obs that are not in the order of any modality."""
    with quietly():
        mdata = mudata.MuData({name: modality(name) for name in CELLS})
        mdata.obs["subtype"] = [f"type of {name}" for name in mdata.obs_names]
    return mdata


class quietly:  # noqa: N801
    """Without the warnings of mudata and anndata about their own changes."""

    def __enter__(self):
        self.options = getattr(mudata, "set_options", lambda **_: nullcontext())(pull_on_update=False)
        self.caught = warnings.catch_warnings()
        self.caught.__enter__()
        warnings.simplefilter("ignore")
        self.options.__enter__()

    def __exit__(self, *error):
        self.options.__exit__(*error)
        self.caught.__exit__(*error)


def saved(path, data):
    with quietly():
        data.write(path)
    return path
