"""Kernel machines: checks of iterations, what they say and carry, scores and gaps that anybody can compute again, the prior."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from absentia import (
    AbsenceWarning,
    AbsentMKLClassifier,
    AverageKernelSVC,
    KernelViews,
    MKLClassifier,
    MKLRegressor,
    ViewKernels,
    Views,
    datasets,
    missingness,
)
from absentia.methods.learning import KernelClassifier
from absentia.methods.learning.engine import DUST, Box
from absentia.testing import CHECKS
from helpers.absent_kernels import features, halves, problem
from helpers.digit_samples import half_seen_digits, half_seen_kernels
from helpers.registry import CLASSIFIERS, cases
from reference import amkl as slow

CASES = cases("iterative")
MACHINES = [name for name, method in CLASSIFIERS.items() if isinstance(method, KernelClassifier)]


@pytest.mark.parametrize(("name", "check"), CASES.values(), ids=CASES)
def test_what_iterates_passes_the_checks_of_its_kind(name, check):
    check(CLASSIFIERS[name])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MACHINES)
def test_what_a_machine_learned_is_said(name):
    X, y = half_seen_kernels(), half_seen_digits()[1]
    machine = clone(CLASSIFIERS[name]).fit(X, y < 5)
    assert machine.weights_.shape == (6,)
    assert (machine.weights_ >= 0).all()
    assert machine.gap_ <= machine.tol
    assert set(machine.support_) == set(np.flatnonzero(machine.dual_coef_[0]))
    np.testing.assert_array_equal(machine.usable_, ~machine.unusable(X))
    assert list(machine.weight_table().keys()) == list(X.names)
    machine.fit(X, y % 3)
    assert machine.weights_.shape == (3, 6)
    assert machine._coverage(X).shape == (60, 3)
    assert len(machine.objective_) == 3
    assert list(machine.weight_table().columns) == [0, 1, 2]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_rests_on_what_it_carries(name):
    """Training samples without a coefficient, and views without a weight, can be left out."""
    X, y = half_seen_kernels(), half_seen_digits()[1]
    fitted = clone(CLASSIFIERS[name]).fit(X, y < 5)
    rests = fitted.measure_support()
    assert not rests[:, fitted.weights_ == 0].any()
    carried = np.flatnonzero(rests.any(axis=1))
    np.testing.assert_array_equal(carried, np.intersect1d(carried, fitted.support_))
    small = fitted.restrict(carried)
    np.testing.assert_array_equal(small.ids_, X.ids[carried])
    assert small.n_features_in_ == len(carried)
    scores = fitted.decision_function(X)
    few = small.decision_function(X[np.ix_(np.arange(60), carried)])
    np.testing.assert_allclose(few, scores, atol=1e-12 * np.abs(scores).max())
    assert fitted.n_features_in_ == 60


# forms that are not in the registry, of which the order of what comes has to be as irrelevant
MORE = {
    "regression": MKLRegressor(),
    "two steps": AbsentMKLClassifier("penalized", two_step=True),
    "sigmoid": MKLClassifier(probability=True),
    "sigmoid, mean": AbsentMKLClassifier(constraint="mean", probability=True),
}
ORDER = [
    CHECKS["learner"]["permuting_samples_permutes_the_answers"],
    CHECKS["learner"]["reordering_views_changes_no_answer"],
    CHECKS["learner"]["threads_change_no_answer"],
]


@pytest.mark.slow_params(
    "permuting_samples_permutes_the_answers-two steps",
    "permuting_samples_permutes_the_answers-sigmoid",
    "permuting_samples_permutes_the_answers-sigmoid, mean",
    "threads_change_no_answer-two steps",
    "threads_change_no_answer-sigmoid",
    "threads_change_no_answer-sigmoid, mean",
)
@pytest.mark.parametrize("name", MORE)
@pytest.mark.parametrize("check", ORDER, ids=lambda check: check.__name__)
def test_neither_order_nor_threads_matter_to_other_forms(name, check):
    check(MORE[name])


# ---------------------------------------------------------------------------------- classes and scores

SEVEN = {
    "zero-filled": MKLClassifier(),
    "2-norm": MKLClassifier(norm=2),
    "convex": AbsentMKLClassifier(),
    "convex, mean": AbsentMKLClassifier(constraint="mean"),
    "iterative": AbsentMKLClassifier("iterative", max_iter=50, tol=3e-3),
    "penalized": AbsentMKLClassifier("penalized"),
}


@pytest.fixture(params=SEVEN)
def classifier(request):
    return clone(SEVEN[request.param])


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


@pytest.mark.slow_params("iterative")
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


def test_it_is_a_scikit_learn_citizen(classifier, kernels):
    kv, y = kernels
    assert clone(classifier).get_params() == classifier.get_params()
    scores = cross_val_score(classifier, kv, y < 5, cv=3, error_score="raise")
    assert scores.mean() > 0.6
    fitted = classifier.fit(kv, y < 5)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(kv), fitted.predict(kv))


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


# ------------------------------------------------------------------------------------- absence


def with_gaps():
    """Six samples lack everything, the last view is observed for nobody, and rows to predict with gaps."""
    views, y = half_seen_digits(120)
    keep = views.observed.copy()
    keep[:6] = False
    keep[:, 5] = False
    kept = keep[:, :5].any(axis=1)
    keep[~kept & (np.arange(120) >= 6), 0] = views.observed[~kept & (np.arange(120) >= 6), 0]
    with pytest.warns(AbsenceWarning):
        return ViewKernels().fit_transform(views.hide(keep)), y


@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
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


@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
def test_classes_must_be_two_and_seen():
    kv, _ = with_gaps()
    with pytest.raises(ValueError, match="two classes or more"):
        MKLClassifier().fit(kv, np.ones(120))
    with pytest.raises(ValueError, match="two classes or more"):
        MKLClassifier().fit(kv, np.arange(120) < 6)  # the second class has no views


# ------------------------------------------------- gaps that anybody can compute again, at any scale

METHODS = {
    "mkl": MKLClassifier(),
    "mkl, 2-norm": MKLClassifier(norm=2),
    "convex": AbsentMKLClassifier(),
    "convex, mean": AbsentMKLClassifier(constraint="mean"),
    "iterative": AbsentMKLClassifier("iterative"),
    "penalized": AbsentMKLClassifier("penalized"),
    "two steps": AbsentMKLClassifier("penalized", two_step=True),
    "average": AverageKernelSVC(),
    "regression": MKLRegressor(epsilon=0.1),
}


def recomputed(machine, kernels, y):
    """The gap of a fitted machine, from its attributes and the kernels that it was given."""
    K, n = np.nan_to_num(kernels.to_dense()), len(y)
    tau, free, rows, C = np.ones(n), True, np.ones((1, len(K))), np.full(n, machine.C)
    if isinstance(machine, MKLRegressor):
        box = Box.regression(y.astype(float), C, machine.epsilon)
    else:
        if isinstance(machine, AverageKernelSVC):
            free = False
        elif isinstance(machine, AbsentMKLClassifier):
            tau = machine.tau_
            if machine.formulation == "convex":
                S = kernels.observed.astype(float)
                rows = S if machine.constraint == "rows" else S.mean(axis=0)[None]
            if machine.formulation == "penalized":
                C = C / (1 + machine.lam * ((tau[:, None] - kernels.observed) ** 2).sum(axis=1).mean())
        elif machine.norm == 2:
            rows = None
        box = Box.classification(np.where(y, 1.0, -1.0), C / tau, tau)
    z, bias = machine.dual_coef_[0], machine.bias_[0]
    return slow.duality_gap(K, machine.weights_, z, bias, *box, rows=rows, free=free)


def audit(name, seed, scale, C=1.0):
    kernels, y = problem(seed, scale)
    machine = type(METHODS[name])(**METHODS[name].get_params()).set_params(C=C)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(kernels, y)
    found = recomputed(machine, kernels, y)
    # sums in another order: rounding of either value, relative to the larger
    assert found <= machine.gap_ + 1e-10, (name, seed, scale, found, machine.gap_)
    assert found >= -1e-10
    return machine


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("name", METHODS)
def test_the_gap_recomputed_is_never_above_the_one_reported(name, scale):
    machine = audit(name, 1, scale)
    assert machine.gap_ <= machine.tol


@pytest.mark.slow
def test_the_gap_recomputed_is_never_above_the_one_reported_on_two_hundred_fits():
    rng = np.random.default_rng(0)
    for k in range(200):
        audit(list(METHODS)[k % len(METHODS)], k, 10.0 ** rng.uniform(-6, 6), 10.0 ** rng.uniform(-1, 2))


@pytest.mark.parametrize("seed", range(6))
def test_large_features_do_not_end_in_a_wrong_machine(seed):
    """Linear kernels of raw features of 1e4 to 1e5: nearly a hard margin, where drift once passed for a solution."""
    views, _, y = features(seed, absent=0.0, scale=10 ** (4 + seed / 5))
    kernels = ViewKernels("linear", standardize=False, normalize=None).fit_transform(Views.from_dict(views))
    machine = MKLClassifier().fit(kernels, y)
    assert recomputed(machine, kernels, y) <= machine.gap_ + 1e-10
    assert machine.converged_
    K = np.tensordot(machine.weights_, kernels.to_dense(), 1)
    assert machine.score(kernels, y) == SVC(kernel="precomputed").fit(K, y).score(K, y) == 1.0


@pytest.mark.slow_params(*(f"iterative-{scale}" for scale in (2.0**-20, 2.0**20, 1e6)))
@pytest.mark.parametrize("scale", [2.0**-20, 2.0**20, 1e-6, 1e6])
@pytest.mark.parametrize("name", METHODS)
def test_a_kernel_and_c_scaled_against_each_other_leave_the_scores(name, scale):
    kernels, y = problem(2, 1.0)
    scaled = problem(2, scale)[0]
    one, other = (type(METHODS[name])(**METHODS[name].get_params()) for _ in range(2))
    if name == "iterative":  # rounds without a gap: where they end within `tol`, rounding decides
        one, other = (method.set_params(tol=1e-9, max_iter=500) for method in (one, other))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one.fit(kernels, y)
        other.set_params(C=1 / scale).fit(scaled, y)
    score = "predict" if name == "regression" else "decision_function"
    a, b = getattr(one, score)(kernels), getattr(other, score)(scaled)
    if np.log2(scale) % 1 == 0:  # powers of two change no digit
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(one.weights_, other.weights_)
        assert one.gap_ == other.gap_
    else:
        np.testing.assert_allclose(b, a, atol=1e-6 * np.abs(a).max())


# ------------------------------------------------------------------------------------------------ dust


def test_no_weight_lies_between_zero_and_the_threshold():
    """Many machines whose optimum has zeros: weights are exactly that, or above a millionth of the largest."""
    seen = 0
    for seed in range(12):
        kernels, y = problem(seed, 1.0)
        for machine in (MKLClassifier(), MKLClassifier(C=30.0, tol=1e-8), AbsentMKLClassifier("penalized")):
            weights = machine.fit(kernels, y).weights_
            assert ((weights == 0) | (weights > DUST * weights.max())).all()
            seen += int((weights == 0).sum())
            norms = machine._norms[0]
            assert ((norms == 0) | (norms > DUST * norms.max())).all()
    assert seen > 5


def test_scores_are_continuous_where_a_view_loses_its_say():
    kernels, y = problem(0, 1.0)
    machine = MKLClassifier(norm=2).fit(kernels, y)
    rows = kernels.hide(np.arange(4) == 2 * np.ones((len(y), 1)))  # only the third view is left
    some = rows.observed.any(axis=1)
    eta, norms = machine._weights.copy(), machine._norms.copy()
    found = []
    for share in (0.0, 1e-12, 1e-8, 1e-4):
        machine._weights, machine._norms = eta.copy(), norms.copy()
        machine._weights[0, 2], machine._norms[0, 2] = share * eta.max(), share * norms.max()
        found.append(machine.decision_function(rows)[some])
    for near, slack in zip(found[1:], (1e-9, 1e-5, 1e-1), strict=True):
        np.testing.assert_allclose(near, found[0], atol=slack)
    np.testing.assert_allclose(found[0], 2 * y.mean() - 1)


@pytest.mark.parametrize("name", METHODS)
def test_without_a_usable_view_every_method_says_the_prior_and_flags_it(name):
    kernels, y = problem(0, 1.0)
    machine = type(METHODS[name])(**METHODS[name].get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(kernels, y)
    rows = kernels.hide(np.zeros(kernels.observed.shape, bool))
    assert machine.unusable(rows).all()
    if name == "regression":
        np.testing.assert_allclose(machine.predict(rows), y.mean())
    else:
        np.testing.assert_allclose(machine.decision_function(rows), 2 * y.mean() - 1)
