"""One trial.  Nothing of what is judged on is seen by what is judged."""

import numpy as np
import pytest

from absentia import KernelViews, missingness
from absentia.experiment.comparison import _performing as performing
from absentia.experiment.comparison._design import as_completion
from absentia.experiment.comparison._measures import METRICS
from absentia.experiment.comparison._performing import Perform, perform
from absentia.experiment.comparison._problem import Problem
from absentia.experiment.comparison._splits import kept_cells, split
from absentia.experiment.engine import FolderError
from comparing import METHODS, made_design, made_problem, trials_of

# samples that have one view alone have none without it, which the engine, which runs trials, does not repeat
pytestmark = pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
PREDICTIONS = ["classes", "numbers", "labels"]


def trial(problem, kind, method, **more):
    design = made_design(
        problem.task, rates=(0.2,), completers=("mean",) if problem.task != "completion" else ()
    )
    found = [
        t.key for t in trials_of(problem, design) if t.key["kind"] == kind and t.key["method"] == method
    ]
    return next(key for key in found if all(key[name] == value for name, value in more.items()))


def of_kernels(problem):
    return problem.changed(problem.kernels)


# ------------------------------------------------------------------------------------------------ leakage


class Spy:
    """Records which samples are learned from and which are asked about."""

    def __init__(self, monkeypatch):
        self.learned, self.asked = [], []
        real = performing.fit

        def fit(how, problem, X, y):
            self.learned.append((tuple(X.ids), np.array(y)))
            found = real(how, problem, X, y)
            return found._replace(predict=self.watched(found.predict))

        monkeypatch.setattr(performing, "fit", fit)

    def watched(self, predict):
        def asked(rows):
            self.asked.append(tuple(rows.ids))
            return predict(rows)

        return asked


@pytest.mark.parametrize("task", PREDICTIONS)
@pytest.mark.parametrize("kind", ["predict", "views", "rates"])
def test_a_fold_is_learned_without_those_it_is_judged_on(task, kind, monkeypatch):
    problem, spy = made_problem(task), Spy(monkeypatch)
    key = trial(problem, kind, METHODS[task][0], repeat=1, fold=2)
    perform(key, problem)
    train, test = split(problem, 3, 0, 1)[2]
    ids = problem.data.ids
    ((learned, y),) = spy.learned
    assert learned == tuple(ids[train])
    np.testing.assert_array_equal(y, problem.y[train])
    assert set(spy.asked) == {tuple(ids[test])}
    assert not set(learned) & set(spy.asked[0])


@pytest.mark.parametrize("task", PREDICTIONS)
@pytest.mark.parametrize("kind", ["features", "kernels"])
def test_labels_of_the_judged_change_no_prediction(task, kind):
    """Folds are cut by the labels, too, so that the trial is done on the folds of the true ones."""
    problem = made_problem(task)
    if kind == "kernels":
        problem = of_kernels(problem)
    train, test = split(problem, 3, 0, 0)[0]
    wrong = problem.y.copy()
    wrong[test] = {"classes": 1 - wrong[test], "numbers": 100 - wrong[test], "labels": np.nan}[task]
    other = Problem(problem.data, task, wrong, problem.classes, problem.kernel)
    methods = [m for m in METHODS[task] if kind == "features" or m not in ("linear", "linear-regression")]
    for method in methods:
        key = trial(problem, "predict", method, repeat=0, fold=0)
        found, changed = (performing._predict(key, p, train, test) for p in (problem, other))
        assert found["predicted"] == changed["predicted"]
        assert found["probabilities"] == changed["probabilities"]
        if task != "labels":
            assert found["scores"] != changed["scores"]


@pytest.mark.parametrize("method", ["average", "mean-svm", "cvkt-svm"])
def test_features_of_some_judged_change_no_prediction_of_others(method):
    """Kernels, their widths and their completion come from the training part alone."""
    problem = made_problem("classes")
    train, test = split(problem, 3, 0, 0)[0]
    key = trial(problem, "predict", "average", repeat=0, fold=0) | {"method": method}
    whole = performing._predict(key, problem, train, test)
    rows = np.r_[train, test[:3]]
    few = Problem(problem.data[rows], "classes", problem.y[rows], problem.classes, problem.kernel)
    some = performing._predict(key, few, np.arange(len(train)), len(train) + np.arange(3))
    np.testing.assert_allclose(some["probabilities"], whole["probabilities"][:3], atol=2e-6)


@pytest.mark.parametrize("method", ["mean", "zero", "knn", "cvkt"])
def test_the_truth_of_hidden_cells_changes_no_completion(method, monkeypatch):
    problem = of_kernels(made_problem("completion", n=30, rate=0.0))
    keep = missingness.mcar(problem.data, 0.2, random_state=0)
    monkeypatch.setattr(performing, "_kept", lambda key, problem: keep)
    rng = np.random.default_rng(0)
    K = problem.data.to_dense()
    for v in range(len(K)):
        gone = np.flatnonzero(~keep[:, v])
        factor = np.ones(30)
        factor[gone] = rng.uniform(2, 3, len(gone))
        K[v] *= np.outer(factor, factor)
    other = problem.changed(KernelViews.from_dense(K, ids=problem.data.ids, names=problem.data.names))
    seen = []
    monkeypatch.setattr(
        performing, "completion_scores", lambda truth, completed, cells: seen.append(completed) or {"": {}}
    )
    monkeypatch.setattr(performing, "maps_of", lambda *parts: {})
    key = trial(problem, "complete", "mean", repeat=0) | {"method": method}
    for one in (problem, other):
        perform(key, one)
    np.testing.assert_array_equal(seen[0].to_dense(), seen[1].to_dense())
    assert (problem.data.to_dense() != K).any()


def test_what_is_chosen_is_chosen_inside_the_fold(monkeypatch):
    """C is chosen by a search that only sees the samples of the training part."""
    from absentia.methods.learning import _selection as selection

    problem, seen, real = made_problem("classes"), [], selection.select_C

    def select_C(estimator, X, y, weight, **options):
        seen.append(sorted(X.ids))
        return real(estimator, X, y, weight, **options)

    monkeypatch.setattr(selection, "select_C", select_C)
    perform(trial(problem, "predict", "average", repeat=0, fold=1), problem)
    train, _ = split(problem, 3, 0, 0)[1]
    assert seen == [sorted(problem.data.ids[train])]


# ------------------------------------------------------------------------------------------------ results


@pytest.mark.parametrize("task", PREDICTIONS)
def test_the_result_of_a_prediction(task):
    problem = made_problem(task)
    key = trial(problem, "predict", METHODS[task][0], repeat=0, fold=1)
    found = perform(key, problem)
    assert list(found["scores"]) == [metric.name for metric in METRICS[task]]
    assert found["test"] == split(problem, 3, 0, 0)[1][1].tolist()
    assert len(found["predicted"]) == len(found["test"])
    assert found == perform(key, problem)
    views = perform(trial(problem, "views", METHODS[task][0], views=["view1"]), problem)
    assert set(views) == {"scores", "nothing"}


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_one_view_alone_is_what_it_says(task):
    problem = made_problem(task)
    key = trial(problem, "views", METHODS[task][0], views=["view1"], repeat=0, fold=0)
    alone = problem.changed(problem.data.select(["view1"]))
    train, test = split(problem, 3, 0, 0)[0]
    assert perform(key, problem)["scores"] == performing._predict(key, alone, train, test)["scores"]
    assert perform(key, problem)["scores"] != perform(key | {"views": ["view0"]}, problem)["scores"]


def test_a_rate_hides_cells_of_all_samples():
    problem = made_problem("classes")
    key = trial(problem, "rates", "average", repeat=0, fold=0)
    hidden = problem.changed(problem.data.hide(kept_cells(problem, "own", 0.2, 0, 0)))
    train, test = split(problem, 3, 0, 0)[0]
    assert perform(key, problem) == performing._predict(key, hidden, train, test)


@pytest.mark.parametrize("task", ["completion", "classes"])
def test_the_result_of_a_completion(task):
    problem = made_problem(task)
    key = trial(problem, "complete", "mean", repeat=0)
    found = perform(key, problem)
    cells = problem.data.observed & ~kept_cells(problem, "own", 0.2, 0, 0)
    assert found["hidden"] == cells.sum()
    assert set(found["by view"]) <= set(problem.data.names)
    assert set(found["maps"]["views"]) == set(problem.data.names)
    assert ("class" in found["maps"]["order"]) == (task == "classes")
    if task == "completion":
        assert "maps" not in perform(trial(problem, "complete", "mean", repeat=1), problem)
        assert perform(key, as_completion(problem)) == found


def test_permuted_samples_have_the_same_scores():
    for task in ("classes", "completion"):
        problem = made_problem(task)
        rows = np.random.default_rng(1).permutation(40)
        y = None if problem.y is None else problem.y[rows]
        other = Problem(problem.data[rows], task, y, problem.classes, problem.kernel)
        kind = "complete" if task == "completion" else "predict"
        for method in METHODS[task]:
            found, moved = (perform(trial(p, kind, method, repeat=0, fold=0), p) for p in (problem, other))
            assert moved["scores"] == pytest.approx(found["scores"], rel=1e-3)


# ------------------------------------------------------------------------------------------------- errors


def test_other_folds_than_the_trial_was_made_for_are_refused():
    problem = made_problem("classes")
    key = trial(problem, "predict", "average", repeat=0, fold=0)
    with pytest.raises(FolderError, match="folds are cut otherwise"):
        perform(key | {"split": "0" * 16}, problem)


def test_nothing_to_hide_is_an_error():
    problem = made_problem("completion")
    alone = np.zeros((40, 3), bool)
    alone[np.arange(40), np.arange(40) % 3] = True
    views = made_problem("completion", rate=0.0).data.hide(alone)
    with pytest.raises(ValueError, match=r"can go|no cell could be hidden"):
        perform(trial(problem, "complete", "mean", repeat=0), problem.changed(views))


def test_what_is_no_number_is_an_error(monkeypatch):
    problem, real = made_problem("numbers"), performing.fit
    monkeypatch.setattr(
        performing,
        "fit",
        lambda *given: real(*given)._replace(predict=lambda rows: np.full(len(rows), np.nan)),
    )
    with pytest.raises(ValueError, match="predicted what is no number"):
        perform(trial(problem, "predict", "ridge-zero", repeat=0, fold=0), problem)


def test_another_process_reads_the_data_once(tmp_path, monkeypatch):
    problem = made_problem("classes")
    problem.save(tmp_path)
    does = Perform(tmp_path, problem)
    key = trial(problem, "predict", "average", repeat=0, fold=0)
    here = does(key)
    performing._loaded.clear()  # as in a process that has not made the object
    loads, real = [], performing.load_problem
    monkeypatch.setattr(performing, "load_problem", lambda folder: loads.append(folder) or real(folder))
    assert does(key) == does(key) == here
    assert len(loads) == 1


def test_data_that_were_replaced_are_refused(tmp_path):
    problem = made_problem("classes")
    does = Perform(tmp_path, problem)
    made_problem("classes", seed=3).save(tmp_path)
    performing._loaded.clear()
    with pytest.raises(FolderError, match="have been replaced"):
        does({})
