"""Intervals of completed entries hold for the share that is asked for, whatever the method."""

import numpy as np
import pytest
from scipy.special import ndtri

from absentia import (
    CVKT,
    KernelViews,
    MeanFill,
    PMAImputer,
    ZeroFill,
    calibrate_completer,
    datasets,
    missingness,
)
from conftest import random_kernels

SEEN: list[np.ndarray] = []  # what each fit of a WatchedMean observed


class WatchedMean(MeanFill):
    """Mean fill that remembers who had which view in each fit."""

    def fit(self, X, y=None):
        SEEN.append(X.observed)
        return super().fit(X, y)


@pytest.fixture(autouse=True)
def forget():
    SEEN.clear()


def made_up(n=100, n_views=3, seed=0):
    return datasets.make_multiview(n, n_views, random_state=seed).kernels


def one_view_or_all(X, share=0.4, seed=0):
    """Some samples keep one view, the others all."""
    rng = np.random.default_rng(seed)
    keep = np.ones_like(X.observed)
    for t in rng.permutation(len(X))[: round(share * len(X))]:
        keep[t] = np.arange(X.n_views) == rng.integers(X.n_views)
    return X.hide(keep)


def share_inside(truth, part, intervals, coverage=0.9):
    """Of each hidden sample in each view the share of its values inside, mean over samples."""
    shares = []
    for v, name in enumerate(truth.names):
        low, high = intervals.interval(name, coverage=coverage)
        slack = 1e-12 * np.abs(truth.block(name)).max()
        inside = (truth.block(name) >= low - slack) & (truth.block(name) <= high + slack)
        shares += inside[~part.observed[:, v]].mean(axis=1).tolist()
    return float(np.mean(shares))


# ------------------------------------------------------------------------------------------- they hold


@pytest.mark.parametrize(
    "completer", [CVKT(ridge=0.1, rounds=1), MeanFill("blocks"), ZeroFill()], ids=lambda c: type(c).__name__
)
def test_the_share_that_is_asked_for_is_inside(completer):
    """Of 4 x 150 hidden rows whose shares have standard deviations below .2: three standard errors."""
    for coverage in (0.8, 0.95):
        reached = []
        for seed in range(4):
            truth = made_up(seed=seed)
            part = truth.hide(missingness.mcar(truth, 0.4, random_state=seed))
            reached.append(share_inside(truth, part, calibrate_completer(completer, part), coverage))
        assert np.mean(reached) == pytest.approx(coverage, abs=0.035)


def test_samples_are_hidden_down_to_views_that_absent_ones_have():
    """Absent ones have one other view, and who has a view has all the others or none."""
    part = one_view_or_all(made_up())
    calibrate_completer(WatchedMean(), part)
    assert len(SEEN) == 6
    for observed in SEEN[1:]:
        hidden = part.observed & ~observed
        assert hidden.any(axis=0).all()
        assert (observed[hidden.any(axis=1)].sum(axis=1) == 1).all()


def test_with_the_patterns_of_absent_samples_intervals_hold_where_those_have_fewer_views():
    reached = []
    for seed in range(4):
        truth = made_up(n_views=4, seed=seed)
        part = one_view_or_all(truth, seed=seed)
        reached.append(share_inside(truth, part, calibrate_completer(CVKT(ridge=0.1, rounds=1), part)))
    assert np.mean(reached) == pytest.approx(0.9, abs=0.025)


def test_samples_of_a_group_are_hidden_together_and_counted_once():
    truth = made_up(80)
    patient = np.repeat(np.arange(40), 2)
    part = truth.hide(missingness.mcar(truth, 0.3, random_state=0)).with_groups(patient)
    table = calibrate_completer(WatchedMean(), part).table()
    for observed in SEEN[1:]:
        hidden = (part.observed & ~observed).reshape(40, 2, 3)
        left = observed.reshape(40, 2, 3)
        assert not (hidden.any(axis=1) & left.any(axis=1)).any()
    have = [len(np.unique(patient[has])) for has in part.observed.T]
    assert (table["n_hidden"].to_numpy() <= np.repeat(have, 3) * 0.6).all()


# --------------------------------------------------------------------------------------------- what they are


def test_observed_values_are_certain_and_more_coverage_is_wider():
    truth = made_up(60)
    part = truth.hide(missingness.mcar(truth, 0.3, random_state=0))
    intervals = calibrate_completer(MeanFill(), part)
    for v, name in enumerate(part.names):
        K, has = intervals.completed.block(name), np.flatnonzero(part.observed[:, v])
        (low, high), (lower, higher) = (intervals.interval(name, coverage=c) for c in (0.7, 0.9))
        for end in (low, high):
            np.testing.assert_array_equal(end[np.ix_(has, has)], K[np.ix_(has, has)])
            np.testing.assert_allclose(end, end.T, atol=1e-14)
        assert (lower <= low).all()
        assert (higher >= high).all()
        absent = ~part.observed[:, v]
        assert (lower[absent] < higher[absent]).any()
        np.testing.assert_allclose((low + high) / 2, K, atol=1e-12)


def test_a_diagonal_that_is_known_is_certain():
    """Made-up kernels have ones on it, and so have completed ones."""
    part = one_view_or_all(made_up())
    intervals = calibrate_completer(MeanFill("blocks"), part)
    low, high = intervals.interval("view0")
    np.testing.assert_allclose(np.diagonal(high - low), 0, atol=1e-9)
    table = intervals.table()
    assert (table.loc[table["entries"] == "itself", "half_width"] < 1e-9).all()


def test_samples_of_long_features_have_wide_intervals():
    """Kernel values of a sample with ten times the features are ten times as far off."""
    size = np.where(np.arange(60) % 2, 10.0, 1.0)
    K = made_up(60).to_dense() * np.outer(size, size)
    part = KernelViews.from_dense(K).hide(np.arange(60)[:, None] >= np.array([20, 0, 0]))
    low, high = calibrate_completer(MeanFill(), part).interval("view0", coverage=0.8)
    half = (high - low)[:20, 20:] / 2
    np.testing.assert_allclose(half[:, 1::2], 10 * half[:, ::2])


def test_units_and_order_do_not_matter():
    truth = made_up(60)
    part = truth.hide(missingness.mcar(truth, 0.3, random_state=0))
    order = np.random.default_rng(0).permutation(60)
    other = part.select(part.names[::-1])[np.ix_(order, order)]
    name = part.names[0]
    scaled = KernelViews.from_dense(
        {n: 100 * K for n, K in zip(other.names, other.to_dense(), strict=True)}, ids=other.ids
    )
    one, two, three = (calibrate_completer(MeanFill(), X) for X in (part, other, scaled))
    low, high = one.interval(name)
    for turned, factor in ((two, 1), (three, 100)):
        for end, same in zip((low, high), turned.interval(name), strict=True):
            np.testing.assert_allclose(
                same, factor * end[np.ix_(order, order)], rtol=1e-8, atol=1e-9 * factor
            )
    tables = [i.table().sort_values(["view", "entries"]).drop(columns="spread") for i in (one, two)]
    np.testing.assert_allclose(*(t.select_dtypes("number").to_numpy() for t in tables), rtol=1e-8)


def test_what_is_fitted_already_is_not_fitted_again():
    part = one_view_or_all(made_up(60))
    fitted = WatchedMean().fit(part)
    one, two = calibrate_completer(fitted, part, prefit=True), calibrate_completer(WatchedMean(), part)
    assert len(SEEN) == 1 + 5 + 6
    for a, b in zip(one.interval("view0"), two.interval("view0"), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_table_says_what_is_reached_by_sample():
    truth = made_up(200)
    part = truth.hide(missingness.mcar(truth, 0.3, random_state=0))
    ticks = []
    intervals = calibrate_completer(MeanFill("blocks"), part, callback=lambda: ticks.append(1))
    table = intervals.table(0.8)
    assert len(ticks) == 5
    assert table["view"].unique().tolist() == list(part.names)
    assert set(table["entries"]) == {"observed", "absent", "itself"}
    assert (table["promised"] == 0.8).all()
    rows = table[table["entries"] != "itself"]
    assert (abs(rows["reached"] - 0.8) < 4 * rows["standard_error"]).all()
    assert rows["standard_error"].between(0.002, 0.06).all()
    first = rows[rows["entries"] == "observed"].iloc[0]
    low, high = intervals.interval(part.names[0], coverage=0.8)
    has = part.observed[:, 0]
    mean = ((high - low) / 2)[np.ix_(~has, has)].mean()
    assert first["half_width"] == pytest.approx(mean)


def test_of_few_samples_nothing_is_said():
    part = KernelViews.from_dense(random_kernels(8, 2)).hide(np.arange(16).reshape(8, 2) > 0)
    intervals = calibrate_completer(MeanFill(), part)
    low, high = intervals.interval("view0")
    assert np.isneginf(low[0]).all()
    assert np.isposinf(high[0]).all()
    assert np.isfinite(low[1:, 1:]).all()
    table = intervals.table()
    assert np.isinf(table["half_width"]).all()
    assert table["reached"].isna().all()


def test_of_complete_kernels_there_is_nothing_to_say():
    X = KernelViews.from_dense(random_kernels(10, 2))
    intervals = calibrate_completer(ZeroFill(), X)
    assert intervals.table().empty
    low, high = intervals.interval("view1")
    np.testing.assert_array_equal(low, X.block("view1"))
    np.testing.assert_array_equal(high, X.block("view1"))


def test_what_is_wrong_is_said():
    part = one_view_or_all(made_up(30))
    intervals = calibrate_completer(ZeroFill(), part)
    with pytest.raises(KeyError, match="no view 'x'; views are"):
        intervals.interval("x")
    with pytest.raises(ValueError, match="coverage is a number above 0 and below 1, not 90"):
        intervals.interval("view0", coverage=90)
    with pytest.raises(ValueError, match="coverage is a number"):
        intervals.table(1.0)
    with pytest.raises(TypeError, match="KernelViews"):
        calibrate_completer(ZeroFill(), np.ones((3, 3)))


# ------------------------------------------------------------------------------------------------- a matrix


def skewed(n=150, m=6, seed=0):
    """A matrix of two factors and noise of heavy tails: whole, and with entries missing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, m)) + 0.4 * rng.standard_t(3, (n, m))
    return X, np.where(rng.random(X.shape) < 0.2, np.nan, X)


def test_entries_of_a_matrix_are_covered_at_every_level():
    """Its noise is not normal: one factor for all levels covers too much at the lower ones."""
    reached, normal = {0.5: [], 0.9: []}, []
    for seed in range(4):
        truth, X = skewed(seed=seed)
        gone, imputer = np.isnan(X), PMAImputer(row_kernel="none").fit(X)
        intervals = calibrate_completer(imputer, X, prefit=True)
        for coverage, shares in reached.items():
            low, high = intervals.interval(coverage=coverage)
            np.testing.assert_array_equal(low[~gone], X[~gone])
            shares.append(((truth >= low) & (truth <= high))[gone].mean())
        mean, std = imputer.predict(return_std=True)
        normal.append((np.abs(truth - mean) <= ndtri(0.75) * std)[gone].mean())
    for coverage, shares in reached.items():
        assert np.mean(shares) == pytest.approx(coverage, abs=0.05)
    assert np.mean(normal) > 0.58
    table = intervals.table()
    assert table["entries"].tolist() == ["entry"]
    assert abs(table["reached"][0] - 0.9) < 4 * table["standard_error"][0]


def test_kernels_that_are_given_are_taken_for_true():
    X = skewed()[1]
    t = np.arange(150.0)
    K1, K2 = np.exp(-((t[:, None] - t) ** 2) / 20), np.eye(6)
    imputer = PMAImputer(row_kernel=K1, col_kernel=K2)
    low, high = calibrate_completer(imputer, X).interval(coverage=0.95)
    mean, std = imputer.fit(X).predict(return_std=True)
    np.testing.assert_allclose(high - mean, ndtri(0.975) * std, atol=1e-12)
    np.testing.assert_allclose(mean - low, ndtri(0.975) * std, atol=1e-12)
