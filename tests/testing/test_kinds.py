"""Which laws are meant for whom."""

from absentia import AverageKernelSVC, MKLClassifier, MMAFClassifier
from absentia.testing import _kinds, _tools
from nearest import NearestMean, Widest


def test_kinds_follow_from_what_a_classifier_is():
    assert _tools.kinds(Widest()) == ["every"]
    assert _tools.kinds(NearestMean()) == ["every", "probabilities"]
    assert _tools.kinds(MMAFClassifier()) == ["every", "probabilities", "iterative"]
    for machine in (MKLClassifier(), AverageKernelSVC()):
        assert _tools.kinds(machine) == ["every", "probabilities", "iterative", "machine"]


def test_every_kind_has_laws_and_each_is_counted_once():
    names = [law.__name__ for laws in _tools.LAWS.values() for law in laws]
    assert len(set(names)) == len(names)
    assert _kinds.calibration_changes_no_score.__name__ in names
    assert set(_tools.laws_of(Widest())) < set(_tools.laws_of(NearestMean()))
