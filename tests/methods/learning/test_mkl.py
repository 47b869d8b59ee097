"""Classifiers and regression on incomplete kernels: what they promise, whatever the method."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

from absentia import (
    AbsenceWarning,
    AbsentMKLClassifier,
    KernelViews,
    MKLClassifier,
    MKLRegressor,
    ViewKernels,
    datasets,
    missingness,
)
from absentia.methods.learning.amkl._estimator import closest_tau, margin_share, penalty

CLASSIFIERS = {
    "zero-filled": MKLClassifier(),
    "2-norm": MKLClassifier(norm=2),
    "shared": MKLClassifier(shared_weights=True),
    "convex": AbsentMKLClassifier(),
    "convex, mean": AbsentMKLClassifier(constraint="mean"),
    "iterative": AbsentMKLClassifier("iterative", max_iter=50, tol=3e-3),
    "penalized": AbsentMKLClassifier("penalized"),
}


@pytest.fixture(params=CLASSIFIERS)
def classifier(request):
    return clone(CLASSIFIERS[request.param])


def problem(n=120, per_sample=3, seed=0):
    """Views with nobody complete, and the digits' labels."""
    views, y = datasets.load_digit_views(n_samples=n, return_X_y=True)
    return views.hide(missingness.fixed_per_sample(views, per_sample, random_state=seed)), y


@pytest.fixture(scope="module")
def kernels():
    views, y = problem()
    return ViewKernels().fit_transform(views), y


def halves(kernels, n=120):
    a, b = np.arange(0, n, 2), np.arange(1, n, 2)
    return kernels[np.ix_(a, a)], kernels[np.ix_(b, a)], a, b


def test_two_classes(classifier, kernels):
    kv, y = kernels
    train, test, a, b = halves(kv)
    labels = np.where(y < 5, "low", "high")
    classifier.fit(train, labels[a])
    assert classifier.classes_.tolist() == ["high", "low"]
    assert classifier.weights_.shape == (6,)
    assert classifier.converged_
    assert classifier.gap_ <= classifier.tol
    scores = classifier.decision_function(test)
    assert scores.shape == (60,)
    np.testing.assert_array_equal(classifier.predict(test), np.where(scores > 0, "low", "high"))
    assert classifier.score(test, labels[b]) > 0.6  # far from guessing, on 60 samples with half their views
    assert set(classifier.support_) == set(np.flatnonzero(classifier.dual_coef_[0]))


@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)  # of rounds without a guarantee
def test_ten_classes(classifier, kernels):
    kv, y = kernels
    train, test, a, b = halves(kv)
    classifier.fit(train, y[a])
    assert classifier.weights_.shape == (10, 6)
    assert classifier.decision_function(test).shape == (60, 10)
    assert len(classifier.objective_) == 10
    assert classifier.score(test, y[b]) > 0.4  # guessing: 0.1
    assert classifier.weight_table().shape == (6, 10)


def test_scores_are_what_the_equation_says(kernels):
    kv, y = kernels
    train, test, a, _ = halves(kv)
    machine = MKLClassifier().fit(train, y[a] < 5)
    by_hand = np.full(len(test), machine.bias_[0])
    dense = np.nan_to_num(test.to_dense())
    for weight, K in zip(machine.weights_, dense, strict=True):
        by_hand += weight * K @ machine.dual_coef_[0]
    np.testing.assert_allclose(machine.decision_function(test), by_hand, rtol=1e-10)


def test_views_that_training_did_not_see_are_not_read_later():
    views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    full = ViewKernels().fit_transform(views)
    mask = missingness.fixed_per_sample(views, 3, random_state=0)
    machine = MKLClassifier().fit(full.hide(mask), y < 5)
    by_hand = np.full(60, machine.bias_[0])
    for v, K in enumerate(full.to_dense()):
        by_hand += machine.weights_[v] * K @ (machine.dual_coef_[0] * mask[:, v])
    np.testing.assert_allclose(machine.decision_function(full), by_hand, rtol=1e-10)


def test_absent_machines_score_in_units_of_the_own_margin(kernels):
    kv, y = kernels
    train, test, a, _ = halves(kv)
    machine = AbsentMKLClassifier(constraint="mean").fit(train, y[a] < 5)
    share = machine._share(test.observed)[:, 0]
    assert ((share > 0) & (share < 1)).any()
    raw = machine._raw_scores(test)[:, 0]
    np.testing.assert_allclose(machine.decision_function(test), raw / np.maximum(share, 0.2))
    np.testing.assert_array_equal(np.sign(raw), np.sign(machine.decision_function(test)))


def test_it_is_a_scikit_learn_citizen(classifier, kernels):
    kv, y = kernels
    assert clone(classifier).get_params() == classifier.get_params()
    scores = cross_val_score(classifier, kv, y < 5, cv=3, error_score="raise")
    assert scores.mean() > 0.6
    fitted = classifier.fit(kv, y < 5)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(kv), fitted.predict(kv))


def test_in_a_pipeline_and_a_search_on_views():
    views, y = problem()
    pipeline = make_pipeline(ViewKernels(), AbsentMKLClassifier(constraint="mean"))
    grid = {"absentmklclassifier__C": [0.1, 10.0], "viewkernels__kernel": ["rbf", "linear"]}
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(views, y)
    assert search.best_score_ > 0.5
    assert search.predict(views[:4]).shape == (4,)


def test_permuting_samples_changes_nothing_else(classifier, kernels, rng):
    kv, y = kernels
    order = rng.permutation(len(y))
    classifier.set_params(tol=1e-6)
    if isinstance(classifier, AbsentMKLClassifier):
        classifier.set_params(max_iter=500)
    straight = classifier.fit(kv, y < 5).decision_function(kv)[order]
    permuted = kv[np.ix_(order, order)]
    other = clone(classifier).fit(permuted, (y < 5)[order]).decision_function(permuted)
    np.testing.assert_allclose(other, straight, atol=0.02 * np.abs(straight).max())


def test_weights_of_samples_and_classes_are_factors_on_c(kernels):
    kv, y = kernels
    low = y < 5
    by_class = MKLClassifier(class_weight={True: 2.0, False: 1.0}, tol=1e-7).fit(kv, low)
    by_sample = MKLClassifier(tol=1e-7).fit(kv, low, sample_weight=np.where(low, 2.0, 1.0))
    np.testing.assert_allclose(by_class.weights_, by_sample.weights_, atol=1e-6)
    doubled = MKLClassifier(C=2.0, tol=1e-7).fit(kv, low)
    twice = MKLClassifier(tol=1e-7).fit(kv, low, sample_weight=np.full(len(y), 2.0))
    np.testing.assert_allclose(doubled.weights_, twice.weights_, atol=1e-9)
    balanced = MKLClassifier(class_weight="balanced").fit(kv, y == 0)
    assert balanced.predict(kv).sum() >= MKLClassifier().fit(kv, y == 0).predict(kv).sum()


def test_a_sample_of_weight_zero_might_as_well_not_be_there(kernels):
    kv, y = kernels
    keep = np.arange(120) >= 30
    weighed = AbsentMKLClassifier(tol=1e-8).fit(kv, y < 5, sample_weight=keep.astype(float))
    index = np.flatnonzero(keep)
    without = AbsentMKLClassifier(tol=1e-8).fit(kv[np.ix_(index, index)], (y < 5)[index])
    np.testing.assert_allclose(weighed.weights_, without.weights_, atol=1e-4)
    assert not np.isin(weighed.support_, np.flatnonzero(~keep)).any()


@pytest.mark.parametrize("probability", [True, "isotonic"])
@pytest.mark.parametrize("many", [False, True])
def test_chances_are_chances_and_better_than_the_prior(kernels, probability, many):
    kv, y = kernels
    labels = y % 3 if many else y < 5
    machine = MKLClassifier(norm=2, probability=probability)
    chances = cross_val_predict(machine, kv, labels, cv=3, method="predict_proba")
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert (chances >= 0).all()
    own = chances[np.arange(120), labels.astype(int)]
    assert own.mean() > np.bincount(labels.astype(int)).max() / 120 + 0.1


def test_without_probability_there_is_no_predict_proba(kernels):
    kv, y = kernels
    assert not hasattr(MKLClassifier().fit(kv, y < 5), "predict_proba")
    with pytest.raises(ValueError, match="probability must be"):
        MKLClassifier(probability="platt").fit(kv, y < 5)


# ------------------------------------------------------------------------------------- absence


def with_gaps():
    """Six samples lack everything, the last view is observed for nobody, and rows to predict with gaps."""
    views, y = problem()
    keep = views.observed.copy()
    keep[:6] = False
    keep[:, 5] = False
    kept = keep[:, :5].any(axis=1)
    keep[~kept & (np.arange(120) >= 6), 0] = views.observed[~kept & (np.arange(120) >= 6), 0]
    with pytest.warns(AbsenceWarning):
        return ViewKernels().fit_transform(views.hide(keep)), y


@pytest.mark.filterwarnings("ignore::absentia.data._presence.AbsenceWarning")
def test_samples_without_views_are_left_out_and_get_the_prior(classifier):
    kv, y = with_gaps()
    empty = ~kv.observed.any(axis=1)
    with pytest.warns(AbsenceWarning, match="without any view"):
        classifier.fit(kv, np.where(y < 4, "a", "b"))
    assert not np.isin(classifier.support_, np.flatnonzero(empty)).any()
    assert classifier.weights_[5] == 0
    assert classifier.unusable(kv)[empty].all()
    np.testing.assert_array_equal(classifier.usable_, ~classifier.unusable(kv))
    assert (classifier.predict(kv)[classifier.unusable(kv)] == "b").all()
    index = np.flatnonzero(~empty)
    without = clone(classifier).fit(kv[np.ix_(index, index)], np.where(y < 4, "a", "b")[index])
    np.testing.assert_allclose(classifier.weights_, without.weights_, atol=5e-2)


def test_rows_whose_weighted_views_are_all_absent_get_the_prior(rng):
    y = np.repeat([0, 1], [20, 30])
    good = np.where(y == 1, 1.0, -1.0)
    K = np.stack([np.outer(good, good), np.eye(50)])
    kv = KernelViews.from_dense(K, names=["good", "useless"])
    machine = MKLClassifier(C=1.0, probability=True).fit(kv, y)
    assert machine.weights_[1] < 1e-6
    machine._norms[0, 1] = machine._weights[0, 1] = 0.0
    rows = kv.hide(np.column_stack([np.arange(50) % 2 == 0, np.ones(50, bool)]))
    rows = rows[np.ix_(np.arange(50), np.arange(50))]
    flagged = machine.unusable(rows)
    np.testing.assert_array_equal(flagged, np.arange(50) % 2 == 1)
    assert (machine.predict(rows)[flagged] == 1).all()
    np.testing.assert_allclose(machine.predict_proba(rows)[flagged], [[0.4, 0.6]] * 25)
    np.testing.assert_array_equal(machine.predict(rows)[~flagged], y[~flagged])


@pytest.mark.filterwarnings("ignore::absentia.data._presence.AbsenceWarning")
def test_classes_must_be_two_and_seen():
    kv, _ = with_gaps()
    with pytest.raises(ValueError, match="two classes or more"):
        MKLClassifier().fit(kv, np.ones(120))
    with pytest.raises(ValueError, match="two classes or more"):
        MKLClassifier().fit(kv, np.arange(120) < 6)  # the second class has no views


def test_bad_input_is_explained(kernels):
    kv, y = kernels
    with pytest.raises(TypeError, match="KernelViews are wanted, not ndarray"):
        MKLClassifier().fit(np.eye(3), [0, 1, 1])
    with pytest.raises(ValueError, match="119 labels came for 120"):
        MKLClassifier().fit(kv, y[1:])
    for bad in (
        MKLClassifier(C=0),
        MKLClassifier(tol=-1),
        MKLClassifier(norm=0.5),
        AbsentMKLClassifier("x"),
    ):
        with pytest.raises(ValueError, match="must be"):
            bad.fit(kv, y < 5)
    for bad in (
        AbsentMKLClassifier(constraint="all"),
        AbsentMKLClassifier(tau_min=0),
        AbsentMKLClassifier(lam=-1),
    ):
        with pytest.raises(ValueError, match=r"must be|are wanted"):
            bad.fit(kv, y < 5)
    with pytest.raises(ValueError, match="sample_weight"):
        MKLClassifier().fit(kv, y < 5, sample_weight=-np.ones(120))
    fitted = MKLClassifier().fit(kv, y < 5)
    with pytest.raises(ValueError, match="columns must be the 120 training samples"):
        fitted.predict(kv[np.ix_(np.arange(5), np.arange(6))])
    with pytest.raises(TypeError, match=r"new samples against the training"):
        fitted.predict(np.eye(120))


# -------------------------------------------------------------------------------------- the methods


def test_one_complete_sample_makes_the_convex_form_zero_filling():
    views, y = problem()
    full, _ = datasets.load_digit_views(n_samples=120, return_X_y=True)
    keep = views.observed.copy()
    keep[7] = True
    kv = ViewKernels().fit_transform(full.hide(keep))
    with pytest.warns(AbsenceWarning, match="identical to MKLClassifier"):
        exact = AbsentMKLClassifier().fit(kv, y < 5)
    zero = MKLClassifier().fit(kv, y < 5)
    np.testing.assert_array_equal(exact.weights_, zero.weights_)
    np.testing.assert_array_equal(exact.dual_coef_, zero.dual_coef_)
    mean = AbsentMKLClassifier(constraint="mean").fit(kv, y < 5)
    assert np.abs(mean.weights_ / mean.weights_.sum() - zero.weights_).max() > 1e-3


@pytest.mark.parametrize("lam", [0.0, 1.0, 10.0])
def test_with_equally_many_views_each_penalized_is_zero_filling_with_another_c(kernels, lam):
    kv, y = kernels
    tau = 0.5  # three of six views each
    Lambda = 1 + lam * 6 * tau * (1 - tau)
    penalized = AbsentMKLClassifier("penalized", C=2.0, lam=lam, tol=1e-9).fit(kv, y < 5)
    zero = MKLClassifier(C=2.0 / (Lambda * tau**2), tol=1e-9).fit(kv, y < 5)
    np.testing.assert_allclose(penalized.weights_, zero.weights_, atol=1e-5)
    # of who has no view with weight both say the prior, which is no multiple of tau
    np.testing.assert_array_equal(penalized.unusable(kv), zero.unusable(kv))
    some = ~zero.unusable(kv)
    raw, wanted = penalized._raw_scores(kv)[some, 0], zero.decision_function(kv)[some]
    np.testing.assert_allclose(raw / tau, wanted, atol=1e-4)
    np.testing.assert_array_equal(penalized.decision_function(kv)[~some], zero.decision_function(kv)[~some])


def test_tau_by_equation_23_is_the_nearest_allowed():
    rng = np.random.default_rng(0)
    o, u, v = rng.random(200), rng.standard_normal(200), rng.standard_normal(200)
    v += 0.2 * np.sign(v)
    v[:5], u[:5] = 0.0, 1.0
    tau = closest_tau(o, u, v)
    assert (v * tau <= u + 1e-12).all()
    grid = np.linspace(-30, 30, 6001)
    for i in range(200):
        allowed = grid[v[i] * grid <= u[i]]
        assert abs(tau[i] - o[i]) <= np.abs(allowed - o[i]).min() + 1e-12


def test_the_observed_share_is_a_fixed_point_of_the_penalized_steps(kernels):
    kv, y = kernels
    machine = AbsentMKLClassifier("penalized", tol=1e-8).fit(kv, y < 5)
    o = kv.observed.mean(axis=1)
    u = np.where(y < 5, 1.0, -1.0) * machine._raw_scores(kv)[:, 0]
    v = np.minimum(u / o, 1.0)  # 1 - xi of the optimal machine
    np.testing.assert_allclose(closest_tau(o, u, v), o, atol=1e-6)


def test_shares_of_the_margin():
    observed = np.array([[True, False], [True, True], [False, False]])
    np.testing.assert_allclose(margin_share(observed, np.array([1.0, 3.0]), 0.2), [0.25, 1.0, 0.2])
    assert penalty(observed, np.array([0.5, 1.0, 0.0]), 3.0) == pytest.approx(1 + 3 * 0.5 / 3)


def test_iterative_solves_at_its_own_tau(kernels):
    kv, y = kernels
    machine = AbsentMKLClassifier("iterative", tol=1e-7, max_iter=500).fit(kv, y < 5)
    tau = margin_share(kv.observed, machine._norms[0], 0.2)
    margins = np.where(y < 5, 1.0, -1.0) * machine._raw_scores(kv)[:, 0] / tau
    free = np.abs(machine.dual_coef_[0])
    inside = (free > 0.01) & (free < 0.99 / tau)
    np.testing.assert_allclose(margins[inside], 1.0, atol=1e-2)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        short = AbsentMKLClassifier("iterative", tol=1e-7, max_iter=2).fit(kv, y < 5)
    assert not short.converged_
    assert short.n_iter_ == 2


# ----------------------------------------------------------------------------------- the paper's forms


@pytest.fixture(scope="module")
def complete():
    views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    mask = missingness.fixed_per_sample(views, 2, random_state=0)
    return ViewKernels().fit_transform(views), mask, y < 5


def test_the_papers_convex_form_is_its_equation(complete):
    cp = pytest.importorskip("cvxpy")
    kv, mask, y = complete
    with pytest.warns(AbsenceWarning, match="read the absent views"):
        machine = AbsentMKLClassifier(paper_form=True, tol=1e-5).fit(kv, y, observed=mask)
    K, signs, n = kv.to_dense(), np.where(y, 1.0, -1.0), len(y)
    G = sum(s[:, None] * k for s, k in zip(mask.T, K, strict=True))
    alpha, b, xi = cp.Variable(n), cp.Variable(), cp.Variable(n, nonneg=True)
    u, gamma, energy = cp.Variable(), cp.Variable(6, nonneg=True), cp.Variable(6)
    roots = [np.linalg.cholesky(k + 1e-9 * np.eye(n)).T for k in K]
    constraints = [
        cp.multiply(signs, G @ alpha + b) >= 1 - xi,
        (mask * 1.0) @ energy <= 2 * u,
        cp.sum(gamma) == 1,
        *(cp.quad_over_lin(r @ alpha, gamma[p]) <= energy[p] for p, r in enumerate(roots)),
    ]
    value = cp.Problem(cp.Minimize(u + cp.sum(xi)), constraints).solve("CLARABEL")
    assert machine.objective_[-1] == pytest.approx(value, rel=1e-4)
    honest = AbsentMKLClassifier(tol=1e-5).fit(kv.hide(mask), y)
    assert honest.converged_


def test_the_papers_penalized_form_never_rises(complete):
    kv, mask, y = complete
    with pytest.warns(AbsenceWarning, match="read the absent views"):
        machine = AbsentMKLClassifier("penalized", paper_form=True, tol=1e-5, max_iter=30).fit(
            kv, y, observed=mask
        )
    assert machine.converged_
    assert (np.diff(machine.objective_) <= 1e-4 * machine.objective_[0]).all()
    scores = machine.decision_function(kv[:5])
    by_hand = np.tensordot(np.ones(6), kv.to_dense(), 1)[:5] @ machine.dual_coef_[0] + machine.bias_[0]
    np.testing.assert_allclose(scores, by_hand, rtol=1e-8)


def test_the_papers_forms_want_complete_kernels_and_a_mask(complete):
    kv, mask, y = complete
    for X, observed in ((kv, None), (kv.hide(mask), mask)):
        with pytest.raises(ValueError, match="complete kernels"):
            AbsentMKLClassifier(paper_form=True).fit(X, y, observed=observed)
    with pytest.raises(ValueError, match="observed goes with paper_form"):
        AbsentMKLClassifier().fit(kv, y, observed=mask)
    with pytest.raises(ValueError, match="iterative"):
        AbsentMKLClassifier("iterative", paper_form=True).fit(kv, y, observed=mask)


# ------------------------------------------------------------------------------------------ regression


def test_regression_finds_the_view_that_matters_and_predicts(rng):
    x, noise = rng.uniform(-2, 2, 80), rng.standard_normal((80, 3))
    X = {"x": x[:, None], "noise": noise}
    K = [np.exp(-np.square(v[:, None] - v[None]).sum(-1)) for v in X.values()]
    observed = np.ones((80, 2), bool)
    observed[::5, 1] = False
    kv, target = KernelViews.from_dense(K, observed=observed, names=list(X)), np.sin(2 * x)
    a, b = np.arange(0, 80, 2), np.arange(1, 80, 2)
    machine = MKLRegressor(C=10, epsilon=0.01, tol=1e-4).fit(kv[np.ix_(a, a)], target[a])
    assert machine.score(kv[np.ix_(b, a)], target[b]) > 0.95
    assert machine.weight_table()["x"] > 0.9
    assert cross_val_score(machine, kv, target, cv=3).mean() > 0.9
    gone = kv[np.ix_(b, a)].hide(np.column_stack([np.zeros(40, bool), np.zeros(40, bool)]))
    assert machine.unusable(gone).all()
    np.testing.assert_allclose(machine.predict(gone), target[a].mean())


def test_regression_refuses_what_makes_no_sense(kernels):
    kv, y = kernels
    with pytest.raises(ValueError, match="epsilon"):
        MKLRegressor(epsilon=-1).fit(kv, y)
    with pytest.raises(ValueError, match="finite target"):
        MKLRegressor().fit(kv, np.full(120, np.nan))
    with pytest.raises(ValueError, match="complex"):
        MKLRegressor().fit(kv, y + 1j)
