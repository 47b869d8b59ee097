"""Data that verbs work on: samples with the labels they have, out of files, and what is odd about them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from absentia.app.cli._flags import ReadOptions, ViewKernelOptions
from absentia.core import Array, warn
from absentia.data import (
    AbsenceWarning,
    KernelViews,
    Views,
    drop_features,
    find_repeats,
    looks_like_counts,
    parse_times,
    show_id,
)
from absentia.experiment.comparison import TaskData, make_covariates
from absentia.files import (
    Labels,
    LoadedData,
    file_errors,
    read_cells,
    read_covariates,
    read_groups,
    read_labels,
)
from absentia.kernels import ViewKernels
from absentia.methods import inspection
from absentia.tasks import (
    CLASSIFICATION,
    MULTILABEL,
    REGRESSION,
    TASKS,
    PreparedTargets,
    Task,
    space_samples,
    take_samples,
)

#: What labels of a kind are for.
_TASK_OF_LABELS: dict[str, Task] = {**TASKS, "multilabel": MULTILABEL}
#: What labels that are no classes are, and what learns from them.
_OTHER_LABELS = {
    "numbers": "numbers, which --method ridge learns from (others: --list); if they are codes of classes, "
    "write them as words (c1, c2)",
    "survival": "times and events, which --method cox or cox-fusion learns from",
    "multilabel": "several labels; absentia fit learns one, and PMAClassifier several, in Python",
}
#: What learns from features in chunks, by task.
_CHUNK_METHODS = {"classes": "factors", "numbers": "factors-ridge", "survival": "factors-cox"}
_MAX_JUDGED, _JUDGED_BYTES = 20_000, 2**28  # samples, and features of them, that are read into memory
_MIN_LEVELS = 8  # of a category, that numbers with units make


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The samples that are learned from, how many came, and what there is to say of them."""

    samples: TaskData
    task: Task
    n_all: int
    dropped: dict[str, int]  # how many are not used, and why
    notes: tuple[str, ...]
    columns: tuple[str, ...]
    reading: dict[str, Any]  # what a model has to know to read new samples
    covariates: pd.DataFrame  # by id, of the samples and others
    in_memory: tuple[Array, Views] | None  # positions and views of some, where all are in chunks
    n_learned: int = 0  # where these are some of the samples that were learned from

    @property
    def data(self) -> Views | KernelViews:
        return self.samples.data

    @cached_property
    def y(self) -> Array:
        return self.samples.labels

    def take(self, rows: Array) -> TrainingData:
        """The samples at these positions."""
        return replace(self, samples=self.samples.take(rows))

    @property
    def default_method(self) -> str:
        """What learns from these data if no method is named."""
        if self.in_memory is None:
            return self.task.default_method
        if self.task.name not in _CHUNK_METHODS:
            raise ValueError(
                f"no method learns {self.task.name} from features in chunks; give fewer samples or "
                "features, or more memory (ABSENTIA_MAX_BYTES)"
            )
        return _CHUNK_METHODS[self.task.name]

    @cached_property
    def validated(self) -> TrainingData:
        """The samples that a method is cross-validated on: all, or some of them if there are very many."""
        if self.in_memory is not None:
            few, part = self.in_memory
            judged = replace(self, samples=replace(self.samples.take(few), data=part), in_memory=None)
        elif self.task.max_validated is None or len(self.y) <= self.task.max_validated:
            return self
        else:
            few = space_samples(self.data, self.y, self.task.max_validated)
            judged = self.take(few)
        if len(few) == len(self.y):
            return judged
        note = (
            f"judged on {len(few)} of the {len(self.y)} samples: with all to learn from, it may do better"
        )
        return replace(judged, notes=(*self.notes, note), n_learned=len(self.y))


def read_some(data: Any, labels: Labels | None) -> tuple[Any, Labels | None, str]:
    """Data to look at and their labels: of data in chunks some samples in memory, and how many in words."""
    if not getattr(data, "chunked", False):
        return data, labels, ""
    most = _count_in_memory(data, _MAX_JUDGED)
    few = np.linspace(0, len(data) - 1, min(most, len(data))).astype(int)
    note = (
        f"features were looked at of {len(few)} of {len(data)} samples: warnings, and why views are absent"
    )
    if labels is not None:
        labels = replace(labels, values=labels.values[few], known=labels.known[few])
    return data[few].to_memory(), labels, note


def _count_in_memory(data: Views, most: int) -> int:
    """How many samples, at `most`, are read into memory to be looked at."""
    cells = sum(
        data.block(name).shape[1] * share
        for name, share in zip(data.names, data.observed.mean(axis=0).tolist(), strict=True)
    )
    return int(min(most, _JUDGED_BYTES / max(4 * cells, 1)))


def _take_into_memory(samples: TaskData) -> tuple[Array, Views] | None:
    """Some samples of data in chunks, by position, to look at and to judge by: one pass; None of others."""
    data, y, task = samples.data, samples.targets, samples.task
    if not getattr(data, "chunked", False):
        return None
    most = _count_in_memory(data, task.max_validated or _MAX_JUDGED)
    if len(y) <= most:
        few = np.arange(len(y))
    elif samples.kind == "classes":
        few = space_samples(data, y, most)
    else:
        few = np.sort(samples.order[np.linspace(0, len(y) - 1, most).astype(int)])
    return few, data[few].to_memory()


@dataclass(frozen=True, eq=False)
class DescribedData:
    """Samples, and what the call says of them; the columns that say it are no features."""

    data: Any
    labels: Labels | None
    notes: tuple[str, ...]
    times: Array | None  # as texts
    label_columns: tuple[tuple[str, str], ...]  # columns of views that are groups and times
    covariates: pd.DataFrame  # by id
    covariate_columns: tuple[tuple[str, str], ...]


def describe_samples(
    path: Path,
    source: ReadOptions,
    opened: LoadedData,
    labels: str | None,
    covariates: Sequence[str] = (),
    kind: Any = None,
) -> DescribedData:
    """Find labels (of that `kind`, if it is given), groups, times and covariates of what was opened."""
    table, covariate_columns = read_covariate_table(covariates, opened, path, source.id)
    found = None if labels is None else find_labels(path, source, opened, labels, kind)
    data, notes, times = opened.data, opened.notes, None
    label_columns: tuple[tuple[str, str], ...] = ()
    with _flag_errors("--groups", source.groups):
        if source.groups == "id":
            data = data.with_groups("id")
        elif source.groups is not None:
            groups = read_groups(source.groups, opened, path, id=source.id)
            data, label_columns = groups.without(data), groups.label_columns
            data = data.with_groups(_label_values(groups).tolist())
            notes = (*notes, f"groups: {describe_labels(groups)}")
    if source.time is not None:
        with _flag_errors("--time", source.time):
            came = read_groups(source.time, opened, path, id=source.id)
        times = np.where(came.known, came.values.astype(str), "")
        data, label_columns = came.without(data), (*label_columns, *came.label_columns)
    data = drop_columns(data, covariate_columns)
    data = data if found is None else found.without(data)
    return DescribedData(data, found, notes, times, label_columns, table, covariate_columns)


@contextmanager
def _flag_errors(flag: str, value: str | None) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{flag} {value}: {error}") from None


def read_training(
    path: Path,
    source: ReadOptions,
    labels: str | None,
    options: ViewKernelOptions,
    tasks: Sequence[Task],
    covariates: Sequence[str] = (),
    adjust: bool = False,
) -> TrainingData:
    """Samples with a view and a label for one of these tasks; who has not is warned of.

    Where numbers alone are wanted, labels that look like classes are numbers if they can be.
    Columns that are `covariates` are no features, and to `adjust` for.
    """
    if adjust and not covariates:
        raise ValueError("--adjust wants --covariates, the columns to adjust for")
    if labels is None:
        raise ValueError("labels are wanted: --labels FILE:COLUMN")
    with warnings.catch_warnings():  # who has no view is said in terms of learning later
        warnings.filterwarnings("ignore", ".*(no view at all|observed for no sample)", AbsenceWarning)
        opened = source.open(path, labels)
    kind = "numbers" if tuple(tasks) == (REGRESSION,) else None
    described = describe_samples(path, source, opened, labels, covariates, kind)
    data, found, what = described.data, described.labels, f"{path}: labels {labels!r}"
    assert found is not None
    task, kernels = _check_task(found, tasks, what), options.make(opened)
    if isinstance(data, KernelViews):
        options.refuse_kernels(path)
    positions, targets, dropped = _select_samples(data, found, what)
    used = take_samples(data, positions)
    samples = TaskData(
        used,
        task.name,
        targets.y,
        targets.names,
        kernels,
        times=None if described.times is None else parse_times(described.times[positions], used.ids),
        covariates=make_covariates(used, described.covariates.loc[used.ids.tolist()]) if adjust else None,
    )
    in_memory = _take_into_memory(samples)
    absent = [f"{n} of {len(data)} samples {why}: not learned from" for why, n in dropped.items() if n]
    for sentence in [*absent, *_sample_warnings(found, data, samples, in_memory)]:
        warn(sentence, AbsenceWarning)
    ignored = [*described.label_columns, *(() if adjust else described.covariate_columns)]
    return TrainingData(
        samples,
        task,
        len(data),
        dropped,
        (*described.notes, f"labels: {describe_labels(found)}", *describe_adjustment(samples.covariates)),
        found.columns,
        source.to_remember(opened, ignored, covariates if adjust else ()),
        described.covariates,
        in_memory,
    )


def _sample_warnings(
    found: Labels, data: Any, samples: TaskData, in_memory: tuple[Array, Views] | None
) -> Iterator[str]:
    """What is odd about samples out of `data`; of those in chunks, about some that are in memory."""
    if in_memory is None:
        return _training_warnings(found, data, samples.data, samples.kernel)
    few, part = in_memory
    seen = replace(found, values=samples.labels[few], known=np.ones(len(few), dtype=bool))
    return _training_warnings(seen, part, part, samples.kernel)


def describe_adjustment(covariates: Views | None) -> list[str]:
    """What features are adjusted for, in a sentence if they are."""
    if covariates is None:
        return []
    (view,) = covariates.names
    names, levels = covariates[view].columns, covariates.levels(view)
    words = [
        f"{name} ({len(levels[name])} levels)" if name in levels else f"{name} (a number)" for name in names
    ]
    unknown = covariates.missing_values[view] + len(names) * int((~covariates.observed).sum())
    gaps = f"; {unknown} unknown value(s) count as the mean" if unknown else ""
    return [f"numeric features are residuals after regression on {', '.join(words)}{gaps}"]


def _check_task(labels: Labels, tasks: Sequence[Task], what: str) -> Task:
    """What the labels are for, if that is one of the tasks that are wanted."""
    task = _TASK_OF_LABELS[labels.kind]
    if task in tasks:
        return task
    if CLASSIFICATION in tasks:
        raise ValueError(f"{what} are {_OTHER_LABELS[labels.kind]}")
    raise ValueError(f"{what} are {labels.kind}; {tasks[0].wanted}")


def explain_refusal(data: Views | KernelViews, labels: Labels, what: str) -> str:
    """Why ``absentia fit`` would refuse these labels; nothing if it would not."""
    if labels.kind == "multilabel":
        return _OTHER_LABELS["multilabel"]
    try:
        with warnings.catch_warnings(action="ignore"):
            _select_samples(data, labels, what)
    except ValueError as error:
        return str(error)
    return ""


def _select_samples(
    data: Views | KernelViews, labels: Labels, what: str
) -> tuple[Array, PreparedTargets, dict[str, int]]:
    """Positions of the samples to learn from, their targets, and how many are not and why."""
    task, blind = _TASK_OF_LABELS[labels.kind], ~data.observed.any(axis=1)
    usable = np.flatnonzero(labels.known & ~blind)
    try:
        targets = task.prepare_targets(labels.values[usable], data.ids[usable], labels.columns)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    label, part = task.lacking
    dropped = {
        f"without {label}": int((~labels.known).sum()),
        f"with {part} but without any view": int((labels.known & blind).sum()),
    }
    if task is CLASSIFICATION:
        dropped["of classes that are too small"] = len(usable) - len(targets.kept)
    return usable[targets.kept], targets, dropped


@contextmanager
def open_costs(path: Path | None) -> Iterator[pd.DataFrame | None]:
    """The table of costs of mistakes in a file, texts by class, if there is one; errors name the file."""
    if path is None:
        yield None
        return
    with file_errors(path):
        cells = read_cells(path)
        yield cells.iloc[:, 1:].set_axis(cells.iloc[:, 0].to_numpy())


# ---------------------------------------------------------------------------------------------- labels


def find_labels(
    path: Path, source: ReadOptions, opened: LoadedData, labels: str, kind: Any = None
) -> Labels:
    """Labels as the call names them; of that `kind`, or what they look like."""
    found = read_labels(labels, opened, path, id=source.id, kind=kind)
    for names in _similar_classes(found):
        warn(f"the classes {names} differ in writing only; make them one if they are", AbsenceWarning)
    return found


def _similar_classes(labels: Labels) -> list[str]:
    """Classes that are the same but for case and spaces, each kind as one text."""
    if labels.kind != "classes":
        return []
    forms: dict[str, list[str]] = {}
    for name in sorted({str(x) for x in labels.values[labels.known].tolist()}):
        forms.setdefault("".join(name.casefold().split()), []).append(name)
    return [" and ".join(map(repr, names)) for names in forms.values() if len(names) > 1]


def describe_labels(labels: Labels) -> str:
    """How labels go with the samples, in one line."""
    parts = [f"{int(labels.known.sum())} usable{_value_words(labels)}"]
    if labels.empty:
        parts.append(f"{labels.empty} empty or NA")
    if labels.unlabelled:
        parts.append(f"{labels.unlabelled} sample(s) without a line")
    if labels.label_columns:
        parts.append(
            "no feature: " + ", ".join(f"{column} of {view}" for view, column in labels.label_columns)
        )
    if labels.foreign:
        examples = ", ".join(labels.foreign[:3]) + (", ..." if len(labels.foreign) > 3 else "")
        noun = "id" if len(labels.foreign) == 1 else "ids"
        parts.append(f"{len(labels.foreign)} {noun} in no view (ignored: {examples})")
    return ", ".join(parts)


def _value_words(labels: Labels) -> str:
    """What the known labels are, in parentheses."""
    known = labels.values[labels.known]
    if labels.kind == "classes":
        names, counts = np.unique(known, return_counts=True)
        pairs = [f"{name} {count}" for name, count in zip(names.tolist(), counts.tolist(), strict=True)]
        return f" ({', '.join(pairs[:12])}{', ...' if len(pairs) > 12 else ''})"
    if labels.kind == "survival":
        return f" (survival, {int(known[:, 1].sum())} events)"
    if labels.kind == "multilabel":
        return f" ({len(labels.columns)} labels, {int(np.isnan(known).sum())} entries unknown)"
    return f" (numbers from {known.min():.6g} to {known.max():.6g})" if len(known) else ""


# ------------------------------------------------------------------------------------- why views are absent


def read_covariate_table(
    columns: Sequence[str], opened: LoadedData, path: Path, id: str | None
) -> tuple[pd.DataFrame, tuple[tuple[str, str], ...]]:
    """Columns of the table of labels or of views, by sample id, and those of views that they are."""
    found = read_covariates(columns, opened, path, id=id)
    values = {name: _label_values(labels) for name, labels in found.items()}
    columns_of_views = [column for labels in found.values() for column in labels.label_columns]
    return pd.DataFrame(values, opened.data.ids.tolist()), tuple(columns_of_views)


def drop_columns(data: Any, label_columns: Sequence[tuple[str, str]]) -> Any:
    """The data without columns of views, which are no features."""
    for view, column in label_columns:
        data = drop_features(data, view, [column])
    return data


def _label_values(labels: Labels) -> Array:
    """Labels in the order of the samples, NaN or None where they are unknown."""
    if labels.kind != "classes":
        return labels.values
    values = labels.values.astype(object)
    values[~labels.known] = None
    return values


def explain_labelled_absence(
    data: Views | KernelViews, labels: Labels | None, covariates: pd.DataFrame
) -> inspection.Absence:
    """Why views are absent, of samples some of which may have no label."""
    if labels is None:
        return explain_absence(data, None, "", (), covariates)
    if labels.kind != "survival":
        return explain_absence(data, _label_values(labels), labels.kind, labels.columns, covariates)
    known = np.flatnonzero(labels.known)  # an unknown time is no time
    return explain_absence(take_samples(data, known), labels.values[known], "survival", (), covariates)


def explain_absence(
    data: Views | KernelViews, y: Array | None, kind: str, columns: Sequence[str], covariates: pd.DataFrame
) -> inspection.Absence:
    """Why views are absent; `y` are labels out of `columns`, `covariates` a frame by id."""
    ids, labels = data.ids.tolist(), cast(Any, None)
    if y is not None and y.ndim == 1:
        labels = pd.Series(y, ids, name=columns[0])
    elif y is not None:
        labels = pd.DataFrame(y, ids, ["time", "event"] if kind == "survival" else list(columns))
    return inspection.absence(data, labels, covariates.loc[ids] if len(covariates.columns) else None)


# ------------------------------------------------------------------------------- what is odd about data


def list_concerns(data: Views | KernelViews) -> list[str]:
    """What is worth a warning: absence as the constructors see it, and kernels that are not kernels."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data.warn_of_absence()
    sentences = [str(warning.message) for warning in caught]
    if isinstance(data, KernelViews):
        indefinite = _indefinite_sentences(data, "complete it with --repair clip or --repair shift")
        return [*sentences, *zero_sentences(data), *indefinite]
    if any(data.missing_values.values()):
        counts = ", ".join(f"{name} {count}" for name, count in data.missing_values.items() if count)
        sentences.append(
            f"values missing inside observed samples ({counts}); kernels take the feature's mean"
        )
    return sentences


def list_advice(data: Views | KernelViews, labels: Labels | None = None) -> Iterator[str]:
    """What is odd about the data, and what to do: a view of one sample, columns that tell the label, ..."""
    yield from () if labels is None else labels.leak_sentences(data)
    yield from (repeat.sentence for repeat in find_repeats(data))
    n_present = dict(zip(data.names, data.observed.sum(axis=0).tolist(), strict=True))
    for name, count in n_present.items():
        if count == 1 and len(data) > 1:
            yield f"view {name!r} has one sample only; it can tell nothing apart"
    if isinstance(data, Views):
        for name, count in n_present.items():
            yield from _column_sentences(data, name, count)
    if data.observed.all():
        yield "every sample has every view: there is nothing to complete"
    if isinstance(data, Views):
        yield from (*count_sentences(data, ViewKernels()), *_number_sentences(data))


def _training_warnings(labels: Labels, data: Any, used: Any, kernels: ViewKernels) -> Iterator[str]:
    """What is odd about samples that are learned from; `used` are those of `data` that are."""
    if isinstance(used, KernelViews):
        yield from zero_sentences(used)
        yield from _indefinite_sentences(used, "what is learned from it may not be the best there is")
    else:
        yield from labels.leak_sentences(data)
        yield from (*count_sentences(used, kernels), *_number_sentences(used))
    yield from (repeat.sentence for repeat in find_repeats(used))


def _indefinite_sentences(kernels: KernelViews, consequence: str) -> Iterator[str]:
    """A sentence for every kernel that is not positive semidefinite."""
    for name in kernels.names:
        if ends := kernels.indefinite(name):
            yield (
                f"view {name!r}: the kernel is not positive semidefinite (eigenvalues from {ends[0]:.4g} "
                f"to {ends[1]:.4g}); {consequence}"
            )


def zero_sentences(kernels: KernelViews) -> Iterator[str]:
    """A sentence for every kernel with samples that are zero: they are probably absent."""
    for name, present in zip(kernels.names, kernels.observed.T, strict=True):
        zero = kernels.diagonal(name) == 0
        if zero.any() and not zero.all():
            sample = show_id(kernels.ids[present][zero.argmax()])
            yield (
                f"view {name!r}: {zero.sum()} sample(s), e.g. {sample}, have nothing but zeros in the "
                "kernel and are probably absent; say so with a mask (samples x views, False = absent) or "
                "with rows of NaN"
            )


def _column_sentences(data: Views, name: str, n_samples: int) -> Iterator[str]:
    """What is odd about the columns of a view: none of them varies, or nobody has a value of some."""
    block, features = data.block(name), data.features(name)
    dense = block.toarray() if hasattr(block, "toarray") else block
    empty = np.isnan(dense).all(axis=0)
    if dense is block and len(block) and empty.any():
        columns = np.flatnonzero(empty)
        some = ", ".join(str(k) if features is None else repr(str(features[k])) for k in columns[:5])
        yield f"view {name!r}: {len(columns)} column(s) without any value, ignored: {some}"
    dense = dense[:, ~empty]
    if n_samples > 1 and not (np.nanmax(dense, axis=0) > np.nanmin(dense, axis=0)).any():
        yield f"view {name!r} is constant; it can tell nothing apart"


def count_sentences(data: Views, kernels: ViewKernels) -> Iterator[str]:
    """Advice on views that look like counts and get an rbf kernel of the counts themselves."""
    for name in data.names:
        chosen = {"kernel": kernels.kernel, "log": kernels.log, **(kernels.per_view or {}).get(name, {})}
        is_rbf = chosen["kernel"] == "rbf" and not chosen["log"]
        if is_rbf and looks_like_counts(data, name):
            yield (
                f"view {name!r} looks like counts (whole numbers, many zeros), for which --kernel "
                f"{name}=cosine or --log {name} is usual"
            )


def _number_sentences(data: Views) -> Iterator[str]:
    """Advice on categories of many levels most of which begin with a number: ``50 kg``, ``<0.5``."""
    for view in data.names:
        for column, levels in data.levels(view).items():
            numbers = [level for level in levels if re.match(r"[<>~≤≥]?\s*[-−+]?\d", level)]
            if len(levels) >= _MIN_LEVELS and len(numbers) > 0.8 * len(levels):
                yield (
                    f"view {view!r}: column {column!r} is taken as a category of {len(levels)} levels, "
                    f"which begin with numbers (e.g. {numbers[0]!r}); if it is one, leave nothing else in "
                    "it"
                )
