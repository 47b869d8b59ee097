"""Which checks are meant for whom."""

from absentia import AbsentSurvival, AverageKernelSVC, MKLClassifier, MKLRegressor, MMAFClassifier
from absentia.testing import _classifiers, _tools
from nearest import NearestMean, Widest

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
