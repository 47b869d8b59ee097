"""What is measured, by hand and against scikit-learn."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import metrics as sk

from absentia import MeanFill, missingness
from absentia.data import metrics
from absentia.data.survival import concordance_index
from absentia.tasks import (
    CLASSIFICATION,
    MULTILABEL,
    REGRESSION,
    TASKS,
    Predictions,
    balanced_accuracy,
    score_hidden_rows,
)
from absentia.tasks.completion import _hidden_rows
from helpers.comparison_problems import made_data


def scores(task, y, predicted, probabilities):
    return TASKS[task].scores(y, Predictions(predicted, probabilities))


def prior_scores(task, y, train):
    return TASKS[task].prior_scores(y, train)


def test_the_main_metric_comes_first():
    assert [m.name for m in TASKS["numbers"].order_metrics()] == ["R2", "RMSE"]
    assert [m.name for m in TASKS["numbers"].order_metrics("RMSE")] == ["RMSE", "R2"]
    assert set(CLASSIFICATION.order_metrics("AUC")) == set(CLASSIFICATION.metrics)
    assert CLASSIFICATION.order_metrics("auc")[0].name == "AUC"  # as it is typed
    assert TASKS["survival"].order_metrics("uno-concordance")[0].name == "Uno concordance"
    with pytest.raises(
        ValueError,
        match="score 'f1' is none of balanced-accuracy, accuracy, AUC, log-loss, which there are",
    ):
        CLASSIFICATION.order_metrics("f1")
    with pytest.raises(ValueError, match=r"score 'cost' is none of .*; cost wants --costs"):
        CLASSIFICATION.order_metrics("cost")


@pytest.mark.parametrize("n_classes", [2, 4])
def test_classes_are_measured_as_scikit_learn_does(rng, n_classes):
    y = np.r_[np.arange(n_classes), rng.integers(n_classes, size=50)]
    probabilities = rng.random((len(y), n_classes)) + np.eye(n_classes)[y]
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    said = probabilities.argmax(axis=1)
    found = scores("classes", y, said, probabilities)
    assert found["balanced accuracy"] == pytest.approx(sk.balanced_accuracy_score(y, said))
    assert found["accuracy"] == pytest.approx(sk.accuracy_score(y, said))
    assert found["log-loss"] == pytest.approx(sk.log_loss(y, probabilities))
    area = probabilities[:, 1] if n_classes == 2 else probabilities
    assert found["AUC"] == pytest.approx(sk.roc_auc_score(y, area, multi_class="ovr"))
    assert list(found) == [m.name for m in CLASSIFICATION.metrics]


def test_a_fit_is_judged_by_what_compare_ranks_by():
    assert [TASKS[name].main_score for name in ("classes", "numbers", "survival")] == [
        *("balanced accuracy", "R2", "concordance")
    ]
    y, said = np.repeat(["many", "few"], [8, 2]), np.repeat(["many", "few", "many"], [8, 1, 1])
    found = CLASSIFICATION.evaluate(y, {"it": Predictions(said)}, np.zeros(10, int))["it"]
    assert list(found) == ["balanced accuracy", "accuracy"]
    assert found["balanced accuracy"].value == pytest.approx(0.75)  # (8 / 8 + 1 / 2) / 2
    assert found["accuracy"] == pytest.approx(0.9)


def test_the_interval_of_balanced_accuracy_covers_the_truth(rng):
    """Three classes of unequal sizes, the smallest of eight, predicted with known probabilities."""
    y, shares = np.repeat([0, 1, 2], [8, 40, 100]), np.array([0.9, 0.6, 0.8])
    draws = [balanced_accuracy(y, rng.random(len(y)) < shares[y]) for _ in range(2000)]
    covered = np.mean([one.low <= shares.mean() <= one.high for one in draws])
    assert 0.94 < covered < 0.995


def test_no_chance_is_infinitely_bad():
    found = scores("classes", np.array([0, 1]), np.array([1, 1]), np.array([[0.0, 1.0], [0.0, 1.0]]))
    assert found["log-loss"] == pytest.approx(-np.log(1e-6) / 2)


def test_one_class_has_no_area():
    found = scores("classes", np.zeros(3, int), np.zeros(3, int), np.full((3, 2), 0.5))
    assert found["AUC"] is None
    assert found["balanced accuracy"] == 1.0


def test_numbers_are_measured_as_scikit_learn_does(rng):
    y, said = rng.normal(size=(2, 30))
    found = scores("numbers", y, said, None)
    assert found["R2"] == pytest.approx(sk.r2_score(y, said))
    assert found["RMSE"] == pytest.approx(sk.root_mean_squared_error(y, said))
    assert scores("numbers", np.ones(3), np.zeros(3), None) == {"R2": None, "RMSE": 1.0}


def test_risks_are_measured_by_concordance(rng):
    y = np.column_stack([rng.exponential(size=30), rng.random(30) < 0.6])
    risk = rng.normal(size=30)
    wanted = concordance_index(y[:, 0], y[:, 1] == 1, risk)
    assert scores("survival", y, risk, None)["concordance"] == pytest.approx(wanted)
    chance = {"concordance": 0.5, "Uno concordance": 0.5, "AUC over time": None, "Brier score": None}
    assert prior_scores("survival", y, y) == chance
    y[:, 1] = 0
    assert scores("survival", y, risk, None) == dict.fromkeys(chance)


def test_labels_are_measured_where_they_are_known(rng):
    Y = rng.integers(2, size=(40, 3)).astype(float)
    probabilities = np.clip(rng.random(Y.shape) + 0.3 * Y, 0, 1)
    said = (probabilities > 0.5).astype(float)
    whole = scores("labels", Y, said, probabilities)
    assert whole["AUC"] == pytest.approx(sk.roc_auc_score(Y, probabilities))
    assert whole["accuracy"] == pytest.approx((said == Y).mean())
    assert whole["balanced accuracy"] == pytest.approx(
        np.mean([sk.balanced_accuracy_score(Y[:, j], said[:, j]) for j in range(3)])
    )
    gaps = rng.random(Y.shape) < 0.3
    holed = np.where(gaps, np.nan, Y)
    found = scores("labels", holed, said, probabilities)
    areas = [sk.roc_auc_score(Y[~gaps[:, j], j], probabilities[~gaps[:, j], j]) for j in range(3)]
    assert found["AUC"] == pytest.approx(np.mean(areas))
    assert found["accuracy"] == pytest.approx((said == Y)[~gaps].mean())
    own = np.where(Y == 1, probabilities, 1 - probabilities)[~gaps]
    assert found["log-loss"] == pytest.approx(-np.log(np.maximum(own, 1e-6)).mean())
    wrong = np.where(gaps, 1 - said, said)  # what is said of unknown ones counts for nothing
    assert scores("labels", holed, wrong, np.where(gaps, 0.5, probabilities)) == found


def test_labels_of_which_nothing_is_known():
    nothing = scores("labels", np.full((3, 2), np.nan), np.zeros((3, 2)), np.full((3, 2), 0.5))
    assert set(nothing.values()) == {None}


def test_knowing_nothing_is_the_mean_and_the_most_frequent():
    assert prior_scores("numbers", np.array([0.0, 2.0]), np.array([1.0, 1.0, 1.0])) == {
        "R2": 0.0,
        "RMSE": 1.0,
    }
    found = prior_scores("classes", np.array([0, 1, 2]), np.array([0, 0, 1, 2]))
    assert found["accuracy"] == found["balanced accuracy"] == pytest.approx(1 / 3)
    assert found["AUC"] == 0.5
    assert found["log-loss"] == pytest.approx(-(np.log(0.5) + 2 * np.log(0.25)) / 3)
    train = np.array([[1, np.nan], [1, 0], [0, 0], [1, 1.0]])
    found = prior_scores("labels", np.array([[1, 0], [0, np.nan]]), train)
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["AUC"] == 0.5


# ------------------------------------------------------------------------------------------- completion


@pytest.fixture(scope="module")
def completed():
    kernels = made_data("completion", n=30, rate=0.0).kernels
    part = kernels.hide(missingness.mcar(kernels, 0.2, random_state=0))
    cells = np.argwhere(kernels.observed & ~part.observed)
    return kernels, MeanFill().fit_transform(part), cells


def test_hidden_rows_are_measured_as_the_metrics_say(completed):
    truth, filled, cells = completed
    found = score_hidden_rows(truth, filled, cells)
    K, K_hat = truth.to_dense(), filled.to_dense()
    observed = np.ones(truth.observed.shape, bool)
    observed[tuple(cells.T)] = False
    assert found["ARE"] == pytest.approx(metrics.are(K, K_hat, observed))
    missed, cosines = [], []
    for v in range(truth.n_views):
        rows = np.flatnonzero(~observed[:, v])
        size, size_hat = np.linalg.norm(K[v][rows]), np.linalg.norm(K_hat[v][rows])
        missed.append(np.linalg.norm((K_hat - K)[v][rows]) / size)
        cosines.append((K[v][rows] * K_hat[v][rows]).sum() / size / size_hat)
    assert found["Frobenius"] == pytest.approx(np.mean(missed))
    assert found["CA"] == pytest.approx(1 - np.mean(cosines))


def test_perfect_completion(completed):
    truth, _, cells = completed
    found = score_hidden_rows(truth, truth, cells)
    assert found["ARE"] == found["Frobenius"] == 0
    assert found["similarity"] == pytest.approx(1)
    assert found["CA"] == pytest.approx(0, abs=1e-12)


def test_the_order_of_samples_changes_no_score(completed):
    truth, filled, cells = completed
    rows = np.random.default_rng(0).permutation(len(truth))
    place = np.argsort(rows)
    moved = np.column_stack([place[cells[:, 0]], cells[:, 1]])
    moved = moved[np.lexsort(moved.T[::-1])]  # as they are found
    other = score_hidden_rows(truth[np.ix_(rows, rows)], filled[np.ix_(rows, rows)], moved)
    assert other == pytest.approx(score_hidden_rows(truth, filled, cells))


def test_only_samples_that_have_the_view_are_columns():
    kernels = made_data("completion", n=30).kernels
    rows = np.flatnonzero(kernels.observed[:, 1])[:2]
    filled = MeanFill().fit_transform(kernels)
    K, K_hat = _hidden_rows(kernels, filled, rows, 1)
    assert K.shape == K_hat.shape == (2, kernels.observed[:, 1].sum())
    np.testing.assert_allclose(K, K_hat)  # observed values stay


def test_few_rows_have_no_similarity_and_what_is_not_finite_is_refused(completed):
    truth, filled, cells = completed
    assert score_hidden_rows(truth, filled, cells[:1])["similarity"] is None
    K = filled.to_dense()
    v, name = int(cells[0, 1]), truth.names[cells[0, 1]]
    K[v, cells[0, 0]] = np.inf
    block = lambda rows, columns: K[v][np.ix_(rows, columns)]
    broken = SimpleNamespace(operator=lambda name: SimpleNamespace(block=block))
    own = cells[cells[:, 1] == v] * [1, 0]
    with pytest.raises(ValueError, match="not finite"), np.errstate(invalid="ignore"):
        score_hidden_rows(truth.select([name]), broken, own)


def test_every_sample_of_a_pattern_counts_the_same_and_those_without_a_known_label_do_not():
    y = np.array([[1, np.nan], [1, 0], [np.nan, np.nan]])
    told = MULTILABEL.sample_statistics(y, np.array([[1, 0], [0, 0], [1, 1]]))
    assert MULTILABEL.score_pattern(told) == (1 + 1 / 2) / 2
    assert MULTILABEL.score_pattern(told[2:]) is None
    numbers, said = np.array([1.0, 2.0]), np.array([2.0, 5.0])
    assert REGRESSION.score_pattern(REGRESSION.sample_statistics(numbers, said)) == np.sqrt((1 + 9) / 2)
    codes = np.array([0, 1, 1, 2])
    assert CLASSIFICATION.score_pattern(CLASSIFICATION.sample_statistics(codes, np.zeros(4))) == 1 / 4
