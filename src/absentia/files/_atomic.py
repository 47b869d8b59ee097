"""Files that are there whole or not at all, after a power cut too.

A file is written under a temporary name in the same folder, flushed to the disk and renamed.  A file that
is replaced keeps its permissions, a new one gets those that the umask leaves; a symbolic link stays, and
what it points to is written.  Temporary files that a killed process has left are removed when the same file
is next written.
"""

import hashlib
import os
import re
import secrets
import socket
import stat
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from absentia.files._base import FileError, PathLike, describe_irregular, explain_os_error

_DAY = 86_400.0
_unfinished: set[Path] = set()  # temporary files that this process writes


def write_atomically(path: PathLike, save: Callable[[BinaryIO], Any]) -> Path:
    """Let ``save(file)`` fill a temporary file beside `path`, then rename it to `path`; see the module."""
    return _replace_file(path, lambda file, _: save(file))


def write_atomically_by_path(path: PathLike, save: Callable[[Path], Any]) -> Path:
    """As :func:`write_atomically`, for writers that want a path: ``save(temporary)`` fills the file."""
    return _replace_file(path, lambda _, temporary: save(temporary))


def _replace_file(path: PathLike, save: Callable[[BinaryIO, Path], Any]) -> Path:
    path = Path(path)
    try:
        place, replaced = _resolve_target(path)
        _remove_stale(place)
        writer = f"{_host_tag()}-{os.getpid()}-{secrets.token_hex(4)}"
        temporary = place.with_name(f"{_temporary_prefix(place)}{writer}.part")
        _unfinished.add(temporary)
        try:
            with os.fdopen(_create(temporary, replaced), "wb") as file:
                save(file, temporary)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, place)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            _unfinished.discard(temporary)
        _flush_folder(place.parent)
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({explain_os_error(error)})") from error
    return path


def remove_unfinished() -> None:
    """Remove what this process is writing, which goes no further: it is about to end where it is."""
    for temporary in list(_unfinished):
        with suppress(OSError):
            temporary.unlink()


def _resolve_target(path: Path) -> tuple[Path, os.stat_result | None]:
    """Where a file is really written, through symbolic links, and what is there now."""
    if "\0" in os.fspath(path):
        raise FileError(f"{str(path)!r}: no file can have that name")
    place = Path(os.path.realpath(path)) if path.is_symlink() else path
    if not place.parent.is_dir():
        raise FileError(f"{path}: the folder {place.parent} does not exist")
    try:
        now = os.stat(place)
    except FileNotFoundError:
        return place, None
    if kind := describe_irregular(now.st_mode):
        raise FileError(f"{path}: is {kind}; a file name is wanted")
    return place, now


def _create(temporary: Path, replaced: os.stat_result | None) -> int:
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


def _temporary_prefix(place: Path) -> str:
    """How the temporary names of a file begin; names have at most 255 bytes."""
    name = place.name
    if len(os.fsencode(name)) > 180:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()[:40]
    return f".{name}."


def _host_tag() -> str:
    """Which machine (or container) this is: the number of a process means nothing on another."""
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


def _remove_stale(place: Path) -> None:
    """Remove temporary files of `place` whose writer is gone, or that are older than a day."""
    ours = re.compile(re.escape(_temporary_prefix(place)) + r"([0-9a-f]{8})-(\d{1,10})-[0-9a-f]{8}\.part")
    names: list[str] = []
    with suppress(OSError):  # a folder that may be written to but not listed
        names = os.listdir(place.parent)
    for found in filter(None, map(ours.fullmatch, names)):
        stale = place.with_name(found[0])
        with suppress(OSError):  # another process has removed it, or may and we may not
            status = os.lstat(stale)
            gone = found[1] == _host_tag() and not _is_running(int(found[2]))
            if stat.S_ISREG(status.st_mode) and (gone or time.time() - status.st_mtime > _DAY):
                stale.unlink()


def _is_running(pid: int) -> bool:
    """Whether a process of this machine runs; where that cannot be asked harmlessly, it may."""
    if os.name == "posix":
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, OverflowError):
            return False
        except OSError:
            pass
    return True
