"""The one list of methods: everything in it can be made, read from texts, and listed."""

import pytest

from absentia.core import Method, parameters_of
from absentia.methods.catalogue import CATALOGUE, find, offered


def test_names_are_different_and_every_entry_says_when_to_use_it():
    names = [(entry.family, entry.name) for entry in CATALOGUE]
    assert len(set(names)) == len(names)
    assert all(len(entry.when.split()) > 3 for entry in CATALOGUE)


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_every_entry_can_be_made_and_its_flags_are_parameters_of_the_class(entry):
    estimator = entry.make()
    assert isinstance(estimator, Method)
    assert entry.fixed.items() <= estimator.get_params().items()
    declared = parameters_of(estimator)
    for flag, parameter in entry.parameters().items():
        assert flag.startswith("--")
        assert parameter.name in declared
        assert parameter.name not in entry.fixed
    assert set(entry.without) <= set(declared)
    estimator._check_parameters()


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_defaults_read_from_texts_are_the_defaults(entry):
    for flag, parameter in entry.parameters().items():
        if isinstance(parameter.default, str | int | float) and not isinstance(parameter.default, bool):
            assert entry.read({flag: str(parameter.default)}) == {parameter.name: parameter.default}


def test_methods_are_found_by_name_and_family():
    assert find("cvkt", "completer").make(**find("cvkt", "completer").read({"--rounds": "3"})).rounds == 3
    assert list(offered("matrix")) == ["pma"]
    with pytest.raises(ValueError, match="no method 'cvkd'; did you mean cvkt"):
        find("cvkd", "completer")
    with pytest.raises(ValueError, match="no method 'mkl'"):
        find("mkl", "completer")


def test_a_flag_of_another_method_is_refused():
    with pytest.raises(ValueError, match="--rounds does not apply to method 'zero'; it has no parameters"):
        find("zero", "completer").read({"--rounds": "3"})
    with pytest.raises(
        ValueError, match="--rounds does not apply to method 'mkmc-pca'; it has --components"
    ):
        find("mkmc-pca", "completer").read({"--rounds": "3"})
    with pytest.raises(ValueError, match="--components does not apply to method 'mkmc-full'"):
        find("mkmc-full", "completer").read({"--components": "3"})
    with pytest.raises(ValueError, match="--rounds is a whole number of 1 or more or heldout, not '0'"):
        find("cvkt", "completer").read({"--rounds": "0"})
