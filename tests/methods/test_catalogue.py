"""The one list of methods: everything in it can be made, read from texts, and listed."""

import pytest

from absentia.core import Estimator, get_parameters
from absentia.methods.catalogue import CATALOGUE, as_printed, find, is_method, list_entries, variants_of
from absentia.tasks import CLASSIFICATION


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
    assert list(list_entries("matrix")) == ["pma"]
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


COMMANDS = {
    "completer": ["FC-MKMC", "PCA-MKMC", "FA-MKMC", "CVKT", "MKC-embd-ht"],
    "matrix": ["PMA-MAP", "PMA-GIBBS", "PMA-EXACT"],
    "classifier": [
        *("I-AMKL", "I-AMKL-lambda", "I-AMKL-λ", "C-AMKL", "MMAF"),
        *("ZF-MKL", "MF-MKL", "EM-MKL", "SVT-MKL"),
    ],
}
IN_PYTHON = ["I-LMC", "GPR", "MLSVM", "MLKNN", "IBLRML", "PMF", "PMA-GIBBS-D"]


@pytest.mark.parametrize(("family", "name"), [(f, name) for f, names in COMMANDS.items() for name in names])
def test_a_name_of_a_paper_is_the_same_method_by_command_and_as_printed(family, name):
    offered, printed = find(name.upper(), family).make(), as_printed(name.lower())
    kind = type(printed.steps[-1][1] if hasattr(printed, "steps") else printed).__name__
    by_command = {"PMAClassifier": "PMAImputer"}.get(kind, kind)  # completes a matrix, or labels of samples
    fills = {"MF-MKL": "mean", "EM-MKL": "em", "SVT-MKL": "svt"}
    if name in fills:
        assert (offered.completer, offered.combine, kind) == (fills[name], "mkl", "MKLClassifier")
        assert type(printed.steps[0][1]) is find(fills[name], "completer").load()
    else:
        assert type(offered).__name__ == by_command
    for parameter in ("covariance", "formulation", "variant", "inference"):
        if parameter in offered.get_params():
            assert offered.get_params()[parameter] == printed.get_params()[parameter]


@pytest.mark.parametrize("name", [*IN_PYTHON, *(name for names in COMMANDS.values() for name in names)])
def test_what_is_printed_can_be_made(name):
    made = as_printed(name)
    for step in [one for _, one in made.steps] if hasattr(made, "steps") else [made]:
        step._check_parameters()


def test_papers_have_their_own_parameters():
    assert (
        as_printed("PCA-K").get_params().items() >= {"algorithm": "paper", "n_components": "kaiser"}.items()
    )
    assert as_printed("CVKT").solver == "descent"
    assert as_printed("I-AMKL-lambda").two_step
    assert not as_printed("PMA-GIBBS").label_covariance
    assert as_printed("MLSVM-D").discard
    with pytest.raises(ValueError, match="no method of a paper 'c-amk'; did you mean c-amkl"):
        as_printed("C-AMK")


@pytest.mark.parametrize("name", IN_PYTHON)
def test_methods_that_no_command_offers_say_where_they_are(name):
    with pytest.raises(
        ValueError, match=rf"it is absentia\.\w+, in Python absentia\.as_printed\('{name}'\)"
    ):
        find(name, "classifier")


def test_methods_of_another_family_say_what_they_do():
    with pytest.raises(
        ValueError, match=r"cvkt completes kernels \(absentia complete\); used by .*cvkt-svm"
    ):
        find("CVKT", "classifier")
    with pytest.raises(ValueError, match=r"amkl-convex learns classes \(absentia fit\)"):
        find("C-AMKL", "completer", "matrix")


@pytest.mark.parametrize(
    ("near", "meant"),
    [("C-AMLK", "c-amkl"), ("CAMKL", "c-amkl"), ("I-AMKL-lamda", "i-amkl-lambda"), ("SVD-MKL", "svt-mkl")],
)
def test_names_of_the_papers_are_suggested_on_a_near_miss(near, meant):
    with pytest.raises(ValueError, match=rf"did you mean (\S+ or )*{meant}\b"):
        find(near, "classifier")
    with pytest.raises(ValueError, match=rf"did you mean (\S+ or )*{meant}\b"):
        CLASSIFICATION.find(near)


def test_a_variant_is_its_method_with_some_flags_given():
    svm = find("svm", "classifier")
    names = [one.name for one in variants_of(find("cox", "survival"))]
    assert names == ["cox-zero", "cox-cvkt-linear", "cox-cvkt-rbf"]
    assert "cvkt-svm" not in list_entries("classifier")
    assert list_entries("classifier", variants=True)["cvkt-svm"].variant_of == "svm"
    for variant in variants_of(svm):
        flags = {"--completer": str(variant.fixed["completer"]), "--combine": variant.fixed["combine"]}
        assert repr(svm.make(**svm.read(flags))) == repr(variant.make())
        assert not {"--completer", "--combine"} & set(variant.parameters())


def test_every_family_has_a_default_and_what_compare_tries_is_led_by_a_baseline():
    for family in ("completer", "classifier", "regressor", "survival", "matrix"):
        assert sum(entry.default for entry in list_entries(family).values()) == 1
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
