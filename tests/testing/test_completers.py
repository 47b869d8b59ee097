"""The checks of completers can fail, and say which."""

from dataclasses import KW_ONLY

import numpy as np
import pytest

from absentia import ZeroFill
from absentia.core import Dense, Fraction, estimator
from absentia.methods.completion import Basis, Coordinates, SubspaceCompleter
from absentia.testing import CHECKS, check_completer


@estimator
class HalfFill(SubspaceCompleter):
    """An absent sample lies part of the way from the origin to the mean: a completer of a few lines.

    Parameters
    ----------
    share : float, default 0.5
        How far.
    """

    share: Fraction = 0.5

    def _fit_model(self, X):
        self._bases = []
        for name in X.names:
            m = X.operator(name).shape[0]
            self._bases.append(Basis.of(X.operator(name), np.full((m, 1), 1 / max(m, 1))))
        self._coordinates = self._find_coordinates(X)

    def _find_coordinates(self, X):
        return [Coordinates(np.full((n, 1), self.share), np.zeros(n)) for n in (~X.observed).sum(axis=0)]


def test_a_completer_of_a_few_lines_passes_all_checks():
    check_completer(HalfFill())
    check_completer(HalfFill(0.25))


@estimator
class Spoiled(HalfFill):
    """One that fails a check of choice.

    Parameters
    ----------
    share : float
        As in :class:`HalfFill`.
    how : str
        Which check.
    """

    _: KW_ONLY
    how: str = ""

    def fit(self, X, y=None):
        if self.how == "parameter":
            self.share = 0.1
        return super().fit(X)

    def _fill(self, X):
        filled = {name: np.array(K.to_dense()) for name, K in super()._fill(X).items()}
        if self.how == "observed":
            filled = {name: K * (1 + 1e-12) for name, K in filled.items()}
        elif self.how == "definite":
            filled = {
                name: K - np.diag(K.diagonal() * ~has)
                for (name, K), has in zip(filled.items(), X.observed.T, strict=True)
            }
        elif self.how == "order":
            filled = {
                name: K + self._ramp(K, has)
                for (name, K), has in zip(filled.items(), X.observed.T, strict=True)
            }
        elif self.how == "scale":
            filled = {
                name: K + np.diag(0.1 * ~has)
                for (name, K), has in zip(filled.items(), X.observed.T, strict=True)
            }
        return {name: Dense(K) for name, K in filled.items()}

    def _ramp(self, K, has):
        return np.diag(np.arange(len(K)) * ~has * 1e-3)


BROKEN = {
    "observed": "observed values are untouched to the bit",
    "definite": "the result is symmetric and positive semidefinite",
    "order": "permuting samples permutes the result",
    "scale": "scaling a view scales its result and no other",
    "parameter": "fitting overwrites no parameter",
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_check_that_fails_is_named(how):
    with pytest.raises(AssertionError, match=f"Spoiled fails a check, {BROKEN[how]}"):
        check_completer(Spoiled(how=how))


def test_checks_that_are_not_meant_can_be_left_out():
    order = BROKEN["order"].replace(" ", "_")
    scale = BROKEN["scale"].replace(" ", "_")
    check_completer(Spoiled(how="order"), without=[order, scale])
    with pytest.raises(ValueError, match="there is no check 'gravity'"):
        check_completer(ZeroFill(), without=["gravity"])


def test_every_check_is_a_sentence():
    assert all(len(name.split("_")) > 2 for checks in CHECKS.values() for name in checks)
