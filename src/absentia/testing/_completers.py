"""Checks of completers, which fill kernels, of imputers, which fill one matrix, and of operators.

Those of imputers, whose missing entries are NaN, go beyond scikit-learn's own.
"""

import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from absentia.core import Array, Dense, Operator, PDOperator, deserialize, serialize
from absentia.data import KernelViews, Views, missingness
from absentia.methods.completion import Completer
from absentia.methods.models import load, save
from absentia.testing._tools import (
    REORDERED,
    add_noise,
    assert_close,
    random_kernels,
    random_problem,
    refused,
    register,
)

_SEEDS = [(0, 0.2), (1, 0.35), (2, 0.5)]


def _assert_same(actual: Array, expected: Array, tolerance: float = REORDERED) -> None:
    """The same kernels, views x samples x samples, relative to each view's largest value."""
    largest = np.abs(expected).max(axis=(1, 2), keepdims=True)
    largest = np.where(largest > 0, largest, 1.0)
    np.testing.assert_allclose(actual / largest, expected / largest, atol=tolerance)


def _thin_problem(n: int = 20, ranks: tuple[int, ...] = (3, 4, 6), seed: int = 0) -> KernelViews:
    """Linear kernels of fewer features than samples: singular, as most that come from tables are."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 3))
    features = [shared @ rng.standard_normal((3, r)) + 0.3 * rng.standard_normal((n, r)) for r in ranks]
    keep = missingness.mcar((n, len(ranks)), 0.3, random_state=seed)
    return KernelViews.from_dense(np.stack([x @ x.T for x in features]), observed=keep)


# ------------------------------------------------------- how completers and imputers behave as estimators


def _inputs(method: Any) -> tuple[Any, Any]:
    """What a completer or an imputer takes, twice: of other sizes, and with something missing."""
    if isinstance(method, Completer):
        return random_problem(), random_problem(30, 3, 0.1, seed=1)
    return _make_matrix(), _make_matrix(28, 3, seed=1)


def _dense(X: Any) -> Array:
    return np.array(X.to_dense() if isinstance(X, KernelViews) else X)


@register("completer", "imputer")
def _inputs_are_not_changed(method: Any) -> None:
    X, _ = _inputs(method)
    before = _dense(X)
    method.fit_transform(X)
    method.transform(X)
    np.testing.assert_array_equal(_dense(X), before)


@register("completer", "imputer")
def _fitting_twice_is_fitting_once(method: Any) -> None:
    X, other = _inputs(method)
    once = _dense(clone(method).fit_transform(X))
    method.fit(other)
    np.testing.assert_array_equal(_dense(method.fit_transform(X)), once)


@register("completer", "imputer")
def _fit_then_transform_equals_fit_transform(method: Any) -> None:
    X, _ = _inputs(method)
    done = _dense(clone(method).fit_transform(X))
    np.testing.assert_array_equal(_dense(method.fit(X).transform(X)), done)


@register("completer", "imputer")
def _fitting_overwrites_no_parameter(method: Any) -> None:
    before = dict(method.get_params())
    assert type(method)().set_params(**before).get_params() == before
    assert method.fit(_inputs(method)[0]).get_params() == before


@register("completer", "imputer")
def _saved_and_pickled_estimators_complete_the_same(method: Any) -> None:
    X, _ = _inputs(method)
    done = _dense(method.fit(X).transform(X))
    with tempfile.TemporaryDirectory() as folder:
        loaded = load(save(method, Path(folder) / "method.absentia"))
    for copy in (loaded, pickle.loads(pickle.dumps(method)), type(method).from_state(method.state())):
        np.testing.assert_array_equal(_dense(copy.transform(X)), done)


# ------------------------------------------------------------------------------------ what completers give


@register("completer")
def _observed_values_are_untouched_to_the_bit(completer: Completer) -> None:
    for seed, absent in _SEEDS:
        kv = random_problem(absent=absent, seed=seed)
        done = completer.fit_transform(kv)
        assert done.observed.all()
        assert np.isfinite(done.to_dense()).all()
        for v, name in enumerate(kv.names):
            block = np.ix_(kv.observed[:, v], kv.observed[:, v])
            np.testing.assert_array_equal(done.block(name)[block], kv.block(name))


@register("completer")
def _the_result_is_symmetric_and_positive_semidefinite(completer: Completer) -> None:
    for seed, absent in _SEEDS:
        K = completer.fit_transform(random_problem(absent=absent, seed=seed)).to_dense()
        np.testing.assert_array_equal(K, K.transpose(0, 2, 1))
        assert np.linalg.eigvalsh(K).min() > -1e-10


@register("completer")
def _nothing_missing_changes_nothing(completer: Completer) -> None:
    K = random_kernels()
    np.testing.assert_array_equal(completer.fit_transform(KernelViews.from_dense(K)).to_dense(), K)


@register("completer")
def _single_precision_blocks_are_kept_to_the_bit(completer: Completer) -> None:
    K = random_kernels().astype(np.float32)
    kv = KernelViews.from_dense(K, observed=missingness.mcar((40, 4), 0.3, random_state=0))
    done = completer.fit_transform(kv)
    block = np.ix_(kv.observed[:, 0], kv.observed[:, 0])
    np.testing.assert_array_equal(done.block("view0")[block], K[0][block])


@register("completer")
def _new_rows_keep_what_was_observed_and_are_complete(completer: Completer) -> None:
    kv, train, new = random_problem(50), np.arange(40), np.arange(40, 50)
    rows = kv[np.ix_(new, train)]
    done = completer.fit(kv[np.ix_(train, train)]).transform(rows)
    assert done.observed.all()
    assert np.isfinite(done.to_dense()).all()
    for v, name in enumerate(kv.names):
        present, trained = rows.observed[:, v], rows.column_observed[:, v]
        np.testing.assert_array_equal(done.block(name)[np.ix_(present, trained)], rows.block(name))
        np.testing.assert_array_equal(done.diagonal(name)[present], rows.diagonal(name))


@register("completer")
def _a_score_is_better_the_less_is_missed(completer: Completer) -> None:
    kv, full = random_problem(), KernelViews.from_dense(random_kernels())
    completer.fit(kv)
    assert completer.names_in_ == kv.names
    np.testing.assert_array_equal(completer.ids_, kv.ids)
    assert completer.score(kv, truth=full) <= 0
    assert np.isfinite(completer.score(kv))


# ------------------------------------------------------------------------------ what changes nothing


@register("completer")
def _permuting_samples_permutes_the_result(completer: Completer) -> None:
    """Whether their ids go with them or are given anew."""
    for kv in (random_problem(), _thin_problem()):
        order = np.random.default_rng(0).permutation(len(kv))
        straight = completer.fit_transform(kv).to_dense()[:, order][:, :, order]
        _assert_same(completer.fit_transform(kv[np.ix_(order, order)]).to_dense(), straight)
        renumbered = KernelViews.from_dense(kv.to_dense()[:, order][:, :, order])
        _assert_same(completer.fit_transform(renumbered).to_dense(), straight)


@register("completer")
def _reordering_views_reorders_the_result(completer: Completer) -> None:
    for kv in (random_problem(), _thin_problem()):
        straight = completer.fit_transform(kv).to_dense()[::-1]
        _assert_same(completer.fit_transform(kv.select(kv.names[::-1])).to_dense(), straight)
        _assert_same(
            completer.fit_transform(KernelViews.from_dense(kv.to_dense()[::-1])).to_dense(), straight
        )


@register("completer")
def _rounding_changes_nothing_that_shows(completer: Completer) -> None:
    """Another processor, or number of threads, rounds the last digits differently; so does this."""
    for kv, sizes in ((random_problem(), (1e-15, 1e-13)), (_thin_problem(), (1e-14,))):
        straight, rng = completer.fit_transform(kv).to_dense(), np.random.default_rng(0)
        for size in sizes:
            rounded = KernelViews.from_dense(add_noise(kv.to_dense(), size, rng))
            _assert_same(completer.fit_transform(rounded).to_dense(), straight)


@register("completer")
def _scaling_a_view_scales_its_result_and_no_other(completer: Completer) -> None:
    kv = random_problem()
    straight = completer.fit_transform(kv).to_dense()
    for scales in ([1.0, 1e6, 1e-6, 7.0], [1e-6] * 4):
        scale = np.array(scales)[:, None, None]
        scaled = KernelViews.from_dense(kv.to_dense() * scale, observed=kv.observed)
        _assert_same(completer.fit_transform(scaled).to_dense() / scale, straight)


# ------------------------------------------------------------------------------------ what is refused


@register("completer")
def _nothing_is_transformed_before_fitting(completer: Completer) -> None:
    with refused(NotFittedError):
        clone(completer).transform(random_problem())


@register("completer")
def _kernels_beyond_what_numbers_hold_are_refused_by_name(completer: Completer) -> None:
    for scale in (1e-300, 1e-200, 1e200, 1e300):
        K = random_problem().to_dense()
        K[1] *= scale
        with refused(ValueError, "view 'view1': ", "mean diagonal is ", "divide the kernel"):
            completer.fit(KernelViews.from_dense(K))


@register("completer")
def _wrong_input_is_named(completer: Completer) -> None:
    with refused(TypeError, "KernelViews are wanted, not Views", "ViewKernels"):
        completer.fit(Views.from_dict({"a": np.ones((3, 1))}))  # type: ignore[arg-type]
    wrong: Any
    for wrong in (np.eye(3), None, [[1.0]]):
        with refused(TypeError, "KernelViews are wanted, not"):
            completer.fit(wrong)
    kv = random_problem()
    with refused(ValueError, "there is no sample to learn from"):
        completer.fit(kv[np.ix_([], [])])
    with refused(ValueError, "2 rows against 40 columns"):
        completer.fit(kv[[0, 1]])
    completer.fit(kv)
    for other in (kv.select(kv.names[:2]), kv.select(kv.names[::-1])):
        with refused(ValueError, "were there in training"):
            completer.transform(other)
    with refused(TypeError, "KernelViews are wanted, not ndarray"):
        completer.transform(np.eye(40))  # type: ignore[arg-type]
    with refused(ValueError, "40 training samples"):
        completer.transform(kv[np.ix_([0, 1], [2, 3])])


@register("completer")
def _square_kernels_with_another_mask_are_not_taken_for_the_training_ones(completer: Completer) -> None:
    kv = random_problem(absent=0.1)
    keep = missingness.mcar(kv, 0.1, random_state=3)
    with refused(ValueError, "other samples are absent"):
        completer.fit(kv).transform(kv.hide(keep))


# ---------------------------------------------------------------------------------------------- imputers


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


@register("imputer")
def _observed_entries_stay_and_missing_ones_are_filled(imputer: Any) -> None:
    for seed in range(3):
        X = _make_matrix(seed=seed)
        _check_completed(imputer.fit_transform(X), X)


@register("imputer")
def _new_rows_keep_their_entries_and_are_filled(imputer: Any) -> None:
    X = _make_matrix(50)
    imputer.fit(X[:36])
    completed = imputer.transform(X[36:])
    _check_completed(completed, X[36:])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(imputer)).transform(X[36:]), completed)
    _check_completed(imputer.transform(X[40:41]), X[40:41])


@register("imputer")
def _a_complete_matrix_is_returned_as_it_is(imputer: Any) -> None:
    X = np.nan_to_num(_make_matrix())
    np.testing.assert_array_equal(imputer.fit_transform(X), X)


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
