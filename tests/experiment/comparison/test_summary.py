"""From records to the table: scores, differences, failures, whatever there is of them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia.data import statistics
from absentia.experiment.comparison._summary import ComparisonSummary
from absentia.experiment.engine import Record
from absentia.tasks import TASKS as ALL
from helpers.comparison_problems import METHODS, made_data, made_design, made_records, trials_of

TASKS = list(ALL)


def wanted(problem, design):
    main = "complete" if problem.kind == "completion" else "predict"
    counts = dict.fromkeys(design.methods, 0)
    for trial in trials_of(problem, design):
        if trial.key["kind"] == main and trial.key.get("rate", design.hide) == design.hide:
            counts[trial.key["method"]] += 1
    return counts


def summed(problem, design, records):
    return ComparisonSummary(problem, design, records, wanted(problem, design))


def scored(problem, design, value):
    """Records whose main metric is ``value(method, repeat, fold)``; None fails."""
    found = []
    for record in made_records(problem, design):
        key = record.trial
        number = value(key["method"], key["repeat"], key["fold"])
        if number is None:
            found.append(Record(key, "failed", error="could not", cost={"cpu": 9.0}))
        else:
            name = design.metric or problem.task.metrics[0].name
            scores = {**record.result["scores"], name: number}
            found.append(replace(record, result={**record.result, "scores": scores}))
    return found


def by_method(results):
    return {row.method: row for row in results.rows}


# ------------------------------------------------------------------------------------------- the table


@pytest.mark.slow_params("labels")
@pytest.mark.parametrize("task", TASKS)
def test_scores_are_means_of_folds_with_their_interval(task):
    problem, design = made_data(task), made_design(task)
    records = made_records(problem, design)
    found = summed(problem, design, records).results()
    share = 0.25 if task == "completion" else 0.5  # hidden over left, tested over trained
    main = [r for r in records if r.trial["kind"] in ("predict", "complete")]
    for row in found.rows:
        own = [r for r in main if r.trial["method"] == row.method]
        for metric in ALL[task].metrics:
            values = [r.result["scores"][metric.name] for r in own]
            span = statistics.corrected_resampled_t(values, share)
            assert row.scores[metric.name].value == pytest.approx(span.mean)
            bounds = [-np.inf if metric.name == "R2" else -1.0 if metric.name == "similarity" else 0.0,
                      1.0 if metric.higher and metric.share else np.inf]  # fmt: skip
            assert row.scores[metric.name][1:] == pytest.approx(np.clip([span.low, span.high], *bounds))
        assert row.cpu == pytest.approx(np.median([r.cost["cpu"] for r in own]))
        assert row.memory == pytest.approx(np.max([r.cost["memory"] for r in own]))
        assert (row.done, row.failed, row.wanted) == (len(own), 0, len(own))
    assert (found.done, found.names) == (len(records), problem.data.names)


@pytest.mark.parametrize(
    ("task", "metric"),
    [
        pytest.param("classes", "accuracy", marks=pytest.mark.slow),
        pytest.param("classes", "log-loss", marks=pytest.mark.slow),
        ("numbers", "RMSE"),
        ("completion", "ARE"),
        ("completion", "similarity"),
    ],
)
def test_differences_are_positive_where_a_method_is_better(task, metric):
    problem, design = made_data(task), made_design(task, metric=metric)
    simplest, good, bad = METHODS[task]
    higher = next(m for m in ALL[task].metrics if m.name == metric).higher
    rng = np.random.default_rng(0)
    noise = {key: 0.01 * rng.normal() for key in np.ndindex(3, 3, 3)}

    def value(method, repeat, fold):
        level = (
            {simplest: 0.5, good: 0.6, bad: 0.4}[method]
            if higher
            else {simplest: 0.5, good: 0.4, bad: 0.6}[method]
        )
        return level + noise[METHODS[task].index(method), repeat, fold]

    found = summed(problem, design, scored(problem, design, value)).results()
    assert found.metric.name == metric
    assert [row.method for row in found.rows] == [good, simplest, bad]
    own = {one.method: one for one in found.differences}
    assert list(own) == [good, bad]
    assert own[good].mean == pytest.approx(0.1, abs=0.02)
    assert own[bad].mean == pytest.approx(-0.1, abs=0.02)
    assert own[good].better > 0.9
    assert own[bad].worse > 0.9
    for one in found.differences:
        assert one.low <= one.mean <= one.high
        assert one.worse + one.same + one.better == pytest.approx(1)
    np.testing.assert_allclose(
        [one.adjusted for one in found.differences], statistics.holm([one.p for one in found.differences])
    )
    assert (found.recommendation.winner, found.recommendation.best) == (good, good)


def test_the_region_of_equivalence_is_relative_where_scores_are_no_shares():
    problem = made_data("numbers")
    rmse = made_design("numbers", metric="RMSE", equivalence=0.02)
    found = summed(problem, rmse, scored(problem, rmse, lambda m, r, f: 50.0 + f))
    assert found.equivalence == pytest.approx(0.02 * 51)
    r2 = made_design("numbers", equivalence=0.02)
    assert summed(problem, r2, []).equivalence == 0.02
    assert summed(problem, rmse, []).equivalence == 0.0


@pytest.mark.parametrize("task", [pytest.param("classes", marks=pytest.mark.slow), "completion"])
def test_a_thinned_method_is_shown_by_the_folds_that_it_shares(task):
    problem = made_data(task)
    simplest, slow, _ = METHODS[task]
    design = made_design(task, repeats_of={slow: 2})
    hard = lambda m, repeat, fold: 0.9 - 0.3 * repeat + (0.05 if m == slow else 0.0) + 0.001 * fold
    found = summed(problem, design, scored(problem, design, hard)).results()
    rows, metric = by_method(found), found.metric.name
    own = next(one for one in found.differences if one.method == slow)
    sign = 1 if found.metric.higher else -1
    assert own.mean == pytest.approx(0.05 * sign)
    gap = rows[slow].scores[metric].value - rows[simplest].scores[metric].value
    assert gap == pytest.approx(0.05)  # and not .2, which easy folds would give
    assert rows[slow].wanted == (2 if task == "completion" else 6)


def test_folds_that_the_simplest_failed_on_are_nobody_elses_gain():
    problem, design = made_data("classes"), made_design("classes")
    value = lambda m, repeat, fold: (
        None if m == "average" and fold == 0 else 0.5 + 0.2 * (fold == 0) + 0.01 * (m == "linear")
    )
    found = summed(problem, design, scored(problem, design, value)).results()
    rows = by_method(found)
    scores = {m: rows[m].scores["balanced accuracy"].value for m in rows}
    assert scores["linear"] - scores["average"] == pytest.approx(0.01)
    assert (rows["average"].done, rows["average"].failed, rows["average"].errors) == (6, 3, ("could not",))
    assert rows["average"].cpu < 2  # without those that failed


def test_shares_stay_shares():
    problem = made_data("classes")
    design = made_design("classes", repeats_of={"linear": 1})
    value = lambda m, repeat, fold: 1.0 if m == "linear" else 0.8 + 0.1 * repeat
    found = summed(problem, design, scored(problem, design, value)).results()
    assert by_method(found)["linear"].scores["balanced accuracy"] == (1.0, 1.0, 1.0)


def test_equal_differences_on_few_folds_prove_nothing():
    """Accuracies of small folds are often the same: no spread is no proof."""
    problem = made_data("classes")
    value = lambda m, repeat, fold: 0.6 if m == "linear" else 0.5
    few = made_design("classes", repeats=1, cv=2)
    found = summed(problem, few, scored(problem, few, value)).results()
    assert {one.method: one.p for one in found.differences} == {"linear": 0.5, "mean-svm": 1.0}
    assert found.recommendation.winner is None
    many = made_design("classes", repeats=5, cv=5)
    assert summed(problem, many, scored(problem, many, value)).results().recommendation.winner == "linear"


def test_one_draw_has_no_interval_and_no_difference():
    problem, design = made_data("completion"), made_design("completion", repeats=1)
    found = summed(problem, design, made_records(problem, design)).results()
    assert found.differences == []
    assert all(np.isnan(row.scores["ARE"].low) for row in found.rows)
    assert found.recommendation.winner is None


# ------------------------------------------------------------------------------------------------ mcnemar


def with_predictions(problem, design, right):
    """Records whose predictions are right where ``right(method, repeat, sample)`` says so."""
    found = []
    for record in made_records(problem, design):
        if record.trial["kind"] != "predict":
            continue
        test = np.array(record.result["test"])
        hits = np.array([right(record.trial["method"], record.trial["repeat"], i) for i in test])
        said = np.where(hits, problem.y[test], 1 - problem.y[test])
        found.append(replace(record, result={**record.result, "predicted": said.tolist()}))
    return found


# ----------------------------------------------------------------------------------- failures, partial records


def test_a_method_that_always_fails_is_a_row_with_its_error():
    problem, design = made_data("classes"), made_design("classes", left_out={"em-svm": "is slow"})
    value = lambda m, repeat, fold: None if m == "linear" else 0.5 + 0.01 * fold
    found = summed(problem, design, scored(problem, design, value)).results()
    last = found.rows[-2]
    assert (last.method, last.scores, last.failed, last.errors) == ("linear", {}, 9, ("could not",))
    assert (found.rows[-1].method, found.rows[-1].left_out) == ("em-svm", "is slow")
    assert found.rows[-1].words
    assert {one.method for one in found.differences} == {"mean-svm"}
    assert "linear" not in found.confusion


def fate(lot, record):
    return record if lot == 1 else Record(record.trial, "failed", error="no", cost={"cpu": 1.0})


@cache
def all_records(task):
    problem = made_data(task)
    design = made_design(task, rates=(0.1, 0.2), repeats_of={METHODS[task][1]: 1})
    return problem, design, made_records(problem, design)


@pytest.mark.slow_params("classes", "numbers", "labels")
@pytest.mark.parametrize("task", TASKS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_part_of_the_records_makes_results(task, data):
    problem, design, records = all_records(task)
    fates = data.draw(st.lists(st.sampled_from([0, 1, 1, 2]), min_size=len(records), max_size=len(records)))
    some = [fate(f, record) for f, record in zip(fates, records, strict=True) if f]
    found = summed(problem, design, some).results()
    assert sum(row.done + row.failed for row in found.rows) <= len(some)
    assert {row.method for row in found.rows} == set(design.methods)
    assert found.recommendation.headline
    measured = [row.method for row in found.rows if found.metric.name in row.scores]
    assert found.recommendation.recommended in (measured or [ALL[task].simplest])
    for one in found.differences:
        assert one.adjusted >= one.p
        rows = by_method(found)
        sign = 1 if found.metric.higher else -1
        gap = (
            rows[one.method].scores[found.metric.name].value
            - rows[ALL[task].simplest].scores[found.metric.name].value
        )
        assert sign * gap == pytest.approx(one.mean, abs=1e-9) or found.metric.higher  # clipped at 1
    assert sum(group.count for group in found.patterns) in (0, len(problem.data))


# ---------------------------------------------------------------------------------- how it was done


def told(task, problem=None, **more):
    problem, design = problem or made_data(task), made_design(task, **more)
    return facts(problem, design, made_records(problem, design))


def facts(problem, design, records):
    return ComparisonSummary(problem, design, records, dict.fromkeys(design.methods, 9)).results().facts


def test_what_a_prediction_was_made_of():
    problem = made_data("classes")
    found = told("classes", seed=3, command="absentia compare d", repeats_of={"linear": 1})
    assert found["data"] == f"40 samples, 3 views of features, content {problem.hash}"
    assert found["seed"] == "3"
    assert found["folds"].startswith("3 folds, 3 repeats, the same for every method")
    assert found["fewer repeats"] == "linear (1): slow on data of this size"
    assert found["kernels"] == "ViewKernels()"
    assert found["command"] == "absentia compare d"
    assert found["made with"] == "absentia 1"
    assert "hidden" not in found


def test_what_completion_was_made_of():
    found = told("completion", hide=0.3, mechanism="mcar")
    assert found["hidden"].startswith(
        "30% of the observed cells, at random, 3 times (6.0% of all observed cells); kernels are made of all"
    )
    assert not {"folds", "fewer repeats", "command"} & set(found)
    words = [told("completion", mechanism=m)["hidden"] for m in ("own", "mcar", "per-view", "exclusive")]
    assert len(set(words)) == 4


def test_kernels_that_came_are_not_made():
    problem = made_data("completion")
    found = told("completion", problem.replace(problem.kernels))
    assert "views of kernels" in found["data"]
    assert "kernels" not in found
    assert "made of all" not in found["hidden"]


def test_the_region_of_equivalence_is_told_in_units_of_the_metric():
    problem, design = made_data("numbers"), made_design("numbers", metric="RMSE", equivalence=0.02)
    records = made_records(problem, design)
    summary = ComparisonSummary(problem, design, records, dict.fromkeys(METHODS["numbers"], 9))
    assert (
        f"with {summary.equivalence:.3g} as practically nil"
        in facts(problem, design, records)["statistics"]
    )
    assert summary.equivalence != 0.02


@pytest.mark.parametrize("task", ["classes", "completion"])
def test_time_is_that_of_all_trials(task):
    problem, design = made_data(task), made_design(task)
    records = made_records(problem, design)
    found = facts(problem, design, records)
    assert found["CPU time"] == f"{sum(r.cost['cpu'] for r in records):.0f} s in {len(records)} trials"


def test_how_to_use_the_recommended_method_is_said_once_something_is_measured():
    problem, design = made_data("numbers"), made_design("numbers", call="d --labels l.csv:y")
    wanted = dict.fromkeys(design.methods, 9)
    found = (
        ComparisonSummary(problem, design, made_records(problem, design), wanted).results().recommendation
    )
    assert f"absentia fit d --labels l.csv:y --method {found.recommended}" in found.command
    found = ComparisonSummary(problem, design, [], wanted).results().recommendation
    assert found.command == ""
