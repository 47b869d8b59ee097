"""``absentia.compare``, from data to a sentence, on every kind of task."""

import gc
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

import absentia
from absentia import ViewKernels, Views
from absentia.app import comparison as comparing
from absentia.app.comparison import Comparison, _count_bytes, count_jobs, make_design
from absentia.experiment.comparison import Study, fit_to_all, make_task_data
from helpers.comparison_problems import made_views, targets
from helpers.comparison_results import make_findings

pytestmark = pytest.mark.usefixtures("few_strengths")
SMALL = {"repeats": 1, "cv": 2, "n_jobs": 1}


def samples(task, n=40, seed=0, rate=0.3):
    views, factors = made_views(n, seed, rate)
    return views, targets(task, factors, seed)


def plain(found):
    study = found.study
    records = study.records.of(study.trials)
    return {hash: (r.trial, r.status, r.result, r.error) for hash, r in records.items()}


# ------------------------------------------------------------------------------------------------ the tasks


def checked(found, task, methods):
    """What holds of every comparison."""
    told = found.results
    assert told.task == task
    assert {row.method for row in told.rows} == set(methods)
    assert told.done == told.wanted > 0
    assert found.best in methods
    assert found.best in found.sentence
    assert found.sentence in repr(found)
    table = found.table()
    assert set(table.index) == set(methods)
    for row in told.rows:
        if row.scores:
            assert table.loc[row.method, told.metric.name] == row.scores[told.metric.name].value
        assert table.loc[row.method, "fits"] == row.done
    for one in told.differences:
        assert table.loc[one.method, ["difference", "p", "p (Holm)"]].tolist() == [
            one.mean,
            one.p,
            one.adjusted,
        ]
    for one in told.expectations:
        assert table.loc[one.method, ["expected", "chance better"]].tolist() == [one.mean, one.better]
    assert {one.method for one in told.expectations} >= {one.method for one in told.differences}
    html = found._repr_html_()
    assert html.count("<tr") == len(methods) + 2  # and two of the head
    assert "<strong>" in html
    return told


@pytest.mark.slow
def test_two_classes():
    views, y = samples("classes")
    found = absentia.compare(views, y, methods=["linear", "mean-svm"], **SMALL)
    told = checked(found, "classes", ["average", "linear", "mean-svm"])
    assert told.metric.name == "balanced accuracy"
    assert told.classes == ["early", "late"]
    assert len(told.views) == 3
    model = found.best_estimator()
    assert set(model.predict(views)) <= {"early", "late"}


@pytest.mark.slow
def test_three_classes_as_a_series_of_numbers():
    views, factors = made_views(45)
    y = pd.Series(
        np.searchsorted(np.quantile(factors[:, 0], [1 / 3, 2 / 3]), factors[:, 0]) + 5, index=views.ids
    )
    found = absentia.compare(
        views, y.sample(frac=1, random_state=0), methods=["linear"], score="log-loss", **SMALL
    )
    told = checked(found, "classes", ["average", "linear"])
    assert told.metric.name == "log-loss"
    assert told.confusion["linear"].sum() == 45
    assert set(found.best_estimator().predict(views)) <= {5, 6, 7}


def test_numbers():
    views, y = samples("numbers")
    found = absentia.compare(views, y, methods=["linear-regression"], score="RMSE", rates=(0.2,), **SMALL)
    told = checked(found, "numbers", ["ridge-zero", "linear-regression"])
    assert {point.rate for point in told.curves} == {0.0, 0.2}
    assert found.best_estimator().predict(views).shape == (40,)


@pytest.mark.parametrize(
    "method",
    [pytest.param("pma", marks=pytest.mark.slow), pytest.param("pma-cvkt", marks=pytest.mark.slow)],
)
def test_several_labels_some_unknown(method):
    views, Y = samples("labels")
    frame = pd.DataFrame(Y, index=views.ids, columns=["er", "her2"])
    found = absentia.compare(views, frame, methods=[method], **SMALL)
    told = checked(found, "labels", ["average", method])
    assert told.classes == ["er", "her2"]
    assert all(row.scores for row in told.rows)
    assert np.isin(found.best_estimator().predict(views), (0, 1)).all()
    assert found.results.recommendation.command == ""


@pytest.mark.parametrize("mechanism", ["own", "mcar", "per-view", "exclusive"])
def test_completion(mechanism):
    views, _ = samples("completion")
    found = absentia.compare(views, methods=["zero", "knn"], mechanism=mechanism, repeats=2, n_jobs=1)
    told = checked(found, "completion", ["mean", "zero", "knn"])
    assert told.metric.name == "ARE"
    kernels = ViewKernels().fit_transform(views)
    assert found.best_estimator().transform(kernels).observed.all()


@pytest.mark.slow
def test_nothing_absent():
    views, y = samples("classes", rate=0.0)
    assert checked(
        absentia.compare(views, methods=["zero"], repeats=2, n_jobs=1), "completion", ["mean", "zero"]
    )
    told = absentia.compare(views, y, methods=["complete-cases"], **SMALL).results
    assert [group.words for group in told.patterns] == ["every view"]


@pytest.mark.slow
def test_kernels_instead_of_features():
    views, y = samples("classes")
    kernels = ViewKernels().fit_transform(views)
    problem = make_task_data(kernels, y)
    assert make_design(problem, "auto").left_out["forest"] == "takes features, and the data are kernels"
    with pytest.raises(ValueError, match="method 'forest' takes features, and the data are kernels"):
        absentia.compare(kernels, y, methods=["forest"], **SMALL)
    found = absentia.compare(kernels, y, methods=["mean-svm"], **SMALL)
    checked(found, "classes", ["average", "mean-svm"])
    assert set(found.best_estimator().predict(kernels)) <= {"early", "late"}


def test_left_out_methods_have_a_row_with_the_reason():
    views, y = samples("classes")
    kernels = ViewKernels().fit_transform(views)
    problem = make_task_data(kernels, y)
    design = make_design(problem, "auto", repeats=1, cv=2)
    table = Comparison(Study(problem, design, "nowhere")).table()
    assert table.loc["forest", "remark"] == "takes features, and the data are kernels"
    assert table.loc["average", "remark"] == ""


@pytest.mark.slow
def test_a_method_that_fails_in_every_fold_is_a_row_with_its_error():
    views, y = samples("classes")
    keep = views.observed.copy()
    keep[keep.all(axis=1), 0] = False
    found = absentia.compare(views.hide(keep), y, methods=["complete-cases", "linear"], **SMALL)
    told = checked(found, "classes", ["average", "linear", "complete-cases"])
    row = told.rows[-1]
    assert (row.method, row.done, row.failed, dict(row.scores)) == ("complete-cases", 0, 2, {})
    assert "samples have all 3 views" in row.errors[0]
    assert found.table().loc["complete-cases", "remark"] == "; ".join(row.errors)
    assert "Failed at least once: complete-cases; the table says why." in told.recommendation.details


# --------------------------------------------------------------------------------------- the same twice


@pytest.mark.parametrize(
    ("task", "method"), [("completion", "knn"), pytest.param("classes", "forest", marks=pytest.mark.slow)]
)
def test_the_same_call_twice_has_the_same_records(task, method):
    views, y = samples(task)
    one, other = (absentia.compare(views, y, methods=[method], random_state=3, **SMALL) for _ in range(2))
    assert plain(one) == plain(other)
    assert all(status == "done" for _, status, _, _ in plain(one).values())


@pytest.mark.slow
def test_the_order_of_samples_changes_no_score():
    views, y = samples("classes")
    rows = np.random.default_rng(0).permutation(40)
    one = absentia.compare(views, y, methods=["linear"], **SMALL).results
    other = absentia.compare(views[rows], y[rows], methods=["linear"], **SMALL).results
    for row, same in zip(sorted(one.rows, key=str), sorted(other.rows, key=str), strict=True):
        assert same.scores["accuracy"] == pytest.approx(row.scores["accuracy"])
    for method, table in one.confusion.items():
        np.testing.assert_array_equal(other.confusion[method], table)


@pytest.mark.slow
def test_a_folder_is_gone_on_with(tmp_path):
    views, y = samples("classes")
    heard = []
    first = absentia.compare(views, y, methods=["linear"], folder=tmp_path, callback=heard.append, **SMALL)
    assert len(heard) == len(first.study.trials)
    heard.clear()
    again = absentia.compare(views, y, methods=["linear"], folder=tmp_path, callback=heard.append, **SMALL)
    assert heard == []
    assert again.sentence == first.sentence
    more = absentia.compare(
        views, y, methods=["linear", "mean-svm"], folder=tmp_path, callback=heard.append, **SMALL
    )
    assert {record.trial["method"] for record in heard} == {"mean-svm"}
    assert plain(first).items() <= plain(more).items()
    back = absentia.open_comparison(tmp_path)
    assert back.sentence == more.sentence
    pd.testing.assert_frame_equal(back.table(), more.table())
    assert plain(back) == plain(more)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["features", "kernels"])
def test_processes_change_nothing(kind, all_strengths):
    views, y = samples("classes")
    data = views if kind == "features" else ViewKernels().fit_transform(views)
    one, two = (absentia.compare(data, y, methods=["mean-svm"], repeats=1, cv=2, n_jobs=n) for n in (1, 2))
    assert plain(one) == plain(two)
    assert all(status == "done" for _, status, _, _ in plain(two).values())


# ---------------------------------------------------------------------------------------------- the rest


def test_what_is_temporary_goes_with_the_comparison():
    views, _ = samples("completion")
    found = absentia.compare(views, methods=["zero"], repeats=1, n_jobs=1)
    folder = found.study.folder
    assert folder.exists()
    del found
    gc.collect()
    assert not folder.exists()


def test_an_error_leaves_no_folder_behind(monkeypatch, tmp_path):
    monkeypatch.setattr(comparing.tempfile, "mkdtemp", lambda prefix: pytest.fail("made a folder"))
    with pytest.raises(ValueError, match="no_such"):
        absentia.compare(samples("completion")[0], methods=["no_such"])


def test_a_page_is_written(tmp_path):
    pytest.importorskip("jinja2")
    views, _ = samples("completion")
    path = absentia.compare(views, methods=["zero"], repeats=2, n_jobs=1).report(tmp_path / "page.html")
    assert "ARE" in Path(path).read_text()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"random_state": -1}, "random_state is a whole number from 0 on, not -1"),
        ({"random_state": None}, "random_state is a whole number"),
        ({"random_state": True}, "random_state is a whole number"),
        ({"repeats": 1.5}, "repeats is a whole number"),
        ({"cv": 1}, "cv is a whole number of 2 or more"),
        ({"score": "f1"}, "score 'f1' is none of"),
        ({"methods": ["mkll"]}, "mkl"),
        ({"hide": 1.5}, "hide is a share"),
        ({"mechanism": "mnar"}, "mechanism is one of"),
    ],
)
def test_what_makes_no_sense_is_refused(given, words):
    views, y = samples("classes")
    with pytest.raises(ValueError, match=words):
        absentia.compare(views, y, **{"methods": ["linear"], **given})


def test_numbers_of_numpy_will_do():
    views, _ = samples("completion")
    rates = np.array([0.1, 0.3])
    found = absentia.compare(
        views,
        methods=np.array(["zero"]),
        repeats=np.int64(1),
        random_state=np.int32(2),
        rates=rates,
        n_jobs=1,
    )
    assert {point.rate for point in found.results.curves} == {0.1, 0.2, 0.3}


def test_only_usual_methods_are_thinned(monkeypatch):
    views, y = samples("classes")
    problem = make_task_data(views, y)
    assert make_design(problem, "auto").methods[0] == "average"
    assert make_design(problem, ["em-svm"]).methods == ("average", "em-svm")
    timed = []
    monkeypatch.setattr(Study, "time_methods", lambda *_: timed.append(True))
    monkeypatch.setattr(Study, "run", lambda *_: None)
    for methods, thin in (("auto", False), ("linear", True), (["linear"], True)):
        absentia.compare(views, y, methods=methods, thin=thin, n_jobs=1)
    assert timed == []
    absentia.compare(views, y, n_jobs=1)
    assert timed == [True]


def test_columns_of_the_table_do_not_hang_on_who_is_first():
    for task in ("classes", "completion"):
        found = make_findings(task=task)
        comparison = Comparison(study=None)
        comparison.results = found
        columns = comparison.table().columns.tolist()
        assert columns[0] == "baseline"
        assert columns[-1] == "remark"
        assert columns.index("difference") < columns.index("p (Holm)") < columns.index("CPU seconds")


@pytest.mark.slow
def test_verbose_tells_what_is_done_and_the_callback_hears_too(monkeypatch):
    said, heard = [], []
    monkeypatch.setattr("absentia.app._terminal._TRIAL_SECONDS", 0.0)
    monkeypatch.setattr("absentia.app._terminal.err.print", lambda line, **_: said.append(line))
    views, y = samples("classes")
    quick = {**SMALL, "methods": ["average", "linear"]}
    found = absentia.compare(views, y, **quick, verbose=True, callback=heard.append)
    assert len(heard) == found.results.wanted
    assert said[0].startswith(f"trials: 0 of {len(heard)} done")


def test_processes_are_as_many_as_cores_and_memory_allow(monkeypatch, rng):
    views = Views.from_dict({"a": rng.standard_normal((100, 5)), "b": rng.standard_normal((100, 2))})
    assert _count_bytes(views) == 700 * 8
    assert _count_bytes(ViewKernels().fit_transform(views)) == 2 * 100 * 100 * 8
    monkeypatch.setattr(joblib, "cpu_count", lambda: 4)
    monkeypatch.setenv("ABSENTIA_MEMORY", "600M")
    assert count_jobs(None, views) == 1
    assert count_jobs(3, views) == 3
    assert count_jobs(-1, views) >= 1
    monkeypatch.setenv("ABSENTIA_MEMORY", "64G")
    assert count_jobs(None, views) == 4


def test_samples_that_seem_to_be_of_one_patient_are_warned_of():
    views, y = samples("classes")
    ids = [f"P{i // 2:02d}_visit{i % 2 + 1}" for i in range(len(views))]
    twice = Views.from_dict(views.to_dict(), ids=ids)
    with pytest.warns(absentia.AbsenceWarning, match=r"one patient|P00_visit1"):
        absentia.compare(twice, y, methods=["average"], **SMALL)


def test_times_and_events_are_compared():
    views, _ = samples("classes")
    _, factors = made_views(len(views))
    y = targets("survival", factors)
    found = absentia.compare(views, y, methods=["cox"], **SMALL)
    table = found.table()
    assert found.results.metric.name == "concordance"
    assert set(table.index) == {"cox-zero", "cox"}
    assert table["concordance"].between(0, 1).all()
    frame = pd.DataFrame({"event": y.event, "time": y.time}, index=views.ids).sample(frac=1, random_state=0)
    again = absentia.compare(views, frame, methods=["cox"], **SMALL)
    pd.testing.assert_series_equal(again.table()["concordance"], table["concordance"])
    assert found.best_estimator().predict(views[:3]).shape == (3,)


def test_all_methods_that_give_probabilities_decide_by_the_same_rule():
    """Of each rule, what it makes of each method's probabilities, by hand."""
    views, factors = made_views(48)
    y = np.where(factors[:, 0] > np.quantile(factors[:, 0], 0.75), "rare", "usual")
    costs = {"rare": {"usual": 10}, "usual": {"rare": 1}}
    weights = {"accuracy": [1, 1], "costs": [10, 1]}
    rules = {(None, None): "balanced", ("accuracy", None): "accuracy", ("auc", "given"): "costs"}
    for method in ("average", "linear", "auto"):
        for (score, given), rule in rules.items():
            data = make_task_data(views, y).judged_by(score, given and costs)
            model = fit_to_all(data, method)
            said = model.predict(views)
            machine = getattr(model, "classifier", model)
            told = getattr(machine, "loo_proba_", None)
            level = [0.25, 0.75] if told is None else told.mean(axis=0)
            by_hand = model.predict_proba(views) * weights.get(rule, 1 / np.array(level))
            np.testing.assert_array_equal(said, np.array(["rare", "usual"])[by_hand.argmax(axis=1)])


@pytest.mark.slow
def test_a_learning_curve_comes_when_it_is_asked_for():
    views, y = samples("classes", 60)
    given = {"methods": ["average"], "repeats": 1, "cv": 4, "n_jobs": 1}
    learned = absentia.compare(views, y, learning_curve=True, **given).learning_curve()
    assert learned.sentence.startswith("With average, 60 more samples")
    assert set(learned.table()["of"]) == {"samples", *views.names}
    with pytest.raises(ValueError, match=r"compare\(..., learning_curve=True\)"):
        absentia.compare(views, y, **given).learning_curve()
