"""Checks of imputers, which complete one matrix with missing entries (NaN), beyond scikit-learn's own.

And checks of operators: each is its dense twin.
"""

import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from absentia.core import Array, Dense, Operator, PDOperator, deserialize, serialize
from absentia.methods.models import load, save
from absentia.testing._tools import REORDERED, assert_close, refused, register


def _make_matrix(n: int = 36, m: int = 5, seed: int = 0) -> Array:
    """Two factors, noise and columns of different means; a fifth is missing, and the whole third row."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, m)) + 0.3 * rng.standard_normal((n, m))
    X += np.arange(m)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[2] = np.nan
    X[:2] = rng.standard_normal((2, m))
    return X


def _check_completed(completed: Any, X: Array) -> None:
    assert np.shape(completed) == X.shape, f"its shape is {np.shape(completed)}; {X.shape} is wanted"
    assert np.isfinite(completed).all(), "entries are not finite"
    observed = ~np.isnan(X)
    np.testing.assert_array_equal(np.asarray(completed)[observed], X[observed])


# ------------------------------------------------------------------------------------------ what comes out


@register("imputer")
def _observed_entries_stay_and_missing_ones_are_filled(imputer: Any) -> None:
    for seed in range(3):
        X = _make_matrix(seed=seed)
        _check_completed(imputer.fit_transform(X), X)


@register("imputer")
def _new_rows_keep_their_entries_and_are_filled(imputer: Any) -> None:
    X = _make_matrix(50)
    imputer.fit(X[:36])
    _check_completed(imputer.transform(X[36:]), X[36:])
    _check_completed(imputer.transform(X[40:41]), X[40:41])


@register("imputer")
def _a_complete_matrix_is_returned_as_it_is(imputer: Any) -> None:
    X = np.nan_to_num(_make_matrix())
    np.testing.assert_array_equal(imputer.fit_transform(X), X)


@register("imputer")
def _fit_then_transform_equals_fit_transform(imputer: Any) -> None:
    X = _make_matrix()
    completed = clone(imputer).fit_transform(X)
    np.testing.assert_array_equal(imputer.fit(X).transform(X), completed)


# ------------------------------------------------------------------------------------- what changes nothing


@register("imputer")
def _permuting_rows_and_columns_permutes_the_result(imputer: Any) -> None:
    X, rng = _make_matrix(), np.random.default_rng(1)
    order = np.ix_(rng.permutation(len(X)), rng.permutation(X.shape[1]))
    completed = clone(imputer).fit_transform(X)
    assert_close(imputer.fit_transform(X[order]), completed[order], REORDERED)


@register("imputer")
def _scaling_columns_scales_the_result(imputer: Any) -> None:
    """For imputers whose attribute ``scale_equivariant`` is true."""
    if not getattr(imputer, "scale_equivariant", False):
        return
    X, units = _make_matrix(), np.array([1e-6, 1.0, 5.0, 1e3, 1e6])
    completed = clone(imputer).fit_transform(X)
    assert_close(imputer.fit_transform(X * units) / units, completed, REORDERED)


@register("imputer")
def _inputs_are_not_changed(imputer: Any) -> None:
    X = _make_matrix()
    before = X.copy()
    imputer.fit_transform(X)
    imputer.transform(X)
    np.testing.assert_array_equal(X, before)


@register("imputer")
def _results_are_not_changed_with_the_input(imputer: Any) -> None:
    X = _make_matrix()
    before = X.copy()
    completed = imputer.fit(X).transform(X)
    X[:] = 7.0
    np.testing.assert_array_equal(imputer.transform(before), completed)


@register("imputer")
def _the_global_random_state_is_neither_read_nor_moved(imputer: Any) -> None:
    X, state = _make_matrix(), np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(3)  # noqa: NPY002
        position = np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
        completed = clone(imputer).fit_transform(X)
        np.testing.assert_array_equal(np.random.get_state()[1], position)  # type: ignore[index]  # noqa: NPY002
        np.random.seed(4)  # noqa: NPY002
        np.testing.assert_array_equal(imputer.fit_transform(X), completed)
    finally:
        np.random.set_state(state)  # noqa: NPY002


# ----------------------------------------------------------------------------------- how estimators behave


@register("imputer")
def _fitting_twice_is_fitting_once(imputer: Any) -> None:
    X = _make_matrix()
    completed = clone(imputer).fit_transform(X)
    imputer.fit(_make_matrix(28, 3, seed=1))
    np.testing.assert_array_equal(imputer.fit_transform(X), completed)


@register("imputer")
def _saved_and_pickled_imputers_complete_the_same(imputer: Any) -> None:
    X = _make_matrix(50)
    imputer.fit(X[:36])
    with tempfile.TemporaryDirectory() as folder:
        loaded = load(save(imputer, Path(folder) / "imputer.absentia"))
    for copy in (loaded, pickle.loads(pickle.dumps(imputer))):
        for part in (X[:36], X[36:]):
            np.testing.assert_array_equal(copy.transform(part), imputer.transform(part))


# --------------------------------------------------------------------------------------- what is refused


@register("imputer")
def _a_column_without_observed_entries_is_refused_by_its_number(imputer: Any) -> None:
    X = _make_matrix()
    X[:, 3] = np.nan
    with refused(ValueError, "column 3"):
        imputer.fit(X)


# ----------------------------------------------------------------------------------------------- operators


def _assert_close(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-12)


@register("operator")
def _products_match_the_dense_twin(operator: Operator) -> None:
    twin, rng = operator.to_dense(), np.random.default_rng(1)
    assert isinstance(operator, Operator)
    assert operator.shape == twin.shape
    X = rng.normal(size=(operator.shape[1], 2))
    _assert_close(operator @ X, twin @ X)


@register("operator")
def _diagonals_and_blocks_match_the_dense_twin(operator: Operator) -> None:
    twin, rng = operator.to_dense(), np.random.default_rng(1)
    _assert_close(operator.diagonal(), np.diagonal(twin))
    rows, columns = (rng.permutation(n)[: max(n // 2, 1)] for n in operator.shape)
    expected = twin[np.ix_(rows, columns)]
    _assert_close(operator.block(rows, columns), expected)
    part = operator.select(rows, columns)
    _assert_close(part.to_dense(), expected)
    X = rng.normal(size=(len(columns), 2))
    _assert_close(part @ X, expected @ X)


@register("operator")
def _other_precision_is_near(operator: Operator) -> None:
    twin = operator.to_dense()
    single = operator.astype(np.float32)
    np.testing.assert_allclose(single.to_dense(), twin, rtol=1e-5, atol=1e-5 * np.abs(twin).max())


@register("operator")
def _it_can_be_saved(operator: Operator) -> None:
    state = serialize(operator, type(operator).__name__)
    np.testing.assert_array_equal(deserialize(state.tree, state.arrays).to_dense(), operator.to_dense())


@register("operator")
def _solving_matches_the_dense_twin(operator: Operator) -> None:
    """Of positive definite operators."""
    if not isinstance(operator, PDOperator):
        return
    twin, rng = operator.to_dense(), np.random.default_rng(1)
    n = len(twin)
    X, A = rng.normal(size=(n, 2)), rng.normal(size=(n, n))
    _assert_close(operator.solve(X), np.linalg.solve(twin, X))
    _assert_close(operator.logdet(), np.linalg.slogdet(twin)[1])
    _assert_close(operator.trace_solve(Dense(A @ A.T)), np.trace(np.linalg.solve(twin, A @ A.T)))
    part = rng.permutation(n)[: n // 2]
    rest = np.setdiff1d(np.arange(n), part)
    inside = twin[np.ix_(part, part)]
    _assert_close(operator.principal(part).to_dense(), inside)
    across = twin[np.ix_(part, rest)]
    conditional = twin[np.ix_(rest, rest)] - across.T @ np.linalg.solve(inside, across)
    _assert_close(operator.conditional_diagonal(part, rest), conditional.diagonal())


@register("operator")
def _groups_decouple_and_others_are_padded(operator: Operator) -> None:
    """Of positive definite operators."""
    if not isinstance(operator, PDOperator):
        return
    twin = operator.to_dense()
    n = len(twin)
    groups, index = np.arange(n) % 3, np.arange(n) + 2
    same = groups[:, None] == groups[None, :]
    _assert_close(operator.decouple(groups).to_dense(), np.where(same, twin, 0.0))
    expected = np.eye(n + 3)
    expected[np.ix_(index, index)] = twin
    _assert_close(operator.pad(index, n + 3).to_dense(), expected)
