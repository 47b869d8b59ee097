"""Labels hidden, completed and counted: the table's numbers, by hand."""

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.preprocessing import StandardScaler

from absentia import PMF, LabelGP, PMAClassifier, datasets
from absentia.papers.protocols import _pma as protocol

KEY = {"data": "made up", "share": 20, "parameters": {}, "seed": 0, "repeat": 0}
EXACT = {"label_covariance": False, "inference": "exact"}


@pytest.fixture
def made_up(monkeypatch):
    X, Y = make_multilabel_classification(60, 5, n_classes=4, random_state=0)
    X, Y = StandardScaler().fit_transform(X), np.where(Y > 0, 1.0, -1.0)
    monkeypatch.setattr(protocol, "_load_labels", lambda name: (X, Y))
    return X, Y


def error(**other):
    return protocol._perform_missing_labels(KEY | other)["scores"]["error"][""]


def by_hand(Y, complete, share=20, seed=0):
    hidden = np.random.default_rng(seed).random(Y.shape) < share / 100
    scores = complete(np.where(hidden, np.nan, Y))
    return 100 * np.mean((scores > 0)[hidden] != (Y > 0)[hidden])


def test_an_error_is_the_share_of_hidden_labels_that_come_back_wrong(made_up):
    X, Y = made_up
    gp = by_hand(Y, lambda gaps: LabelGP(random_state=2).fit(X, gaps).scores_, seed=2)
    assert error(method="LabelGP", repeat=2) == gp > 0
    assert error(method="PMF") == by_hand(Y, PMF(random_state=0).fit_transform) > 0


def test_the_most_frequent_known_label_is_taken_column_by_column(made_up, monkeypatch):
    Y = np.ones((60, 4))
    Y[:20, 0] = Y[:, 1] = -1.0  # a third, and all
    monkeypatch.setattr(protocol, "_load_labels", lambda name: (made_up[0], Y))
    hidden = np.random.default_rng(0).random(Y.shape) < 0.2
    assert error(method="frequent") == pytest.approx(100 * hidden[:20, 0].sum() / hidden.sum())


def test_what_little_is_hidden_is_hidden_too_where_more_is():
    few, many = (protocol._hide_entries((500, 6), share, 3) for share in (10, 30))
    assert (few <= many).all()
    assert few.mean() == pytest.approx(0.1, abs=0.02)
    assert many.mean() == pytest.approx(0.3, abs=0.03)
    assert (protocol._hide_entries((500, 6), 10, 4) != few).any()


def test_map_and_exact_inference_are_one_and_gibbs_is_near(made_up):
    X, Y = made_up
    gaps = np.where(protocol._hide_entries(Y.shape, 20, 0), np.nan, Y)
    ways = {
        way: protocol._score_labels(
            KEY | {"method": "PMAClassifier", "parameters": EXACT | {"inference": way}}, X, gaps, 0
        )
        for way in ("exact", "map", "gibbs")
    }
    np.testing.assert_allclose(ways["map"], ways["exact"], atol=1e-3)
    assert 0 < np.abs(ways["gibbs"] - ways["exact"]).max() < 0.3


@pytest.mark.slow
def test_a_cell_of_the_table_by_hand(data_folder):
    data = datasets.load_benchmark("ml_emotions", data_folder)
    X = StandardScaler().fit_transform(data.views.block(data.views.names[0]).astype(float))
    Y = np.where(np.asarray(data.target) > 0, 1.0, -1.0)
    model = PMAClassifier(label_covariance=False, inference="exact", random_state=0)
    hand = by_hand(Y, lambda gaps: model.fit(X, gaps).scores_, share=10)
    found = error(data="ml_emotions", share=10, method="PMAClassifier", parameters=EXACT)
    assert found == hand
    assert found == pytest.approx(14.0, abs=0.3)  # 371 labels are hidden: one of them is 0.27


def test_folds_are_matrices_of_their_own_and_have_every_sample_once(made_up, monkeypatch):
    X, Y = made_up
    seen = []
    monkeypatch.setattr(
        protocol, "_score_labels", lambda key, X, gaps, seed: seen.append(gaps) or np.nan_to_num(gaps)
    )
    monkeypatch.setattr(
        protocol, "_load_labels", lambda name: (X, np.arange(len(Y))[:, None] + np.ones((1, 4)))
    )
    for repeat in range(5):
        error(method="x", folds=5, share=10, repeat=repeat)
    rows = np.concatenate([np.nanmax(gaps, axis=1) for gaps in seen])
    np.testing.assert_array_equal(np.sort(rows), np.arange(len(Y)) + 1)
