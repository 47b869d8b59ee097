"""Flags that several verbs have: what the data are, kernels, and the parameters of methods.

Parameters of methods are flags too, read as the chosen method has them.  Numbers, names and places are
checked before a command begins: one that is to fail fails at once and in one sentence, not after the work.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import absentia
from absentia.app._terminal import escape_text

# isort: split
from cyclopts import Group, Parameter
from rich.console import Group as Lines
from rich.table import Table

if TYPE_CHECKING:
    from absentia.files import LoadedData
    from absentia.methods.catalogue import Entry


def _parse_integer(_: Any, tokens: Sequence[Any]) -> int:
    """A whole number as it is written; 1.5 is none, and is not rounded to one."""
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"a whole number is wanted, not {text[:30]!r}") from None


#: Types of flags: whole numbers, given or not, and any number of words.
Integer = Annotated[int, Parameter(converter=_parse_integer)]
OptionalInteger = Annotated[int | None, Parameter(converter=_parse_integer)]
Switch = Annotated[bool, Parameter(negative="")]
_Words = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="", show_default=False)]


def within(flag: str, minimum: float, maximum: float | None = None, kind: str = "whole number") -> Any:
    """A check of a number that was given, as cyclopts takes it."""
    wanted = f"of {minimum} or more" if maximum is None else f"from {minimum} to {maximum}"

    def check(_: Any, value: float | None) -> None:
        if value is not None and not (value >= minimum and (maximum is None or value <= maximum)):
            raise ValueError(f"{flag} is a {kind} {wanted}, not {value}")

    return check


def check_coverage(_: Any, coverage: float | None) -> None:
    if coverage is not None and not 0 < coverage < 1:
        raise ValueError(f"--coverage is a number above 0 and below 1, not {coverage}")


def _check_dask(_: Any, given: str | None) -> None:
    """Refuse what names no cluster."""
    local = None if given is None else re.fullmatch(r"local:(\d{1,6})", given)
    if local:
        within("--dask local:N: N", 1, MAX_PROCESSES)(int, int(local[1]))
    elif given is not None and not re.fullmatch(r"(tcp|tls|ucx|ws|wss)://\S+", given):
        raise ValueError(f"--dask is local:N, of N processes, or tcp://HOST:PORT, not {given!r}")


def _check_kernels(_: Any, words: Sequence[str]) -> None:
    """Refuse kernels that there are not."""
    from absentia.core import check_name
    from absentia.kernels import KERNELS

    for word in words:
        check_name("kernel", word.rpartition("=")[2], KERNELS)


MAX_PROCESSES = 4096  # and threads

#: Flags that mean the same in all verbs.
Threads = Annotated[
    OptionalInteger,
    Parameter(
        help="BLAS threads; by default one up to 1000 samples, every core beyond.",
        validator=within("--threads", 1, MAX_PROCESSES),
    ),
]
Jobs = Annotated[
    OptionalInteger,
    Parameter(
        alias="-j",
        help="Processes; by default one for each core, if memory allows.",
        validator=within("--jobs", 1, MAX_PROCESSES),
    ),
]
Coverage = Annotated[float | None, Parameter(validator=check_coverage)]
Force = Annotated[Switch, Parameter(help="Replace files that are there and not written by absentia.")]
JSON = Annotated[Switch, Parameter(help="One JSON document instead of tables.")]
Cite = Annotated[Switch, Parameter(help="Print BibTeX of what was used, at the end; see absentia cite.")]
Retry = Annotated[Switch, Parameter(help="Run again what failed before.")]
List = Annotated[
    Switch,
    Parameter(
        name="--list",
        help="List the methods with their flags, or explain the flags of the one that --method names.",
    ),
]
#: What else is given is a parameter of the method.
MethodFlags = Annotated[
    str, Parameter(help="A parameter of the method; --list names them, --method NAME --list explains them.")
]
DATA_HELP = (
    "A folder of tables (each a view), one table (CSV, TSV, Parquet, Feather, Excel) with --views, or "
    ".npz, .npy, .mat, .h5, .zarr, .h5ad, .h5mu."
)
_LABELS_HELP = (
    "FILE:COLUMN, a table with sample ids and that column (FILE may be in DATA's folder); FILE, if it has "
    "one column beside the ids; COLUMN of a view or of obs; or the name of an array in DATA. Empty, NA, "
    "N/A, ? and the like are no label."
)
Labels = Annotated[str | None, Parameter(help=_LABELS_HELP)]
Dask = Annotated[
    str | None,
    Parameter(
        help="Read Parquet files in chunks, and make factors of them on a Dask cluster: local:N starts one "
        "of N processes, tcp://HOST:PORT is one that there is.",
        validator=_check_dask,
    ),
]
Covariates = Annotated[
    _Words,
    Parameter(
        help="Columns of the table of labels or of views (age, site, batch) that may be why views are "
        "absent; they are no features."
    ),
]


Adjust = Annotated[
    Switch,
    Parameter(
        help="Replace numeric features by residuals after regression on the --covariates, learned from "
        "training samples; new samples need them, too."
    ),
]


@contextmanager
def start_dask(given: str | None) -> Iterator[None]:
    """Inside, passes over chunks run on that cluster, if one is named; one that was started is ended."""
    if given is None:
        yield
        return
    try:
        import distributed
    except ImportError as error:
        raise ValueError(f'--dask needs dask: pip install "absentia[dask]" ({error})') from None
    cluster: Any = nullcontext(given)
    dask: Any = distributed  # which has no types
    if given.startswith("local:"):
        cluster = dask.LocalCluster(
            n_workers=int(given.removeprefix("local:")),
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=50,
        )
    with cluster as where:
        try:
            client = dask.Client(where, timeout=30)
        except OSError as error:
            raise ValueError(f"--dask {given}: no cluster answers there ({error})") from None
        with client:
            yield


def flag_words(options: Any) -> list[str]:
    """The flags of a dataclass of options that were given, as they are typed."""
    words = []
    for field in fields(options):
        value = getattr(options, field.name)
        if value != field.default:
            values = [] if value is True else value if isinstance(value, tuple) else [value]
            words += [f"--{field.name.replace('_', '-')}", *map(str, values)]
    return words


# ------------------------------------------------------------------------------------------------ data


_READING = Group("How to read the data", sort_key=5)


@Parameter(name="*", group=_READING)
@dataclass(frozen=True)
class ReadOptions:
    """What the user says about the data.

    Parameters
    ----------
    id
        Column of tables with the sample ids.
    views
        Views in one wide table: `"expr=gene_*" "clin=age,sex"`.
    layer
        Of .h5ad and .h5mu, instead of X.
    use_rep
        Entry of obsm (.h5ad, .h5mu), instead of X.
    ignore
        Columns to leave out: COLUMN of any view, or VIEW:COLUMN; patterns too (`clinical:date_*`), and
        `VIEW:*` for a whole view.
    transpose
        Views whose tables have samples as columns (genes x samples); without a name, all.
    chunks_in
        Folder where the numbers of text tables that do not fit into memory are kept as Parquet files.
    """

    id: str | None = None
    views: _Words = ()
    layer: str | None = None
    use_rep: str | None = None
    ignore: _Words = ()
    transpose: _Words | None = None
    features_from_labels: Annotated[tuple[str, ...], Parameter(parse=False)] = ()
    groups: Annotated[str | None, Parameter(parse=False)] = None
    time: Annotated[str | None, Parameter(parse=False)] = None
    chunks_in: Path | None = None
    chunks: Annotated[bool | str, Parameter(parse=False)] = "auto"

    def options(self) -> dict[str, Any]:
        """As :func:`absentia.io.read` takes it."""
        options = {field.name: getattr(self, field.name) for field in fields(self)}
        del options["groups"], options["time"]  # of samples that were read
        options["views"] = absentia.io.parse_groups(list(self.views)) if self.views else None
        options["transpose"] = False if self.transpose is None else self.transpose or True
        return options

    def open(self, path: Path, labels: str | None = None) -> LoadedData:
        """Data, and what was found beside them; the table of `labels` is no view."""
        return absentia.io.open_data(path, labels=labels, **self.options())

    def to_remember(
        self, opened: LoadedData, ignored: Sequence[tuple[str, str]] = (), covariates: Sequence[str] = ()
    ) -> dict[str, Any]:
        """What a model has to know to read new samples as those that it was learned from.

        `ignored` are views and columns that were left out beside those that the user names, `covariates`
        columns that features are adjusted for.
        """
        reading = {
            "covariates": list(covariates),
            "ignore": [*self.ignore, *(f"{view}:{column}" for view, column in ignored)],
            "labels": opened.table.name if opened.table else None,
            "features from labels": list(self.features_from_labels),
        }
        return {name: value for name, value in reading.items() if value}

    def options_as_trained(self, path: Path, remembered: Any) -> dict[str, Any]:
        """Options for new samples: as the call says, and as a model remembers."""
        reading = remembered if isinstance(remembered, dict) else {}
        ignored = [text for text in reading.get("ignore", ()) if isinstance(text, str)]
        name = reading.get("labels")
        table = path / name if isinstance(name, str) and path.is_dir() else None
        has_table = table is not None and table.is_file()
        return self.options() | {
            "ignore": (*self.ignore, *ignored),
            "labels": table if has_table else None,
            "features_from_labels": reading.get("features from labels", ()) if has_table else (),
        }


@Parameter(name="*", group=_READING)
@dataclass(frozen=True)
class LabelledReadOptions(ReadOptions):
    """What the user says about data whose labels are read too.

    Parameters
    ----------
    features_from_labels
        Columns of the table of labels that are features all the same; by default none is.
    groups
        Who belongs together, and never stands on both sides of a split: COLUMN (patient, site) of the table
        of labels or of a view, FILE:COLUMN, or id, where ids tell it (P01_v1, P01_v2). It is no feature.
    time
        When samples came, numbers or dates (2024-03-01): COLUMN or FILE:COLUMN, as --groups. Methods are
        judged by what comes later than what they learn from. It is no feature.
    """

    features_from_labels: _Words = ()
    groups: str | None = None
    time: str | None = None


def container_endings(file: Path) -> tuple[str, ...]:
    """Endings of containers that results can go back into, if the data came from one."""
    ending = file.suffix.lower()
    return (ending,) if ending in (".h5mu", ".h5ad") else ()


# --------------------------------------------------------------------------------------------- kernels


@Parameter(name="*", group=_READING)
@dataclass(frozen=True)
class ViewKernelOptions:
    """How kernels are made of features, as the command line says.

    Parameters
    ----------
    approx
        Kernels of features whole (none) or by factors (nystrom; rff for rbf), linear in the samples; auto:
        whole up to 5000 samples, if there is memory.
    factors
        How many factors; more come nearer to the whole kernel.
    kernel
        Kernel of feature views: NAME for all of them, VIEW=NAME for one; rbf by default.
    log
        Feature views of which log(1 + x) is taken first; for counts.
    """

    approx: Literal["auto", "nystrom", "rff", "none"] = "auto"
    factors: Annotated[Integer, Parameter(validator=within("--factors", 1))] = 200
    kernel: Annotated[_Words, Parameter(validator=_check_kernels)] = ()
    log: _Words = ()

    def refuse_kernels(self, path: Path) -> None:
        """Refuse these options, if any was given, for a file that holds kernels already."""
        if self.kernel or self.log:
            raise ValueError(f"{path}: holds kernels already; --kernel and --log are for features")

    def make(self, opened: LoadedData) -> absentia.ViewKernels:
        """The kernels of each view: as the call says, else rbf."""
        common, by_view = "rbf", dict[str, dict[str, Any]]()
        for word in self.kernel:
            view, equals, kernel = word.rpartition("=")
            if not equals:
                common = kernel
            else:
                by_view.setdefault(_check_view(opened, view, "--kernel"), {})["kernel"] = kernel
        for view in self.log:
            by_view.setdefault(_check_view(opened, view, "--log"), {})["log"] = True
        approx = None if self.approx == "none" else self.approx
        return absentia.ViewKernels(
            common, per_view=by_view or None, approx=approx, n_landmarks=self.factors
        )


def _check_view(opened: LoadedData, view: str, flag: str) -> str:
    names = list(opened.data.names)
    if view not in names:
        raise ValueError(f"{flag}: no view {view!r}; the views are {', '.join(map(repr, names))}")
    return view


# --------------------------------------------------------------------------------------------- methods


def read_flags(
    entry: Entry, flags: Mapping[str, str], known: Mapping[str, Entry], options: Any
) -> dict[str, Any]:
    """Parameters of a method out of flags without dashes; refuse what is none, of no method at all too.

    Those of the verb's `options` may have been meant.
    """
    given = {f"--{name.replace('_', '-')}": text for name, text in flags.items()}
    method_flags = {flag for other in known.values() for flag in other.parameters()}
    strange = next((flag for flag in given if flag not in entry.parameters()), None)
    if strange is not None and strange not in method_flags:
        own = ["--labels", "--output", "--list", "--quiet", "--no-probability", *_list_flags(options)]
        near = get_close_matches(strange, [*sorted(method_flags), *own], 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise ValueError(f'Unknown option: "{strange}".{hint}')
    return entry.read(given)


def _list_flags(options: Any) -> Iterator[str]:
    """The flags of a dataclass of options, and of those inside it."""
    for field in fields(options):
        value = getattr(options, field.name)
        yield from _list_flags(value) if is_dataclass(value) else [f"--{field.name.replace('_', '-')}"]


def make_table(*headings: str) -> Table:
    """An empty table as all of ours are: without lines."""
    return Table(*headings, box=None, pad_edge=False)


def method_groups(groups: Mapping[str, Mapping[str, Entry]]) -> Lines:
    """Methods by what they learn, each group under a heading."""
    parts: list[Any] = []
    for heading, entries in groups.items():
        parts += [f"[bold]{heading}[/]" if not parts else f"\n[bold]{heading}[/]", _method_table(entries)]
    return Lines(*parts)


def _method_table(entries: Mapping[str, Entry]) -> Table:
    """Methods that are offered by name: when to use them, what they cannot do, their flags."""
    from absentia.methods.catalogue import variants_of

    table = make_table("method", "when to use it")
    for name, entry in sorted(entries.items(), key=lambda item: not item[1].default):
        lines = [entry.when]
        if entry.takes == "features":
            lines.append("takes features, not kernels")
        if entry.cannot:
            lines.append(f"cannot {entry.cannot}")
        lines.append(" ".join(entry.parameters()))
        if variants := variants_of(entry):
            lines.append(f"with some of these set: {', '.join(variant.name for variant in variants)}")
        table.add_row(name, "\n".join(escape_text(line) for line in lines if line))
    return table


def parameters_in_words(parameters: Mapping[str, Any]) -> str:
    """Parameters of a method as a report has them."""
    given = {name: value for name, value in parameters.items() if name not in ("callback", "verbose")}
    return ", ".join(f"{name}={value!r}" for name, value in given.items()) or "as they are"


def made_with() -> str:
    """What a report was made with."""
    import numpy as np

    return f"absentia {absentia.__version__}, NumPy {np.__version__}"


def flag_table(entry: Entry) -> Lines:
    """One method and its flags, each with the words of its docstring."""
    table = make_table("flag", "what it is")
    for flag, parameter in entry.parameters().items():
        words = re.sub(r":\w+:`~?([^`]*)`", r"\1", parameter.words)  # without reStructuredText's marks
        words = re.sub(r"``?([^`]*)``?", r"\1", words)
        sentence = re.split(r"(?<=\.)\s", words)[0].rstrip(".")
        value = "yes" if parameter.default is True else parameter.default or "no"
        default = "" if parameter.default is None else f"; default {value}"
        table.add_row(flag, escape_text(f"{sentence}: {parameter.said}{default}."))
    return Lines(f"[bold]{entry.name}[/]: {escape_text(entry.when)}", table)


# -------------------------------------------------------------------- checks of numbers, names and places

STANDARD_OUTPUT = Path("-")


def check_outputs(inputs: Sequence[Path], outputs: Sequence[Path | None], force: bool) -> None:
    """Refuse outputs that are one of the other files, a folder, or where nothing can be written.

    Files that are there are replaced if absentia wrote them, or by `force`.
    """
    others = list(inputs)
    for output in outputs:
        if output is not None:
            _check_output(output, others)
            others.append(output)
    check_replaced(outputs, force)


def check_table(
    output: Path | None, inputs: Sequence[Path | None], endings: Sequence[str], json: bool, force: bool
) -> None:
    """Refuse, before any work, a table that could not be written or printed (``-``)."""
    if output == STANDARD_OUTPUT:
        if json:
            raise ValueError("-o - prints the table, and --json something else; choose one")
    elif output is not None:
        check_ending(output, "the output", *endings)
        check_outputs([path for path in inputs if path is not None], [output], force)


def check_replaced(outputs: Sequence[Path | None], force: bool) -> None:
    """Refuse to replace files that absentia did not write, unless by `force`."""
    from absentia.files import is_written_by_absentia

    for output in outputs:
        if output is not None and not force and output.is_file() and not is_written_by_absentia(output):
            raise ValueError(
                f"{output}: is there already, and absentia did not write it; choose another name, or "
                "replace it with --force"
            )


def _check_output(output: Path, others: Sequence[Path]) -> None:
    """Refuse one output; `others` are the files it must not be."""
    if any(_is_same_file(output, other) for other in others):
        raise ValueError(f"{output}: inputs and outputs are to be different files; choose another name")
    if output.is_dir():
        raise ValueError(f"{output}: is a folder; a file name is wanted")
    folder = output.parent
    if not folder.is_dir():
        raise ValueError(f"{output}: the folder {folder} does not exist")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(f"{output}: the folder {folder} cannot be written to; choose another place")


def check_folder(folder: Path) -> None:
    """Refuse a folder that is none, or that could not be made."""
    places = (folder, *folder.absolute().parents)
    there = next(place for place in places if os.path.lexists(place))
    if not there.is_dir():
        raise ValueError(f"{there}: is a file, and a folder is wanted; choose another name")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(f"{folder}: the folder {there} cannot be written to; choose another place")


def _is_same_file(path: Path, other: Path) -> bool:
    """Whether two names are of one file, which need not be there."""
    if _resolve(path) == _resolve(other):
        return True
    try:
        return path.samefile(other)  # another spelling of the name, or a second name
    except OSError:
        return False


def _resolve(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # Python before 3.13 raises the latter for a loop
        raise ValueError(f"{path}: leads nowhere, as links in it go round in a circle") from None


def check_ending(path: Path, what: str, *endings: str) -> None:
    """Refuse a file name without one of these endings."""
    if path.suffix.lower() not in endings:
        kinds = " or ".join(f"{'an' if e == '.npz' else 'a'} {e}" for e in endings)
        raise ValueError(f"{path}: {what} is {kinds} file; give it that ending")
