"""What each view adds: parts sum to the whole, or are what hiding takes away."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from absentia import (
    AbsentClassifier,
    AutoClassifier,
    AverageKernelSVC,
    EarlyFusionClassifier,
    LateFusion,
    MMAFClassifier,
    ViewKernels,
    ViewStacking,
    inspection,
    models,
)
from helpers.known_effects import planted


def parts_of(model, X):
    """What each view adds, samples x views x classes, and whether it is exact."""
    frame = inspection.contributions(model, X)
    parts = frame["contribution"].to_numpy().reshape(len(X), X.n_views, -1)
    return parts, frame.attrs["how"] == "exact"


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("completer", [None, "cvkt"])
def test_parts_of_completed_kernels_sum_to_the_scores(n_classes, completer):
    views, y = planted(60, n_classes=n_classes)
    model = AbsentClassifier(completer, machine="svm", C=1.0).fit(views[:45], y[:45])
    new = views[45:]
    parts, exact = parts_of(model, new)
    scores = model._machine.decision_function(model._kernels.transform(new.select(model._order.views)))
    bias = model._machine.bias_
    if n_classes == 2:
        scores, bias = np.column_stack([-scores, scores]), np.array([-bias[0], bias[0]])
    assert exact
    turned = model._class_order  # classes as the machine has them
    assert np.allclose(parts.sum(axis=1) + bias[turned], scores[:, turned], atol=1e-9)


def test_parts_of_a_kernel_machine_in_a_model_are_of_both_classes():
    views, y = planted(60)
    makes = ViewKernels()
    machine = AverageKernelSVC().fit(makes.fit_transform(views), y)
    parts, exact = parts_of(models.Model(machine, makes), views)
    scores = machine.decision_function(makes.transform(views))
    assert exact
    assert np.allclose(parts.sum(axis=1)[:, 1] + machine.bias_, scores, atol=1e-9)
    assert np.array_equal(parts[:, :, 0], -parts[:, :, 1])


def test_parts_of_fusion_and_frequencies_sum_to_the_probabilities():
    views, y = planted(60)
    model = LateFusion().fit(views, y)
    frame = inspection.contributions(model, views)
    assert frame.attrs["how"] == "exact"
    together = frame.groupby(["id", "class"], sort=False)["contribution"].sum().to_numpy().reshape(60, 2)
    assert np.allclose(together + model._prior, model.predict_proba(views), atol=1e-9)


def test_the_rest_is_what_hiding_takes_away():
    views, y = planted(60)
    model = EarlyFusionClassifier("logistic").fit(views, y)
    frame = inspection.contributions(model, views)
    assert frame.attrs["how"] == "leaving out"
    whole = model.predict_proba(views)
    for v, name in enumerate(views.names):
        keep = np.ones((60, 3), dtype=bool)
        keep[:, v] = False
        difference = whole - model.predict_proba(views.hide(keep))
        difference[~views.observed[:, v]] = 0
        found = frame[frame["view"] == name]
        assert found["id"].tolist() == np.repeat(views.ids, 2).tolist()
        assert np.allclose(found["contribution"].to_numpy().reshape(60, 2), difference, atol=1e-12)
    size = frame["contribution"].abs().groupby(frame["view"]).mean()
    assert size["tells"] > 3 * size["noise"]


@pytest.mark.slow
def test_chooser_and_stacking_under_another_model_are_read_by_leaving_out():
    from sklearn.linear_model import LogisticRegression

    views, y = planted(60)
    candidates = {"a": EarlyFusionClassifier("logistic", C=1.0), "b": AbsentClassifier("mean", C=1.0)}
    stacked = ViewStacking(final=LogisticRegression()).fit(views, y)
    for model in (AutoClassifier(candidates).fit(views, y), stacked):
        frame = inspection.contributions(model, views)
        assert frame.attrs["how"] == "leaving out"
        assert frame["contribution"].abs().sum() > 0
    asked = inspection.contributions(LateFusion().fit(views, y), views, how="leaving out")
    assert asked.attrs["how"] == "leaving out"
    with pytest.raises(ValueError, match="how must be"):
        inspection.contributions(stacked, views, how="guess")


def test_models_and_pipelines_are_opened_and_views_put_in_order():
    views, y = planted(40)
    makes = ViewKernels()
    machine = AverageKernelSVC().fit(makes.fit_transform(views), y)
    pipeline = make_pipeline(ViewKernels(), AverageKernelSVC()).fit(views, y)
    for wrapped in (models.Model(machine, makes), pipeline):
        inside, _ = parts_of(machine, makes.transform(views[:5]))
        assert np.allclose(parts_of(wrapped, views[:5])[0], inside)
    joined = MMAFClassifier().fit(views, y)
    turned = inspection.contributions(joined, views.select(["noise", "tells", "echo"]))
    assert turned.equals(inspection.contributions(joined, views))


def test_scores_stand_in_for_probabilities_that_were_not_learned():
    views, y = planted(40)
    joined = MMAFClassifier().fit(views, y)
    last = np.arange(views.n_views) < views.n_views - 1
    without = views.hide(np.broadcast_to(last, views.observed.shape))
    lost = joined.decision_function(views) - joined.decision_function(without)
    parts, exact = parts_of(joined, views)
    assert not exact
    wanted = np.where(views.observed[:, [-1]], np.column_stack([-lost, lost]), 0.0)
    assert np.array_equal(parts[:, -1], wanted)


def test_what_is_not_fitted_is_refused():
    views, _ = planted(40)
    with pytest.raises(ValueError, match="call fit first"):
        inspection.contributions(EarlyFusionClassifier(), views)
