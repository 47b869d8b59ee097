"""What all readers and writers share: errors that name a file, its memory, how it is opened and replaced.

Only regular files are opened, through symbolic links too; folders, pipes and devices are refused.  What a
file declares is checked against a ceiling before anything is allocated: a quarter of the memory that is
free, as making views of arrays takes copies of them.  (Not a ratio of compression: kernels of mostly zeros
compress a thousandfold.)  The environment variable ``ABSENTIA_MAX_BYTES``, as in ``8e9`` or ``8G``, sets
another ceiling.
"""

import errno
import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import translate
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from absentia.core import available_memory, format_bytes, parse_bytes
from absentia.data import KernelViews, Views

PathLike = str | os.PathLike[str]
_MAX_BYTES = "ABSENTIA_MAX_BYTES"
_FREE_SHARE = 4  # arrays may take this part of the memory that is free: a copy or three of them follow

# ---------------------------------------------------------------------------------------------- errors


class FileError(ValueError):
    """A file that cannot be read as what it should be; the message names it and says why."""


@contextmanager
def file_errors(path: PathLike) -> Iterator[None]:
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
        raise FileError(f"{path}: {_explain_os_error(error)}") from error
    except (ValueError, TypeError) as error:
        raise FileError(f"{path}: {one_line(error)}") from error
    except Exception as error:  # an untrusted file shows its faults in many ways
        raise FileError(f"{path}: damaged file ({type(error).__name__}: {one_line(error)})") from error


def one_line(error: object, max_length: int = 600) -> str:
    """A message without line breaks, and not longer than anyone reads."""
    sentence = " ".join(str(error).split())
    return sentence if len(sentence) <= max_length else f"{sentence[:max_length]} ..."


def _explain_os_error(error: OSError) -> str:
    """What the system says, in our words where they are better."""
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return "no such file"
    if error.errno == errno.ELOOP:
        return "is a symbolic link that leads back to itself; give the file itself"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "permission denied; ask its owner, or check the modes of the file and its folder"
    return one_line(error.strerror or error)


def import_optional(package: str, what: str) -> Any:
    """A package that only some formats need; `what` needs it, as in "an HDF5 file"."""
    try:
        return import_module(package)
    except ImportError as error:
        name = package.partition(".")[0]
        raise ValueError(f'{what} needs {name}: pip install "absentia[io]" ({error})') from None


# ---------------------------------------------------------------------------------------------- memory


def _default_limit() -> int:
    """How many bytes reading one file may take: a quarter of the free memory, or as the user says."""
    given = os.environ.get(_MAX_BYTES)
    if not given:
        return available_memory() // _FREE_SHARE
    try:
        return parse_bytes(given, f"the environment variable {_MAX_BYTES}")
    except ValueError as error:
        raise FileError(str(error)) from None


@dataclass
class Budget:
    """What reading one file may still take, in bytes."""

    limit: int = field(default_factory=_default_limit)
    spent: int = 0

    def spend(self, need: int, what: str) -> None:
        """Count `need` bytes more, for `what`; refuse if these are too many."""
        self.spent += need
        if self.spent > self.limit:
            raise ValueError(
                f"{what} would take {format_bytes(need)} of memory"
                + (f" ({format_bytes(self.spent)} with what comes before it)" if self.spent > need else "")
                + f", and at most {format_bytes(self.limit)} are allowed; if the file is to be trusted and "
                f"the memory is there, set the environment variable {_MAX_BYTES} to more, as in "
                f"{_MAX_BYTES}=8G"
            )


# --------------------------------------------------------------------------------------------- opening

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def describe_irregular(mode: int) -> str | None:
    """What something is that is no regular file, by its mode; None for regular files."""
    return None if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "no regular file")


def open_regular(path: PathLike, wanted: str = "a file") -> BinaryIO:
    """A regular file, open for reading; anything else is refused, and never waited for."""
    # a pipe is opened too, but not waited for
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
    with file_errors(path):
        if "\0" in os.fspath(path):
            raise ValueError("no such file")
        handle = os.open(path, flags)
        try:
            if kind := describe_irregular(os.fstat(handle).st_mode):
                raise ValueError(f"is {kind}; {wanted} is wanted")
            return os.fdopen(handle, "rb")
        except BaseException:
            os.close(handle)
            raise


def path_exists(path: PathLike) -> bool:
    """Whether something of this name is there, whatever it is; never an error."""
    return "\0" not in os.fspath(path) and os.path.lexists(path)


# --------------------------------------------------------------------------------------------- writing

_DAY = 86_400.0
_unfinished: set[Path] = set()  # temporary files that this process writes


def write_atomically(path: PathLike, save: Callable[[BinaryIO], Any]) -> Path:
    """Let ``save(file)`` fill a temporary file beside `path`, then rename it to `path`.

    It is flushed to the disk before, so that the file is whole after a power cut too.  A file that is
    replaced keeps its permissions, a new one gets those that the umask leaves; a symbolic link stays, and
    what it points to is written.  Temporary files that a killed process has left are removed when the same
    file is next written, a day later.

    Parameters
    ----------
    path : path-like
        Where to.
    save : callable
        Writes to the open file, or to the path ``file.name``.
    """
    path = Path(path)
    try:
        place, replaced = _resolve_target(path)
        _remove_stale(place)
        temporary = place.with_name(f"{_temporary_prefix(place)}{secrets.token_hex(8)}.part")
        _unfinished.add(temporary)
        try:
            with open(temporary, "wb", opener=lambda name, _: _create(name, replaced)) as file:
                save(file)
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
        raise FileError(f"{path}: cannot be written ({_explain_os_error(error)})") from error
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


def _create(temporary: str, replaced: os.stat_result | None) -> int:
    """A new file with the permissions of the one that it will replace, or those that the umask leaves."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    flags |= sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_BINARY"))
    handle = os.open(temporary, flags, 0o666 if replaced is None else 0o600)
    if replaced is not None and hasattr(os, "fchmod"):
        try:
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


def _remove_stale(place: Path) -> None:
    """Remove temporary files of `place` that a killed process left more than a day ago."""
    ours = re.compile(re.escape(_temporary_prefix(place)) + r"[0-9a-f]{16}\.part")
    with suppress(OSError):  # a folder that may be written to but not listed
        for name in filter(ours.fullmatch, os.listdir(place.parent)):
            with suppress(OSError):  # another process has removed it, or may and we may not
                status = os.lstat(place.with_name(name))
                if stat.S_ISREG(status.st_mode) and time.time() - status.st_mtime > _DAY:
                    place.with_name(name).unlink()


# --------------------------------------------------------------------------------------------- options


def match_names(names: Sequence[str], pattern: str) -> list[str]:
    """Names that fit a pattern (as ``gene_*``); a pattern that is itself a name fits that one only."""
    return [pattern] if pattern in names else list(filter(re.compile(translate(pattern)).match, names))


@dataclass(frozen=True)
class Options:
    """What the user says about a file; None where nothing was said.

    Attributes
    ----------
    id : str, optional
        The column of a table that holds the ids of samples.
    views : mapping of str to sequence of str, optional
        For one wide table: patterns (as ``gene_*``) of the columns that make up each view.
    layer : str, optional
        For .h5ad and .h5mu files: which layer holds the values, instead of X.
    use_rep : str, optional
        For .h5ad and .h5mu files: which entry of obsm holds the values, instead of X.
    ignore : sequence of str
        Columns to leave out: ``COLUMN`` of any view or ``VIEW:COLUMN``, names or patterns (as ``date_*``).
    transpose : bool or sequence of str
        Tables whose columns are the samples: these views, or, if True, all.
    labels : Path, optional
        The table of labels, which is no view.
    features_from_labels : sequence of str
        Columns of the table of labels that are features all the same: a view of its name.
    chunks : bool or "auto"
        Whether features stay in chunks, where they are; "auto": where they would not fit into memory.
    chunks_in : Path, optional
        A folder for numbers of text tables that stay in chunks, as Parquet files.
    used : set of str
        Which entries of `ignore` have fitted some column so far.
    """

    id: str | None = None
    views: Mapping[str, Sequence[str]] | None = None
    layer: str | None = None
    use_rep: str | None = None
    ignore: Sequence[str] = ()
    transpose: bool | Sequence[str] = False
    labels: Path | None = None
    features_from_labels: Sequence[str] = ()
    chunks: bool | str = "auto"
    chunks_in: Path | None = None
    used: set[str] = field(default_factory=set, repr=False, compare=False)

    def ignored_columns(self, view: str, columns: Iterable[str]) -> list[str]:
        """Columns of a view that are to be left out."""
        names, ignored = list(columns), dict[str, None]()
        for entry in self.ignore:
            matches = match_names(names, entry)
            if entry.startswith(f"{view}:"):
                matches += match_names(names, entry.removeprefix(f"{view}:"))
            if matches:
                self.used.add(entry)
            ignored.update(dict.fromkeys(matches))
        return list(ignored)

    def is_ignored_view(self, view: str) -> bool:
        """Whether a view is to be left out as a whole, ``VIEW:*``."""
        if f"{view}:*" in self.ignore:
            self.used.add(f"{view}:*")
            return True
        return False

    def is_transposed(self, view: str) -> bool:
        """Whether the samples are the columns of the table of a view."""
        return self.transpose if isinstance(self.transpose, bool) else view in self.transpose

    def stays_in_chunks(self, size: int) -> bool:
        """Whether features that would take this much memory are left where they are."""
        return self.chunks is True or (self.chunks == "auto" and size > Budget().limit)

    def is_label_table(self, file: Path) -> bool:
        """Whether a file is the table of labels."""
        return self.labels is not None and self.labels.exists() and file.samefile(self.labels)

    def refuse(self, *names: str, why: str) -> None:
        """Raise if something was said that a format has no use for.

        Parameters
        ----------
        *names : str
            Attributes that the format has no use for.
        why : str
            What the format is, as in "an .npz file".
        """
        given = [name for name in names if getattr(self, name) is not None]
        if given:
            raise ValueError(f"{' and '.join(given)} cannot be given for {why}; leave it out")


def feature_names(data: Views, view: str) -> list[str]:
    """Names of the features of a view; those that have none are numbered."""
    features = data.features(view)
    return (
        [f"{view}_{k}" for k in range(data.block(view).shape[1])] if features is None else features.tolist()
    )


@dataclass(frozen=True, eq=False)
class LoadedData:
    """Data out of files, and what else was found there.

    Attributes
    ----------
    data : Views or KernelViews
    notes : tuple of str
        Sentences worth showing: what was left out, and why.
    table : Path, optional
        The table of labels, if one is named.
    """

    data: Views | KernelViews
    notes: tuple[str, ...] = ()
    table: Path | None = None
