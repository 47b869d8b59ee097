"""One classifier per label, where some are unknown."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import absentia
from absentia import AbsenceWarning, AverageKernelSVC, EarlyFusionClassifier, PerLabel, ViewKernels
from helpers.comparison_problems import made_problem, made_views, targets


@pytest.fixture(scope="module")
def data():
    views, factors = made_views(60)
    return views, targets("labels", factors)


def test_each_label_is_learned_from_those_whose_label_is_known(data):
    views, Y = data
    found = PerLabel("linear").fit(views, Y)
    probabilities = found.predict_proba(views)
    assert probabilities.shape == Y.shape
    for j, column in enumerate(Y.T):
        known = np.flatnonzero(~np.isnan(column))
        alone = EarlyFusionClassifier("logistic").fit(views[known], column[known].astype(int))
        np.testing.assert_allclose(probabilities[:, j], alone.predict_proba(views)[:, 1])
    np.testing.assert_array_equal(found.predict(views), (probabilities > 0.5).astype(float))


@pytest.mark.parametrize("name", ["average", pytest.param("mkl", marks=pytest.mark.slow)])
def test_kernels_and_features_say_the_same(data, name):
    """Where all labels are known: the widths of kernels that came are those of all samples."""
    views, Y = data
    Y = np.nan_to_num(Y)
    makes = ViewKernels()
    kernels = makes.fit_transform(views)
    of_views, of_kernels = (
        PerLabel(name).fit(views, Y),
        PerLabel(name, kernel="precomputed").fit(kernels, Y),
    )
    np.testing.assert_allclose(of_kernels.predict_proba(kernels), of_views.predict_proba(views), atol=1e-3)
    rows = kernels[np.ix_(np.arange(5), np.arange(60))]
    np.testing.assert_allclose(
        of_kernels.predict_proba(rows), of_kernels.predict_proba(kernels)[:5], atol=1e-9
    )


def test_what_is_unknown_teaches_nothing(data):
    views, Y = data
    unknown = np.isnan(Y[:, 1])
    found = PerLabel("average").fit(ViewKernels().fit_transform(views), Y)
    np.testing.assert_array_equal(found.labels_[1].rows, np.flatnonzero(~unknown))
    assert found.labels_[1].frequency == pytest.approx(np.nanmean(Y[:, 1]))


def test_too_few_to_learn_from_is_how_frequent_it_is(data):
    views, Y = data
    few = np.column_stack(
        [Y[:, 0], np.r_[1.0, 1.0, np.zeros(18), np.full(40, np.nan)], np.full(60, np.nan)]
    )
    probabilities = PerLabel("linear").fit(views, few).predict_proba(views)
    assert set(probabilities[:, 1]) == {0.1}
    assert set(probabilities[:, 2]) == {0.5}
    assert len(set(probabilities[:, 0])) > 5


def test_samples_without_a_view_and_of_one_group_are_not_enough(data):
    """Members of the default leave samples out: of both kinds there must be some left."""
    views, Y = data
    keep = views.observed.copy()
    keep[:2] = False  # of the three that have the second label
    Y = np.column_stack([Y[:, 0], np.arange(60) < 3, np.arange(60) < 20]).astype(float)
    grouped = views.hide(keep).with_groups(np.minimum(np.arange(60) // 20, 2))
    with pytest.warns(AbsenceWarning, match="2 sample"):
        found = PerLabel("auto").fit(grouped, Y)
    assert [label.classifier is None for label in found.labels_] == [False, True, True]
    np.testing.assert_allclose(found.predict_proba(views)[:, 1], 3 / 60)


def selected(fitted):
    return [label.classifier[-1].C_ for label in fitted.labels_]


def test_C_of_machines_is_selected_where_labels_are_known(data):
    views, Y = data
    known = ~np.isnan(Y[:, 1])
    kernels = ViewKernels().fit_transform(views[np.flatnonzero(known)])
    alone = AverageKernelSVC(C="cv").fit(kernels, Y[known, 1].astype(int))
    assert selected(PerLabel("average").fit(views, Y))[1] == alone.C_
    given = AverageKernelSVC(C=5.0, probability=True)
    assert selected(PerLabel(given).fit(views, Y)) == [5.0, 5.0]


def test_the_order_of_samples_changes_nothing(data):
    views, Y = data
    rows = np.random.default_rng(0).permutation(60)
    one, other = PerLabel("average").fit(views, Y), PerLabel("average").fit(views[rows], Y[rows])
    assert selected(one) == selected(other)
    np.testing.assert_allclose(other.predict_proba(views), one.predict_proba(views), atol=1e-3)


def test_other_kernels_are_made_if_they_are_given(data):
    views, Y = data
    found = PerLabel("average", kernel=ViewKernels("linear")).fit(views, Y)
    assert found.labels_[0].classifier[0].kernel == "linear"
    assert PerLabel("mean-svm", kernel="linear")._make_classifier(views).kernel == "linear"
    assert (
        PerLabel("cvkt-linear", kernel="rbf")._make_classifier(views).kernel == "linear"
    )  # what makes it this method


@pytest.mark.parametrize("name", ["average", "linear"])
def test_it_is_kept_and_comes_back(data, name, tmp_path):
    views, Y = data
    found = PerLabel(name).fit(views, Y)
    back = absentia.load(absentia.save(found, tmp_path / "model.absentia"))
    np.testing.assert_array_equal(back.predict_proba(views), found.predict_proba(views))
    assert repr(clone(found)) == repr(found)


@pytest.mark.parametrize(
    "Y", [np.zeros(60), np.zeros((59, 2)), np.full((60, 2), 2.0), np.full((60, 2), 0.5)]
)
def test_what_are_no_labels_is_refused(data, Y):
    with pytest.raises(ValueError, match="1, 0 or NaN, samples x labels"):
        PerLabel("linear").fit(data[0], Y)


def test_labels_of_other_samples_are_refused(data):
    views, Y = data
    frame = pd.DataFrame(Y, index=views.ids)
    assert PerLabel("linear").fit(views, frame).labels_
    with pytest.raises(ValueError, match=r"take Y = views.align\(Y\)|order"):
        PerLabel("linear").fit(views, frame.iloc[::-1])


def test_unfitted_and_unknown():
    views = made_problem("labels").data
    with pytest.raises(NotFittedError):
        PerLabel().predict(views)
    with pytest.raises(ValueError, match="average"):
        PerLabel("averag").fit(views, made_problem("labels").y)
