"""Which experiments there are: a file for each table and figure, and what papers hold beside them."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import absentia
from absentia.core import check_name
from absentia.files import FileError
from absentia.papers._experiment import Experiment, read_experiment

_PACKAGE = Path(absentia.__file__).parent
#: In an installed package beside its modules, in a checkout beside ``src``.
PLACES = (_PACKAGE / "experiments", _PACKAGE.parents[1] / "experiments")
PAPERS = "papers"


@dataclass(frozen=True)
class Paper:
    """A paper, all of its tables and figures, and why some of them are no experiments."""

    key: str
    short: str
    citation: str
    places: tuple[str, ...]
    others: dict[str, str]


def folder() -> Path:
    """Where the files are."""
    for place in PLACES:
        if (place / f"{PAPERS}.toml").is_file():
            return place
    raise FileError("the experiments are not part of this installation; install absentia from its wheel")


@cache
def list_experiments() -> dict[str, Experiment]:
    """All of them by name, in the order of papers and of their tables and figures."""
    files = [path for path in sorted(folder().glob("*.toml")) if path.stem != PAPERS]
    found = [read_experiment(path) for path in files]
    order = {paper.key: (i, paper.places) for i, paper in enumerate(list_papers())}

    def place(one: Experiment) -> tuple[int, int, str]:
        i, places = order.get(one.paper, (len(order), ()))
        return i, places.index(one.place) if one.place in places else len(places), one.name

    return {one.name: one for one in sorted(found, key=place)}


@cache
def list_papers() -> Sequence[Paper]:
    """In the order of their file."""
    said = tomllib.loads((folder() / f"{PAPERS}.toml").read_text(encoding="utf-8"))
    return [
        Paper(key, one["short"], one["citation"], tuple(one["places"]), dict(one.get("others", {})))
        for key, one in said.items()
    ]


def find_experiment(name: str) -> Experiment:
    """By name, or read from a file of one's own."""
    if name.endswith(".toml"):
        return read_experiment(Path(name))
    check_name("experiment", name, list_experiments())
    return list_experiments()[name]
