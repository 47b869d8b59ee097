"""Features that decide are found, and linear machines are read exactly."""

from warnings import catch_warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from absentia import (
    MKMC,
    AbsentClassifier,
    AutoClassifier,
    AverageKernelSVC,
    EarlyFusionClassifier,
    LateFusion,
    ViewKernels,
    Views,
    ViewStacking,
    inspection,
    models,
)
from absentia.methods.inspection._contributions import _coefficients_of_observed
from helpers.known_effects import planted


def first(frame):
    best = frame.loc[frame["importance"].idxmax()]
    return best["view"], best["feature"]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_feature_that_decides_counts_most(n_classes):
    views, y = planted(n_classes=n_classes)
    makes = ViewKernels("linear")
    machine = AverageKernelSVC().fit(makes.fit_transform(views), y)
    pipeline = make_pipeline(ViewKernels("linear"), AverageKernelSVC()).fit(views, y)
    for model in (
        AbsentClassifier(kernel="linear", C=1.0).fit(views, y),
        AbsentClassifier(None, kernel=ViewKernels("linear", center=True), C=1.0).fit(views, y),
        EarlyFusionClassifier("logistic", C=1.0).fit(views, y),
        models.Model(machine, makes),
        models.Model(machine, makes).compact(),
        pipeline,
    ):
        frame = inspection.feature_importance(model)
        assert frame.columns.tolist() == ["view", "feature", "importance"]
        assert len(frame) == 10
        assert first(frame) == ("tells", "key")


@pytest.mark.parametrize("completer", ["cvkt", "mean", "knn"])
def test_weights_give_the_view_s_own_part_of_scores(completer):
    """Exact, also where coefficients of absent samples were carried to observed ones."""
    views, y = planted(60)
    kernel = ViewKernels("linear", normalize=None, clip=None)
    model = AbsentClassifier(completer, kernel=kernel, C=0.1).fit(views[:45], y[:45])
    new = views[45:]
    parts = inspection.contributions(model, new)["contribution"].to_numpy().reshape(len(new), -1, 2)
    makes, machine = model._kernels.view_kernels_, model._machine
    second = int(np.argmax(model._class_order))  # the class that the machine takes for positive
    for v, name in enumerate(machine.names_in_):
        coefficients = machine.weights_[v] * _coefficients_of_observed(machine, model.completer_, name)
        _, weights = makes.linear_weights(name, coefficients)
        has = new.observed[:, new.names.index(name)]
        train = views[:45].block(name)
        table = (new.block(name) - train.mean(axis=0)) / train.std(axis=0)
        assert np.allclose(table @ weights[0], parts[has, views.names.index(name), second], atol=1e-9)


@pytest.mark.slow
def test_a_chooser_says_whose_importances_it_averages():
    views, y = planted()
    candidates = {
        "line": AbsentClassifier(kernel="linear", C=1.0),
        "trees": EarlyFusionClassifier(n_trees=30),
        "views": LateFusion(),
    }
    chooser = AutoClassifier(candidates).fit(views, y)
    chooser.weights_by_candidate_ = {"line": 0.2, "trees": 0.3, "views": 0.5}
    chooser.estimators_ = {name: one.fit(views, y) for name, one in candidates.items()}
    frame = inspection.feature_importance(chooser)
    assert frame.attrs["of"] == pytest.approx({"line": 0.4, "trees": 0.6})
    assert frame["importance"].sum() == pytest.approx(1)
    assert first(frame) == ("tells", "key")
    assert frame["view"].unique().tolist() == list(views.names)


@pytest.mark.slow
def test_fusion_and_stacking_have_those_of_the_views_models():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    views, y = planted()
    views = views.select(["noise", "tells", "echo"])
    trees = RandomForestClassifier(30, random_state=0)
    for model in (
        LateFusion(kernel="linear"),
        LateFusion(LogisticRegression(), rule="skill"),
        ViewStacking(trees),
    ):
        frame = inspection.feature_importance(model.fit(views, y))
        assert first(frame) == ("tells", "key")
        assert frame["importance"].sum() == pytest.approx(1)
        assert frame["view"].unique().tolist() == list(views.names)
    skilled = inspection.feature_importance(LateFusion(LogisticRegression(), rule="skill").fit(views, y))
    assert skilled.groupby("view")["importance"].sum()["tells"] > 0.5
    stacked = ViewStacking(final=LogisticRegression()).fit(views, y)
    with pytest.raises(ValueError, match="under a `final` model"):
        inspection.feature_importance(stacked)


def test_a_level_that_only_a_rare_class_has_counts_nothing_in_its_view():
    import pandas as pd
    from sklearn.linear_model import LogisticRegression

    y = np.array([0, 1] * 20 + [2, 2])
    stage = np.array(["I", "II", "alone"])[y]
    views = Views.from_dict({"who": pd.DataFrame({"stage": stage, "age": np.arange(42.0) % 7})})
    for model in (LateFusion(LogisticRegression()), LateFusion(kernel="linear")):
        frame = inspection.feature_importance(model.fit(views, y)).set_index("feature")["importance"]
        assert frame.index.tolist() == ["stage=I", "stage=II", "stage=alone", "age"]
        assert frame["stage=alone"] == 0 < frame["stage=I"]
        assert frame.sum() == pytest.approx(1)


def test_what_has_no_importances_says_what_has():
    views, y = planted(40)
    kernels = ViewKernels("linear").fit_transform(views)
    for model in (
        AbsentClassifier(C=1.0).fit(views, y),
        AverageKernelSVC().fit(kernels, y),
        LateFusion().fit(views, y),
    ):
        with pytest.raises(ValueError, match="importance needs a linear kernel"):
            inspection.feature_importance(model)
    with catch_warnings(action="ignore"):  # such views share too little to be completed well
        model = AbsentClassifier(MKMC(n_components=2), kernel="linear", C=1.0).fit(views, y)
    with pytest.raises(ValueError, match=r"MKMC completes .* use completer='cvkt'"):
        inspection.feature_importance(model)
