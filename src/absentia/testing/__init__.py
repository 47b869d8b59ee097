"""Estimator checks: the invariants that our own tests hold our methods to, for whoever writes one.

Each function runs every check that is meant for the object, but for those named in `without`, on clones of
it, and raises an :class:`AssertionError` that names the first one that failed.  :data:`CHECKS` has all
checks by kind and name.

>>> from absentia import MeanFill, testing
>>> testing.check_completer(MeanFill())
>>> testing.check_completer(MeanFill(), without=["rounding_changes_nothing_that_shows"])
"""

from collections.abc import Collection, Mapping
from typing import Any

from absentia.testing import _classifiers, _completers, _learners
from absentia.testing._tools import CHECKS, Check, checks_of


def check_completer(completer: Any, *, without: Collection[str] = ()) -> None:
    """Check an unfitted estimator derived from :class:`absentia.methods.completion.Completer`."""
    _run(CHECKS["completer"], completer, without)


def check_classifier(classifier: Any, *, without: Collection[str] = ()) -> None:
    """Check an unfitted estimator derived from :class:`absentia.methods.learning.Classifier`.

    Those with a parameter ``probability`` and those that iterate have more checks to pass.
    """
    _run(checks_of(classifier), classifier, without)


def check_regressor(regressor: Any, *, without: Collection[str] = ()) -> None:
    """Check an unfitted estimator derived from :class:`absentia.methods.learning.Regressor`."""
    _run(checks_of(regressor), regressor, without)


def check_survival(model: Any, *, without: Collection[str] = ()) -> None:
    """Check an unfitted estimator derived from :class:`absentia.methods.learning.SurvivalModel`."""
    _run(checks_of(model), model, without)


def check_imputer(imputer: Any, *, without: Collection[str] = ()) -> None:
    """Check an unfitted estimator that completes one matrix, with ``fit(X)`` and ``transform(X)``.

    These checks go beyond scikit-learn's ``check_estimator``, which it should pass too.  It has to take
    matrices of any size, so that no kernel of rows or columns may be given to it.  If its attribute
    ``scale_equivariant`` is true, the units of columns must not matter.

    Examples
    --------
    >>> from absentia import PMAImputer, testing
    >>> testing.check_imputer(PMAImputer(row_kernel="none"))
    """
    _run(CHECKS["imputer"], imputer, without)


def check_operator(operator: Any, *, without: Collection[str] = ()) -> None:
    """Check an :class:`absentia.core.Operator`: it is its dense twin."""
    _run(CHECKS["operator"], operator, without)


def _run(checks: Mapping[str, Check], subject: Any, without: Collection[str]) -> None:
    unknown = [name for name in without if name not in checks]
    if unknown:
        raise ValueError(f"there is no check {unknown[0]!r}; the checks are {list(checks)}")
    for name, check in checks.items():
        if name in without:
            continue
        try:
            check(subject)
        except AssertionError as error:
            words = name.replace("_", " ")
            raise AssertionError(f"{type(subject).__name__} fails a check, {words}: {error}") from error
