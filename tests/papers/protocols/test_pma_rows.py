"""New rows by fold: who is learned from, and the measures by hand."""

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from absentia import MLKNN, PMAClassifier, datasets, metrics
from absentia.papers.protocols import _pma as protocol

KEY = {"data": "made up", "missing": 25, "labelled": 100, "parameters": {}, "seed": 0, "repeat": 0}


@pytest.fixture
def made_up(monkeypatch):
    X, Y = make_multilabel_classification(90, 5, n_classes=4, random_state=0)
    Y = np.where(Y > 0, 1.0, -1.0)
    monkeypatch.setattr(protocol, "_load_labels", lambda name: (X, Y))
    return X, Y


def scores(**other):
    found = protocol._perform_new_samples(KEY | other)["scores"]
    return {name: parts[""] for name, parts in found.items()}


def by_hand(X, Y, model, fold, missing):
    train, test = list(KFold(5, shuffle=True, random_state=0).split(X))[fold]
    hidden = np.random.default_rng(fold).random(Y[train].shape) < missing / 100
    scale = StandardScaler().fit(X[train])
    model.fit(scale.transform(X[train]), np.where(hidden, np.nan, Y[train]))
    return Y[test], model.decision_function(scale.transform(X[test]))


def test_a_repeat_is_a_fold_with_labels_missing(made_up):
    model = PMAClassifier(label_covariance=False, random_state=0)
    truth, S = by_hand(*made_up, model, fold=3, missing=25)
    found = scores(method="PMAClassifier", parameters={"label_covariance": False}, repeat=3)
    assert found["OneError"] == 100 * metrics.one_error(truth, S)
    assert found["AvePrec"] == 100 * metrics.average_precision(truth, S)
    assert found["RankLoss"] == 100 * metrics.ranking_loss(truth, S)
    assert found["Coverage"] == pytest.approx(100 * metrics.coverage(truth, S) / 3)


def test_every_sample_is_tested_once_in_five_repeats_and_again_otherwise_in_the_next():
    tests = [protocol._split_samples(43, 100, 0, repeat)[1] for repeat in range(10)]
    assert sorted(np.concatenate(tests[:5])) == sorted(np.concatenate(tests[5:])) == list(range(43))
    assert set(tests[0]) != set(tests[5])
    for repeat in range(5):
        train, test = protocol._split_samples(43, 100, 0, repeat)
        assert sorted([*train, *test]) == list(range(43))


def test_fewer_labelled_samples_are_some_of_the_more():
    (few, test), (many, same) = (protocol._split_samples(100, percent, 0, 1) for percent in (20, 60))
    assert (len(few), len(many)) == (16, 48)
    assert set(few) < set(many)
    assert not set(many) & set(test)
    assert (test == same).all()


def test_labels_of_the_fold_are_not_learned_from(made_up, monkeypatch):
    X, Y = made_up
    asked = KEY | {"method": "MLKNN", "labelled": 40}
    truth, first = [], []
    monkeypatch.setattr(protocol, "_measure_ranking", lambda Y, S: truth.append(Y) or first.append(S) or {})
    protocol._perform_new_samples(asked)
    train, _ = protocol._split_samples(len(X), 40, 0, 0)
    other = -Y
    other[train] = Y[train]
    monkeypatch.setattr(protocol, "_load_labels", lambda name: (X, other))
    protocol._perform_new_samples(asked)
    np.testing.assert_array_equal(truth[1], -truth[0])
    np.testing.assert_array_equal(first[1], first[0])


def test_a_cell_of_the_table_by_hand(data_folder):
    data = datasets.load_benchmark("ml_scene", data_folder)
    Y = np.where(np.asarray(data.target) > 0, 1.0, -1.0)
    X = data.views.block(data.views.names[0]).astype(float)
    truth, S = by_hand(X, Y, MLKNN(discard=True), fold=0, missing=25)
    found = scores(data="ml_scene", method="MLKNN", parameters={"discard": True})
    assert found["OneError"] == 100 * metrics.one_error(truth, S)
    assert found["OneError"] == pytest.approx(30.9, abs=0.3)  # of 482 samples: one of them is 0.21
