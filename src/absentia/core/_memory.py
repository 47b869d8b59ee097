"""How much memory there is, what arrays take of it, and bytes as people write them.

The environment variable ``ABSENTIA_MEMORY``, as in ``16e9`` or ``16G``, says how much this process may take
where what is free cannot be told, or should not all be taken.
"""

import math
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

_VARIABLE = "ABSENTIA_MEMORY"


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


def array_bytes(*values: Any) -> int:
    """Bytes of arrays, and of those that are attributes of these values; each is counted once."""
    total, pending, seen = 0, list(values), set[int]()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            total += value.nbytes
        elif hasattr(value, "__dict__") and not isinstance(value, type):
            pending += list(vars(value).values())
    return total


def available_memory() -> int:
    """Bytes that this process may still take: of the machine, of its container, by its own limit.

    Or as many as the user says.
    """
    if given := os.environ.get(_VARIABLE):
        return parse_bytes(given, f"the environment variable {_VARIABLE}")
    return max(0, min([*_machine_memory(), *_container_memory(), *_process_limit()], default=4 << 30))


def check_memory(need: float, what: str, advice: str) -> None:
    """Raise, before anything is made, if `what` takes more bytes than there are, with `advice`."""
    free = available_memory()
    if need > free:
        raise ValueError(
            f"{what} take about {format_bytes(need)} with what is made of them, and {format_bytes(free)} "
            f"are free: {advice}; if the memory is there after all, set the environment variable "
            f"{_VARIABLE} to how much, as in {_VARIABLE}=64G"
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
