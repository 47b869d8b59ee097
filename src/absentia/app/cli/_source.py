"""What data a verb works on: how to read them, and how to make kernels of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from absentia.app._checks import check_whole
from absentia.app._terminal import MaybeWhole, Whole

# isort: split
from cyclopts import Group, Parameter

if TYPE_CHECKING:
    from absentia.files import LoadedData
    from absentia.kernels import ViewKernels

#: Flags that several verbs have.
Threads = Annotated[
    MaybeWhole, Parameter(help="BLAS threads; by default one up to 1000 samples, and every core beyond.")
]
MANY_LEVELS = 8
READING = Group("How to read the data", sort_key=5)
DATA = (
    "A folder of tables (each a view), a manifest (.toml), one table (CSV, TSV, Parquet, Feather, Excel) "
    "with --views, or .npz, .npy, .mat, .h5, .zarr, .h5ad, .h5mu."
)
LABELS = (
    "FILE:COLUMN, a table with sample ids and that column (FILE may be in DATA's folder); FILE, if it has "
    "one column beside the ids; COLUMN of a view or of obs; or the name of an array in DATA. Empty, NA, "
    "N/A, ? and the like are no label."
)


def _repeated(name: str, words: str) -> Parameter:
    return Parameter(
        name=name, help=words, group=READING, consume_multiple=True, negative="", show_default=False
    )


_IGNORE = _repeated(
    "--ignore",
    'Columns to leave out: COLUMN of any view, or VIEW:COLUMN; patterns too ("clinical:date_*"), and '
    '"VIEW:*" for a whole view.',
)
_TRANSPOSE = _repeated(
    "--transpose", "Views whose tables have samples as columns (genes x samples); without a name, all."
)
_FROM_LABELS = _repeated(
    "--features-from-labels",
    "Columns of the table of labels that are features all the same; by default none is.",
)


@Parameter(name="*")
@dataclass(frozen=True)
class Source:
    """What the user says about the data."""

    id: Annotated[
        str | None, Parameter(name="--id", help="Column of tables with the sample ids.", group=READING)
    ] = None
    views: Annotated[
        tuple[str, ...], _repeated("--views", 'Views in one wide table: "expr=gene_*" "clin=age,sex".')
    ] = ()
    layer: Annotated[
        str | None, Parameter(name="--layer", help="Of .h5ad and .h5mu, instead of X.", group=READING)
    ] = None
    use_rep: Annotated[
        str | None,
        Parameter(name="--use-rep", help="Entry of obsm (.h5ad, .h5mu), instead of X.", group=READING),
    ] = None
    ignore: Annotated[tuple[str, ...], _IGNORE] = ()
    transpose: Annotated[tuple[str, ...] | None, _TRANSPOSE] = None

    def options(self) -> dict[str, Any]:
        """As :func:`absentia.io.read` takes it."""
        from absentia import files

        groups = files.parse_groups(list(self.views)) if self.views else None
        found = {"id": self.id, "views": groups, "layer": self.layer, "use_rep": self.use_rep}
        turned = False if self.transpose is None else self.transpose or True
        return {**found, "ignore": self.ignore, "transpose": turned}

    def open(self, path: Path, labels: str | None = None) -> LoadedData:
        """Data, and what was found beside them; the table of `labels` is no view."""
        from absentia import files

        return files.open_data(path, labels=labels, **self.options())

    def remembered(self, opened: LoadedData) -> dict[str, Any]:
        """What a model has to know to read new samples as those that it was learned from."""
        found = {"ignore": list(self.ignore), "labels": opened.table.name if opened.table else None}
        return {name: value for name, value in found.items() if value}

    def as_trained(self, path: Path, remembered: Any) -> dict[str, Any]:
        """Options for new samples: as the call says, and as a model remembers."""
        said = remembered if isinstance(remembered, dict) else {}
        ignored = [text for text in said.get("ignore", ()) if isinstance(text, str)]
        options = self.options()
        own = {"features_from_labels": said.get("features from labels", ()), "labels": None}
        if isinstance(name := said.get("labels"), str) and path.is_dir() and (path / name).is_file():
            own["labels"] = path / name
        else:
            own["features_from_labels"] = ()
        return {**options, **own, "ignore": (*self.ignore, *ignored)}

    def words(self) -> list[str]:
        """The flags that were given, as they are typed."""
        given = []
        for one in fields(self):
            value, flag = getattr(self, one.name), f"--{one.name.replace('_', '-')}"
            if value != one.default:
                given += [flag, *map(str, value if isinstance(value, tuple) else [value])]
        return given


@Parameter(name="*")
@dataclass(frozen=True)
class Labelled(Source):
    """The same, where labels are read too."""

    features_from_labels: Annotated[tuple[str, ...], _FROM_LABELS] = ()

    def options(self) -> dict[str, Any]:
        return super().options() | {"features_from_labels": self.features_from_labels}

    def remembered(self, opened: LoadedData) -> dict[str, Any]:
        own = list(self.features_from_labels)
        found = super().remembered(opened)
        return found | ({"features from labels": own} if own else {})


_APPROX = Parameter(
    name="--approx",
    group=READING,
    help="Kernels of features whole (none) or by factors (nystrom; rff for rbf), linear in the samples; "
    "auto: whole up to 5000 samples, if there is memory.",
)
FACTORS = Parameter(
    name="--factors", group=READING, help="How many factors; more come nearer to the whole kernel."
)


@Parameter(name="*")
@dataclass(frozen=True)
class Features(Source):
    """The same, where kernels are made of features: whole, or by factors."""

    approx: Annotated[Literal["auto", "nystrom", "rff", "none"], _APPROX] = "auto"
    factors: Annotated[Whole, FACTORS] = 200

    def sizing(self) -> dict[str, Any]:
        """As :class:`absentia.ViewKernels` takes it."""
        check_whole("--factors", self.factors)
        return {"approx": None if self.approx == "none" else self.approx, "n_landmarks": self.factors}


@Parameter(name="*")
@dataclass(frozen=True)
class LabelledFeatures(Features, Labelled):
    """The same, where kernels are made of features and labels are read too."""


def containers(file: Path) -> tuple[str, ...]:
    """Endings of containers that results can go back into, if the data came from one."""
    ending = file.suffix.lower()
    return (ending,) if ending in (".h5mu", ".h5ad") else ()


_KERNEL = _repeated(
    "--kernel", "Kernel of feature views: NAME for all of them, VIEW=NAME for one; rbf by default."
)
_LOG = _repeated("--log", "Feature views of which log(1 + x) is taken first; for counts.")
Kernels = Annotated[tuple[str, ...], _KERNEL]
Logs = Annotated[tuple[str, ...], _LOG]


def check_kernel_names(kernels: Sequence[str]) -> None:
    """Refuse, before any work, kernels that there are not."""
    from absentia.core import check_name
    from absentia.kernels import KERNELS

    for word in kernels:
        check_name("kernel", word.rpartition("=")[2], KERNELS)


def view_kernels(
    opened: LoadedData, kernels: Sequence[str], logs: Sequence[str], source: Source | None = None
) -> ViewKernels:
    """How kernels are to be made: as the call says, else as the manifest says, else rbf."""
    from absentia.kernels import ViewKernels

    check_kernel_names(kernels)
    common, by_view = "rbf", {name: dict(said) for name, said in opened.per_view.items()}
    for word in kernels:
        view, equals, kernel = word.rpartition("=")
        if not equals:
            common = kernel
            for said in by_view.values():  # what is said to the command counts, not the manifest
                said.pop("kernel", None)
        else:
            by_view.setdefault(_known(opened, view, "--kernel"), {})["kernel"] = kernel
    for view in logs:
        by_view.setdefault(_known(opened, view, "--log"), {})["log"] = True
    exceptions = {view: said for view, said in by_view.items() if said}
    sizing = source.sizing() if isinstance(source, Features) else {}
    return ViewKernels(common, per_view=exceptions or None, **sizing)


def _known(opened: LoadedData, view: str, flag: str) -> str:
    names = list(opened.data.names)
    if view not in names:
        raise ValueError(f"{flag}: no view {view!r}; the views are {', '.join(map(repr, names))}")
    return view


def kernel_of(kernels: ViewKernels, view: str) -> tuple[str, bool]:
    """The kernel of a view, and whether logarithms are taken."""
    said: Mapping[str, Any] = (kernels.per_view or {}).get(view, {})
    return str(said.get("kernel", kernels.kernel)), bool(said.get("log", kernels.log))


def kernels_in_words(kernels: ViewKernels) -> str:
    """The kernel of all views, and the exceptions."""
    exceptions = [
        f"{view}: {', '.join('log(1 + x)' if key == 'log' else str(value) for key, value in said.items())}"
        for view, said in (kernels.per_view or {}).items()
    ]
    return "; ".join([str(kernels.kernel), *exceptions])
