"""Files, read with care and written whole: what every format shares.  Nothing here knows of views.

Reading
-------
Only regular files are opened (through symbolic links too); folders, pipes and devices are refused.  Nothing
is unpickled.  What an ``.npz`` file declares (types, shapes, sizes) is checked against its directory, and
what reading it will need against a ceiling, before anything is allocated: a quarter of the memory that is
free, as making views of arrays takes copies of them.  (Not a ratio of compression: kernels of mostly zeros
compress a thousandfold.)  The environment variable ``ABSENTIA_MAX_BYTES``, as in ``8e9`` or ``8G``, sets
another ceiling.  Whatever is wrong with a file is a :class:`FileError`, one sentence that names it.

Writing
-------
A file is written under a temporary name in the same folder, flushed to the disk and renamed, so that it is
there whole or not at all, after a power cut too.  A file that is replaced keeps its permissions, a new one
gets those that the umask leaves; a symbolic link stays, and what it points to is written.  Temporary files
that a killed process has left are removed when the same file is next written.
"""

from __future__ import annotations

import errno
import hashlib
import io
import math
import os
import re
import secrets
import socket
import stat
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np

from absentia.core import Array

MAX_BYTES = "ABSENTIA_MAX_BYTES"
SHARE = 4  # arrays may take this part of the memory that is free: a copy or three of them follow
MOST_MEMBERS = 10_000
LONGEST_NAME = 1_000
LONGEST_HEADER = 10_000
LARGEST_DIRECTORY = 4 << 20  # bytes that a zip file's table of contents may take
INFLATION = 1032  # no deflated byte can become more
CHUNK = 1 << 20
DAY = 86_400.0

PathLike = str | os.PathLike[str]


class FileError(ValueError):
    """A file that cannot be read as what it should be; the message names it and says why."""


# ------------------------------------------------------------------------------------------- errors


@contextmanager
def reading(path: PathLike) -> Iterator[None]:
    """Inside, whatever is wrong becomes a :class:`FileError` that names `path`, in one sentence."""
    try:
        yield
    except (FileError, Warning):  # named already; a warning that the user made an error
        raise
    except MemoryError:
        raise FileError(
            f"{path}: its data and the copies that reading takes do not fit into the memory that is free; "
            "give fewer samples or views at a time, or use a machine with more memory"
        ) from None
    except OSError as error:
        raise FileError(f"{path}: {why(error)}") from error
    except (ValueError, TypeError) as error:
        raise FileError(f"{path}: {one_line(error)}") from error
    except Exception as error:  # what a stranger may have put there shows in many ways
        raise FileError(f"{path}: damaged file ({type(error).__name__}: {one_line(error)})") from error


def one_line(error: object, most: int = 600) -> str:
    """A message without line breaks, and not longer than anyone reads."""
    sentence = " ".join(str(error).split())
    return sentence if len(sentence) <= most else f"{sentence[:most]} ..."


def why(error: OSError) -> str:
    """What the system says, in our words where they are better."""
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return "no such file"
    if error.errno == errno.ELOOP:
        return "is a symbolic link that leads back to itself; give the file itself"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "permission denied; ask its owner, or check the modes of the file and its folder"
    return one_line(error.strerror or error)


# ------------------------------------------------------------------------------------------- memory


def ceiling() -> int:
    """How many bytes reading one file may take: a quarter of the free memory, or as the user says."""
    given = os.environ.get(MAX_BYTES)
    if not given:
        return available_memory() // SHARE
    found = re.fullmatch(
        r"(\d{1,15}(?:\.\d{1,15})?(?:e\d{1,2})?)\s*([kmgt]?)(?:i?b)?", given.strip().lower()
    )
    if found is None:
        raise FileError(
            f"the environment variable {MAX_BYTES} is {given!r}; a number of bytes is wanted, as 8G"
        )
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


# ------------------------------------------------------------------------------------------ opening

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def opened(path: PathLike, wanted: str = "a file") -> BinaryIO:
    """A regular file, open for reading; anything else is refused, and never waited for."""
    # a pipe that took the file's place between the two looks must not be waited for either
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
    with reading(path):
        if "\0" in os.fspath(path):
            raise ValueError("no such file")
        _demand_regular(os.stat(path).st_mode, wanted)
        handle = os.open(path, flags)
        try:
            _demand_regular(os.fstat(handle).st_mode, wanted)
            return os.fdopen(handle, "rb")
        except BaseException:
            os.close(handle)
            raise


def _demand_regular(mode: int, wanted: str) -> None:
    if not stat.S_ISREG(mode):
        raise ValueError(f"is {_KINDS.get(stat.S_IFMT(mode), 'no regular file')}; {wanted} is wanted")


def there(path: PathLike) -> bool:
    """Whether something of this name is there, whatever it is; never an error."""
    return os.path.lexists(path) if "\0" not in os.fspath(path) else False


# --------------------------------------------------------------------------------- text, line by line

TEXT_NEEDS = 16  # bytes of memory for each of a table: short fields become numbers and texts
LONGEST_LINE = 8 << 20


@contextmanager
def text_lines(path: PathLike, wanted: str) -> Iterator[Iterator[str]]:
    """Lines of a text file in UTF-8, one at a time, none of them endless."""
    with reading(path), opened(path, wanted) as file:
        Budget().spend(TEXT_NEEDS * os.fstat(file.fileno()).st_size, "this text")
        with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            yield _lines(text)


def _lines(file: IO[str]) -> Iterator[str]:
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise ValueError(f"line {number} is longer than {LONGEST_LINE} characters; is this a table?")
        yield line


# ------------------------------------------------------------------------------------ arrays in .npz


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


_ENTRY = re.compile(r"\s*(['\"])(\w+)\1\s*:\s*('[^'\\]*'|\"[^\"\\]*\"|True|False|\([\d,\sL]*\))\s*(?:,|$)")
_TYPE = re.compile(r"[<>|=]?(?:[biufc]\d{1,2}|[SU]\d{1,9}|[mM]8(?:\[\w{1,12}\])?)")


def _parsed(text: str) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    """Type, shape and order out of a header's text, of which nothing is evaluated."""
    inside, found, place = text.strip(), {}, 0
    if not (inside.startswith("{") and inside.endswith("}")):
        raise ValueError("does not begin as an array does")
    inside = inside[1:-1].rstrip()
    while place < len(inside):
        entry = _ENTRY.match(inside, place)
        if entry is None:
            break
        found[entry[2]], place = entry[3], entry.end()
    kind, shape = found.get("descr", "").strip("'\""), found.get("shape", "")
    if "'O'" in text or "|O" in text:
        raise ValueError(
            "holds pickled Python objects, which could run code and are never loaded; "
            "save plain numbers or strings instead"
        )
    if (
        place < len(inside)
        or not _TYPE.fullmatch(kind)
        or found.get("fortran_order") not in ("True", "False")
    ):
        raise ValueError(f"is not plain numbers or texts but {text.strip()[:80]}")
    sizes = tuple(int(n.rstrip("L")) for n in shape.strip("()").replace(" ", "").split(",") if n)
    if not shape.startswith("(") or len(sizes) > 32 or max(sizes, default=0) > 1 << 62:
        raise ValueError(f"has the shape {shape[:40]!r}, which is none")
    try:
        return np.dtype(kind), sizes, found["fortran_order"] == "True"
    except (TypeError, ValueError):
        raise ValueError(f"is not plain numbers or texts but {kind}, a type that there is not") from None


def _header(stream: IO[bytes]) -> Header:
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


@contextmanager
def _said_of(key: str) -> Iterator[None]:
    """Inside, errors begin with the verb: what is wrong with the array `key`."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"{key!r} {error}") from None
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        OverflowError,
    ) as error:
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
                header = _header(stream)
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
                _fill(raw.data, stream)
            return _as_declared(raw, header)


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


def _fill(into: memoryview, stream: IO[bytes]) -> None:
    place = 0
    while place < len(into):
        part = stream.read(min(CHUNK, len(into) - place))
        if not part:
            raise ValueError("is damaged: it ends too early")
        into[place : place + len(part)] = part
        place += len(part)


def _as_declared(raw: Array, header: Header) -> Array:
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


class _Bounded:
    """A file of which no part is read at once that is larger than a directory may be."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, n: int = -1) -> bytes:
        data = self._file.read(n if 0 <= n <= LARGEST_DIRECTORY else LARGEST_DIRECTORY + 1)
        if len(data) > LARGEST_DIRECTORY:
            raise ValueError(
                f"its table of contents is larger than {size(LARGEST_DIRECTORY)}; an .npz file of at most "
                f"{MOST_MEMBERS} arrays is wanted"
            )
        return data


@contextmanager
def archive(path: PathLike) -> Iterator[dict[str, Member]]:
    """The arrays of an ``.npz`` file by name, none of them read yet."""
    with reading(path), opened(path, "an .npz file") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise ValueError("the file is empty")
        try:
            unzipped = zipfile.ZipFile(_Bounded(file))
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


def write_arrays(path: PathLike, arrays: Mapping[str, Any]) -> Path:
    """Write arrays to ``.npz``, whole or not at all; objects, which only a pickle could hold, never."""
    plain = {
        _writable_key(path, key): _writable(path, key, np.asarray(value)) for key, value in arrays.items()
    }
    if len(plain) > MOST_MEMBERS:
        raise FileError(
            f"{path}: {len(plain)} arrays are more than the {MOST_MEMBERS} that one file can hold"
        )

    def save(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
            for key, array in plain.items():
                with packed.open(f"{key}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)

    return write_whole(path, save)


def _writable_key(path: PathLike, key: str) -> str:
    if not key or "\0" in key or len(key) > LONGEST_NAME - 4 or not _is_text(key):
        raise FileError(
            f"{path}: an array cannot be named {key[:80]!r} in a file; give 1 to {LONGEST_NAME - 4} "
            "characters of text"
        )
    return key


def _writable(path: PathLike, key: str, array: Array) -> Array:
    if array.dtype.kind not in "biufcSUmM":
        raise FileError(
            f"{path}: {key!r} holds {array.dtype}, which only a pickle could store and nothing here would "
            "read back; give numbers or texts"
        )
    if array.dtype.kind == "U" and not all(_is_text(x) for x in array.ravel().tolist()):
        raise FileError(f"{path}: {key!r} holds texts with characters that there are not; mend them")
    return array


def _is_text(text: str) -> bool:
    """Whether a text is one that other programs take too: no halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def write_whole(path: PathLike, save: Callable[[BinaryIO], Any]) -> Path:
    """Let ``save(file)`` fill a temporary file beside `path`, then rename it to `path`; see the module."""
    path = Path(path)
    try:
        place, replaced = _place(path)
        _remove_stale(place)
        temporary = place.with_name(f"{_prefix(place)}{_host()}-{os.getpid()}-{secrets.token_hex(4)}.part")
        try:
            with os.fdopen(_created(temporary, replaced), "wb") as file:
                save(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, place)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _flush_folder(place.parent)
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({why(error)})") from error
    return path


def _place(path: Path) -> tuple[Path, os.stat_result | None]:
    """Where a file is really written, through symbolic links, and what is there now."""
    if "\0" in os.fspath(path):
        raise FileError(f"{str(path)!r}: no file can have that name")
    place = Path(os.path.realpath(path)) if path.is_symlink() else path
    try:
        now = os.stat(place)
    except FileNotFoundError:
        now = None
    except NotADirectoryError:
        raise FileError(f"{path}: the folder {place.parent} does not exist") from None
    if now is not None and not stat.S_ISREG(now.st_mode):
        raise FileError(
            f"{path}: is {_KINDS.get(stat.S_IFMT(now.st_mode), 'no file')}; a file name is wanted"
        )
    if not place.parent.is_dir():
        raise FileError(f"{path}: the folder {place.parent} does not exist")
    return place, now


def _created(temporary: Path, replaced: os.stat_result | None) -> int:
    """A new file with the permissions of the one that it will replace, or those that the umask leaves."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    flags |= sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_BINARY"))
    handle = os.open(temporary, flags, 0o666 if replaced is None else 0o600)
    if replaced is not None and hasattr(os, "fchmod"):
        try:
            with suppress(OSError):  # only an administrator may give files away
                os.fchown(handle, replaced.st_uid, replaced.st_gid)
            os.fchmod(handle, stat.S_IMODE(replaced.st_mode) & 0o777)
        except BaseException:
            os.close(handle)
            raise
    return handle


def _flush_folder(folder: Path) -> None:
    """Make a renaming last; some file systems cannot, and the file is whole all the same."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _prefix(place: Path) -> str:
    """How the temporary names of a file begin; names have at most 255 bytes."""
    name = place.name
    if len(os.fsencode(name)) > 180:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()[:40]
    return f".{name}."


def _host() -> str:
    """Which machine (or container) this is: the number of a process means nothing on another."""
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def _remove_stale(place: Path) -> None:
    """Remove temporary files of `place` whose writer is gone, or that are older than a day."""
    prefix = _prefix(place)
    for name in _names(place.parent):
        found = re.fullmatch(r"([0-9a-f]{8})-(\d{1,10})-[0-9a-f]{8}\.part", name.removeprefix(prefix))
        if found is None or not name.startswith(prefix):
            continue
        stale = place.with_name(name)
        with suppress(OSError):  # another process has removed it, or may and we may not
            status = os.lstat(stale)
            gone = found[1] == _host() and not _runs(int(found[2]))
            if stat.S_ISREG(status.st_mode) and (gone or time.time() - status.st_mtime > DAY):
                stale.unlink()


def _names(folder: Path) -> Iterable[str]:
    try:
        return os.listdir(folder)
    except OSError:  # a folder that may be written to but not listed
        return []


def _runs(pid: int) -> bool:
    """Whether a process of this machine runs; where that cannot be asked harmlessly, it may."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
