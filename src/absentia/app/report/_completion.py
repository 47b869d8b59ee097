"""The page about completed kernels: what was absent, what was filled in, how well, and how it converged."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from absentia.app.report._blocks import (
    N_COLOURS,
    Block,
    Column,
    Row,
    Table,
    make_scrollable,
    note,
    swatch_cell,
)
from absentia.app.report._format import (
    DASH,
    format_count,
    format_number,
    format_percent,
    format_power_of_ten,
)
from absentia.app.report._kernel_maps import make_kernels_section
from absentia.app.report._page import (
    Figure,
    Section,
    load_templates,
    make_reading_section,
    render_page,
    save,
)
from absentia.app.report._presence import make_presence_section
from absentia.app.report._quality import make_quality_section
from absentia.core import Array
from absentia.core.svg import Frame, Markup, dot, element, line_class, round_step
from absentia.data import KernelViews
from absentia.experiment import Quality

_FLOOR = 1e-12  # smaller shares of the improvement are rounding
_MAX_DOTS = 60  # of a line
_READING = {
    "View and sample": "A view is one kind of measurement (an expression profile, an image, a text); a "
    "sample is what was measured. Here a view is either wholly present for a sample or wholly absent.",
    "Completed is not measured": "Completed rows are estimates borrowed from the other views. They are "
    "only as good as the views agree, and a sample with few views rests on little.",
    "Blocks in a map": "A bright square along the diagonal is a group of similar samples. A good "
    "completion carries the squares on through the rows that were absent, without stripes.",
    "Colours": "All maps of a view share one scale, so colours compare before and after, though not "
    "across views. Hatching always means: nothing was there.",
}


@dataclass(frozen=True, eq=False)
class CompletionStory:
    """Everything the page tells, as kernels, numbers and sentences.

    Parameters
    ----------
    title, summary : str
        Plain text; the summary is one or two sentences.
    before : KernelViews
        Kernels as they came.
    after : mapping of str to KernelViews
        Completed kernels by method; the first is the one that is reported on.
    traces : mapping of str to 1-d array
        Objective after each iteration, for methods that iterate.
    warnings : sequence of str
        Sentences the user should read.
    facts : mapping of str to str
        Provenance: data set, command, version, seed, date ...
    quality : Quality, optional
        Errors on cells that were hidden on purpose, of the first method of `after` and of others.
    unexplained : (n, V), optional
        Where the first method says how sure it is: the share of each completed cell's own value that it
        does not explain, NaN where the cell was observed.
    """

    title: str
    summary: str
    before: KernelViews
    after: Mapping[str, KernelViews]
    traces: Mapping[str, Array] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    quality: Quality | None = None
    unexplained: Array | None = None

    def __post_init__(self) -> None:
        self.before.check_square()
        for method, kernels in self.after.items():
            if kernels.shape != self.before.shape or kernels.names != self.before.names:
                raise ValueError(
                    f"after[{method!r}] has the views {list(kernels.names)[:5]} over {kernels.shape} "
                    f"samples, before {list(self.names)[:5]} over {self.before.shape}; pass the same "
                    "views and samples"
                )
            if not kernels.observed.all():
                raise ValueError(
                    f"after[{method!r}] lacks views for some samples; pass kernels with everything observed"
                )

    @property
    def names(self) -> Sequence[str]:
        return self.before.names

    @property
    def observed(self) -> Array:
        return self.before.observed

    @property
    def n_samples(self) -> int:
        return len(self.before)

    @property
    def n_views(self) -> int:
        return self.before.n_views


def render(story: CompletionStory) -> str:
    """The page as HTML."""
    load_templates()  # says what to install before any work is done
    sections = [make(story) for make in SECTIONS.values()]
    return render_page("completion", story, _list_figures(story), sections)


def write(story: CompletionStory, path: str | os.PathLike[str]) -> Path:
    """Render to ``path``: the whole page or, if anything fails, whatever was there before."""
    return save(render(story), path)


def _list_figures(story: CompletionStory) -> list[Figure]:
    observed = story.observed
    complete, (n, n_views) = int(observed.all(axis=1).sum()), observed.shape
    have = "sample has" if complete == 1 else "samples have"
    present = format_percent(int(observed.sum()), observed.size)
    return [
        Figure(format_number(n), "sample" if n == 1 else "samples"),
        Figure(format_number(n_views), "view" if n_views == 1 else "views"),
        Figure(present, "of all sample–view pairs present"),
        Figure(format_number(complete), f"{have} every view ({format_percent(complete, n)})"),
    ]


# ----------------------------------------------------------------------------------------------- objective


def _make_objective_section(story: CompletionStory) -> Section | None:
    """How much of the improvement was still to come after each iteration; None if nothing iterates."""
    traces = {name: np.asarray(t, dtype=float).ravel() for name, t in story.traces.items() if np.size(t)}
    if not traces:
        return None
    chart = _draw_objectives(traces)
    lead = "The objective after each iteration; it did not move."
    blocks: list[Block] = []
    if chart is not None:
        lead = (
            "A method improves its objective a little with every iteration. The chart shows how much of "
            "the whole improvement is still to come: a straight way down is steady progress, a flat line "
            "is a halt. The last iteration is what the others are measured against, so each curve ends "
            "just before it."
        )
        blocks.append(make_scrollable(chart, "Chart of the objective"))
    rows = []
    for i, (name, trace) in enumerate(traces.items()):
        ends = [_format_objective(trace[0]), _format_objective(trace[-1])]
        name_cell = swatch_cell(line_class(i, N_COLOURS), name)
        rows.append(Row([name_cell, format_number(len(trace)), *ends]))
    columns: list[str | Column] = ["Method", "Iterations", "Objective after the first", "after the last"]
    blocks.append(Table("Iterations", columns, rows, "traces"))
    if len(rows) > 1:
        words = (
            "Methods may pursue different objectives; compare the shape of their curves, not the values."
        )
        blocks.append(note(words))
    return Section("objective", "Convergence", "Convergence", lead, blocks)


def compute_remaining(trace: Array) -> Array:
    """Share of the whole improvement still to come after each iteration; NaN once none is."""
    finite = trace[np.isfinite(trace)]
    gap = np.abs(np.where(np.isfinite(trace), trace, np.nan) - (finite[-1] if finite.size else np.nan))
    whole = np.nanmax(gap) if finite.size else 0.0
    if whole == 0:
        return np.full(len(trace), np.nan)
    share = gap / whole
    return np.asarray(np.where(share >= _FLOOR, share, np.nan))


def _draw_objectives(traces: Mapping[str, Array]) -> Markup | None:
    """Lines on a logarithmic scale; None if no objective moved."""
    shares = {name: compute_remaining(trace) for name, trace in traces.items()}
    finite = np.concatenate([share[np.isfinite(share)] for share in shares.values()])
    if not finite.size:
        return None
    last = max(len(trace) for trace in traces.values())
    high = math.ceil(math.log10(finite.max()))
    low = min(math.floor(math.log10(finite.min())), high - 1)
    margins = (58.0, 14.0, 14.0, 46.0)
    frame = Frame.make((720, 320), (1, max(last, 2)), (10.0**low, 10.0**high), margins, log_y=True)
    powers = range(high, low - 1, -max(1, math.ceil((high - low) / 6)))
    axes = frame.axes(
        {t: format_number(t) for t in make_iteration_ticks(last)},
        {10.0**p: format_power_of_ten(p) for p in powers},
        "iteration",
        "improvement still to come (log scale)",
    )
    lines = [_draw_objective(i, name, traces[name], shares[name], frame) for i, name in enumerate(traces)]
    counts = "; ".join(f"{name}: {format_count(len(t), 'iteration')}" for name, t in traces.items())
    label = f"Share of the improvement still to come, by iteration. {counts}"
    return frame.draw(axes, *lines, label=label)


def _draw_objective(i: int, name: str, trace: Array, shares: Array, frame: Frame) -> Markup:
    points = [(t + 1, float(shares[t])) for t in np.flatnonzero(np.isfinite(shares)).tolist()]
    if not points:
        return Markup()
    dots = [
        dot(
            frame.x(t),
            frame.y(s),
            f"{name}, iteration {t}: objective {_format_objective(trace[t - 1])}",
            2.4,
        )
        for t, s in points[:: math.ceil(len(points) / _MAX_DOTS)]
    ]
    colour, dash = line_class(i, N_COLOURS).split()
    return element("g", element("path", d=frame.path(points), class_=dash), *dots, class_=f"line {colour}")


def make_iteration_ticks(last: int) -> list[int]:
    """1 and round numbers up to `last`."""
    step = int(round_step(max(last, 6)))
    return [1, *(t for t in range(step, last + 1, step) if t > 1 and (t - 1) * 2 >= step)]


def _format_objective(value: float) -> str:
    """Objectives differ late in their digits: six of them."""
    return f"{value:.6g}".replace("-", "−") if math.isfinite(value) else DASH


#: The sections of the page, in its order, each a function of the report's data.
SECTIONS: dict[str, Callable[[CompletionStory], Section | None]] = {
    "presence": make_presence_section,
    "quality": make_quality_section,
    "kernels": make_kernels_section,
    "objective": _make_objective_section,
    "reading": lambda story: make_reading_section(_READING, story.facts),
}
