"""The PMA estimators: estimation, new rows, pipelines with Views, comparators, tensors."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import (
    IBLR,
    MLKNN,
    PMF,
    CombineKernels,
    LabelGP,
    MatrixLMC,
    PartialLabelSVM,
    PMAClassifier,
    PMAImputer,
    PMARegressor,
    PMATensorImputer,
    ViewKernels,
    metrics,
)
from absentia.methods.matrix import _estimate as estimate
from absentia.methods.matrix import _inference as inference
from absentia.methods.matrix._estimate import What, squared_distances
from absentia.methods.matrix._model import Addition, RowKernel
from absentia.methods.matrix._tensor import TensorAddition
from reference import pma as reference

CLASSIFIERS = {
    "pma": PMAClassifier(gamma="median", random_state=0),
    "pma, label covariance": PMAClassifier(gamma="median", label_covariance=True, random_state=0),
    "lmc": MatrixLMC(gamma="median", random_state=0),
    "gp": LabelGP(gamma="median", random_state=0),
    "mlknn": MLKNN(7),
    "iblr": IBLR(7),
    "svm": PartialLabelSVM(),
}
every_classifier = pytest.mark.parametrize("name", list(CLASSIFIERS))


def rbf(A, B=None, gamma=0.2):
    return np.exp(-gamma * squared_distances(A, A if B is None else B))


def labelled(n=150, absent=0.2, seed=0):
    """Features, labels, labels with gaps: smooth functions plus noise that labels share."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    noise = rng.standard_normal((n, 1)) * np.array([1.0, -1.0, 0.2, 1.0])
    scores = np.column_stack([X[:, 0], X[:, 1], X[:, 0] * X[:, 1], X[:, 2]]) + 0.7 * noise
    Y = (scores > 0).astype(float)
    return X, Y, np.where(rng.random(Y.shape) < absent, np.nan, Y)


def drawn(n=60, m=5, absent=0.25, seed=0):
    """A matrix from the model with gaps: (truth, gaps, K1, K2)."""
    rng = np.random.default_rng(seed)
    K1 = rbf(rng.standard_normal((n, 2)))
    A = rng.standard_normal((m, m))
    K2 = 0.5 * A @ A.T / m + 0.1 * np.eye(m)
    X = Addition.pma(K1, K2).draw(rng, 1)[:, 0]
    return X, np.where(rng.random(X.shape) < absent, np.nan, X), K1, K2


# ------------------------------------------------------------------------------------------ estimation


def test_em_raises_the_marginal_likelihood_of_the_observed_entries():
    _, gaps, K1, _ = drawn(absent=0.3)
    seen = ~np.isnan(gaps)
    X = np.where(seen, gaps, 0.0)
    for what in (What(), What(C="free"), What(K=True), What(C="free", noise_only=True)):
        rows = RowKernel.dense(K1)
        model = estimate.starting(rows, X, seen, what)
        values = []
        for _ in range(6):
            values.append(inference.log_marginal(model, X, seen))
            one = estimate.learn(
                model, X, seen, what, max_iter=1, shrinkage=0.0, nugget=1e-9, precision=1e-10
            )
            model = one.state.model
        assert (np.diff(values) > -1e-8).all(), what
        assert values[-1] > values[0] + 0.1


def test_a_step_of_em_is_stationary_where_the_gradient_vanishes():
    _, gaps, K1, _ = drawn(n=20, m=3)
    seen = ~np.isnan(gaps)
    X = np.where(seen, gaps, 0.0)
    what = What(C="free")
    start = estimate.starting(RowKernel.dense(K1), X, seen, what)
    fit = estimate.learn(
        start, X, seen, what, max_iter=400, shrinkage=0, nugget=1e-9, tol=1e-5, precision=1e-10
    ).state
    slope = inference.gradient(fit.model, X, seen)
    first = inference.gradient(start, X, seen)
    assert np.abs(fit.model.N @ slope.N).max() < 1e-2 * np.abs(start.N @ first.N).max()


def test_sampled_moments_agree_with_exact_ones(monkeypatch):
    _, gaps, K1, _ = drawn(n=80)
    seen = ~np.isnan(gaps)
    X = np.where(seen, gaps, 0.0)
    start = estimate.starting(RowKernel.dense(K1), X, seen, What())
    exact = estimate.learn(start, X, seen, What(), max_iter=20).state.model
    monkeypatch.setattr(estimate, "EXACT", 0)
    sampled = estimate.learn(start, X, seen, What(), max_iter=20, n_draws=50).state.model
    assert np.abs(sampled.N - exact.N).max() < 0.05 * np.abs(exact.N).max()


def test_the_plug_in_of_the_paper_collapses_and_em_does_not():
    """tr K2 under K2 = G'G/n and K1 = FF'/m from modes, against EM's, on data from the model."""
    X, _, _, K2 = drawn(n=30, m=5, absent=0)
    everything = np.ones(X.shape, dtype=bool)
    plug = Addition.pma(np.eye(30), np.eye(5))
    for _ in range(30):
        F = plug.row_part(X)
        G = X - F
        plug = Addition.pma(F @ F.T / 5 + 1e-9 * np.eye(30), G.T @ G / 30 + 1e-9 * np.eye(5))
    what = What(C="no", K=True)
    start = estimate.starting(RowKernel.dense(np.eye(30)), X, everything, what)
    em = estimate.learn(start, X, everything, what, max_iter=30).state.model
    sizes = [np.trace(model.N) / np.trace(K2) for model in (plug, em)]
    assert min(sizes[0], np.trace(plug.rows.to_dense()) / 30) < 0.02
    assert 0.2 < sizes[1] < 5


def test_kernel_width_by_marginal_likelihood_is_near_that_of_the_truth():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((150, 2))
    model = Addition.pma(rbf(features, gamma=1.0), 0.05 * np.eye(3))
    X = model.draw(rng, 1)[:, 0]
    seen = rng.random(X.shape) > 0.2
    gamma, _, curve = estimate.choose_gamma(features, X, seen, What(), rng)
    assert 0.5 < gamma < 2
    assert max(value for _, value in curve) == dict(curve)[gamma]


# --------------------------------------------------------------------------------------------- imputer


@pytest.mark.parametrize("how", ["exact", "map", "gibbs"])
def test_given_kernels_the_imputer_gives_the_posterior(how):
    _, gaps, K1, K2 = drawn(n=20, m=4)
    imputer = PMAImputer(
        row_kernel=K1, col_kernel=K2, center=False, inference=how, n_samples=2000, random_state=0
    )
    found = imputer.fit_transform(gaps)
    seen = ~np.isnan(gaps)
    S = reference.covariance(K1, np.eye(4), K2)
    mean, covariance = reference.condition(S, gaps, seen)
    atol = {"exact": 1e-10, "map": 1e-3, "gibbs": 0.1}[how]
    np.testing.assert_allclose(found, mean, atol=atol)
    np.testing.assert_array_equal(found[seen], gaps[seen])
    if how == "gibbs":
        assert imputer.diagnostics_["r_hat"] < 1.05
        assert imputer.diagnostics_["effective_sample_size"] > 100
    completed, std = imputer.predict(return_std=True)
    np.testing.assert_array_equal(completed, found)
    np.testing.assert_allclose(std[~seen] ** 2, np.diagonal(covariance), rtol=1e-8)
    np.testing.assert_allclose(
        imputer.log_marginal_likelihood_, reference.log_marginal(S, gaps, seen), rtol=1e-8
    )
    draws = imputer.sample(2000)
    assert draws.shape == (2000, 20, 4)
    assert np.abs(draws.mean(axis=0) - mean).max() < 0.15
    inside = (draws[:, ~seen] > np.quantile(draws[:, ~seen], 0.1, axis=0)).mean()
    assert abs(inside - 0.9) < 0.01


def test_estimated_kernels_complete_better_than_means():
    rng = np.random.default_rng(0)
    K1, K2 = rbf(rng.standard_normal((40, 2))), rbf(rng.standard_normal((30, 2))) + 0.05 * np.eye(30)
    X = Addition.pma(K1, K2).draw(rng, 1)[:, 0]
    gone = rng.random(X.shape) < 0.2
    gaps = np.where(gone, np.nan, X)
    naive = np.broadcast_to(np.nanmean(gaps, axis=0), X.shape)
    error = lambda filled: np.mean((filled - X)[gone] ** 2)
    free = PMAImputer(random_state=0).fit_transform(gaps)
    given = PMAImputer(row_kernel=K1, random_state=0).fit_transform(gaps)
    assert error(free) < 0.4 * error(naive)
    assert error(given) < 0.3 * error(naive)


def test_new_rows_are_completed_from_their_own_entries():
    X, gaps, _, _ = drawn(n=80, m=6)
    imputer = PMAImputer(random_state=0).fit(gaps[:60])
    np.testing.assert_array_equal(imputer.transform(gaps[:60]), imputer.completed_)
    new = imputer.transform(gaps[60:])
    seen = ~np.isnan(gaps[60:])
    np.testing.assert_array_equal(new[seen], X[60:][seen])
    S = imputer.model_.N + imputer.model_.C * imputer.model_.rows.diagonal().mean()
    row = int(np.argmax((~seen).any(axis=1)))
    o, m = np.flatnonzero(seen[row]), np.flatnonzero(~seen[row])
    expected = imputer.mean_[m] + S[np.ix_(m, o)] @ np.linalg.solve(
        S[np.ix_(o, o)], X[60 + row, o] - imputer.mean_[o]
    )
    np.testing.assert_allclose(new[row, m], expected, rtol=1e-6)


def test_a_pipeline_with_the_imputer_is_cross_validated():
    from sklearn.linear_model import Ridge

    X, gaps, _, _ = drawn(n=60)
    scores = cross_val_score(
        make_pipeline(PMAImputer(random_state=0), Ridge()), gaps, X[:, 0] + X[:, 1], cv=3
    )
    assert scores.mean() > 0.5


def test_mistakes_with_the_imputer_are_explained():
    _, gaps, K1, K2 = drawn(n=12)
    for parameters, message in [
        ({"row_kernel": K2}, "row_kernel has shape"),
        ({"col_kernel": K1}, "col_kernel has shape"),
        ({"row_kernel": "rbf"}, "'estimate' or an array"),
        ({"inference": "vb"}, "'exact', 'map' or 'gibbs'"),
    ]:
        with pytest.raises(ValueError, match=message):
            PMAImputer(**parameters).fit(gaps)
    gaps[:, 2] = np.nan
    with pytest.raises(ValueError, match="column 2 is unknown for every sample"):
        PMAImputer().fit(gaps)
    with pytest.warns(ConvergenceWarning, match="reached max_iter"):
        PMAImputer(max_iter=1).fit(drawn()[1])


# ------------------------------------------------------------------------------------- multi-label


@every_classifier
def test_unknown_labels_of_old_and_new_samples_are_predicted(name):
    X, Y, gaps = labelled()
    model = clone(CLASSIFIERS[name]).fit(X[:110], gaps[:110])
    S, P, found = model.decision_function(X[110:]), model.predict_proba(X[110:]), model.predict(X[110:])
    assert S.shape == P.shape == (40, 4)
    assert ((P >= 0) & (P <= 1)).all()
    np.testing.assert_array_equal(found, (S > 0).astype(float))
    assert metrics.hamming_error(Y[110:], found - 0.5) < 0.32
    assert np.mean(np.argsort(S[:, 0]) == np.argsort(P[:, 0])) > 0.5
    np.testing.assert_allclose(
        model.score(X[110:], gaps[110:]), 1 - metrics.hamming_error(gaps[110:], found - 0.5)
    )
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.decision_function(X[110:]), S)


@every_classifier
def test_labels_may_be_plus_minus_one_a_vector_or_discarded(name):
    X, Y, gaps = labelled(100)
    zero_one = clone(CLASSIFIERS[name]).fit(X, gaps)
    signs = clone(CLASSIFIERS[name]).fit(X, 2 * gaps - 1)
    np.testing.assert_array_equal(2 * zero_one.predict(X) - 1, signs.predict(X))
    vector = clone(CLASSIFIERS[name]).fit(X, gaps[:, 0])
    assert vector.predict(X).shape == (100,)
    assert vector.predict_proba(X).shape == (100, 2)
    whole = ~np.isnan(gaps).any(axis=1)
    discard = clone(CLASSIFIERS[name]).set_params(discard=True).fit(X, gaps)
    by_hand = clone(CLASSIFIERS[name]).fit(X[whole], Y[whole])
    np.testing.assert_allclose(discard.decision_function(X), by_hand.decision_function(X))


def test_labels_that_share_their_noise_help_one_another():
    X, Y, gaps = labelled(300, absent=0.3)
    hidden = np.isnan(gaps)
    wrong = {name: np.mean((CLASSIFIERS[name].fit(X, gaps).labels_ != Y)[hidden]) for name in ("pma", "gp")}
    assert wrong["pma"] < wrong["gp"] - 0.02


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


def test_landmarks_at_every_sample_change_nothing_and_fewer_change_little():
    X, _, gaps = labelled(120)
    full = PMAClassifier(gamma=0.3, random_state=0).fit(X, gaps)
    one = PMAClassifier(gamma=0.3, n_landmarks=119, random_state=0).fit(X, gaps)
    few = PMAClassifier(gamma=0.3, n_landmarks=60, random_state=0).fit(X, gaps)
    np.testing.assert_allclose(one.decision_function(X), full.decision_function(X), atol=0.02)
    assert np.mean(few.predict(X) == full.predict(X)) > 0.95


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


def from_given_kernels(n=40, new=30, seed=0, shift=0.0):
    """Targets of very different units drawn from the model: features, kernels, gaps of training rows, truth."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + new, 2))
    A = rng.standard_normal((4, 4))
    K1, K2 = rbf(X, gamma=0.5), A @ A.T / 4 + 0.1 * np.eye(4)
    unit = np.array([0.15, 0.25, 0.6, 1.3]) / np.sqrt(np.diagonal(K2))
    K2 = K2 * np.multiply.outer(unit, unit)
    Y = Addition.pma(K1, K2).draw(rng, 1)[:, 0] + shift
    return X, K1, K2, np.where(rng.random(Y.shape) < 0.25, np.nan, Y)[:n], Y


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


def test_given_kernels_the_classifier_gives_the_posterior():
    _X, K1, K2, gaps, _ = from_given_kernels()
    labels = np.where(np.isnan(gaps), np.nan, np.sign(gaps))
    model = PMAClassifier("precomputed", col_kernel=K2).fit(K1[:40, :40], labels)
    exact, _ = reference.regression(K1[:40, :40], np.eye(4), K2, labels, K1[40:, :40], 1.0)
    np.testing.assert_allclose(model.decision_function(K1[40:, :40]), exact, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_small_matrices_are_completed_to_rounding(seed):
    _, gaps, K1, K2 = drawn(n=14, m=5, seed=seed)
    seen = ~np.isnan(gaps)
    mean, covariance = reference.condition(reference.covariance(K1, np.eye(5), K2), gaps, seen)
    imputer = PMAImputer(row_kernel=K1, col_kernel=K2, center=False).fit(gaps)
    error = np.linalg.norm(imputer.completed_ - mean) / np.linalg.norm(mean[~seen])
    assert error < 1e-10
    std = imputer.predict(return_std=True)[1]
    np.testing.assert_allclose(std[~seen] ** 2, np.diagonal(covariance), rtol=1e-9)


def test_beyond_that_conjugate_gradients_come_near(monkeypatch):
    _, gaps, K1, K2 = drawn(n=14, m=5)
    direct = PMAImputer(row_kernel=K1, col_kernel=K2).fit_transform(gaps)
    monkeypatch.setattr(inference, "SMALL", 0)
    steps = PMAImputer(row_kernel=K1, col_kernel=K2).fit_transform(gaps)
    assert (steps != direct).any()
    np.testing.assert_allclose(steps, direct, rtol=1e-6, atol=1e-7)


def test_a_singular_column_kernel_is_lifted_by_little_and_a_regular_one_not_at_all():
    _, gaps, K1, K2 = drawn(n=14, m=5)
    given = PMAImputer(row_kernel=K1, col_kernel=K2).fit(gaps)
    np.testing.assert_array_equal(given.model_.N, K2)
    np.testing.assert_allclose(given.model_.C, np.eye(5))
    one = np.ones((5, 5))
    values = np.linalg.eigvalsh(PMAImputer(row_kernel=K1, col_kernel=one).fit(gaps).model_.N)
    assert 0 < values[0] < 1e-9
    twice = PMAImputer(row_kernel=K1, col_kernel=K2, amplitude=2.0).fit(gaps)
    doubled = PMAImputer(row_kernel=2 * K1, col_kernel=K2).fit(gaps)
    np.testing.assert_allclose(twice.completed_, doubled.completed_, rtol=1e-9)


def test_rows_other_than_those_of_the_fit_have_their_own_deviations():
    _X, gaps, _, _ = drawn(n=60, m=5)
    imputer = PMAImputer().fit(gaps[:40])
    new, std = imputer.predict(gaps[40:], return_std=True)
    np.testing.assert_array_equal(new, imputer.transform(gaps[40:]))
    S = imputer.model_.N + imputer.model_.C * imputer.model_.rows.diagonal().mean()
    for i in range(20):
        m, o = np.isnan(gaps[40 + i]), ~np.isnan(gaps[40 + i])
        left = S[np.ix_(m, m)] - S[np.ix_(m, o)] @ np.linalg.solve(S[np.ix_(o, o)], S[np.ix_(o, m)])
        np.testing.assert_allclose(std[i, m] ** 2, np.diagonal(left), rtol=1e-8)
        assert (std[i, o] == 0).all()


def test_factorisation_recovers_a_low_rank_matrix():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 8)) + 5
    gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    model = PMF(2, random_state=0).fit(gaps)
    gone = np.isnan(gaps)
    assert np.mean((model.completed_ - X)[gone] ** 2) < 0.1 * np.var(X)
    assert (np.diff(model.objective_) <= 1e-9).all()
    np.testing.assert_allclose(model.transform(gaps)[gone], model.completed_[gone], atol=0.05)


# --------------------------------------------------------------------------------------------- tensors


def test_tensors_are_exact_in_the_three_eigenbases(rng):
    A = [rng.standard_normal((n, n)) for n in (4, 3, 5)]
    kernels = [a @ a.T + 0.2 * np.eye(len(a)) for a in A]
    one = [np.eye(n) for n in (4, 3, 5)]
    S = sum(
        np.kron(
            np.kron(*(kernels[b] if b == a else one[b] for b in (0, 1))), kernels[2] if a == 2 else one[2]
        )
        for a in range(3)
    )
    model = TensorAddition(kernels)
    X = model.draw(rng, 1)[0]
    np.testing.assert_allclose(model.matvec(X).ravel(), S @ X.ravel(), rtol=1e-8)
    np.testing.assert_allclose(model.solve(X).ravel(), np.linalg.solve(S, X.ravel()), rtol=1e-8)
    np.testing.assert_allclose(model.logdet(), np.linalg.slogdet(S)[1])
    seen = rng.random(X.shape) > 0.3
    gaps = np.where(seen, X, np.nan)
    imputer = PMATensorImputer(kernels, center=False, random_state=0).fit(gaps)
    flat, covariance = reference.condition(S, gaps.reshape(12, 5), seen.reshape(12, 5))
    completed, std = imputer.predict(return_std=True)
    np.testing.assert_allclose(completed.reshape(12, 5), flat, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(std[~seen] ** 2, np.diagonal(covariance), rtol=1e-8)
    np.testing.assert_allclose(
        imputer.log_marginal_likelihood_,
        reference.log_marginal(S, gaps.reshape(12, 5), seen.reshape(12, 5)),
        rtol=1e-8,
    )
    draws = imputer.sample(4000)[:, ~seen]
    np.testing.assert_allclose(draws.var(axis=0), np.diagonal(covariance), rtol=0.15)
    np.testing.assert_allclose(imputer.transform(gaps), completed)
    for a, b in zip(imputer.predict(gaps, return_std=True), (completed, std), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="one square kernel per mode"):
        PMATensorImputer(kernels[::-1]).fit(gaps)


# ------------------------------------------------------------------------------------- benchmark data


def test_missing_labels_of_emotions_come_back(data_folder):
    from absentia import datasets

    data = datasets.load_benchmark("ml_emotions", data_folder)
    X = StandardScaler().fit_transform(data.views.block(data.views.names[0]).astype(float))
    Y = np.where(np.asarray(data.target) > 0, 1.0, -1.0)
    hidden = np.random.default_rng(0).random(Y.shape) < 0.2
    model = PMAClassifier(gamma="median", random_state=0).fit(X, np.where(hidden, np.nan, Y))
    assert np.mean((model.labels_ != Y)[hidden]) < 0.17
