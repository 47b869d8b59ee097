"""absentia fit and absentia predict, from files to files."""

import numpy as np
import pytest

from absentia.experiment import _validation as validation
from absentia.experiment._validation import Plan, cross_validate, learn
from digits import digit_views

WARNED = pytest.mark.filterwarnings("ignore:.*have every view, which makes this identical")


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


@WARNED
def test_labels_that_mean_nothing_are_predicted_no_better_than_chance():
    """Far above one half here would mean that a fold has seen the samples it is judged on."""
    from absentia import MKLClassifier

    views, _ = digit_views(160, n_classes=10)
    y = np.random.default_rng(1).permutation(np.arange(160) % 2)
    judged = cross_validate(views, y, Plan(MKLClassifier(probability=True), C=100.0))
    for predicted in (judged.predicted, judged.averaged):
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
    learn(views, y, plan, lambda: steps.append(1))
    assert len(steps) == plan.steps(y, validate=False)
    cross_validate(views, y, plan, lambda: steps.append(1))
    assert len(steps) == plan.steps(y, validate=True)


@WARNED
def test_a_class_of_three_samples_is_enough():
    from absentia import AbsentMKLClassifier

    views, y = digit_views(40)
    y = np.where(np.cumsum(y == 2) <= 3, y, np.where(y == 2, 1, y))
    assert (y == 2).sum() == validation.FEWEST
    judged = cross_validate(views, y, Plan(AbsentMKLClassifier(probability=True)))
    assert judged.probabilities.shape == (40, 3)
    np.testing.assert_allclose(judged.probabilities.sum(axis=1), 1)
    assert learn(views, y, Plan(AbsentMKLClassifier(probability=True))).classifier.C in validation.GRID


@WARNED
def test_labels_by_id_have_to_be_in_the_order_of_the_samples():
    import pandas as pd

    from absentia import AverageKernelSVC

    views, y = digit_views(40)
    labels, plan = pd.Series(y, index=views.ids), Plan(AverageKernelSVC(), C=1.0)
    expected = cross_validate(views, y, plan).predicted
    np.testing.assert_array_equal(cross_validate(views, labels, plan).predicted, expected)
    for verb in (cross_validate, learn):
        with pytest.raises(ValueError, match=r"y = views\.align\(y\)"):
            verb(views, labels[::-1], plan)


@WARNED
def test_scores_go_with_predictions_and_views_are_hidden_from_those_who_have_them():
    from absentia import AverageKernelSVC

    for n_classes in (2, 3):
        views, y = digit_views(60, n_classes=n_classes)
        judged = cross_validate(views, y, Plan(AverageKernelSVC(), C=1.0))
        np.testing.assert_array_equal(np.unique(y)[judged.scores.argmax(axis=1)], judged.predicted)
        has = views.observed
        np.testing.assert_array_equal(judged.without[~has], np.tile(judged.predicted[:, None], 6)[~has])
        assert (judged.without != judged.predicted[:, None]).any()


def test_each_view_alone_is_hidden_from_those_who_have_it():
    class SaysWhatItSees:
        def predict(self, rows):
            return rows.observed @ 2 ** np.arange(rows.observed.shape[1])

    views, _ = digit_views(20)
    seen = SaysWhatItSees().predict(views)
    said = validation._without_each(SaysWhatItSees(), views, seen)
    np.testing.assert_array_equal(said, seen[:, None] - views.observed * 2 ** np.arange(views.n_views))


def test_what_is_said_of_views_reaches_methods_with_a_kernel_of_their_own():
    from absentia import AbsentClassifier, ViewKernels

    views, _ = digit_views(40)
    said = ViewKernels("rbf", per_view={views.names[0]: {"log": True}})
    own = Plan(AbsentClassifier(kernel="linear"), said).suited(views).classifier.kernel
    assert (own.kernel, own.per_view) == ("linear", said.per_view)
    assert Plan(AbsentClassifier(), said).suited(views).classifier.kernel.kernel == "rbf"
    assert Plan(AbsentClassifier(kernel="linear"), "rbf").suited(views).classifier.kernel == "linear"
