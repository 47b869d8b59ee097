"""Mean ranks over many data sets as a picture: which methods are not told apart (Demsar, JMLR 7, 2006)."""

from collections.abc import Sequence
from typing import Any, Protocol

from absentia.core.svg import Markup, Scale, element, fill, line, text

_WIDTH, _SIDE, _ROW, _TOP = 640, 190, 22, 58  # pixels: all of it, room for names, a line of names, the axis
_BAR = 9  # pixels between bars


class _Nemenyi(Protocol):
    """What :func:`absentia.statistics.nemenyi` gives."""

    @property
    def ranks(self) -> Any: ...

    @property
    def critical_difference(self) -> float: ...

    @property
    def groups(self) -> Any: ...


def critical_difference_diagram(names: Sequence[str], result: _Nemenyi) -> str:
    """A critical-difference diagram as SVG: methods at their mean ranks, bars over those not told apart.

    Parameters
    ----------
    names : sequence of str
        Of the methods, in the order of the columns of the scores.
    result : Nemenyi
        Of :func:`absentia.statistics.nemenyi`.

    Examples
    --------
    >>> from absentia import statistics
    >>> result = statistics.nemenyi([[9, 8, 1], [8, 9, 2], [7, 6, 1], [8, 9, 3], [9, 8, 3]])
    >>> picture = statistics.critical_difference_diagram(["cvkt", "mean", "zero"], result)
    >>> picture[:4], "1.48" in picture
    ('<svg', True)
    """
    ranks = [float(rank) for rank in result.ranks]
    if len(names) != len(ranks):
        raise ValueError(f"{len(names)} names for {len(ranks)} methods; one for each is wanted")
    order = sorted(range(len(ranks)), key=ranks.__getitem__)
    below = _TOP + 14 + _BAR * len(result.groups)
    height = below + _ROW * ((len(ranks) + 1) // 2) + 12
    scale = Scale(1, len(ranks), _SIDE, _WIDTH - _SIDE)
    parts = [
        _draw_axis(scale, result.critical_difference),
        *(
            _draw_bar([scale(ranks[j]) for j in group], _TOP + 12 + _BAR * i)
            for i, group in enumerate(result.groups)
        ),
        *(
            _draw_name(f"{names[j]} ({ranks[j]:.2f})", scale(ranks[j]), place, len(order), below)
            for place, j in enumerate(order)
        ),
    ]
    listed = "; ".join(f"{names[j]} {ranks[j]:.2f}" for j in order)
    label = f"Mean ranks, 1 is best: {listed}; critical difference {result.critical_difference:.2f}"
    return element(
        "svg",
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {height}",
        role="img",
        aria_label=label,
        font_family="sans-serif",
        font_size=12,
        stroke="none",
        fill="currentColor",
    )


def _rule(x1: float, y1: float, x2: float, y2: float, width: float = 1.0) -> Markup:
    return line(x1, y1, x2, y2, stroke="currentColor", stroke_width=width)


def _draw_axis(scale: Scale, critical_difference: float) -> Markup:
    """The ranks, and above them how far apart two have to be."""
    first, last = scale.start, scale.stop
    parts = [_rule(first, _TOP, last, _TOP)]
    for rank in range(1, int(scale.high) + 1):
        x = scale(rank)
        parts += [_rule(x, _TOP - 5, x, _TOP), text(x, _TOP - 9, str(rank), "middle")]
    end = min(scale(1 + critical_difference), float(_WIDTH - 4))
    parts += [
        _rule(first, 24, end, 24, 2),
        text(first, 18, f"critical difference {critical_difference:.2f}"),
    ]
    return fill("{}", parts)


def _draw_bar(positions: Sequence[float], y: float) -> Markup:
    return _rule(min(positions) - 4, y, max(positions) + 4, y, 4)


def _draw_name(label: str, x: float, place: int, n_methods: int, below: float) -> Markup:
    """A name beside the axis, the better half on the left, and the way from its rank to it."""
    left = place < (n_methods + 1) // 2
    y = below + _ROW * (place if left else n_methods - 1 - place) + 8
    edge, anchor = (_SIDE - 14, "end") if left else (_WIDTH - _SIDE + 14, "start")
    words = text(edge - 4 if left else edge + 4, y + 4, label, anchor)
    return fill("{}{}{}", _rule(x, _TOP, x, y), _rule(x, y, edge, y), words)
