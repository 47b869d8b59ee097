"""What out-of-fold decisions rest on."""

import numpy as np
import pytest
from scipy.stats import entropy

from absentia import AbsentClassifier, AverageKernelSVC, EarlyFusionClassifier, ViewKernels
from absentia.experiment import _readings
from absentia.experiment._validation import Plan, cross_validate
from readable import planted


@pytest.mark.parametrize("n_classes", [2, 3])
def test_contributions_and_gains_are_of_samples_that_the_model_has_not_seen(n_classes, monkeypatch):
    seen = []
    value = _readings.inspection.value_of_views

    def watched(model, X, among, **options):
        seen.append(set(X.ids.tolist()) & set(among.ids.tolist()))
        assert not set(X.ids.tolist()) & set(model.classifier.ids_.tolist())
        return value(model, X, among, **options)

    monkeypatch.setattr(_readings.inspection, "value_of_views", watched)
    views, y = planted(60, n_classes=n_classes)
    judged = cross_validate(views, y, Plan(AbsentClassifier("mean"), C=1.0))
    assert len(seen) == 5
    assert not any(seen)
    assert judged.exact
    assert judged.parts.shape == (60, 3, n_classes)
    size = np.abs(judged.parts).mean(axis=(0, 2))
    assert size[0] > size[2]
    lacking = {(i, v) for i, v in np.argwhere(~views.observed).tolist()}
    assert {(g.sample, g.view) for g in judged.gains} == lacking
    by_view = [np.mean([g.gain for g in judged.gains if g.view == v]) for v in range(3)]
    assert by_view[0] > by_view[2]


def test_of_kernels_there_are_no_gains_and_machines_on_kernels_of_features_have_some():
    views, y = planted(40)
    plan = Plan(AverageKernelSVC(probability=True), C=1.0)
    kernels = ViewKernels().fit_transform(views)
    assert cross_validate(kernels, y, plan).gains is None
    assert len(cross_validate(views, y, plan).gains) > 0
    assert cross_validate(views, y, Plan(AverageKernelSVC(), C=1.0)).gains is None


def test_only_the_least_certain_are_tried_where_there_are_many(monkeypatch):
    monkeypatch.setattr(_readings, "MOST", 10)
    views, y = planted(60)
    judged = cross_validate(views, y, Plan(EarlyFusionClassifier("logistic"), C=1.0))
    assert not judged.exact
    samples = {g.sample for g in judged.gains}
    assert len(samples) == 10
    lacking = np.flatnonzero(~views.observed.all(axis=1))
    doubt = entropy(judged.probabilities, axis=1)
    assert doubt[list(samples)].mean() > doubt[lacking].mean()
