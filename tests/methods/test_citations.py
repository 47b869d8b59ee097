"""What to cite: BibTeX of what methods are made of."""

import re
from pathlib import Path

import pytest
from sklearn.pipeline import make_pipeline

import absentia
from absentia import AbsentClassifier, EMFill, MKLClassifier, ViewKernels, cite
from absentia.methods import catalogue, citations, completion, learning, matrix

ROOT = Path(__file__).parents[2]


def keys(*methods):
    return re.findall(r"^@\w+\{(\w+),", cite(*methods), re.M)


@pytest.mark.parametrize(
    ("method", "wanted"),
    [
        ("cvkt", ["huusari2022cvkt"]),
        ("FC-MKMC", ["rivero2018parametric", "rivero2017mkmc"]),
        ("C-AMKL", ["liu2020amkl"]),
        ("mf-mkl", ["rakotomamonjy2008simplemkl"]),
        ("auto", ["huusari2022cvkt"]),  # of one of its members
        ("svt-mkl", ["cai2010svt", "rakotomamonjy2008simplemkl"]),
        ("cvkt-svm", ["huusari2022cvkt"]),
        ("PMA-GIBBS", ["agovic2011pma"]),
        ("MLKNN", ["zhang2007mlknn"]),
        ("linear", []),
        (AbsentClassifier(completer="mkc-ht"), ["bhadra2017mkc"]),
        (
            make_pipeline(ViewKernels(), EMFill(), MKLClassifier()),
            ["ghahramani1993em", "rakotomamonjy2008simplemkl"],
        ),
    ],
)
def test_papers_of_all_that_a_method_is_made_of_are_cited(method, wanted):
    assert set(keys(method)) == {*wanted, "absentia"}
    assert keys(method)[-1] == "absentia"


def test_each_paper_is_cited_once_and_absentia_alone_without_methods():
    assert keys("cvkt", "cvkt-svm", "cvkt") == ["huusari2022cvkt", "absentia"]
    assert keys() == ["absentia"]


def test_an_unknown_name_is_an_error():
    with pytest.raises(ValueError, match="no method 'cvkd'; did you mean cvkt"):
        cite("cvkd")


def test_classes_and_entries_are_those_that_there_are():
    known = {name for package in (completion, learning, matrix) for name in dir(package)}
    assert set(citations._CITED) <= known
    text = (Path(citations.__file__).parent / "references.bib").read_text(encoding="utf-8")
    there = re.findall(r"^@\w+\{(\w+),", text, re.M)
    assert sorted(there) == sorted(
        {key for cited in citations._CITED.values() for key in cited} | {"absentia"}
    )
    assert text.count("{") == text.count("}")


def test_versions_and_dois_of_all_citations_are_the_same():
    text = (Path(citations.__file__).parent / "references.bib").read_text(encoding="utf-8")
    cff = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    papers = (ROOT / "experiments" / "papers.toml").read_text(encoding="utf-8")
    assert f"version = {{{absentia.__version__}}}" in text
    assert f"\nversion: {absentia.__version__}\n" in cff
    dois = re.findall(r"^ *doi: (\S+)$", cff, re.M)
    assert len(dois) == 3
    for doi in dois:
        assert f"doi = {{{doi}}}" in text
        assert f"doi {doi}" in papers


@pytest.mark.parametrize("entry", catalogue.CATALOGUE, ids=lambda entry: entry.name)
def test_every_name_of_the_catalogue_can_be_cited(entry):
    assert keys(entry.name)[-1] == "absentia"
