"""Samples to learn from: out of files, with the labels that they have."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import absentia
from absentia.app.cli._data_checks import (
    count_sentences,
    empty_sentences,
    indefinite_sentences,
    number_sentences,
    repeat_sentences,
)
from absentia.app.cli._source import Source, view_kernels
from absentia.core import Array, warn
from absentia.data import AbsenceWarning, KernelViews, Views
from absentia.files import Labels, LoadedData, read_labels
from absentia.kernels import ViewKernels
from absentia.tasks import (
    CLASSIFICATION,
    MULTILABEL,
    REGRESSION,
    SURVIVAL,
    Task,
    space_samples,
    take_samples,
)

#: What labels of a kind are for.
_TASK_OF_LABELS: dict[str, Task] = {
    "classes": CLASSIFICATION,
    "numbers": REGRESSION,
    "survival": SURVIVAL,
    "multilabel": MULTILABEL,
}
#: What labels that are no classes are, and what learns from them.
_OTHER_LABELS = {
    "numbers": "numbers, which --method ridge learns from (others: --list); if they are codes of classes, "
    "write them as words (c1, c2)",
    "survival": "times and events, which --method cox or cox-fusion learns from",
    "multilabel": "several labels; absentia fit learns one, and PMAClassifier several, in Python",
}


@dataclass(frozen=True, eq=False)
class Training:
    """The samples that are learned from, how kernels are made, how many came and why some are not used."""

    data: Views | KernelViews
    y: Array
    kernels: ViewKernels
    n_all: int
    dropped: dict[str, int]
    notes: tuple[str, ...] = ()
    task: Task = CLASSIFICATION
    columns: tuple[str, ...] = ()
    n_learned: int = 0  # where these are some of the samples that were learned from
    reading: dict[str, Any] = field(default_factory=dict)  # what a model has to know to read new samples

    def about(self, method: str, data: Path) -> dict[str, Any]:
        """What a model says of where it comes from."""
        about = {"method": method, "data": data.name, "samples": len(self.y)}
        about["written by"] = f"absentia {absentia.__version__}"
        return about | ({"reading": self.reading} if self.reading else {})

    @cached_property
    def validated(self) -> Training:
        """The samples that a method is cross-validated on: all, or some of them if there are very many."""
        most = self.task.max_validated
        if most is None or len(self.y) <= most:
            return self
        few = space_samples(self.data, self.y, most)
        note = (
            f"judged on {len(few)} of the {len(self.y)} samples: with all to learn from, it may do better"
        )
        part, notes = take_samples(self.data, few), (*self.notes, note)
        return replace(self, data=part, y=self.y[few], notes=notes, n_learned=len(self.y))


def open_data(source: Source, path: Path, labels: str | None) -> LoadedData:
    """Data to learn from: who has nothing is said in terms of that later, all else is for the user."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*(no view at all|observed for no sample)", AbsenceWarning)
        return source.open(path, labels)


def read_training(
    path: Path,
    source: Source,
    labels: str | None,
    kernels: Sequence[str] = (),
    logs: Sequence[str] = (),
    *,
    tasks: Sequence[Task] = (CLASSIFICATION,),
    opened: LoadedData | None = None,
) -> Training:
    """Samples with a view and a label for one of these tasks; who has not is warned of.

    Where numbers alone are wanted, labels that look like classes are numbers if they can be.  `opened` is
    what was read already.
    """
    opened = opened or open_data(source, path, labels)
    kind = "numbers" if tuple(tasks) == (REGRESSION,) else None
    found = find_labels(path, source, opened, labels, kind)
    called = f"{path}: labels {labels or 'of the manifest'!r}"
    task = _check_task(found, tasks, called)
    data = found.without(opened.data)
    makes = view_kernels(opened, kernels, logs, source)
    if isinstance(data, KernelViews) and (kernels or logs):
        raise ValueError(f"{path}: holds kernels already; --kernel and --log are for features")
    kept, dropped = _select_samples(data, found, called)
    for why, count in dropped.items():
        if count:
            warn(f"{count} of {len(data)} samples {why}: not learned from", AbsenceWarning)
    used = take_samples(data, kept)
    for sentence in [*_odd_sentences(found, data, used, makes), *repeat_sentences(used)]:
        warn(sentence, AbsenceWarning)
    return Training(
        used,
        found.values[kept],
        makes,
        len(data),
        dropped,
        (*opened.notes, f"labels: {label_sentence(found)}"),
        task,
        found.columns,
        reading=source.remembered(opened),
    )


def _odd_sentences(labels: Labels, data: Any, used: Any, kernels: ViewKernels) -> list[str]:
    if isinstance(used, KernelViews):
        advice = "what is learned from it may not be the best there is"
        return [*empty_sentences(used), *indefinite_sentences(used, advice)]
    return [*labels.leak_sentences(data), *count_sentences(used, kernels), *number_sentences(used)]


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


def _select_samples(data: Views | KernelViews, labels: Labels, what: str) -> tuple[Array, dict[str, int]]:
    """Positions of the samples to learn from, and how many are not and why."""
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
    return usable[targets.kept], dropped


# ---------------------------------------------------------------------------------------------- labels


def find_labels(
    path: Path, source: Source, opened: LoadedData, labels: str | None, kind: Any = None
) -> Labels:
    """Labels as the call names them, or as the manifest does; of that `kind`, or what they look like."""
    where = labels if labels is not None else opened.labels
    if where is None:
        raise ValueError("labels are wanted: --labels FILE:COLUMN, or [labels] in a manifest")
    found = read_labels(where, opened, path, id=source.id, kind=kind)
    for view, column in found.telling:
        warn(
            f"column {column!r} of view {view!r} has the name of the label and tells it; unless it is "
            f"known of new samples too, leave it out: --ignore {shlex.quote(f'{view}:{column}')}",
            AbsenceWarning,
        )
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


def label_sentence(labels: Labels) -> str:
    """How labels go with the samples, in one line."""
    known = labels.values[labels.known]
    parts = [f"{int(labels.known.sum())} usable"]
    if labels.kind == "classes":
        names, counts = np.unique(known, return_counts=True)
        pairs = [f"{name} {count}" for name, count in zip(names.tolist(), counts.tolist(), strict=True)]
        parts[0] += f" ({', '.join(pairs[:12])}{', ...' if len(pairs) > 12 else ''})"
    elif labels.kind == "numbers" and len(known):
        parts[0] += f" (numbers from {known.min():.6g} to {known.max():.6g})"
    elif labels.kind == "survival":
        parts[0] += f" (survival, {int(known[:, 1].sum())} events)"
    else:
        parts[0] += f" ({len(labels.columns)} labels, {int(np.isnan(known).sum())} entries unknown)"
    if labels.empty:
        parts.append(f"{labels.empty} empty or NA")
    if labels.unlabelled:
        parts.append(f"{labels.unlabelled} sample(s) without a line")
    if labels.leaves:
        parts.append("no feature: " + ", ".join(f"{column} of {view}" for view, column in labels.leaves))
    if labels.foreign:
        examples = ", ".join(labels.foreign[:3]) + (", ..." if len(labels.foreign) > 3 else "")
        noun = "id" if len(labels.foreign) == 1 else "ids"
        parts.append(f"{len(labels.foreign)} {noun} in no view (ignored: {examples})")
    return ", ".join(parts)
