"""A classifier, whatever it is wrapped in."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from absentia import AverageKernelSVC, EarlyFusionClassifier, ViewKernels, models
from absentia.methods.inspection._opened import opened, said
from readable import planted


def test_models_and_pipelines_are_opened_and_views_put_in_order():
    views, y = planted(40)
    makes = ViewKernels()
    machine = AverageKernelSVC().fit(makes.fit_transform(views), y)
    pipeline = make_pipeline(ViewKernels(), AverageKernelSVC()).fit(views, y)
    for wrapped in (models.Model(machine, makes), pipeline):
        inside, rows = opened(wrapped, views[:5])
        assert isinstance(inside, AverageKernelSVC)
        assert np.allclose(inside.decision_function(rows), wrapped.decision_function(views[:5]))
    joined = EarlyFusionClassifier("svm").fit(views, y)
    _, rows = opened(joined, views.select(["noise", "tells", "echo"]))
    assert rows.names == joined.names_in_


def test_scores_stand_in_for_probabilities_that_were_not_learned():
    views, y = planted(40)
    joined = EarlyFusionClassifier("svm").fit(views, y)
    scores = joined.decision_function(views)
    assert np.array_equal(said(joined, views), np.column_stack([-scores, scores]))
    probabilities = EarlyFusionClassifier("logistic").fit(views, y)
    assert np.array_equal(said(probabilities, views), probabilities.predict_proba(views))


def test_what_is_not_fitted_is_refused():
    views, _ = planted(40)
    with pytest.raises(ValueError, match="call fit first"):
        opened(EarlyFusionClassifier(), views)
