"""Whoever watches a fit sees its iterations count up once, and scikit-learn's callbacks work."""

import sys
import warnings
from contextlib import redirect_stderr
from functools import partial
from io import StringIO
from itertools import count

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from absentia import (
    MKC,
    MKMC,
    PMF,
    AbsentMKLClassifier,
    CombineKernels,
    EMFill,
    MKLClassifier,
    MKLRegressor,
    MMAFClassifier,
    PMAImputer,
    ViewKernels,
    datasets,
    missingness,
)
from absentia.core import _callbacks as watching
from absentia.core import clone_without_callbacks
from absentia.core._callbacks import CallbackList, make_callback
from absentia.core.optimize import Progress

VIEWS, Y = datasets.load_digit_views(n_samples=40, return_X_y=True)
VIEWS = VIEWS.hide(missingness.mcar(VIEWS, 0.2, random_state=0))
KERNELS = ViewKernels().fit_transform(VIEWS)
TABLE = np.random.default_rng(0).standard_normal((30, 4))
TABLE[::7, 1] = np.nan

#: Every kind of estimator that iterates, and what it learns from.
ITERATIVE = {
    "mkmc": (MKMC(n_components=2), KERNELS),
    "mkc": (MKC(max_iter=5, tol=0), KERNELS),
    "em": (EMFill(2, ridge=0.1), KERNELS),
    "mkl": (MKLClassifier(probability=True), KERNELS),
    "amkl": (AbsentMKLClassifier("penalized", max_iter=1), KERNELS),
    "mklr": (MKLRegressor(), KERNELS),
    "mmaf": (MMAFClassifier(C=0.01, probability=True), VIEWS),
    "pma": (PMAImputer(), TABLE),
    "pmf": (PMF(), TABLE),
}
each = pytest.mark.parametrize("name", ITERATIVE)


def fitted(name, change=lambda estimator: estimator, labels=Y < 5):
    estimator, X = ITERATIVE[name]
    estimator = change(clone(estimator))
    return estimator.fit(X) if X is TABLE else estimator.fit(X, labels)


def steps(*counts):
    return [Progress(i, 1.0 / i, 0.1, 9) for n in counts for i in range(1, n + 1)]


# ----------------------------------------------------------------------------------------------- one watch


def test_loops_of_one_fit_count_on():
    seen = []
    told = CallbackList(lambda progress: seen.append((progress.iteration, progress.max_iter)))
    for one in steps(3, 1, 2):
        told(one)
    assert seen == [(1, 9), (2, 9), (3, 9), (4, 12), (5, 13), (6, 13)]


def test_everybody_is_told_and_anybody_may_stop():
    seen = []
    told = CallbackList(lambda progress: True, seen.append)
    assert told(steps(1)[0])
    assert len(seen) == 1
    assert not CallbackList(seen.append)(steps(1)[0])


def test_without_anybody_there_is_no_watch():
    assert make_callback(MKMC()) is None


@each
def test_callbacks_count_up_once_in_every_fit(name):
    if "callback" not in ITERATIVE[name][0].get_params():
        return
    seen = []
    fitted(name, lambda one: one.set_params(callback=seen.append), labels=Y % 3)
    assert [one.iteration for one in seen] == list(range(1, len(seen) + 1))


def test_a_trial_inside_a_fit_is_watched_by_nobody():
    hears = pytest.importorskip("sklearn.callback").ProgressBar()
    one = MKLClassifier(2.0, callback=print, verbose=True).set_callbacks(hears)
    other = clone_without_callbacks(one, norm=2)
    assert (other.C, other.norm, other.callback, other.verbose) == (2.0, 2, None, False)
    assert "_skl_callbacks" not in vars(other)
    assert one.verbose
    assert clone_without_callbacks(CombineKernels(normalize=None)).normalize is None


# ---------------------------------------------------------------------------------------- lines on stderr


@each
def test_verbose_writes_lines_and_one_at_the_end(name, monkeypatch):
    monkeypatch.setattr(watching, "_PAUSE", 0.0)
    said = StringIO()
    with redirect_stderr(said):
        one = fitted(name, lambda one: one.set_params(verbose=True))
    *lines, last = said.getvalue().splitlines()
    assert lines[0].startswith(f"{type(one).__name__}: iteration 1 of at most ")
    assert [line.split()[2] for line in lines] == [str(i + 1) for i in range(len(lines))]
    assert last == f"{type(one).__name__}: {one.status_} ({one.n_iter_} iterations)"


def test_lines_come_now_and_then_only(monkeypatch):
    for seconds, every in ((0.0, None), (watching._PAUSE / 2, 2)):  # that each iteration takes
        monkeypatch.setattr(watching, "clock", partial(next, count(0.0, seconds)))
        said = StringIO()
        with redirect_stderr(said):
            fitted("mkmc", lambda one: one.set_params(verbose=True, max_iter=5, tol=0))
        *lines, _ = said.getvalue().splitlines()
        assert bool(lines) is bool(every)
        assert [int(line.split()[2]) for line in lines] == [2 * k for k in range(1, len(lines) + 1)]
    said = StringIO()
    with redirect_stderr(said):
        fitted("mkmc")
    assert said.getvalue() == ""


# --------------------------------------------------------------------------- scikit-learn's callbacks


class Heard:
    """A callback that writes down what it hears; `max_propagation_depth` sends it down to inner estimators."""

    max_propagation_depth = None

    def __init__(self, stop=False):
        self.heard, self.stop = [], stop

    def setup(self, estimator, context):
        self.heard.append(("setup", type(estimator).__name__, context.task_name))

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.heard.append(("begin", type(estimator).__name__, context.task_name))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.heard.append(("end", type(estimator).__name__, context.task_name))
        self.last = fitted_estimator
        return self.stop

    def teardown(self, estimator, context):
        self.heard.append(("teardown", type(estimator).__name__, context.task_name))


@each
def test_a_fit_is_one_task_and_its_iterations_tasks_below(name):
    pytest.importorskip("sklearn.callback")
    heard = Heard()
    one = fitted(name, lambda one: one.set_callbacks(heard))
    kind = type(one).__name__
    assert heard.heard[:2] == [("setup", kind, "fit"), ("begin", kind, "fit")]
    assert heard.heard[-2:] == [("end", kind, "fit"), ("teardown", kind, "fit")]
    within = heard.heard[2:-2]
    assert within == [("begin", kind, "iteration"), ("end", kind, "iteration")] * (len(within) // 2)
    assert len(within) // 2 >= one.n_iter_
    assert heard.last.n_iter_ == one.n_iter_  # what was learned is handed over
    assert "_callback_fit_ctx" not in vars(one)
    one.state()  # callbacks are no part of it


def test_a_callback_of_scikit_learn_can_stop():
    pytest.importorskip("sklearn.callback")
    one = fitted("mmaf", lambda one: one.set_callbacks(Heard(stop=True)))
    assert one.n_iter_ == 1
    assert "stopped early" in one.status_


@pytest.mark.slow
def test_a_progress_bar_reaches_through_searches_and_pipelines_without_a_warning(capsys):
    callback = pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    heard = Heard()
    pipeline = make_pipeline(ViewKernels(), MKMC(n_components=2), MKLClassifier(probability=True))
    with warnings.catch_warnings(action="error"):
        pipeline.set_callbacks(callback.ProgressBar(), heard).fit(VIEWS, Y < 5)
    tasks = [who for what, who, task in heard.heard if (what, task) == ("begin", "fit")]
    assert tasks == ["Pipeline", "ViewKernels", "MKMC", "MKLClassifier"]
    assert [what for what, *_ in heard.heard].count("setup") == 1
    shown = capsys.readouterr().out
    assert "MKMC - fit" in shown
    assert "MKLClassifier - fit" in shown
    search = GridSearchCV(clone(pipeline).set_callbacks(), {"mklclassifier__C": [1, 10]}, cv=2)
    with warnings.catch_warnings(action="error"):
        search.set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(VIEWS, Y < 5)
    assert search.best_params_


def test_an_older_scikit_learn_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    with pytest.raises(ImportError, match=r"scikit-learn 1\.9 or newer"):
        MKMC().set_callbacks()
    fitted("mmaf")
