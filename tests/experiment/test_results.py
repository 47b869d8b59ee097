"""What a comparison found, as plain data."""

import dataclasses

import numpy as np
import pytest

from absentia.experiment import results as public
from absentia.experiment.results import ComparisonResults, Interval, MethodRow, Metric, Recommendation
from helpers.comparison_results import METRICS as MADE_METRICS


def made(**more):
    metric = Metric("accuracy", True, True, "share that is right")
    verdict = Recommendation("average", "average", None, "average", "No clear winner.")
    rows = [MethodRow("average", "words", True, {"accuracy": Interval(0.8, 0.7, 0.9)})]
    return ComparisonResults("t", "classes", [metric, Metric("AUC", True, True, "")], 0.01, verdict, rows, [], ("a", "b"),
                    np.ones((5, 2), bool), **more)  # fmt: skip


def test_sizes_and_the_main_metric():
    found = made()
    assert (found.n_samples, found.n_views, found.metric.name) == (5, 2, "accuracy")


def test_what_was_not_measured_is_empty():
    found = made()
    assert found.group_metric is None
    assert [
        len(x)
        for x in (found.patterns, found.views, found.curves, found.confusion, found.warnings, found.facts)
    ] == [0] * 6
    row = MethodRow("forest", "words", False, left_out="takes features")
    assert (dict(row.scores), row.cpu, row.memory, row.done, row.errors) == ({}, None, None, 0, ())


def test_nothing_of_it_is_changed_by_accident():
    with pytest.raises(dataclasses.FrozenInstanceError):
        made().title = "other"
    one, other = made(), made()
    one.facts["seed"] = "1"
    assert other.facts == {}


def test_it_is_what_pages_are_made_of():
    assert public.ComparisonResults is ComparisonResults
    assert set(MADE_METRICS) == {"classes", "numbers", "labels", "completion"}
