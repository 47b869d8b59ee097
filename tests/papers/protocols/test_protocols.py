"""Protocols and methods by name, and the versions that they declare."""

import pytest

from absentia import CVKT, MeanFill
from absentia.papers import protocols
from absentia.papers.protocols import Protocol, make_method, perform_trial, version_of


def test_methods_are_made_by_the_names_of_their_classes():
    assert make_method("MeanFill", {"of": "entries"}).of == "entries"
    assert type(make_method("CVKT", {})) is CVKT
    assert make_method("CVKT", {}, seed=3).random_state == 3
    assert make_method("CVKT", {"random_state": 5}, seed=3).random_state == 5
    assert isinstance(make_method("MeanFill", {}, seed=3), MeanFill)


@pytest.mark.parametrize("name", ["Views", "os", "read", "__version__", "nobody", "datasets", "compare"])
def test_nothing_else_can_be_called_from_a_file(name):
    with pytest.raises(ValueError, match="is no method of absentia"):
        make_method(name, {})


def test_versions_are_those_that_classes_and_protocols_declare(monkeypatch):
    assert version_of("mkmc", "ZeroFill") == "ZeroFill 1, protocol 1"
    assert version_of("cvkt", "CVKT, best") == "CVKT 1, protocol 1"
    assert version_of("pma-labels", "frequent") == "protocol 1"
    monkeypatch.setattr(CVKT, "_version", 3, raising=False)
    assert version_of("cvkt", "CVKT, best") == "CVKT 3, protocol 1"
    assert version_of("cvkt", "MKC") == "MKC 1, protocol 1"
    with pytest.raises(ValueError, match="protocol"):
        version_of("nobody's", "ZeroFill")


def test_a_trial_is_done_by_the_protocol_of_its_key(monkeypatch):
    monkeypatch.setattr(
        protocols, "_find_protocol", lambda name: Protocol(lambda key: {"name": name, **key}, 2)
    )
    assert perform_trial({"protocol": "mine", "level": 3}) == {
        "name": "mine",
        "protocol": "mine",
        "level": 3,
    }
    assert version_of("mine", "ZeroFill") == "ZeroFill 1, protocol 2"
