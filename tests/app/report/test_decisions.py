"""What decisions rest on, as the page tells it."""

import numpy as np
import pytest

from absentia.app.report import render_classification
from absentia.app.report._decisions import MOST_CLASSES, class_rows, decisions, mean_sizes
from pages import NASTY, row_cells
from stories import classification_story


def test_sizes_are_means_over_those_who_have_the_view():
    parts = np.array([[[1.0, -1.0], [9.0, 9.0]], [[-3.0, 3.0], [2.0, -4.0]]])
    observed = np.array([[True, False], [True, True]])
    assert mean_sizes(parts, observed).tolist() == [[2, 2], [2, 4]]
    nobody = mean_sizes(parts, np.array([[True, False], [True, False]]))
    assert nobody[:, 1].tolist() == [0, 0]


def test_nothing_known_is_no_section():
    assert decisions(classification_story()) is None
    assert 'id="decisions"' not in render_classification(classification_story())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_views_and_classes_are_on_the_page(n_classes):
    story = classification_story(n_classes=n_classes)
    parts = np.random.default_rng(0).normal(size=(story.n_samples, 3, n_classes))
    story = classification_story(n_classes=n_classes, parts=parts, exact=True)
    text = render_classification(story)
    rows = row_cells(text, "patterns decisions")
    sizes = mean_sizes(parts, story.observed).mean(axis=0)
    assert [row[0] for row in rows] == list(story.names)
    assert [row[2] for row in rows] == [f"{size:.3f}" for size in sizes]
    assert "exact parts" in text
    assert ("For or against the class" in text) == (n_classes > 2)
    assert "when it is hidden" in render_classification(
        classification_story(n_classes=n_classes, parts=parts)
    )


def test_features_that_count_most_come_first_and_names_are_harmless():
    importance = [("view 0", f"gene {j}", j / 10) for j in range(20)]
    importance.append(("view 1", NASTY, 4.0))
    story = classification_story(importance=importance, importance_of="the mean of forest (100%)")
    text = render_classification(story)
    rows = row_cells(text, "patterns features")
    assert len(rows) == 10
    assert [rows[0][2], rows[1][0], rows[1][2]] == ["1.00", "gene 19", "0.47"]
    assert NASTY not in text
    assert "10 of 21 features" in text
    assert "the mean of forest (100%)" in text


def test_of_many_classes_the_most_frequent_are_shown():
    story = classification_story(n=400, n_classes=15)
    rows = class_rows(np.arange(45.0).reshape(15, 3), story)
    assert len(rows) == MOST_CLASSES
    assert rows[-1].cells[-1][1] <= 1
    assert class_rows(np.ones((1, 3)), story) == []
