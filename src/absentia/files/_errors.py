"""What is wrong with a file, in one sentence that names it."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

PathLike = str | os.PathLike[str]


class FileError(ValueError):
    """A file that cannot be read as what it should be; the message names it and says why."""


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
