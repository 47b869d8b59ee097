"""One trial.  Nothing of what is judged on is seen by what is judged."""

import numpy as np
import pytest

from absentia import KernelViews, missingness
from absentia.experiment.comparison import TaskData
from absentia.experiment.comparison import _study as module
from absentia.experiment.comparison._design import draw_kept_cells
from absentia.experiment.comparison._study import TrialPerformer, perform_trial
from absentia.experiment.engine import FolderError
from absentia.tasks import TASKS, Predictions, Regression, Task
from helpers.comparison_problems import METHODS, made_data, made_design, trials_of

# samples that have one view alone have none without it, which the engine, which runs trials, does not repeat
pytestmark = pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
PREDICTIONS = ["classes", "numbers", "survival", "labels"]


def trial(problem, kind, method, **more):
    design = made_design(problem.kind, rates=(0.2,))
    found = [
        t.key for t in trials_of(problem, design) if t.key["kind"] == kind and t.key["method"] == method
    ]
    return next(key for key in found if all(key[name] == value for name, value in more.items()))


def of_kernels(problem):
    return problem.replace(problem.kernels)


# ------------------------------------------------------------------------------------------------ leakage


class Spy:
    """Records which samples are learned from and which are asked about."""

    def __init__(self, monkeypatch):
        self.learned, self.asked = [], []
        learn, predict = Task.learn, module.predict_samples

        def watched_learn(task, X, y, plan, tick=lambda: None):
            self.learned.append((tuple(X.ids), np.array(y)))
            return learn(task, X, y, plan, tick)

        def watched_predict(task, model, rows):
            self.asked.append(tuple(rows.ids))
            return predict(task, model, rows)

        monkeypatch.setattr(Task, "learn", watched_learn)
        monkeypatch.setattr(module, "predict_samples", watched_predict)


@pytest.mark.parametrize("task", PREDICTIONS)
@pytest.mark.parametrize("kind", ["predict", "views", "rates"])
def test_a_fold_is_learned_without_those_it_is_judged_on(task, kind, monkeypatch):
    problem, spy = made_data(task), Spy(monkeypatch)
    key = trial(problem, kind, METHODS[task][0], repeat=1, fold=2)
    perform_trial(key, problem)
    train, test = problem.split(3, 0, 1)[2]
    ids = problem.data.ids
    ((learned, y),) = spy.learned
    assert learned == tuple(ids[train])
    np.testing.assert_array_equal(y, problem.y[train])
    assert set(spy.asked) == {tuple(ids[test])}
    assert not set(learned) & set(spy.asked[0])


@pytest.mark.slow_params(
    *("features-classes", "features-labels", "features-survival"),
    *("kernels-classes", "kernels-labels", "kernels-survival"),
)
@pytest.mark.parametrize("task", PREDICTIONS)
@pytest.mark.parametrize("kind", ["features", "kernels"])
def test_labels_of_the_judged_change_no_prediction(task, kind):
    """Folds are cut by the labels, too, so that the trial is done on the folds of the true ones."""
    problem = made_data(task)
    if kind == "kernels":
        problem = of_kernels(problem)
    train, test = problem.split(3, 0, 0)[0]
    wrong = problem.y.copy()
    wrong[test] = {
        "classes": 1 - wrong[test],
        "numbers": 100 - wrong[test],
        "survival": wrong[test][::-1],
        "labels": np.nan,
    }[task]
    other = TaskData(problem.data, task, wrong, problem.classes, problem.kernel)
    methods = [m for m in METHODS[task] if kind == "features" or m not in ("linear", "linear-regression")]
    for method in methods:
        key = trial(problem, "predict", method, repeat=0, fold=0)
        for said, again in zip(
            *(module._learn_and_predict(key, p, train, test) for p in (problem, other)), strict=True
        ):
            np.testing.assert_array_equal(said, again)
        found, changed = (module.learn_and_score(key, p, train, test) for p in (problem, other))
        assert found["predicted"] == changed["predicted"]
        if task != "labels":
            assert found["scores"] != changed["scores"]


@pytest.mark.parametrize(
    "method",
    [
        "average",
        pytest.param("mean-svm", marks=pytest.mark.slow),
        pytest.param("cvkt-svm", marks=pytest.mark.slow),
    ],
)
def test_features_of_some_judged_change_no_prediction_of_others(method):
    """Kernels, their widths and their completion come from the training part alone."""
    problem = made_data("classes")
    train, test = problem.split(3, 0, 0)[0]
    key = trial(problem, "predict", "average", repeat=0, fold=0) | {"method": method}
    whole = module._learn_and_predict(key, problem, train, test)
    rows = np.r_[train, test[:3]]
    few = TaskData(problem.data[rows], "classes", problem.y[rows], problem.classes, problem.kernel)
    some = module._learn_and_predict(key, few, np.arange(len(train)), len(train) + np.arange(3))
    np.testing.assert_allclose(some.probabilities, whole.probabilities[:3], atol=2e-6)


@pytest.mark.parametrize("method", ["mean", "zero", "knn", "cvkt"])
def test_the_truth_of_hidden_cells_changes_no_completion(method, monkeypatch):
    problem = of_kernels(made_data("completion", n=30, rate=0.0))
    keep = missingness.mcar(problem.data, 0.2, random_state=0)
    monkeypatch.setattr(module, "_kept", lambda key, problem: keep)
    rng = np.random.default_rng(0)
    K = problem.data.to_dense()
    for v in range(len(K)):
        gone = np.flatnonzero(~keep[:, v])
        factor = np.ones(30)
        factor[gone] = rng.uniform(2, 3, len(gone))
        K[v] *= np.outer(factor, factor)
    other = problem.replace(KernelViews.from_dense(K, ids=problem.data.ids, names=problem.data.names))
    seen = []
    monkeypatch.setattr(
        module, "score_hidden_rows", lambda truth, completed, cells: seen.append(completed) or {"": {}}
    )
    key = trial(problem, "complete", "mean", repeat=0) | {"method": method}
    for one in (problem, other):
        perform_trial(key, one)
    np.testing.assert_array_equal(seen[0].to_dense(), seen[1].to_dense())
    assert (problem.data.to_dense() != K).any()


def test_what_is_chosen_is_chosen_inside_the_fold(monkeypatch):
    """C is chosen by a search that only sees the samples of the training part."""
    from absentia.methods.learning import _held_out as selection

    problem, seen, real = made_data("classes"), [], selection.select_C

    def select_C(estimator, X, y, weight, **options):
        seen.append(sorted(X.ids))
        return real(estimator, X, y, weight, **options)

    monkeypatch.setattr(selection, "select_C", select_C)
    perform_trial(trial(problem, "predict", "average", repeat=0, fold=1), problem)
    train, _ = problem.split(3, 0, 0)[1]
    assert seen == [sorted(problem.data.ids[train])]


# ------------------------------------------------------------------------------------------------ results


@pytest.mark.slow_params("labels")
@pytest.mark.parametrize("task", PREDICTIONS)
def test_the_result_of_a_prediction(task):
    problem = made_data(task)
    key = trial(problem, "predict", METHODS[task][0], repeat=0, fold=1)
    found = perform_trial(key, problem)
    assert list(found["scores"]) == [metric.name for metric in TASKS[task].metrics]
    assert found["test"] == problem.split(3, 0, 0)[1][1].tolist()
    assert len(found["predicted"]) == len(found["test"])
    assert found == perform_trial(key, problem)
    views = perform_trial(trial(problem, "views", METHODS[task][0], views=["view1"]), problem)
    assert set(views) == {"scores", "nothing"}


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_one_view_alone_is_what_it_says(task):
    problem = made_data(task)
    key = trial(problem, "views", METHODS[task][0], views=["view1"], repeat=0, fold=0)
    alone = problem.replace(problem.data.select(["view1"]))
    train, test = problem.split(3, 0, 0)[0]
    assert (
        perform_trial(key, problem)["scores"] == module.learn_and_score(key, alone, train, test)["scores"]
    )
    assert (
        perform_trial(key, problem)["scores"]
        != perform_trial(key | {"views": ["view0"]}, problem)["scores"]
    )


def test_a_rate_hides_cells_of_all_samples():
    problem = made_data("classes")
    key = trial(problem, "rates", "average", repeat=0, fold=0)
    hidden = problem.replace(problem.data.hide(draw_kept_cells(problem, "own", 0.2, 0, 0)))
    train, test = problem.split(3, 0, 0)[0]
    assert perform_trial(key, problem) == module.learn_and_score(key, hidden, train, test)


def test_the_result_of_a_completion():
    problem = made_data("completion")
    key = trial(problem, "complete", "mean", repeat=0)
    found = perform_trial(key, problem)
    cells = problem.data.observed & ~draw_kept_cells(problem, "own", 0.2, 0, 0)
    assert found["hidden"] == cells.sum()


def test_permuted_samples_have_the_same_scores():
    for task in ("classes", "completion"):
        problem = made_data(task)
        rows = np.random.default_rng(1).permutation(40)
        y = None if problem.y is None else problem.y[rows]
        other = TaskData(problem.data[rows], task, y, problem.classes, problem.kernel)
        kind = "complete" if task == "completion" else "predict"
        for method in METHODS[task]:
            found, moved = (
                perform_trial(trial(p, kind, method, repeat=0, fold=0), p) for p in (problem, other)
            )
            assert moved["scores"] == pytest.approx(found["scores"], rel=1e-3)


# ------------------------------------------------------------------------------------------------- errors


def test_other_folds_than_the_trial_was_made_for_are_refused():
    problem = made_data("classes")
    key = trial(problem, "predict", "average", repeat=0, fold=0)
    with pytest.raises(FolderError, match="folds are cut otherwise"):
        perform_trial(key | {"split": "0" * 16}, problem)


def test_nothing_to_hide_is_an_error():
    problem = made_data("completion")
    alone = np.zeros((40, 3), bool)
    alone[np.arange(40), np.arange(40) % 3] = True
    views = made_data("completion", rate=0.0).data.hide(alone)
    with pytest.raises(ValueError, match=r"can go|no cell could be hidden"):
        perform_trial(trial(problem, "complete", "mean", repeat=0), problem.replace(views))


def test_what_is_no_number_is_an_error(monkeypatch):
    problem = made_data("numbers")
    nothing = lambda task, fitted, rows: Predictions(np.full(len(rows), np.nan))
    monkeypatch.setattr(Regression, "predict", nothing)
    with pytest.raises(ValueError, match="predicted what is no number"):
        perform_trial(trial(problem, "predict", "ridge-zero", repeat=0, fold=0), problem)


def test_another_process_reads_the_data_once(tmp_path, monkeypatch):
    problem = made_data("classes")
    problem.save(tmp_path)
    does = TrialPerformer(tmp_path, problem)
    key = trial(problem, "predict", "average", repeat=0, fold=0)
    here = does(key)
    module._loaded.clear()  # as in a process that has not made the object
    loads, real = [], module.load_data
    monkeypatch.setattr(module, "load_data", lambda folder: loads.append(folder) or real(folder))
    assert does(key) == does(key) == here
    assert len(loads) == 1


def test_data_that_were_replaced_are_refused(tmp_path):
    problem = made_data("classes")
    does = TrialPerformer(tmp_path, problem)
    made_data("classes", seed=3).save(tmp_path)
    module._loaded.clear()
    with pytest.raises(FolderError, match="have been replaced"):
        does({})
