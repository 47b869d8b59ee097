"""Estimator checks: the invariants that our own tests hold our methods to, for whoever writes one.

Each function runs every check that is meant for the object and raises an :class:`AssertionError` that names
the first one that failed.

>>> from absentia import MeanFill, testing
>>> testing.check_completer(MeanFill())
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from sklearn.base import clone

from absentia.testing import _classifiers, _learners, _regressors
from absentia.testing._completers import COMPLETER_CHECKS
from absentia.testing._imputers import IMPUTER_CHECKS, check_imputer
from absentia.testing._operators import OPERATOR_CHECKS
from absentia.testing._tools import Check, checks_of


def check_completer(completer: Any, *, without: Collection[str] = ()) -> None:
    """Run the checks of completers, but for those named in `without`.

    Parameters
    ----------
    completer : estimator derived from :class:`absentia.methods.completion.Completer`
        Unfitted; it is cloned for every check.
    without : collection of str
        Names of checks (see :data:`COMPLETER_CHECKS`) that the method is not meant to pass.
    """
    _run(COMPLETER_CHECKS, without, lambda: clone(completer))


def check_classifier(classifier: Any, *, without: Collection[str] = ()) -> None:
    """Run the checks of classifiers that are meant for this one, but for those named in `without`.

    All have some; those with a parameter ``probability``, those that iterate and kernel machines have more.

    Parameters
    ----------
    classifier : estimator derived from :class:`absentia.methods.learning.Classifier`
        Unfitted; it is cloned for every check.
    without : collection of str
        Names of checks that the method is not meant to pass.
    """
    _run(checks_of(classifier), without, lambda: clone(classifier))


def check_regressor(regressor: Any, *, without: Collection[str] = ()) -> None:
    """Run the checks of regressors, but for those named in `without`.

    Parameters
    ----------
    regressor : estimator derived from :class:`absentia.methods.learning.Regressor`
        Unfitted; it is cloned for every check.
    without : collection of str
        Names of checks that the method is not meant to pass.
    """
    _run(checks_of(regressor), without, lambda: clone(regressor))


def check_survival(model: Any, *, without: Collection[str] = ()) -> None:
    """Run the checks of survival models, but for those named in `without`.

    Parameters
    ----------
    model : estimator derived from :class:`absentia.methods.learning.SurvivalModel`
        Unfitted; it is cloned for every check.
    without : collection of str
        Names of checks that the method is not meant to pass.
    """
    _run(checks_of(model), without, lambda: clone(model))


def check_operator(operator: Any, *, without: Collection[str] = ()) -> None:
    """Run the checks of operators (:data:`OPERATOR_CHECKS`), but for those named in `without`."""
    _run(OPERATOR_CHECKS, without, lambda: operator)


def _run(checks: Mapping[str, Check], without: Collection[str], make: Callable[[], Any]) -> None:
    unknown = [name for name in without if name not in checks]
    if unknown:
        raise ValueError(f"there is no check {unknown[0]!r}; the checks are {list(checks)}")
    for name, check in checks.items():
        if name in without:
            continue
        subject = make()
        try:
            check(subject)
        except AssertionError as error:
            words = name.replace("_", " ")
            raise AssertionError(f"{type(subject).__name__} fails a check, {words}: {error}") from error
