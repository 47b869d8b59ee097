"""Kernel ridge regression with an intercept: the closed form against what it stands for."""

import numpy as np
import pytest

from absentia import KernelViews
from absentia.methods.prediction._ridge import _PENALTIES, FusedRidge, Ridge, skill_weights


def problem(n=24, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 6)
    y = 5 + X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * rng.normal(size=n)
    return K, y, rng.uniform(0.5, 2.0, size=n)


def by_features(K, y, weight, a, new):
    """The same model by features: weighted least squares with a free intercept, penalty `a`."""
    d, U = np.linalg.eigh(K)
    Phi = U * np.sqrt(np.maximum(d, 0))
    A = np.hstack([np.ones((len(y), 1)), Phi])
    penalty = np.diag([0.0] + [a] * Phi.shape[1])
    w = np.linalg.solve(A.T @ (A * weight[:, None]) + penalty, A.T @ (weight * y))
    return w[0] + (new @ U / np.sqrt(np.maximum(d, 1e-12))) @ w[1:]


@pytest.mark.parametrize("alike", [True, False])
def test_it_is_weighted_least_squares_with_a_free_intercept(alike):
    K, y, weight = problem()
    weight = np.ones_like(weight) if alike else weight
    model = Ridge.fit(K, y, weight, 0.5)
    own = len(y) * weight / weight.sum()
    H = np.eye(len(y)) - np.outer(np.ones(len(y)), weight / weight.sum())
    root = np.sqrt(own)
    unit = np.mean(np.linalg.eigvalsh((H @ K @ H.T) * root[:, None] * root))
    found = model.predict(K)
    np.testing.assert_allclose(found, by_features(K, y, own, 0.5 * unit, K), atol=1e-6)


@pytest.mark.parametrize("alike", [True, False])
def test_leaving_out_in_closed_form_is_leaving_out(alike):
    K, y, weight = problem()
    weight = np.ones_like(weight) if alike else weight
    n, share = len(y), weight / weight.sum()
    own, root = n * share, np.sqrt(n * share)
    H = np.eye(n) - np.outer(np.ones(n), share)
    unit = np.mean(np.linalg.eigvalsh((H @ K @ H.T) * root[:, None] * root))
    model = Ridge.fit(K, y, weight)
    said = np.zeros(n)
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        # the penalty stays what it was beside the others, whose weights stay too
        a = model.penalty * unit
        said[i] = by_features(K[np.ix_(rest, rest)], y[rest], own[rest], a, K[[i]][:, rest])[0]
    np.testing.assert_allclose(model.loo, said, rtol=1e-5)
    assert model.errors[model.penalty] == pytest.approx(float(share @ (y - said) ** 2), rel=1e-5)
    given = Ridge.fit(K, y, weight, model.penalty)
    np.testing.assert_array_equal(given.loo, model.loo)


def test_the_penalty_of_least_error_is_taken_the_stronger_of_equals():
    K, y, weight = problem(60)
    model = Ridge.fit(K, y, weight)
    assert set(model.errors) == set(_PENALTIES)
    assert model.errors[model.penalty] == min(model.errors.values())
    noise = np.random.default_rng(1).normal(size=60)
    assert Ridge.fit(np.eye(60), noise, np.ones(60)).penalty == max(_PENALTIES)
    assert Ridge.fit(K, np.full(60, 3.0), weight).predict(K) == pytest.approx(3.0)


def test_a_weight_is_how_often_a_sample_is_there():
    K, y, _ = problem(20)
    times = np.arange(20) % 3 + 1
    index = np.repeat(np.arange(20), times)
    many = Ridge.fit(K[np.ix_(index, index)], y[index], np.ones(len(index)), 0.3)
    # errors count on average, the penalty beside their sum
    one = Ridge.fit(K, y, times.astype(float), 0.3 * 20 / len(index))
    wanted = many.predict(K[:, index])
    np.testing.assert_allclose(one.predict(K), wanted, atol=1e-8)


def test_a_kernel_without_spread_says_the_mean():
    K, y, weight = np.ones((6, 6)), np.arange(6.0), np.ones(6)
    np.testing.assert_allclose(Ridge.fit(K, y, weight).predict(K), 2.5)
    np.testing.assert_allclose(Ridge.fit(np.zeros((6, 6)), y, weight).predict(K), 2.5)
    np.testing.assert_allclose(Ridge.fit(np.eye(6), y, weight, 0.0).predict(np.eye(6)), y, atol=1e-9)


def test_views_are_worth_the_variance_that_they_explain_of_samples_left_out():
    K, y, weight = problem()
    views = KernelViews.from_dense(np.array([K, np.eye(len(y))]))
    found = skill_weights(views, y, weight)
    share = weight / weight.sum()
    missed = min(Ridge.fit(K, y, weight).errors.values())
    explained = 1 - missed / (share @ (y - share @ y) ** 2)
    assert explained > 0.3
    np.testing.assert_array_equal(found, [1, 0])  # the second view tells samples from nothing
    noisy = K + 20 * np.eye(len(y))  # tells less
    other = 1 - min(Ridge.fit(noisy, y, weight).errors.values()) / (share @ (y - share @ y) ** 2)
    both = KernelViews.from_dense(np.array([K, noisy]))
    wanted = np.array([explained, other]) / (explained + other)
    np.testing.assert_allclose(skill_weights(both, y, weight), wanted)
    np.testing.assert_array_equal(skill_weights(views, np.full(len(y), 3.0), weight), 0.5)
    few = both.hide(np.arange(len(y))[:, None] < [0, len(y)])
    np.testing.assert_array_equal(skill_weights(few, y, weight), [0, 1])


def test_fusion_weighs_views_by_what_they_tell_and_leaves_samples_out_as_each_view_does():
    K, y, weight = problem(40)
    observed = np.column_stack([np.arange(40) < 30, np.arange(40) >= 5, np.arange(40) >= 37])
    views = KernelViews.from_dense(np.array([K, np.eye(40), K])).hide(observed)
    model = FusedRidge.fit(views, y, weight)
    assert model.ridges[2] is None  # three samples are too few
    first = Ridge.fit(K[:30, :30], y[:30], weight[:30])
    np.testing.assert_allclose(model.weights, [1, 0, 0])
    mean = np.average(y, weights=weight)
    told = first.loo - mean
    slope = (weight[:30] @ (told * (y[:30] - mean))) / (weight[:30] @ told**2)
    np.testing.assert_allclose(model.loo, np.append(mean + slope * told, np.full(10, mean)))
    said = model.predict(views)
    np.testing.assert_allclose(said[:30], mean + slope * (first.predict(K[:30, :30]) - mean))
    np.testing.assert_allclose(said[30:], mean)
    flat = FusedRidge.fit(views, np.ones(40), weight)
    np.testing.assert_allclose(flat.predict(views), 1.0)
