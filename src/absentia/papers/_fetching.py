"""The public data sets of the papers, by ``catalogue.toml``: found where they lie, or downloaded.

pooch downloads: what comes goes to a temporary name and is renamed when all of it is there and has the
checksum that is wanted.  A file whose checksum nobody knows beforehand is trusted when it first comes; its
SHA-256 is then written to a file beside it, ``<name>.sha256`` (as ``sha256sum`` writes them), and another
content is refused later.
"""

import hashlib
import os
import re
import tomllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urljoin

from sklearn.utils import Bunch

from absentia.datasets import read_bunch
from absentia.files import FileError, file_errors, one_line, write_atomically
from absentia.methods.base import check_name
from absentia.papers import _loaders

_CACHE, _DATA = "ABSENTIA_CACHE", "ABSENTIA_DATA"
_MAX_BYTES = 1 << 30  # that a server may announce for one file
_TIMEOUT = 30.0  # seconds that a server may be silent
_RETRIES = 2  # of an address, where another try may succeed
_BUSY = (408, 425, 429, 500, 502, 503, 504)  # answers that may be others next time
_NO_POOCH = 'downloading needs pooch: pip install "absentia[fetch]"'


# ----------------------------------------------------------------------------------------- catalogue


@dataclass(frozen=True)
class _Remote:
    """A file of a data set.

    Attributes
    ----------
    name : str
        What it is called.
    addresses : tuple of str
        Where it is to be had, the likeliest first; none: it has to be got by hand.
    instead : tuple of str
        Names of files that will do in its place, if they are found.
    """

    name: str
    addresses: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()


@dataclass(frozen=True)
class _DataSet:
    """A public data set.

    Attributes
    ----------
    what : str
        What it holds.
    size : str
        Samples and features, views, or kernels, and classes.
    page : str
        Its home.
    files : tuple of _Remote
    loader : callable
        From paths by name to a Bunch.
    licence, citation : str
    used : str
        Which tables of which paper.
    shape : tuple of int, optional
        Samples, and features of each view (of kernels: how many).
    """

    what: str
    size: str
    page: str
    files: tuple[_Remote, ...]
    loader: Callable[[Mapping[str, Path]], Bunch]
    licence: str
    citation: str
    used: str
    shape: tuple[int, ...] | None = None

    @property
    def description(self) -> str:
        return f"{self.what}: {self.size}. {self.citation}. {self.page}"


def _make_data_set(content: dict[str, Any]) -> _DataSet:
    loader = partial(getattr(_loaders, f"_load_{content.pop('loader')}"), **content.pop("options", {}))
    files = tuple(
        _Remote(file["name"], tuple(file.get("addresses", ())), tuple(file.get("instead", ())))
        for file in content.pop("files")
    )
    shape = tuple(content.pop("shape", ())) or None
    return _DataSet(**content, files=files, loader=loader, shape=shape)


def _read_catalogue() -> Mapping[str, _DataSet]:
    text = Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8")
    return MappingProxyType({name: _make_data_set(one) for name, one in tomllib.loads(text).items()})


#: What :func:`absentia.papers.fetch` knows, by name.
CATALOGUE: Mapping[str, _DataSet] = _read_catalogue()


# ------------------------------------------------------------------------------------------ fetching


def fetch(name: str, *, folder: str | os.PathLike[str] | None = None) -> Bunch:
    """A public data set, from your files if you have it, else downloaded once and kept.

    It is looked for in `folder`, then in the folder that the environment variable ``ABSENTIA_DATA`` names,
    then in the cache; in each as ``<name>.npz`` (see :func:`load_benchmark`), or as the archive's own
    files in a folder ``<name>`` or beside one another.  What is nowhere is downloaded into ``<name>`` of
    `folder`, or of the cache if none is given.

    No checksum of these files was known when this was written: the SHA-256 of what came first is kept
    beside it, in ``<file>.sha256``, and a file that differs is refused later.  Where you know a checksum,
    write that file yourself before.  Values of ``.npz`` files may be rounded to float32.

    Parameters
    ----------
    name : str
        One of :data:`CATALOGUE`.
    folder : path-like, optional
        Where to look first, and to put what is downloaded.  The cache is the one of the system, or what the
        environment variable ``ABSENTIA_CACHE`` names.

    Returns
    -------
    Bunch
        ``views`` (Views) or ``kernels`` (KernelViews); ``target``; ``extra``, a dict of what else there is;
        ``DESCR``.

    Examples
    --------
    >>> from absentia import papers
    >>> papers.CATALOGUE["uci_heart"].size
    '270 x 13, 2 classes'
    >>> papers.fetch("uci_hart")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: no data set 'uci_hart'; did you mean uci_heart...
    """
    check_name("data set", name, CATALOGUE)
    entry = CATALOGUE[name]
    home, places = _list_places(folder)
    for place in places:
        if (arrays := place / f"{name}.npz").is_file():
            return read_bunch(arrays, entry.description)
        paths = _find_files(name, entry, [place])
        if len(paths) == len(entry.files):
            break
    else:
        paths = _find_files(name, entry, places)
    missing = [file for file in entry.files if file.name not in paths]
    for path in paths.values():
        _check_checksum(path)
    fresh = _download_files(name, entry, missing, home, places) if missing else {}
    return _load(entry, {file.name: {**paths, **fresh}[file.name] for file in entry.files}, fresh, home)


def _load(
    entry: _DataSet, paths: Mapping[str, Path], fresh: Mapping[str, Path], home: Path | None
) -> Bunch:
    """What the files hold; their checksums are written down once they were good for something."""
    try:
        bunch = entry.loader(paths)
    except FileError as error:
        bad = [path for path in fresh.values() if str(path) in str(error)]  # others may be large, and good
        for path in bad:
            path.unlink(missing_ok=True)
        removed = " (what was just downloaded is not kept)" if bad else ""
        raise FileError(f"{error}{removed}") from error
    for path in paths.values():
        if home is not None and home in path.parents:
            with suppress(FileError):  # somebody else's folder, which may be read only
                _record_checksum(path)
    data = bunch.get("views", bunch.get("kernels"))
    widths = [data.block(v).shape[1] for v in data.names] if "views" in bunch else [data.n_views]
    if entry.shape is not None and (len(data), *widths) != entry.shape:
        words = f"{len(data)} samples and widths {widths} came, not {entry.size}; has the archive changed?"
        warnings.warn(f"{entry.what}: {words}", stacklevel=3)
    bunch["DESCR"] = entry.description
    return bunch


# -------------------------------------------------------------------------------------------- places


def _list_places(folder: str | os.PathLike[str] | None) -> tuple[Path | None, list[Path]]:
    """Where downloads go, and where files are looked for, in order."""
    first = None if folder is None else Path(folder).expanduser()
    data, cache = os.environ.get(_DATA), _find_cache()
    places = [first, Path(data) if data else None, cache]
    return first or cache, list(dict.fromkeys(place for place in places if place is not None))


def _find_cache() -> Path | None:
    """The cache; None if nobody says where it is."""
    if named := os.environ.get(_CACHE):
        return Path(named).expanduser()
    try:
        import pooch
    except ImportError:
        return None
    return Path(pooch.os_cache("absentia"))


def _find_files(name: str, entry: _DataSet, places: Sequence[Path]) -> dict[str, Path]:
    """Each file from the first place that has it, by name; without those that are nowhere."""
    paths = {}
    for file in entry.files:
        candidates = (
            place / within / candidate
            for place in places
            for within in (name, "")
            for candidate in (file.name, *file.instead)
        )
        if path := next((path for path in candidates if path.is_file()), None):
            paths[file.name] = path
    return paths


# ----------------------------------------------------------------------------------------- downloads


class _RefusedError(Exception):
    """An answer that is not taken, and that would be the same another time."""


def _download_files(
    name: str, entry: _DataSet, files: Sequence[_Remote], home: Path | None, places: Sequence[Path]
) -> dict[str, Path]:
    """All of these files, or an error that says what to do, before anything is downloaded if possible."""
    target = f"put it into {home / name}" if home else f"give folder=, or set {_DATA} or {_CACHE}"
    looked = ", ".join(map(str, places)) or "nowhere"
    advice = f"{target} (looked in {looked}; {name}.npz or the archive's files)"
    by_hand = [" or ".join((file.name, *file.instead)) for file in files if not file.addresses]
    if by_hand:
        raise FileError(
            f"{name}: {', '.join(by_hand)} has to be got by hand: no address of the file is known. See "
            f"{entry.page} ({entry.citation}); {advice}"
        )
    if home is None:
        raise FileError(f"{name}: {_NO_POOCH}; or {advice}")
    try:
        return {file.name: _download(file.addresses, home / name / file.name) for file in files}
    except FileError as error:
        raise FileError(
            f"{error}; or get it by hand from there or from {entry.page} and {advice}"
        ) from None


def _download(addresses: Sequence[str], path: Path) -> Path:
    """Bring a file from the first address that has it, with the checksum beside `path` if there is one."""
    try:
        import pooch
        from requests import RequestException
    except ImportError as error:
        raise FileError(f"{_NO_POOCH} ({error})") from None
    options = {"hooks": {"response": _check_response}, "headers": {"Accept-Encoding": "identity"}}
    downloader = pooch.HTTPDownloader(timeout=_TIMEOUT, chunk_size=1 << 16, **options)
    registry, reasons = {path.name: _recorded_checksum(path)}, []
    for address in addresses:
        repository = pooch.create(
            path.parent, "", registry=registry, urls={path.name: address}, retry_if_failed=_RETRIES
        )
        try:
            repository.fetch(path.name, downloader=downloader)
            if path.stat().st_size:
                return path
            path.unlink()
            reasons.append(f"{address}: the file is empty")
        except (ValueError, OSError, _RefusedError, RequestException) as error:
            reasons.append(f"{address}: {one_line(error, 300)}")
    raise FileError(f"{path.name}: cannot be downloaded: {'; '.join(reasons)}")


def _check_response(response: Any, **_: Any) -> None:
    """Refuse what would be the same another time: no such file, too large a one, a way down from https."""
    if response.is_redirect:
        target = urljoin(response.url, response.headers["location"])
        if response.url.startswith("https:") and not target.startswith("https:"):
            raise _RefusedError(f"leads from https to {target[:200]!r}; that is not followed")
    elif response.status_code >= 400 and response.status_code not in _BUSY:
        raise _RefusedError(f"the server says {response.status_code} {response.reason}")
    announced = response.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > _MAX_BYTES:
        raise _RefusedError(f"has {announced} bytes; at most {_MAX_BYTES} are taken")


# ----------------------------------------------------------------------------------------- checksums


def _checksum_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _recorded_checksum(path: Path) -> str | None:
    """The SHA-256 of what first came under this name, whether or not it is still there."""
    record = _checksum_file(path)
    if not record.exists():
        return None
    with file_errors(record):
        text = record.read_text(encoding="ascii").partition(" ")[0].strip().lower()
        if re.fullmatch("[0-9a-f]{64}", text) is None:
            raise ValueError(f"{text[:80]!r} is no SHA-256: 64 digits from 0 to f are wanted")
    return text


def _compute_checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_checksum(path: Path) -> None:
    """Refuse a file that is not the one that came first."""
    with file_errors(path):
        wanted = _recorded_checksum(path)
        checksum = wanted and _compute_checksum(path)
    if checksum != wanted:
        raise FileError(
            f"{path}: has the SHA-256 {checksum}, not the {wanted} in {path.name}.sha256; if the archive "
            f"has changed it, and you trust that, delete {_checksum_file(path)}"
        )


def _record_checksum(path: Path) -> None:
    """Write a file's checksum beside it, unless there is one already."""
    if not _checksum_file(path).exists():
        line = f"{_compute_checksum(path)}  {path.name}\n".encode()
        write_atomically(_checksum_file(path), lambda file: file.write(line))
