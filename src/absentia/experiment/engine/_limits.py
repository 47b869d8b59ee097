"""How long a fit may take and how much memory, and what it took.

A limit is enforced twice: first by an exception where the fit is, which leaves the process as it was, and,
in processes of the engine's own, by the operating system, should the fit not listen (compiled code does
not).  Where the operating system knows no such limits (Windows), or outside of the main thread, there are
none.
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

MEGABYTE = 1 << 20
LATER = 5.0  # seconds after which, and a quarter of the time more, the operating system ends a process


class OutOfTime(BaseException):
    """Raised inside a fit; no part of a fit that goes on after errors catches it."""


@dataclass(frozen=True)
class Limits:
    """CPU seconds and bytes that a fit may take; None is any number of them."""

    seconds: float | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("time_limit", self.seconds), ("memory_limit", self.memory)):
            if value is not None and not value > 0:
                raise ValueError(f"{name} is a positive number or None, not {value!r}")


@dataclass
class Meter:
    """What a fit took; filled in at its end."""

    cost: dict[str, float | None] = field(default_factory=dict)


@contextmanager
def measured() -> Iterator[Meter]:
    """CPU and wall seconds, and megabytes at the peak beyond those at the start."""
    meter = Meter()
    before = _reset_peak()
    cpu, wall = time.process_time(), time.monotonic()
    try:
        yield meter
    finally:
        meter.cost = {
            "cpu": round(time.process_time() - cpu, 4),
            "wall": round(time.monotonic() - wall, 4),
            "memory": _beyond(before),
        }


def _reset_peak() -> int | None:
    """Bytes in use now, after which the peak begins anew; None where that cannot be had."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return _status("VmRSS")


def _beyond(before: int | None) -> float | None:
    peak = None if before is None else _status("VmHWM")
    return None if peak is None or before is None else round(max(0, peak - before) / MEGABYTE, 2)


def _status(name: str) -> int | None:
    """A number of bytes that Linux tells of this process."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    return None


@contextmanager
def limited(limits: Limits, own_process: bool) -> Iterator[None]:
    """Inside, :class:`OutOfTime` and :class:`MemoryError` are raised beyond the limits."""
    with _seconds(limits.seconds, own_process), _memory(limits.memory):
        yield


@contextmanager
def _seconds(most: float | None, own_process: bool) -> Iterator[None]:
    alone = threading.current_thread() is threading.main_thread()
    if most is None or not alone or not hasattr(signal, "setitimer"):
        yield
        return

    def over(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    previous = signal.signal(signal.SIGPROF, over)
    restore = _end_process_after(most) if own_process else None
    signal.setitimer(signal.ITIMER_PROF, most, max(1.0, most / 10))  # again, if somebody swallowed it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
        if restore is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_CPU, restore)


def _end_process_after(most: float) -> Any:
    """Let the operating system end this process some time after the limit; how it was before."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_CPU)
    end = int(time.process_time() + 1.25 * most + LATER) + 1
    hard = before[1]
    if hard == resource.RLIM_INFINITY or end < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (end, hard))
    return before


@contextmanager
def _memory(most: int | None) -> Iterator[None]:
    now = None if most is None else _status("VmSize")
    if most is None or now is None:
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    wanted = now + int(most)
    if before[1] == resource.RLIM_INFINITY or wanted < before[1]:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
