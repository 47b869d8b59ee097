"""Matrices from the model: draws, folds, and what stands for a Gaussian process."""

import numpy as np
import pytest
from sklearn.utils import Bunch

from absentia import PMAImputer
from absentia.papers.protocols import _pma as protocol
from reference import pma

KEY = {"n_rows": 12, "n_columns": 8, "kind": "low rank", "parameters": {}, "seed": 0, "repeat": 0}


def problem(fold=0, **other):
    key = KEY | other
    drawn = protocol._draw_matrix(key)
    hidden = protocol._assign_folds(drawn.full.shape, key) == fold
    return key, drawn, np.where(hidden, np.nan, drawn.full), hidden


def completed(method, fold=0, **other):
    key, drawn, gaps, _ = problem(fold, **other)
    return protocol._complete_matrix(key | {"method": method}, drawn, gaps)


@pytest.mark.parametrize("kind", ["low rank", "smooth"])
def test_draws_have_the_covariance_of_the_model(kind, monkeypatch):
    """Products of entries, over many draws from the same kernels."""
    first = protocol._draw_matrix(KEY | {"kind": kind})
    K1, K2 = first.row_kernel[:3, :3], first.col_kernel[:2, :2]
    monkeypatch.setattr(protocol, "plane_kernel", lambda rng, n: K1)
    monkeypatch.setitem(protocol._COLUMN_KERNELS, kind, lambda rng, m: K2)
    small = KEY | {"kind": kind, "n_rows": 3, "n_columns": 2}
    draws = np.array([protocol._draw_matrix(small | {"repeat": i}).full.ravel() for i in range(4000)])
    wanted = pma.covariance(K1, np.eye(2), K2)
    off = np.abs(draws.T @ draws / len(draws) - wanted)
    assert off.max() < 5 * 2 * np.diagonal(wanted).max() / np.sqrt(len(draws))


def test_all_methods_of_a_repeat_see_one_matrix_and_other_repeats_others():
    again, other = protocol._draw_matrix(KEY | {"method": "x"}), protocol._draw_matrix(KEY | {"repeat": 1})
    np.testing.assert_array_equal(again.full, protocol._draw_matrix(KEY).full)
    assert (other.row_kernel != again.row_kernel).any()
    assert (protocol._draw_matrix(KEY | {"kind": "smooth"}).full != again.full).all()


def test_every_entry_is_hidden_once():
    found = protocol._assign_folds((12, 8), KEY)
    assert set(np.unique(found)) == set(range(5))
    assert np.ptp(np.bincount(found.ravel())) <= 1


def test_errors_are_mean_squares_of_the_hidden_entries():
    found = protocol._perform_matrices(KEY | {"method": "column means"})["scores"]["MSE"]
    assert list(found) == [f"fold {i}" for i in range(1, 6)]
    _, drawn, gaps, hidden = problem(fold=2)
    off = (drawn.full - np.nanmean(gaps, axis=0))[hidden]
    assert found["fold 3"] == pytest.approx((off**2).mean(), rel=1e-12)


def test_the_oracle_has_the_expectation_of_dense_algebra():
    _, drawn, gaps, hidden = problem()
    dense = pma.expectation(drawn.row_kernel, np.eye(8), drawn.col_kernel, np.nan_to_num(gaps), ~hidden)
    np.testing.assert_allclose(completed("oracle"), dense, atol=1e-6)


def test_one_covariance_of_rows_is_that_of_columns_of_the_matrix_turned():
    gaps = problem()[2]
    alone = PMAImputer(row_kernel="none", random_state=0)
    by_rows = completed("one covariance", parameters={"points": "rows"})
    by_columns = completed("one covariance", parameters={"points": "columns"})
    np.testing.assert_array_equal(by_columns, alone.fit_transform(gaps))
    np.testing.assert_array_equal(by_rows, alone.fit_transform(gaps.T).T)
    assert (by_rows != by_columns).any()


def test_a_process_learns_a_column_from_the_other_entries_of_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 1)) + 0.05 * rng.standard_normal((30, 4))  # columns alike, rows not
    gaps = np.where(protocol._assign_folds(X.shape, KEY) == 0, np.nan, X)
    drawn = Bunch(full=X, row_kernel=np.eye(30), col_kernel=np.eye(4))
    key = KEY | {"method": "process", "parameters": {"points": "rows"}}
    off = (protocol._complete_matrix(key, drawn, gaps) - X)[np.isnan(gaps)]
    assert np.mean(off**2) < 0.1 < np.var(X)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("PMAImputer", {"row_kernel": "estimate", "inference": "map"}),
        ("PMF", {}),
        ("column means", {}),
        ("process", {"points": "columns"}),
    ],
)
def test_what_is_known_stays(method, parameters):
    gaps = problem()[2]
    full = completed(method, parameters=parameters)
    assert np.isfinite(full).all()
    np.testing.assert_allclose(full[~np.isnan(gaps)], gaps[~np.isnan(gaps)], atol=1e-12)
