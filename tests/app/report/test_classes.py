"""Class by class: counts, recall, precision and areas are those of the predictions."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_score, recall_score, roc_auc_score

from absentia.app.report._classes import MOST_CLASSES, areas, by_class, confusion, roc
from absentia.app.report._square import x_of, y_of

pytest.importorskip("jinja2")


def problem(n=200, n_classes=4, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n)
    predicted = np.where(rng.random(n) < 0.7, truth, rng.integers(0, n_classes, n))
    scores = rng.random((n, n_classes)) + 0.5 * np.eye(n_classes)[truth]
    return truth, predicted, scores, [f"class {c}" for c in range(n_classes)]


def test_the_matrix_counts_truth_in_rows_and_predictions_in_columns():
    truth, predicted, _, classes = problem()
    found = confusion(truth, predicted, classes)
    counts = [[int(cell.count) for cell in cells] for _, _, cells in found.rows]
    np.testing.assert_array_equal(counts, confusion_matrix(truth, predicted))
    assert [int(samples) for _, samples, _ in found.rows] == np.bincount(truth).tolist()
    assert [[cell.right for cell in cells] for _, _, cells in found.rows] == np.eye(4, dtype=bool).tolist()
    cell = found.rows[0][2][1]
    assert cell.share == f"{100 * counts[0][1] / sum(counts[0]):.1f}%"
    assert cell.title == f"{counts[0][1]} of {sum(counts[0])} class 0 taken for class 1"


def test_of_many_classes_the_most_frequent_are_shown_and_their_heads_stand_upright():
    truth = np.concatenate([np.arange(70), np.arange(5, 70)])
    found = confusion(truth, truth, [f"class {c}" for c in range(70)])
    assert len(found.rows) == len(found.heads) == MOST_CLASSES
    assert found.names[0] == "class 5"
    assert found.upright
    assert not found.roomy
    assert not confusion(*problem()[:2], list("abcd")).upright


def test_recall_and_precision_are_right_and_lie_in_their_intervals():
    truth, predicted, scores, classes = problem()
    rows = by_class(truth, predicted, classes, areas(truth, scores, 4))
    recall = recall_score(truth, predicted, average=None)
    precision = precision_score(truth, predicted, average=None)
    for c, row in enumerate(rows):
        assert row.recall == f"{100 * recall[c]:.1f}%"
        assert row.precision == f"{100 * precision[c]:.1f}%"
        assert row.low < 100 * recall[c] < row.high
        assert row.auc == f"{roc_auc_score(truth == c, scores[:, c]):.3f}"


def test_a_class_that_is_never_predicted_has_no_precision():
    rows = by_class(np.array([0, 1, 1]), np.array([0, 0, 0]), ["a", "b"], [None, None])
    assert (rows[1].precision, rows[1].recall, rows[1].auc) == ("–", "0.0%", "–")
    assert all(row.few for row in rows)


def test_curves_begin_and_end_in_the_corners():
    truth, _, scores, classes = problem()
    found = roc(truth, scores, classes, areas(truth, scores, 4))
    assert len(found.curves) == 4
    assert found.all_shown
    for curve in found.curves:
        points = curve.path[1:].split("L")
        assert points[0] == f"{x_of(0):g} {y_of(0):g}"
        assert points[-1] == f"{x_of(1):g} {y_of(1):g}"


def test_of_many_classes_the_hardest_are_drawn_and_of_two_one():
    truth, _, scores, classes = problem(n=400, n_classes=9)
    found = areas(truth, scores, 9)
    drawn = roc(truth, scores, classes, found)
    assert [float(curve.area) for curve in drawn.curves] == [round(x, 3) for x in sorted(found)[:6]]
    assert not drawn.all_shown
    truth, _, scores, classes = problem(n_classes=2)
    (one,) = roc(truth, scores, classes, areas(truth, scores, 2)).curves
    assert one.name == "class 1"


def test_without_scores_there_are_no_curves():
    truth, _, _, classes = problem()
    assert areas(truth, None, 4) == [None] * 4
    assert roc(truth, None, classes, [None] * 4) is None
    assert areas(np.zeros(3, int), np.ones((3, 2)), 2) == [None, None]
