"""Average kernels."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import SVC

from absentia import AverageKernelSVC, KernelViews, ViewKernels, datasets, missingness


@pytest.fixture(scope="module")
def problem():
    views, y = datasets.load_digit_views(n_samples=80, return_X_y=True)
    views = views.hide(missingness.mcar(views, 0.4, random_state=0))
    return views, ViewKernels().fit_transform(views), y


def dense(kernels):
    return np.nan_to_num(kernels.to_dense())


@pytest.mark.parametrize("normalize", [None, "rows"])
def test_it_is_the_usual_machine_on_the_average(problem, normalize):
    _, kv, y = problem
    a, b = np.arange(0, 80, 2), np.arange(1, 80, 2)
    K, r = dense(kv).mean(axis=0), kv.observed.sum(axis=1)
    if normalize:
        K = 6 * K / np.sqrt(np.outer(r, r))
    ours = AverageKernelSVC(C=2.0, normalize=normalize, tol=1e-9).fit(kv[np.ix_(a, a)], y[a] < 5)
    usual = SVC(C=2.0, kernel="precomputed", tol=1e-8).fit(K[np.ix_(a, a)], y[a] < 5)
    found = ours.decision_function(kv[np.ix_(b, a)])
    np.testing.assert_allclose(found, usual.decision_function(K[np.ix_(b, a)]), atol=1e-4)
    np.testing.assert_allclose(ours.weights_, 1 / 6)


def test_normalised_rows_do_not_care_how_many_views_say_the_same(rng):
    """The same kernel six times, a different number of views for each: as if all had all."""
    X = rng.standard_normal((60, 3))
    y = X[:, 0] > 0
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1))
    one_each = np.zeros((60, 6), bool)
    one_each[:, 0] = True
    observed = one_each.copy()
    observed[:30] = True  # the first thirty have six views, the others one: the sum is 6, 1 or 1 times K
    plain, scaled = (
        AverageKernelSVC(normalize=how, tol=1e-8).fit(KernelViews.from_dense([K] * 6, observed=observed), y)
        for how in (None, "rows")
    )
    np.testing.assert_allclose(scaled.weights_, plain.weights_)
    r = observed.sum(axis=1)
    common = np.minimum.outer(r, r) * K / np.sqrt(np.outer(r, r))
    np.testing.assert_allclose(np.diagonal(common), 1)
    by_hand = SVC(kernel="precomputed", tol=1e-9).fit(common, y).decision_function(common)
    kernels = KernelViews.from_dense([K] * 6, observed=observed)
    np.testing.assert_allclose(scaled.decision_function(kernels), by_hand, atol=1e-4)


def test_several_classes_are_not_corrected_twice_when_rows_are_normalised(problem):
    _, kv, y = problem
    machine = AverageKernelSVC(normalize="rows").fit(kv, y)
    np.testing.assert_array_equal(machine.decision_function(kv), machine._raw_scores(kv))
    assert machine.weights_.shape == (10, 6)


# ------------------------------------------------------------------------------------- squared losses


@pytest.mark.parametrize("normalize", [None, "rows"])
def test_the_squared_hinge_has_the_least_primal_value(problem, normalize):
    """The dual on a kernel with more on its diagonal, and a descent on the primal."""
    _, kv, y = problem
    C, signs, weight = 0.7, np.where(y < 5, 1.0, -1.0), np.linspace(0.5, 2.0, 80)
    weight[::9] = 0.0
    K, r = dense(kv).mean(axis=0), kv.observed.mean(axis=1)
    K = K / np.sqrt(np.outer(r, r)) if normalize else K

    def primal(parameters):
        z, b = parameters[:-1], parameters[-1]
        f = K @ z
        loss = np.maximum(1 - signs * (f + b), 0)
        pull = -2 * C * weight * signs * loss
        return z @ f / 2 + C * weight @ loss**2, np.append(f + K @ pull, pull.sum())

    options = {"maxiter": 5000, "maxfun": 10000, "ftol": 1e-15, "gtol": 1e-9}
    least = minimize(primal, np.zeros(81), jac=True, method="L-BFGS-B", options=options).fun
    machine = AverageKernelSVC(C=C, normalize=normalize, loss="squared_hinge", tol=1e-6)
    machine.fit(kv, y < 5, sample_weight=weight)
    z = machine.dual_coef_[0] * (np.sqrt(r) if normalize else 1.0)  # of the samples at unit length
    assert machine.gap_ <= 1e-6
    assert primal(np.append(z, machine.bias_))[0] == pytest.approx(least, rel=1e-5)
    assert machine.objective_[-1] == pytest.approx(least, rel=1e-5)
    assert not machine.dual_coef_[0, weight == 0].any()


def test_losses_are_squared_from_many_classes_on_unless_they_are_given(rng):
    y = np.repeat(np.arange(20), 4)
    kv = KernelViews.from_dense([np.corrcoef(rng.standard_normal((80, 40)) + 2 * np.eye(20, 40)[y])])

    def scores(classes, **loss):
        rows = np.flatnonzero(y < classes)
        part = kv[np.ix_(rows, rows)]
        return AverageKernelSVC(**loss).fit(part, y[rows]).decision_function(part)

    for classes, usual, other in ((19, "hinge", "squared_hinge"), (20, "squared_hinge", "hinge")):
        np.testing.assert_array_equal(scores(classes), scores(classes, loss=usual))
        assert np.abs(scores(classes) - scores(classes, loss=other)).max() > 0.01


def test_bad_parameters_are_explained(problem):
    _, kv, y = problem
    for bad in (AverageKernelSVC(loss="best"), AverageKernelSVC(normalize="cosine")):
        with pytest.raises(ValueError, match="must be"):
            bad.fit(kv, y < 5)
