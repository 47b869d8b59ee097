"""Public data sets by name: found where they lie, else downloaded once and kept."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sklearn.utils import Bunch

from absentia.core import warn
from absentia.datasets import read_bunch
from absentia.files import FileError
from absentia.papers.data._catalogue import CATALOGUE, DataSet, Remote
from absentia.papers.data._downloading import checked_sum, demand_sum, download, kept_sum, record_sum

CACHE, DATA = "ABSENTIA_CACHE", "ABSENTIA_DATA"


def fetch(
    name: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    checksum: str | Mapping[str, str] | None = None,
    timeout: float = 30.0,
    retries: int = 2,
) -> Bunch:
    """A public data set, from your files if you have it, else downloaded once and kept.

    It is looked for in `folder`, then in the folder that the environment variable ``ABSENTIA_DATA`` names,
    then in the cache; in each as ``<name>.npz`` (see :func:`load_benchmark`), or as the archive's own
    files in a folder ``<name>`` or beside one another.  What is nowhere is downloaded into ``<name>`` of
    `folder`, or of the cache if none is given.

    No checksum of these files was known when this was written: the SHA-256 of what came first is kept
    beside it, in ``<file>.sha256``, and a file that differs is refused later.  Values of ``.npz`` files may
    be rounded to float32.

    Parameters
    ----------
    name : str
        One of :data:`CATALOGUE`.
    folder : path-like, optional
        Where to look first, and to put what is downloaded.  The cache is the one of the system, or what the
        environment variable ``ABSENTIA_CACHE`` names.
    checksum : str or mapping of str to str, optional
        The SHA-256 that the file must have; of several files, by name.  ``.npz`` files are then not taken.
    timeout : float, default 30
        Seconds that a server may be silent.
    retries : int, default 2
        How many further tries an address gets where another may succeed.

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
    ValueError: no data set 'uci_hart'; did you mean 'uci_heart'? ...
    """
    entry = _entry(name)
    if not timeout > 0 or retries < 0:
        raise ValueError(f"timeout={timeout}, retries={retries}; more than 0 and at least 0 are wanted")
    sums = _sums(entry, checksum)
    home, places = _places(folder)
    found = _all_found(name, entry, places, packed=checksum is None)
    if isinstance(found, Path):
        return read_bunch(found, _describe(entry))
    lacking = [file for file in entry.files if found[file.name] is None]
    _demand_addresses(name, entry, lacking, home, places)
    paths = {file: path for file, path in found.items() if path is not None}
    for file, path in paths.items():
        demand_sum(path, sums.get(path.name, sums.get(file)))
    fresh = {}
    for one in lacking:
        fresh[one.name] = _brought(name, entry, one, home, places, sums.get(one.name), timeout, retries)
    return _loaded(entry, {file.name: {**paths, **fresh}[file.name] for file in entry.files}, fresh, home)


def _loaded(
    entry: DataSet, paths: Mapping[str, Path], fresh: Mapping[str, Path], home: Path | None
) -> Bunch:
    """What the files hold; their checksums are kept once they were good for something."""
    try:
        bunch = entry.loader(paths)
    except FileError as error:
        bad = [path for path in fresh.values() if str(path) in str(error)]  # others may be large, and good
        for path in bad:
            path.unlink(missing_ok=True)
        thrown = " (what was just downloaded is not kept)" if bad else ""
        raise FileError(f"{error}{thrown}") from error
    for path in paths.values():
        if home is not None and home in path.parents:
            with suppress(FileError):  # somebody else's folder, which may be read only
                record_sum(path)
    _warn_of_size(entry, bunch)
    bunch["DESCR"] = _describe(entry)
    return bunch


def _warn_of_size(entry: DataSet, bunch: Bunch) -> None:
    data = bunch.get("views", bunch.get("kernels"))
    widths = [data.block(v).shape[1] for v in data.names] if "views" in bunch else [data.n_views]
    if entry.shape is not None and (len(data), *widths) != entry.shape:
        warn(
            f"{entry.what}: {len(data)} samples and widths {widths} came, not {entry.size}; has the "
            "archive changed?"
        )


def _describe(entry: DataSet) -> str:
    return f"{entry.what}: {entry.size}. {entry.citation}. {entry.page}"


def _entry(name: str) -> DataSet:
    if name in CATALOGUE:
        return CATALOGUE[name]
    from difflib import get_close_matches

    near = get_close_matches(str(name), CATALOGUE, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"no data set {name!r}; {hint}known are {', '.join(CATALOGUE)}")


def _sums(entry: DataSet, checksum: str | Mapping[str, str] | None) -> dict[str, str]:
    """Checksums that are known or demanded, by file."""
    known = {file.name: file.sha256 for file in entry.files if file.sha256 is not None}
    if checksum is None:
        return known
    names = [file.name for file in entry.files]
    if isinstance(checksum, str):
        if len(names) != 1:
            raise ValueError(f"one checksum for {len(names)} files; give a mapping by name: {names}")
        checksum = {names[0]: checksum}
    allowed = {*names, *(other for file in entry.files for other in file.instead)}
    if strange := [file for file in checksum if file not in allowed]:
        raise ValueError(f"checksum names {strange[0]!r}, but the files are {names}")
    return {**known, **{file: checked_sum(one) for file, one in checksum.items()}}


# -------------------------------------------------------------------------------------------- places


def _places(folder: str | os.PathLike[str] | None) -> tuple[Path | None, list[Path]]:
    """Where downloads go, and where files are looked for, in order."""
    own = None if folder is None else Path(folder).expanduser()
    data, cache = os.environ.get(DATA), _cache()
    places = [own, Path(data) if data else None, cache]
    return own or cache, list(dict.fromkeys(place for place in places if place is not None))


def _cache() -> Path | None:
    """The cache; None if nobody says where it is."""
    if named := os.environ.get(CACHE):
        return Path(named).expanduser()
    try:
        import pooch
    except ImportError:
        return None
    return Path(pooch.os_cache("absentia"))


def _all_found(
    name: str, entry: DataSet, places: Sequence[Path], packed: bool
) -> Path | dict[str, Path | None]:
    """Arrays in one file (if `packed` will do) or all files of the first place that has them.

    Where none has all, each file from the first place that has it, or None.
    """
    for place in places:
        if packed and (path := place / f"{name}.npz").is_file():
            return path
        found = {file.name: _found(file, name, [place]) for file in entry.files}
        if all(found.values()):
            return found
    return {file.name: _found(file, name, places) for file in entry.files}


def _found(file: Remote, name: str, places: Sequence[Path]) -> Path | None:
    candidates = (
        place / within / one
        for place in places
        for within in (name, "")
        for one in (file.name, *file.instead)
    )
    return next((path for path in candidates if path.is_file()), None)


def _demand_addresses(
    name: str, entry: DataSet, lacking: Sequence[Remote], home: Path | None, places: Sequence[Path]
) -> None:
    """Before anything is downloaded: what has to be got by hand is there."""
    by_hand = [" or ".join((file.name, *file.instead)) for file in lacking if not file.addresses]
    if by_hand:
        raise FileError(
            f"{name}: {', '.join(by_hand)} has to be got by hand: no address of the file is known. See "
            f"{entry.page} ({entry.citation}); {_where(name, home, places)}"
        )
    if lacking and home is None:
        raise FileError(
            f'{name}: downloading needs pooch: pip install "absentia[fetch]"; or '
            f"{_where(name, home, places)}"
        )


def _where(name: str, home: Path | None, places: Sequence[Path]) -> str:
    own = f"put it into {home / name}" if home is not None else f"give folder=, or set {DATA} or {CACHE}"
    looked = ", ".join(map(str, places)) or "nowhere"
    return f"{own} (looked in {looked}; {name}.npz or the archive's files)"


def _brought(
    name: str,
    entry: DataSet,
    file: Remote,
    home: Path | None,
    places: Sequence[Path],
    checksum: str | None,
    timeout: float,
    retries: int,
) -> Path:
    """A file downloaded: the one that is demanded, and the one that came first if it is gone since."""
    assert home is not None
    path = home / name / file.name
    try:
        wanted = checksum or kept_sum(path)
        return download(file.addresses, path, checksum=wanted, timeout=timeout, retries=retries)
    except FileError as error:
        again = f"; or get it by hand from there or from {entry.page} and {_where(name, home, places)}"
        raise FileError(f"{error}{again}") from None
