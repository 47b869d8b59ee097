"""Targets of survival, and what they are read with: against plain loops and other packages."""

import numpy as np
import pandas as pd
import pytest

from absentia import Views, survival
from absentia.data.survival import Survival, as_survival, evaluate_steps
from reference import cox


def censored(n=40, seed=0, whole=True):
    """Times with many ties, events, and risks with ties."""
    rng = np.random.default_rng(seed)
    time = rng.integers(1, 12, n).astype(float) if whole else rng.exponential(size=n)
    return time, rng.random(n) < 0.6, rng.integers(0, 6, n).astype(float)


@pytest.fixture
def two():
    return Views.from_list([np.eye(3)], ids=["p", "q", "r"])


def test_every_form_of_targets_means_the_same():
    time, event = np.array([2.0, 3.0, 0.0]), np.array([True, False, True])
    structured = np.array(list(zip(event, time, strict=True)), dtype=[("died", "?"), ("OS", "<f4")])
    turned = np.array(list(zip(time, event, strict=True)), dtype=[("OS", "<f8"), ("died", "?")])
    frame = pd.DataFrame({"Event": [1, 0, 1], "Time": time})
    named = pd.DataFrame({"died": event, "years": time})
    plain = np.column_stack([time, event])
    own = Survival(time, event)
    for y in (structured, turned, frame, named, plain, plain.tolist(), own, own.to_array()):
        found = as_survival(y)
        np.testing.assert_array_equal(found.time, time)
        np.testing.assert_array_equal(found.event, event)
        assert found.event.dtype == bool


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([[1, 1], [-2, 1], [3, 0]], "1 time.s. are negative .*-2 of 'q'"),
        ([[1, 1], [np.nan, 1], [3, 0]], "nan of 'q'"),
        ([[1, 1], [1, 0], [3, 2]], "1 event.s. are neither 0 nor 1, e.g. 2 of 'r'"),
        ([[1, 4], [0, 5], [1, 2]], "other way round"),
        ([[1, 0], [1, 0], [3, 0]], "none of 3 samples has an event"),
        ([[1, 1], [1, 0]], "2 times came for 3 samples"),
        ([1, 2, 3], "two columns"),
        ([["a", 1], ["b", 0], ["c", 1]], "no numbers"),
        (pd.DataFrame({"OS": [1, 2, 3], "died": [0, 1, 1]}), "which is the time"),
        (pd.DataFrame({"time": [1, 2, 3], "event": [0, 1, 1]}, index=["q", "p", "r"]), "order"),
    ],
)
def test_what_is_wrong_is_said(two, y, said):
    with pytest.raises(ValueError, match=said):
        as_survival(y, two)


@pytest.mark.parametrize("whole", [True, False])
def test_concordance_is_that_of_all_pairs(whole, monkeypatch):
    time, event, risk = censored(whole=whole)
    wanted = cox.concordance(time, event, risk)
    assert survival.concordance_index(time, event, risk) == pytest.approx(wanted, abs=1e-14)
    monkeypatch.setattr(survival, "_BLOCK", 100)
    assert survival.concordance_index(time, event, risk) == pytest.approx(wanted, abs=1e-14)
    assert survival.concordance_index(time, event, 0 * risk) == 0.5


def test_concordance_needs_someone_to_compare_and_numbers():
    with pytest.raises(ValueError, match="no two samples can be compared"):
        survival.concordance_index([1, 2], [0, 1], [0, 1])
    with pytest.raises(ValueError, match="risks must be 2 numbers"):
        survival.concordance_index([1, 2], [1, 1], [0, np.nan])


def test_concordance_is_that_of_other_packages():
    metrics = pytest.importorskip("sksurv.metrics")
    time, event, risk = censored()
    wanted = metrics.concordance_index_censored(event, time, risk)[0]
    assert survival.concordance_index(time, event, risk) == pytest.approx(wanted, abs=1e-12)


def test_kaplan_meier_by_hand_and_its_ends():
    curve = survival.kaplan_meier([1, 2, 2, 3, 5], [1, 1, 0, 0, 1])
    np.testing.assert_array_equal(curve.times, [1, 2, 3, 5])
    np.testing.assert_array_equal(curve.at_risk, [5, 4, 2, 1])
    np.testing.assert_allclose(curve.survival, [0.8, 0.6, 0.6, 0.0])
    variance = (1 / (5 * 4) + 1 / (4 * 3)) / np.log(0.6) ** 2  # Greenwood's, of log(-log S)
    np.testing.assert_allclose(curve.low[1], 0.6 ** np.exp(1.959964 * np.sqrt(variance)), rtol=1e-6)
    np.testing.assert_allclose(curve.high[1], 0.6 ** np.exp(-1.959964 * np.sqrt(variance)), rtol=1e-6)
    assert (curve.low[-1], curve.high[-1]) == (0.0, curve.high[-2])
    early = survival.kaplan_meier([1, 2], [0, 1])
    assert (early.survival[0], early.low[0], early.high[0]) == (1.0, 1.0, 1.0)


def test_kaplan_meier_is_that_of_other_packages():
    lifelines = pytest.importorskip("lifelines")
    time, event, _ = censored()
    event[time == time.max()] = False
    curve = survival.kaplan_meier(time, event)
    fitted = lifelines.KaplanMeierFitter().fit(time, event)
    np.testing.assert_allclose(curve.survival, fitted.survival_function_.to_numpy()[1:, 0])
    np.testing.assert_allclose(
        np.column_stack([curve.low, curve.high]), fitted.confidence_interval_.to_numpy()[1:]
    )


def test_log_rank_by_hand():
    # one event at time 1 among (2, 2), one at 2 among (1, 2), one at 3 among (0, 2)
    found = survival.log_rank([1, 2, 3, 4], [1, 1, 1, 0], ["a", "a", "b", "b"])
    excess, spread = 2 - (1 / 2 + 1 / 3), 1 / 4 + 2 / 9
    assert found.statistic == pytest.approx(excess**2 / spread)
    assert survival.log_rank([1, 1, 2, 2], [1, 1, 1, 1], [0, 1, 0, 1]).pvalue == pytest.approx(1.0)
    with pytest.raises(ValueError, match="two or more are wanted"):
        survival.log_rank([1, 2], [1, 1], [0, 0])


@pytest.mark.parametrize("groups", [2, 4])
def test_log_rank_is_that_of_other_packages(groups):
    statistics = pytest.importorskip("lifelines.statistics")
    time, event, risk = censored(80)
    group = (risk % groups).astype(int)
    wanted = statistics.multivariate_logrank_test(time, group, event)
    found = survival.log_rank(time, event, group)
    assert found.statistic == pytest.approx(wanted.test_statistic)
    assert found.pvalue == pytest.approx(wanted.p_value)


def test_a_step_function_has_its_value_from_its_time_on():
    values = evaluate_steps(np.array([1.0, 3.0]), np.array([10.0, 20.0]), np.array([0.5, 1, 2, 3, 9]), 5.0)
    np.testing.assert_array_equal(values, [5, 10, 10, 20, 20])


@pytest.mark.parametrize(
    ("time", "event", "words"),
    [
        ([1, -2], [1, 1], "negative or no number, e.g. -2"),
        ([1, np.nan], [1, 1], "negative or no number"),
        ([1, 2], [1, 7], "neither 0 nor 1"),
        ([1, 2], [1], "2 times and 1 events"),
        ([], [], "0 times"),
    ],
)
def test_a_curve_is_of_times_that_can_be(time, event, words):
    with pytest.raises(ValueError, match=words):
        survival.kaplan_meier(time, event)


def test_a_curve_of_nobody_with_an_event_stays_up():
    assert survival.kaplan_meier([1, 2], [0, 0]).survival.tolist() == [1, 1]


# ------------------------------------------------------------------------- judged as if nobody was censored


def test_concordance_after_uno_by_hand():
    """Followed beyond 1: all; beyond 2: two of three.  Events at 1 count 1, at 3 count (2 / 3) ** -2."""
    time, event, risk = [1, 2, 3, 4], [1, 0, 1, 1], [0.9, 0.1, 0.2, 0.5]
    assert survival.uno_concordance(time, event, risk) == pytest.approx(3 / (3 + 9 / 4))
    assert survival.uno_concordance(time, event, risk, tau=3) == 1.0
    with pytest.raises(ValueError, match="no two samples"):
        survival.uno_concordance(time, event, risk, tau=1)
    whole = np.arange(1.0, 9.0), np.ones(8, bool), np.cos(np.arange(8.0))
    assert survival.uno_concordance(*whole) == pytest.approx(survival.concordance_index(*whole))


def test_concordance_after_uno_is_that_of_other_packages():
    metrics = pytest.importorskip("sksurv.metrics")
    time, event, risk = censored(80)
    time = time + 1e-6 * np.arange(80)  # of equal times others have other customs
    y = survival.Survival(time, event).to_array()
    wanted = metrics.concordance_index_ipcw(y, y, risk)[0]
    assert survival.uno_concordance(time, event, risk) == pytest.approx(wanted)


@pytest.mark.parametrize("seed", range(3))
def test_areas_over_time_are_those_of_pairs(seed):
    """Against a version pair by pair, with equal times, events and censorings together, and equal risks."""
    rng = np.random.default_rng(seed)
    time, event = rng.integers(1, 9, size=40).astype(float), rng.random(40) < 0.6
    risk = np.round(-0.3 * time + rng.normal(size=40))
    times = np.unique(time[event])[:-1]
    wanted, mean = cox.cumulative_dynamic_auc(time, event, risk, times)
    found = survival.cumulative_dynamic_auc(time, event, risk, times)
    np.testing.assert_allclose(found[0], wanted, rtol=1e-12)
    assert found[1] == pytest.approx(mean, rel=1e-12)


def test_areas_over_time_are_those_of_scikit_survival():
    """What cumulative_dynamic_auc of version 0.28 gives of twelve samples at three times."""
    time = [0.72, 1.04, 0.58, 0.34, 0.22, 1.11, 0.02, 1.34, 0.12, 0.1, 0.55, 0.32]
    event = [1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 1, 1]
    risk = [-1.3, -1.1, -0.5, -2.4, -0.7, -4.4, -0.8, -1.8, -1.4, -0.3, 0.3, -0.9]
    areas, mean = survival.cumulative_dynamic_auc(time, event, risk, [0.22, 0.55, 0.72])
    np.testing.assert_allclose(areas, [0.75, 0.85855513, 0.93844924], atol=1e-8)
    assert mean == pytest.approx(0.8568215037985022)


@pytest.mark.parametrize("times", [[], [2, 1], [0.5], [4], [[1, 2]]])
def test_times_without_an_area_are_refused(times):
    with pytest.raises(ValueError, match="rising times from 1 on, before 4, are wanted"):
        survival.cumulative_dynamic_auc([1, 2, 3, 4], [1, 1, 0, 0], [4, 3, 2, 1], times)


def test_concordance_after_uno_does_not_hang_on_how_long_samples_are_followed():
    """Risks that tell early events only: Harrell's C rises as late ones are censored, Uno's stays."""
    rng = np.random.default_rng(0)
    time = rng.exponential(size=4000)
    risk = np.where(time < 0.7, -time, 0.0) + 0.3 * rng.standard_normal(4000)
    ends = rng.exponential(0.7, size=4000)
    seen = np.minimum(time, ends), time <= ends, risk
    truth = survival.uno_concordance(time, np.ones(4000, bool), risk, tau=1.0)
    assert survival.uno_concordance(*seen, tau=1.0) == pytest.approx(truth, abs=0.02)
    assert abs(survival.concordance_index(*seen) - truth) > 0.02


def test_brier_score_by_hand():
    """At 1.5 one had the event, at 2.5 too; one was lost at 2, so that two of three are followed beyond."""
    time, event = [1, 2, 3, 4], [1, 0, 1, 1]
    said = np.array([[0.2, 0.1], [0.6, 0.5], [0.7, 0.4], [0.9, 0.8]])
    first = (0.2**2 + 0.4**2 + 0.3**2 + 0.1**2) / 4
    second = (0.1**2 + (0.6**2 + 0.2**2) * 3 / 2) / 4
    found = survival.integrated_brier_score(time, event, said, [1.5, 2.5])
    assert found == pytest.approx((first + second) / 2)
    lost = survival.integrated_brier_score([1, 2, 2, 4], event=[1, 1, 0, 1], survival=said, times=[1.5, 3])
    after = (0.1**2 + 0.5**2 + 0.2**2 * 3 / 2) / 4  # who had the event at 2 was followed until then
    assert lost == pytest.approx((first + after) / 2)


@pytest.mark.parametrize(
    ("said", "times", "words"),
    [
        (np.full((3, 2), 0.5), [2, 1], "rising times before 3"),
        (np.full((3, 2), 0.5), [1, 3], "rising times before 3"),
        (np.full((3, 2), 1.5), [1, 2], "probabilities of shape \\(3, 2\\)"),
        (np.full((2, 2), 0.5), [1, 2], "survival of shape \\(2, 2\\) came"),
    ],
)
def test_brier_scores_are_of_probabilities_at_times_that_were_seen(said, times, words):
    with pytest.raises(ValueError, match=words):
        survival.integrated_brier_score([1, 2, 3], [1, 1, 1], said, times)
