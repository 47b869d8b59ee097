"""The paper's alternation, and rows that miss the same columns."""

import numpy as np

from absentia.methods.matrix._mode import conditionals, mode
from absentia.methods.matrix._model import Addition, RowKernel
from matrices import every_kind, problem
from reference import pma as reference


@every_kind
def test_for_fixed_kernels_the_mode_is_the_mean(kind):
    model, X, observed, S = problem(kind)
    solution = mode(model, X, observed, tol=1e-15, max_iter=20_000)
    np.testing.assert_allclose(
        solution.state[:, 0], reference.condition(S, X, observed)[0], rtol=1e-5, atol=1e-6
    )
    assert (np.diff(solution.trace) <= 1e-12 * solution.trace[0]).all()


def test_patterns_group_rows_that_miss_the_same_columns():
    observed = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 0], [1, 1, 0]], dtype=bool)
    model = Addition(RowKernel.dense(np.eye(4)), np.eye(3), np.eye(3))
    found = {(tuple(part.rows), tuple(part.gone)) for part in conditionals(model, observed)}
    assert found == {((0, 3), (2,)), ((2,), (0, 2))}
