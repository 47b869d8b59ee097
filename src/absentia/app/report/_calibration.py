"""Are probabilities kept?  Geometry of a chart, drawn by the template."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from absentia.app.report._square import Square, x_of, y_of
from absentia.app.report._text import number, shortened
from absentia.core import Array

BINS = 10
FEW = 20


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    low: float
    high: float
    few: bool
    title: str


@dataclass(frozen=True, kw_only=True)
class Calibration(Square):
    dots: Sequence[Dot]
    path: str
    error: str
    what: str
    has_few: bool


def wilson(right: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927)."""
    p = right / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def calibration(truth: Array, probabilities: Array | None, classes: Sequence[str]) -> Calibration | None:
    """Samples in ten groups by the probability they were given, and how many of each came true."""
    if probabilities is None:
        return None
    if len(classes) == 2:
        given, came = probabilities[:, 1], truth == 1
        label = shortened(classes[1], 28)
        what = f"the probability of {label}"
        titles = (f"probability of {label}", "share that were")
    else:
        given, came = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
        what = "the probability of each sample's most probable class"
        titles = ("probability of the class", "share that were right")
    place = np.minimum((given * BINS).astype(int), BINS - 1)
    dots, error = [], 0.0
    for b in np.unique(place):
        members = place == b
        n, mean, share = int(members.sum()), float(given[members].mean()), float(came[members].mean())
        error += n * abs(mean - share)
        dots.append(_dot(n, mean, share))
    return Calibration(
        x_title=titles[0],
        y_title=titles[1],
        dots=dots,
        path="M" + "L".join(f"{dot.x:g} {dot.y:g}" for dot in dots),
        error=f"{100 * error / len(truth):.1f}",
        what=what,
        has_few=any(dot.few for dot in dots),
    )


def _dot(n: int, mean: float, share: float) -> Dot:
    low, high = wilson(round(share * n), n)
    title = f"{number(n)} samples given {100 * mean:.0f}% on average: {100 * share:.0f}% came true"
    return Dot(x_of(mean), y_of(share), y_of(low), y_of(high), n < FEW, title)
