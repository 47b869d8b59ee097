"""What trials do in the tests of the engine: workers import it."""

import collections
import itertools
import os
import signal
import sys
import time
from contextlib import suppress

import numpy as np


def perform(key):
    """Do what the trial says."""
    return DEEDS[key["do"]](key) or {}


def count(key):
    return {"n": key["n"], "pid": os.getpid()}


def fail(key):
    raise KeyError("no such luck")


def spin(key):
    while True:
        pass


def multiply(key):
    A = np.ones((150, 150))
    while True:
        A = A @ A / 150


def deaf(key):
    """One call into compiled code that never comes back."""
    collections.deque(itertools.repeat(0), maxlen=0)


def stubborn(key):
    """Whatever is raised is swallowed, once."""
    with suppress(BaseException):
        spin(key)
    spin(key)


def large(key):
    return {"sum": float(np.ones(key["n"] << 17).sum())}  # megabytes


def no_memory(key):
    raise OSError(12, "Cannot allocate memory")


def threads(key):
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    return {"now": [x["num_threads"] for x in threadpool_info()], "set": [os.environ.get(n) for n in names]}


def leak(key):
    """A worker that grows is replaced by another."""
    KEPT.append(np.ones(60 << 20, dtype=np.uint8))
    time.sleep(0.3)


def rest(key):
    time.sleep(key["n"])
    return {"n": key["n"]}


def silent(key):
    raise SilentError


class SilentError(Exception):
    def __str__(self):
        raise RuntimeError


KEPT = []
DEEDS = {
    "count": count,
    "fail": fail,
    "spin": spin,
    "multiply": multiply,
    "deaf": deaf,
    "stubborn": stubborn,
    "large": large,
    "no memory": no_memory,
    "threads": threads,
    "leak": leak,
    "rest": rest,
    "silent": silent,
    "nan": lambda key: {"score": float("nan")},
    "array": lambda key: {"values": np.zeros(2)},
    "leave": lambda key: sys.exit("enough"),
    "exit": lambda key: os._exit(3),
    "kill": lambda key: os.kill(os.getpid(), signal.SIGKILL),
}
