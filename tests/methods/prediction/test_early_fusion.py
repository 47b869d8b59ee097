"""One model on joined features.  The checks of classifiers are run with all others
(tests/helpers/registry.py)."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor

import absentia
from absentia import EarlyFusionClassifier, EarlyFusionRegressor, Views, datasets, missingness
from absentia.methods.prediction._early_fusion import _count_bins, _order_of_appearance

CLASSIFIERS = {
    "forest": EarlyFusionClassifier(n_trees=10),
    "boosting": EarlyFusionClassifier("boosting", n_trees=5),
    "logistic": EarlyFusionClassifier("logistic"),
    "complete": EarlyFusionClassifier("logistic", complete_cases=True),
}
REGRESSORS = {
    "forest": EarlyFusionRegressor(n_trees=10),
    "boosting": EarlyFusionRegressor("boosting", n_trees=5),
    "ridge": EarlyFusionRegressor("ridge"),
}


def digits(n=90):
    views, y = datasets.load_digit_views(n_samples=n, return_X_y=True)
    keep = missingness.mcar(views, 0.3, random_state=0)
    keep[: n // 3] = True
    return views.hide(keep), y


@pytest.fixture(scope="module")
def data():
    return digits()


def frames():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    stage = np.where(y == 1, "late", "early")
    stage[::5] = "late"
    clinical = pd.DataFrame({"age": rng.normal(60, 9, 60), "stage": stage})
    genes = pd.DataFrame(rng.normal(size=(60, 3)), columns=["BRCA1", "TP53", "MYC"])
    genes["TP53"] += 2 * y
    genes.iloc[40:] = np.nan
    return Views.from_dict({"genes": genes, "clinical": clinical}), y


# -------------------------------------------------------------------------------------- what is learned


def test_the_model_is_that_of_scikit_learn_on_nan(data):
    views, y = data
    fitted = EarlyFusionClassifier("boosting", n_trees=7).fit(views, y % 3)
    arranged = views.select(fitted._views)
    table = absentia.data.concatenate_features(arranged)
    other = HistGradientBoostingClassifier(max_iter=7, early_stopping=False, min_samples_leaf=11)
    # sums of gradients in another order of samples differ in their last digits
    np.testing.assert_allclose(
        fitted.predict_proba(views), other.fit(table, y % 3).predict_proba(table), atol=1e-3
    )


def test_a_forest_of_targets_is_as_good_as_that_of_scikit_learn_on_means():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6))
    y = X[:, 0] + X[:, 3] + X[:, 0] * X[:, 3]
    views = Views.from_dict({"a": X[:, :3], "b": X[:, 3:]})
    views = views.hide(missingness.mcar(views, 0.2, random_state=0))
    table = absentia.data.concatenate_features(views)
    train, test = np.arange(0, 200, 2), np.arange(1, 200, 2)
    ours = EarlyFusionRegressor(n_trees=100).fit(views[train], y[train]).score(views[test], y[test])
    table = np.where(np.isnan(table), np.nanmean(table[train], axis=0), table)
    other = RandomForestRegressor(100, max_features=1 / 3, random_state=0).fit(table[train], y[train])
    assert ours > 0.3
    assert abs(ours - other.score(table[test], y[test])) < 0.05


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_probabilities_are_the_models_own_and_go_with_scores(data, name):
    views, y = data
    fitted = CLASSIFIERS[name].fit(views, y % 3)
    probabilities = fitted.predict_proba(views)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(fitted.decision_function(views), 2 * probabilities - 1, atol=1e-12)
    assert fitted.score(views, y % 3) > 0.8


def test_complete_cases_are_all_that_is_learned_from(data):
    views, y = data
    complete = np.flatnonzero(views.observed.all(axis=1))
    assert 30 <= len(complete) < 60
    fitted = EarlyFusionClassifier("logistic", complete_cases=True, C=0.01).fit(views, y < 5)
    only = EarlyFusionClassifier("logistic", C=0.01).fit(views[complete], y[complete] < 5)
    np.testing.assert_allclose(fitted.decision_function(views), only.decision_function(views), atol=1e-6)
    assert not fitted.unusable(views).any()


def test_too_few_complete_cases_are_said_with_what_to_do(data):
    views, y = data
    keep = np.ones(views.observed.shape, bool)
    keep[y == 3, 2] = False
    rest = rf"have all 6 views, none of the class\(es\) \[3\]; .* the view {views.names[2]!r}"
    with pytest.raises(ValueError, match=rest):
        EarlyFusionClassifier(complete_cases=True).fit(views.hide(keep), y)
    keep[:, 2] = np.arange(90) == 0
    with pytest.raises(ValueError, match="1 of 90 samples have all 6 views, two or more are wanted"):
        EarlyFusionRegressor("ridge", complete_cases=True).fit(views.hide(keep), y)


def test_classes_are_learned_in_the_order_of_the_data():
    np.testing.assert_array_equal(_order_of_appearance(np.array([2, 0, 2, 1]), 3), [1, 2, 0])


@pytest.mark.parametrize("name", ["forest", "boosting"])
def test_features_that_nobody_has_and_huge_ones_are_no_obstacle(name):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(40, 3))
    y = table[:, 0] > 0
    table[:, 1] = np.nan
    table[3, 2] = 1e60
    fitted = CLASSIFIERS[name].fit(Views.from_dict({"a": table}), y)
    assert fitted.score(Views.from_dict({"a": table}), y) > 0.8


# -------------------------------------------------------------------------------------------- regression


@pytest.mark.parametrize("name", REGRESSORS)
def test_targets_do_not_hang_on_the_order_and_come_back_from_a_file(data, name, tmp_path):
    views, y = data
    turn = np.random.default_rng(0).permutation(len(y))
    model = REGRESSORS[name].fit(views, y)
    found = model.predict(views)
    turned = views[turn].select(views.names[::-1])
    other = REGRESSORS[name].fit(turned, y[turn]).predict(turned)
    np.testing.assert_allclose(other, found[turn], atol=1e-9)
    again = absentia.load(absentia.save(model.fit(views, y), tmp_path / "m.absentia"))
    np.testing.assert_array_equal(again.predict(views), model.predict(views))
    assert model.score(views, y) > 0.4
    nothing = views.hide(np.zeros(views.observed.shape, bool))
    np.testing.assert_allclose(model.predict(nothing), y.mean())
    assert model.unusable(nothing).all()


def test_samples_of_weight_zero_might_as_well_not_be_there(data):
    views, y = data
    some = np.arange(20, 90)
    for model in REGRESSORS.values():
        weighed = model.fit(views, y, sample_weight=(np.arange(90) >= 20).astype(float)).predict(views)
        np.testing.assert_allclose(weighed, model.fit(views[some], y[some]).predict(views), atol=1e-9)


def test_targets_that_are_none_are_refused(data):
    views, _ = data
    for bad, words in (
        (np.full(90, np.inf), "finite target"),
        (np.full(90, np.nan), "NaN"),
        ([1, 2], "2 targ"),
    ):
        with pytest.raises(ValueError, match=words):
            EarlyFusionRegressor("ridge").fit(views, bad)


# -------------------------------------------------------------------------------------- names and files


def test_linear_is_logistic_as_on_the_command_line():
    views, y = frames()
    one, other = (EarlyFusionClassifier(name, C=0.1).fit(views, y) for name in ("linear", "logistic"))
    np.testing.assert_array_equal(one.predict_proba(views), other.predict_proba(views))


@pytest.mark.parametrize("name", ["forest", "boosting", "logistic"])
def test_importance_goes_by_name(name):
    views, y = frames()
    model = EarlyFusionClassifier(n_trees=100) if name == "forest" else CLASSIFIERS[name]
    found = model.fit(views, y).feature_importance()
    assert list(found.columns) == ["view", "feature", "importance"]
    assert found["view"].tolist() == ["genes"] * 3 + ["clinical"] * 3
    assert found["feature"].tolist() == ["BRCA1", "TP53", "MYC", "age", "stage=early", "stage=late"]
    by_name = found.set_index("feature")["importance"]
    assert by_name["TP53"] > by_name[["BRCA1", "MYC"]].max()
    assert by_name[["stage=early", "stage=late"]].max() > by_name["age"]


def test_importance_without_names_counts(data):
    views, y = data
    found = EarlyFusionRegressor("ridge").fit(views, y).feature_importance()
    assert len(found) == sum(views.block(name).shape[1] for name in views.names)
    assert found["view"].drop_duplicates().tolist() == list(views.names)
    assert found["feature"][1] == "1"


def test_columns_of_new_samples_are_found_by_name():
    views, y = frames()
    tables = {name: views.to_frame(name) for name in views.names}
    turned = Views.from_dict({name: frame[frame.columns[::-1]] for name, frame in tables.items()})
    for model in CLASSIFIERS.values():
        fitted = model.fit(views, y)
        np.testing.assert_array_equal(fitted.predict_proba(turned), fitted.predict_proba(views))


PROGRAM = """
import sys, numpy as np, absentia
sys.path.insert(0, sys.argv[1])
from test_early_fusion import digits
views, _ = digits()
for path in sys.argv[2:]:
    model = absentia.load(path)
    np.save(path + ".npy", np.column_stack([model.predict_proba(views), model.decision_function(views)]))
"""


@pytest.mark.slow
def test_models_from_a_file_say_the_same_in_another_process(data, tmp_path, request):
    views, y = data
    wanted = {}
    for name, model in CLASSIFIERS.items():
        fitted = model.fit(views, y % 3)
        path = absentia.save(fitted, tmp_path / f"{name}.absentia")
        wanted[str(path)] = np.column_stack([fitted.predict_proba(views), fitted.decision_function(views)])
    call = [sys.executable, "-c", PROGRAM, str(request.path.parent), *wanted]
    subprocess.run(call, check=True, capture_output=True)
    for path, numbers in wanted.items():
        np.testing.assert_array_equal(np.load(path + ".npy"), numbers)


# bins


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        (np.zeros((5, 2)), 2),  # scikit-learn takes no fewer
        (np.array([[0.0], [1.0], [2.0], [1.0]]), 3),
        (np.array([[0.0, 5.0], [1.0, np.nan], [np.nan, np.nan], [2.0, np.nan]]), 3),
        (np.full((4, 1), np.nan), 2),
        (np.arange(300.0)[:, None], 255),
        (np.zeros((3, 0)), 2),
    ],
)
def test_bins_are_as_many_as_the_values_of_a_column(table, wanted):
    assert _count_bins(table) == wanted


@pytest.mark.parametrize("weighted", [False, True])
def test_needless_bins_change_nothing(monkeypatch, weighted):
    from absentia.methods.prediction import _early_fusion

    rng = np.random.default_rng(0)
    counts = rng.poisson(2.0, (80, 6)).astype(float)
    counts[rng.random((80, 6)) < 0.2] = np.nan
    views = Views.from_dict({"counts": np.where(np.isnan(counts).all(axis=1)[:, None], 0, counts)})
    y = (np.nan_to_num(counts)[:, 0] + rng.normal(size=80) > 2).astype(int)
    weight = rng.uniform(0.5, 2, 80) if weighted else None
    fitted = lambda: EarlyFusionClassifier("boosting", n_trees=8).fit(views, y, sample_weight=weight)
    few = fitted().predict_proba(views)
    monkeypatch.setattr(_early_fusion, "_count_bins", lambda table: 255)
    np.testing.assert_allclose(fitted().predict_proba(views), few, atol=1e-12)


def test_equal_weights_are_none():
    """Whatever they are: leaves and their values go by shares of the weight."""
    views, y = digits(60)
    fitted = EarlyFusionRegressor("boosting", n_trees=5).fit(views, y)
    same = EarlyFusionRegressor("boosting", n_trees=5).fit(views, y, sample_weight=np.ones(60))
    np.testing.assert_array_equal(fitted.predict(views), same.predict(views))


def test_forests_and_ridge_regression_tell_what_they_predict_of_samples_that_they_have_not_seen(data):
    X, y = data
    numbers = np.where(y == y[0], 1.0, 0.0) + np.random.default_rng(0).normal(size=len(y)) / 4
    for model in (EarlyFusionRegressor(n_trees=60), EarlyFusionRegressor("ridge")):
        model.fit(X, numbers, sample_weight=np.arange(len(y)) != 3)
        assert np.flatnonzero(np.isnan(model.loo_predictions_)).tolist() == [3]
        rest = np.delete(np.arange(len(y)), 3)
        off = np.square(numbers - model.loo_predictions_)[rest].mean()
        assert np.square(numbers - model.predict(X))[rest].mean() < off < 1.2 * numbers.var()
    few = EarlyFusionRegressor(n_trees=20).fit(X, numbers)
    assert not hasattr(few, "loo_predictions_")  # a sample may be in all bags
