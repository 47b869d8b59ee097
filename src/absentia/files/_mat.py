"""MATLAB's files: version 5 to 7.2, element by element.  Version 7.3 is HDF5.  Kernels are written too.

Cell arrays become lists (column by column, as MATLAB counts), structs dicts of their fields, char arrays
texts, logical arrays booleans.  Objects, tables, function handles and complex numbers are left alone.
Which array is what is said in ``_schema``.

Nothing that an element of version 5 declares is believed: one changed byte makes other readers of this
format leave their own memory.  An element is a kind, a length and its bytes; an array is an element of
elements: flags, sizes, name, and then, by its class, numbers, texts, cells, or the fields of a struct.
"""

import math
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np

from absentia.core import Array
from absentia.data import KernelViews, Views, check_unique_ids
from absentia.files._base import Budget, PathLike, file_errors, one_line, open_regular, write_atomically
from absentia.files._hdf5 import mat73_content
from absentia.files._npz import build_sparse

_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_CHUNK = 1 << 20  # bytes that are unpacked at a time


def mat_content(path: PathLike) -> dict[str, Any]:
    """What a ``.mat`` file holds by name: arrays, sparse matrices, cells as lists, structs as dicts."""
    with file_errors(path):
        with open_regular(path, "a .mat file") as file:
            start = file.read(512 + len(_HDF5_SIGNATURE))
            if not start:
                raise ValueError("the file is empty")
            if not start.endswith(_HDF5_SIGNATURE) and not start.startswith(_HDF5_SIGNATURE):
                return _read_mat5(file)
        return mat73_content(path)


# ------------------------------------------------------------------------------------------ version 5

_HEADER = 128
_MAX_DEPTH = 3  # cells in structs in cells
_MATRIX, _COMPRESSED = 14, 15
#: Kinds of elements that hold numbers, and classes of arrays of numbers, as NumPy calls them.
_KINDS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_NUMBERS = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_ENCODINGS = {16: "utf-8", 17: "utf-16", 18: "utf-32", 4: "utf-16", 2: "latin1", 1: "latin1"}
_CELL, _STRUCT, _CHAR, _SPARSE = 1, 2, 4, 5
_LOGICAL, _COMPLEX = 0x200, 0x800


class _ByteOrder(NamedTuple):
    """In which order the bytes of numbers lie."""

    word: Literal["little", "big"]
    sign: str

    def dtype(self, name: str) -> "np.dtype[Any]":
        return np.dtype(self.sign + name)


class _Element(NamedTuple):
    """What an element says it is, and its bytes."""

    kind: int
    content: memoryview


def _read_mat5(file: BinaryIO) -> dict[str, Any]:
    """What a file holds by name: arrays, sparse matrices, cells as lists, structs as dicts."""
    size = os.fstat(file.fileno()).st_size
    file.seek(_HEADER - 4)
    version, mark = file.read(2), file.read(2)
    order = {b"IM": _ByteOrder("little", "<"), b"MI": _ByteOrder("big", ">")}.get(mark)
    if order is None or version not in (b"\x00\x01", b"\x01\x00"):
        raise ValueError("not a .mat file of version 5 or later; save it in MATLAB with -v7 or -v7.3")
    budget = Budget()
    budget.spend(size, "the file")
    content: dict[str, Any] = {}
    for element in _elements(memoryview(file.read()), order, padded=False):
        if element.kind == _COMPRESSED:
            inner = memoryview(_decompress(element.content, budget))
            element = next(_elements(inner, order), _Element(0, inner))
        if element.kind == _MATRIX:
            name, value = _Array(element.content, order, budget).read(0)
            if value is not None and name and not name.startswith("__"):
                content[name] = value
    return content


def _elements(content: memoryview, order: _ByteOrder, padded: bool = True) -> Iterator[_Element]:
    """The elements that follow one another; short ones lie within eight bytes, others fill them up."""
    place = 0
    while place + 8 <= len(content):
        kind, length = (int.from_bytes(content[place + k : place + k + 4], order.word) for k in (0, 4))
        if kind >> 16:
            kind, length, begin, end = kind & 0xFFFF, kind >> 16, place + 4, place + 8
        else:
            begin = place + 8
            end = begin + length + (-length % 8 if padded or kind != _COMPRESSED else 0)
        if begin + length > min(len(content), end):
            raise ValueError("is damaged: an element of it ends after what it is in")
        yield _Element(kind, content[begin : begin + length])
        place = end


def _decompress(packed: memoryview, budget: Budget) -> bytearray:
    unpacking, result, part = zlib.decompressobj(), bytearray(), bytes(packed)
    try:
        while part and not unpacking.eof:
            result += unpacking.decompress(part, _CHUNK)
            budget.spend(_CHUNK, "what is packed in the file")
            part = unpacking.unconsumed_tail
    except zlib.error as error:
        raise ValueError(f"is damaged ({one_line(error)})") from None
    if not unpacking.eof:
        raise ValueError("is damaged: what is packed in it ends too early")
    return result


class _Array:
    """One array, out of the elements that it is made of."""

    def __init__(self, content: memoryview, order: _ByteOrder, budget: Budget) -> None:
        self.parts, self.order, self.budget = _elements(content, order), order, budget
        self.size = len(content)

    def read(self, depth: int) -> tuple[str, Any]:
        """Its name and value; None for what is neither numbers, texts, cells nor fields."""
        if not self.size:
            return "", np.zeros(0)
        flags = int(self.numbers("u4")[0])
        self.kind, self.flags = flags & 0xFF, flags
        readers: dict[int, Callable[[int], Any]] = {
            _CELL: self.cells,
            _STRUCT: self.fields,
            _CHAR: lambda _: self.texts(),
            _SPARSE: lambda _: self.sparse(),
        }
        reader = readers.get(self.kind, (lambda _: self.array()) if self.kind in _NUMBERS else None)
        if reader is None or depth > _MAX_DEPTH:
            return "", None
        self.shape = tuple(int(n) for n in self.numbers("i4"))
        if not 2 <= len(self.shape) <= 32 or min(self.shape) < 0:
            raise ValueError(f"is damaged: an array of it has the shape {self.shape[:8]}")
        name = bytes(self.next().content).decode("latin1")
        try:
            return name, None if flags & _COMPLEX else reader(depth)
        except ValueError as error:
            raise ValueError(f"{name[:80]!r} {error}" if depth == 0 and name else str(error)) from None

    def next(self) -> _Element:
        part = next(self.parts, None)
        if part is None:
            raise ValueError("is damaged: an array of it lacks a part")
        return part

    def numbers(self, name: str | None = None, count: int | None = None) -> Array:
        """The next element as numbers, of the one kind that is wanted or of any."""
        part = self.next()
        kind = _KINDS.get(part.kind)
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
        dtype = np.dtype(bool if self.flags & _LOGICAL else _NUMBERS[self.kind])
        self.budget.spend(count * max(dtype.itemsize, 8), f"an array of shape {self.shape}")
        return self.numbers(count=count).astype(dtype).reshape(self.shape, order="F")

    def texts(self) -> Array:
        """One text for each row."""
        part = self.next()
        encoding = _ENCODINGS.get(part.kind)
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
        truth = self.flags & _LOGICAL
        data = np.frombuffer(self.next().content, np.uint8).astype(bool) if truth else self.numbers()
        if len(begin) < 1 or begin.dtype.kind not in "iu":
            raise ValueError("is damaged: a sparse matrix lacks its columns")
        stored = int(begin[-1])
        native = [x.astype(x.dtype.newbyteorder("=")) for x in (data[:stored], rows[:stored], begin)]
        arrays = dict(zip(("data", "indices", "indptr"), native, strict=True))
        return build_sparse({**arrays, "shape": np.array(self.shape)}, "csc")

    def inner(self, count: int, depth: int) -> list[Any]:
        """So many arrays that lie within this one."""
        if count > self.size // 8:  # each takes eight bytes at least
            raise ValueError(f"is damaged: {count} arrays within {self.size} bytes")
        arrays = []
        for _ in range(count):
            part = self.next()
            if part.kind != _MATRIX:
                raise ValueError(f"is damaged: an element of kind {part.kind} where an array is wanted")
            arrays.append(_Array(part.content, self.order, self.budget).read(depth + 1)[1])
        return arrays

    def cells(self, depth: int) -> list[Any] | None:
        """A cell array whose cells could all be read; else their numbers would not mean what they did."""
        cells = self.inner(math.prod(self.shape), depth)
        return None if any(cell is None for cell in cells) else cells

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
        fields = dict(zip(called, self.inner(len(called), depth), strict=True))
        return {name: value for name, value in fields.items() if value is not None}


# ------------------------------------------------------------------------------------------ writing

_MAX_BYTES = 2**31 - 1  # of one array of version 5
_TEXT = 116  # bytes of text that a file begins with
#: What files with completed kernels begin with.
COMPLETED_MARK = b"MATLAB 5.0 MAT-file, kernels completed by absentia"


def write_mat(path: Path, data: Views | KernelViews, **extra: Any) -> Path:
    """Write square kernels: ``KH`` (n x n x V, NaN where absent), ``ids``, ``names``, ``observed`` (n x V).

    `extra` arrays and texts go in beside them.  The same data are the same bytes.
    """
    import scipy.io

    with file_errors(path):
        if not isinstance(data, KernelViews):
            raise ValueError("features are written to an .npz file or to a folder; name one")
        data.check_square()
        check_unique_ids(data.ids, "ids")
        n, size = len(data), 8 * data.n_views * len(data) ** 2
        if size > _MAX_BYTES:
            raise ValueError(
                f"{data.n_views} kernels of {n} samples take {size:,} bytes, and MATLAB's version 5 has at "
                f"most {_MAX_BYTES:,} for one array; name an .npz file"
            )
    KH = np.empty((n, n, data.n_views), order="F")
    for v, name in enumerate(data.names):
        KH[:, :, v] = data.padded(name, np.arange(n))
    numbers = data.ids.dtype.kind in "iuf"
    members = {
        "KH": KH,
        "ids": data.ids[:, None] if numbers else _make_cells(map(str, data.ids.tolist())),
        "names": _make_cells(data.names),
        "observed": data.observed,
    }
    mark = COMPLETED_MARK if "mask_before" in extra else b"MATLAB 5.0 MAT-file, written by absentia"

    def save(file: BinaryIO) -> None:
        scipy.io.savemat(file, {**members, **extra}, oned_as="column")
        file.seek(0)
        file.write(mark.ljust(_TEXT))  # instead of the system and the time

    return write_atomically(path, save)


def _make_cells(texts: Iterable[str]) -> Array:
    """A column of cells."""
    return np.array(list(texts), dtype=object)[:, None]
