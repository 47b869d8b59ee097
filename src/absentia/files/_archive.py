"""Arrays in ``.npz`` and ``.npy`` files and Zarr folders, read with care; ``.npz`` is written whole.

Nothing here knows of views.

Nothing is unpickled.  What a file declares (types, shapes, sizes) is checked against its directory, and
what reading it will need against a ceiling (``Budget``), before anything is allocated.  Whatever is wrong
with a file is a :class:`FileError`, one sentence that names it.

In a Zarr folder, symbolic links, pipes and devices are refused, and the consolidated metadata, which may
name any path, are not read.  A chunk that is not there would be read as zeros and is refused.  Arrays may
be packed only by codecs that cannot run code (the codec ``pickle`` can).
"""

import math
import os
import re
import stat
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from io import BytesIO
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np

from absentia.core import Array, format_bytes, raw_bytes
from absentia.files._base import (
    Budget,
    FileError,
    PathLike,
    describe_irregular,
    file_errors,
    import_optional,
    one_line,
    open_regular,
    write_atomically,
)

MAX_MEMBERS = 10_000
_CHUNK = 1 << 20  # bytes that are read at a time
_MAX_HEADER = 10_000  # bytes of what an array says of itself
_MAX_DIRECTORY = 4 << 20  # bytes that a zip file's table of contents may take
_SURROGATE = re.compile("[\ud800-\udfff]")  # half a pair of characters, which other programs refuse

# -------------------------------------------------------------------------------------------- headers


class _Header(NamedTuple):
    """What an array says of itself, and how many bytes it takes to say so."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    length: int

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def memory(self) -> int:
        """Bytes, also for what holds nothing but counts: a million empty texts are a million texts."""
        least = 64 if self.dtype.kind in "US" else 8  # as Python's texts, as double precision
        return math.prod(max(n, 1) for n in self.shape) * max(self.dtype.itemsize, least)


def _read_header(stream: IO[bytes], size: int) -> _Header:
    """The header that an array begins with, checked; with its values it takes `size` bytes."""
    start = BytesIO(stream.read(_MAX_HEADER))
    try:
        major, _ = np.lib.format.read_magic(start)
        read = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
        with warnings.catch_warnings(action="ignore"):  # of files that Python 2 wrote
            shape, fortran, kind = read(start, _MAX_HEADER)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"is not an array that NumPy reads ({one_line(error, 200)})") from None
    if kind.hasobject:
        raise ValueError(
            "holds pickled Python objects, which could run code and are never loaded; "
            "save plain numbers or strings instead"
        )
    if kind.kind not in "biufcSUmM" or kind.subdtype is not None or min(shape, default=0) < 0:
        raise ValueError(f"is not plain numbers or texts but {str(kind)[:80]} of shape {shape[:8]}")
    header = _Header(kind, shape, fortran, start.tell())
    said = header.length + header.elements * kind.itemsize
    if size != said:
        raise ValueError(f"is damaged: {kind} of shape {shape[:8]} takes {said} bytes, not {size}")
    return header


# -------------------------------------------------------------------------------------------- reading


@contextmanager
def _array_errors(key: str) -> Iterator[None]:
    """Inside, errors begin with the verb: what is wrong with the array `key`."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"{key!r} {error}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OverflowError) as error:
        raise ValueError(f"{key!r} is damaged ({one_line(error)})") from None


@dataclass(frozen=True)
class _Member:
    """An array in a file: what it declares is known, and checked, before it is read."""

    key: str
    archive: zipfile.ZipFile
    info: zipfile.ZipInfo
    budget: Budget

    @cached_property
    def header(self) -> _Header:
        with _array_errors(self.key):
            _check_member(self.info)
            with self.archive.open(self.info) as stream:
                return _read_header(stream, self.info.file_size)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.header.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.header.shape

    def read(self) -> Array:
        """The array, in the machine's own byte order."""
        header = self.header
        self.budget.spend(header.memory, f"{self.key!r}, {header.dtype} of shape {header.shape},")
        with _array_errors(self.key), self.archive.open(self.info) as stream:
            stream.read(header.length)
            return _read_values(stream, header)


def _check_member(info: zipfile.ZipInfo) -> None:
    """What the directory says of an array, before a byte of it is read."""
    if not info.filename.endswith(".npy"):
        raise ValueError("is not an array; write the file with numpy.savez")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(
            f"is compressed in a way (number {info.compress_type}) that arrays are not; write the file "
            "with numpy.savez or numpy.savez_compressed"
        )


def _read_values(stream: IO[bytes], header: _Header) -> Array:
    """What follows a header, read some at a time, as what it is said to be, if it can be that."""
    dtype = header.dtype
    raw = np.empty(header.elements * dtype.itemsize, np.uint8)
    for place in range(0, len(raw), _CHUNK):
        part = stream.read(min(_CHUNK, len(raw) - place))
        if len(part) < min(_CHUNK, len(raw) - place):
            raise ValueError("is damaged: it ends too early")
        raw.data[place : place + _CHUNK] = part
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


class BoundedFile:
    """A file of which no part is read at once that is larger than a directory may be."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, n: int = -1) -> bytes:
        data = self._file.read(n if 0 <= n <= _MAX_DIRECTORY else _MAX_DIRECTORY + 1)
        if len(data) > _MAX_DIRECTORY:
            raise ValueError(
                f"its table of contents is larger than {format_bytes(_MAX_DIRECTORY)}; at most "
                f"{MAX_MEMBERS} arrays or parts are taken"
            )
        return data


@contextmanager
def open_archive(path: PathLike) -> Iterator[dict[str, _Member]]:
    """The arrays of an ``.npz`` file by name, none of them read yet."""
    with file_errors(path), open_regular(path, "an .npz file") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise ValueError("the file is empty")
        try:
            unzipped = zipfile.ZipFile(BoundedFile(file))
        except (zipfile.BadZipFile, NotImplementedError, OSError, OverflowError) as error:
            raise ValueError(
                "not an .npz file, or a part of one (write one with numpy.savez or absentia.io.write): "
                f"{one_line(error)}"
            ) from None
        with unzipped:
            yield _members(unzipped)


def _members(unzipped: zipfile.ZipFile) -> dict[str, _Member]:
    infos = unzipped.infolist()
    if len(infos) > MAX_MEMBERS:
        raise ValueError(f"holds {len(infos)} arrays; at most {MAX_MEMBERS} are taken")
    budget, members = Budget(), {}
    for info in infos:
        key = info.filename.removesuffix(".npy")
        if key in members:
            raise ValueError(f"holds {key[:80]!r} more than once; keep one")
        members[key] = _Member(key, unzipped, info, budget)
    return members


def read_arrays(path: PathLike, wanted: Callable[[str], bool] = lambda key: True) -> dict[str, Array]:
    """Arrays of an ``.npz`` file, those wanted by name, or a :class:`FileError` that says why not."""
    with open_archive(path) as members:
        return {key: member.read() for key, member in members.items() if wanted(key)}


def list_keys(path: PathLike) -> list[str]:
    """Names of the arrays in an ``.npz`` file, none of which is opened."""
    with open_archive(path) as members:
        return list(members)


def npy_content(path: Path) -> dict[str, Array]:
    """The array of an ``.npy`` file, under the name of the file."""
    with file_errors(path), open_regular(path, "an .npy file") as file:
        header = _read_header(file, os.fstat(file.fileno()).st_size)
        file.seek(header.length)
        Budget().spend(header.memory, f"an array, {header.dtype} of shape {header.shape},")
        return {path.stem: _read_values(file, header)}


# ----------------------------------------------------------------------------------------------- Zarr

#: What may pack an array, by the name of its class; none of these keeps Python objects.
_CODECS = frozenset(
    [
        "BytesCodec",
        "TransposeCodec",
        "ZstdCodec",
        "GzipCodec",
        "BloscCodec",
        "Crc32cCodec",
        "ShardingCodec",
        "VLenUTF8Codec",
        "VLenUTF8",
        "Zlib",
        "GZip",
        "Zstd",
        "LZ4",
        "Blosc",
        "BZ2",
        "LZMA",
        "Delta",
        "Shuffle",
        "CRC32C",
        "CRC32",
    ]
)


def zarr_content(path: PathLike) -> dict[str, Any]:
    """What a Zarr folder holds by name: arrays, and groups of arrays as dicts."""
    path = Path(path)
    with file_errors(path):
        zarr = import_optional("zarr", "a Zarr folder")
        _check_folder(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # zarr's, of files between the arrays that are none
            return _read_store(zarr, path)


def _read_store(zarr: Any, path: Path) -> dict[str, Any]:
    store = zarr.storage.LocalStore(path, read_only=True)
    try:
        root = zarr.open(store, mode="r", use_consolidated=False)
    except (FileNotFoundError, KeyError) as error:
        raise ValueError(f"holds no Zarr group or array ({type(error).__name__})") from None
    read = partial(_read_zarr_array, budget=Budget())
    if not is_group(root):
        return {path.stem: array} if (array := read(root)) is not None else {}
    return read_groups(root, lambda group: sorted(group.members(use_consolidated_for_children=False)), read)


def is_group(member: Any) -> bool:
    """Whether a member of a Zarr folder or an HDF5 file is a group and not an array."""
    return hasattr(member, "keys")


def read_groups(
    group: Any, list_members: Callable[[Any], Iterable[tuple[str, Any]]], read: Callable[[Any], Any]
) -> dict[str, Any]:
    """The arrays of a group by name, and those of the groups in it as dicts; deeper ones are left alone."""

    def read_arrays_of(group: Any) -> dict[str, Any]:
        found = {name: read(member) for name, member in list_members(group) if not is_group(member)}
        return {name: value for name, value in found.items() if value is not None}

    inner = {name: read_arrays_of(member) for name, member in list_members(group) if is_group(member)}
    return read_arrays_of(group) | inner


def spend_array(budget: Budget, array: Any, *, texts: bool) -> None:
    """Spend what reading an array takes, also for values that it has none of yet and for one chunk."""
    chunk = int(np.prod(array.chunks, dtype=object)) if array.chunks else 1
    need = max(int(np.prod(array.shape or (), dtype=object)), chunk) * max(
        array.dtype.itemsize, 64 if texts else 8
    )
    budget.spend(need, f"{array.name!r}, {array.dtype} of shape {array.shape},")


def _check_folder(path: Path) -> None:
    """A folder of regular files: no links that lead elsewhere, nothing to wait for, not endlessly many."""
    if not path.exists():
        raise ValueError("no such file")
    if not path.is_dir():
        raise ValueError("is a file; a Zarr folder is wanted")
    count = 0
    for folder, folders, files in os.walk(path):
        count += len(folders) + len(files)
        if count > 100 * MAX_MEMBERS:
            raise ValueError(f"holds more than {100 * MAX_MEMBERS} files")
        for name in (*folders, *files):
            mode = os.lstat(os.path.join(folder, name)).st_mode
            if stat.S_ISLNK(mode):
                raise ValueError(
                    f"{name[:80]!r} in it is a symbolic link, which is not followed; put the data there"
                )
            if not stat.S_ISDIR(mode) and (kind := describe_irregular(mode)):
                raise ValueError(f"{name[:80]!r} in it is {kind}, which is not opened; remove it")


def _read_zarr_array(array: Any, budget: Budget) -> Array | None:
    """An array of numbers or texts; None if it is neither."""
    names = _list_codecs(array)
    if strange := sorted(set(names) - _CODECS):
        raise ValueError(
            f"{array.name!r} is packed by {strange[0]}, which is not among those that are known to "
            "be harmless; save it without a filter for Python objects"
        )
    texts = any(name.startswith("VLen") for name in names) or array.dtype.kind in "UT"
    if array.dtype.kind not in "biuf" and not texts:
        return None
    spend_array(budget, array, texts=texts)
    _check_chunks(array)
    values = np.asarray(array[...])
    if texts:
        flat = [str(x) for x in values.ravel().tolist()]
        budget.spend(4 * max(map(len, flat), default=0) * len(flat), f"the texts of {array.name!r}")
        return np.array(flat, dtype=str).reshape(values.shape)
    return values.astype(np.float64) if values.dtype.itemsize > 8 else values


def _check_chunks(array: Any) -> None:
    """Raise if a chunk is not there; those of NaN say themselves that nothing is known."""
    lacking = array.nchunks - array.nchunks_initialized
    if array.size and lacking > 0 and not (array.dtype.kind == "f" and np.isnan(array.fill_value)):
        raise ValueError(
            f"{array.name!r} lacks {lacking} of its {array.nchunks} chunks, which would be read as "
            f"{array.fill_value!r}; copy the folder again, or, if these are its values, write it with "
            "config={'write_empty_chunks': True}"
        )


def _list_codecs(array: Any) -> list[str]:
    """What packs an array, in Zarr's formats 2 and 3; what shards are packed by inside, too."""
    used = [*array.filters, *array.compressors]
    used += [] if array.serializer is None else [array.serializer]
    for codec in used:
        used += [*getattr(codec, "codecs", ()), *getattr(codec, "index_codecs", ())]
    return [type(codec).__name__ for codec in used]


# -------------------------------------------------------------------------------------------- writing


class Pieces(NamedTuple):
    """An array that is made while it is written: its values one piece after the other, row by row.

    Not to `compress`: as it is, where compressing would take long and gain nothing.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    pieces: Iterable[Array]
    compress: bool = True


def write_arrays(path: PathLike, arrays: Mapping[str, Any]) -> Path:
    """Write arrays, or their :class:`Pieces`, to ``.npz``, whole or not at all; never as pickles.

    Parameters
    ----------
    path : path-like
        Where to.
    arrays : mapping of str to array-like or Pieces
        By the names that they get.
    """
    plain = {key: _check_writable(path, key, value) for key, value in arrays.items()}
    if len(plain) > MAX_MEMBERS:
        raise FileError(f"{path}: {len(plain)} arrays, of which a file can hold {MAX_MEMBERS} at most")

    def save(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for key, array in plain.items():
                info = zipfile.ZipInfo(f"{key}.npy")
                stored = isinstance(array, Pieces) and not array.compress
                info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
                with archive.open(info, "w", force_zip64=True) as member:
                    _save(member, array)

    return write_atomically(path, save)


def _save(member: IO[bytes], array: Array | Pieces) -> None:
    if not isinstance(array, Pieces):
        np.lib.format.write_array(member, array, allow_pickle=False)
        return
    kind = np.lib.format.dtype_to_descr(array.dtype)
    header = {"descr": kind, "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(member, header)
    for piece in array.pieces:
        member.write(raw_bytes(np.asarray(piece, array.dtype)))


def _check_writable(path: PathLike, key: str, value: Any) -> Array | Pieces:
    if not key or "\0" in key or _SURROGATE.search(key):
        raise FileError(f"{path}: an array cannot be named {key[:80]!r} in a file; rename it")
    if isinstance(value, Pieces):
        return value
    array = np.asarray(value)
    if array.dtype.kind not in "biufcSUmM":
        raise FileError(
            f"{path}: {key!r} holds {array.dtype}, which only a pickle could store and nothing here would "
            "read back; give numbers or texts"
        )
    if array.dtype.kind == "U" and any(map(_SURROGATE.search, array.ravel().tolist())):
        raise FileError(f"{path}: {key!r} holds texts with characters that there are not; mend them")
    return array
