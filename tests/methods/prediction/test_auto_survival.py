"""Averaging survival models of different kinds."""

import numpy as np
import pytest

import absentia
from absentia import AbsentSurvival, AutoSurvival, EarlyFusionSurvival, ViewKernels, Views, survival
from absentia.data.survival import Survival
from absentia.methods.prediction import LIBRARY
from absentia.methods.prediction._cox import PartialLikelihood
from absentia.methods.prediction._survival import to_log_hazards

TWO = {"zero": AbsentSurvival(None), "features": EarlyFusionSurvival()}


def patients(n=100, seed=0):
    """Two views that tell when something happens, a third of noise; a quarter of the cells absent."""
    rng = np.random.default_rng(seed)
    state = rng.normal(size=(n, 2))
    tables = {
        "a": np.column_stack([state[:, 0], rng.normal(size=n) / 2]),
        "b": state @ rng.normal(size=(2, 4)) + rng.normal(size=(n, 4)) / 4,
        "noise": rng.normal(size=(n, 3)),
    }
    observed = rng.random((n, 3)) < 0.75
    observed[~observed.any(axis=1), 0] = True
    time, until = rng.exponential(np.exp(-1.5 * state[:, 0])), rng.exponential(2.0, size=n)
    return Views.from_dict(tables, observed=observed), Survival(np.minimum(time, until), time <= until)


def test_risks_are_log_hazards_of_the_members_averaged_by_their_partial_likelihood():
    X, y = patients()
    model = AutoSurvival(TWO).fit(X, y.to_array())
    alone = {name: member.fit(X, y.to_array()) for name, member in TWO.items()}
    slopes = {name: to_log_hazards(member.held_out_risks_, y)[0] for name, member in alone.items()}
    hazards = {name: slopes[name] * alone[name].held_out_risks_ for name in TWO}
    losses = {name: PartialLikelihood.of(y).loss(risk) / y.event.sum() for name, risk in hazards.items()}
    weights = model.weights_by_candidate_
    ratio = np.exp(-20 * (losses["zero"] - losses["features"]))
    assert weights["zero"] / weights["features"] == pytest.approx(ratio, rel=1e-4)
    together = sum(weights[name] * hazards[name] for name in TWO)
    slope = to_log_hazards(together, y)[0]
    np.testing.assert_allclose(model.held_out_risks_, slope * together, atol=1e-5)
    said = sum(slope * weights[name] * slopes[name] * alone[name].predict(X) for name in TWO)
    np.testing.assert_allclose(model.predict(X), said, atol=1e-5)
    for name, row in model.candidates_.items():
        wanted = survival.concordance_index(y.time, y.event, alone[name].held_out_risks_)
        assert row["concordance"] == pytest.approx(wanted, abs=1e-9)


def test_slopes_bring_risks_to_the_scale_of_log_hazards():
    X, y = patients(300)
    risk = X.padded("a", np.arange(300))[:, 0]
    known = ~np.isnan(risk)
    y = Survival(y.time[known], y.event[known])
    slope, times, hazard = to_log_hazards(0.1 * risk[known], y)
    assert 0 < slope < 15  # a penalty of one holds it back where risks are small
    assert abs(to_log_hazards(10 * risk[known], y)[0] - 0.15) < 0.04
    assert (np.diff(hazard) > 0).all()
    assert len(times) == len(hazard)
    assert to_log_hazards(-risk[known], y)[0] == 0


class Tenfold(EarlyFusionSurvival):
    """Risks ten times too large."""

    def _learn(self, X, y, weight):
        super()._learn(X, y, weight)
        self.held_out_risks_ = 10 * self.held_out_risks_

    def _predict(self, X):
        return 10 * super()._predict(X)


def test_the_scale_of_a_member_s_risks_does_not_matter():
    X, y = patients(200)
    model = AutoSurvival({"features": EarlyFusionSurvival(), "tenfold": Tenfold()}).fit(X, y.to_array())
    assert model._factors["tenfold"] == pytest.approx(model._factors["features"] / 10, rel=0.1)


def test_members_that_do_not_tell_are_held_out_in_folds():
    from helpers.smallest_classifiers import NearestTimes

    X, y = patients()
    K = ViewKernels().fit_transform(X)
    model = AutoSurvival({"nearest": NearestTimes()}, kernel="precomputed").fit(K, y.to_array())
    seen = NearestTimes().fit(K, y.to_array()).score(K, y.to_array())
    assert 0.5 < model.candidates_["nearest"]["concordance"] < seen
    assert model.sentence_ == "nearest alone"


def test_the_default_members_are_fitted_saved_and_read(tmp_path):
    X, y = patients()
    target = y.to_array()
    model = AutoSurvival().fit(X[:70], target[:70])
    assert tuple(model.candidates_) == LIBRARY["survival"]["features"]
    assert model.score(X[70:], target[70:]) > 0.65
    back = absentia.load(absentia.save(model, tmp_path / "m.absentia"))
    np.testing.assert_array_equal(back.predict(X[70:]), model.predict(X[70:]))
    curves = model.predict_survival_function(X[70:], [0.0, 0.3, 1.0])
    np.testing.assert_array_equal(back.predict_survival_function(X[70:], [0.0, 0.3, 1.0]), curves)
    np.testing.assert_array_equal(curves[:, 0], 1.0)
    assert (np.diff(curves, axis=1) < 0).all()
    none = X[:2].hide(np.zeros((2, 3), dtype=bool))
    np.testing.assert_array_equal(model.predict(none), 0.0)


def test_kernels_have_members_of_their_own_and_one_event_is_enough():
    X, y = patients()
    K = ViewKernels().fit_transform(X)
    model = AutoSurvival(kernel="precomputed").fit(K, y.to_array())
    assert tuple(model.candidates_) == LIBRARY["survival"]["kernels"]
    target = y.to_array()
    target["event"] = np.arange(len(target)) == target["time"].argmin()
    with pytest.warns(UserWarning, match="no view tells more than chance"):
        one = AutoSurvival().fit(X, target)
    assert np.isfinite(one.predict(X)).all()
