"""Blocks in time: what is held out came after all that is learned from, and nothing later is seen."""

import datetime
import itertools

import numpy as np
import pandas as pd
import pytest

import absentia
from absentia import Views
from absentia.experiment import cross_validate
from absentia.experiment.comparison import make_task_data
from absentia.tasks import CLASSIFICATION, REGRESSION, SURVIVAL

pytestmark = pytest.mark.usefixtures("few_strengths")


def make_samples(n=90, seed=0):
    """Samples that came in some order, two at a time; labels follow the features."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n, 4))
    y = np.where(table[:, 0] + 0.3 * rng.normal(size=n) > 0, "ill", "well")
    views = Views.from_dict({"a": table, "b": table[:, :1] ** 2}, ids=[f"s{k:02d}" for k in range(n)])
    return views, y, rng.permutation(np.arange(n) // 2)


def read_predictions(found, method="average"):
    """Positions and predictions of each block, in the order of time."""
    records = found.study.records.of(found.study.trials).values()
    own = [r for r in records if r.trial["kind"] == "predict" and r.trial["method"] == method]
    own.sort(key=lambda record: record.trial["fold"])
    return [(np.array(r.result["test"]), r.result["predicted"]) for r in own]


def test_blocks_come_after_one_another_and_the_first_is_not_held_out():
    views, y, time = make_samples()
    found = absentia.compare(views, y, time=time, methods=["average"], cv=4, repeats=3, n_jobs=1)
    folds = [test for test, _ in read_predictions(found)]
    assert len(folds) == 4  # and one repeat
    assert found.table()["failed"].sum() == 0
    assert all(time[a].max() < time[b].min() for a, b in itertools.pairwise(folds))
    assert time[~np.isin(np.arange(90), np.concatenate(folds))].max() < time[folds[0]].min()
    assert "18 after 18, 18 after 36, 18 after 54, 18 after 72" in found.results.facts["folds"]
    assert "a trend in time is in no interval" in found.results.facts["time"]
    assert found.results.confusion["average"].sum() == 72


@pytest.mark.parametrize("method", ["linear", pytest.param("auto", marks=pytest.mark.slow)])
def test_what_came_later_changes_no_prediction(method):
    views, y, time = make_samples()
    given = {"methods": ["average", method], "cv": 4, "n_jobs": 1}
    found = absentia.compare(views, y, time=time, **given)
    late = time > time[read_predictions(found)[1][0]].max()
    assert late.sum() == 36
    rng = np.random.default_rng(1)
    tables = {name: views.block(name).copy() for name in views.names}
    for table in tables.values():
        table[late] = 5 * rng.normal(size=(36, table.shape[1]))
    labels = np.where(late, rng.permutation(y), y)
    other = absentia.compare(Views.from_dict(tables, ids=views.ids), labels, time=time, **given)
    for method in given["methods"]:
        for (test, told), (again, told_again) in zip(
            read_predictions(found, method)[:2], read_predictions(other, method)[:2], strict=True
        ):
            assert test.tolist() == again.tolist()
            assert told == told_again


def test_equal_times_stay_on_one_side():
    views, y, _ = make_samples()
    year = np.repeat([2001, 2002, 2003, 2004], [30, 25, 20, 15])
    found = absentia.compare(views, y, time=year, methods=["average"], cv=5, n_jobs=1)
    held_out = [set(year[test].tolist()) for test, _ in read_predictions(found)]
    assert held_out == [{2002}, {2003}, {2004}]


def test_whoever_is_held_out_is_not_learned_from():
    """Patients of nearly equal visits, and labels by coin: told only with patients on both sides."""
    rng = np.random.default_rng(0)
    patient, year = np.tile(np.arange(30), 3), np.repeat([1, 2, 3], 30)
    table = rng.normal(size=(30, 20))[patient] + 0.02 * rng.normal(size=(90, 20))
    y = rng.permutation(np.arange(30) % 2)[patient]
    views = Views.from_dict({"a": table})
    with pytest.raises(ValueError, match="0 of 2 later blocks in time have enough samples of other groups"):
        absentia.compare(views, y, groups=patient, time=year, methods=["average"], n_jobs=1)
    time = rng.permutation(90)
    found = absentia.compare(views, y, groups=patient, time=time, methods=["average"], cv=3, n_jobs=1)
    for train, test in found.study.data.split(3, 0, 0):
        assert time[train].max() < time[test].min()
        assert not np.isin(patient[train], patient[test]).any()
    assert found.table().loc["average", "balanced accuracy"] < 0.65
    with pytest.warns(absentia.AbsenceWarning, match="seem to be repeats"):
        alone = absentia.compare(views, y, time=time, methods=["average"], cv=3, n_jobs=1)
    assert alone.table().loc["average", "balanced accuracy"] > 0.75


def test_early_blocks_without_every_class_are_only_learned_from():
    views, y, _ = make_samples()
    time = np.arange(90.0)
    y[:30] = np.where(
        np.arange(30) % 2, "well", "mild"
    )  # the first to fall ill come in the third block of six
    y[30:] = np.resize(["ill", "well", "mild"], 60)
    found = absentia.compare(views, y, time=time, methods=["average"], cv=5, n_jobs=1)
    assert [int(test.min()) for test, _ in read_predictions(found)] == [45, 60, 75]
    assert found.table()["failed"].sum() == 0


@pytest.mark.parametrize("form", ["texts", "dates", "numpy", "series"])
def test_times_are_numbers_or_dates(form):
    views, y, time = make_samples()
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=40 * int(t)) for t in time]
    given = {
        "texts": [str(day) for day in days],
        "dates": days,
        "numpy": np.array(days, dtype="datetime64[D]"),
        "series": pd.Series(pd.to_datetime(days), views.ids)[::-1],
    }[form]
    found, wanted = (make_task_data(views, y, time=x).split(3, 0, 0) for x in (given, time))
    assert len(found) == 3
    assert [[part.tolist() for part in fold] for fold in found] == [
        [part.tolist() for part in fold] for fold in wanted
    ]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("soon", "the time of sample 's07' is 'soon'; a number or a date"),
        ("", "the time of sample 's07' is unknown"),
        (None, "the time of sample 's07' is unknown"),
        (np.nan, "the time of sample 's07' is unknown"),
        ("2020-13-01", "the time of sample 's07' is '2020-13-01'"),
        ("2020-03-01", "numbers and dates, '.*' of sample 's00' and '2020-03-01' of sample 's07'"),
    ],
)
def test_times_that_cannot_be_read_are_refused_by_name(bad, words):
    views, y, time = make_samples()
    times = time.astype(object)
    times[7] = bad
    with pytest.raises(ValueError, match=words):
        absentia.compare(views, y, time=times, methods=["average"])


def test_a_time_is_wanted_only_of_samples_with_a_label():
    views, y, time = make_samples()
    labels, times = pd.Series(y, views.ids).drop("s07"), pd.Series(time, views.ids).drop("s07")
    with pytest.warns(absentia.AbsenceWarning):
        found = absentia.compare(views, labels, time=times, methods=["average"], cv=2, n_jobs=1)
    assert found.table()["failed"].sum() == 0


def test_what_goes_by_chance_does_not_go_with_time():
    views, y, time = make_samples()
    with pytest.raises(ValueError, match="learning_curve holds samples out at random"):
        absentia.compare(views, y, time=time, learning_curve=True, methods=["average"])
    with pytest.raises(ValueError, match="leave_one_group_out holds samples out at random"):
        absentia.compare(
            views, y, time=time, groups=time % 3, leave_one_group_out=True, methods=["average"]
        )
    with pytest.raises(ValueError, match="time is of predictions"):
        absentia.compare(views, time=time, methods=["mean"])


def test_a_fit_is_judged_on_later_blocks():
    views, y, time = make_samples()
    number = views.block("a")[:, 0]
    survival = np.column_stack([np.exp(-number), np.arange(90) % 3 > 0])
    for task, targets, method in (
        (CLASSIFICATION, y, "average"),
        (REGRESSION, number, "ridge-zero"),
        (SURVIVAL, survival, "cox-zero"),
    ):
        said = cross_validate(task, views, targets, {"it": task.plan(method, views)}, times=time)
        assert said.samples.tolist() == np.flatnonzero(time > 6).tolist()  # but for the first sixth
        assert len(said.predicted["it"]) == len(said.samples) == len(said.fold)
        edges = [(time[said.samples[said.fold == k]]) for k in range(said.n_folds)]
        assert all(a.max() < b.min() for a, b in itertools.pairwise(edges))
        scores = task.evaluate(targets[said.samples], said.predictions, said.fold)
        assert set(scores) == {"it", task.prior_name}
