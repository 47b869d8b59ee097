"""Choosing among classifiers of different kinds."""

import numpy as np
import pandas as pd
import pytest

import absentia
from absentia import (
    AbsenceWarning,
    AbsentClassifier,
    AutoClassifier,
    EarlyFusionClassifier,
    LateFusion,
    ViewKernels,
    Views,
)
from absentia.methods.prediction import _auto as module
from absentia.methods.prediction._auto import _log_losses, _shrunken_weights, _true_class_proba, weigh
from absentia.testing._tools import digits

BASE = AbsentClassifier(None, C=1.0)
TWO = {"zero": BASE, "fusion": LateFusion(BASE)}


@pytest.mark.slow
def test_probabilities_are_the_weighted_mean_of_those_that_are_used():
    views, y = digits(120)
    fitted = AutoClassifier(TWO).fit(views[:80], y[:80] % 3)
    used = fitted.weights_by_candidate_
    assert sum(used.values()) == pytest.approx(1)
    wanted = sum(w * fitted.estimators_[name].predict_proba(views[80:]) for name, w in used.items())
    np.testing.assert_allclose(fitted.predict_proba(views[80:]), wanted[:, fitted._class_order], atol=1e-12)
    table = fitted.candidates_
    assert set(table) == {"zero", "fusion"}
    assert all(0 < one["accuracy"] <= 1 and one["loss"] > 0 for one in table.values())
    assert fitted.sentence_.startswith(("the average of zero, fusion", "zero alone", "fusion alone"))


@pytest.mark.slow
def test_who_is_clearly_worse_is_dropped_early():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    curved = np.column_stack([np.cos(np.pi * y), np.sin(np.pi * y)]) * rng.choice([-1, 1], 120)[:, None]
    ring = np.where(y[:, None] == 1, 3.0, 1.0) * rng.normal(size=(120, 4))
    views = Views.from_dict({"curved": curved + 0.1 * rng.normal(size=(120, 2)), "ring": ring})
    linear = AbsentClassifier(None, kernel="linear", C=1.0)
    fitted = AutoClassifier({"curved": AbsentClassifier(None), "linear": linear}).fit(views, y)
    assert fitted.candidates_["linear"]["dropped"] == 2
    assert fitted.weights_by_candidate_ == {"curved": 1.0}
    assert fitted.sentence_.startswith("curved alone")


def test_rare_classes_are_chosen_sooner_with_balance_and_probabilities_stay():
    views, y = digits()
    rare = (y == 3).astype(int)
    probabilities = np.array([[0.6, 0.4], [0.2, 0.8], [0.95, 0.05]])
    frequencies, proba, counts = np.array([1 - rare.mean(), rare.mean()]), [], []
    for balance, wanted in ((0.0, [0, 1, 0]), (0.5, [1, 1, 0]), (1.0, [1, 1, 0])):
        fitted = AutoClassifier({"zero": BASE}, balance=balance).fit(views, rare)
        np.testing.assert_allclose(fitted.decision_weights_, frequencies**-balance, rtol=1e-8)
        assert (probabilities * fitted.decision_weights_).argmax(axis=1).tolist() == wanted
        proba.append(fitted.predict_proba(views))
        counts.append(fitted.predict(views).sum())
        nothing = views.hide(np.zeros(views.observed.shape, bool))
        assert not fitted.predict(nothing).any()  # of equals, the more frequent class
    np.testing.assert_array_equal(proba[1], proba[0])
    np.testing.assert_array_equal(proba[2], proba[0])
    assert counts == sorted(counts)


def test_a_callback_hears_of_every_fit_and_can_stop():
    views, y = digits(120)
    seen = []
    AutoClassifier(TWO, callback=lambda progress: seen.append(progress)).fit(views, y % 3)
    assert [one.iteration for one in seen] == list(range(1, len(seen) + 1))
    assert len(seen) <= 10 == seen[0].max_iter


def test_who_is_stopped_finishes_the_fold_and_judges_by_what_was_held_out():
    views, y = digits(120)
    seen = []
    fitted = AutoClassifier(TWO, callback=lambda progress: seen.append(progress) or True).fit(views, y % 3)
    assert len(seen) == 2
    assert all(one["loss"] < 1 and one["dropped"] is None for one in fitted.candidates_.values())
    assert sum(fitted.weights_by_candidate_.values()) == pytest.approx(1)
    assert all(loss < 1 for loss in fitted.weighing_.losses.values())


def test_a_class_that_is_too_small_to_hold_some_out_is_named():
    views, y = digits()
    labels = np.where(np.cumsum(y == 3) * (y == 3) > 2, 4, np.minimum(y, 4))
    with pytest.raises(ValueError, match=r"class 3 has 2 sample\(s\) .* at least 3 of every class"):
        AutoClassifier(TWO).fit(views, labels)
    assert set(AutoClassifier({"zero": BASE}).fit(views, np.where(labels == 3, 4, labels)).classes_) == {
        0,
        1,
        2,
        4,
    }


def test_candidates_get_what_is_said_of_views():
    views, _ = digits()
    name = views.names[0]
    chooser = AutoClassifier(
        kernel=ViewKernels(log=True, approx="rff", per_view={name: {"standardize": False}})
    )
    library = chooser._library(views)
    linear, curved = library["cvkt-linear"].kernel, library["cvkt-svm"].kernel
    assert (linear.kernel, linear.log, linear.approx) == ("linear", True, "nystrom")
    assert (curved.kernel, curved.log, curved.approx) == ("rbf", True, "rff")
    assert linear.per_view == curved.per_view == {name: {"standardize": False}}
    assert chooser._library(views.select(views.names[1:]))["fusion"].kernel.per_view is None


def test_of_columns_candidates_speak_once_and_folds_not_at_all():
    rng, y = np.random.default_rng(0), np.arange(40) % 2
    stage = np.where(np.arange(40) == 7, "rare", np.where(rng.random(40) < 0.5, "I", "II"))
    frame = pd.DataFrame({"stage": stage, "x": y + rng.normal(size=40)})
    X = Views.from_dict({"who": frame})
    fitted = AutoClassifier({**TWO, "trees": EarlyFusionClassifier(n_trees=10)}).fit(
        X, y
    )  # warnings are errors
    fitted.weights_by_candidate_ = {"zero": 0.5, "trees": 0.5}
    fitted.estimators_ = {"zero": BASE.fit(X, y), "trees": EarlyFusionClassifier(n_trees=10).fit(X, y)}
    with pytest.warns(AbsenceWarning, match="levels that training did not have") as caught:
        fitted.predict(Views.from_dict({"who": frame.replace("II", "V")}))
    assert len(caught) == 1


def test_the_library_is_different_for_kernels_and_names_are_checked(tmp_path):
    views, y = digits(120)
    assert set(AutoClassifier()._library(views)) == {"cvkt-svm", "cvkt-linear", "fusion", "forest"}
    kernels = ViewKernels().fit_transform(views)
    chooser = AutoClassifier(kernel="precomputed")
    assert set(chooser._library(kernels)) == {"cvkt-svm", "cvkt-mkl", "fusion"}
    assert AutoClassifier(kernel="cosine")._library(views)["cvkt-svm"].kernel == "cosine"
    assert AutoClassifier(kernel="cosine")._library(views)["cvkt-linear"].kernel == "linear"
    with pytest.raises(ValueError, match="no method 'cvkt-swm'; did you mean cvkt-svm"):
        AutoClassifier(["cvkt-swm"]).fit(views, y % 3)
    with pytest.raises(ValueError, match="candidates must be 'auto', names or a dict"):
        AutoClassifier("best").fit(views, y % 3)


@pytest.mark.slow
def test_the_default_library_is_fitted_saved_and_read(tmp_path):
    views, y = digits(120)
    fitted = AutoClassifier().fit(views[:80], y[:80] % 3)
    back = absentia.load(absentia.save(fitted, tmp_path / "c.absentia"))
    np.testing.assert_array_equal(back.predict_proba(views[80:]), fitted.predict_proba(views[80:]))
    assert fitted.score(views[80:], y[80:] % 3) > 0.7


@pytest.mark.slow
def test_of_many_samples_quick_candidates_are_tried_on_some(monkeypatch, rng):
    monkeypatch.setattr(module, "MANY", 100)
    monkeypatch.setattr(module, "_MAX_SAMPLES", 60)
    X = rng.standard_normal((140, 3))
    views, y = Views.from_dict({"a": X[:, :2], "b": X[:, 2:]}), X[:, 0] > 0
    fitted = AutoClassifier().fit(views, y)
    assert set(fitted.candidates_) == set(module.LIBRARY["many"])
    assert set(AutoClassifier().fit(views[:100], y[:100]).candidates_) == set(module.LIBRARY["features"])
    whole = module._Selection({"one": None}, views, y.astype(int), np.ones(140), 2, None)
    seen = whole.on_subset()
    assert len(seen.y) == 60
    assert np.bincount(seen.y).tolist() == pytest.approx(np.bincount(y) * 60 / 140, abs=1)
    assert fitted.score(views, y) > 0.9


# ------------------------------------------------------------------------------ weights of candidates


def two_candidates(n=200, seed=0, noise=(0.5, 3.0)):
    """Labels, and what two candidates of different worth gave to the true class; candidates x samples."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    scores = [2.0 * (2 * y - 1) + spread * rng.normal(size=n) for spread in noise]
    probabilities = np.array([1 / (1 + np.exp(-s)) for s in scores])
    return y, np.stack([1 - probabilities, probabilities], axis=2)


def test_the_slopes_lead_to_the_optimum():
    y, probabilities = two_candidates(60)
    proba, weight = _true_class_proba(probabilities, y), np.ones(60)
    found = _shrunken_weights(proba, weight, penalty=1.0)

    def objective(w):
        off = np.log(w) - np.log(w).mean()
        return -np.log(w @ proba).sum() + 0.5 * off @ off

    grid = np.linspace(0.001, 0.999, 999)
    best = grid[np.argmin([objective(np.array([w, 1 - w])) for w in grid])]
    assert found.sum() == pytest.approx(1)
    assert found[0] == pytest.approx(best, abs=2e-3)


def test_a_strong_penalty_gives_equal_weights_and_none_the_better_candidate():
    y, probabilities = two_candidates()
    proba, weight = _true_class_proba(probabilities, y), np.ones(len(y))
    np.testing.assert_allclose(_shrunken_weights(proba, weight, 1e6), 0.5, atol=1e-3)
    assert _shrunken_weights(proba, weight, 0.01)[0] > 0.9
    np.testing.assert_array_equal(_shrunken_weights(proba[:1], weight), 1.0)


def test_the_mean_is_used_unless_something_is_clearly_better():
    y, probabilities = two_candidates(noise=(1.0, 1.0))
    alike = weigh(_true_class_proba(probabilities, y), y, np.ones(len(y)))
    assert alike.way == "mean"
    assert alike.as_good
    np.testing.assert_array_equal(alike.weights, 0.5)
    y, probabilities = two_candidates(noise=(0.3, 6.0))
    found = weigh(_true_class_proba(probabilities, y), y, np.ones(len(y)))
    assert found.way != "mean"
    assert not found.as_good
    assert found.weights[0] > 0.7
    assert found.losses[found.way] < found.losses["mean"]


def test_losses_are_bounded():
    probabilities = np.array([[[1.0, 0.0], [0.5, 0.5]]])
    np.testing.assert_allclose(_log_losses(probabilities, np.array([1, 0])), [[np.log(1e6), np.log(2)]])
