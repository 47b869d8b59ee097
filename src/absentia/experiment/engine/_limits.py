"""How long a fit may take and how much memory, and what it took.

A limit is enforced twice: first by an exception where the fit is, which leaves the process as it was, and,
in processes of the engine's own, by the operating system, should the fit not listen (compiled code does
not).  Where the operating system knows no such limits (Windows), or outside of the main thread, there are
none.
"""

import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

_MEGABYTE = 1 << 20
_GRACE = 5.0  # seconds after which, and a quarter of the time more, the operating system ends a process
_MAX_SECONDS = 1e9  # seconds that clocks can be set to


class OutOfTime(BaseException):
    """Raised inside a fit; no part of a fit that goes on after errors catches it."""


@dataclass(frozen=True)
class Limits:
    """CPU seconds and bytes that a fit may take; None is any number of them."""

    seconds: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("time_limit", self.seconds), ("memory_limit", self.memory)):
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} is a positive number or None, not {value!r}")

    def as_cost(self) -> dict[str, float | None]:
        """As they stand in a record beside what a fit took."""
        return {"time_limit": self.seconds, "memory_limit": self.memory}


@contextmanager
def measure_cost(cost: dict[str, float | None]) -> Iterator[None]:
    """Add to `cost`, at the end, CPU and wall seconds, and megabytes at the peak beyond those at the start.

    CPU seconds are those of the whole process, but of one thread where that is not the main one: others
    may do other things.
    """
    before = _reset_peak()
    clock = time.process_time if _in_main_thread() else time.thread_time
    cpu, wall = clock(), time.monotonic()
    try:
        yield
    finally:
        cost["cpu"] = round(clock() - cpu, 4)
        cost["wall"] = round(time.monotonic() - wall, 4)
        cost["memory"] = _peak_beyond(before)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _reset_peak() -> int | None:
    """Bytes in use now, after which the peak begins anew; None where that cannot be had."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return _read_status("VmRSS")


def _peak_beyond(before: int | None) -> float | None:
    peak = None if before is None else _read_status("VmHWM")
    return None if peak is None or before is None else round(max(0, peak - before) / _MEGABYTE, 2)


def _read_status(name: str) -> int | None:
    """A number of bytes that Linux tells of this process."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    return None


@contextmanager
def enforce_limits(limits: Limits, own_process: bool) -> Iterator[None]:
    """Inside, :class:`OutOfTime` and :class:`MemoryError` are raised beyond the limits."""
    if not _in_main_thread():  # no signal comes there, and limits are those of the whole process
        yield
        return
    with _limit_memory(limits.memory), _limit_seconds(limits.seconds, own_process):
        yield


@contextmanager
def _limit_seconds(limit: float | None, own_process: bool) -> Iterator[None]:
    if limit is None or not hasattr(signal, "setitimer"):
        yield
        return
    limit, armed = min(limit, _MAX_SECONDS), True

    def over(number: int, frame: FrameType | None) -> None:
        if armed:  # not while things are put back
            raise OutOfTime

    previous = signal.signal(signal.SIGPROF, over) or signal.SIG_DFL
    with ExitStack() as after:
        after.callback(signal.signal, signal.SIGPROF, previous)
        if own_process:
            after.callback(*_lower_limit("RLIMIT_CPU", time.process_time() + 1.25 * limit + _GRACE + 1))
        # again and again, if somebody swallows it
        timer = signal.setitimer(signal.ITIMER_PROF, limit, max(1.0, limit / 10))
        after.callback(signal.setitimer, signal.ITIMER_PROF, *timer)
        try:
            yield
        finally:
            armed = False


@contextmanager
def _limit_memory(limit: int | None) -> Iterator[None]:
    now = None if limit is None else _read_status("VmSize")
    if limit is None or now is None:
        yield
        return
    with ExitStack() as after:
        after.callback(*_lower_limit("RLIMIT_AS", now + limit))
        yield


def _lower_limit(name: str, limit: float) -> tuple[Any, ...]:
    """Lower a limit of the operating system, never raise it; the call that puts it back."""
    import resource

    kind = getattr(resource, name)
    soft, hard = before = resource.getrlimit(kind)
    wanted = int(min(limit, sys.maxsize // 2))
    resource.setrlimit(kind, (wanted if soft == resource.RLIM_INFINITY else min(wanted, soft), hard))
    return resource.setrlimit, kind, before
