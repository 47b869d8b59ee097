"""What ``absentia compare`` is asked: the data, what is tried on them, and how."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from absentia.app._terminal import Whole, warnings_kept

# isort: split
from cyclopts import Parameter

from absentia.app._comparing import designed
from absentia.app.cli._source import (
    Kernels,
    LabelledFeatures,
    Logs,
    check_kernel_names,
    repeat_sentences,
    view_kernels,
)
from absentia.core import warn
from absentia.data import AbsenceWarning
from absentia.experiment.comparison import Study, labelled, problem_of

if TYPE_CHECKING:
    from absentia.experiment.comparison import Problem

METHODS = Parameter(
    name="--methods", help="auto, or names; see --list.", consume_multiple=True, negative=""
)
RATES = Parameter(
    name="--rates",
    help="Also hide these shares of the observed cells, for curves.",
    consume_multiple=True,
    negative="",
)
EQUAL = Parameter(name="--equivalence", help="Differences up to this are practically nil.")
HIDE = Parameter(name="--hide", help="Share of the observed cells to hide, without labels.")
TIME = Parameter(name="--time-limit", help="CPU seconds that a fit may take; more is a failure.")
MEMORY = Parameter(name="--memory-limit", help="Memory that a fit may take, as 4G; more is a failure.")
THIN = Parameter(
    name="--all-repeats", negative="", help="Try slow methods as often as others, and very slow ones too."
)
Mechanism = Literal["own", "mcar", "per-view", "exclusive"]


@Parameter(name="*")
@dataclass(frozen=True)
class Question:
    """What is tried, how often, and what it is judged by."""

    methods: Annotated[tuple[str, ...], METHODS] = ("auto",)
    metric: Annotated[str | None, Parameter(name="--metric", help="What is ranked by.")] = None
    repeats: Annotated[Whole, Parameter(name="--repeats", help="Of the folds, or of the hiding.")] = 5
    cv: Annotated[Whole, Parameter(name="--cv", help="Folds.")] = 5
    hide: Annotated[float, HIDE] = 0.2
    mechanism: Annotated[Mechanism, Parameter(name="--mechanism", help="How cells are hidden.")] = "own"
    rates: Annotated[tuple[float, ...], RATES] = ()
    equivalence: Annotated[float, EQUAL] = 0.01
    seed: Annotated[Whole, Parameter(name="--seed", help="Of folds, of what is hidden, of methods.")] = 0
    all_repeats: Annotated[bool, THIN] = False
    time_limit: Annotated[float | None, TIME] = None
    memory_limit: Annotated[str | None, MEMORY] = None

    def words(self) -> list[str]:
        """The flags that were given, as they are typed."""
        return [word for one in fields(self) for word in self._flag(one.name, one.default)]

    def _flag(self, name: str, default: Any) -> Iterator[str]:
        value = getattr(self, name)
        if value == default:
            return
        yield f"--{name.replace('_', '-')}"
        if value is not True:
            yield from map(str, value if isinstance(value, tuple) else [value])


@Parameter(name="*")
@dataclass(frozen=True)
class Reading:
    """How the data are read, and kernels made of them."""

    source: LabelledFeatures = LabelledFeatures()  # noqa: RUF009 - it is frozen
    kernel: Kernels = ()
    log: Logs = ()

    def words(self) -> list[str]:
        """The flags that were given, as they are typed."""
        lists = {"--kernel": self.kernel, "--log": self.log}
        own = [word for flag, values in lists.items() if values for word in (flag, *values)]
        return [*self.source.words(), *own]


def asked(
    data: Path, labels: str | None, reading: Reading, question: Question, folder: Path | None
) -> tuple[Study, Sequence[str]]:
    """The study that answers the question, and what is to be said of the data."""
    check_kernel_names(reading.kernel)
    memory = bytes_of(question.memory_limit)
    with warnings_kept() as remarks:
        problem, notes = read_problem(data, labels, reading)
    named = [str(data), *([] if labels is None else ["--labels", labels]), *reading.words()]
    given = asdict(question) | {"memory_limit": memory}
    methods, all_repeats = given.pop("methods"), given.pop("all_repeats")
    more = [*question.words(), *([] if folder is None else ["-o", str(folder)])]
    design = designed(
        problem,
        "auto" if methods == ("auto",) else methods,
        not all_repeats,
        **given,
        title=_title(data, labels),
        call=shlex.join(named),
        command=shlex.join(["absentia", "compare", *named, *more]),
        remarks=tuple(dict.fromkeys(remarks)),
    )
    return Study(problem, design, folder or Path("absentia-compare")), notes


def read_problem(path: Path, labels: str | None, reading: Reading) -> tuple[Problem, Sequence[str]]:
    """What is compared on, and what is to be said of it."""
    opened = reading.source.open(path, labels)
    if labels is None and opened.labels is None:
        kernels = view_kernels(opened, reading.kernel, reading.log, reading.source)
        for sentence in repeat_sentences(opened.data):
            warn(sentence, AbsenceWarning)
        return problem_of(opened.data, kernel=kernels), opened.notes
    from absentia.app.cli._training import read_training

    flags = (reading.source, labels, reading.kernel, reading.log)
    training = read_training(path, *flags, kinds=("classes", "numbers", "multilabel"))
    task: Any = "labels" if training.kind == "multilabel" else training.kind
    return labelled(training.data, training.y, training.kernels, training.columns, task), training.notes


def _title(data: Path, labels: str | None) -> str:
    name = data.absolute().name
    return f"What works best on {name}" + (f": {labels.rpartition(':')[2]}" if labels else "")


def bytes_of(text: str | None) -> int | None:
    """``4G`` as a number."""
    from absentia.files import parse_bytes

    return None if text is None else parse_bytes(text, "--memory-limit")
