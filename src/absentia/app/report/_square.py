"""The frame of a chart of shares against shares."""

from collections.abc import Sequence
from dataclasses import dataclass

SIZE = 360.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 12.0, 12.0, 46.0


def x_of(share: float) -> float:
    return round(LEFT + share * (SIZE - LEFT - RIGHT), 1)


def y_of(share: float) -> float:
    return round(SIZE - BOTTOM - share * (SIZE - TOP - BOTTOM), 1)


TICKS = tuple((x_of(t), y_of(t), f"{100 * t:.0f}%") for t in (0, 0.25, 0.5, 0.75, 1))


@dataclass(frozen=True, kw_only=True)
class Square:
    """What axes need; charts add what is inside."""

    x_title: str
    y_title: str
    ticks: Sequence[tuple[float, float, str]] = TICKS  # along x, along y, label
    size: float = SIZE
    left: float = LEFT
    right: float = SIZE - RIGHT
    top: float = TOP
    bottom: float = SIZE - BOTTOM
