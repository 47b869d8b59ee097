"""BLAS threads: one where matrices are small, unless the user has decided."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import threadpoolctl

from absentia import MKMC, MKLClassifier, MKLRegressor, PMAImputer
from absentia.core import _resources as threads
from absentia.methods.matrix import _estimation as pma
from conftest import random_problem


@pytest.fixture(autouse=True)
def undecided(monkeypatch):
    for name in threads._DECIDED:
        monkeypatch.delenv(name, raising=False)


def blas_threads():
    """Of NumPy and SciPy; other packages may have brought a BLAS library of their own."""
    return {
        library["num_threads"]
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas"
        and {"numpy.libs", "scipy.libs"} & set(Path(library["filepath"]).parts)
    } or pytest.skip("NumPy and SciPy bring no BLAS library of their own here")


def test_small_matrices_get_one_thread_and_large_ones_what_there_was():
    with threadpoolctl.threadpool_limits(2):
        with threads.limit_threads_if_small(threads._SMALL):
            assert blas_threads() == {1}
        assert blas_threads() == {2}
        with threads.limit_threads_if_small(threads._SMALL + 1):
            assert blas_threads() == {2}


def test_the_threads_come_back_after_an_error_and_from_nested_contexts():
    def fail():
        with threads.limit_threads_if_small(10), threads.limit_threads_if_small(5):
            assert blas_threads() == {1}
            raise RuntimeError

    with threadpoolctl.threadpool_limits(2):
        with pytest.raises(RuntimeError):
            fail()
        assert blas_threads() == {2}


@pytest.mark.parametrize("name", threads._DECIDED)
def test_who_has_set_a_variable_has_decided(monkeypatch, name):
    monkeypatch.setenv(name, "2")
    with threadpoolctl.threadpool_limits(2), threads.limit_threads_if_small(10):
        assert blas_threads() == {2}


def test_a_limit_of_one_is_left_alone_and_costs_next_to_nothing(monkeypatch):
    def forbidden(*_, **__):
        raise AssertionError("nothing was to be changed")

    with threadpoolctl.threadpool_limits(1):
        monkeypatch.setattr(type(threads._libraries()), "limit", forbidden)
        monkeypatch.setattr(
            threadpoolctl, "ThreadpoolController", forbidden
        )  # to make one takes milliseconds
        with threads.limit_threads_if_small(10):
            pass


@pytest.mark.slow
def test_libraries_are_found_even_if_nothing_had_been_loaded():
    code = (
        "import sys; from absentia.core import _resources as threads\n"
        "import threadpoolctl\n"
        "with threads.limit_threads_if_small(10):\n"
        "    found = [x['num_threads'] for x in threadpoolctl.threadpool_info() if x['user_api'] == 'blas']\n"
        "print(len(found) >= 1 and set(found) == {1})"
    )
    env = {name: value for name, value in os.environ.items() if name not in threads._DECIDED}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    assert result.stdout == "True\n"


def fits(seen):
    """Small fits that tell, while they run, how many threads there are."""
    kernels = random_problem(30, 3)
    look = lambda *_: seen.append(blas_threads()) or False
    yield lambda: MKMC("pca", n_components=2, callback=look).fit(kernels)
    yield lambda: MKLClassifier(callback=look).fit(kernels, np.arange(30) % 2)
    yield lambda: MKLRegressor(callback=look).fit(kernels, np.arange(30.0))


def test_estimators_keep_small_problems_to_one_thread():
    seen = []
    with threadpoolctl.threadpool_limits(2):
        for fit in fits(seen):
            before = len(seen)
            fit()
            assert len(seen) > before
        assert blas_threads() == {2}
    assert set().union(*seen) == {1}


def test_matrix_models_too(monkeypatch):
    seen, infer = [], pma.infer
    monkeypatch.setattr(pma, "infer", lambda *a, **k: seen.append(blas_threads()) or infer(*a, **k))
    X = np.random.default_rng(0).normal(size=(12, 4))
    X[0, 0] = np.nan
    with threadpoolctl.threadpool_limits(2):
        PMAImputer().fit(X)
    assert seen == [{1}]
