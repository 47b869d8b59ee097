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
from helpers.digit_samples import half_seen_digits

BASE = AbsentClassifier(None, C=1.0)
TWO = {"zero": BASE, "fusion": LateFusion(BASE)}


def test_probabilities_are_the_mean_of_the_members_weighted_by_their_loss():
    views, y = half_seen_digits(120)
    fitted = AutoClassifier(TWO).fit(views[:80], y[:80] % 3)
    weights = fitted.weights_by_candidate_
    assert sum(weights.values()) == pytest.approx(1)
    wanted = sum(w * fitted.estimators_[name].predict_proba(views[80:]) for name, w in weights.items())
    np.testing.assert_allclose(fitted.predict_proba(views[80:]), wanted[:, fitted._class_order], atol=1e-12)
    table = fitted.candidates_
    losses = {name: row["loss"] for name, row in table.items()}
    ratio = np.exp(-40 * (losses["zero"] - losses["fusion"]))
    assert table["zero"]["weight"] / table["fusion"]["weight"] == pytest.approx(ratio)
    assert fitted.sentence_.startswith("the average of ")


def test_what_is_said_of_samples_left_out_is_the_mean_of_the_members():
    views, y = half_seen_digits()
    hidden = views.hide(np.tile(np.arange(len(y))[:, None] != 5, 6))  # one sample without any view
    with pytest.warns(AbsenceWarning, match="without any view"):
        fitted = AutoClassifier(TWO).fit(hidden, y % 3)
    assert np.isnan(fitted.loo_proba_[5]).all()
    rest = np.delete(np.arange(len(y)), 5)
    np.testing.assert_allclose(fitted.loo_proba_[rest].sum(axis=1), 1)
    own = -np.log(np.maximum(fitted.loo_proba_[rest, y[rest] % 3], 1e-4)).mean()
    assert own < max(row["loss"] for row in fitted.candidates_.values())


def test_who_is_clearly_worse_counts_next_to_nothing():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    curved = np.column_stack([np.cos(np.pi * y), np.sin(np.pi * y)]) * rng.choice([-1, 1], 120)[:, None]
    ring = np.where(y[:, None] == 1, 3.0, 1.0) * rng.normal(size=(120, 4))
    views = Views.from_dict({"curved": curved + 0.1 * rng.normal(size=(120, 2)), "ring": ring})
    linear = AbsentClassifier(None, kernel="linear")
    fitted = AutoClassifier({"curved": AbsentClassifier(None), "linear": linear}).fit(views, y)
    assert fitted.weights_by_candidate_["curved"] > 0.99
    assert fitted.sentence_.startswith("the average of curved (100 %)")


def test_members_that_do_not_tell_are_held_out_in_folds():
    views, y = half_seen_digits()
    fitted = AutoClassifier({"trees": EarlyFusionClassifier(n_trees=20), "zero": BASE}).fit(views, y % 3)
    seen = fitted.estimators_["trees"].predict_proba(views)[np.arange(len(y)), fitted._class_order[y % 3]]
    assert fitted.candidates_["trees"]["loss"] > -np.log(np.maximum(seen, 1e-4)).mean() + 0.1


def test_rare_classes_are_chosen_sooner_with_a_balanced_decision_and_probabilities_stay():
    views, y = half_seen_digits()
    rare = (y == 3).astype(int)
    probabilities = np.array([[0.6, 0.4], [0.2, 0.8], [0.95, 0.05]])
    proba, counts = [], []
    for decision, power, wanted in (("accuracy", 0, [0, 1, 0]), ("balanced", 1, [1, 1, 0])):
        fitted = AutoClassifier({"zero": BASE}, decision=decision).fit(views, rare)
        mean = np.nanmean(fitted.loo_proba_, axis=0)
        np.testing.assert_allclose(fitted.decision_, mean**-power, rtol=1e-8)
        assert (probabilities * fitted.decision_).argmax(axis=1).tolist() == wanted
        proba.append(fitted.predict_proba(views))
        counts.append(fitted.predict(views).sum())
        nothing = views.hide(np.zeros(views.observed.shape, bool))
        assert not fitted.predict(nothing).any()  # of equals, the more frequent class
    np.testing.assert_array_equal(proba[1], proba[0])
    assert counts == sorted(counts)


def test_a_callback_hears_of_every_member():
    views, y = half_seen_digits()
    seen = []
    AutoClassifier(TWO, callback=lambda progress: seen.append(progress)).fit(views, y % 3)
    assert [(progress.iteration, progress.max_iter) for progress in seen] == [(1, 2), (2, 2)]


def test_a_class_that_is_too_small_to_hold_some_out_is_named():
    views, y = half_seen_digits()
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
    views, _ = half_seen_digits()
    name = views.names[0]
    chooser = AutoClassifier(
        kernel=ViewKernels(log=True, approx="rff", per_view={name: {"standardize": False}})
    )
    chooser.candidates = ["cvkt-linear", "fusion"]
    library = chooser._library(views)
    linear, curved = library["cvkt-linear"].kernel, library["fusion"].kernel
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
    views, y = half_seen_digits(120)
    assert set(AutoClassifier()._library(views)) == {
        "linear",
        "cvkt-linear",
        "cvkt-rbf",
        "zero-rbf",
        "fusion-linear",
        "fusion-rbf",
    }
    kernels = ViewKernels().fit_transform(views)
    chooser = AutoClassifier(kernel="precomputed")
    assert set(chooser._library(kernels)) == {"completed", "fusion"}
    named = AutoClassifier(["fusion", "cvkt-linear"], kernel="cosine")._library(views)
    assert named["fusion"].kernel == "cosine"
    assert named["cvkt-linear"].kernel == "linear"
    with pytest.raises(ValueError, match="no method 'cvkt-swm'; did you mean cvkt-svm"):
        AutoClassifier(["cvkt-swm"]).fit(views, y % 3)
    with pytest.raises(ValueError, match="candidates must be 'auto', 'no-rows', names or a dict"):
        AutoClassifier("best").fit(views, y % 3)


def test_the_default_library_is_fitted_saved_and_read(tmp_path):
    views, y = half_seen_digits(120)
    fitted = AutoClassifier().fit(views[:80], y[:80] % 3)
    back = absentia.load(absentia.save(fitted, tmp_path / "c.absentia"))
    np.testing.assert_array_equal(back.predict_proba(views[80:]), fitted.predict_proba(views[80:]))
    assert fitted.score(views[80:], y[80:] % 3) > 0.7
