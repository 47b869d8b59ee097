"""Class by class: who is taken for whom, how many are found, how well scores tell a class from the rest."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from absentia.app.report._calibration import wilson
from absentia.app.report._charts import N_COLOURS
from absentia.app.report._square import Square, x_of, y_of
from absentia.app.report._text import number, percent, shortened
from absentia.core import Array

FEW = 20
MOST_CLASSES = 60  # beyond, the matrix shows the most frequent ones
NAME, HEAD = 40, 18  # characters of a class's name in rows and above columns
ROOMY = 12  # classes up to which shares stand in the cells too
UPRIGHT = 70  # characters of all heads above which these stand upright


@dataclass(frozen=True)
class Cell:
    count: str
    share: str  # of the row
    shade: float  # percent of the colour, by the root of the share: single mistakes show
    right: bool
    title: str


@dataclass(frozen=True)
class Confusion:
    """Who is taken for whom: rows are the truth, columns what was predicted."""

    names: Sequence[str]
    heads: Sequence[str]
    rows: Sequence[tuple[str, str, Sequence[Cell]]]  # name, samples, cells
    upright: bool
    roomy: bool
    n_classes: int


def confusion(truth: Array, predicted: Array, classes: Sequence[str]) -> Confusion:
    """Counts, and shares of each row; of many classes the most frequent."""
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(counts, (truth, predicted), 1)
    return confusion_of(counts, classes)


def confusion_of(counts: Array, classes: Sequence[str], most: int = MOST_CLASSES) -> Confusion:
    """The same of what was counted before: true classes in rows, predicted ones in columns."""
    sizes = counts.sum(axis=1)
    shown = np.sort(np.argsort(-sizes, kind="stable")[: min(most, MOST_CLASSES)]).tolist()
    short = [shortened(name, NAME) for name in classes]
    heads = [shortened(classes[c], HEAD) for c in shown]

    def cell(i: int, j: int) -> Cell:
        count, share = int(counts[i, j]), counts[i, j] / max(sizes[i], 1)
        words = "found" if i == j else f"taken for {short[j]}"
        title = f"{number(count)} of {number(int(sizes[i]))} {short[i]} {words}" if count else ""
        return Cell(
            number(count), percent(count, int(sizes[i])), round(60 * float(share) ** 0.5, 1), i == j, title
        )

    return Confusion(
        [classes[c] for c in shown],
        heads,
        [(classes[i], number(int(sizes[i])), [cell(i, j) for j in shown]) for i in shown],
        len(shown) > 2 * ROOMY or sum(map(len, heads)) > UPRIGHT,
        len(shown) <= ROOMY,
        len(classes),
    )


@dataclass(frozen=True)
class Found:
    """How a class fares."""

    name: str
    count: str
    recall: str
    recall_range: str
    low: float  # percent
    high: float
    width: float
    precision: str
    precision_range: str
    auc: str
    few: bool


def by_class(
    truth: Array, predicted: Array, classes: Sequence[str], areas: Sequence[float | None]
) -> list[Found]:
    """Recall and precision with 95 % intervals; areas under the curves as they come."""
    rows = []
    for c, name in enumerate(classes):
        n, said = int((truth == c).sum()), int((predicted == c).sum())
        hits = int(((truth == c) & (predicted == c)).sum())
        low, high = wilson(hits, n) if n else (0.0, 0.0)
        rows.append(
            Found(
                name,
                number(n),
                *_share(hits, n),
                round(100 * low, 2),
                round(100 * high, 2),
                round(100 * hits / max(n, 1), 2),
                *_share(hits, said),
                "–" if areas[c] is None else f"{areas[c]:.3f}",
                n < FEW,
            )
        )
    return rows


def _share(hits: int, n: int) -> tuple[str, str]:
    """A share and its interval, or dashes where there is nothing to share."""
    if not n:
        return "–", "–"
    low, high = wilson(hits, n)
    return f"{100 * hits / n:.1f}%", f"{100 * low:.0f} to {100 * high:.0f}%"


@dataclass(frozen=True)
class Curve:
    name: str
    colour: int
    path: str
    area: str


@dataclass(frozen=True, kw_only=True)
class Roc(Square):
    """Curves of one class against the rest."""

    curves: Sequence[Curve]
    mean: str
    all_shown: bool
    two: bool


def areas(truth: Array, scores: Array | None, n_classes: int) -> list[float | None]:
    """The area under each class's curve; None where there is no score, or not both kinds of samples."""
    if scores is None:
        return [None] * n_classes
    has_both = [0 < int((truth == c).sum()) < len(truth) for c in range(n_classes)]
    return [
        float(roc_auc_score(truth == c, scores[:, c])) if has_both[c] else None for c in range(n_classes)
    ]


def roc(
    truth: Array, scores: Array | None, classes: Sequence[str], found: Sequence[float | None]
) -> Roc | None:
    """Curves of all classes, of two the second's; of many those that are hardest to tell."""
    there = [(area, c) for c, area in enumerate(found) if area is not None]
    if scores is None or not there:
        return None
    two = len(classes) == 2
    wanted = there[-1:] if two else sorted(there)[:N_COLOURS]
    return Roc(
        x_title="share of the others taken for it",
        y_title="share of the class found",
        curves=[
            Curve(shortened(classes[c], NAME), k, _path(truth == c, scores[:, c]), f"{area:.3f}")
            for k, (area, c) in enumerate(wanted)
        ],
        mean=f"{np.mean([area for area, _ in there]):.3f}",
        all_shown=two or len(wanted) == len(there),
        two=two,
    )


def _path(positive: Array, scores: Array) -> str:
    false, true, _ = roc_curve(positive, scores)
    points = dict.fromkeys((x_of(a), y_of(b)) for a, b in zip(false.tolist(), true.tolist(), strict=True))
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
