"""The page about completed kernels: what was absent, what was filled in, how well, and how it converged."""

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from absentia.app.report._data import CompletionStory
from absentia.app.report._format import DASH, format_count, format_number, format_p, format_percent
from absentia.app.report._heatmaps import make_kernels_section
from absentia.app.report._page import (
    BAR,
    Cell,
    Column,
    Columns,
    Row,
    Section,
    bar_cell,
    best_cell,
    few_row,
    heading,
    load_templates,
    make_table,
    name_cell,
    note,
    render_page,
    save,
    sentences,
)
from absentia.app.report._sections import make_presence_section, make_reading_section
from absentia.core import Array
from absentia.core.svg import Markup
from absentia.data.statistics import mcnemar
from absentia.experiment import Quality

_FEW = 10  # hidden cells, or completed rows, below which a number says little
_MEAN, _ZERO = "mean", "zero"
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


def render(story: CompletionStory) -> str:
    """The page as HTML."""
    load_templates()  # says what to install before any work is done
    sections = [
        make_presence_section(story),
        _make_quality_section(story),
        make_kernels_section(story),
        _make_objective_section(story),
        make_reading_section(_READING, story.facts),
    ]
    return render_page("completion", story, _list_figures(story), sections)


def write(story: CompletionStory, path: str | os.PathLike[str]) -> Path:
    """Render to ``path``: the whole page or, if anything fails, whatever was there before."""
    return save(render(story), path)


def _list_figures(story: CompletionStory) -> list[tuple[str, str]]:
    observed = story.observed
    complete, (n, n_views) = int(observed.all(axis=1).sum()), observed.shape
    have = "sample has" if complete == 1 else "samples have"
    present = format_percent(int(observed.sum()), observed.size)
    return [
        (format_number(n), "sample" if n == 1 else "samples"),
        (format_number(n_views), "view" if n_views == 1 else "views"),
        (present, "of all sample–view pairs present"),
        (format_number(complete), f"{have} every view ({format_percent(complete, n)})"),
    ]


# ------------------------------------------------------------------------------------------------- quality


def _make_quality_section(story: CompletionStory) -> Section | None:
    """Errors on cells hidden on purpose, uncertainty of completed rows; None if nothing was measured."""
    quality, chosen = story.quality, next(iter(story.after), "")
    if quality is None:
        return None
    lead = (
        "Nothing can be said of it: no observed cell could be hidden to try, because samples have one "
        "view only or there are too few."
    )
    blocks = []
    if len(quality.cells):
        lead = (
            f"{len(quality.cells)} observed sample–view pairs, about a tenth of each view and never a "
            "sample's last one, were hidden on purpose and completed from the rest by each method; then "
            "they were compared with what they had been. The row with a bar at its left is the method "
            f"that made the kernels below. {quality.subsample_note}"
        ).rstrip()
        order = sorted(quality.row_errors, key=lambda name: quality.mean_errors(name)[0])
        verdicts = list(_compare_with_others(quality, chosen))
        blocks += [sentences(verdicts)] if verdicts else []
        blocks += _make_method_errors(quality, order, chosen) if order else []
        blocks += [note(f"Not in the table: {_describe_left_out(quality)}.")] if quality.left_out else []
        blocks += _make_view_errors(quality, order, chosen) if order else []
    blocks += _make_uncertainty(story, quality, chosen)
    return Section("quality", "Quality", "How good the completion is", lead, blocks)


def _make_method_errors(quality: Quality, order: Sequence[str], chosen: str) -> list[Markup]:
    """Errors of all methods, the best first, by ARE; zero fill's bar is cut off at the others' largest."""
    errors = {name: quality.mean_errors(name) for name in order}
    largest = max((are for name, (are, _) in errors.items() if name != _ZERO), default=1.0) or 1.0
    rows = []
    for name, (are, ca) in errors.items():
        tags = ["used here"] if name == chosen else []
        tags += ["baseline"] if name in (_MEAN, _ZERO) else []
        cells: list[str | Cell] = [
            best_cell(format_number(are), name == order[0] and len(order) > 1),
            format_number(ca),
            f"{quality.seconds[name]:.1f}",
            bar_cell(min(100 * are / largest, 100.0)),
        ]
        rows.append(Row([Cell(name, tags=tags, value=name), *cells], "first" if name == chosen else ""))
    columns: Columns = ["Method", "ARE", "CA", "CPU seconds", BAR]
    words = (
        "ARE: relative error of the hidden rows, mean over views; 0 is perfect, 1 as bad as zeros. CA: 1 "
        "− cosine between the hidden rows and what was put there. Lower is better in both. Methods but "
        "the one used here have their default parameters. Bars: ARE, that of zero fill cut off."
    )
    return [make_table("Errors on hidden cells", columns, rows, "accuracy quality"), note(words)]


def _compare_with_others(quality: Quality, chosen: str) -> Iterator[str]:
    """Is the method better than mean fill here, and is another better still."""
    if chosen not in quality.row_errors:
        if chosen in quality.left_out:
            yield f"{chosen} {quality.left_out[chosen]}, so nothing can be said of how good it is here."
        return
    if chosen != _MEAN and _MEAN in quality.row_errors:
        yield _compare_with_mean(quality, chosen)
    best = min(quality.row_errors, key=lambda name: quality.mean_errors(name)[0])
    lowest, chosen_error = (format_number(quality.mean_errors(name)[0]) for name in (best, chosen))
    if lowest != chosen_error:
        yield (
            f"The least error on these cells has {best}, {lowest} where {chosen} has {chosen_error}; small "
            "differences on few cells are luck."
        )


def _compare_with_mean(quality: Quality, chosen: str) -> str:
    errors, mean_errors = quality.row_errors[chosen], quality.row_errors[_MEAN]
    wins, losses, p = mcnemar(errors < mean_errors, errors > mean_errors)
    are, mean_are = quality.mean_errors(chosen)[0], quality.mean_errors(_MEAN)[0]
    if p >= 0.05:
        verdict = f"{chosen} is not shown to be better than mean fill here"
    elif are < mean_are and wins > losses:
        verdict = f"{chosen} is better than mean fill here"
    elif are > mean_are and wins < losses:
        verdict = f"{chosen} is worse than mean fill here: use mean fill, or another method"
    else:
        often = "more often" if wins > losses else "less often"
        verdict = f"{chosen} is nearer than mean fill {often}, but its mean error says otherwise"
    return (
        f"{verdict}: its error is {format_number(are)}, that of mean fill {format_number(mean_are)}; it "
        f"is nearer to the truth on {format_count(wins, 'hidden cell')}, mean fill on "
        f"{format_number(losses)} ({format_p(p)}, sign test)."
    )


def _describe_left_out(quality: Quality) -> str:
    """Methods without a number, those with the same reason together."""
    reasons = quality.left_out
    return "; ".join(
        f"{', '.join(name for name, why in reasons.items() if why == reason)} ({reason})"
        for reason in dict.fromkeys(reasons.values())
    )


def _make_view_errors(quality: Quality, order: Sequence[str], chosen: str) -> list[Markup]:
    """ARE of each view by method, the least marked."""
    by_view = np.array([quality.view_errors(name) for name in order])
    hidden = np.bincount(quality.cells[:, 1], minlength=len(quality.names))
    rows = []
    for v, name in enumerate(quality.names):
        lowest = np.nanmin(by_view[:, v]) if np.isfinite(by_view[:, v]).any() else np.nan
        cells = [
            best_cell(format_number(float(x)), bool(x == lowest) and len(order) > 1) for x in by_view[:, v]
        ]
        rows.append(
            few_row(name_cell(name, 32), [format_number(int(hidden[v])), *cells], bool(hidden[v] < _FEW))
        )
    columns: list[str | Column] = ["View", "Hidden"]
    columns += [Column(name, css="own" if name == chosen else "") for name in order]
    words = "ARE; the least of each view is marked."
    if (hidden < _FEW).any():
        words += f" Rows marked few rest on fewer than {_FEW} hidden cells and may be luck."
    return [heading("View by view"), make_table("Errors by view", columns, rows, "by-view"), note(words)]


def _make_uncertainty(story: CompletionStory, quality: Quality, chosen: str) -> list[Markup]:
    """What the model leaves unexplained by view, and errors by how many views a sample was left with."""
    blocks = []
    if story.unexplained is not None and not np.isnan(story.unexplained).all():
        words = (
            f"By the model of {chosen}: the share of a completed sample's own value k(t, t) that the "
            "other samples leave unexplained; 0 is sure, 1 is a guess. It trusts the model, so read it "
            "beside the errors."
        )
        rows = [
            _summarise_values(name, values[~np.isnan(values)])
            for name, values in zip(story.names, story.unexplained.T, strict=True)
            if not np.isnan(values).all()
        ]
        columns = ["View", *_make_quantile_columns("Unexplained")]
        label = "Unexplained share of completed rows"
        blocks += [note(words), make_table(label, columns, rows, "sureness")]
    measured = list(_summarise_errors(quality, chosen))
    if measured:
        words = (
            f"As measured: the errors of {chosen} on the hidden cells, by how many views the sample was "
            "left with. Completed rows of samples with as many views can be expected to be as far off, "
            "if views are not absent for a reason of their own."
        )
        columns = ["Completed from", *_make_quantile_columns("Relative error"), "mean fill, median"]
        blocks += [note(words), make_table("Errors by views left", columns, measured, "sureness")]
    return [heading("Uncertainty of completed rows"), *blocks] if blocks else []


def _make_quantile_columns(what: str) -> list[str | Column]:
    return ["Rows", f"{what}, median", Column("middle 80%", full=f"{what}, middle 80%")]


def _summarise_errors(quality: Quality, chosen: str) -> Iterator[Row]:
    if chosen not in quality.row_errors:
        return
    errors = quality.row_errors[chosen]
    mean = None if chosen == _MEAN else quality.row_errors.get(_MEAN)
    for n_left in sorted(set(quality.n_views_left.tolist()), reverse=True):
        here = (quality.n_views_left == n_left) & ~np.isnan(errors)
        if here.any():
            beside = DASH if mean is None else format_number(float(np.median(mean[here])))
            yield _summarise_values(format_count(n_left, "other view"), errors[here], beside)


def _summarise_values(name: str, values: Array, *more: str) -> Row:
    """Median, and the range of the middle 80 %."""
    low, median, high = (format_number(x) for x in np.quantile(values, [0.1, 0.5, 0.9]).tolist())
    cells = [format_number(len(values)), median, f"{low} to {high}", *more]
    return few_row(name_cell(name), cells, len(values) < _FEW)


# ----------------------------------------------------------------------------------------------- objective


def _make_objective_section(story: CompletionStory) -> Section | None:
    """How many iterations were made and what they achieved; None if nothing iterates."""
    traces = {name: np.ravel(trace) for name, trace in story.traces.items() if np.size(trace)}
    if not traces:
        return None
    rows = []
    for name, trace in traces.items():
        # objectives differ late in their digits: six of them
        ends = [f"{x:.6g}".replace("-", "−") if math.isfinite(x) else DASH for x in (trace[0], trace[-1])]
        rows.append(Row([name_cell(name), format_number(len(trace)), *ends]))
    columns = ["Method", "Iterations", "Objective after the first", "after the last"]
    lead = "A method improves its objective a little with every iteration, until little is left to improve."
    return Section(
        "objective", "Convergence", "Convergence", lead, [make_table("Iterations", columns, rows, "traces")]
    )
