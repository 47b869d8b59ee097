"""What a process may take of the machine: memory and threads, and bytes as people write them.

The environment variable ``ABSENTIA_MEMORY``, as in ``16e9`` or ``16G``, says how much memory this process
may take where what is free cannot be told, or should not all be taken.

Threads of small products wait for one another longer than they compute: on two busy cores an
eigendecomposition of 500 x 500 took 13 times as long with two threads as with one, of 1000 x 1000 six
times.  Up to :data:`_SMALL` samples there is one thread, therefore, unless the user has decided.
"""

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

_MEMORY_VARIABLE = "ABSENTIA_MEMORY"


def parse_bytes(text: str, what: str) -> int:
    """``8e9`` or ``8G`` as a number; `what` it is of is named in errors.

    Examples
    --------
    >>> parse_bytes("8k", "this")
    8192
    """
    match = re.fullmatch(
        r"(\d{1,15}(?:\.\d{1,15})?(?:e\d{1,2})?)\s*([kmgt]?)(?:i?b)?", text.strip().lower()
    )
    if match is None:
        raise ValueError(f"{what} is {text!r}; a number of bytes is wanted, as 8G")
    return int(float(match[1]) * 1024.0 ** " kmgt".index(match[2] or " "))


def format_bytes(size: float) -> str:
    """A number of bytes with its unit, to three digits.

    Examples
    --------
    >>> format_bytes(3.5e6)
    '3.5 MB'
    """
    power = min(int(math.log10(max(size, 1))) // 3, 8)
    return f"{size / 1000**power:.3g} {('', *'kMGTPEZY')[power]}B"


def format_seconds(seconds: float) -> str:
    """A time with its unit, to three digits; from two minutes on in minutes."""
    if seconds < 1:
        return f"{seconds:.2g} s"
    return f"{seconds:.3g} s" if seconds < 120 else f"{seconds / 60:.3g} min"


def available_memory() -> int:
    """Bytes that this process may still take: of the machine, of its container, by its own limit.

    Or as many as the user says.
    """
    if given := os.environ.get(_MEMORY_VARIABLE):
        return parse_bytes(given, f"the environment variable {_MEMORY_VARIABLE}")
    return max(0, min([*_machine_memory(), *_container_memory(), *_process_limit()], default=4 << 30))


def check_memory(need: float, what: str, advice: str) -> None:
    """Raise, before anything is made, if `what` takes more bytes than there are, with `advice`."""
    free = available_memory()
    if need > free:
        raise ValueError(
            f"{what} take about {format_bytes(need)} with what is made of them, and {format_bytes(free)} "
            f"are free: {advice}; if the memory is there after all, set the environment variable "
            f"{_MEMORY_VARIABLE} to how much, as in {_MEMORY_VARIABLE}=64G"
        )


def _machine_memory() -> Iterator[int]:
    with suppress(OSError):
        match = re.search(r"MemAvailable:\s*(\d+) kB", Path("/proc/meminfo").read_text())
        if match:
            yield int(match[1]) * 1024
            return
    with suppress(OSError, ValueError, AttributeError):  # no such names everywhere
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _container_memory(root: Path = Path("/sys/fs/cgroup")) -> Iterator[int]:
    """What a control group (version 2 or 1) leaves; files that it caches can be given back."""
    versions = [(root, "max", "current"), (root / "memory", "limit_in_bytes", "usage_in_bytes")]
    for folder, limit, usage in versions:
        with suppress(OSError, ValueError):  # "max" is no number: no limit
            most, used, statistics = ((folder / f"memory.{x}").read_text() for x in (limit, usage, "stat"))
            free = int(most) - int(used)
            cached = re.search(r"^(?:total_)?inactive_file (\d+)", statistics, re.M)
            yield free + (int(cached[1]) if cached else 0)


def _process_limit() -> Iterator[int]:
    with suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            yield limit - used


# -------------------------------------------------------------------------------------------------- threads

#: Up to so many rows a matrix is small.
_SMALL = 1000

#: Who sets one of these has decided on threads already.
_DECIDED = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "GOTO_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@contextmanager
def limit_threads_if_small(n: int) -> Iterator[None]:
    """Inside, BLAS has one thread if matrices of `n` rows are small: at most :data:`_SMALL`.

    Nothing is changed for larger ones, where an environment variable (:data:`_DECIDED`) says how many
    threads there are, or where there is one thread already.  It costs microseconds then, and some 0.2 ms
    otherwise; contexts may be nested and used in several Python threads.

    Examples
    --------
    >>> with limit_threads_if_small(200):
    ...     pass  # small products, each on one core
    """
    if n > _SMALL or _is_decided() or _has_one_thread():
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
    given = [os.environ[name] for name in _DECIDED if os.environ.get(name)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    allowed = int(given[0]) if given and given[0].isdigit() else cores
    return max(1, min(jobs, allowed, cores))


def _is_decided() -> bool:
    """Whether an environment variable sets the number of threads."""
    return any(os.environ.get(name) for name in _DECIDED)


def _has_one_thread() -> bool:
    """Whether every BLAS library has one thread already."""
    return all(library.num_threads == 1 for library in _libraries().lib_controllers)


@cache
def _libraries() -> Any:
    """The BLAS libraries of this process; finding them takes milliseconds, so once."""
    import numpy  # noqa: F401  (the controller knows only what is loaded)
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
