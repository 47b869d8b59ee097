"""One kernel alone, its prior by evidence: against a slow twin, and where it helps."""

import numpy as np
import pytest

from absentia import PMAImputer
from absentia.methods.matrix import _estimate as estimate
from absentia.methods.matrix._alone import RowsAlone, chosen_kernels
from absentia.methods.matrix._estimate import What
from absentia.methods.matrix._model import Addition
from matrices import rbf
from reference import pma as reference


def related(n=60, m=4, seed=0):
    """Rows drawn with columns that go together, some entries hidden."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, m)) + 0.3 * rng.standard_normal((n, m))
    return np.where(rng.random(X.shape) < 0.2, np.nan, X)


def kernel(model):
    """Of the rows, where columns are independent."""
    return model.rows.to_dense() + model.N[0, 0] * np.eye(model.shape[0])


@pytest.mark.parametrize("steps", [1, 5])
def test_a_column_kernel_alone_is_that_of_a_slow_twin(steps):
    gaps = related()
    seen = ~np.isnan(gaps)
    options = {"standardize": False, "center": False, "max_iter": steps, "tol": 0}
    found = PMAImputer(row_kernel="none", nugget=1e-6, **options).fit(gaps)
    expected = reference.kernel_alone(gaps, seen, None, steps, 1e-9)
    np.testing.assert_allclose(found.model_.N, expected, rtol=1e-4, atol=1e-5)
    fixed = PMAImputer(row_kernel="none", nugget=1e-6, shrinkage=2.0, **options).fit(gaps)
    assert np.abs(fixed.model_.N - expected).max() > 0.01


@pytest.mark.parametrize("steps", [1, 5])
def test_a_row_kernel_alone_is_that_of_the_slow_twin_turned_over(steps):
    gaps = related()
    seen = ~np.isnan(gaps.T)
    X = np.where(seen, gaps.T, 0.0)
    level, nugget = float((X**2).sum() / seen.sum()), 1e-3
    update = RowsAlone(level, nugget)
    found = estimate.learn(update.start(4, 60), X, seen, What(), update=update, tol=0, max_iter=steps)
    expected = reference.kernel_alone(gaps, seen.T, level * np.eye(4), steps, nugget)
    np.testing.assert_allclose(kernel(found.state.model), expected, rtol=1e-4, atol=1e-5)
    assert np.array_equal(found.state.model.N, nugget * np.eye(60))
    assert np.array_equal(found.state.model.C, np.eye(60))


def test_a_strength_that_is_given_is_used():
    X = np.random.default_rng(0).standard_normal((3, 8))
    update = RowsAlone(1.0, 1e-9, 5.0)
    found = kernel(update(update.start(3, 8), X, None))
    np.testing.assert_allclose(found, (X @ X.T + 5 * np.eye(3)) / 13, atol=1e-12)


def drawn(n, m, seed):
    """Rows and columns near one another in the plane; a fifth hidden."""
    rng = np.random.default_rng(seed)
    K1, K2 = rbf(rng.standard_normal((n, 2)), gamma=0.5), rbf(rng.standard_normal((m, 2)), gamma=0.5)
    X = Addition.pma(K1, K2 + 0.1 * np.eye(m)).draw(rng, 1)[:, 0]
    hidden = rng.random(X.shape) < 0.2
    return np.where(hidden, np.nan, X), X, hidden


def error(problem, **parameters):
    gaps, X, hidden = problem
    return np.mean((PMAImputer(**parameters).fit_transform(gaps) - X)[hidden] ** 2)


def test_with_both_kernels_unknown_a_column_kernel_by_evidence_is_better_than_one_shrunk_by_a_fixed_number():
    problems = [drawn(40, 16, seed) for seed in range(4)]
    mean = lambda **parameters: np.mean([error(p, **parameters) for p in problems])
    assert mean(row_kernel="none") < 0.95 * mean(row_kernel="none", shrinkage=2.0)


def test_with_fewer_rows_than_columns_the_kernel_of_the_rows_is_the_better_one_and_is_taken():
    problems = [drawn(14, 40, seed) for seed in range(4)]
    rows = [error(p, row_kernel="estimate", col_kernel="none") for p in problems]
    assert np.mean(rows) < 0.95 * np.mean([error(p, row_kernel="none") for p in problems])
    imputer = PMAImputer().fit(problems[0][0])
    assert set(imputer.heldout_curve_) == {"none", "estimate", "alone"}
    assert (imputer.row_kernel_, imputer.col_kernel_) == ("estimate", "none")
    assert "columns taken as unrelated" in imputer.rows_
    asked = PMAImputer(row_kernel="estimate", col_kernel="none").fit(problems[0][0])
    np.testing.assert_array_equal(asked.completed_, imputer.completed_)
    assert "alone" not in PMAImputer().fit(drawn(30, 12, 0)[0]).heldout_curve_


def test_new_rows_get_means_where_columns_are_unrelated():
    gaps, _, _ = drawn(14, 40, 0)
    imputer = PMAImputer(row_kernel="estimate", col_kernel="none").fit(gaps)
    new = np.where(np.arange(40) < 20, 3.0, np.nan)[None, :]
    np.testing.assert_allclose(imputer.transform(new)[0, 20:], imputer.mean_[20:], atol=1e-9)


def test_choices_are_said():
    curve = {"none": 0.5, "estimate": 0.4, "alone": 0.3}
    assert chosen_kernels(7, curve, "")[::2] == ("estimate", "alone")
    assert "RMSE 0.3, and 0.4 otherwise" in chosen_kernels(7, curve, "")[1]
    assert chosen_kernels(7, curve | {"alone": 0.6}, "")[::2] == ("estimate", "")
    assert chosen_kernels(7, {"none": 0.3, "estimate": 0.4}, "drawn")[::2] == ("none", "drawn")
    assert chosen_kernels(7, {"none": 0.3, "estimate": 0.4, "drawn": 0.2}, "")[::2] == ("none", "drawn")
    assert chosen_kernels(7, {}, "")[::2] == ("none", "")


def test_unrelated_columns_want_a_row_kernel_that_is_estimated():
    gaps, _, _ = drawn(14, 20, 0)
    for rows in ("none", "heldout", np.eye(14)):
        with pytest.raises(ValueError, match=r"is for row_kernel='estimate'"):
            PMAImputer(row_kernel=rows, col_kernel="none").fit(gaps)
