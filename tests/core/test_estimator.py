"""What every estimator shares: it is checked, kept as plain data, and says how a run ended."""

import pickle
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from absentia.core import Estimator, Iterative, Positive, PositiveInt, estimator
from absentia.core.optimize import Solution, Status


@estimator
class Halving(Iterative, Estimator):
    """Halves.

    Parameters
    ----------
    n_parts : int
        How many.
    scale : float
        How large.
    callback : callable, optional
        Told of every step.
    """

    n_parts: PositiveInt = 2
    _: KW_ONLY
    scale: Positive = 1.0
    callback: Callable[[Any], Any] | None = None

    _remedy = "; scale the data"

    def fit(self):
        self._check_parameters()
        self.parts_ = np.arange(self.n_parts) * self.scale
        return self


@estimator
class Kernelled(Halving):
    """Learns from kernels."""

    _pairwise = True


def test_init_only_remembers_and_fit_checks():
    broken = Halving(0, scale=-1.0)
    assert broken.get_params() == {"n_parts": 0, "scale": -1.0, "callback": None}
    with pytest.raises(ValueError, match="Halving: n_parts must be a whole number of 1 or more, not 0"):
        broken.fit()
    assert clone(Halving(3)).fit().parts_.tolist() == [0, 1, 2]
    assert Halving(3) != Halving(3)  # as other estimators of scikit-learn: each is itself


def test_a_state_comes_back_without_the_callback():
    fitted = Halving(3, scale=2.0, callback=print).fit()
    back = Halving.from_state(fitted.state())
    assert fitted.callback is print
    assert back.callback is None
    assert back.get_params() == fitted.get_params() | {"callback": None}
    np.testing.assert_array_equal(back.parts_, fitted.parts_)


def test_the_state_of_another_estimator_is_refused():
    with pytest.raises(ValueError, match="the state of a Halving, not of a Kernelled"):
        Kernelled.from_state(Halving().fit().state())
    assert type(Halving.from_state(Kernelled().fit().state())) is Kernelled


def test_who_learns_from_kernels_tells_scikit_learn():
    assert not Halving().__sklearn_tags__().input_tags.pairwise
    assert Kernelled().__sklearn_tags__().input_tags.pairwise


def ended(status, n=3):
    return Solution(None, np.arange(float(n)), status, status.value.format(what="the change"))


@pytest.mark.parametrize("status", [Status.CONVERGED, Status.FINISHED, Status.STOPPED])
def test_a_run_that_ended_well_is_recorded_without_a_word(status):
    one = Halving()
    with warnings.catch_warnings(action="error"):
        one._set_convergence(ended(status))
    assert one.n_iter_ == 3
    assert one.converged_ == (status is Status.CONVERGED)
    assert one.status_ == ended(status).message
    np.testing.assert_array_equal(one.objective_, [0, 1, 2])


@pytest.mark.parametrize(
    ("status", "remedy"), [(Status.MAX_ITER, ""), (Status.NOT_FINITE, "; scale the data")]
)
def test_a_run_that_did_not_is_warned_of_with_what_to_do(status, remedy):
    one = Halving()
    with pytest.warns(ConvergenceWarning) as caught:
        one._set_convergence(ended(status))
    assert str(caught[0].message) == f"Halving {ended(status).message}{remedy} (3 iterations)"
    assert not one.converged_


def test_a_run_without_a_single_finite_objective_is_an_error():
    with pytest.raises(
        ValueError, match=r"Halving: the objective became .*; there is none; scale the data"
    ):
        Halving()._set_convergence(ended(Status.NOT_FINITE, 0))


def test_pickles_and_states_bring_back_a_table_by_pairs():
    one = Halving()
    one.curve_ = {(1, 0.5): 2.0, (2, 0.5): 1.0}
    assert pickle.loads(pickle.dumps(one)).curve_ == one.curve_
    assert Halving.from_state(one.state()).curve_ == one.curve_
