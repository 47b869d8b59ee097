"""How much memory reading one file may take.

What a file declares is checked against a ceiling before anything is allocated: a quarter of the memory that
is free, as making views of arrays takes copies of them.  (Not a ratio of compression: kernels of mostly
zeros compress a thousandfold.)  The environment variable ``ABSENTIA_MAX_BYTES``, as in ``8e9`` or ``8G``,
sets another ceiling.
"""

import math
import os
from dataclasses import dataclass, field

from absentia import core
from absentia.core import available_memory
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
    try:
        return core.parse_bytes(text, what)
    except ValueError as error:
        raise FileError(str(error)) from None


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
