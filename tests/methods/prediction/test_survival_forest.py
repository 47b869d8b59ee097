"""Random survival forests: hazards of the leaves by hand, with trees grown by a stand-in or scikit-survival."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import absentia
from absentia import Views, testing
from absentia.methods.catalogue import find, list_entries
from absentia.methods.prediction import SurvivalForest
from absentia.tasks import SURVIVAL


def nelson_aalen(time, event, times):
    """The cumulative hazard at each of the times, event by event."""
    dead = [(sum(event & (time == s)), sum(time >= s)) for s in times]
    return np.cumsum([d / max(n, 1) for d, n in dead])


class StandIn:
    """Grows trees as scikit-survival hands them over: two numbers for each node and time, hazards first."""

    def __init__(self, n_estimators, random_state):
        self.n_estimators, self.random_state = n_estimators, random_state

    def fit(self, X, y):
        self.unique_times_, self.n_features_in_ = np.unique(y["time"]), X.shape[1]
        self.estimators_ = []
        for k in range(self.n_estimators):
            tree = DecisionTreeRegressor(max_depth=2, max_features=1, random_state=k).fit(X, y["time"])
            inside = tree.decision_path(X).toarray().astype(bool)
            hazards = [nelson_aalen(y["time"][i], y["event"][i], self.unique_times_) for i in inside.T]
            parts = ("feature", "threshold", "children_left", "children_right", "missing_go_to_left")
            own = {name: getattr(tree.tree_, name) for name in parts}
            value = np.stack([np.array(hazards), np.exp(-np.array(hazards))], axis=2)
            self.estimators_.append(SimpleNamespace(tree_=SimpleNamespace(**own, value=value), grown=tree))
        StandIn.last = self
        return self


def samples(n=60):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    views = Views.from_dict({"a": x, "b": rng.normal(size=(n, 2))})
    keep = np.arange(n)[:, None] % 5 != [0, 1]
    y = np.column_stack([rng.exponential(np.exp(-2 * x[:, 0])).round(1), rng.random(n) < 0.7])
    return views.hide(keep), y


@pytest.fixture
def stand_in(monkeypatch):
    module = ModuleType("sksurv.ensemble")
    module.RandomSurvivalForest = StandIn
    monkeypatch.setitem(sys.modules, "sksurv", ModuleType("sksurv"))
    monkeypatch.setitem(sys.modules, "sksurv.ensemble", module)


def test_hazards_are_means_over_the_leaves(stand_in, tmp_path):
    views, y = samples()
    fitted = SurvivalForest(n_trees=4).fit(views, y)
    rows = np.full((60, 5), np.nan)
    rows[views.observed[:, 0], :3], rows[views.observed[:, 1], 3:] = views.block("a"), views.block("b")
    forest, times = StandIn.last, np.unique(y[y[:, 1] == 1, 0])
    there = np.isin(forest.unique_times_, times)
    leaves = [(one.tree_.value, one.grown.apply(rows[:, order(fitted)])) for one in forest.estimators_]
    hazards = np.mean([value[leaf][:, there, 0] for value, leaf in leaves], axis=0)
    np.testing.assert_array_equal(fitted.event_times_, times)
    np.testing.assert_allclose(fitted.predict_survival_function(views), np.exp(-hazards), rtol=1e-12)
    mortality = np.log(hazards.sum(axis=1))
    np.testing.assert_allclose(fitted.predict(views), mortality - mortality.mean(), atol=1e-12)
    before = fitted.predict_survival_function(views, [times[0] - 1, times[3]])
    np.testing.assert_allclose(before, np.exp(-np.c_[np.zeros(60), hazards[:, 3]]), rtol=1e-12)
    nothing = views[:1].hide(np.zeros((1, 2), bool))
    np.testing.assert_allclose(fitted.predict_survival_function(nothing)[0], np.exp(-hazards.mean(axis=0)))
    sys.modules.pop("sksurv.ensemble")
    again = absentia.load(absentia.save(fitted, tmp_path / "m.absentia"))  # predicts without
    np.testing.assert_array_equal(again.predict(views), fitted.predict(views))


def order(fitted):
    """Columns of the table as the forest has them: views in their own order."""
    return np.r_[0:3, 3:5] if fitted._views == ("a", "b") else np.r_[3:5, 0:3]


def test_without_scikit_survival_it_is_not_offered_and_says_why(monkeypatch):
    monkeypatch.setitem(sys.modules, "sksurv.ensemble", None)
    with pytest.raises(ImportError, match="survival-forest wants scikit-survival: pip install"):
        SurvivalForest().fit(*samples())
    if "survival-forest" not in list_entries("survival"):
        assert "survival-forest" not in SURVIVAL.compared_methods()
        with pytest.raises(ValueError, match="method 'survival-forest' wants scikit-survival: pip install"):
            find("survival-forest", "survival")


def test_it_is_a_survival_model_as_others():
    pytest.importorskip("sksurv")
    assert "survival-forest" in SURVIVAL.compared_methods(baselines=True)
    proportional = "survival_falls_with_time_and_with_risk"
    testing.check_survival(SurvivalForest(n_trees=20), without=[proportional])
