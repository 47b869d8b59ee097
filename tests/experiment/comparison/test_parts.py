"""By pattern, by view, curves, confusion."""

from dataclasses import replace

import numpy as np
import pytest

from absentia.experiment.comparison import make_task_data
from absentia.experiment.comparison._summary import ComparisonSummary, _scores_by_fold
from absentia.experiment.engine import Record
from absentia.experiment.learning_curve import average_folds
from absentia.experiment.results import Metric
from helpers.comparison_problems import METHODS, made_data, made_design, made_records, made_views, targets

TASKS = ["classes", "numbers", "labels", "completion"]


def parts(problem, design, records):
    return vars(ComparisonSummary(problem, design, records, dict.fromkeys(design.methods, 9)).results())


# ------------------------------------------------------------------------------------------------- folds


def test_folds_are_those_that_were_done_and_measured():
    done = lambda repeat, fold, value: Record(
        {"repeat": repeat, "fold": fold}, "done", {"scores": {"AUC": value}}
    )
    records = [
        done(1, 0, 0.5),
        done(0, 1, None),
        done(0, 0, 0.7),
        Record({"repeat": 2, "fold": 0}, "failed"),
    ]
    assert list(_scores_by_fold(records, "AUC").items()) == [((0, 0), 0.7), ((1, 0), 0.5)]
    assert _scores_by_fold(records, "accuracy") == {}


def test_spans_stay_where_scores_can_be():
    share, error = Metric("AUC", True, True, ""), Metric("RMSE", False, False, "")
    assert average_folds(np.array([0.9, 1.0, 1.0]), share, 0.5).high == 1.0
    assert average_folds(np.array([0.1, 0.5]), error, 0.5).low == 0.0
    assert average_folds(np.array([0.1, -0.9]), Metric("R2", True, True, ""), 0.5).low < -1
    assert average_folds(
        np.array([-0.1, -0.2]), Metric("similarity", True, True, ""), 0.1
    ).value == pytest.approx(-0.15)
    one = average_folds(np.array([0.4]), share, 0.5, 0.1)
    assert one.value == pytest.approx(0.5)
    assert np.isnan([one.low, one.high]).all()


# ---------------------------------------------------------------------------------------------- by pattern


@pytest.mark.parametrize("task", ["classes", "numbers", pytest.param("labels", marks=pytest.mark.slow)])
def test_patterns_part_the_samples(task):
    problem, design = made_data(task), made_design(task)
    records = made_records(problem, design)
    found = parts(problem, design, records)
    groups = found["patterns"]
    assert sum(group.count for group in groups) == 40
    assert len({group.words for group in groups}) == len(groups)
    whole = {method: total(problem, records, method) for method in design.methods}
    root = task == "numbers"
    for group in groups:
        rows = (problem.data.observed == group.present).all(axis=1) if group.present else None
        assert set(group.scores) == set(design.methods)
        if rows is not None:
            assert group.count == rows.sum()
            for method, score in group.scores.items():
                mean = np.nanmean(whole[method][rows])
                assert score == pytest.approx(np.sqrt(mean) if root else mean)
    assert found["group_metric"].higher == (task != "numbers")


def total(problem, records, method):
    """Mean over repeats of each sample's hit, or squared error."""
    found = []
    for repeat in range(3):
        values = np.full(40, np.nan)
        for record in records:
            key = record.trial
            if (key["kind"], key["method"], key["repeat"]) == ("predict", method, repeat):
                test, said = record.result["test"], np.array(record.result["predicted"])
                y = problem.y[test]
                if problem.kind == "numbers":
                    values[test] = (y - said) ** 2
                elif problem.kind == "labels":
                    values[test] = np.nanmean(np.where(np.isnan(y), np.nan, y == said), axis=1)
                else:
                    values[test] = y == said
        found.append(values)
    return np.mean(found, axis=0)


def test_patterns_in_words_and_many_of_them_together():
    views, factors = made_views(200, rate=0.45, widths=(2, 2, 2, 2, 2))
    problem = make_task_data(views, targets("classes", factors))
    design = made_design("classes", repeats=1)
    groups = parts(problem, design, made_records(problem, design))["patterns"]
    assert len(groups) == 8 + 1
    assert groups[-1].words == "other patterns together"
    assert groups[-1].present == ()
    assert sum(group.count for group in groups) == 200
    for group in groups[:-1]:
        has = [name for name, there in zip(views.names, group.present, strict=True) if there]
        lacks = [name for name in views.names if name not in has]
        words = (
            "every view"
            if not lacks
            else f"only {has[0]}"
            if len(has) == 1
            else "without " + ", ".join(lacks)
        )
        assert group.words == words
    counts = [group.count for group in groups[:-1]]
    assert counts == sorted(counts, reverse=True)


# ------------------------------------------------------------------------------------------------- by view


@pytest.mark.parametrize(
    ("task", "metric"), [("classes", "accuracy"), ("classes", "log-loss"), ("numbers", "RMSE")]
)
def test_a_view_is_worth_what_is_lost_without_it(task, metric):
    problem, design = made_data(task), made_design(task, metric=metric)
    sign = 1 if metric == "accuracy" else -1
    rng = np.random.default_rng(0)

    def told(record):
        key = record.trial
        level = 0.8
        if key["kind"] == "views":
            level = {("view0",): 0.7, ("view1",): 0.55}.get(tuple(key["views"]), 0.75)
            level = 0.6 if key["views"] == ["view1", "view2"] else level
        level = level if sign > 0 else 1.6 - level
        scores = {**record.result["scores"], metric: level + 1e-3 * rng.normal()}
        nothing = {"nothing": {metric: 0.5 if sign > 0 else 1.1}} if key["kind"] == "views" else {}
        return replace(record, result={**record.result, "scores": scores, **nothing})

    found = parts(problem, design, [told(record) for record in made_records(problem, design)])
    assert found["views_with"] == METHODS[task][0]
    worth = {one.view: one for one in found["views"]}
    assert worth["view0"].left_out.mean == pytest.approx(0.2, abs=0.01)  # without it .6 instead of .8
    assert worth["view1"].left_out.mean == pytest.approx(0.05, abs=0.01)
    assert worth["view0"].alone.mean == pytest.approx(0.2, abs=0.01)
    assert worth["view1"].alone.mean == pytest.approx(0.05, abs=0.01)
    assert worth["view0"].alone.p < 0.05
    assert worth["view0"].alone.low < worth["view0"].alone.mean < worth["view0"].alone.high


def test_views_of_which_nothing_is_known():
    problem, design = made_data("classes"), made_design("classes")
    records = made_records(problem, design)
    some = [r for r in records if r.trial["kind"] != "views" or r.trial["views"] == ["view0"]]
    worth = {one.view: one for one in parts(problem, design, some)["views"]}
    assert worth["view0"].alone is not None
    assert worth["view0"].left_out is None
    assert (worth["view1"].alone, worth["view1"].left_out) == (None, None)
    none = parts(problem, design, [r for r in records if r.trial["kind"] != "views"])
    assert (none["views"], none["views_with"]) == ([], "")


# -------------------------------------------------------------------------------------------------- curves


def test_curves_of_predictions_begin_with_nothing_hidden():
    problem, design = made_data("classes"), made_design("classes", rates=(0.4, 0.2))
    records = made_records(problem, design)
    summary = ComparisonSummary(problem, design, records, dict.fromkeys(design.methods, 9))
    points = summary.results().curves
    for row in summary.rows:
        own = [point for point in points if point.method == row.method]
        assert [point.rate for point in own] == [0.0, 0.2, 0.4]
        assert own[0].score == row.scores["balanced accuracy"]
        values = [
            r.result["scores"]["balanced accuracy"]
            for r in records
            if (r.trial["method"], r.trial.get("rate"), r.trial["kind"]) == (row.method, 0.2, "rates")
        ]
        assert own[1].score.value == pytest.approx(np.mean(values))


def test_curves_of_completion_have_the_rates():
    problem = made_data("completion")
    design = made_design("completion", rates=(0.1, 0.4))
    points = parts(problem, design, made_records(problem, design))["curves"]
    assert {point.rate for point in points} == {0.1, 0.2, 0.4}
    plain = made_design("completion")
    assert parts(problem, plain, made_records(problem, plain))["curves"] == []


# ----------------------------------------------------------------------------------------- classes


def test_confusion_counts_every_sample_once():
    problem, design = made_data("classes"), made_design("classes")
    records = made_records(problem, design)
    found = parts(problem, design, records)
    assert found["classes"] == ["early", "late"]
    for method in design.methods:
        table = found["confusion"][method]
        np.testing.assert_array_equal(table.sum(axis=1), np.bincount(problem.y))
        first = [
            r
            for r in records
            if (r.trial["kind"], r.trial["method"], r.trial["repeat"]) == ("predict", method, 0)
        ]
        hits = sum((np.array(r.result["predicted"]) == problem.y[r.result["test"]]).sum() for r in first)
        assert np.trace(table) == hits
    without = [r for r in records if not (r.trial["method"] == "linear" and r.trial["fold"] == 1)]
    assert set(parts(problem, design, without)["confusion"]) == {"average", "mean-svm"}


def test_confusion_is_of_true_classes_in_rows():
    problem, design = made_data("classes"), made_design("classes", repeats=1)
    records = [
        replace(r, result={**r.result, "predicted": [1] * len(r.result["test"])})
        for r in made_records(problem, design)
        if r.trial["kind"] == "predict"
    ]
    table = parts(problem, design, records)["confusion"]["average"]
    assert table.tolist() == [[0, (problem.y == 0).sum()], [0, (problem.y == 1).sum()]]


@pytest.mark.parametrize("task", TASKS)
def test_without_records_there_are_no_parts(task):
    found = parts(made_data(task), made_design(task, rates=(0.1,)), [])
    assert [found[name] for name in ("views", "curves", "confusion")] == [[], [], {}]
