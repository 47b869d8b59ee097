"""Survival from incomplete views."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import absentia
from absentia import (
    AbsentSurvival,
    CombineKernels,
    EarlyFusionSurvival,
    KernelViews,
    ViewKernels,
    Views,
    survival,
)
from absentia.data.survival import Survival
from absentia.methods.catalogue import find, list_entries
from absentia.methods.prediction._cox import fit_cox
from absentia.methods.prediction._survival import Fused, _fuse_risks

BOTH = pytest.mark.parametrize("combine", ["average", "fusion"])


def patients(n=90, seed=0):
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
    time = rng.exponential(np.exp(-1.5 * state[:, 0]))
    until = rng.exponential(2.0, size=n)
    y = Survival(np.minimum(time, until), time <= until)
    ids = [f"p{i}" for i in range(n)]
    return Views.from_dict(tables, ids=ids, observed=observed), y.to_array()


@BOTH
def test_new_samples_are_ordered_by_risk(combine):
    X, y = patients()
    model = AbsentSurvival(combine=combine).fit(X[:60], y[:60])
    assert model.score(X[60:], y[60:]) > 0.65
    risk = model.predict(X[60:])
    assert model.score(X[60:], y[60:]) == survival.concordance_index(y["time"][60:], y["event"][60:], risk)


def test_the_average_is_a_cox_model_on_completed_kernels():
    X, y = patients()
    makes, completes, combines = ViewKernels(), absentia.CVKT(), CombineKernels()
    K = combines.fit_transform(completes.fit_transform(makes.fit_transform(X[:60])))
    rows = combines.transform(completes.transform(makes.transform(X[60:])))
    wanted = fit_cox(np.asarray(K), Survival(y["time"][:60], y["event"][:60]), 2.0)
    model = AbsentSurvival(absentia.CVKT(), alpha=2.0).fit(X[:60], y[:60])
    np.testing.assert_allclose(model.predict(X[60:]), wanted.risk(np.asarray(rows)), atol=1e-6)
    np.testing.assert_allclose(
        model.predict_survival_function(X[60:], [0.3])[:, 0],
        np.exp(-np.exp(model.predict(X[60:])) * wanted.hazard[np.searchsorted(wanted.times, 0.3) - 1]),
        rtol=1e-5,
    )


def test_fusion_is_the_weighted_mean_over_the_views_that_a_sample_has():
    risks = np.array([[2.0, 30.0], [4.0, 0.0], [0.0, 0.0]])
    observed = np.array([[True, True], [True, False], [False, False]])
    found = _fuse_risks(risks, observed, np.array([0.3, 0.1]), np.array([2.0, 10.0]))
    np.testing.assert_allclose(found, [(0.3 * 1 + 0.1 * 3) / 0.4, 2.0, 0.0])
    X, y = patients()
    model = AbsentSurvival(combine="fusion", alpha=3.0).fit(X, y)
    only = model._model
    assert isinstance(only, Fused)
    assert model.weights_["a"] > model.weights_["noise"]
    assert model.weights_["a"] == pytest.approx(model.concordances_["a"] - 0.5)
    has = X.observed[:, 0]
    K = ViewKernels().fit_transform(X).block("a")
    own = fit_cox(np.asarray(K), Survival(y["time"][has], y["event"][has]), 3.0)
    hidden = X.hide(X.observed & np.array([True, False, False]))
    place = model._kernels.view_kernels_.names_in_.index("a")
    assert list(model.weights_) == ["a", "b", "noise"]
    expected = model._model.slope * own.risk(K) / only.spreads[place]
    np.testing.assert_allclose(model.predict(hidden)[has], expected, atol=1e-6)


@BOTH
def test_without_a_view_the_risk_is_the_mean_and_curves_fall_from_one(combine):
    X, y = patients()
    model = AbsentSurvival(combine=combine, alpha=5.0).fit(X, y)
    none = X[:3].hide(np.zeros((3, 3), dtype=bool))
    np.testing.assert_array_equal(model.predict(none), 0.0)
    assert model.unusable(none).all()
    assert not model.unusable(X)[X.observed[:, :2].any(axis=1)].any()  # noise may have no say
    curves = model.predict_survival_function(X)
    assert curves.shape == (len(X), len(model.event_times_))
    assert (np.diff(curves, axis=1) <= 0).all()
    assert (curves <= 1).all()
    assert (curves > 0).all()
    np.testing.assert_array_equal(model.predict_survival_function(X, [0.0, -1.0]), 1.0)
    worst = model.predict(X).argmax()
    assert (curves[worst] <= curves.min(axis=0) + 1e-12).all()
    if combine == "average":
        assert abs(model.predict(X).mean()) < 0.01  # training samples, completed anew


@pytest.mark.slow_params("fusion")
@BOTH
def test_the_order_of_samples_and_views_changes_nothing(combine):
    X, y = patients()
    model = AbsentSurvival(combine=combine).fit(X, y)
    order = np.random.default_rng(1).permutation(len(X))
    other = AbsentSurvival(combine=combine).fit(X.select(["noise", "b", "a"])[order], y[order])
    np.testing.assert_allclose(other.predict(X), model.predict(X), atol=1e-6)


@BOTH
def test_kernels_are_learned_from_as_the_views_that_they_are_of(combine):
    X, y = patients()
    makes = ViewKernels()
    K, rows = makes.fit_transform(X[:60]), makes.transform(X[60:])
    of_views = AbsentSurvival(combine=combine, alpha=3.0).fit(X[:60], y[:60]).predict(X[60:])
    model = AbsentSurvival(combine=combine, alpha=3.0, kernel="precomputed").fit(K, y[:60])
    if combine == "average":
        np.testing.assert_allclose(model.predict(rows), of_views, atol=1e-6)
    else:  # kernels have another order of their own than features, and so other folds and weights
        assert np.corrcoef(model.predict(rows), of_views)[0, 1] > 0.95
    assert isinstance(K, KernelViews)
    assert clone(model).__sklearn_tags__().input_tags.pairwise
    assert not AbsentSurvival().__sklearn_tags__().input_tags.pairwise


def test_scikit_learn_s_cross_validation_works():
    X, y = patients()
    scores = cross_val_score(AbsentSurvival(alpha=5.0), X, y, cv=3)
    assert scores.mean() > 0.6
    kernels = ViewKernels().fit_transform(X)
    same = cross_val_score(AbsentSurvival(alpha=5.0, kernel="precomputed"), kernels, y, cv=3)
    np.testing.assert_allclose(same, scores, atol=0.1)  # widths were learned on all samples there
    frame = pd.DataFrame({"event": y["event"], "time": y["time"]}, index=X.ids)
    np.testing.assert_array_equal(cross_val_score(AbsentSurvival(alpha=5.0), X, frame, cv=3), scores)


@BOTH
def test_a_saved_model_says_the_same(combine, tmp_path):
    X, y = patients()
    model = AbsentSurvival(combine=combine).fit(X[:60], y[:60])
    back = absentia.load(absentia.save(model, tmp_path / "m.absentia"))
    np.testing.assert_array_equal(back.predict(X[60:]), model.predict(X[60:]))
    np.testing.assert_array_equal(
        back.predict_survival_function(X[60:]), model.predict_survival_function(X[60:])
    )
    np.testing.assert_array_equal(
        AbsentSurvival.from_state(model.state()).predict(X[60:]), model.predict(X[60:])
    )


def test_targets_by_id_samples_without_views_and_without_events():
    X, y = patients()
    frame = pd.DataFrame({"time": y["time"], "event": y["event"]}, index=X.ids)
    with pytest.raises(ValueError, match="order"):
        AbsentSurvival().fit(X, frame.iloc[::-1])
    hidden = X.hide(X.observed & (np.arange(len(X)) > 4)[:, None])
    with pytest.warns(absentia.AbsenceWarning, match="5 sample.s. without any view"):
        some = AbsentSurvival(alpha=5.0).fit(hidden, y)
    np.testing.assert_allclose(
        some.predict(X), AbsentSurvival(alpha=5.0).fit(X[5:], y[5:]).predict(X), atol=1e-6
    )
    late = y.copy()
    late["event"][5:] = False
    with (
        pytest.warns(absentia.AbsenceWarning),
        pytest.raises(ValueError, match="no sample with a view has an event"),
    ):
        AbsentSurvival().fit(hidden, late)
    with pytest.raises(ValueError, match="finite"):
        some.predict_survival_function(X, [np.nan])


def test_categories_weigh_as_they_do_in_kernels():
    X, y = patients(50)
    rng = np.random.default_rng(3)
    sexes = pd.DataFrame({"sex": np.where(rng.random(50) < 0.5, "f", "m"), "age": rng.normal(size=50)})
    mixed = Views.from_dict({"a": X.to_frame("a"), "who": sexes.set_index(X.ids)})
    model = AbsentSurvival(None, alpha=5.0).fit(mixed, y)
    K = np.asarray(CombineKernels().fit_transform(ViewKernels().fit_transform(mixed)))
    wanted = fit_cox(K, Survival(y["time"], y["event"]), 5.0).risk(K)
    np.testing.assert_allclose(model.predict(mixed), wanted, atol=1e-6)


def test_where_no_view_tells_anything_fusion_says_so():
    y = np.column_stack([np.arange(1, 21), np.ones(20)])
    K = KernelViews.from_dense(np.eye(20)[None])
    with pytest.warns(UserWarning, match="no view tells more than chance"):
        model = AbsentSurvival(combine="fusion", kernel="precomputed").fit(K, y)
    np.testing.assert_array_equal(model.predict(K), 0.0)


def test_one_event_is_enough_and_the_catalogue_has_them():
    X, y = patients(30)
    y["event"] = np.arange(30) == y["time"].argmin()
    assert np.isfinite(AbsentSurvival().fit(X, y).predict(X)).all()
    assert np.isfinite(EarlyFusionSurvival().fit(X, y).predict(X)).all()
    assert list(list_entries("survival")) == ["linear-cox", "factors-cox", "cox", "cox-fusion", "auto"]
    cox = find("cox", "survival")
    made = cox.make(**cox.read({"--alpha": "3", "--completer": "none", "--ties": "efron"}))
    assert (made.alpha, made.completer, made.ties) == (3.0, None, "efron")
    assert find("cox-fusion", "survival").make().combine == "fusion"


@BOTH
def test_views_that_all_new_samples_lack_may_be_left_out_and_strangers_are_ignored(combine):
    X, y = patients()
    model = AbsentSurvival(combine=combine, alpha=3.0).fit(X, y)
    hidden = X.hide(X.observed & np.array([True, False, True]))
    np.testing.assert_array_equal(model.predict(X.select(["noise", "a"])), model.predict(hidden))
    more = Views.from_dict({"a": X.to_frame("a"), "else": X.to_frame("b")})
    with pytest.warns(absentia.AbsenceWarning, match="'else'.* ignored"):
        found = model.predict(more)
    only = X.hide(X.observed & np.array([True, False, False]))
    some = dict(zip(more.ids, found, strict=True))
    wanted = [some.get(i, 0.0) if has else 0.0 for i, has in zip(X.ids, X.observed[:, 0], strict=True)]
    np.testing.assert_allclose(model.predict(only), wanted, atol=1e-9)
    with pytest.raises(ValueError, match=r"\['else'\] came"):
        model.predict(more.select(["else"]))
    with pytest.raises((TypeError, ValueError), match="Views"):
        model.predict(np.eye(3))
    with pytest.raises(ValueError, match="per_view names 'else', but the views are"):
        AbsentSurvival(kernel=ViewKernels(per_view={"else": "linear"})).fit(X, y)


def examined(n=120, seed=0):
    """Patients whose features tell nothing; who has the second view is about to have an event."""
    rng = np.random.default_rng(seed)
    X = Views.from_list([rng.normal(size=(n, 3)), rng.normal(size=(n, 3))])
    has = rng.random(n) < 0.5
    time = rng.exponential(np.where(has, 0.2, 2.0))
    return X.hide(np.column_stack([np.ones(n, bool), has])), np.column_stack([time, np.ones(n)])


@BOTH
def test_who_has_which_view_counts_where_it_is_asked_for(combine):
    X, y = examined()
    knows = AbsentSurvival(combine=combine, presence=True).fit(X[:80], y[:80])
    assert knows.score(X[80:], y[80:]) > 0.65
    blind = AbsentSurvival(combine=combine, alpha=5.0).fit(X[:80], y[:80])
    assert blind.score(X[80:], y[80:]) < knows.score(X[80:], y[80:])
    if combine == "fusion":
        assert list(knows.weights_) == ["view0", "view1", "presence"]
        assert knows.weights_["presence"] == max(knows.weights_.values())
        assert not knows.unusable(X).any()


@BOTH
def test_where_nobody_lacks_anything_presence_changes_nothing(combine):
    X, y = patients(50)
    full = Views.from_dict({name: np.nan_to_num(X.padded(name, np.arange(50))) for name in X.names})
    one = AbsentSurvival(combine=combine, alpha=5.0, presence=True).fit(full, y)
    other = AbsentSurvival(combine=combine, alpha=5.0).fit(full, y)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_survival_curves_are_those_of_the_hazard_and_the_risk():
    X, y = patients(50)
    model = AbsentSurvival(alpha=5.0).fit(X, y)
    risk, times, hazard = model.predict(X), model.event_times_, model._model.cox.hazard
    curves = model.predict_survival_function(X, [0.0, times[0], times[-1] + 1])
    np.testing.assert_array_equal(curves[:, 0], 1.0)
    np.testing.assert_allclose(curves[:, 1], np.exp(-hazard[0] * np.exp(risk)))
    np.testing.assert_allclose(curves[:, 2], np.exp(-hazard[-1] * np.exp(risk)))


@pytest.mark.parametrize(
    "model", [AbsentSurvival(), AbsentSurvival(combine="fusion"), EarlyFusionSurvival()]
)
def test_risks_out_of_fold_are_there_and_know_less_than_those_of_training(model):
    X, y = patients()
    hidden = X.hide(X.observed & (np.arange(len(X)) != 7)[:, None])
    with pytest.warns(absentia.AbsenceWarning):
        model.fit(hidden, y)
    assert np.flatnonzero(np.isnan(model.held_out_risks_)).tolist() == [7]
    rest = np.delete(np.arange(len(X)), 7)
    out = survival.concordance_index(y["time"][rest], y["event"][rest], model.held_out_risks_[rest])
    assert 0.6 < out < model.score(hidden, y)


def test_features_side_by_side_are_a_cox_model_of_standardised_ones_with_absent_ones_the_mean():
    X, y = patients()
    model = EarlyFusionSurvival(alpha=2.0).fit(X, y)
    table = np.hstack([X.padded(name, np.arange(len(X))) for name in X.names])
    Z = np.nan_to_num((table - np.nanmean(table, axis=0)) / np.nanstd(table, axis=0))
    Z = np.clip(Z, -3, 3)
    Z /= np.sqrt((Z**2).sum(axis=1).mean())
    wanted = fit_cox(Z @ Z.T, Survival(y["time"], y["event"]), 2.0)
    np.testing.assert_allclose(model.predict(X), wanted.risk(Z @ Z.T), atol=1e-6)
    assert (model.event_times_ == wanted.times).all()
    importance = model.feature_importance()
    assert importance.loc[importance["importance"].idxmax(), "view"] in ("a", "b")
    assert len(importance) == table.shape[1]
