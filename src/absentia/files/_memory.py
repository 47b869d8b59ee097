"""How much memory reading one file may take.

What a file declares is checked against a ceiling before anything is allocated: a quarter of the memory that
is free, as making views of arrays takes copies of them.  (Not a ratio of compression: kernels of mostly
zeros compress a thousandfold.)  The environment variable ``ABSENTIA_MAX_BYTES``, as in ``8e9`` or ``8G``,
sets another ceiling.
"""

import math
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from absentia.files._errors import FileError

MAX_BYTES = "ABSENTIA_MAX_BYTES"
SHARE = 4  # arrays may take this part of the memory that is free: a copy or three of them follow


def ceiling() -> int:
    """How many bytes reading one file may take: a quarter of the free memory, or as the user says."""
    given = os.environ.get(MAX_BYTES)
    if not given:
        return available_memory() // SHARE
    return parse_bytes(given, f"the environment variable {MAX_BYTES}")


def parse_bytes(text: str, what: str) -> int:
    """``8e9`` or ``8G`` as a number; `what` it is of is named in errors."""
    found = re.fullmatch(
        r"(\d{1,15}(?:\.\d{1,15})?(?:e\d{1,2})?)\s*([kmgt]?)(?:i?b)?", text.strip().lower()
    )
    if found is None:
        raise FileError(f"{what} is {text!r}; a number of bytes is wanted, as 8G")
    return int(float(found[1]) * 1024.0 ** " kmgt".index(found[2] or " "))


def available_memory() -> int:
    """Bytes that this process may still take: of the machine, of its container, by its own limit."""
    return max(0, min([*_machine_memory(), *_container_memory(), *_own_limit()], default=4 << 30))


def _machine_memory() -> Iterator[int]:
    with suppress(OSError):
        found = re.search(r"MemAvailable:\s*(\d+) kB", Path("/proc/meminfo").read_text())
        if found:
            yield int(found[1]) * 1024
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


def _own_limit() -> Iterator[int]:
    with suppress(ImportError, OSError, ValueError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            yield limit - used


@dataclass
class Budget:
    """What reading one file may still take."""

    limit: int = field(default_factory=ceiling)
    spent: int = 0

    def spend(self, need: int, what: str) -> None:
        self.spent += need
        if self.spent > self.limit:
            raise ValueError(
                f"{what} would take {size(need)} of memory"
                + (f" ({size(self.spent)} with what comes before it)" if self.spent > need else "")
                + f", and at most {size(self.limit)} are allowed; if the file is to be trusted and the "
                f"memory is there, set the environment variable {MAX_BYTES} to more, as in {MAX_BYTES}=8G"
            )


def size(count: int) -> str:
    """Bytes for people."""
    if count < 1000:
        return f"{count} bytes"
    power = min(int(math.log(count, 1000)), 8)
    return f"{count / 1000**power:.3g} {'kMGTPEZY'[power - 1]}B"
