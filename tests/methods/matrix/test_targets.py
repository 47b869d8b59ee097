"""The PMA classifier and regressor: unknown labels and targets, given kernels, landmarks, new rows."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import CombineKernels, PMAClassifier, PMARegressor, ViewKernels, datasets
from helpers.matrices import from_given_kernels, labelled, rbf
from helpers.matrix_registry import LABELLERS, REGRESSORS, drawn, fitted
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
    assert np.mean((pipeline.predict_proba(views[90:]) > 0.5) != Y[90:]) < 0.25
    hidden = np.isnan(gaps[:90])
    assert np.mean((pipeline[-1].labels_ == Y[:90])[hidden]) > 0.75


def test_given_kernels_the_classifier_gives_the_posterior():
    _X, K1, K2, gaps, _ = from_given_kernels()
    labels = np.where(np.isnan(gaps), np.nan, np.sign(gaps))
    model = PMAClassifier("precomputed", col_kernel=K2).fit(K1[:40, :40], labels)
    exact, _ = reference.regression(K1[:40, :40], np.eye(4), K2, labels, K1[40:, :40], 1.0)
    np.testing.assert_allclose(model.decision_function(K1[40:, :40]), exact, rtol=1e-8, atol=1e-10)


def test_missing_labels_of_emotions_come_back(data_folder):
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


def test_landmarks_at_every_sample_change_nothing_and_fewer_change_little():
    X, _, gaps = labelled(120)
    full = PMAClassifier(gamma=0.3, random_state=0).fit(X, gaps)
    one = PMAClassifier(gamma=0.3, n_landmarks=119, random_state=0).fit(X, gaps)
    few = PMAClassifier(gamma=0.3, n_landmarks=60, random_state=0).fit(X, gaps)
    np.testing.assert_allclose(one.decision_function(X), full.decision_function(X), atol=0.02)
    assert np.mean(few.predict(X) == full.predict(X)) > 0.95


every_labeller = pytest.mark.parametrize("name", list(LABELLERS))


@every_labeller
def test_unknown_labels_of_old_and_new_samples_are_predicted(name):
    X, Y, gaps = labelled()
    model = clone(LABELLERS[name]).fit(X[:110], gaps[:110])
    S, P, found = model.decision_function(X[110:]), model.predict_proba(X[110:]), model.predict(X[110:])
    assert S.shape == P.shape == (40, 4)
    assert ((P >= 0) & (P <= 1)).all()
    np.testing.assert_array_equal(found, (S > 0).astype(float))
    assert np.mean(found != Y[110:]) < 0.32
    assert np.mean(np.argsort(S[:, 0]) == np.argsort(P[:, 0])) > 0.5
    known = ~np.isnan(gaps[110:])
    np.testing.assert_allclose(model.score(X[110:], gaps[110:]), np.mean((found == Y[110:])[known]))
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.decision_function(X[110:]), S)


@pytest.mark.slow_params("pma")
@every_labeller
def test_labels_may_be_plus_minus_one_a_vector_or_discarded(name):
    X, Y, gaps = labelled(100)
    zero_one = clone(LABELLERS[name]).fit(X, gaps)
    signs = clone(LABELLERS[name]).fit(X, 2 * gaps - 1)
    np.testing.assert_array_equal(2 * zero_one.predict(X) - 1, signs.predict(X))
    vector = clone(LABELLERS[name]).fit(X, gaps[:, 0])
    assert vector.predict(X).shape == (100,)
    assert vector.predict_proba(X).shape == (100, 2)
    whole = ~np.isnan(gaps).any(axis=1)
    discard = clone(LABELLERS[name]).set_params(discard=True).fit(X, gaps)
    by_hand = clone(LABELLERS[name]).fit(X[whole], Y[whole])
    np.testing.assert_allclose(discard.decision_function(X), by_hand.decision_function(X))


def test_mistakes_with_labels_are_explained():
    X, Y, _ = labelled(20)
    model = PMAClassifier(gamma=0.3)
    for data, target, parameters, message in [
        (X, Y + np.arange(4), {}, "pass 0 and 1"),
        (X, Y[:5], {}, "one row for each sample"),
        (X, np.where(Y > 0, np.inf, 0), {}, "contains infinity.*sample 0, column 1"),
        (X, Y, {"kernel": "poly"}, "'rbf' or 'precomputed'"),
        (X, Y, {"kernel": "precomputed"}, "square kernel"),
        (X, Y, {"gamma": -1.0}, "gamma must be"),
        (
            X,
            np.where(np.eye(20, 4, dtype=bool) | (np.arange(20) > 3)[:, None], np.nan, Y),
            {"discard": True},
            "leaves no sample",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            clone(model).set_params(**parameters).fit(data, target)
    with pytest.raises(ValueError, match="X has 2 features"):
        model.fit(X, Y).predict(X[:, :2])


def test_a_score_that_is_zero_to_rounding_has_the_first_class():
    """Samples far from all others of a balanced label: only rounding gives their scores a sign."""
    X, Y = np.linspace(0, 1, 10)[:, None], np.repeat([[0.0], [1.0]], 5, axis=0)
    model = PMAClassifier(gamma=1.0).fit(X, Y)
    new = np.array([[30.0], [-30.0], [6.2], [-5.2]])
    assert (np.abs(model.decision_function(new)) < 1e-9).all()
    np.testing.assert_array_equal(model.predict(new), np.zeros((4, 1)))


@pytest.mark.parametrize("name", ["regressor", "mlknn"])
def test_scores_are_of_what_is_known(name):
    X, _, _, gaps, labels = drawn()
    Y, model = (gaps if name in REGRESSORS else labels), fitted(name)
    part = Y.copy()
    part[:, 2:] = np.nan
    assert np.isfinite(model.score(X, part))
    with pytest.raises(ValueError, match="no known entry"):
        model.score(X, np.full(Y.shape, np.nan))


def test_regression_on_partial_targets():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (120, 1))
    Y = np.hstack([np.sin(2 * X), 100 * np.cos(X)]) + rng.standard_normal((120, 2)) * [0.1, 10]
    gaps = np.where(rng.random(Y.shape) < 0.3, np.nan, Y)
    model = PMARegressor(random_state=0).fit(X[:90], gaps[:90])
    mean, std = model.predict(X[90:], return_std=True)
    z = (Y[90:] - mean) / std
    assert 0.6 < z.std() < 1.5
    assert model.score(X[90:], gaps[90:]) > 0.8
    np.testing.assert_array_equal(model.completed_[~np.isnan(gaps[:90])], Y[:90][~np.isnan(gaps[:90])])
    assert PMARegressor(random_state=0).fit(X, gaps[:, 0]).predict(X).shape == (120,)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("kernel", ["precomputed", "rbf"])
def test_given_kernels_the_regressor_gives_the_posterior(kernel, standardize):
    X, K1, K2, gaps, Y = from_given_kernels()
    model = PMARegressor(kernel, gamma=0.5, col_kernel=K2, standardize=standardize)
    A = K1[:, :40] if kernel == "precomputed" else X
    mean, std = model.fit(A[:40], gaps).predict(A[40:], return_std=True)
    one = np.eye(4)
    exact, variance = reference.regression(K1[:40, :40], one, K2, gaps, K1[40:, :40], 1.0)
    np.testing.assert_allclose(mean, exact, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(std**2, variance, rtol=1e-8)
    completed, _ = reference.condition(reference.covariance(K1[:40, :40], one, K2), gaps, ~np.isnan(gaps))
    np.testing.assert_allclose(model.completed_, completed, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.model_.C, one, rtol=1e-14)  # in the units of the targets
    np.testing.assert_allclose(model.model_.N, K2, rtol=1e-12)
    np.testing.assert_array_less(
        ((mean - Y[40:]) ** 2).mean(axis=0), 1.05 * ((exact - Y[40:]) ** 2).mean(axis=0)
    )
    assert not hasattr(model, "n_iter_")


def test_a_given_column_kernel_means_the_same_whether_targets_are_standardized():
    """Only the amplitude is estimated."""
    X, _K1, K2, gaps, _ = from_given_kernels(shift=3.0)
    for parameters in ({"gamma": 0.5, "amplitude": "estimate"}, {"gamma": "median"}):
        model = PMARegressor(col_kernel=K2, center=True, tol=1e-9, max_iter=2000, **parameters)
        one, other = (clone(model).set_params(standardize=on).fit(X[:40], gaps) for on in (True, False))
        np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-6)
        np.testing.assert_allclose(one.model_.N, K2, rtol=1e-12)
        C = one.model_.C
        np.testing.assert_allclose(C, C[0, 0] * np.eye(4), rtol=1e-12)
        assert 0.2 < C[0, 0] < 5  # the truth is 1
    fixed = PMARegressor(gamma=0.5, amplitude=2.5).fit(X[:40], gaps)
    np.testing.assert_allclose(fixed.model_.C, 2.5 * np.eye(4), rtol=1e-12)


def test_a_kernel_width_is_chosen_with_the_column_kernel_that_is_given():
    X, _K1, K2, gaps, _ = from_given_kernels()
    model = PMARegressor(col_kernel=K2, amplitude=1.0, standardize=False, center=False).fit(X[:40], gaps)
    for gamma, likelihood in model.gamma_curve_:
        S = reference.covariance(rbf(X[:40], gamma=gamma), np.eye(4), K2)
        np.testing.assert_allclose(likelihood, reference.log_marginal(S, gaps, ~np.isnan(gaps)), rtol=1e-6)


def test_means_far_from_zero_under_given_kernels_are_pointed_out():
    X, K1, K2, gaps, _Y = from_given_kernels(shift=100.0)
    with pytest.warns(UserWarning, match="pass center=True"):
        PMARegressor(gamma=0.5, col_kernel=K2).fit(X[:40], gaps)
    model = PMARegressor(gamma=0.5, col_kernel=K2, center=True).fit(X[:40], gaps)
    exact, _ = reference.regression(
        K1[:40, :40], np.eye(4), K2, gaps, K1[40:, :40], 1.0, np.nanmean(gaps, axis=0)
    )
    np.testing.assert_allclose(model.predict(X[40:]), exact, rtol=1e-8)


def test_new_rows_have_the_mean_and_variance_of_the_dense_model():
    X, _, gaps = labelled(40)
    model = PMAClassifier(gamma=0.3, label_covariance=True, n_samples=4000, random_state=0).fit(
        X[:35], gaps[:35]
    )
    addition = model.model_
    K = rbf(X, gamma=0.3)
    S = reference.covariance(K, addition.C, addition.N)
    seen = np.zeros((40, 4), dtype=bool)
    seen[:35] = ~np.isnan(gaps[:35])
    centred = np.where(seen, 2 * gaps - 1 - model.mean_, 0.0)
    mean, covariance = reference.condition(S, centred, seen)
    variance = np.zeros((40, 4))
    variance[~seen] = np.diagonal(covariance)
    found_mean, found_variance = model._distribution(X[35:])
    np.testing.assert_allclose(found_mean, mean[35:] + model.mean_, atol=1e-4)
    np.testing.assert_allclose(found_variance, variance[35:], rtol=0.05)
    np.testing.assert_allclose(
        model.scores_[:35][~seen[:35]], (mean + model.mean_)[:35][~seen[:35]], atol=1e-4
    )
