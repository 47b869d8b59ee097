"""Files from addresses: whole or not at all, and the same ever after.

pooch does the talking.  What comes goes to a temporary name and is renamed when all of it is there and has
the checksum that is wanted.  A file whose checksum nobody knows beforehand is trusted when it first comes;
its SHA-256 is then kept in a file beside it, ``<name>.sha256`` (as ``sha256sum`` writes them), and another
content is refused later.
"""

import hashlib
import re
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urljoin, urlsplit

from absentia.files import FileError, file_errors, one_line, write_atomically

LARGEST = 1 << 30  # bytes of one file
CHUNK = 1 << 16
PAUSE = 0.5  # seconds before the second try; twice as long before each further one
BUSY = (408, 425, 429, 500, 502, 503, 504)  # answers that may be others next time


class _FailedError(Exception):
    """A try that failed, why, and whether another may succeed."""

    def __init__(self, why: str, again: bool = True) -> None:
        super().__init__(why)
        self.again = again


def download(
    addresses: Sequence[str], path: Path, *, checksum: str | None, timeout: float, retries: int
) -> Path:
    """Bring a file from the first address that has it whole.

    Parameters
    ----------
    addresses : sequence of str
        Where it is to be had, ``http`` or ``https``.
    path : Path
        Where to put it; its folder is made.
    checksum : str or None
        The SHA-256 that it must have, if known.
    timeout : float
        Seconds that a server may be silent.
    retries : int
        How many further tries each address gets where another may succeed.
    """
    pooch = _pooch()
    with file_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    reasons = []
    for address in addresses:
        for attempt in range(retries + 1):
            try:
                return write_atomically(path, partial(_bring, pooch, address, checksum, timeout))
            except _FailedError as error:
                tries = f" ({attempt + 1} tries)" if attempt else ""
                reason = f"{address}: {error}{tries}"
                if not error.again:
                    break
                if attempt < retries:
                    time.sleep(min(PAUSE * 2**attempt, 10.0))
        reasons.append(reason)
    raise FileError(f"{path.name}: cannot be downloaded: {'; '.join(reasons)}")


def _pooch() -> Any:
    try:
        import pooch
    except ImportError as error:
        raise FileError(f'downloading needs pooch: pip install "absentia[fetch]" ({error})') from None
    return pooch


def _bring(pooch: Any, address: str, checksum: str | None, timeout: float, file: BinaryIO) -> None:
    """All that an address has into a file, or :class:`_FailedError`."""
    import requests

    _check_scheme(address)
    kept, answers = _Kept(file), list[Any]()

    def look(response: Any, **_: Any) -> None:
        answers.append(response)
        if response.is_redirect:
            target = urljoin(response.url, response.headers["location"])
            _check_scheme(target, came_from=response.url)
        elif (declared := _length(response)) is not None and declared > LARGEST:
            raise _FailedError(f"has {declared} bytes; at most {LARGEST} are taken", again=False)

    options = {"hooks": {"response": look}, "headers": {"Accept-Encoding": "identity"}}
    bring = pooch.HTTPDownloader(timeout=timeout, chunk_size=CHUNK, **options)
    try:
        bring(address, kept, None)
    except requests.HTTPError as error:
        said: Any = error.response
        words = f"the server says {said.status_code} {said.reason}"
        raise _FailedError(words, again=said.status_code in BUSY) from None
    except (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema) as error:
        raise _FailedError(one_line(error, 200), again=False) from None
    except requests.Timeout:
        raise _FailedError(f"the server was silent for {timeout:g} seconds") from None
    except requests.RequestException as error:
        raise _FailedError(_why(error, timeout)) from None
    finally:
        for answer in answers:
            answer.close()
    declared = _length(answers[-1])
    if declared is not None and kept.size != declared:
        raise _FailedError(f"came with {kept.size} of {declared} bytes")
    if not kept.size:
        raise _FailedError("came empty")
    if checksum is not None and kept.digest() != checksum:
        raise _FailedError(
            f"has the SHA-256 {kept.digest()}, not the {checksum} that is wanted", again=False
        )


def _why(error: Exception, timeout: float) -> str:
    """What went wrong on the way, in few words."""
    words = str(error)
    if "timed out" in words:
        return f"the server was silent for {timeout:g} seconds"
    if "IncompleteRead" in words:
        return "came with fewer bytes than the server said"
    cause = re.search(r"Caused by (\w+)", words)
    return f"no connection ({cause[1]})" if cause else one_line(words, 200)


def _check_scheme(address: str, came_from: str | None = None) -> None:
    """Only the web, and no way down from what is encrypted."""
    scheme = urlsplit(address).scheme.lower()
    if scheme not in ("http", "https"):
        how = "is" if came_from is None else "leads to"
        raise _FailedError(f"{how} {address[:200]!r}; only http and https are followed", again=False)
    if came_from is not None and scheme == "http" and urlsplit(came_from).scheme.lower() == "https":
        raise _FailedError(f"leads from https to {address[:200]!r}; that is not followed", again=False)


def _length(response: Any) -> int | None:
    """How many bytes a server says will come; None if it does not, or packs them on the way."""
    said = response.headers.get("content-length", "")
    packed = response.headers.get("content-encoding", "identity") != "identity"
    return int(said) if said.isdecimal() and not packed else None


class _Kept:
    """A file that counts and sums up what is written to it, and takes no more than it may."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._sum, self.size = file, hashlib.sha256(), 0

    def write(self, data: bytes) -> int:
        self.size += len(data)
        if self.size > LARGEST:
            raise _FailedError(f"has more than {LARGEST} bytes; at most these are taken", again=False)
        self._sum.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        """Done once, at the end, by whoever has opened the file."""

    def digest(self) -> str:
        return self._sum.hexdigest()


# ------------------------------------------------------------------------------------------- checksums


def checked_sum(text: str) -> str:
    """A SHA-256 as people write it, in small letters and without the name of the method."""
    found = re.fullmatch(r"(?:sha256:)?([0-9a-f]{64})", text.strip().lower())
    if found is None:
        raise ValueError(f"checksum {text[:80]!r} is no SHA-256: 64 digits from 0 to f are wanted")
    return found[1]


def demand_sum(path: Path, checksum: str | None) -> None:
    """Refuse a file that is not the one wanted, or not the one that came first."""
    with file_errors(path):
        wanted = {"that was asked for": checksum, f"in {path.name}.sha256": _recorded(path)}
        if not any(wanted.values()):
            return
        own = _sum_of(path)
    for where, one in wanted.items():
        if one is not None and one != own:
            advice = f"; if the archive has changed it, and you trust that, delete {_record(path)}"
            raise FileError(
                f"{path}: has the SHA-256 {own}, not the {one} {where}"
                f"{advice if where.startswith('in') else ''}"
            )


def record_sum(path: Path) -> None:
    """Keep a file's checksum beside it, unless one is kept already."""
    if not _record(path).exists():
        line = f"{_sum_of(path)}  {path.name}\n".encode()
        write_atomically(_record(path), lambda file: file.write(line))


def kept_sum(path: Path) -> str | None:
    """The checksum of what first came under this name, whether or not it is still there."""
    with file_errors(_record(path)):
        return _recorded(path)


def _record(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _recorded(path: Path) -> str | None:
    record = _record(path)
    return checked_sum(record.read_text(encoding="ascii").partition(" ")[0]) if record.exists() else None


def _sum_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
