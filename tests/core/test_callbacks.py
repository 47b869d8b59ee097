"""Whoever watches a fit sees its iterations count up once."""

from contextlib import redirect_stderr
from functools import partial
from io import StringIO
from itertools import count

import numpy as np
import pytest
from sklearn.base import clone

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
from absentia.core import _estimator as watching
from absentia.core import clone_without_callbacks, make_callback
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
    told = make_callback(
        MKMC(callback=lambda progress: seen.append((progress.iteration, progress.max_iter)))
    )
    for one in steps(3, 1, 2):
        told(one)
    assert seen == [(1, 9), (2, 9), (3, 9), (4, 12), (5, 13), (6, 13)]


def test_whoever_listens_may_stop():
    assert make_callback(MKMC(callback=lambda progress: True))(steps(1)[0])
    assert not make_callback(MKMC(callback=lambda progress: None, verbose=True))(steps(1)[0])


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
    one = MKLClassifier(2.0, callback=print, verbose=True)
    other = clone_without_callbacks(one, norm=2)
    assert (other.C, other.norm, other.callback, other.verbose) == (2.0, 2, None, False)
    assert one.verbose
    assert clone_without_callbacks(CombineKernels(normalize=None)).normalize is None


# ---------------------------------------------------------------------------------------- lines on stderr


@each
def test_verbose_writes_lines_and_one_at_the_end(name, monkeypatch):
    monkeypatch.setattr(watching, "_LINE_INTERVAL", 0.0)
    said = StringIO()
    with redirect_stderr(said):
        one = fitted(name, lambda one: one.set_params(verbose=True))
    *lines, last = said.getvalue().splitlines()
    assert lines[0].startswith(f"{type(one).__name__}: iteration 1 of at most ")
    assert [line.split()[2] for line in lines] == [str(i + 1) for i in range(len(lines))]
    assert last == f"{type(one).__name__}: {one.status_} ({one.n_iter_} iterations)"


def test_lines_come_now_and_then_only(monkeypatch):
    for seconds, every in ((0.0, None), (watching._LINE_INTERVAL / 2, 2)):  # that each iteration takes
        monkeypatch.setattr(watching, "_clock", partial(next, count(0.0, seconds)))
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
