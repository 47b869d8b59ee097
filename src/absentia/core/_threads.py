"""How many BLAS threads a job is worth: one where matrices are small.

Threads of small products wait for one another longer than they compute: on two busy cores an
eigendecomposition of 500 x 500 took 13 times as long with two threads as with one, of 1000 x 1000 six
times.  Up to :data:`SMALL` samples there is one thread, therefore, unless the user has decided.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

#: Up to so many rows a matrix is small.
SMALL = 1000

#: Who sets one of these has decided on threads already.
DECIDED = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "GOTO_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


#: Of OpenBLAS: processors for which it multiplies small matrices without copying them.
_SMALL_KERNELS = ("SkylakeX", "Cooperlake", "SapphireRapids")


@contextmanager
def limit_threads_if_small(n: int) -> Iterator[None]:
    """Inside, BLAS has one thread if matrices of `n` rows are small: at most :data:`SMALL`.

    Nothing is changed for larger ones, where an environment variable (:data:`DECIDED`) says how many
    threads there are, or where there is one thread already.  It costs microseconds then, and some 0.2 ms
    otherwise; contexts may be nested and used in several Python threads.

    Examples
    --------
    >>> with limit_threads_if_small(200):
    ...     pass  # small products, each on one core
    """
    if n > SMALL or _is_decided() or has_one_thread():
        yield
        return
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@contextmanager
def limit_threads(number: int | None, n: int) -> Iterator[None]:
    """Inside, there are `number` threads, of BLAS and of OpenMP; None: those suited to `n` rows."""
    if number is None:
        with limit_threads_if_small(n):
            yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(number):
        yield


def count_threads(jobs: int) -> int:
    """How many threads to give some jobs that run beside one another: as many as cores, or as was decided.

    Examples
    --------
    >>> count_threads(1)
    1
    """
    given = [os.environ[name] for name in DECIDED if os.environ.get(name)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    allowed = int(given[0]) if given and given[0].isdigit() else cores
    return max(1, min(jobs, allowed, cores))


def _is_decided() -> bool:
    """Whether an environment variable sets the number of threads."""
    return any(os.environ.get(name) for name in DECIDED)


def has_one_thread() -> bool:
    """Whether every BLAS library has one thread already."""
    return all(library.num_threads == 1 for library in _libraries().lib_controllers)


@cache
def has_small_kernels() -> bool:
    """Whether every BLAS library multiplies small matrices as they are, without copying them first."""
    libraries = _libraries().lib_controllers
    return bool(libraries) and all(getattr(x, "architecture", "") in _SMALL_KERNELS for x in libraries)


@cache
def _libraries() -> Any:
    """The BLAS libraries of this process; finding them takes milliseconds, so once."""
    import numpy  # noqa: F401  (the controller knows only what is loaded)
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
