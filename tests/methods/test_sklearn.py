"""The real thing: scikit-learn's own splitters, searches and pipelines on Views and KernelViews."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    train_test_split,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC
from sklearn.utils import resample

from absentia import CombineKernels, MeanFill, ViewKernels, ZeroFill, missingness


def svm():
    return SVC(kernel="precomputed")


def test_cross_val_score_on_views(digits):
    scores = cross_val_score(make_pipeline(ViewKernels("rbf"), CombineKernels(), svm()), *digits)
    assert scores.mean() > 0.8


def test_cross_val_score_on_square_kernels_sees_the_right_rows_and_columns(digits, digit_kernels):
    _, y = digits
    folds = StratifiedKFold(4)
    scores = cross_val_score(make_pipeline(CombineKernels(), svm()), digit_kernels, y, cv=folds)
    K = CombineKernels().fit_transform(digit_kernels)
    by_hand = [svm().fit(K[np.ix_(a, a)], y[a]).score(K[np.ix_(b, a)], y[b]) for a, b in folds.split(y, y)]
    np.testing.assert_allclose(scores, by_hand)


@pytest.mark.parametrize("fill", [ZeroFill(), MeanFill()])
def test_a_completer_in_the_middle_takes_new_incomplete_samples(digits, fill):
    pipeline = make_pipeline(ViewKernels(), fill, CombineKernels(), svm())
    scores = cross_val_score(pipeline, *digits, cv=3, error_score="raise")
    assert scores.mean() > 0.8


def test_zero_fill_in_the_middle_changes_nothing(digits):
    with_fill = make_pipeline(ViewKernels(), ZeroFill(), CombineKernels(), svm())
    without = make_pipeline(ViewKernels(), CombineKernels(), svm())
    one, other = (
        cross_val_predict(p, *digits, cv=3, method="decision_function") for p in (with_fill, without)
    )
    np.testing.assert_allclose(one, other)


def test_grid_search_in_two_processes(digits):
    pipeline = Pipeline([("kernels", ViewKernels()), ("sum", CombineKernels()), ("svm", svm())])
    grid = {"kernels__kernel": ["rbf", "linear"], "svm__C": [0.1, 10.0], "sum__normalize": ["cosine", None]}
    search = GridSearchCV(pipeline, grid, n_jobs=2, cv=3, error_score="raise").fit(*digits)
    assert search.best_score_ > 0.8
    assert len(search.cv_results_["params"]) == 8
    assert search.predict(digits[0][:5]).shape == (5,)


def test_grid_search_on_kernels_in_two_processes(digits, digit_kernels):
    pipeline = make_pipeline(CombineKernels(), svm())
    search = GridSearchCV(pipeline, {"svc__C": [0.1, 10.0]}, n_jobs=2, cv=3, error_score="raise")
    assert search.fit(digit_kernels, digits[1]).best_score_ > 0.8


def test_train_test_split_and_a_held_out_score(digits):
    views, y = digits
    a, b, y_a, y_b = train_test_split(views, y, test_size=0.25, random_state=0, stratify=y)
    assert type(a) is type(views)
    assert (len(a), len(b)) == (90, 30)
    assert not set(a.ids) & set(b.ids)
    model = make_pipeline(ViewKernels(), CombineKernels(), svm()).fit(a, y_a)
    assert model.score(b, y_b) > 0.8


def test_cross_validate_returns_estimators_that_predict(digits):
    views, y = digits
    pipeline = make_pipeline(ViewKernels(), CombineKernels(), svm())
    result = cross_validate(pipeline, views, y, cv=3, return_estimator=True, return_train_score=True)
    assert (result["train_score"] >= result["test_score"]).all()
    assert result["estimator"][0].predict(views).shape == y.shape


def test_resampling_with_replacement_works(digits):
    views, y = resample(*digits, random_state=0)
    assert make_pipeline(ViewKernels(), CombineKernels(), svm()).fit(views, y).score(views, y) > 0.9


def test_other_estimators_of_precomputed_kernels_work_too(digits):
    pipeline = make_pipeline(ViewKernels(), CombineKernels(), KernelPCA(3, kernel="precomputed"))
    pipeline.fit(digits[0][:90])
    assert pipeline.transform(digits[0][90:]).shape == (30, 3)


@pytest.mark.parametrize(
    "estimator",
    [
        ViewKernels("linear", per_view={"pixels": "rbf"}, center=True),
        CombineKernels([1, 2], normalize=None),
    ],
)
def test_clone_is_lossless_and_set_params_round_trips(estimator):
    again = clone(estimator)
    assert again.get_params() == estimator.get_params()
    assert type(estimator)().set_params(**estimator.get_params()).get_params() == estimator.get_params()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_baseline_on_mfeat(mfeat, seed):
    """The zero-filled, cosine-normalised sum with an SVM: hard to beat, and at least this good."""
    keep = missingness.mcar(mfeat.views, 0.3, random_state=seed)
    pipeline = make_pipeline(ViewKernels("rbf"), CombineKernels(), svm())
    assert cross_val_score(pipeline, mfeat.views.hide(keep), mfeat.target).mean() >= 0.965
