"""What is expected of methods: by hand, against the posterior in its other form, and by what it is worth."""

import numpy as np
import pytest

from absentia.data.statistics import corrected_resampled_t
from absentia.experiment.comparison._recommendation import PRIORS, _make_prior, _measure, expect_differences
from absentia.tasks import TASKS

SHARE = 0.25
PRIOR = {"a": (0.02, 0.03), "b": (-0.01, 0.05), "c": (0.0, 0.04)}


def folds(values):
    return {(k // 5, k % 5): float(value) for k, value in enumerate(values)}


def test_one_method_by_hand(rng):
    values = 0.04 + 0.05 * rng.standard_normal(25)
    found = expect_differences({"a": folds(values)}, SHARE, 0.01, PRIOR)["a"]
    test = corrected_resampled_t(values, SHARE)
    variance = test.error**2 * 24 / 22  # that of a Student distribution with 24 degrees of freedom
    weight = 0.03**2 / (0.03**2 + variance)
    assert found.mean == pytest.approx(0.02 + weight * (test.mean - 0.02))
    assert found.deviation == pytest.approx(np.sqrt(weight * variance))
    assert 0 < found.worse < found.better < 1
    draws = found.mean + found.deviation * rng.standard_normal(200_000)
    assert found.better == pytest.approx((draws > 0.01).mean(), abs=0.005)
    assert found.worse == pytest.approx((draws < -0.01).mean(), abs=0.005)


def test_the_posterior_is_that_of_precisions_that_add_up(rng):
    own = {name: folds(0.03 * rng.standard_normal(15)) for name in PRIOR}
    found = expect_differences(own, SHARE, 0.01, PRIOR)
    measured = _measure(own, SHARE)
    means, P = _make_prior(tuple(own), measured, 0.01, PRIOR)
    precision = np.linalg.inv(P) + np.linalg.inv(measured.covariance)
    right = np.linalg.inv(P) @ means + np.linalg.inv(measured.covariance) @ measured.means
    np.testing.assert_allclose([one.mean for one in found.values()], np.linalg.solve(precision, right))
    deviations = np.sqrt(np.diag(np.linalg.inv(precision)))
    np.testing.assert_allclose([one.deviation for one in found.values()], deviations)


def test_what_is_not_measured_is_as_before_but_for_what_others_tell_of_the_simplest(rng):
    assert expect_differences({}, SHARE, 0.01, PRIOR) == {}
    single = expect_differences({"a": {(0, 0): 0.3}}, SHARE, 0.01, PRIOR)["a"]
    assert (single.mean, single.deviation) == (0.02, pytest.approx(0.03))
    low = folds(0.1 + 0.01 * rng.standard_normal(25))  # the simplest does badly here
    found = expect_differences({"b": low, "a": {(0, 0): 0.3}}, SHARE, 0.01, PRIOR)
    assert found["a"].mean > 0.02


def test_a_method_without_a_record_elsewhere_is_less_certain(rng):
    values = folds(0.05 + 0.1 * rng.standard_normal(10))
    own, other = (expect_differences({m: values}, SHARE, 0.01, PRIOR)[m] for m in ("a", "unheard-of"))
    assert other.deviation > own.deviation


def test_without_a_table_differences_are_drawn_towards_zero(rng):
    values = {m: folds(d + 0.05 * rng.standard_normal(10)) for m, d in (("x", 0.1), ("y", -0.1))}
    found = expect_differences(values, SHARE, 0.01)
    for method, own in values.items():
        assert 0 < found[method].mean / np.mean(list(own.values())) < 1
    none = expect_differences({"x": folds(np.zeros(5))}, SHARE, 0.0)["x"]
    assert (none.mean, none.worse, none.better) == (0.0, 0.5, 0.5)


def test_a_few_equal_differences_are_no_certainty(rng):
    """Scores of small folds are often equal by chance; another method shows how much folds scatter."""
    values = {"a": folds([0.05] * 3), "b": folds(0.1 * rng.standard_normal(3))}
    found = expect_differences(values, SHARE, 0.01, PRIOR)["a"]
    assert 0.02 < found.mean < 0.05
    assert found.deviation > 0.01


def test_following_it_loses_less_than_the_best_mean_and_than_the_simplest():
    """Methods drawn from priors that differ, folds that share a fifth of their noise, 400 data sets.

    Where priors are alike the best mean is as good as can be, and what is expected loses a little more.
    """
    rng = np.random.default_rng(0)
    centres = np.linspace(-0.02, 0.02, 6)
    prior = {f"m{k}": (float(mean), 0.03) for k, mean in enumerate(centres)}
    loss, calibration = {"expected": 0.0, "best mean": 0.0, "simplest": 0.0}, []
    for _ in range(400):
        scores = np.append(centres, 0) + 0.03 / np.sqrt(2) * rng.standard_normal(7)  # last the simplest
        shared, noise = rng.standard_normal(7), rng.standard_normal((10, 7))
        measured = scores + 0.06 * (np.sqrt(0.2) * shared + np.sqrt(0.8) * noise)
        differences, truth = measured[:, :6] - measured[:, 6:], scores[:6] - scores[6]
        own = dict(zip(prior, map(folds, differences.T), strict=True))
        found = expect_differences(own, SHARE, 0.0, prior)
        means = np.array([one.mean for one in found.values()])
        best, candidates = max(truth.max(), 0.0), np.append(truth, 0.0)
        loss["expected"] += best - candidates[np.append(means, 0.0).argmax()]
        loss["best mean"] += best - candidates[np.append(differences.mean(axis=0), 0.0).argmax()]
        loss["simplest"] += best
        calibration += [(one.better, d > 0) for one, d in zip(found.values(), truth, strict=True)]
    assert loss["expected"] < 0.95 * loss["best mean"]
    assert loss["expected"] < 0.6 * loss["simplest"]
    said, true = np.array(calibration, dtype=float).T
    for low, high in ((0.0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.0)):
        inside = (low <= said) & (said < high)
        assert true[inside].mean() == pytest.approx(said[inside].mean(), abs=0.06)


def test_the_table_is_of_methods_that_there_are():
    for (task, metric), prior in PRIORS.items():
        assert TASKS[task].main_score == metric
        assert TASKS[task].simplest not in prior
        assert TASKS[task].default_method in prior
        for method, (mean, deviation) in prior.items():
            assert TASKS[task].find(method).name == method
            assert -0.5 < mean < 0.5
            assert 0 < deviation < 0.5


def test_the_default_is_compared_where_it_is_recommended():
    assert "auto" in TASKS["classes"].compared_methods()
