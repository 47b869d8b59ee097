"""Class by class: counts, recall, precision, areas and calibration are those of the predictions."""

import re

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_score, recall_score, roc_auc_score

from absentia.app.report.classification import render_classification
from helpers.report_data import classification_story
from helpers.report_pages import notes, row_cells, section

pytest.importorskip("jinja2")


def make_story(n=200, n_classes=4, seed=0, **changes):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, n)
    predicted = np.where(rng.random(n) < 0.7, truth, rng.integers(0, n_classes, n))
    proba = rng.random((n, n_classes)) + 0.5 * np.eye(n_classes)[truth]
    proba /= proba.sum(axis=1, keepdims=True)
    values = {"truth": truth, "predictions": {"m": predicted}, "probabilities": proba}
    return classification_story(n=n, n_classes=n_classes, **values | changes)


def test_the_matrix_counts_truth_in_rows_and_predictions_in_columns():
    story = make_story()
    text = render_classification(story)
    rows = row_cells(text, "confusion")
    counts = confusion_matrix(story.truth, story.predictions["m"])
    np.testing.assert_array_equal([[int(cell.split()[0]) for cell in row[2:]] for row in rows], counts)
    assert [int(row[1]) for row in rows] == np.bincount(story.truth).tolist()
    assert rows[0][3] == f"{counts[0, 1]} {100 * counts[0, 1] / counts[0].sum():.1f}%"
    assert f'title="{counts[0, 1]} of {counts[0].sum()} class 0 taken for class 1"' in text
    body = section(text, "classes").split('class="confusion"')[1]
    assert body.count('class="figure right"') == 4


def test_of_many_classes_the_most_frequent_are_shown_and_their_heads_stand_upright():
    truth = np.concatenate([np.arange(70), np.arange(5, 70)])
    story = make_story(n=135, n_classes=70, truth=truth, predictions={"m": truth})
    text = render_classification(story)
    rows = row_cells(text, "confusion upright dense")
    assert len(rows) == len(rows[0]) - 2 == 60
    assert rows[0][0] == "class 5"
    assert "The 60 most frequent of 70 classes." in text
    assert "upright" not in section(render_classification(make_story()), "classes")


def test_recall_and_precision_are_right_and_lie_in_their_intervals():
    story = make_story()
    predicted = story.predictions["m"]
    rows = row_cells(render_classification(story), "patterns classes")
    recall = recall_score(story.truth, predicted, average=None)
    precision = precision_score(story.truth, predicted, average=None)
    for c, row in enumerate(rows):
        assert (row[2], row[4]) == (f"{100 * recall[c]:.1f}%", f"{100 * precision[c]:.1f}%")
        low, high = map(float, row[3].removesuffix("%").split(" to "))
        assert low < 100 * recall[c] < high
        assert row[6] == f"{roc_auc_score(story.truth == c, story.probabilities[:, c]):.3f}"


def test_a_class_that_is_never_predicted_has_no_precision():
    truth, predicted = np.array([0, 1, 1]), np.array([0, 0, 0])
    story = make_story(n=3, n_classes=2, truth=truth, predictions={"m": predicted}, probabilities=None)
    rows = row_cells(render_classification(story), "patterns classes")
    assert rows[1][2:6] == ["0.0%", rows[1][3], "–", "–"]
    assert all(row[0].endswith("few") for row in rows)
    assert rows[0][6] == "–"  # no AUC


# --------------------------------------------------------------------------------------------- calibration


def dots(story):
    """Positions, intervals, looks and titles of the groups."""
    text = section(render_classification(story), "calibration")
    pattern = (
        r'<g class="point"><line class="range" x1="[\d.]+" y1="([\d.]+)" x2="[\d.]+" y2="([\d.]+)">.*?'
        r'<circle class="dot( hollow)?" cx="([\d.]+)" cy="([\d.]+)".*?<title>(.*?)</title>'
    )
    return [
        (*map(float, (x, y, low, high)), bool(hollow), title)
        for low, high, hollow, x, y, title in re.findall(pattern, text)
    ]


def test_calibration_is_perfect_when_probabilities_come_true():
    given = np.repeat([0.05, 0.25, 0.65, 0.95], 100)
    came = np.concatenate([np.arange(100) < 100 * p for p in (0.05, 0.25, 0.65, 0.95)]).astype(int)
    proba = np.column_stack([1 - given, given])
    story = make_story(n=400, n_classes=2, truth=came, predictions={"m": came}, probabilities=proba)
    assert "off by 0.0 points" in notes(section(render_classification(story), "calibration"))[0]
    drawn = dots(story)
    assert len(drawn) == 4
    for x, y, low, high, hollow, _ in drawn:  # on the diagonal: as far from the left as from the bottom
        assert (x - 52) / (348 - 52) == pytest.approx((314 - y) / (314 - 12), abs=2e-3)
        assert high < y < low
        assert not hollow


def test_calibration_of_more_classes_judges_the_most_probable_one():
    proba = np.tile([0.6, 0.3, 0.1], (50, 1))
    truth = np.zeros(50, int)
    story = make_story(n=50, n_classes=3, truth=truth, predictions={"m": truth}, probabilities=proba)
    assert "off by 40.0 points" in render_classification(story)
    ((*_, hollow, title),) = dots(story)
    assert title == "50 samples given 60% on average: 100% came true"
    assert not hollow
    few = make_story(
        n=5, n_classes=3, truth=truth[:5], predictions={"m": truth[:5]}, probabilities=proba[:5]
    )
    assert dots(few)[0][4]
