"""What else came than views or kernels gets a sentence with what to do instead, from every estimator."""

import numpy as np
import pandas as pd
import pytest

from absentia import (
    CVKT,
    MKMC,
    CombineKernels,
    KernelViews,
    MKLClassifier,
    MMAFClassifier,
    ViewKernels,
    Views,
)

VIEWS = Views.from_dict({"a": np.eye(3), "b": np.arange(6.0).reshape(3, 2)})
OTHERS = {
    "Views.from_dict({'name': table, ...})": np.eye(3),
    "Views.from_frame(X, {'name': columns, ...})": pd.DataFrame(np.eye(3)),
    "Views.from_list(X)": [np.eye(3)],
    "Views.from_dict(X)": {"a": np.eye(3)},
}


def verbs(estimator):
    yield lambda X: estimator.fit(X, [0, 1, 1])
    if hasattr(estimator, "fit_transform"):
        yield lambda X: estimator.fit_transform(X)


@pytest.mark.parametrize("estimator", [MKMC(), CVKT(), MKLClassifier(), CombineKernels()])
def test_features_where_kernels_are_wanted(estimator):
    name = type(estimator).__name__
    for verb in verbs(estimator):
        with pytest.raises(TypeError) as error:
            verb(VIEWS)
        assert "KernelViews are wanted, not Views; " in str(error.value)
        assert "ViewKernels().fit_transform(views)" in str(error.value)
        assert f"make_pipeline(ViewKernels(), {name}())" in str(error.value)


def refusals(estimator, remedy):
    """What each verb says to that table."""
    for verb in verbs(estimator):
        with pytest.raises(TypeError) as error:
            verb(OTHERS[remedy])
        yield str(error.value), type(OTHERS[remedy]).__name__


@pytest.mark.parametrize("estimator", [MKMC(), CVKT(), MKLClassifier(), CombineKernels()])
@pytest.mark.parametrize("remedy", OTHERS)
def test_tables_where_kernels_are_wanted(estimator, remedy):
    for said, came in refusals(estimator, remedy):
        assert said.startswith(f"KernelViews are wanted, not {came}; ")
        assert said.endswith(f"views = {remedy}")


@pytest.mark.parametrize("estimator", [MMAFClassifier(), ViewKernels()])
@pytest.mark.parametrize("remedy", OTHERS)
def test_tables_where_views_are_wanted(estimator, remedy):
    for said, came in refusals(estimator, remedy):
        assert said.startswith(f"Views are wanted, not {came}; ")
        assert remedy in said


@pytest.mark.parametrize("estimator", [MMAFClassifier()])
def test_kernels_where_features_are_wanted(estimator):
    with pytest.raises(TypeError, match=r"Views are wanted, not KernelViews; .* takes the features"):
        estimator.fit(KernelViews.from_dense([np.eye(3)]), [0, 1, 1])


def test_scores_and_rows_get_a_sentence_too():
    kernels = ViewKernels("linear").fit_transform(VIEWS)
    with pytest.raises(TypeError, match=r"KernelViews are wanted, not Views; .*make_pipeline"):
        CVKT().score(VIEWS)
    fitted = CVKT().fit(kernels), CombineKernels().fit(kernels)
    for verb in (*(one.transform for one in fitted), MKLClassifier().fit(kernels, [0, 1, 1]).predict):
        with pytest.raises(TypeError, match=r"not Views; new samples .*transform\(new_views\)"):
            verb(VIEWS)
