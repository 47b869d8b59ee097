"""The base of classifiers: laws that all obey (tests/market.py), and that next to nothing has to be brought."""

import pytest

import laws_classifiers as laws
from market import CLASSIFIERS

CASES = [
    pytest.param(name, law, id=f"{name}-{law.__name__.removeprefix('law_')}")
    for name, classifier in CLASSIFIERS.items()
    for kind in ("every", "chances")
    if kind in laws.kinds(classifier)
    for law in laws.LAWS[kind]
]


@pytest.mark.parametrize(("name", "law"), CASES)
def test_every_classifier_obeys(name, law):
    law(CLASSIFIERS[name])
