"""Risks out of fold, concordance within folds, and its intervals."""

import numpy as np
import pytest

from absentia import AbsentSurvival, Views, survival
from absentia.data.survival import Survival
from absentia.experiment import cross_validate
from absentia.tasks import SURVIVAL, Plan, Predictions, concordance, concordance_gain


def targets(n, seed=0):
    rng = np.random.default_rng(seed)
    risk = rng.normal(size=n)
    time = rng.exponential(np.exp(-risk))
    return Survival(time, rng.random(n) < 0.7), risk + rng.normal(size=n)


def test_only_samples_of_the_same_fold_are_compared():
    y, risk = targets(60)
    fold = np.arange(60) % 3
    moved = risk + 100.0 * fold  # models of different folds may differ in level
    found = concordance(y, moved, fold)
    parts = [survival.concordant_pairs(*(one[fold == k] for one in (*y, risk))) for k in range(3)]
    wanted = sum(right.sum() for right, _ in parts) / sum(pairs.sum() for _, pairs in parts)
    assert found.value == pytest.approx(wanted, abs=1e-14)
    one = concordance(y, risk, np.zeros(60, dtype=int))
    assert one.value == pytest.approx(survival.concordance_index(*y, risk), abs=1e-14)
    assert one.low < one.value < one.high


def test_the_jackknife_is_leaving_out_each_sample():
    y, risk = targets(25)
    none = np.zeros(25, dtype=int)
    left = [survival.concordance_index(*(np.delete(one, i) for one in (*y, risk))) for i in range(25)]
    error = np.sqrt(24 / 25 * ((np.array(left) - np.mean(left)) ** 2).sum())
    found = concordance(y, risk, none)
    assert found.high - found.value == pytest.approx(1.959964 * error, rel=1e-6)


def test_intervals_cover_about_as_often_as_they_say():
    truth = concordance(*targets(4000, 1), np.zeros(4000, dtype=int)).value
    hits = 0
    for seed in range(100):
        found = concordance(*targets(80, seed + 10), np.zeros(80, dtype=int))
        hits += found.low <= truth <= found.high
    assert 87 <= hits <= 100  # 95 expected; 87 is four standard errors below


def test_what_is_gained_over_nothing_is_what_is_above_chance():
    y, risk = targets(60)
    fold = np.arange(60) % 2
    own = concordance(y, risk, fold)
    over = concordance_gain(y, risk, np.zeros(60), fold)
    np.testing.assert_allclose([over.value, over.low], [own.value - 0.5, own.low - 0.5], atol=1e-12)
    assert concordance_gain(y, risk, risk, fold) == (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="no two samples"):
        concordance(Survival(np.arange(4.0), np.arange(4) == 3), np.zeros(4), np.zeros(4, dtype=int))


def test_every_sample_is_held_out_once_whatever_their_order():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    time = rng.exponential(np.exp(-2 * x[:, 0]))
    y = np.column_stack([time, np.ones(50)])
    observed = rng.random((50, 2)) < 0.8
    observed[:, 0] |= ~observed.any(axis=1)
    X = Views.from_list([x, x**2], observed=observed)
    methods = {"own": Plan(AbsentSurvival(alpha=3.0)), "zero": Plan(AbsentSurvival(None, alpha=3.0))}
    ticks = []
    found = cross_validate(SURVIVAL, X, y, methods, lambda: ticks.append(1))
    assert found.n_folds == 5
    assert len(ticks) == 10
    assert found.strengths["own"] == (3.0,) * 5
    assert (found.predicted["no model"] == 0).all()
    test = found.fold == 2
    fitted = AbsentSurvival(alpha=3.0).fit(X[~test], y[~test])
    np.testing.assert_allclose(found.predicted["own"][test], fitted.predict(X[test]), atol=1e-9)
    order = rng.permutation(50)
    again = cross_validate(SURVIVAL, X[order], y[order], methods)
    np.testing.assert_array_equal(again.fold, found.fold[order])
    np.testing.assert_allclose(again.predicted["zero"], found.predicted["zero"][order], atol=1e-6)


def test_too_few_events_are_refused():
    SURVIVAL.check_targets(np.ones((5, 2)))
    with pytest.raises(ValueError, match=r"4 event.s. among 9 samples .* at least 5 are wanted"):
        SURVIVAL.check_targets(np.column_stack([np.ones(9), np.arange(9) < 4]))
    with pytest.raises(ValueError, match="0 event"):
        SURVIVAL.check_targets(np.zeros((0, 2)))


def test_every_metric_is_what_it_is_called():
    y, risk = targets(60)
    times = np.quantile(y.time, [0.2, 0.5, 0.7])
    said = np.exp(-np.exp(risk)[:, None] * times)
    found = SURVIVAL.scores(np.column_stack(y), Predictions(risk, said, times))
    assert list(found) == [metric.name for metric in SURVIVAL.metrics]
    assert found["concordance"] == survival.concordance_index(*y, risk)
    assert found["Uno concordance"] == survival.uno_concordance(*y, risk)
    assert found["AUC over time"] == survival.cumulative_dynamic_auc(*y, risk, times)[1]
    assert found["Brier score"] == survival.integrated_brier_score(*y, said, times)
    late = Predictions(risk, said, times + y.time.max())
    assert SURVIVAL.scores(np.column_stack(y), late)["Brier score"] is None
    assert SURVIVAL.scores(np.column_stack(y), late)["AUC over time"] is None
    none = SURVIVAL.scores(np.column_stack([y.time, np.zeros(60)]), Predictions(risk))
    assert set(none.values()) == {None}


def test_survival_is_predicted_beside_risks():
    rng = np.random.default_rng(0)
    y, risk = targets(60)
    views = Views.from_dict(
        {"a": risk[:, None] + 0.1 * rng.normal(size=(60, 1)), "b": rng.normal(size=(60, 2))}
    )
    model = SURVIVAL.learn(views[:40], np.column_stack(y)[:40], SURVIVAL.plan("cox", views[:40]))
    said = SURVIVAL.predict(model, views[40:])
    assert said.probabilities.shape == (20, len(said.times))
    assert (np.diff(said.probabilities, axis=1) <= 0).all()
    found = SURVIVAL.scores(np.column_stack(y)[40:], said)
    flat = Predictions(said.values, np.full(said.probabilities.shape, 0.5), said.times)
    assert found["Brier score"] < SURVIVAL.scores(np.column_stack(y)[40:], flat)["Brier score"]
