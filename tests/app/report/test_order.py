"""In which order samples are drawn."""

import numpy as np
import pytest

from absentia.app.report import render
from absentia.app.report._heatmaps import class_ticks
from absentia.app.report._order import by_structure, patterns, sample_order
from stories import make_story, views_of

pytest.importorskip("jinja2")


def test_patterns_put_the_fullest_then_the_most_frequent_first():
    observed = np.array([[0, 1], [1, 0], [1, 1], [1, 0], [0, 0]], dtype=bool)
    found = patterns(observed)
    np.testing.assert_array_equal(found.masks, [[1, 1], [1, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(found.counts, [1, 2, 1, 1])
    np.testing.assert_array_equal(found.order, [2, 1, 3, 0, 4])


def test_samples_are_ordered_by_class_then_pattern():
    labels = np.array(["b", "a", "b", "a", "b", "a"])
    observed = np.array([[0, 1], [1, 0], [1, 1], [1, 1], [1, 1], [1, 0]], dtype=bool)
    kernels = np.zeros((2, 6, 6))
    story = make_story(
        names=["x", "y"], observed=observed, before=kernels, after={"m": kernels},
        truth=None, labels=labels,
    )  # fmt: skip
    order = sample_order(story)
    np.testing.assert_array_equal(order.index, [3, 1, 5, 2, 4, 0])
    assert "by class (a, b)" in render(story)
    assert [(t.label, t.start, t.width) for t in class_ticks(order)] == [
        ("a", 0.0, 50.0),
        ("b", 50.0, 50.0),
    ]


def test_structure_brings_groups_together():
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat([0, 1, 2], 20))
    X = np.eye(3)[group] + 0.1 * rng.standard_normal((60, 3))
    along = group[by_structure(views_of(np.stack([X @ X.T, 100 * X @ X.T]), "ab"))]
    assert np.count_nonzero(np.diff(along)) == 2
    assert "leading structure" in render(make_story())
