"""Stacking of views."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

import absentia
from absentia import AbsentClassifier, Views, ViewStacking
from absentia.methods.prediction._late_fusion import LogOddsImputer, StackingModel
from helpers.digit_samples import half_seen_digits

BASE = AbsentClassifier(None, C=1.0)


def test_the_second_model_is_at_the_least_of_its_objective():
    rng = np.random.default_rng(0)
    L, y = rng.normal(size=(3, 50, 3)), rng.integers(0, 3, 50)
    L[0, np.arange(50), y] += 1.0
    L[2, np.arange(50), y] -= 1.0
    weight = rng.uniform(0.5, 2, 50)

    def objective(parameters):
        w, b = parameters[:3], parameters[3:]
        probabilities = softmax(b + np.tensordot(w, L, 1), axis=1)[np.arange(50), y]
        value = -np.average(np.log(probabilities), weights=weight)
        return value + 0.05 * ((w - 1 / 3) ** 2).sum() + 0.01 / 2 * b @ b

    free = StackingModel.fit(L, y, weight, 0.1, nonnegative=False)
    assert free.weights[2] < 0 < free.weights[0]
    slope = approx_fprime(np.r_[free.weights, free.offsets], objective, 1e-7)
    np.testing.assert_allclose(slope, 0, atol=1e-5)
    bound = StackingModel.fit(L, y, weight, 0.1, nonnegative=True)
    assert bound.weights[2] == 0


def test_absent_log_odds_are_expected_from_the_others():
    rng = np.random.default_rng(0)
    first = rng.normal(size=(40, 2))
    L = np.stack([first, 0.5 * first])
    has = np.ones((2, 40), bool)
    has[1, 30:] = False
    L[1, 30:] = 0
    filled = LogOddsImputer.learn(L, has).fill(L, has)
    np.testing.assert_allclose(filled[1, 30:], 0.5 * first[30:], rtol=0.05)
    np.testing.assert_array_equal(filled[:, :30], L[:, :30])


def test_a_view_of_noise_gets_less_weight():
    rng = np.random.default_rng(1)
    y = np.arange(120) % 2
    good, noise = y[:, None] + 0.6 * rng.normal(size=(120, 3)), rng.normal(size=(120, 3))
    fitted = ViewStacking(BASE, penalty=0.01).fit(Views.from_dict({"good": good, "noise": noise}), y)
    assert fitted.weights_[0] > 3 * fitted.weights_[1]


@pytest.mark.slow
@pytest.mark.parametrize("absent", ["zero", "impute"])
def test_contributions_and_offsets_are_the_log_odds(absent):
    views, y = half_seen_digits(120)
    fitted = ViewStacking(BASE, absent=absent).fit(views, y % 3)
    odds = fitted.contributions(views).sum(axis=1) + fitted._final.offsets[fitted._class_order]
    np.testing.assert_allclose(softmax(odds, axis=1), fitted.predict_proba(views), atol=1e-12)


@pytest.mark.slow
def test_a_final_estimator_may_be_given(tmp_path):
    views, y = half_seen_digits(120)
    fitted = ViewStacking(BASE, final=LogisticRegression()).fit(views, y % 3)
    assert fitted.score(views, y % 3) > 0.7
    back = absentia.load(absentia.save(fitted, tmp_path / "s.absentia"))
    np.testing.assert_array_equal(back.predict_proba(views), fitted.predict_proba(views))
    with pytest.raises(ValueError, match="only the default second model"):
        fitted.contributions(views)
