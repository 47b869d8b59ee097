"""What all displays share: axes, colours, sizes, files."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from absentia.core import check_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe and Ito's colours, which are told apart whatever colours a reader sees; the faint ones last.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
MARKERS = "osD^vPX*"
ABSENT, PRESENT = "#E3E3E3", "#33506B"
#: Widths of figures in inches: a column, one and a half, the page (89, 120 and 183 mm).
WIDTHS = {"single": 3.5, "middle": 4.72, "double": 7.2}
ENDINGS = (".pdf", ".svg", ".png")


class Display(ABC):
    """A picture of numbers that are kept as attributes.

    Attributes
    ----------
    ax_ : Axes, or array of such
        What was drawn into.
    figure_ : Figure
        The figure of these.
    """

    _size: ClassVar[tuple[float, float]] = (4.72, 3.2)  # inches, of a figure of its own
    ax_: Any
    figure_: Figure

    @abstractmethod
    def _draw(self, ax: Axes) -> Any:
        """Draw into `ax`; return the axes that hold the picture if they are others."""

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw, into a figure of its own if no axes are given.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to; a picture of several panels divides the place of these axes.

        Returns
        -------
        The display itself, with ``ax_`` and ``figure_``.
        """
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.subplots(figsize=self._figure_size(), layout="constrained")[1]
        drawn = self._draw(ax)
        self.ax_ = ax if drawn is None else drawn
        self.figure_ = ax.figure.get_figure(root=True)  # of a part of a figure, too
        return self

    def _figure_size(self) -> tuple[float, float]:
        return self._size

    def save(
        self, path: str | os.PathLike[str], width: str | float | None = None, *, dpi: float = 300
    ) -> Path:
        """Write the figure as PDF, SVG or PNG, as the ending says.

        Parameters
        ----------
        path : path
            An existing file is replaced.
        width : {"single", "middle", "double"} or float, optional
            A column (89 mm), one and a half (120 mm), the page (183 mm), or inches; the height follows.
            By default as drawn.
        dpi : float, default 300
            Of PNG.
        """
        return save_figure(self.figure_, path, width, dpi)


def save_figure(
    figure: Figure, path: str | os.PathLike[str], width: str | float | None, dpi: float
) -> Path:
    """Write a figure, whole or not at all; the same figure gives the same bytes."""
    from matplotlib import rc_context

    from absentia.files import write_atomically

    target = Path(path)
    ending = target.suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"{target}: a figure ends in {', '.join(ENDINGS)}, not in {ending!r}")
    if isinstance(width, str):
        check_name("width", width, WIDTHS)
    if width is not None:
        old_width, old_height = figure.get_size_inches()
        inches = WIDTHS[width] if isinstance(width, str) else float(width)
        figure.set_size_inches(inches, old_height * inches / old_width)
    undated = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}, ".png": {}}[ending]
    # letters stay letters in PDF, to be found and edited
    with rc_context({"pdf.fonttype": 42, "svg.hashsalt": "absentia"}):
        write_atomically(
            target, lambda file: figure.savefig(file, format=ending[1:], dpi=dpi, metadata=undated)
        )
    return target


def divide_axes(ax: Axes, n_rows: int, n_columns: int, **grid: Any) -> np.ndarray:
    """Axes in a grid (rows x columns) in place of `ax`, of which only the place is left."""
    from matplotlib.gridspec import GridSpec

    figure, place = ax.figure, ax.get_subplotspec()
    if place is None:
        box = ax.get_position()
        place = GridSpec(
            1, 1, figure.get_figure(root=True), left=box.x0, right=box.x1, bottom=box.y0, top=box.y1
        )[0]
    ax.set_axis_off()
    sharing = {name: grid.pop(name) for name in ("sharex", "sharey") if name in grid}
    axes: np.ndarray = place.subgridspec(n_rows, n_columns, **grid).subplots(squeeze=False, **sharing)
    return axes


def color(i: int) -> str:
    return COLORS[i % len(COLORS)]


def clear_spines(ax: Axes, *sides: str) -> None:
    """Leave out lines around the axes; by default above and to the right."""
    for side in sides or ("top", "right"):
        ax.spines[side].set_visible(False)


def list_rows(ax: Axes, names: Iterable[Any]) -> np.ndarray:
    """Put names at the left, the first on top; their positions."""
    labels = [str(name) for name in names]
    ax.set_yticks(np.arange(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    clear_spines(ax, "top", "right", "left")
    return np.arange(len(labels))


def draw_intervals(
    ax: Axes, y: Any, value: Any, low: Any, high: Any, *, hollow: Any = None, color: str = COLORS[0]
) -> None:
    """Dots with horizontal intervals; hollow dots where `hollow`."""
    value, hollow = np.asarray(value, dtype=float), np.zeros(len(y), bool) if hollow is None else hollow
    ax.hlines(y, low, high, color=color, linewidth=1.4)
    ax.scatter(value, y, s=26, c=np.where(hollow, "white", color), edgecolors=color, zorder=3)


def write_classes(values: Any) -> tuple[list[Any], np.ndarray]:
    """Distinct values, sorted if they can be, and the number of each sample's."""
    as_list = np.asarray(values).tolist()
    distinct: list[Any] = list(dict.fromkeys(as_list))
    try:
        distinct.sort()
    except TypeError:
        distinct.sort(key=str)
    return distinct, np.array([distinct.index(value) for value in as_list], dtype=int)


def check_length(values: Sequence[Any] | Any, n: int, what: str) -> np.ndarray:
    """One value for each of `n` samples."""
    array = np.asarray(values)
    if array.shape[:1] != (n,):
        raise ValueError(f"{what} has {array.shape[0] if array.ndim else 'no'} values for {n} samples")
    return array
