"""The PMA classifier: given kernels, precomputed kernels, pipelines with Views, benchmark data."""

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import CombineKernels, PMAClassifier, ViewKernels, metrics
from matrices import from_given_kernels, labelled, rbf
from reference import pma as reference


def test_a_precomputed_kernel_is_the_rbf_kernel_and_is_cut_by_searches():
    X, _, gaps = labelled(90)
    K = rbf(X, gamma=0.3)
    one = PMAClassifier(gamma=0.3, random_state=0).fit(X[:70], gaps[:70])
    other = PMAClassifier("precomputed", random_state=0).fit(K[:70, :70], gaps[:70])
    np.testing.assert_allclose(one.predict_proba(X[70:]), other.predict_proba(K[70:, :70]), rtol=1e-8)
    search = GridSearchCV(other, {"label_covariance": [False, True]}, cv=3, error_score="raise").fit(
        K, gaps
    )
    folds = list(KFold(3).split(X))
    by_hand = [clone(other).fit(K[np.ix_(a, a)], gaps[a]).score(K[np.ix_(b, a)], gaps[b]) for a, b in folds]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"][0], np.mean(by_hand))
    pipeline = make_pipeline(StandardScaler(), PMAClassifier(gamma="median", random_state=0))
    assert cross_val_score(pipeline, X, gaps, cv=3, error_score="raise").mean() > 0.65


def test_many_views_many_labels_all_of_them_partial(digits):
    views, y = digits
    Y = np.column_stack([y % 2 == 0, y >= 5, np.isin(y, [0, 6, 8, 9])]).astype(float)
    gaps = np.where(np.random.default_rng(0).random(Y.shape) < 0.25, np.nan, Y)
    pipeline = make_pipeline(ViewKernels(), CombineKernels(), PMAClassifier("precomputed", random_state=0))
    assert cross_val_score(pipeline, views, gaps, cv=3, error_score="raise").mean() > 0.75
    pipeline.fit(views[:90], gaps[:90])
    assert metrics.hamming_error(Y[90:], pipeline.predict_proba(views[90:]) - 0.5) < 0.25
    hidden = np.isnan(gaps[:90])
    assert np.mean((pipeline[-1].labels_ == Y[:90])[hidden]) > 0.75


def test_given_kernels_the_classifier_gives_the_posterior():
    _X, K1, K2, gaps, _ = from_given_kernels()
    labels = np.where(np.isnan(gaps), np.nan, np.sign(gaps))
    model = PMAClassifier("precomputed", col_kernel=K2).fit(K1[:40, :40], labels)
    exact, _ = reference.regression(K1[:40, :40], np.eye(4), K2, labels, K1[40:, :40], 1.0)
    np.testing.assert_allclose(model.decision_function(K1[40:, :40]), exact, rtol=1e-8, atol=1e-10)


def test_missing_labels_of_emotions_come_back(data_folder):
    from absentia import datasets

    data = datasets.load_benchmark("ml_emotions", data_folder)
    X = StandardScaler().fit_transform(data.views.block(data.views.names[0]).astype(float))
    Y = np.where(np.asarray(data.target) > 0, 1.0, -1.0)
    hidden = np.random.default_rng(0).random(Y.shape) < 0.2
    model = PMAClassifier(gamma="median", random_state=0).fit(X, np.where(hidden, np.nan, Y))
    assert np.mean((model.labels_ != Y)[hidden]) < 0.17


def test_auto_is_the_likelier_of_the_two_to_the_bit():
    X, _, gaps = labelled(60)
    auto = PMAClassifier(gamma=0.3, random_state=0).fit(X, gaps)
    both = {
        covariance: PMAClassifier(gamma=0.3, label_covariance=covariance, random_state=0).fit(X, gaps)
        for covariance in (False, True)
    }
    curve = auto.label_covariance_curve_
    assert auto.label_covariance_ == (curve[True] > curve[False])
    np.testing.assert_array_equal(auto.scores_, both[auto.label_covariance_].scores_)
    np.testing.assert_array_equal(
        auto.predict_proba(X[:5]), both[auto.label_covariance_].predict_proba(X[:5])
    )
    assert not hasattr(both[True], "label_covariance_curve_")


def test_auto_finds_labels_that_go_together_in_like_samples_and_those_that_do_not():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (120, 1))
    K = rbf(X, gamma=1.0) + 1e-9 * np.eye(120)
    F = np.linalg.cholesky(K) @ rng.standard_normal((120, 3))
    together = F[:, :1] * [1.0, -1.0, 1.0] + 0.1 * rng.standard_normal((120, 3))
    for targets, covariance in ((together, True), (F, False)):
        labels = np.where(rng.random((120, 3)) < 0.2, np.nan, np.sign(targets))
        assert PMAClassifier(gamma=1.0, random_state=0).fit(X, labels).label_covariance_ == covariance


def test_what_is_given_leaves_no_label_covariance_to_choose():
    X, K1, K2, gaps, _ = from_given_kernels()
    labels = np.where(np.isnan(gaps), np.nan, np.sign(gaps))
    for model in (PMAClassifier("precomputed", col_kernel=K2), PMAClassifier("precomputed", amplitude=2.0)):
        model.fit(K1[:40, :40], labels)
        assert not model.label_covariance_
        assert not hasattr(model, "label_covariance_curve_")
    one = PMAClassifier(gamma=0.3).fit(X[:40], labels[:, 0])
    assert not one.label_covariance_
