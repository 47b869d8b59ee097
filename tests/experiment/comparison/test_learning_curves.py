"""Trials of learning curves: who is learned from, who keeps a view, and what comes of the records."""

import json
from dataclasses import replace

import numpy as np
import pytest

import absentia
from absentia import Views
from absentia.experiment.comparison import Design, Study, make_task_data
from absentia.experiment.comparison._design import (
    curve_methods,
    draw_presence,
    draw_training_part,
    find_spare_cells,
)
from absentia.experiment.comparison._study import perform_trial
from absentia.experiment.engine import Pool
from helpers.comparison_problems import METHODS, made_data, made_design, made_records, made_views, targets

SHARES = (0.25, 0.4, 0.6, 0.8)


def study_of(data, folder, repeats=1, cv=4, methods=("average", "linear")):
    study = Study(
        data, Design(methods, repeats=repeats, cv=cv, repeats_of_views=0, learning_curve=True), folder
    )
    study.save()
    return study


def ran(study):
    study.run(study.outstanding(), Pool(1))
    return study.results().learning_curve


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    return ran(study_of(made_data("classes", 60), tmp_path_factory.mktemp("curve")))


# --------------------------------------------------------------------------------------------- the draws


def test_a_training_part_has_its_share_of_each_class_and_holds_the_smaller_ones():
    data = made_data("classes", 60)
    train = data.split(4, 0, 0)[0][0]
    parts = [draw_training_part(data, train, share, [0, 0, 0]) for share in (*SHARES, 1.0)]
    for share, part, larger in zip(SHARES, parts, parts[1:], strict=False):
        assert set(part) < set(larger) <= set(train)
        counts, whole = np.bincount(data.y[part]), np.bincount(data.y[train])
        assert (np.abs(counts - share * whole) <= 1.5).all()
    assert set(parts[-1]) == set(train)


def test_three_of_every_class_stay():
    views, _ = made_views(60)
    data = make_task_data(views, np.repeat([0, 1], [52, 8]))
    train = data.split(4, 0, 0)[0][0]
    part = draw_training_part(data, train, 0.1, [0, 0, 0])
    assert np.bincount(data.y[part]).tolist() == [3, 3]


def test_nobody_loses_the_last_view_and_no_label_has_a_say():
    data, names = made_data("classes", 60), made_data("classes", 60).data.names
    other = replace(data, y=1 - data.y)
    other.__dict__["order"] = data.order
    for view in names:
        spare = find_spare_cells(data.data, view)
        for share in (0.0, 0.5):
            keep = draw_presence(data, view, share, [0, 1])
            left = data.data.hide(keep).observed
            assert left.any(axis=1).all()
            assert (data.data.observed & ~left).sum() == len(spare) - round(share * len(spare))
            assert keep[:, [name != view for name in names]].all()
            assert (keep == draw_presence(other, view, share, [0, 1])).all()
        assert (draw_presence(data, view, 0.0, [0, 1]) <= draw_presence(data, view, 0.5, [0, 1])).all()


def test_curves_are_of_the_default_or_the_first_that_was_named_and_of_the_simplest():
    data = made_data("classes")
    assert curve_methods(data, Design(("average", "linear", "auto"), learning_curve=True)) == [
        "auto",
        "average",
    ]
    assert curve_methods(data, Design(("average", "linear"), learning_curve=True)) == ["linear", "average"]
    assert curve_methods(data, Design(("average",), learning_curve=True)) == ["average"]


# -------------------------------------------------------------------------------------------- the trials


def test_trials_learn_from_fewer_and_views_are_had_by_fewer(learned):
    for curve in learned.samples:
        assert [point.n for point in curve.points] == pytest.approx([11.25, 18, 27, 36, 45], abs=0.51)
    data = made_data("classes", 60).data
    for v, curve in enumerate(learned.views):
        has, spare = data.observed[:, v].sum(), len(find_spare_cells(data, curve.view))
        assert (curve.have, curve.lack) == (has, 60 - has)
        assert [point.n for point in curve.points] == [has - spare, has - spare + round(spare / 2), has]


def test_a_view_that_nobody_has_to_learn_from_is_left_out(tmp_path):
    data = made_data("classes", 60, rate=0.0)
    trials = [t for t in study_of(data, tmp_path).trials if t.key.get("view") == "view0"]
    none = next(t for t in trials if t.key["share"] == 0.0)
    others = perform_trial({**none.key, "kind": "views", "views": ["view1", "view2"]}, data)
    assert perform_trial(none.key, data)["scores"] == others["scores"]


def test_the_order_of_samples_does_not_matter(tmp_path, learned):
    views, factors = made_views(60)
    y = targets("classes", factors)
    order = np.random.default_rng(5).permutation(60)
    second = ran(study_of(make_task_data(views[order], y[order]), tmp_path))
    assert learned.table().equals(second.table())
    assert learned.sentences == second.sentences


@pytest.mark.slow
def test_stopped_and_gone_on_is_in_one_go(tmp_path, learned):
    data = made_data("classes", 60)
    study = study_of(data, tmp_path)
    study.run(study.trials[::3], Pool(1))
    half = study.results().learning_curve
    assert len(half.table()) < len(learned.table())
    whole = ran(study)
    assert whole.table().equals(learned.table())
    assert study.outstanding() == []


def test_a_comparison_without_keeps_its_trials_and_one_with_adds_to_them(tmp_path):
    data = made_data("classes", 60)
    with_curve = study_of(data, tmp_path)
    without = Study(data, replace(with_curve.design, learning_curve=False), tmp_path)
    assert {t.hash for t in without.trials} < {t.hash for t in with_curve.trials}
    assert without.results().learning_curve is None


@pytest.mark.parametrize("task", ["numbers", "survival", "labels"])
def test_other_tasks_have_curves_of_their_main_score(task):
    data = made_data(task)
    design = made_design(task, learning_curve=True, repeats_of_views=0)
    records = made_records(data, design)
    results = Study(data, design, "nowhere")
    results.records.of = lambda trials: {str(i): record for i, record in enumerate(records)}
    learned = results.results().learning_curve
    assert learned.metric == data.task.metrics[0]
    assert [curve.method for curve in learned.samples] == [METHODS[task][1], METHODS[task][0]]
    assert all(len(curve.points) == 5 for curve in learned.samples)


@pytest.mark.parametrize("task", ["numbers", "survival"])
def test_their_trials_can_be_done(task, tmp_path):
    data = made_data(task, 60)
    study = study_of(data, tmp_path, cv=2, methods=METHODS[task][:1])
    records = ran(study)
    assert study.results().done == len(study.trials)
    assert all(record.done for record in study.records.of(study.trials).values())
    assert len(records.samples[0].points) >= 4  # numbers keep three of every fifth: two shares are one


def test_without_labels_there_is_no_curve():
    with pytest.raises(ValueError, match="a learning curve is of predictions: give labels"):
        Study(made_data("completion"), Design(("mean",), learning_curve=True), "nowhere")
    with pytest.raises(ValueError, match="learning_curve is true or false, not 'x'"):
        Design(("mean",), learning_curve="x")


def test_a_record_that_cannot_be_is_refused(tmp_path):
    study = study_of(made_data("classes", 60), tmp_path)
    trial = next(t for t in study.trials if t.key["kind"] == "train")
    study.run([trial], Pool(1))
    path = tmp_path / "trials" / f"{trial.hash}.json"
    content = json.loads(path.read_text())
    for wrong in (None, 0, 60, "12"):
        content["result"]["n_train"] = wrong
        path.write_text(json.dumps(content))
        again = Study(study.data, study.design, tmp_path)
        assert again.records.of([trial]) == {}
        assert "n_train" in next(iter(again.records.damaged.values()))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_labels_by_coin_are_at_chance_at_every_size(tmp_path):
    """Ten data sets: neither more samples nor a view for more of them tells what nothing can tell."""
    scores, views = [], []
    for seed in range(10):
        rng = np.random.default_rng([seed, 7])
        tables = {f"view{v}": rng.standard_normal((60, 5)) for v in range(3)}
        tables["view0"][:20] = np.nan
        y = rng.permutation(np.arange(60) % 2)
        found = absentia.compare(
            Views.from_dict(tables), y, methods=["auto"], repeats=1, n_jobs=1, learning_curve=True
        ).learning_curve()
        scores.append([point.score.value for point in found.samples[0].points])
        views.append([point.score.value for curve in found.views for point in curve.points])
    for values in (np.array(scores), np.array(views)):
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        assert (np.abs(values.mean(axis=0) - 0.5) <= 3.5 * error).all(), values.mean(axis=0)
