"""Methods by name, and their versions."""

import pytest

from absentia import CVKT, MeanFill
from absentia.papers._methods import class_of, make, version


def test_methods_are_made_by_the_names_of_their_classes():
    assert make("MeanFill", {"of": "entries"}).of == "entries"
    assert class_of("CVKT") is CVKT
    assert make("CVKT", {}, seed=3).random_state == 3
    assert make("CVKT", {"random_state": 5}, seed=3).random_state == 5
    assert isinstance(make("MeanFill", {}, seed=3), MeanFill)


@pytest.mark.parametrize("name", ["Views", "os", "read", "__version__", "nobody", "datasets", "compare"])
def test_nothing_else_can_be_called_from_a_file(name):
    with pytest.raises(ValueError, match="is no method of absentia"):
        class_of(name)


def test_versions_are_those_of_the_methods_source():
    assert version("mkmc", "ZeroFill") == version("mkmc", "MeanFill")  # of one module
    assert version("mkmc", "ZeroFill") != version("mkmc", "CVKT")
    assert version("mkmc", "ZeroFill") != version("cvkt", "ZeroFill")
    with pytest.raises(ValueError, match="protocol"):
        version("nobody's", "ZeroFill")
