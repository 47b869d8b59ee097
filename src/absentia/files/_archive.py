"""Arrays in ``.npz`` files, read with care and written whole.  Nothing here knows of views.

Nothing is unpickled.  What a file declares (types, shapes, sizes) is checked against its directory, and
what reading it will need against a ceiling (``_memory``), before anything is allocated.  Whatever is wrong
with a file is a :class:`FileError`, one sentence that names it.
"""

import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np

from absentia.core import Array
from absentia.files._atomic import write_whole
from absentia.files._errors import FileError, PathLike, one_line, reading
from absentia.files._headers import Header, read_header
from absentia.files._memory import Budget, size
from absentia.files._opening import opened
from absentia.files._seal import COMMENT, Sealing

MOST_MEMBERS = 10_000
LONGEST_NAME = 1_000
LARGEST_DIRECTORY = 4 << 20  # bytes that a zip file's table of contents may take
INFLATION = 1032  # no deflated byte can become more
CHUNK = 1 << 20
_HALF = re.compile("[\ud800-\udfff]")  # of a pair of characters, which other programs do not take alone


@contextmanager
def _said_of(key: str) -> Iterator[None]:
    """Inside, errors begin with the verb: what is wrong with the array `key`."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"{key!r} {error}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OverflowError) as error:
        raise ValueError(f"{key!r} is damaged ({one_line(error)})") from None


@dataclass(frozen=True)
class Member:
    """An array in a file: what it declares is known, and checked, before it is read."""

    key: str
    archive: zipfile.ZipFile
    info: zipfile.ZipInfo
    budget: Budget

    @cached_property
    def header(self) -> Header:
        with _said_of(self.key):
            _check_entry(self.info)
            with self.archive.open(self.info) as stream:
                header = read_header(stream)
            came, said = self.info.file_size, header.length + header.elements * header.dtype.itemsize
            if came != said:
                raise ValueError(
                    f"is damaged: {header.dtype} of shape {header.shape} takes {said} bytes, not {came}"
                )
        return header

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.header.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.header.shape

    def read(self) -> Array:
        """The array, in the machine's own byte order."""
        header = self.header
        self.budget.spend(header.need, f"{self.key!r}, {header.dtype} of shape {header.shape},")
        with _said_of(self.key):
            raw = np.empty(header.elements * header.dtype.itemsize, np.uint8)
            with self.archive.open(self.info) as stream:
                stream.read(header.length)
                fill(raw.data, stream)
            return as_declared(raw, header)


def _check_entry(info: zipfile.ZipInfo) -> None:
    """What the directory says of an array, before a byte of it is read."""
    if not info.filename.endswith(".npy"):
        raise ValueError("is not an array; write the file with numpy.savez")
    if info.flag_bits & 0x1:
        raise ValueError("is encrypted; write it without a password")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(
            f"is compressed in a way (number {info.compress_type}) that arrays are not; write the file "
            "with numpy.savez or numpy.savez_compressed"
        )
    most = info.compress_size * (INFLATION if info.compress_type == zipfile.ZIP_DEFLATED else 1)
    if info.file_size > most:
        raise ValueError(
            f"is damaged: {info.compress_size} bytes cannot become the {info.file_size} that the file says"
        )


def fill(into: memoryview, stream: IO[bytes]) -> None:
    """All of `into` from a stream, some at a time."""
    for place in range(0, len(into), CHUNK):
        part = stream.read(min(CHUNK, len(into) - place))
        if len(part) < min(CHUNK, len(into) - place):
            raise ValueError("is damaged: it ends too early")
        into[place : place + CHUNK] = part


def as_declared(raw: Array, header: Header) -> Array:
    """Bytes as what they are said to be, if they can be that."""
    dtype = header.dtype
    if not len(raw):
        return np.zeros(header.shape, dtype)
    if dtype.kind == "U":
        points = raw.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if (points > 0x10FFFF).any() or ((points >= 0xD800) & (points < 0xE000)).any():
            raise ValueError("holds texts with characters that there are not; save it again as text")
    if dtype.kind == "b" and (raw > 1).any():
        raise ValueError("is damaged: it holds what is neither True nor False")
    array = raw.view(dtype).reshape(header.shape, order="F" if header.fortran else "C")
    if dtype.kind == "f" and dtype.itemsize > 8:  # extended precision differs between machines
        with np.errstate(all="ignore"):
            return array.astype(np.float64)
    return array.astype(dtype.newbyteorder("="), copy=False)


class Bounded:
    """A file of which no part is read at once that is larger than a directory may be."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, n: int = -1) -> bytes:
        data = self._file.read(n if 0 <= n <= LARGEST_DIRECTORY else LARGEST_DIRECTORY + 1)
        if len(data) > LARGEST_DIRECTORY:
            raise ValueError(
                f"its table of contents is larger than {size(LARGEST_DIRECTORY)}; at most "
                f"{MOST_MEMBERS} arrays or parts are taken"
            )
        return data


@contextmanager
def archive(path: PathLike) -> Iterator[dict[str, Member]]:
    """The arrays of an ``.npz`` file by name, none of them read yet."""
    with reading(path), opened(path, "an .npz file") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise ValueError("the file is empty")
        try:
            unzipped = zipfile.ZipFile(Bounded(file))
        except (zipfile.BadZipFile, NotImplementedError, OSError, OverflowError) as error:
            raise ValueError(
                "not an .npz file, or a part of one (write one with numpy.savez or absentia.io.write): "
                f"{one_line(error)}"
            ) from None
        with unzipped:
            yield _members(unzipped)


def _members(unzipped: zipfile.ZipFile) -> dict[str, Member]:
    infos = unzipped.infolist()
    if len(infos) > MOST_MEMBERS:
        raise ValueError(f"holds {len(infos)} arrays; at most {MOST_MEMBERS} are taken")
    end = -1
    for info in sorted(infos, key=lambda info: info.header_offset):
        if len(info.filename) > LONGEST_NAME:
            raise ValueError(
                f"holds an array whose name has {len(info.filename)} characters: {info.filename[:40]!r}..."
            )
        if info.header_offset < end:
            raise ValueError(
                f"{info.filename[:80]!r} lies inside another array of the file, which is damaged or a trap"
            )
        end = info.header_offset + 30 + info.compress_size  # 30: the least that stands before an array
    budget, members = Budget(), {}
    for info in infos:
        key = info.filename.removesuffix(".npy")
        if key in members:
            raise ValueError(f"holds {key[:80]!r} more than once; keep one")
        members[key] = Member(key, unzipped, info, budget)
    return members


def read_arrays(path: PathLike, wanted: Callable[[str], bool] = lambda key: True) -> dict[str, Array]:
    """Arrays of an ``.npz`` file, those wanted by name, or a :class:`FileError` that says why not."""
    with archive(path) as members:
        return {key: member.read() for key, member in members.items() if wanted(key)}


def keys(path: PathLike) -> list[str]:
    """Names of the arrays in an ``.npz`` file, none of which is opened."""
    with archive(path) as members:
        return list(members)


# ------------------------------------------------------------------------------------------ writing


class Pieces(NamedTuple):
    """An array that is made while it is written: its values one piece after the other, row by row.

    Not `packed`: as it is, where compressing would take long and gain nothing.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    pieces: Iterable[Array]
    packed: bool = True


def write_arrays(path: PathLike, arrays: Mapping[str, Any], sealed: bool = False) -> Path:
    """Write arrays, or their :class:`Pieces`, to ``.npz``, whole or not at all; never as pickles.

    `sealed`: ending in a checksum of the whole file (``_seal``).
    """
    plain = {key: _writable(path, key, value) for key, value in arrays.items()}
    if len(plain) > MOST_MEMBERS:
        raise FileError(f"{path}: {len(plain)} arrays, of which a file can hold {MOST_MEMBERS} at most")

    def save(file: Any) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.comment = COMMENT if sealed else b""
            for key, array in plain.items():
                info = zipfile.ZipInfo(f"{key}.npy")
                stored = isinstance(array, Pieces) and not array.packed
                info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
                with packed.open(info, "w", force_zip64=True) as member:
                    _save(member, array)

    def save_sealed(file: BinaryIO) -> None:
        sealing = Sealing(file)
        save(sealing)
        sealing.seal()

    return write_whole(path, save_sealed if sealed else save)


def _save(member: IO[bytes], array: Array | Pieces) -> None:
    if not isinstance(array, Pieces):
        np.lib.format.write_array(member, array, allow_pickle=False)
        return
    kind = np.lib.format.dtype_to_descr(array.dtype)
    header = {"descr": kind, "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(member, header)
    for piece in array.pieces:
        member.write(raw(np.asarray(piece, array.dtype)))


def raw(array: Array) -> memoryview:
    """The bytes of an array, row by row; not a copy of them where they lie so already."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8).data if flat.nbytes else memoryview(b"")


def _writable(path: PathLike, key: str, value: Any) -> Array | Pieces:
    if not key or "\0" in key or len(key) > LONGEST_NAME - 4 or _HALF.search(key):
        raise FileError(
            f"{path}: an array cannot be named {key[:80]!r} in a file; give 1 to {LONGEST_NAME - 4} "
            "characters of text"
        )
    if isinstance(value, Pieces):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "biufcSUmM":
        raise FileError(
            f"{path}: {key!r} holds {array.dtype}, which only a pickle could store and nothing here would "
            "read back; give numbers or texts"
        )
    if array.dtype.kind == "U" and any(map(_HALF.search, array.ravel().tolist())):
        raise FileError(f"{path}: {key!r} holds texts with characters that there are not; mend them")
    return array
