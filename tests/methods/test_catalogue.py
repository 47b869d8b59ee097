"""The one list of methods: everything in it can be made, read from texts, and listed."""

import pytest

from absentia.core import Estimator, get_parameters
from absentia.methods.catalogue import CATALOGUE, find, is_method, offered, variants_of


def test_names_are_different_and_every_entry_says_when_to_use_it():
    names = [(entry.family, entry.name) for entry in CATALOGUE]
    assert len(set(names)) == len(names)
    assert all(len(entry.when.split()) > 3 for entry in CATALOGUE)


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_every_entry_can_be_made_and_its_flags_are_parameters_of_the_class(entry):
    estimator = entry.make()
    assert isinstance(estimator, Estimator)
    assert entry.fixed.items() <= estimator.get_params().items()
    declared = get_parameters(estimator)
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


def test_names_of_the_papers_and_older_ones_are_understood():
    assert find("C-AMKL", "classifier").name == "amkl-convex"
    assert find("zf-mkl", "classifier").name == "mkl"
    assert find("FC-MKMC", "completer").name == "mkmc-full"
    assert is_method("mf-mkl", "classifier")
    assert not is_method("mf-mkl", "regressor")
    names = [(e.family, name.lower()) for e in CATALOGUE for name in (e.name, *e.aliases)]
    assert len(set(names)) == len(names)


def test_a_variant_is_its_method_with_some_flags_given():
    svm = find("svm", "classifier")
    names = [one.name for one in variants_of(find("cox", "survival"))]
    assert names == ["cox-zero", "cox-cvkt-linear", "cox-cvkt-rbf"]
    assert "cvkt-svm" not in offered("classifier")
    assert offered("classifier", variants=True)["cvkt-svm"].variant_of == "svm"
    for variant in variants_of(svm):
        flags = {"--completer": str(variant.fixed["completer"]), "--combine": variant.fixed["combine"]}
        assert repr(svm.make(**svm.read(flags))) == repr(variant.make())
        assert not {"--completer", "--combine"} & set(variant.parameters())


def test_every_family_has_a_default_and_what_compare_tries_is_led_by_a_baseline():
    for family in ("completer", "classifier", "regressor", "survival", "matrix"):
        assert sum(entry.default for entry in offered(family).values()) == 1
    for task in ("classes", "labels", "numbers", "survival", "completion"):
        tried = [entry for entry in CATALOGUE if task in entry.compared]
        assert tried[0].baseline
        assert not tried[-1].baseline


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
