"""Conformance: the laws that our own tests hold our methods to, for whoever writes one.

Each check runs every law and raises an :class:`AssertionError` that names the first one broken.

>>> from absentia import MeanFill, testing
>>> testing.check_completer(MeanFill())
"""

from collections.abc import Collection, Mapping
from typing import Any

from sklearn.base import clone

from absentia.testing import _classifiers, _kinds
from absentia.testing._completers import COMPLETER_LAWS
from absentia.testing._imputers import IMPUTER_CHECKS, check_imputer
from absentia.testing._operators import OPERATOR_LAWS
from absentia.testing._tools import Law, laws_of


def check_completer(completer: Any, *, without: Collection[str] = ()) -> None:
    """Hold a completer to the laws of completers, but for those named in `without`.

    Parameters
    ----------
    completer : estimator derived from :class:`absentia.methods.completion.Completer`
        Unfitted; it is cloned for every law.
    without : collection of str
        Names of laws (see :data:`COMPLETER_LAWS`) that the method is not meant to obey.
    """
    _check(COMPLETER_LAWS, without, lambda: clone(completer))


def check_classifier(classifier: Any, *, without: Collection[str] = ()) -> None:
    """Hold a classifier to the laws of classifiers that are meant for it, but for those in `without`.

    All have some; those with a parameter ``probability``, those that iterate and kernel machines have more.

    Parameters
    ----------
    classifier : estimator derived from :class:`absentia.methods.learning.Classifier`
        Unfitted; it is cloned for every law.
    without : collection of str
        Names of laws that the method is not meant to obey.
    """
    _check(laws_of(classifier), without, lambda: clone(classifier))


def check_operator(operator: Any, *, without: Collection[str] = ()) -> None:
    """Hold an operator to the laws of operators (:data:`OPERATOR_LAWS`)."""
    _check(OPERATOR_LAWS, without, lambda: operator)


def _check(laws: Mapping[str, Law], without: Collection[str], make: Any) -> None:
    unknown = [name for name in without if name not in laws]
    if unknown:
        raise ValueError(f"there is no law {unknown[0]!r}; the laws are {list(laws)}")
    for name, law in laws.items():
        if name in without:
            continue
        subject = make()
        try:
            law(subject)
        except AssertionError as error:
            words = name.replace("_", " ")
            raise AssertionError(f"{type(subject).__name__} breaks a law, {words}: {error}") from error
