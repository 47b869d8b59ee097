"""Objects that hold arrays in a line: their size and what they are, never the numbers."""

import math
from typing import Any

import numpy as np


def held(*values: Any) -> int:
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


def in_bytes(size: float) -> str:
    """A number of bytes in words."""
    steps = min(int(math.log10(max(size, 1))) // 3, 3)
    return f"{size / 1000**steps:.3g} {('B', 'kB', 'MB', 'GB')[steps]}"


def described(what: Any, *facts: str) -> str:
    """A matrix that need not be stored as one: its shape, facts, precision and the memory that it takes."""
    rows, columns = what.shape
    words = [f"{rows} x {columns}", *facts, str(what.dtype), in_bytes(held(what))]
    return f"{type(what).__name__}({', '.join(words)})"
