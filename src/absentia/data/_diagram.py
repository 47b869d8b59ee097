"""Mean ranks over many data sets as a picture: who is not told apart from whom (Demsar, JMLR 7, 2006)."""

from collections.abc import Sequence
from html import escape
from typing import Any, Protocol

WIDTH, SIDE, ROW, TOP = 640, 190, 22, 58  # pixels: all of it, room for names, a line of names, the axis
BAR = 9  # pixels between bars


class Ranked(Protocol):
    """What :func:`absentia.statistics.nemenyi` gives."""

    @property
    def ranks(self) -> Any: ...

    @property
    def critical_difference(self) -> float: ...

    @property
    def groups(self) -> Any: ...


def critical_difference_diagram(names: Sequence[str], found: Ranked) -> str:
    """A critical-difference diagram as SVG: methods at their mean ranks, bars over those not told apart.

    Parameters
    ----------
    names : sequence of str
        Of the methods, in the order of the columns of the scores.
    found : Nemenyi
        Of :func:`absentia.statistics.nemenyi`.

    Examples
    --------
    >>> from absentia import statistics
    >>> found = statistics.nemenyi([[9, 8, 1], [8, 9, 2], [7, 6, 1], [8, 9, 3], [9, 8, 3]])
    >>> picture = statistics.critical_difference_diagram(["cvkt", "mean", "zero"], found)
    >>> picture[:4], "1.48" in picture
    ('<svg', True)
    """
    ranks = [float(rank) for rank in found.ranks]
    if len(names) != len(ranks):
        raise ValueError(f"{len(names)} names for {len(ranks)} methods; one for each is wanted")
    order = sorted(range(len(ranks)), key=lambda j: ranks[j])
    below = TOP + 14 + BAR * len(found.groups)
    height = below + ROW * ((len(ranks) + 1) // 2) + 12
    drawn = [
        *_axis(len(ranks), found.critical_difference),
        *(_bar(ranks, group, TOP + 12 + BAR * i) for i, group in enumerate(found.groups)),
        *(_name(str(names[j]), ranks, j, place, len(order), below) for place, j in enumerate(order)),
    ]
    said = "; ".join(f"{names[j]} {ranks[j]:.2f}" for j in order)
    label = escape(f"Mean ranks, 1 is best: {said}; critical difference {found.critical_difference:.2f}")
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
    style = 'font-family="sans-serif" font-size="12" stroke="none" fill="currentColor"'
    return f'{head} aria-label="{label}" {style}>{"".join(drawn)}</svg>'


def _at(rank: float, k: int) -> float:
    """Where a rank of `k` methods is, the best on the left."""
    return SIDE + (WIDTH - 2 * SIDE) * (rank - 1) / (k - 1)


def _line(x1: float, y1: float, x2: float, y2: float, width: float = 1.0) -> str:
    place = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {place} stroke="currentColor" stroke-width="{width:g}"/>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _axis(k: int, least: float) -> list[str]:
    """The ranks, and above them how far apart two have to be."""
    ticks = [_line(_at(r, k), TOP - 5, _at(r, k), TOP) for r in range(1, k + 1)]
    words = [_text(_at(r, k), TOP - 9, str(r), "middle") for r in range(1, k + 1)]
    end = min(_at(1 + least, k), float(WIDTH - 4))
    ruler = [
        _line(_at(1, k), 24, end, 24, 2),
        _text(_at(1, k), 18, f"critical difference {least:.2f}", "start"),
    ]
    return [_line(_at(1, k), TOP, _at(k, k), TOP), *ticks, *words, *ruler]


def _bar(ranks: Sequence[float], group: Sequence[int], y: float) -> str:
    ends = [_at(ranks[j], len(ranks)) for j in group]
    return _line(min(ends) - 4, y, max(ends) + 4, y, 4)


def _name(name: str, ranks: Sequence[float], j: int, place: int, k: int, below: float) -> str:
    """A name beside the axis, the better half on the left, and the way from its rank to it."""
    left = place < (k + 1) // 2
    row = place if left else k - 1 - place
    x, y = _at(ranks[j], k), below + ROW * row + 8
    edge, anchor = (SIDE - 14, "end") if left else (WIDTH - SIDE + 14, "start")
    words = _text(edge - 4 if left else edge + 4, y + 4, f"{name} ({ranks[j]:.2f})", anchor)
    return _line(x, TOP, x, y) + _line(x, y, edge, y) + words
