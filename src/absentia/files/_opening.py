"""Only regular files are opened, through symbolic links too; folders, pipes and devices are refused."""

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO

from absentia.files._errors import PathLike, reading
from absentia.files._memory import Budget

TEXT_NEEDS = 16  # bytes of memory for each of a table: short fields become numbers and texts
LONGEST_LINE = 8 << 20

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def irregular(mode: int) -> str | None:
    """What something is that is no regular file."""
    return None if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "no regular file")


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
    if kind := irregular(mode):
        raise ValueError(f"is {kind}; {wanted} is wanted")


def there(path: PathLike) -> bool:
    """Whether something of this name is there, whatever it is; never an error."""
    return "\0" not in os.fspath(path) and os.path.lexists(path)


@contextmanager
def text_lines(path: PathLike, wanted: str) -> Iterator[Iterator[str]]:
    """Lines of a text file in UTF-8, one at a time, none of them endless."""
    with reading(path), opened(path, wanted) as file:
        Budget().spend(TEXT_NEEDS * os.fstat(file.fileno()).st_size, "this text")
        with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
            yield read_lines(text)


def read_lines(file: IO[str]) -> Iterator[str]:
    """Lines of a text, one at a time, none of them endless."""
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), ""), 1):
        if len(line) > LONGEST_LINE:
            raise ValueError(f"line {number} is longer than {LONGEST_LINE} characters; is this a table?")
        yield line
