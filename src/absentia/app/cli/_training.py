"""Samples to learn from: out of files, with the labels that they have."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import absentia
from absentia import experiment
from absentia.app.cli._source import (
    Source,
    count_sentences,
    find_labels,
    label_sentence,
    number_sentences,
    repeat_sentences,
    view_kernels,
)
from absentia.app.cli._words import empty_sentences, indefinite_sentences
from absentia.core import Array, warn
from absentia.data import AbsenceWarning, KernelViews, Views, shown

if TYPE_CHECKING:
    from absentia.files import Labels
    from absentia.kernels import ViewKernels

OTHERWISE = {
    "numbers": "numbers, which --method ridge learns from (others: --list); if they are codes of classes, "
    "write them as words (c1, c2)",
    "survival": "times and events, which --method cox or cox-fusion learns from",
    "multilabel": "several labels; absentia fit learns one, and PMAClassifier several, in Python",
}


WANTED = {
    "numbers": "one number for each sample is wanted: --labels FILE:COLUMN",
    "survival": "times and events are wanted: --labels FILE:TIME,EVENT",
}
CHECKS = {"survival": experiment.check_events, "numbers": experiment.numbers.check_numbers}
#: What samples that are not learned from lack.
LACKED = {
    "numbers": ("a number", "a number"),
    "survival": ("a time or an event", "a time"),
    "multilabel": ("any label", "a label"),
}
JUDGED = 20_000  # samples that a method is judged on at most
Learned = Literal["classes", "numbers", "survival", "multilabel"]


@dataclass(frozen=True, eq=False)
class Training:
    """The samples that are learned from, how kernels are made, how many came and why some are not used."""

    data: Views | KernelViews
    y: Array
    kernels: ViewKernels
    n_all: int
    dropped: dict[str, int]
    notes: tuple[str, ...] = ()
    kind: Learned = "classes"
    columns: tuple[str, ...] = ()
    n_learned: int = 0  # where these are some of the samples that were learned from
    reading: dict[str, Any] = field(default_factory=dict)  # what a model has to know to read new samples

    def about(self, method: str, data: Path) -> dict[str, Any]:
        """What a model says of where it comes from."""
        said = {"method": method, "data": data.name, "samples": len(self.y)}
        said["written by"] = f"absentia {absentia.__version__}"
        return said | ({"reading": self.reading} if self.reading else {})

    @cached_property
    def judged(self) -> Training:
        """The samples that a method is judged on: all, or :data:`JUDGED` of them if there are more."""
        if len(self.y) <= JUDGED:
            return self
        some = experiment.spaced(self.data, self.y, JUDGED)
        part = self.data[some] if isinstance(self.data, Views) else self.data[np.ix_(some, some)]
        note = (
            f"judged on {len(some)} of the {len(self.y)} samples: with all to learn from, it may do better"
        )
        learned = len(self.y)
        return replace(self, data=part, y=self.y[some], notes=(*self.notes, note), n_learned=learned)


def read_training(
    path: Path,
    source: Source,
    labels: str | None,
    kernels: Sequence[str] = (),
    logs: Sequence[str] = (),
    *,
    kinds: Sequence[Learned] = ("classes",),
) -> Training:
    """Samples with a view and a label of one of these kinds; who has not is warned of.

    Where numbers alone are wanted, labels that look like classes are numbers if they can be.
    """
    with warnings.catch_warnings():
        # who has nothing is said below, in terms of what is learned from; all else is for the user
        warnings.filterwarnings("ignore", ".*(no view at all|observed for no sample)", AbsenceWarning)
        opened = source.open(path, labels)
    found = find_labels(path, source, opened, labels, "numbers" if kinds == ("numbers",) else None)
    called = f"{path}: labels {labels or 'of the manifest'!r}"
    kind = _expected(found, kinds, called)
    data = found.without(opened.data)
    makes = view_kernels(opened, kernels, logs, source)
    if isinstance(data, KernelViews) and (kernels or logs):
        raise ValueError(f"{path}: holds kernels already; --kernel and --log are for features")
    kept, dropped = (
        _kept(data, found, labels or str(path)) if kind == "classes" else _measured(data, found, called)
    )
    for why, count in dropped.items():
        if count:
            warn(f"{count} of {len(data)} samples {why}: not learned from", AbsenceWarning)
    used = data[kept] if isinstance(data, Views) else data[np.ix_(kept, kept)]
    odd = [*found.leak_sentences(data), *count_sentences(used, makes), *number_sentences(used)]
    if isinstance(used, KernelViews):
        advice = "what is learned from it may not be the best there is"
        odd = [*empty_sentences(used), *indefinite_sentences(used, advice)]
    for sentence in [*odd, *repeat_sentences(used)]:
        warn(sentence, AbsenceWarning)
    notes = (*opened.notes, f"labels: {label_sentence(found)}")
    reading = source.remembered(opened)
    columns = found.columns
    return Training(
        used, found.values[kept], makes, len(data), dropped, notes, kind, columns, reading=reading
    )


def _expected(found: Labels, kinds: Sequence[Learned], what: str) -> Learned:
    """What the labels are, if that is one of the kinds that are wanted."""
    for kind in kinds:
        if found.kind == kind:
            return kind
    if "multilabel" in kinds:
        raise ValueError(
            f"{what} are times and events, which absentia compare does not judge; absentia fit learns from "
            "them, and judges what it learns beside baselines"
        )
    if "classes" in kinds:
        raise ValueError(f"{what} are {OTHERWISE[found.kind]}")
    raise ValueError(f"{what} are {found.kind}; {WANTED[kinds[0]]}")


def why_not(data: Views | KernelViews, labels: Labels, what: str) -> str:
    """Why ``absentia fit`` would refuse these labels; nothing if it would not."""
    if labels.kind == "multilabel":
        return OTHERWISE["multilabel"]
    try:
        with warnings.catch_warnings(action="ignore"):
            (_kept if labels.kind == "classes" else _measured)(data, labels, what)
    except ValueError as error:
        return str(error)
    return ""


def _kept(data: Views | KernelViews, labels: Labels, what: str) -> tuple[Array, dict[str, int]]:
    """Positions of the samples to learn from, and how many are not and why."""
    blind = ~data.observed.any(axis=1)
    usable = labels.known & ~blind
    classes, counts = np.unique(labels.values[usable], return_counts=True)
    small = classes[counts < experiment.FEWEST]
    if len(classes) - len(small) < 2:
        small = small[:0]
    for name in small.tolist():
        warn(
            f"class {shown(name)} has fewer than {experiment.FEWEST} samples with a view, too few for the "
            "folds: left out",
            AbsenceWarning,
        )
    rare = usable & np.isin(labels.values, small)
    dropped = {
        "without a label": int((~labels.known).sum()),
        "with a label but without any view": int((labels.known & blind).sum()),
        "of classes that are too small": int(rare.sum()),
    }
    kept = np.flatnonzero(usable & ~rare)
    try:
        experiment.check_classes(labels.values[kept])
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    return kept, dropped


def _measured(data: Views | KernelViews, labels: Labels, what: str) -> tuple[Array, dict[str, int]]:
    """The same of numbers, and of times and events."""
    blind = ~data.observed.any(axis=1)
    kept = np.flatnonzero(labels.known & ~blind)
    try:
        CHECKS.get(labels.kind, lambda values: None)(labels.values[kept])
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    all_of_it, first = LACKED[labels.kind]
    dropped = {
        f"without {all_of_it}": int((~labels.known).sum()),
        f"with {first} but without any view": int((labels.known & blind).sum()),
    }
    return kept, dropped
