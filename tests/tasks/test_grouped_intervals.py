"""Intervals and tests by group: whole groups are left out, and samples of one do not count as many."""

import itertools

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import r2_score

from absentia import Views
from absentia.data import statistics
from absentia.data.survival import Survival, concordance_index
from absentia.experiment import cross_validate
from absentia.tasks import CLASSIFICATION, balanced_accuracy, concordance, concordance_gain
from absentia.tasks.regression import errors, explained_more

GROUPS = np.array(["d", "a", "a", "b", "b", "b", "c", "e", "e", "f", "f", "g"])


def jackknife(left_out):
    """Half of an interval out of values with each group left out."""
    n = len(left_out)
    error = np.sqrt((n - 1) / n * ((np.array(left_out) - np.mean(left_out)) ** 2).sum())
    return stats.t.ppf(0.975, n - 1) * error


def test_r2_by_leaving_out_each_group():
    rng = np.random.default_rng(0)
    y = rng.normal(size=12)
    said, other = 0.6 * y + 0.5 * rng.normal(size=12), 0.3 * y
    kept = [group != GROUPS for group in np.unique(GROUPS)]
    found = errors(y, said, GROUPS).r2
    assert found.value == pytest.approx(r2_score(y, said))
    assert found.value - found.low == pytest.approx(jackknife([r2_score(y[k], said[k]) for k in kept]))
    more = explained_more(y, said, other, GROUPS)
    left = [r2_score(y[k], said[k]) - r2_score(y[k], other[k]) for k in kept]
    assert more.high - more.value == pytest.approx(jackknife(left))


def test_concordance_by_leaving_out_each_group():
    rng = np.random.default_rng(1)
    time, event, risk, other = (
        rng.random(12),
        np.arange(12) % 4 > 0,
        rng.normal(size=12),
        rng.normal(size=12),
    )
    y, fold = Survival(time, event), np.zeros(12, dtype=int)
    kept = [group != GROUPS for group in np.unique(GROUPS)]
    found = concordance(y, risk, fold, GROUPS)
    assert found.value == pytest.approx(concordance_index(time, event, risk))
    left = [concordance_index(time[k], event[k], risk[k]) for k in kept]
    assert min(found.value - found.low, found.high - found.value) <= jackknife(left) + 1e-12
    assert max(found.value - found.low, found.high - found.value) == pytest.approx(jackknife(left))
    gain = concordance_gain(y, risk, other, fold, GROUPS)
    left = [one - concordance_index(time[k], event[k], other[k]) for one, k in zip(left, kept, strict=True)]
    assert max(gain.high - gain.value, gain.value - gain.low) == pytest.approx(jackknife(left))


def test_a_group_in_two_folds_has_no_pairs_between_them():
    rng = np.random.default_rng(1)
    time, risk, fold = rng.random(12), rng.normal(size=12), np.arange(12) % 2
    y = Survival(time, np.ones(12, dtype=bool))

    def share(kept):
        counts = np.zeros(2)
        for i, j in itertools.combinations(np.flatnonzero(kept), 2):
            if fold[i] == fold[j]:
                counts += (risk[i] > risk[j]) == (time[i] < time[j]), 1
        return counts[0] / counts[1]

    found = concordance(y, risk, fold, GROUPS)
    half = jackknife([share(group != GROUPS) for group in np.unique(GROUPS)])
    assert found.value == pytest.approx(share(np.ones(12, dtype=bool)))
    assert found.high == pytest.approx(min(found.value + half, 1))
    assert found.low == pytest.approx(max(found.value - half, 0))


def draw_visits(rng, n_groups=20, n_visits=4, share=0.8):
    """Classes of visits of patients, and whether they are right, the same for all visits of a patient."""
    groups = np.repeat(np.arange(n_groups), n_visits)
    return groups % 2, (rng.random(n_groups) < share)[groups], groups


def test_balanced_accuracy_covers_by_group_alone():
    rng = np.random.default_rng(0)
    hits = np.zeros(2)
    for _ in range(300):
        y, right, groups = draw_visits(rng)
        for k, given in enumerate((None, groups)):
            found = balanced_accuracy(y, right, given)
            hits[k] += found.low <= 0.8 <= found.high
    assert hits[0] < 0.8 * 300
    assert hits[1] > 0.9 * 300  # 0.95 expected


def test_equal_visits_are_worth_one():
    """The error is that of one visit of each patient; quantiles are Student's."""
    y, right, groups = draw_visits(np.random.default_rng(0))
    all_visits, one = balanced_accuracy(y, right, groups), balanced_accuracy(y[::4], right[::4])
    scale = stats.t.ppf(0.975, 19) / stats.norm.ppf(0.975)
    assert all_visits.value == one.value
    assert all_visits.value - all_visits.low == pytest.approx(scale * (one.value - one.low))
    assert statistics.effective_size(right, groups) == pytest.approx(20)
    assert statistics.effective_size(right, np.arange(80)) == pytest.approx(80)


def test_mcnemar_flips_whole_groups():
    rng = np.random.default_rng(0)
    right, other = rng.random((2, 12)) < 0.5
    margins = [int((right[g == GROUPS].astype(int) - other[g == GROUPS]).sum()) for g in np.unique(GROUPS)]
    sums = [abs(np.dot(signs, margins)) for signs in itertools.product((1, -1), repeat=len(margins))]
    expected = np.mean(np.array(sums) >= abs(sum(margins)))
    found = statistics.mcnemar(right, other, GROUPS)
    assert found.p == pytest.approx(expected)
    assert found[:2] == statistics.mcnemar(right, other)[:2]
    assert statistics.mcnemar(right, other, np.arange(12)).p == pytest.approx(
        statistics.mcnemar(right, other).p
    )


def test_false_alarms_of_mcnemar_are_rare_by_group_alone():
    rng = np.random.default_rng(0)
    alarms = np.zeros(2)
    for _ in range(300):
        _, right, groups = draw_visits(rng)
        other = draw_visits(rng)[1]
        alarms += [statistics.mcnemar(right, other, g).p < 0.05 for g in (None, groups)]
    assert alarms[0] > 0.15 * 300
    assert alarms[1] < 0.08 * 300


def test_coverage_that_was_reached_is_judged_by_group():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(15), 4)
    y = np.repeat(rng.permutation(np.arange(15) % 2), 4)
    table = (rng.normal(size=(15, 3)) + y[::4, None])[groups] + 0.01 * rng.normal(size=(60, 3))
    views = Views.from_dict({"a": table}).with_groups(groups)
    plans = {"it": CLASSIFICATION.plan("linear", views)}
    regions = cross_validate(CLASSIFICATION, views, y, plans, coverage=0.8).held_out["pattern"].judge()
    everyone = np.ones(60, bool)
    by_group, alone = (one.measure_coverage(everyone) for one in (regions, regions._replace(groups=None)))
    assert by_group[0] == alone[0]
    assert by_group[2] - by_group[1] > 1.2 * (alone[2] - alone[1])
