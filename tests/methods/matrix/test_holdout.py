"""Completing a table as it comes: units, choices by hiding entries, and how well it does."""

import numpy as np
import pytest
from sklearn.base import clone

from absentia import PMF, AbsenceWarning, PMAImputer
from absentia.methods.matrix import _holdout as module
from absentia.methods.matrix import _imputer, hold_out
from absentia.methods.matrix._holdout import _heldout_curve, _select_hidden, column_scale
from absentia.methods.matrix._imputer import _explain_choice


def _rmse(predicted, truth):
    return np.sqrt(((predicted - truth) ** 2).mean())


def mixed_units(n=60, m=6, missing=0.2, seed=0):
    """A matrix of two factors in columns of units from 1e-3 to 1e3: whole, and with entries missing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, m)) + 0.3 * rng.standard_normal((n, m))
    X = 5 + X * np.logspace(-3, 3, m)
    return X, np.where(rng.random(X.shape) < missing, np.nan, X)


def pairs_of_rows(n=4, m=120, missing=0.1, seed=1):
    """Few rows, each with one that is like it, and many columns that have nothing in common."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.standard_normal((n, m)), 2, axis=0) + 0.1 * rng.standard_normal((2 * n, m))
    return np.where(rng.random(X.shape) < missing, np.nan, X)


# ------------------------------------------------------------------------------------------------ units


@pytest.mark.parametrize("seed", range(3))
def test_columns_of_very_different_units_are_completed_better_than_by_their_means(seed):
    truth, X = mixed_units(seed=seed)
    gone, unit = np.isnan(X), np.nanstd(X, axis=0)

    def error(completed):
        return _rmse((completed / unit)[gone], (truth / unit)[gone])

    means = error(np.broadcast_to(np.nanmean(X, axis=0), X.shape))
    assert error(PMAImputer().fit_transform(X)) < 0.6 * means
    assert error(PMAImputer(standardize=False, row_kernel="estimate").fit_transform(X)) > 0.6 * means


@pytest.mark.parametrize(
    "row_kernel",
    [
        pytest.param("heldout", marks=pytest.mark.slow),
        pytest.param("estimate", marks=pytest.mark.slow),
        "none",
        pytest.param("given", marks=pytest.mark.slow),
    ],
)
def test_units_of_the_columns_do_not_matter(row_kernel):
    X = mixed_units()[1]
    t = np.arange(60.0)
    K = np.exp(-((t[:, None] - t) ** 2) / 20)
    model = PMAImputer(row_kernel=K if row_kernel == "given" else row_kernel)
    units = np.array([1e-3, 1.0, 5.0, 1e4, 2.0, 0.1])
    one, two = clone(model).fit(X), clone(model).fit(X * units)
    for a, b in zip(one.predict(return_std=True), two.predict(return_std=True), strict=True):
        np.testing.assert_allclose(b, a * units, rtol=1e-6)
    for a, b in zip(
        one.predict(X[::-1] * 1.1, return_std=True),
        two.predict(X[::-1] * 1.1 * units, return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(b, a * units, rtol=1e-6)
    np.testing.assert_allclose(two.mean_, one.mean_ * units, rtol=1e-6)
    np.testing.assert_allclose(two.model_.N, one.model_.rescale_columns(units).N, rtol=1e-5)
    # densities of the observed entries change with their units
    moved = ((~np.isnan(X)) * np.log(units)).sum()
    assert two.log_marginal_likelihood_ == pytest.approx(one.log_marginal_likelihood_ - moved, rel=1e-6)


def test_draws_and_likelihood_are_in_the_units_of_the_matrix():
    """Under the same model, written in other units: what standardize=True does inside."""
    _, X = mixed_units()
    on = PMAImputer(row_kernel="none").fit(X)
    K2 = on.model_.N  # in the units of the matrix
    off = PMAImputer(row_kernel="none", col_kernel=K2).fit(X)
    assert (off.scale_ == 1).all()
    np.testing.assert_allclose(off.completed_, on.completed_, rtol=1e-6)
    assert off.log_marginal_likelihood_ == pytest.approx(on.log_marginal_likelihood_, rel=1e-8)
    gone = np.isnan(X)
    spread = on.sample(2000)[:, gone].std(axis=0)
    np.testing.assert_allclose(spread, on.predict(return_std=True)[1][gone], rtol=0.15)


@pytest.mark.parametrize("amplitude", ["auto", 2.0])
def test_with_both_kernels_given_standardizing_changes_no_answer(amplitude):
    _, X = mixed_units()
    t = np.arange(60.0)
    K1, K2 = np.exp(-((t[:, None] - t) ** 2) / 20), np.diag(np.nanvar(X, axis=0)) + 1e-8
    one, other = (
        PMAImputer(row_kernel=K1, col_kernel=K2, amplitude=amplitude, standardize=on).fit(X)
        for on in (True, False)
    )
    for a, b in zip(one.predict(return_std=True), other.predict(return_std=True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7)
    np.testing.assert_allclose(one.model_.C, other.model_.C, rtol=1e-12)
    assert one.log_marginal_likelihood_ == pytest.approx(other.log_marginal_likelihood_, rel=1e-8)


def test_a_column_kernel_that_is_given_switches_standardizing_off():
    _, X = mixed_units()
    auto = PMAImputer(row_kernel="none", col_kernel=np.diag(np.nanvar(X, axis=0))).fit(X)
    np.testing.assert_array_equal(auto.scale_, np.ones(6))
    np.testing.assert_allclose(PMAImputer(row_kernel="none").fit(X).scale_, np.nanstd(X, axis=0))


def test_the_scale_does_not_depend_on_the_order_of_rows_to_the_bit():
    _, X = mixed_units(500)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(500)
        np.testing.assert_array_equal(column_scale(X[order]), column_scale(X))


def test_constant_columns_have_a_scale():
    X = np.array([[7.0, 0.0, 1.0], [7.0, 0.0, 3.0]])
    np.testing.assert_allclose(column_scale(X), [7e-10, 1.0, 1.0])


# --------------------------------------------------------------------------------------- hidden entries


def test_what_is_hidden_is_observed_and_every_column_keeps_two():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((200, 40)) < 0.5, np.nan, rng.standard_normal((200, 40)))
    X[2:, :20] = np.nan
    X[:2, :20] = 1.0
    hidden = _select_hidden(X, 0)
    observed = ~np.isnan(X)
    assert not (hidden & ~observed).any()
    assert not hidden[:, :20].any()
    assert hidden.sum() == pytest.approx(0.1 * observed.sum(), abs=15)
    assert (hidden != _select_hidden(X, 1)).any()


def test_which_entries_are_hidden_does_not_depend_on_the_order_of_rows_and_columns():
    _, X = mixed_units()
    rng = np.random.default_rng(1)
    order = np.ix_(rng.permutation(60), rng.permutation(6))
    np.testing.assert_array_equal(_select_hidden(X[order], 3), _select_hidden(X, 3)[order])


def test_the_curve_is_of_what_was_hidden_and_nothing_else_is_told():
    truth, X = mixed_units()
    seen = []

    def complete(value, part):
        seen.append(part)
        return np.full(X.shape, value)

    unit = column_scale(X)
    curve = _heldout_curve(X, [0.0, 5.0], complete, seed=0, unit=unit)
    hidden = _select_hidden(X / unit, 0)
    for part in seen:
        np.testing.assert_array_equal(part, np.where(hidden, np.nan, X))
    for value, error in curve.items():
        assert error == pytest.approx(np.sqrt((((value - truth) / unit)[hidden] ** 2).mean()))
    assert _heldout_curve(X[:5], [0.0], complete, seed=0) == {}


# ---------------------------------------------------------------------------------------- the row kernel


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PMAImputer reached max_iter")
def test_unrelated_rows_get_no_row_kernel_and_related_ones_do():
    rng = np.random.default_rng(0)
    loose = rng.standard_normal((60, 6)) @ rng.standard_normal((6, 6))  # many rows, all alone
    loose = np.where(rng.random(loose.shape) < 0.2, np.nan, loose)
    for X, word, start in ((loose, "none", "none"), (pairs_of_rows(), "estimate", "estimated")):
        model = PMAImputer(max_iter=20).fit(X)
        assert model.row_kernel_ == word
        assert model.rows_.startswith(start)
        assert "hidden entries" in model.rows_
        best = min(model.heldout_curve_, key=model.heldout_curve_.get)
        assert best in {"none": ["none"], "estimate": ["estimate", "alone"]}[word]
        same = PMAImputer(row_kernel=word, col_kernel=model.col_kernel_, max_iter=20).fit(X)
        np.testing.assert_array_equal(same.completed_, model.completed_)
        assert not hasattr(same, "heldout_curve_")


def test_the_choice_is_that_of_fits_to_the_rest():
    _, X = mixed_units()
    model = PMAImputer().fit(X)
    unit = column_scale(X)
    hidden = _select_hidden(X / unit, model._seed)
    part = np.where(hidden, np.nan, X)
    for word, error in model.heldout_curve_.items():
        found = PMAImputer(row_kernel=word, random_state=model._seed).fit(part).completed_
        assert error == pytest.approx(_rmse((found / unit)[hidden], (X / unit)[hidden]), rel=1e-12)


def test_of_two_that_do_equally_well_the_simpler_is_taken():
    assert _explain_choice(9, {"none": 0.5, "estimate": 0.5 - 1e-12})[0] == "none"
    assert _explain_choice(9, {"none": 0.5, "estimate": 0.4})[0] == "estimate"
    assert _explain_choice(9, {})[0] == "none"
    word, why = _explain_choice(9, {"none": 0.5, "estimate": 0.4, "shrunk": 0.3})
    assert word == "shrunk"
    assert "shrunk to the given kernel, have RMSE 0.3," in why


def test_too_few_entries_to_tell_are_said():
    model = PMAImputer().fit(mixed_units(n=12)[1])
    assert model.row_kernel_ == "none"
    assert model.heldout_curve_ == {}
    assert "too few entries" in model.rows_


def test_more_rows_than_a_kernel_can_be_estimated_for_are_taken_as_unrelated(monkeypatch):
    monkeypatch.setattr(_imputer, "MAX_DENSE_ROWS", 30)
    _, X = mixed_units(40)
    with pytest.warns(AbsenceWarning, match="40 rows are too many"):
        model = PMAImputer().fit(X)
    assert model.row_kernel_ == "none"
    assert "too many" in model.rows_
    np.testing.assert_array_equal(model.completed_, PMAImputer(row_kernel="none").fit(X).completed_)
    with pytest.raises(ValueError, match="40 rows needs 40x40 numbers"):
        PMAImputer(row_kernel="estimate").fit(X)


def test_a_given_row_kernel_is_said_to_be():
    _, X = mixed_units(20)
    K = np.eye(20)
    model = PMAImputer(row_kernel=K).fit(X)
    assert (model.row_kernel_, model.rows_) == ("given", "as given; its amplitude was estimated")
    model.set_params(col_kernel=np.diag(np.nanvar(X, axis=0))).fit(X)
    assert model.rows_ == "as given"


# ------------------------------------------------------------------------------------------ how well it does


def test_the_check_compares_with_means_of_what_is_left():
    truth, X = mixed_units()
    held = hold_out(PMAImputer(), X)
    unit = column_scale(X)
    hidden = _select_hidden(X / unit, 0)
    part = np.where(hidden, np.nan, X)
    np.testing.assert_array_equal(held.truth, truth[hidden])
    np.testing.assert_array_equal(held.column, np.nonzero(hidden)[1])
    np.testing.assert_allclose(held.baseline, np.broadcast_to(np.nanmean(part, axis=0), X.shape)[hidden])
    completed, std = PMAImputer().fit(part).predict(return_std=True)
    np.testing.assert_array_equal(held.predicted, completed[hidden])
    np.testing.assert_array_equal(held.std, std[hidden])
    own, means = held.errors()
    assert own == pytest.approx(_rmse((completed / unit)[hidden], (X / unit)[hidden]))
    assert own < 0.6 * means


def test_a_check_of_too_few_entries_is_none():
    with pytest.warns(AbsenceWarning, match=r"only \d entries could be hidden: too few to check"):
        assert hold_out(PMAImputer(), mixed_units(n=10)[1]) is None


def test_the_check_says_nothing_a_second_time(monkeypatch):
    monkeypatch.setattr(_imputer, "MAX_DENSE_ROWS", 30)
    assert hold_out(PMAImputer(max_iter=1), mixed_units()[1]) is not None


# ------------------------------------------------------------------------------------ the same rule elsewhere


def test_factorisation_chooses_by_the_same_rule():
    _, X = mixed_units()
    model = PMF().fit(X / column_scale(X))
    best = min(model.heldout_curve_, key=model.heldout_curve_.get)
    assert (model.n_components_, model.ridge_) == best
    assert len(model.heldout_curve_) == 6 * 4
    hidden = _select_hidden(X / column_scale(X), model._seed)
    Z = X / column_scale(X)
    rank, ridge = best
    found = PMF(rank, ridge=ridge, random_state=model._seed).fit(np.where(hidden, np.nan, Z)).completed_
    assert model.heldout_curve_[best] == pytest.approx(_rmse(found[hidden], Z[hidden]), rel=1e-12)
    model.set_params(n_components=2, ridge=0.1).fit(Z)
    assert not hasattr(model, "heldout_curve_")


def test_with_too_few_entries_factorisation_takes_the_first(monkeypatch):
    monkeypatch.setattr(module, "_MIN_HIDDEN", 1000)
    model = PMF().fit(mixed_units()[1])
    assert model.n_components_ == 1
    assert model.heldout_curve_ == {}
