"""What is odd about data, in sentences: absence, kernels that are none, columns that mean other things."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from absentia.app.cli._source import kernel_of
from absentia.data import KernelViews, Views, find_repeats, looks_like_counts, numeric_columns, show_id
from absentia.files import Labels
from absentia.kernels import ViewKernels

MANY_LEVELS = 8  # of a category, that numbers with units make


def concerns(data: Any) -> list[str]:
    """What is worth a warning: absence as the constructors see it, and kernels that are not kernels."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data.warn_of_absence()
    sentences = [str(warning.message) for warning in caught]
    if isinstance(data, KernelViews):
        indefinite = indefinite_sentences(data, "complete it with --repair clip or --repair shift")
        return [*sentences, *empty_sentences(data), *indefinite]
    if any(data.missing_values.values()):
        counts = ", ".join(f"{name} {count}" for name, count in data.missing_values.items() if count)
        sentences.append(
            f"values missing inside observed samples ({counts}); kernels take the feature's mean"
        )
    return sentences


def advice(data: Views | KernelViews, labels: Labels | None = None) -> list[str]:
    """What is odd about the data, and what to do: a view of one sample, columns that tell the label, ..."""
    found = [
        f"view {name!r} has one sample only; it can tell nothing apart"
        for name, present in zip(data.names, data.observed.T, strict=True)
        if present.sum() == 1 and len(present) > 1
    ]
    if isinstance(data, Views):
        found += _empty_columns(data)
        found += [f"view {name!r} is constant; it can tell nothing apart" for name in constant(data)]
    if data.observed.all():
        found.append("every sample has every view: there is nothing to complete")
    leaks = [] if labels is None else labels.leak_sentences(data)
    odd = [*count_sentences(data, ViewKernels()), *number_sentences(data)]
    return [*leaks, *repeat_sentences(data), *found, *odd]


def indefinite_sentences(kernels: KernelViews, advice: str) -> list[str]:
    """A sentence for every kernel that is not positive semidefinite."""
    found = {name: kernels.indefinite(name) for name in kernels.names}
    return [
        f"view {name!r}: the kernel is not positive semidefinite (eigenvalues from {ends[0]:.4g} to "
        f"{ends[1]:.4g}); {advice}"
        for name, ends in found.items()
        if ends is not None
    ]


def empty_sentences(kernels: KernelViews) -> list[str]:
    """A sentence for every kernel with samples that are zero: they are probably absent."""
    found = []
    for v, name in enumerate(kernels.names):
        empty = kernels.diagonal(name) == 0
        if empty.any() and not empty.all():
            sample = kernels.ids[kernels.observed[:, v]][empty.argmax()]
            found.append(
                f"view {name!r}: {empty.sum()} sample(s), e.g. {show_id(sample)}, have nothing but zeros "
                "in the kernel and are probably absent; say so with a mask (samples x views, False = "
                "absent) or with rows of NaN"
            )
    return found


def _empty_columns(data: Views) -> list[str]:
    """A sentence for each view with features that nobody has a value of."""
    found = []
    for name in data.names:
        block, features = data.block(name), data.features(name)
        if hasattr(block, "toarray") or not len(block):
            continue
        empty = np.flatnonzero(np.isnan(block).all(axis=0))
        if len(empty):
            some = ", ".join(str(k) if features is None else repr(str(features[k])) for k in empty[:5])
            found.append(f"view {name!r}: {len(empty)} column(s) without any value, ignored: {some}")
    return found


def constant(data: Views) -> list[str]:
    """Views none of whose features varies, of two samples or more."""
    found = []
    for name, present in zip(data.names, data.observed.T, strict=True):
        block = data.block(name)
        dense = block.toarray() if hasattr(block, "toarray") else block
        dense = dense[:, ~np.isnan(dense).all(axis=0)]
        if present.sum() > 1 and not (np.nanmax(dense, axis=0) > np.nanmin(dense, axis=0)).any():
            found.append(name)
    return found


def count_sentences(data: Views | KernelViews, kernels: ViewKernels) -> list[str]:
    """Advice on views that look like counts and get an rbf kernel of the counts themselves."""
    if not isinstance(data, Views):
        return []
    return [
        f"view {name!r} looks like counts (whole numbers, many zeros), for which --kernel {name}=cosine or "
        f"--log {name} is usual"
        for name in data.names
        if kernel_of(kernels, name) == ("rbf", False) and looks_like_counts(numeric_columns(data, name))
    ]


def number_sentences(data: Views | KernelViews) -> list[str]:
    """Advice on categories of many levels most of which begin with a number: ``50 kg``, ``<0.5``."""
    if not isinstance(data, Views):
        return []
    found = []
    for view in data.names:
        for column, levels in data.levels(view).items():
            begin = [level for level in levels if re.match(r"[<>~≤≥]?\s*[-−+]?\d", level)]
            if len(levels) >= MANY_LEVELS and len(begin) > 0.8 * len(levels):
                found.append(
                    f"view {view!r}: column {column!r} is taken as a category of {len(levels)} levels, "
                    f"which begin with numbers (e.g. {begin[0]!r}); if it is one, leave nothing else in it"
                )
    return found


def repeat_sentences(data: Views | KernelViews) -> list[str]:
    """Warnings of samples that seem to be of one patient."""
    return [found.sentence for found in find_repeats(data)]
