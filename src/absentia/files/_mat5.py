"""MATLAB's files of version 5 to 7.2, element by element.

Nothing that an element declares is believed: one changed byte makes other readers of this format leave
their own memory.  An element is a kind, a length and its bytes; an array is an element of elements:
flags, sizes, name, and then, by its class, numbers, texts, cells, or the fields of a struct.
"""

import math
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np

from absentia.core import Array
from absentia.files._archive import CHUNK
from absentia.files._errors import one_line
from absentia.files._memory import Budget
from absentia.files._npy import compressed

HEADER = 128
DEEPEST = 3  # cells in structs in cells
MATRIX, COMPRESSED = 14, 15
#: Kinds of elements that hold numbers, and classes of arrays of numbers, as NumPy calls them.
KINDS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
NUMBERS = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
ENCODINGS = {16: "utf-8", 17: "utf-16", 18: "utf-32", 4: "utf-16", 2: "latin1", 1: "latin1"}
CELL, STRUCT, CHAR, SPARSE = 1, 2, 4, 5
LOGICAL, COMPLEX = 0x200, 0x800


class Order(NamedTuple):
    """In which order the bytes of numbers lie."""

    word: Literal["little", "big"]
    sign: str

    def dtype(self, name: str) -> "np.dtype[Any]":
        return np.dtype(self.sign + name)


class Element(NamedTuple):
    """What an element says it is, and its bytes."""

    kind: int
    content: memoryview


def read_mat5(file: BinaryIO) -> dict[str, Any]:
    """What a file holds by name: arrays, sparse matrices, cells as lists, structs as dicts."""
    size = os.fstat(file.fileno()).st_size
    file.seek(HEADER - 4)
    version, mark = file.read(2), file.read(2)
    order = {b"IM": Order("little", "<"), b"MI": Order("big", ">")}.get(mark)
    if order is None or version not in (b"\x00\x01", b"\x01\x00"):
        raise ValueError("not a .mat file of version 5 or later; save it in MATLAB with -v7 or -v7.3")
    budget = Budget()
    budget.spend(size, "the file")
    found: dict[str, Any] = {}
    for one in _elements(memoryview(file.read()), order, padded=False):
        if one.kind == COMPRESSED:
            inner = memoryview(_unpacked(one.content, budget))
            one = next(_elements(inner, order), Element(0, inner))
        if one.kind == MATRIX:
            name, value = _Array(one.content, order, budget).read(0)
            if value is not None and name and not name.startswith("__"):
                found[name] = value
    return found


def _elements(content: memoryview, order: Order, padded: bool = True) -> Iterator[Element]:
    """The elements that follow one another; short ones lie within eight bytes, others fill them up."""
    place = 0
    while place + 8 <= len(content):
        kind, length = (int.from_bytes(content[place + k : place + k + 4], order.word) for k in (0, 4))
        if kind >> 16:
            kind, length, begin, end = kind & 0xFFFF, kind >> 16, place + 4, place + 8
        else:
            begin = place + 8
            end = begin + length + (-length % 8 if padded or kind != COMPRESSED else 0)
        if begin + length > min(len(content), end):
            raise ValueError("is damaged: an element of it ends after what it is in")
        yield Element(kind, content[begin : begin + length])
        place = end


def _unpacked(packed: memoryview, budget: Budget) -> bytearray:
    unpacking, result, part = zlib.decompressobj(), bytearray(), bytes(packed)
    try:
        while part and not unpacking.eof:
            result += unpacking.decompress(part, CHUNK)
            budget.spend(CHUNK, "what is packed in the file")
            part = unpacking.unconsumed_tail
    except zlib.error as error:
        raise ValueError(f"is damaged ({one_line(error)})") from None
    if not unpacking.eof:
        raise ValueError("is damaged: what is packed in it ends too early")
    return result


class _Array:
    """One array, out of the elements that it is made of."""

    def __init__(self, content: memoryview, order: Order, budget: Budget) -> None:
        self.parts, self.order, self.budget = _elements(content, order), order, budget
        self.size = len(content)

    def read(self, depth: int) -> tuple[str, Any]:
        """Its name and value; None for what is neither numbers, texts, cells nor fields."""
        if not self.size:
            return "", np.zeros(0)
        flags = int(self.numbers("u4")[0])
        self.kind, self.flags = flags & 0xFF, flags
        readers: dict[int, Callable[[int], Any]] = {
            CELL: self.cells,
            STRUCT: self.fields,
            CHAR: lambda _: self.texts(),
            SPARSE: lambda _: self.sparse(),
        }
        reader = readers.get(self.kind, (lambda _: self.array()) if self.kind in NUMBERS else None)
        if reader is None or depth > DEEPEST:
            return "", None
        self.shape = tuple(int(n) for n in self.numbers("i4"))
        if not 2 <= len(self.shape) <= 32 or min(self.shape) < 0:
            raise ValueError(f"is damaged: an array of it has the shape {self.shape[:8]}")
        name = bytes(self.next().content).decode("latin1")
        try:
            return name, None if flags & COMPLEX else reader(depth)
        except ValueError as error:
            raise ValueError(f"{name[:80]!r} {error}" if depth == 0 and name else str(error)) from None

    def next(self) -> Element:
        part = next(self.parts, None)
        if part is None:
            raise ValueError("is damaged: an array of it lacks a part")
        return part

    def numbers(self, name: str | None = None, count: int | None = None) -> Array:
        """The next element as numbers, of the one kind that is wanted or of any."""
        part = self.next()
        kind = KINDS.get(part.kind)
        if kind is None or (name is not None and kind[1:] != name[1:]):
            raise ValueError(f"is damaged: numbers of a kind {part.kind} that is not wanted there")
        dtype = self.order.dtype(kind)
        if len(part.content) % dtype.itemsize or (
            count is not None and len(part.content) != count * dtype.itemsize
        ):
            raise ValueError(f"is damaged: {len(part.content)} bytes for {count} numbers of type {kind}")
        if name is not None and not len(part.content):
            raise ValueError("is damaged: an array of it lacks its sizes")
        return np.frombuffer(part.content, dtype)

    def array(self) -> Array:
        """Numbers, in the class that MATLAB has them in however they are stored, along columns first."""
        count = math.prod(self.shape)
        dtype = np.dtype(bool if self.flags & LOGICAL else NUMBERS[self.kind])
        self.budget.spend(count * max(dtype.itemsize, 8), f"an array of shape {self.shape}")
        return self.numbers(count=count).astype(dtype).reshape(self.shape, order="F")

    def texts(self) -> Array:
        """One text for each row."""
        part = self.next()
        encoding = ENCODINGS.get(part.kind)
        if encoding is None or len(self.shape) != 2:
            raise ValueError(f"is damaged: texts of kind {part.kind} and shape {self.shape}")
        wide = encoding not in ("utf-8", "latin1")
        text = bytes(part.content).decode(
            encoding + ("-le" if self.order.sign == "<" else "-be") * wide, "replace"
        )
        rows = self.shape[0]
        if rows < 2:
            return np.array(text)
        if len(text) != math.prod(self.shape):
            raise ValueError(f"is damaged: {len(text)} characters for texts of shape {self.shape}")
        self.budget.spend(8 * len(text), f"texts of shape {self.shape}")
        return np.array([text[row::rows].rstrip() for row in range(rows)], dtype=str)

    def sparse(self) -> Any:
        """A sparse matrix by columns; more places than values may be kept free."""
        rows, begin = self.numbers(), self.numbers()
        # MATLAB keeps truth in bytes and calls them double
        truth = self.flags & LOGICAL
        data = np.frombuffer(self.next().content, np.uint8).astype(bool) if truth else self.numbers()
        if len(begin) < 1 or begin.dtype.kind not in "iu":
            raise ValueError("is damaged: a sparse matrix lacks its columns")
        stored = int(begin[-1])
        native = [x.astype(x.dtype.newbyteorder("=")) for x in (data[:stored], rows[:stored], begin)]
        arrays = dict(zip(("data", "indices", "indptr"), native, strict=True))
        return compressed({**arrays, "shape": np.array(self.shape)}, "csc")

    def inner(self, count: int, depth: int) -> list[Any]:
        """So many arrays that lie within this one."""
        if count > self.size // 8:  # each takes eight bytes at least
            raise ValueError(f"is damaged: {count} arrays within {self.size} bytes")
        found = []
        for _ in range(count):
            part = self.next()
            if part.kind != MATRIX:
                raise ValueError(f"is damaged: an element of kind {part.kind} where an array is wanted")
            found.append(_Array(part.content, self.order, self.budget).read(depth + 1)[1])
        return found

    def cells(self, depth: int) -> list[Any] | None:
        """A cell array whose cells could all be read; else their numbers would not mean what they did."""
        found = self.inner(math.prod(self.shape), depth)
        return None if any(one is None for one in found) else found

    def fields(self, depth: int) -> dict[str, Any] | None:
        length = int(self.numbers("i4")[0])
        names = bytes(self.next().content)
        if not 0 < length <= 4096 or len(names) % length:
            raise ValueError("is damaged: the names of fields are of no length")
        called = [
            names[k : k + length].split(b"\0")[0].decode("latin1") for k in range(0, len(names), length)
        ]
        if math.prod(self.shape) != 1:
            return None
        found = dict(zip(called, self.inner(len(called), depth), strict=True))
        return {name: one for name, one in found.items() if one is not None}
