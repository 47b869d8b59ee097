"""The tools of estimator checks: which are meant for whom, and that they let pass what is right alone."""

import warnings

import numpy as np
import pytest

from absentia import AbsentSurvival, AverageKernelSVC, MKLClassifier, MKLRegressor, MMAFClassifier
from absentia.testing import _tools
from absentia.testing._tools import (
    add_noise,
    assert_close,
    data,
    exact,
    random_problem,
    refused,
    select_samples,
    takes_kernels,
    warned,
    without_ids,
)
from helpers.smallest_classifiers import NearestMean, Widest


def test_data_are_what_a_classifier_takes():
    assert takes_kernels(MKLClassifier())
    kernels, y = data(MKLClassifier())
    assert kernels.shape == (60, 60)
    assert select_samples(kernels, np.arange(5), np.arange(7)).shape == (5, 7)
    views, _ = data(MMAFClassifier())
    assert views.shape == (60, 6)
    assert not views.observed.all(axis=1).any()
    assert len(y) == len(select_samples(views, np.arange(60)))
    np.testing.assert_array_equal(without_ids(kernels).observed, kernels.observed)


def test_exact_sets_only_what_there_is():
    assert exact(MKLClassifier(C=3)).get_params()["tol"] == 1e-8
    assert exact(MKLClassifier(C=3)).C == 3


def test_what_is_not_close_or_not_said_is_found_out():
    assert_close(np.array([1.0, 1e3]), np.array([1.0 + 1e-7, 1e3]), 1e-9)
    with pytest.raises(AssertionError):
        assert_close(np.array([1.0]), np.array([1.1]), 1e-9)
    with warned(UserWarning, "hello"):
        warnings.warn("hello there", stacklevel=1)
    with pytest.raises(AssertionError), warned(UserWarning, "hello"):
        pass


def test_problems_are_incomplete_and_the_same_every_time():
    one, other = random_problem(), random_problem()
    np.testing.assert_array_equal(one.to_dense(), other.to_dense())
    assert 0.5 < one.observed.mean() < 0.9


def test_noise_is_symmetric_and_small(rng):
    K = random_problem(10, 2, 0.0).to_dense()
    noised = add_noise(K, 1e-6, rng)
    np.testing.assert_array_equal(noised, noised.transpose(0, 2, 1))
    assert 0 < np.abs(noised - K).max() < 1e-5


def test_what_is_not_refused_or_not_in_these_words_is_found_out():
    with refused(ValueError, "one", "word"):
        raise ValueError("one wrong word")
    with pytest.raises(AssertionError, match="nothing was refused"), refused(ValueError):
        pass
    with pytest.raises(AssertionError, match="does not say"), refused(ValueError, "other"):
        raise ValueError("one")
    with pytest.raises(TypeError), refused(ValueError):
        raise TypeError


EVERY = ["learner", "weighted", "classifier"]


def test_kinds_follow_from_what_an_estimator_is():
    assert _tools.kinds(Widest()) == EVERY
    assert _tools.kinds(NearestMean()) == [*EVERY, "probabilities"]
    assert _tools.kinds(MMAFClassifier()) == [*EVERY, "probabilities", "iterative"]
    for machine in (MKLClassifier(), AverageKernelSVC()):
        assert _tools.kinds(machine) == [*EVERY, "probabilities", "iterative"]
    assert _tools.kinds(MKLRegressor()) == ["learner", "weighted", "regressor"]
    assert _tools.kinds(AbsentSurvival()) == ["learner", "survival"]


def test_every_kind_has_checks_and_each_is_counted_once():
    learning = set(_tools.CHECKS) - {"completer", "imputer", "operator"}
    names = [name for kind in learning for name in _tools.CHECKS[kind]]
    assert len(set(names)) == len(names)
    assert "calibration_changes_no_score" in names
    assert set(_tools.checks_of(Widest())) < set(_tools.checks_of(NearestMean()))
