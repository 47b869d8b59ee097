"""What decisions rest on: how much views add to them, and which features count most."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from absentia.app.report._text import number, shortened
from absentia.core import Array

MOST_CLASSES = 12
TOP = 10  # features shown


@dataclass(frozen=True)
class Bar:
    name: str
    view: str
    count: str
    value: str
    width: float  # percent of the largest


@dataclass(frozen=True)
class ClassRow:
    name: str
    cells: Sequence[tuple[str, float]]  # value, and its share of the largest


@dataclass(frozen=True)
class Decisions:
    views: Sequence[Bar]
    classes: Sequence[ClassRow]
    features: Sequence[Bar]
    n_features: int
    exact: bool


def decisions(story: Any) -> Decisions | None:
    """Of a classification story; None where nothing is known."""
    if story.parts is None and not story.importance:
        return None
    views: list[Bar] = []
    classes: list[ClassRow] = []
    if story.parts is not None:
        sizes = mean_sizes(story.parts, story.observed)
        views = _views(sizes.mean(axis=0), story)
        classes = class_rows(sizes, story) if len(sizes) > 2 else []  # of two, one is the other's mirror
    top = sorted(story.importance, key=lambda one: -one[2])[:TOP]
    most = max([value for *_, value in top], default=0.0) or 1.0
    features = [
        Bar(feature, view, "", f"{value / most:.2f}", round(100 * value / most, 1))
        for view, feature, value in top
    ]
    return Decisions(views, classes, features, len(story.importance), bool(story.exact))


def mean_sizes(parts: Array, observed: Array) -> Array:
    """Mean absolute contributions, classes x views, over the samples that have the view."""
    total = np.abs(parts * observed[:, :, None]).sum(axis=0)
    return np.asarray((total / np.maximum(observed.sum(axis=0), 1)[:, None]).T)


def _views(sizes: Array, story: Any) -> list[Bar]:
    most = float(sizes.max()) or 1.0
    return [
        Bar(name, name, number(int(has.sum())), f"{size:.3f}", round(100 * size / most, 1))
        for name, size, has in zip(story.names, sizes.tolist(), story.observed.T, strict=True)
        if has.any()
    ]


def class_rows(values: Array, story: Any) -> list[ClassRow]:
    """Values of classes x views, if each class has its own; of many classes the most frequent ones."""
    if len(values) == 1:
        return []
    counts = np.bincount(story.truth, minlength=len(story.classes))
    shown = np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])
    most = float(values.max()) or 1.0
    return [
        ClassRow(
            shortened(story.classes[c], 28),
            [(f"{w:.2f}" if w > 0 else "0", round(w / most, 3)) for w in values[c].tolist()],
        )
        for c in shown
    ]
