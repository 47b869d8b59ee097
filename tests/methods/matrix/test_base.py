"""What estimators share: nothing is left of an earlier fit."""

from absentia import PMAImputer
from matrix_market import drawn


def test_whatever_was_learned_before_is_forgotten():
    """A second fit without estimation leaves nothing of the first."""
    _, K1, K2, gaps, _ = drawn()
    model = PMAImputer().fit(gaps)
    assert model.n_iter_ == len(model.kernel_changes_)
    assert model.status_ == "converged: the kernels' relative change fell below tol"
    model.set_params(row_kernel=K1, col_kernel=K2).fit(gaps)
    for name in ("n_iter_", "kernel_changes_", "status_", "converged_", "objective_"):
        assert not hasattr(model, name)
