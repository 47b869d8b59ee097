"""Tables come out as ``set_output`` asks for them, with names of columns and ids of rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.decomposition import KernelPCA
from sklearn.pipeline import make_pipeline

from absentia import CVKT, PMF, CombineKernels, KernelViews, PMAImputer, ViewEmbedding, ViewKernels, Views

RNG = np.random.default_rng(0)
TABLE = RNG.standard_normal((30, 4))
TABLE[::7, 1] = np.nan
FRAME = pd.DataFrame(TABLE, columns=list("abcd"), index=[f"r{i}" for i in range(30)])
IDS = [f"p{i}" for i in range(12)]
VIEWS = Views.from_dict({"a": RNG.random((12, 3)), "b": RNG.random((12, 2))}, ids=IDS)


@pytest.mark.parametrize("imputer", [PMAImputer(), PMF(1, ridge=1.0)])
def test_an_imputer_keeps_names(imputer):
    plain = imputer.set_output(transform="default").fit_transform(FRAME)
    assert isinstance(plain, np.ndarray)
    assert imputer.n_features_in_ == 4
    assert imputer.feature_names_in_.tolist() == imputer.get_feature_names_out().tolist() == list("abcd")
    imputer.set_output(transform="pandas")
    table = imputer.fit_transform(FRAME)
    pd.testing.assert_frame_equal(table, pd.DataFrame(plain, index=FRAME.index, columns=FRAME.columns))
    assert imputer.transform(FRAME).columns.tolist() == list("abcd")
    assert imputer.transform(FRAME[3:5]).index.tolist() == ["r3", "r4"]
    with pytest.raises(ValueError, match="feature names"):
        imputer.transform(FRAME[list("dcba")])
    assert imputer.fit_transform(TABLE).columns.tolist() == ["x0", "x1", "x2", "x3"]


def test_a_polars_frame_comes_out_where_that_is_asked_for():
    polars = pytest.importorskip("polars")
    found = PMAImputer().set_output(transform="polars").fit_transform(polars.from_pandas(FRAME))
    assert isinstance(found, polars.DataFrame)
    assert found.columns == list("abcd")


def test_an_embedding_has_names_and_ids():
    embedding = ViewEmbedding(2)
    plain = embedding.fit_transform(VIEWS)
    assert isinstance(plain, np.ndarray)
    columns = ["viewembedding0", "viewembedding1"]
    assert embedding.get_feature_names_out().tolist() == columns
    frame = embedding.set_output(transform="pandas").fit_transform(VIEWS)
    pd.testing.assert_frame_equal(frame, pd.DataFrame(plain, index=IDS, columns=columns))
    assert embedding.transform(VIEWS[[5, 3]]).index.tolist() == ["p5", "p3"]


def test_a_combined_kernel_has_ids_on_both_sides():
    kernels = ViewKernels().fit_transform(VIEWS)
    combine = CombineKernels().fit(kernels)
    plain = combine.transform(kernels)
    with config_context(transform_output="pandas"):
        frame = combine.transform(kernels[[2, 1]])
        assert isinstance(CVKT().fit_transform(kernels), KernelViews)
    assert frame.index.tolist() == ["p2", "p1"]
    assert frame.columns.tolist() == IDS
    np.testing.assert_array_equal(frame, plain[[2, 1]])


def test_a_pipeline_can_be_asked_for_frames():
    pipeline = make_pipeline(ViewKernels(), CVKT(), CombineKernels(), KernelPCA(2, kernel="precomputed"))
    plain = pipeline.fit_transform(VIEWS)
    frame = pipeline.set_output(transform="pandas").fit_transform(VIEWS)
    assert frame.index.tolist() == IDS
    np.testing.assert_allclose(frame, plain)
    assert pipeline.transform(VIEWS[:3]).index.tolist() == IDS[:3]
