"""Cross-validation: nothing of what is judged on is seen by what is judged, whatever is learned."""

import numpy as np
import pytest
from scipy.stats import entropy

from absentia import AbsentClassifier, AverageKernelSVC, EarlyFusionClassifier, ViewKernels, Views
from absentia.experiment import _validation, count_steps
from absentia.experiment import cross_validate as cross_validate_task
from absentia.experiment._validation import _predict_without_each
from absentia.methods.learning._held_out import _GRID
from absentia.tasks import CLASSIFICATION, Plan
from helpers.digit_samples import digit_views
from helpers.known_effects import planted

WARNED = pytest.mark.filterwarnings("ignore:.*have every view, which makes this identical")


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def cross_validate(data, y, plan, **beside):
    return cross_validate_task(CLASSIFICATION, data, y, {"own": plan, **beside})


learn = CLASSIFICATION.learn


@pytest.mark.slow
@WARNED
def test_labels_that_mean_nothing_are_predicted_no_better_than_chance():
    """Far above one half here would mean that a fold has seen the samples it is judged on."""
    from absentia import MKLClassifier

    views, _ = digit_views(160, n_classes=10)
    y = np.random.default_rng(1).permutation(np.arange(160) % 2)
    plan = Plan(MKLClassifier(probability=True), C=100.0)
    judged = cross_validate(views, y, plan, **CLASSIFICATION.baseline_plans(plan, views))
    for predicted in (judged.predicted["own"], judged.predicted["averaged kernel SVM"]):
        assert (predicted == y).mean() < 0.65
    in_training = learn(views, y, Plan(MKLClassifier(), C=100.0)).predict(views)
    assert (in_training == y).mean() > 0.9


@WARNED
def test_the_folds_see_only_their_training_samples(monkeypatch):
    from absentia import AbsentMKLClassifier, ViewKernels

    views, y = digit_views(60)
    seen = []
    fit = ViewKernels.fit_transform
    monkeypatch.setattr(
        ViewKernels,
        "fit_transform",
        lambda self, X, *a: seen.append(set(X.ids.tolist())) or fit(self, X, *a),
    )
    cross_validate(views, y, Plan(AbsentMKLClassifier(), C=1.0))
    assert len(seen) == 5
    left_out = [set(views.ids.tolist()) - part for part in seen]
    assert sorted(len(part) for part in left_out) == [12] * 5
    assert set.union(*left_out) == set(views.ids.tolist())


@WARNED
@pytest.mark.parametrize("C", [None, 1.0])
def test_progress_counts_to_the_end(C):
    from absentia import MKLClassifier

    views, y = digit_views(60)
    plan, steps = Plan(MKLClassifier(), C=C), []
    judged = {"own": plan, "other": Plan(AverageKernelSVC(), C=C)}
    learn(views, y, plan, lambda: steps.append(1))
    assert len(steps) == count_steps(plan, {}, 0)
    cross_validate_task(CLASSIFICATION, views, y, judged, lambda: steps.append(1))
    assert len(steps) == count_steps(plan, judged, CLASSIFICATION.count_folds(y))


@pytest.mark.slow
@WARNED
def test_a_class_of_three_samples_is_enough():
    from absentia import AbsentMKLClassifier

    views, y = digit_views(40)
    y = np.where(np.cumsum(y == 2) <= 3, y, np.where(y == 2, 1, y))
    assert (y == 2).sum() == 3
    plan = Plan(AbsentMKLClassifier(C="cv", probability=True))
    judged = cross_validate(views, y, plan)
    assert judged.probabilities.shape == (40, 3)
    np.testing.assert_allclose(judged.probabilities.sum(axis=1), 1)
    assert learn(views, y, plan).classifier.C_ in _GRID


@WARNED
def test_labels_by_id_have_to_be_in_the_order_of_the_samples():
    import pandas as pd

    from absentia import AverageKernelSVC

    views, y = digit_views(40)
    labels, plan = pd.Series(y, index=views.ids), Plan(AverageKernelSVC(), C=1.0)

    def judge(views, y, plan):
        return cross_validate(views, y, plan).predicted["own"]

    np.testing.assert_array_equal(judge(views, labels, plan), judge(views, y, plan))
    for verb in (judge, learn):
        with pytest.raises(ValueError, match=r"y = views\.align\(y\)"):
            verb(views, labels[::-1], plan)


@WARNED
def test_scores_go_with_predictions_and_views_are_hidden_from_those_who_have_them():
    from absentia import AverageKernelSVC

    for n_classes in (2, 3):
        views, y = digit_views(60, n_classes=n_classes)
        judged = cross_validate(views, y, Plan(AverageKernelSVC(), C=1.0))
        has = views.observed
        np.testing.assert_array_equal(
            judged.without[~has], np.tile(judged.predicted["own"][:, None], 6)[~has]
        )
        assert (judged.without != judged.predicted["own"][:, None]).any()


def test_each_view_alone_is_hidden_from_those_who_have_it():
    class SaysWhatItSees:
        def predict(self, rows):
            return rows.observed @ 2 ** np.arange(rows.observed.shape[1])

    views, _ = digit_views(20)
    seen = SaysWhatItSees().predict(views)
    said = _predict_without_each(CLASSIFICATION, SaysWhatItSees(), views, seen)
    np.testing.assert_array_equal(said, seen[:, None] - views.observed * 2 ** np.arange(views.n_views))


# ------------------------------------------------------------------------ what decisions rest on, and gains


@pytest.mark.parametrize("n_classes", [2, 3])
def test_contributions_and_gains_are_of_samples_that_the_model_has_not_seen(n_classes, monkeypatch):
    seen = []
    value = _validation.inspection.value_of_views

    def watched(model, X, among, **options):
        seen.append(set(X.ids.tolist()) & set(among.ids.tolist()))
        assert not set(X.ids.tolist()) & set(model.classifier.ids_.tolist())
        return value(model, X, among, **options)

    monkeypatch.setattr(_validation.inspection, "value_of_views", watched)
    views, y = planted(60, n_classes=n_classes)
    judged = cross_validate(views, y, Plan(AbsentClassifier("mean"), C=1.0))
    assert len(seen) == 5
    assert not any(seen)
    lacking = {(i, v) for i, v in np.argwhere(~views.observed).tolist()}
    assert {(g.sample, g.view) for g in judged.gains} == lacking
    by_view = [np.mean([g.gain for g in judged.gains if g.view == v]) for v in range(3)]
    assert by_view[0] > by_view[2]


@pytest.mark.slow
def test_of_kernels_there_are_no_gains_and_machines_on_kernels_of_features_have_some():
    views, y = planted(40)
    plan = Plan(AverageKernelSVC(probability=True), C=1.0)
    kernels = ViewKernels().fit_transform(views)
    assert cross_validate(kernels, y, plan).gains is None
    assert len(cross_validate(views, y, plan).gains) > 0
    assert cross_validate(views, y, Plan(AverageKernelSVC(), C=1.0)).gains is None


def test_only_the_least_certain_are_tried_where_there_are_many(monkeypatch):
    monkeypatch.setattr(_validation, "_MAX_GAIN_SAMPLES", 10)
    views, y = planted(60)
    judged = cross_validate(views, y, Plan(EarlyFusionClassifier("logistic"), C=1.0))
    samples = {g.sample for g in judged.gains}
    assert len(samples) == 10
    lacking = np.flatnonzero(~views.observed.all(axis=1))
    doubt = entropy(judged.probabilities, axis=1)
    assert doubt[list(samples)].mean() > doubt[lacking].mean()


@pytest.mark.parametrize("by", ["pattern", "none"])
def test_sets_are_judged_by_the_scores_of_other_folds_alone(by):
    """Counted by hand: samples of one pattern, or all, that are in another fold, rank the classes of each."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=160)
    y = np.digitize(z + rng.normal(size=160), [-0.5, 0.5])
    observed = np.column_stack([np.ones(160, bool), np.arange(160) % 3 > 0])
    views = Views.from_dict({"a": rng.normal(size=(160, 2)), "b": z[:, None]}, observed=observed)
    plan = Plan(EarlyFusionClassifier("logistic", C=0.1))
    judged = cross_validate_task(CLASSIFICATION, views, y, {"own": plan}, coverage=0.8)
    proba, classes = judged.probabilities, np.unique(y)
    own = 1 - proba[np.arange(160), np.searchsorted(classes, y)]
    missed, size = np.zeros(160, bool), np.zeros(160)
    for i in range(160):
        others = judged.fold != judged.fold[i]
        if by == "pattern":
            others &= (views.observed == views.observed[i]).all(axis=1)
        rank = int(np.ceil(0.8 * (others.sum() + 1) - 1e-9))
        members = (1 - proba[i] <= np.sort(own[others])[rank - 1] + 1e-12) | (proba[i] == proba[i].max())
        missed[i], size[i] = y[i] not in classes[members], members.sum()
    regions = judged.held_out[by].judge()
    np.testing.assert_array_equal(regions.missed, missed)
    np.testing.assert_array_equal(regions.size, size)
    rows = np.asarray(views.observed.all(axis=1))
    reached, low, high = regions.measure_coverage(rows)
    assert reached == pytest.approx(1 - missed[rows].mean())
    assert low < reached < high
