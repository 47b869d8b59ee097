"""What a class is decided by: thresholds by hand, names in any order, mistakes that are refused."""

import numpy as np
import pandas as pd
import pytest

import absentia
from absentia import AutoClassifier, EarlyFusionClassifier, KernelViews
from absentia.methods.learning import align_costs
from helpers.known_effects import planted
from helpers.smallest_classifiers import NearestMean

COSTS = {"ill": {"healthy": 10, "ill": 0}, "healthy": {"ill": 1, "healthy": 0}}
LOGISTIC = {"logistic": EarlyFusionClassifier("logistic", C=1.0)}


def decide(decision, proba, classes=("a", "b", "c")):
    """Positions of the classes, which were 6, 3 and 1 in training."""
    y = np.repeat(classes, [6, 3, 1][: len(classes)])
    model = NearestMean().fit(KernelViews.from_dense([np.eye(len(y))]), y).set_decision(decision)
    rows = KernelViews.from_blocks({"view0": (model.ids_, np.eye(len(y)))})[np.arange(len(proba)) % len(y)]
    return [list(classes).index(name) for name in model.decide(rows, proba)]


def test_a_mistake_that_costs_ten_times_as_much_moves_the_threshold_to_one_eleventh():
    ill = np.array([1 / 11 - 1e-6, 1 / 11 + 1e-6, 0.5])
    assert decide(COSTS, np.column_stack([1 - ill, ill]), ["healthy", "ill"]) == [0, 1, 1]


def test_a_fitted_classifier_decides_at_that_threshold_and_probabilities_stay():
    views, y = planted(60)
    y = np.where(y == "yes", "ill", "healthy")
    plain = AutoClassifier(LOGISTIC, decision="accuracy").fit(views, y)
    by_cost = AutoClassifier(LOGISTIC, decision=COSTS).fit(views, y)
    ill = plain.predict_proba(views)[:, 1]
    np.testing.assert_array_equal(by_cost.predict_proba(views)[:, 1], ill)
    assert ((ill > 1 / 11) & (ill < 0.5)).any()  # there is something to decide
    np.testing.assert_array_equal(by_cost.predict(views) == "ill", ill > 1 / 11)
    np.testing.assert_array_equal(by_cost.decision_function(views) > 0, ill > 1 / 11)
    np.testing.assert_array_equal(plain.set_decision(COSTS).predict(views), by_cost.predict(views))


def test_balanced_is_by_the_mean_of_what_is_said_of_samples_left_out(tmp_path):
    views, y = planted(60)
    weight = np.where(np.arange(60) % 7 == 0, 0.0, 1 + (y == "yes"))
    fitted = AutoClassifier(LOGISTIC).fit(views, y, sample_weight=weight)
    mean = np.average(fitted.loo_proba_[weight > 0], weights=weight[weight > 0], axis=0)
    frequency = np.array([weight[y == name].sum() for name in fitted.classes_]) / weight.sum()
    np.testing.assert_allclose(fitted.decision_, 1 / mean, rtol=1e-8)
    assert np.abs(mean / frequency - 1).max() > 1e-4  # so that the one is not the other
    again = absentia.load(absentia.save(fitted.set_decision("accuracy"), tmp_path / "model.absentia"))
    np.testing.assert_allclose(again.set_decision("balanced").decision_, 1 / mean, rtol=1e-8)


def test_who_does_not_tell_of_samples_left_out_decides_by_frequency():
    views, y = planted(40)
    y = np.where(np.arange(40) < 4, "yes", y)
    model = EarlyFusionClassifier("logistic", C=1.0).fit(views, y)
    other = model.set_params(model="boosting").fit(views, y).set_decision("balanced")
    frequency = np.array([(y == name).mean() for name in other.classes_])
    np.testing.assert_allclose(other.decision_, 1 / frequency, rtol=1e-8)


def test_classes_of_the_table_may_come_in_any_order_and_form(tmp_path):
    wanted = np.array([[0.0, 1.0], [10.0, 0.0]])
    frame = pd.DataFrame([[0, 10], [1, 0]], index=["ill", "healthy"], columns=["ill", "healthy"])
    without_diagonal = {"healthy": {"ill": 1}, "ill": {"healthy": 10}}
    texts = frame.astype(str).replace("0", "")
    others = frame.reindex(index=["x", "ill", "healthy"], columns=["healthy", "x", "ill"], fill_value=7)
    for costs in (COSTS, frame, frame.iloc[::-1], without_diagonal, texts, others, wanted):
        np.testing.assert_array_equal(align_costs(costs, ["healthy", "ill"]), wanted)
    np.testing.assert_array_equal(align_costs({0: {1: 2}, 1: {0: 3}}, np.array([0, 1])), [[0, 2], [3, 0]])


def test_costs_of_zeros_and_ones_are_accuracy(rng):
    proba = rng.dirichlet(np.ones(3), size=200)
    assert decide(1 - np.eye(3), proba) == decide("accuracy", proba) == proba.argmax(axis=1).tolist()
    assert decide("balanced", proba) == (proba / [0.6, 0.3, 0.1]).argmax(axis=1).tolist()


def test_renamed_classes_permute_even_where_costs_are_equal(rng):
    """Mistakes between b and c cost nothing: of the two, the more probable one is predicted."""
    proba = rng.dirichlet(np.ones(3), size=200)
    costs = pd.DataFrame([[0, 3, 3], [5, 0, 0], [5, 0, 0]], index=list("abc"), columns=list("abc"))
    found = np.array(decide(costs, proba))
    renamed = costs.rename(index={"a": "z"}, columns={"a": "z"})
    again = decide(renamed, proba[:, [1, 2, 0]], classes=("b", "c", "z"))
    assert [(k + 1) % 3 for k in again] == found.tolist()
    either = found > 0
    assert (found[either] == 1 + proba[either, 1:].argmax(axis=1)).all()
    assert set(found) == {0, 1, 2}


@pytest.mark.parametrize("costs", [COSTS, pd.DataFrame(COSTS).T], ids=["dict", "table"])
def test_saved_models_decide_as_before(tmp_path, costs):
    views, y = planted(40)
    y = np.where(y == "yes", "ill", "healthy")
    fitted = AutoClassifier(LOGISTIC, decision=costs).fit(views, y)
    again = absentia.load(absentia.save(fitted, tmp_path / "model.absentia"))
    np.testing.assert_array_equal(again.decision_, fitted.decision_)
    np.testing.assert_array_equal(again.predict(views), fitted.predict(views))


@pytest.mark.parametrize(
    ("costs", "sentence"),
    [
        ({"ill": {"healthy": 1}}, "no row of class 'healthy', but of 'ill'; .* true classes in rows"),
        ({"ill": {"ill": 0}, "healthy": {"ill": 1}}, "no column of class 'healthy'"),
        ({"ill": {"healthy": -1}, "healthy": {"ill": 1}}, "taking class 'ill' for 'healthy' is '-1"),
        ({"ill": {"healthy": "ten"}, "healthy": {"ill": 1}}, "for 'healthy' is 'ten'; a number from 0 on"),
        ({"ill": {"healthy": None}, "healthy": {"ill": 1}}, "for 'healthy' is"),
        ({"ill": {"healthy": np.inf}, "healthy": {"ill": 1}}, "for 'healthy' is"),
        ({"ill": {"healthy": 0}, "healthy": {"ill": 0}}, "all costs are zero"),
        (pd.DataFrame(np.eye(3), list(names := ("ill", "ill", "healthy")), names), "2 row of class 'ill'"),
        (np.zeros((3, 3)), r"costs of shape \(3, 3\) came; 2 x 2"),
        ([[0, 1], [1, 0]], "dict of dicts"),
    ],
)
def test_tables_that_cannot_be_are_refused(costs, sentence):
    with pytest.raises(ValueError, match=sentence):
        align_costs(costs, ["healthy", "ill"])


def test_a_rule_that_there_is_not_is_refused():
    views, y = planted(40)
    with pytest.raises(ValueError, match="decision must be 'balanced', 'accuracy' or costs, not 'fair'"):
        AutoClassifier(LOGISTIC, decision="fair").fit(views, y)
