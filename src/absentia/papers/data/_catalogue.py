"""The public data sets that the methods' papers use, out of ``catalogue.toml``."""

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sklearn.utils import Bunch

from absentia.papers.data import _loaders


@dataclass(frozen=True)
class Remote:
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
class DataSet:
    """A public data set.

    Attributes
    ----------
    what : str
        What it holds.
    size : str
        Samples and features, views, or kernels, and classes.
    page : str
        Its home.
    files : tuple of Remote
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
    files: tuple[Remote, ...]
    loader: Callable[[Mapping[str, Path]], Bunch]
    licence: str
    citation: str
    used: str
    shape: tuple[int, ...] | None = None

    @property
    def description(self) -> str:
        return f"{self.what}: {self.size}. {self.citation}. {self.page}"


def _make_data_set(content: dict[str, Any]) -> DataSet:
    loader = partial(getattr(_loaders, content.pop("loader")), **content.pop("options", {}))
    files = tuple(
        Remote(file["name"], tuple(file.get("addresses", ())), tuple(file.get("instead", ())))
        for file in content.pop("files")
    )
    shape = tuple(content.pop("shape", ())) or None
    return DataSet(**content, files=files, loader=loader, shape=shape)


def _read_catalogue() -> Mapping[str, DataSet]:
    text = Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8")
    return MappingProxyType({name: _make_data_set(one) for name, one in tomllib.loads(text).items()})


#: What :func:`absentia.papers.fetch` knows, by name.
CATALOGUE: Mapping[str, DataSet] = _read_catalogue()


def table_lines() -> Iterator[str]:
    """The catalogue as the table of ``docs/data.md``, line by line."""
    yield "| name | what | size | licence | citation | from | used in |"
    yield "|---|---|---|---|---|---|---|"
    for name, entry in CATALOGUE.items():
        first = [file.addresses[0] for file in entry.files if file.addresses]
        by_hand = [file.name for file in entry.files if not file.addresses]
        more = f" and {len(first) - 1} more" if len(first) > 1 else ""
        where = [f"`{first[0]}`{more}"] if first else []
        where += [f"by hand: {', '.join(f'`{file}`' for file in by_hand)}"] if by_hand else []
        home = f"[page]({entry.page}); {'; '.join(where)}"
        cells = f"`{name}`", entry.what, entry.size, entry.licence, entry.citation, home, entry.used
        yield f"| {' | '.join(cells)} |"
