"""Training samples that decisions rest on."""

import numpy as np
import pytest

from absentia import (
    AbsentClassifier,
    AutoClassifier,
    AverageKernelSVC,
    EarlyFusionClassifier,
    ViewKernels,
    inspection,
    models,
)
from helpers.known_effects import planted


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("completer", [None, "cvkt"])
def test_shares_are_the_parts_of_the_score(n_classes, completer):
    views, y = planted(60, n_classes=n_classes)
    train, new = views[:45], views[45:]
    model = AbsentClassifier(completer, C=1.0).fit(train, y[:45])
    frame = inspection.support(model, new, n=45)
    assert np.allclose(frame.groupby("id")["share"].sum(), 1)
    labels = dict(zip(train.ids.tolist(), y[:45], strict=True))
    known = frame[frame["label"].notna()]
    assert len(known) > 0.5 * len(frame)
    assert all(labels[s] == label for s, label in zip(known["sample"], known["label"], strict=True))
    machine = model._machine
    rows = model._kernels.transform(new.select(model._order.views))
    scores = machine._view_scores(rows).sum(axis=1)
    if n_classes == 2:
        scores = np.column_stack([-scores, scores])
    codes = model._class_order[np.searchsorted(model.classes_, model.predict(new))]
    sums = frame["share"].where(frame["for"], -frame["share"]).groupby(frame["id"], sort=False).sum()
    own = scores[np.arange(len(new)), codes]
    assert np.array_equal(np.sign(sums.to_numpy()), np.sign(own))
    if completer == "cvkt":  # all rows have the same scale, so that shares and scores go together
        i = np.array([machine.ids_.tolist().index(s) for s in frame["sample"]])
        t = np.array([new.ids.tolist().index(s) for s in frame["id"]])
        z = machine.dual_coef_[0 if n_classes == 2 else codes[t], i]
        size = np.abs(z * np.mean([rows.block(name) for name in rows.names], axis=0)[t, i])
        total = np.bincount(t, size)
        assert np.allclose(frame["share"], size / total[t], atol=1e-9)


def test_a_copy_of_a_training_sample_rests_on_it():
    """Far from all others, with a narrow kernel, nothing else is near."""
    views, y = planted(60, absent=0.0)
    makes = ViewKernels(gamma=20.0)
    machine = AverageKernelSVC(C=1.0).fit(makes.fit_transform(views), y)
    for model in (models.Model(machine, makes), AbsentClassifier(None, kernel=makes, C=1.0).fit(views, y)):
        frame = inspection.support(model, views, n=1)
        assert frame["sample"].tolist() == frame["id"].tolist() == views.ids.tolist()
        assert frame["label"].tolist() == y.tolist()
        assert frame["for"].all()


def test_of_a_chooser_the_machines_are_read_and_others_refused():
    views, y = planted(60)
    candidates = {"svm": AbsentClassifier(C=1.0), "trees": EarlyFusionClassifier(n_trees=20)}
    chooser = AutoClassifier(candidates).fit(views, y)
    chooser.weights_by_candidate_ = {"svm": 0.5, "trees": 0.5}
    codes = chooser._class_order[(y == chooser.classes_[1]).astype(int)]
    chooser.estimators_ = {name: one.fit(views, codes) for name, one in candidates.items()}
    frame = inspection.support(chooser, views, n=2)
    assert frame.attrs["of"] == {"svm": 1.0}
    labels = dict(zip(views.ids.tolist(), y, strict=True))
    assert [labels[sample] for sample in frame["sample"]] == frame["label"].tolist()
    by_label = (frame["label"] == frame["predicted"]) == frame["for"]
    assert by_label.mean() > 0.9  # neighbours speak for their own class, but where a kernel is negative
    chooser.weights_by_candidate_ = {"trees": 1.0}
    with pytest.raises(ValueError, match="which the AutoClassifier uses, are no kernel machines"):
        inspection.support(chooser, views)
    with pytest.raises(ValueError, match="EarlyFusionClassifier is no kernel machine"):
        inspection.support(chooser.estimators_["trees"], views)


def test_samples_without_a_view_rest_on_nobody():
    views, y = planted(40)
    model = AbsentClassifier(C=1.0).fit(views, y)
    keep = np.ones((3, 3), dtype=bool)
    keep[1] = False
    assert set(inspection.support(model, views[:3].hide(keep))["id"]) == {"s0", "s2"}
