"""What estimators share: nothing is left of an earlier fit."""

import pytest
from sklearn.exceptions import ConvergenceWarning

from absentia import PMAClassifier, PMAImputer
from matrix_market import drawn


def test_whatever_was_learned_before_is_forgotten():
    """A second fit without estimation leaves nothing of the first."""
    _, K1, K2, gaps, _ = drawn()
    model = PMAImputer().fit(gaps)
    assert model.n_iter_ == len(model.kernel_changes_)
    assert model.status_ == "converged: the kernels' relative change fell below tol"
    assert not hasattr(model, "objective_")
    model.set_params(row_kernel=K1, col_kernel=K2).fit(gaps)
    for name in ("n_iter_", "kernel_changes_", "status_", "converged_", "objective_"):
        assert not hasattr(model, name)
    X, _, _, _, labels = drawn()
    model = PMAClassifier(tol=0.01).fit(X, labels)
    assert len(model.gamma_curve_) > 1
    assert not hasattr(model.set_params(gamma=1.0).fit(X, labels), "gamma_curve_")


def test_steps_that_were_asked_for_are_no_reason_to_warn():
    model = PMAImputer(tol=0, max_iter=3).fit(drawn()[3])
    assert model.n_iter_ == 3
    assert model.status_ == "ran all max_iter iterations, as tol=0 asks for"
    with pytest.warns(ConvergenceWarning, match="PMAImputer reached max_iter before the kernels' relative"):
        PMAImputer(tol=1e-9, max_iter=3).fit(drawn()[3])
