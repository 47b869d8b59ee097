"""The tools of estimator checks: which are meant for whom, and that they let pass what is right alone."""

import warnings

import numpy as np
import pytest

from absentia import AbsentSurvival, AverageKernelSVC, MKLClassifier, MKLRegressor, MMAFClassifier
from absentia.testing import _classifiers, _tools
from absentia.testing._tools import (
    assert_close,
    data,
    exact,
    refused,
    subset,
    takes_kernels,
    warned,
    without_ids,
)
from helpers.smallest_classifiers import NearestMean, Widest


def test_data_are_what_a_classifier_takes():
    assert takes_kernels(MKLClassifier())
    kernels, y = data(MKLClassifier())
    assert kernels.shape == (60, 60)
    assert subset(kernels, np.arange(5), np.arange(7)).shape == (5, 7)
    views, _ = data(MMAFClassifier())
    assert views.shape == (60, 6)
    assert not views.observed.all(axis=1).any()
    assert len(y) == len(subset(views, np.arange(60)))
    np.testing.assert_array_equal(without_ids(kernels).observed, kernels.observed)


def test_exact_sets_only_what_there_is():
    assert exact(MKLClassifier(C=3)).get_params()["tol"] == 1e-8
    assert exact(MKLClassifier(C=3)).C == 3


def test_what_is_not_close_not_refused_or_not_said_is_found_out():
    assert_close(np.array([1.0, 1e3]), np.array([1.0 + 1e-7, 1e3]), 1e-9)
    with pytest.raises(AssertionError):
        assert_close(np.array([1.0]), np.array([1.1]), 1e-9)
    with pytest.raises(AssertionError, match="no ValueError came"), refused(ValueError, "x"):
        pass
    with pytest.raises(AssertionError, match="is not in 'y'"), refused(ValueError, "x"):
        raise ValueError("y")
    with warned(UserWarning, "hello"):
        warnings.warn("hello there", stacklevel=1)
    with pytest.raises(AssertionError), warned(UserWarning, "hello"):
        pass


EVERY = ["learner", "weighted", "classifier"]


def test_kinds_follow_from_what_an_estimator_is():
    assert _tools.kinds(Widest()) == EVERY
    assert _tools.kinds(NearestMean()) == [*EVERY, "probabilities"]
    assert _tools.kinds(MMAFClassifier()) == [*EVERY, "probabilities", "iterative"]
    for machine in (MKLClassifier(), AverageKernelSVC()):
        assert _tools.kinds(machine) == [*EVERY, "probabilities", "iterative", "machine"]
    assert _tools.kinds(MKLRegressor()) == ["learner", "weighted", "regressor"]
    assert _tools.kinds(AbsentSurvival()) == ["learner", "survival"]


def test_every_kind_has_checks_and_each_is_counted_once():
    names = [check.__name__ for checks in _tools.CHECKS.values() for check in checks]
    assert len(set(names)) == len(names)
    assert _classifiers.calibration_changes_no_score.__name__ in names
    assert set(_tools.checks_of(Widest())) < set(_tools.checks_of(NearestMean()))
