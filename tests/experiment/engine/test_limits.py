"""Fits that take too long or too much are stopped where they are, and everything is as it was before."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from absentia.experiment.engine import (
    Limits,
    _count_cpu_seconds,
    _enforce_limits,
    _measure_cost,
    _OutOfTime,
)
from helpers import trial_functions

MB = 1 << 20
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and peaks as Linux has them")


def state():
    """All that limits change."""
    kinds = (resource.RLIMIT_CPU, resource.RLIMIT_AS)
    return (
        *map(resource.getrlimit, kinds),
        signal.getsignal(signal.SIGPROF),
        signal.getitimer(signal.ITIMER_PROF),
    )


@pytest.fixture(autouse=True)
def as_before():
    before = state()
    yield
    assert state() == before


def spent():
    cost = {}
    return cost, _measure_cost(cost)


@pytest.mark.parametrize(
    ("do", "own_process"),
    [
        ("spin", False),
        ("spin", True),
        ("multiply", True),
        pytest.param("stubborn", False, marks=pytest.mark.slow),
    ],
)
def test_a_fit_that_takes_too_long_is_stopped(do, own_process):
    cost, measuring = spent()
    with pytest.raises(_OutOfTime), measuring, _enforce_limits(Limits(0.2), own_process):
        trial_functions.perform({"do": do})
    swallowed = 1.0 if do == "stubborn" else 0.0  # again after a second
    # timers count whole ticks, however little of them was had on a busy machine
    assert cost["cpu"] >= 0.2 * (0.2 + swallowed)


def test_nobody_who_goes_on_after_errors_goes_on_after_this_one():
    assert not issubclass(_OutOfTime, Exception)


def test_what_is_quick_enough_is_left_alone():
    with _enforce_limits(Limits(5.0, 500 * MB), True):
        found = trial_functions.large({"n": 10})
        within = state()
    assert found["sum"] == 10 << 17
    assert 6 <= within[0][0] - _count_cpu_seconds() <= 5 * 1.25 + 5 + 1  # the operating system, later
    assert within[1][0] > 500 * MB
    assert 0 < within[3][0] < 6.0


def test_only_in_a_process_of_its_own_may_the_operating_system_end_a_fit():
    before = resource.getrlimit(resource.RLIMIT_CPU)
    with _enforce_limits(Limits(5.0), False):
        assert resource.getrlimit(resource.RLIMIT_CPU) == before


@pytest.mark.slow
def test_a_fit_that_takes_too_much_memory_is_stopped():
    with pytest.raises(MemoryError), _enforce_limits(Limits(memory=100 * MB), True):
        trial_functions.large({"n": 300})
    assert trial_functions.large({"n": 300})["sum"] == 300 << 17


def test_memory_that_was_taken_before_is_not_counted():
    ballast = np.ones(200 << 17)
    with _enforce_limits(Limits(memory=150 * MB), True):
        trial_functions.large({"n": 50})
    assert len(ballast)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, _OutOfTime])
def test_whatever_happens_things_are_put_back(error):
    with pytest.raises(error), _enforce_limits(Limits(60.0, 500 * MB), True):
        raise error


def test_a_limit_that_comes_while_things_are_put_back_is_too_late():
    with _enforce_limits(Limits(60.0), True):
        handler = signal.getsignal(signal.SIGPROF)
        with pytest.raises(_OutOfTime):
            handler(signal.SIGPROF, None)
    handler(signal.SIGPROF, None)


def test_limits_of_the_operating_system_are_never_raised():
    kind, before = resource.RLIMIT_CPU, resource.getrlimit(resource.RLIMIT_CPU)
    own = int(time.process_time()) + 500
    resource.setrlimit(kind, (own, before[1]))
    try:
        with _enforce_limits(Limits(10_000.0), True):
            assert resource.getrlimit(kind)[0] == own
        assert resource.getrlimit(kind) == (own, before[1])
    finally:
        resource.setrlimit(kind, before)


def test_enormous_limits_are_no_limits():
    with _enforce_limits(Limits(1e30, 10**30), True):
        trial_functions.large({"n": 1})


def test_a_timer_of_somebody_else_goes_on():
    signal.setitimer(signal.ITIMER_PROF, 1000.0, 7.0)
    try:
        with _enforce_limits(Limits(5.0), False):
            assert signal.getitimer(signal.ITIMER_PROF)[0] < 6.0
        delay, every = signal.getitimer(signal.ITIMER_PROF)
        assert (round(delay, -1), every) == (1000.0, 7.0)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def in_thread(function):
    found = []

    def catch():
        try:
            found.append(function())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=catch)
    thread.start()
    thread.join()
    return found[0]


def test_in_a_thread_there_are_no_limits():
    before = state()[:2]

    def inside():
        with _enforce_limits(Limits(0.01, MB), True):
            assert state()[:2] == before  # they would be those of all threads
            return trial_functions.large({"n": 50})

    assert in_thread(inside) == {"sum": float(50 << 17)}


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf")])
def test_limits_are_positive_numbers(value):
    with pytest.raises(ValueError, match=f"time_limit is a positive number or None, not {value!r}"):
        Limits(value)
    with pytest.raises(ValueError, match="memory_limit is a positive number or None"):
        Limits(None, value)


# ------------------------------------------------------------------------------------------- measuring


def test_cpu_and_wall_are_measured():
    cost, measuring = spent()
    with measuring:
        begun = time.process_time()
        while time.process_time() - begun < 0.2:
            pass
        time.sleep(0.3)
    assert 0.2 <= cost["cpu"] <= cost["wall"] - 0.25


PEAKS = """
from helpers import trial_functions as trying
from absentia.experiment.engine import _measure_cost

trying.large({"n": 200})
cost = {}
with _measure_cost(cost):
    trying.large({"n": 20})
print(cost["memory"])
"""


def test_the_peak_of_one_fit_is_not_that_of_the_next():
    """In a process of its own: what other tests have left free there would be taken again."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    run = subprocess.run(
        [sys.executable, "-c", PEAKS],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert 15 <= float(run.stdout) <= 60, run.stderr


def test_costs_are_known_of_fits_that_fail_too():
    cost, measuring = spent()
    with pytest.raises(KeyError), measuring:
        trial_functions.fail({})
    assert set(cost) == {"cpu", "wall", "memory"}


def test_in_a_thread_only_its_own_time_counts():
    cost, measuring = spent()
    begun, over = threading.Event(), threading.Event()

    def rest():
        with measuring:
            begun.set()
            over.wait()

    thread = threading.Thread(target=rest)
    thread.start()
    begun.wait()
    now = time.process_time()
    while time.process_time() - now < 0.4:
        pass
    over.set()
    thread.join()
    assert cost["cpu"] < 0.2 < cost["wall"]


def test_where_the_peak_cannot_be_had_there_is_none(monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError

    monkeypatch.setattr("pathlib.Path.write_text", refuse)
    cost, measuring = spent()
    with measuring:
        pass
    assert cost["memory"] is None
