"""What an array in a file says of itself: its type, shape and order, of which nothing is evaluated."""

import math
import re
from typing import IO, Any, NamedTuple

import numpy as np

LONGEST_HEADER = 10_000

_ENTRY = re.compile(r"\s*(['\"])(\w+)\1\s*:\s*('[^'\\]*'|\"[^\"\\]*\"|True|False|\([\d,\sL]*\))\s*(?:,|$)")
_SHAPE = re.compile(r"\((?:\s*\d{1,20}L?\s*,)*(?:\s*\d{1,20}L?)?\s*\)")  # long whole numbers are Python 2's
_TYPE = re.compile(r"[<>|=]?(?:[biufc]\d{1,2}|[SU]\d{1,9}|[mM]8(?:\[\w{1,12}\])?)")


class Header(NamedTuple):
    """What an array says of itself, and how many bytes it takes to say so."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    length: int

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def need(self) -> int:
        """Memory, also for what holds nothing but counts: a million empty texts are a million texts."""
        least = 64 if self.dtype.kind in "US" else 8  # as Python's texts, as double precision
        return math.prod(max(n, 1) for n in self.shape) * max(self.dtype.itemsize, least)


def read_header(stream: IO[bytes]) -> Header:
    """The header that an array begins with, checked."""
    magic = stream.read(8)
    if len(magic) < 8 or magic[:6] != b"\x93NUMPY" or magic[6] not in (1, 2, 3):
        raise ValueError("does not begin as an array does")
    width = 2 if magic[6] == 1 else 4
    length = int.from_bytes(stream.read(width), "little")
    if length > LONGEST_HEADER:
        raise ValueError(f"has a header of {length} bytes, more than {LONGEST_HEADER}")
    text = stream.read(length)
    if len(text) < length:
        raise ValueError("is damaged: it ends inside its header")
    return Header(*_parsed(text.decode("utf-8" if magic[6] == 3 else "latin1")), 8 + width + length)


def _parsed(text: str) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    """Type, shape and order out of a header's text, of which nothing is evaluated."""
    inside, found, place = text.strip(), {}, 0
    if not (inside.startswith("{") and inside.endswith("}")):
        raise ValueError("does not begin as an array does")
    inside = inside[1:-1].rstrip()
    while entry := _ENTRY.match(inside, place):
        found[entry[2]], place = entry[3], entry.end()
    kind, shape = found.get("descr", "").strip("'\""), found.get("shape", "")
    if "'O'" in text or "|O" in text:
        raise ValueError(
            "holds pickled Python objects, which could run code and are never loaded; "
            "save plain numbers or strings instead"
        )
    known = place == len(inside) and _TYPE.fullmatch(kind)
    if not known or found.get("fortran_order") not in ("True", "False"):
        raise ValueError(f"is not plain numbers or texts but {text.strip()[:80]}")
    sizes = tuple(int(n) for n in re.findall(r"\d+", shape)) if _SHAPE.fullmatch(shape) else None
    if sizes is None or len(sizes) > 32 or max(sizes, default=0) > 1 << 62:
        raise ValueError(f"has the shape {shape[:40]!r}, which is none")
    try:
        return np.dtype(kind), sizes, found["fortran_order"] == "True"
    except (TypeError, ValueError):
        raise ValueError(f"is not plain numbers or texts but {kind}, a type that there is not") from None
