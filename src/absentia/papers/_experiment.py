"""What one table or figure of a paper asks, read from a TOML file and checked; and which there are.

A file has ``paper``, ``place`` and ``what``; ``protocol`` (which function does a trial) and ``[design]``,
whose lists are crossed; ``[[columns]]`` (methods) and ``[[measures]]``, with the published numbers as a
small text table.  ``[kinds]``, or the paper's, says which published columns are methods that the paper
proposes, which it compares with, and which are baselines.  ``[quick]`` replaces parts of the design by
smaller ones.  ``[comment]`` is what we say about the records that its ``of`` names, and about no others.
``unrun`` says why there are no records of one; ``records`` names other experiments whose kept records have
all of its trials.
"""

import datetime
import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import absentia
from absentia.files import FileError
from absentia.methods.base import check_name

_Better = Literal["higher", "lower", "neither"]
#: What a published number is about.  A statistic is of tests, whatever methods they compare.
KINDS = ("proposed", "comparator", "baseline", "statistic")
_NUMBER = re.compile(r"(-?(?:\d++(?:\.\d++)?|\.\d++))(?:\s*+(?:±|\+-)\s*+(\d++(?:\.\d++)?|\.\d++))?")
_FIELD = re.compile(r"\{(\w+)\}")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")
_PACKAGE = Path(absentia.__file__).parent
#: Where the files are: in an installed package beside its modules, in a checkout beside ``src``.
_FOLDERS = (_PACKAGE / "experiments", _PACKAGE.parents[1] / "experiments")
_PAPERS = "papers.toml"


@dataclass(frozen=True)
class PublishedNumber:
    """A number as it was printed, and what stands after its ± if anything does.

    One that `follows`, by definition or from other printed numbers, is shown and not counted.
    """

    text: str
    value: float
    spread: float | None
    follows: bool = False

    @property
    def decimals(self) -> int:
        number = self.text.split("±")[0].split("+-")[0].strip()
        return len(number.partition(".")[2])

    @property
    def rounding(self) -> float:
        """How far a number may be off that is printed so."""
        return 0.5 * 10.0**-self.decimals * (1 + 1e-9)


@dataclass(frozen=True)
class Measure:
    """What is measured, and the published numbers by row and column of the paper."""

    name: str
    better: _Better
    digits: int = 3
    published: Mapping[tuple[str, str], PublishedNumber] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Its name, and what is better."""
        return self.name if self.better == "neither" else f"{self.name} ({self.better} is better)"


@dataclass(frozen=True)
class MethodColumn:
    """A method: a class of absentia with parameters, or a word that the protocol knows.

    `beside` is the paper's column whose numbers stand beside it; `leaks` that it reads what is hidden, as
    the paper's own procedure does; `only` restricts it to some values of the design's factors; `instead`
    has parameters that are others where a factor has some value, by that value.
    """

    name: str
    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    beside: str = ""
    leaks: bool = False
    only: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    instead: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def runs_in(self, setting: Mapping[str, Any]) -> bool:
        """Whether it is tried where factors have these values."""
        return all(setting[factor] in allowed for factor, allowed in self.only.items())

    def parameters_in(self, setting: Mapping[str, Any]) -> dict[str, Any]:
        """Its parameters where factors have these values.

        Examples
        --------
        >>> column = MethodColumn("ours", "CVKT", {"rounds": 3}, instead={"large": {"rounds": 1}})
        >>> column.parameters_in({"data": "large"})
        {'rounds': 1}
        """
        parameters = dict(self.parameters)
        for value in setting.values():
            parameters |= self.instead.get(str(value), {})
        return parameters


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that one method is better than another, by how much if that was printed.

    `rows` are those that it is about, all if there are none.  With `within` the sentence is that the two do
    not differ by more than that.
    """

    words: str
    measure: str
    first: str
    second: str
    rows: tuple[str, ...] = ()
    published: float | None = None
    within: float | None = None


@dataclass(frozen=True)
class Chart:
    """Lines over the values of `x`, one panel for each value of `panel` and each measure."""

    x: str
    measure: str | tuple[str, ...]
    panel: str = ""
    label: str = ""

    @property
    def measures(self) -> tuple[str, ...]:
        return (self.measure,) if isinstance(self.measure, str) else self.measure


@dataclass(frozen=True)
class Comment:
    """What we say about records, when we said it, and a hash of the trials that we had before us."""

    date: datetime.date
    of: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Experiment:
    """One table or figure; `kinds` has what a published column is (:data:`KINDS`), by its name.

    `published_spread` says what stands after a printed ±: a deviation over the paper's repeats, or over the
    views of one mask.
    """

    name: str
    paper: str
    place: str
    what: str
    protocol: str = ""
    unrun: str = ""
    records: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    minutes: float = 0.0
    repeats: int = 1
    full_repeats: int = 1
    published_repeats: int = 1
    published_spread: Literal["repeats", "views"] = "repeats"
    row: str = ""
    design: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[MethodColumn, ...] = ()
    measures: tuple[Measure, ...] = ()
    claims: tuple[Claim, ...] = ()
    chart: Chart | None = None
    statistic: str = ""
    level: float = 0.05
    departures: tuple[str, ...] = ()
    comment: Comment | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)

    def reduce(self, quick: bool = False, repeats: int | None = None) -> "Experiment":
        """In small, or with so many repeats."""
        experiment = self
        if quick:
            design = {name: self.quick.get(name, values) for name, values in self.design.items()}
            wanted = self.quick.get("columns")
            columns = tuple(c for c in self.columns if wanted is None or c.name in wanted)
            names = {column.name for column in columns}
            claims = tuple(claim for claim in self.claims if {claim.first, claim.second} <= names)
            experiment = replace(
                self, design=design, columns=columns, claims=claims, repeats=self.quick.get("repeats", 1)
            )
        return experiment if repeats is None else replace(experiment, repeats=repeats)

    def settings(self) -> Iterator[dict[str, Any]]:
        """Every combination of the design's factors."""
        for values in itertools.product(*self.design.values()):
            yield dict(zip(self.design, values, strict=True))

    def row_of(self, key: Mapping[str, Any], part: str = "") -> str:
        """The row of the table that a trial, or a part of what came of it, belongs to."""
        return _FIELD.sub(lambda match: self.word(part if match[1] == "part" else key[match[1]]), self.row)

    def word(self, value: Any) -> str:
        """A value of the design as it is written in tables."""
        text = f"{value:g}" if isinstance(value, float) else str(value)
        return self.names.get(text, text)

    def kind_of(self, column: MethodColumn) -> str:
        """What the published numbers beside a column are."""
        return "statistic" if self.statistic else self.kinds.get(column.beside, "")

    def measure(self, name: str) -> Measure:
        return next(measure for measure in self.measures if measure.name == name)

    def columns_of(self, key: Mapping[str, Any]) -> list[MethodColumn]:
        """The columns that a trial's method is shown in: one, unless two have the same."""
        setting = {factor: key[factor] for factor in self.design}
        return [
            column
            for column in self.columns
            if column.method == key["method"] and column.parameters_in(setting) == dict(key["parameters"])
        ]


class Observation(NamedTuple):
    """One number: of a part of what came of one trial.

    `setting` has the values of the design's factors, and ``part``.
    """

    measure: str
    row: str
    column: str
    repeat: int
    value: float
    setting: Mapping[str, Any] = {}


# ---------------------------------------------------------------------------------------------- reading


def read_experiment(path: Path) -> Experiment:
    """Out of a TOML file; errors name the file and what is wrong in it."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError(f"{path}: {error}") from None
    try:
        return _make_experiment(path.stem, content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        words = f"{error.args[0]!r} is wanted" if isinstance(error, KeyError) else str(error)
        raise FileError(f"{path}: {words}") from None


def _make_experiment(name: str, content: dict[str, Any]) -> Experiment:
    if not _NAME.fullmatch(name):
        raise ValueError(f"the name {name!r} is to be of small letters, digits and hyphens")
    for wanted in ("paper", "place", "what"):
        if not isinstance(content.get(wanted), str):
            raise KeyError(wanted)
    parts: dict[str, Any] = {
        "columns": tuple(_make(MethodColumn, "column", one) for one in content.get("columns", ())),
        "measures": tuple(_make_measure(one) for one in content.get("measures", ())),
        "claims": tuple(_make(Claim, "claim", one) for one in content.get("claims", ())),
    }
    for part, cls in {"chart": Chart, "comment": Comment}.items():
        if part in content:
            parts[part] = _make(cls, part, content[part])
    parts["kinds"] = (
        _read_kinds(content["kinds"]) if "kinds" in content else _kinds_of_paper(content["paper"])
    )
    experiment: Experiment = _make(Experiment, "", {**content, **parts}, name=name)
    _check(experiment)
    return experiment


def _make(cls: Any, what: str, content: Mapping[str, Any], **more: Any) -> Any:
    """A dataclass of what a table of the file says; lists become tuples."""
    known = {attribute.name for attribute in fields(cls)} - more.keys()
    for key in content:
        if key not in known:
            raise ValueError(f"{what + ' ' if what else ''}{key!r} is not known; known are {sorted(known)}")
    return cls(**more, **{key: tuple(x) if isinstance(x, list) else x for key, x in content.items()})


def _read_kinds(content: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Kinds by published column, of columns by kind."""
    for kind in content:
        check_name("kind", kind, KINDS[:-1])
    return {column: kind for kind, columns in content.items() for column in columns}


def _kinds_of_paper(key: str) -> Mapping[str, str]:
    return next((paper.kinds for paper in list_papers() if paper.key == key), {})


def _make_measure(content: Mapping[str, Any]) -> Measure:
    measure: Measure = _make(Measure, "measure", {**content, "published": {}})
    if measure.better not in get_args(_Better):
        wanted = "'higher', 'lower' or 'neither'"
        raise ValueError(f"measure {measure.name!r}: better is {wanted}, not {measure.better!r}")
    return replace(measure, published=dict(_read_table(content.get("published", ""))))


def _read_table(text: str) -> Iterator[tuple[tuple[str, str], PublishedNumber]]:
    """Numbers by row and column out of lines of cells between bars; the first line has the columns."""
    lines = [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.strip()]
    for line in lines[1:]:
        if len(line) != len(lines[0]):
            raise ValueError(f"published row {line[0]!r} has {len(line)} cells, the first {len(lines[0])}")
        for column, cell in zip(lines[0][1:], line[1:], strict=True):
            if cell not in ("", "-"):
                yield (line[0], column), _parse_published(cell)


def _parse_published(text: str) -> PublishedNumber:
    """A printed number; a star after it says that it follows from others or by definition.

    Examples
    --------
    >>> _parse_published("0.010±0.003")
    PublishedNumber(text='0.010±0.003', value=0.01, spread=0.003, follows=False)
    >>> _parse_published("1.000*").follows
    True
    """
    printed = text.strip().removesuffix("*")
    match = _NUMBER.fullmatch(printed)
    if match is None:
        raise ValueError(f"{text!r} is no number; write 0.010 or 0.010±0.003, or - for none")
    spread = None if match[2] is None else float(match[2])
    return PublishedNumber(printed, float(match[1]), spread, follows=printed != text.strip())


def _check(experiment: Experiment) -> None:
    """What the parts must be together."""
    for wanted in ("protocol", "row", "columns", "measures"):
        if not getattr(experiment, wanted):
            raise KeyError(wanted)
    for factor, values in experiment.design.items():
        if factor in ("columns", "repeats", "part"):
            raise ValueError(f"design {factor!r} has a meaning of its own; call the factor otherwise")
        if not isinstance(values, list | tuple) or not values:
            raise ValueError(f"design {factor!r} is to be a list of values")
    for used in _FIELD.findall(experiment.row):
        if used not in (*experiment.design, "part"):
            raise ValueError(f"row {experiment.row!r}: {used!r} is no factor of the design")
    columns, measures = [c.name for c in experiment.columns], [m.name for m in experiment.measures]
    if len(set(columns)) < len(columns):
        raise ValueError("two columns have one name")
    _check_quick(experiment, columns)
    for claim in experiment.claims:
        for name in (claim.first, claim.second):
            if name not in columns:
                raise ValueError(f"a claim is about {name!r}, which is no column")
        if claim.measure not in measures or experiment.measure(claim.measure).better == "neither":
            raise ValueError(f"a claim is about {claim.measure!r}, of which nothing is better or worse")
    _check_published(experiment)


def _check_quick(experiment: Experiment, columns: Sequence[str]) -> None:
    for key in experiment.quick:
        if key not in (*experiment.design, "columns", "repeats"):
            raise ValueError(f"quick {key!r} is no factor of the design, nor columns or repeats")
    for name in experiment.quick.get("columns", ()):
        if name not in columns:
            raise ValueError(f"quick has {name!r}, which is no column")


def _check_published(experiment: Experiment) -> None:
    """Every published column stands beside one of ours, and is known to be of some kind."""
    beside = {column.beside for column in experiment.columns}
    for measure in experiment.measures:
        missing = sorted({column for _, column in measure.published} - beside)
        if missing:
            raise ValueError(
                f"{measure.name}: no column stands beside the published {missing[0]!r}; say beside = ..."
            )
        for _, column in measure.published:
            if not experiment.statistic and column not in experiment.kinds:
                raise ValueError(
                    f"{measure.name}: it is not said what the published {column!r} is; add a table [kinds] "
                    f"with lists of columns by kind: {', '.join(KINDS[:-1])}"
                )


# ---------------------------------------------------------------------------------------------- listing


@dataclass(frozen=True)
class _Paper:
    """A paper, all of its tables and figures, and why some of them are no experiments."""

    key: str
    short: str
    citation: str
    places: tuple[str, ...]
    others: dict[str, str]
    kinds: dict[str, str]


def _find_folder() -> Path:
    """Where the files of experiments are."""
    for folder in _FOLDERS:
        if (folder / _PAPERS).is_file():
            return folder
    raise FileError("the experiments are not part of this installation; install absentia from its wheel")


@cache
def list_experiments() -> dict[str, Experiment]:
    """All of them by name, in the order of papers and of their tables and figures.

    Examples
    --------
    >>> from absentia import papers
    >>> "cvkt-table3" in papers.list_experiments()
    True
    """
    files = [path for path in sorted(_find_folder().glob("*.toml")) if path.name != _PAPERS]
    order = {paper.key: (i, paper.places) for i, paper in enumerate(list_papers())}

    def position(experiment: Experiment) -> tuple[int, int, str]:
        i, places = order.get(experiment.paper, (len(order), ()))
        place = places.index(experiment.place) if experiment.place in places else len(places)
        return i, place, experiment.name

    experiments = sorted((read_experiment(path) for path in files), key=position)
    return {experiment.name: experiment for experiment in experiments}


@cache
def list_papers() -> Sequence[_Paper]:
    """In the order of their file.

    Examples
    --------
    >>> from absentia import papers
    >>> len(papers.list_papers()) > 3
    True
    """
    content = tomllib.loads((_find_folder() / _PAPERS).read_text(encoding="utf-8"))
    return [
        _Paper(
            key,
            paper["short"],
            paper["citation"],
            tuple(paper["places"]),
            dict(paper.get("others", {})),
            _read_kinds(paper.get("kinds", {})),
        )
        for key, paper in content.items()
    ]


def find_experiment(name: str) -> Experiment:
    """By name, or read from a file of one's own."""
    if name.endswith(".toml"):
        return read_experiment(Path(name))
    check_name("experiment", name, list_experiments())
    return list_experiments()[name]
