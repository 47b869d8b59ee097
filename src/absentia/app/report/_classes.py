"""Class by class: confusion matrix, recall and precision, ROC curves, calibration, and mistakes."""

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, roc_auc_score, roc_curve

from absentia.app.report._data import ClassificationStory
from absentia.app.report._format import DASH, format_number, format_percent, shorten, wilson_interval
from absentia.app.report._page import (
    BAR,
    N_COLOURS,
    Cell,
    Column,
    Columns,
    Row,
    Section,
    bar_cell,
    draw_swatch,
    few_row,
    heading,
    make_table,
    name_cell,
    note,
    pattern_cell,
)
from absentia.app.report._sections import FEW_SAMPLES
from absentia.core import Array
from absentia.core.svg import Frame, Markup, dot, element, fill
from absentia.files import csv_rows

_MAX_CLASSES = 60  # beyond, the confusion matrix shows the most frequent ones
_NAME, _HEAD = 40, 18  # characters of a class's name in rows and above columns
_ROOMY = 12  # classes up to which shares stand in the cells too
_UPRIGHT = 70  # characters of all heads above which these stand upright
_N_BINS = 10
_MAX_MISTAKES = 50  # in the table; all are in the download
_MAX_LINK_BYTES = 1_400_000  # browsers refuse links of more than 2 MiB, and base64 adds a third
_SHARES = {share: f"{100 * share:.0f}%" for share in (0, 0.25, 0.5, 0.75, 1)}


def make_classes_section(story: ClassificationStory) -> Section:
    """Recall, precision and AUC of each class, the confusion matrix and ROC curves."""
    scores = story.scores if story.probabilities is None else story.probabilities
    areas = _compute_areas(story.truth, scores, len(story.classes))
    words = "Bars: recall, with its interval."
    if np.bincount(story.truth, minlength=len(story.classes)).min() < FEW_SAMPLES:
        words += f" Rows marked few have fewer than {FEW_SAMPLES} samples."
    counts = confusion_matrix(story.truth, story.predicted, labels=range(len(story.classes)))
    blocks = [
        _make_class_table(story, areas),
        note(words),
        heading("Confusion matrix", "confusion"),
        note(f"Rows are the truth, columns what was predicted. {describe_confusion(counts)}"),
        make_confusion_table(counts, story.classes),
    ]
    if scores is not None and any(area is not None for area in areas):
        blocks += _draw_roc(story, scores, areas)
    lead = (
        f"Out of fold, by {story.method}. Recall is the share of a class that was found; precision is "
        "the share right among those predicted to be of the class."
    )
    return Section("classes", "By class", "Results by class", lead, blocks)


# --------------------------------------------------------------------------------------- confusion matrix


def make_confusion_table(
    counts: Array, classes: Sequence[str], max_classes: int = _MAX_CLASSES, method: str = ""
) -> Markup:
    """Counts (true classes in rows, predicted ones in columns) and shares of rows.

    Of many classes the most frequent are shown. Shading grows with the root of the share, so that single
    mistakes show.
    """
    sizes = counts.sum(axis=1)
    shown = np.sort(np.argsort(-sizes, kind="stable")[: min(max_classes, _MAX_CLASSES)]).tolist()
    roomy = len(shown) <= _ROOMY

    def make_cell(i: int, j: int) -> Cell:
        count, n = int(counts[i, j]), int(sizes[i])
        if not count:
            return Cell("0", css="right none" if i == j else "none")
        words = "found" if i == j else f"taken for {shorten(classes[j], _NAME)}"
        title = f"{format_number(count)} of {format_number(n)} {shorten(classes[i], _NAME)} {words}"
        small = format_percent(count, n) if roomy else ""
        style = f"--share:{60 * (count / n) ** 0.5:.1f}%"
        return Cell(
            format_number(count), small=small, title=title, css="right" if i == j else "", style=style
        )

    heads = [shorten(classes[c], _HEAD) for c in shown]
    columns: list[str | Column] = ["Truth", "Samples"]
    columns += [
        Column(fill("<span>{}</span>", head), full=classes[c], title=classes[c])
        for head, c in zip(heads, shown, strict=True)
    ]
    rows = [
        Row([name_cell(classes[i], 20), format_number(int(sizes[i])), *(make_cell(i, j) for j in shown)])
        for i in shown
    ]
    upright = " upright" if len(shown) > 2 * _ROOMY or sum(map(len, heads)) > _UPRIGHT else ""
    label = f"Confusion matrix of {method}" if method else "Confusion matrix"
    return make_table(label, columns, rows, f"confusion{upright}{'' if roomy else ' dense'}", fixed=True)


def describe_confusion(counts: Array, max_classes: int = _MAX_CLASSES) -> str:
    """What figures and shades of a confusion matrix are, and which classes it shows."""
    n_classes, n_shown = len(counts), min(len(counts), max_classes, _MAX_CLASSES)
    shading = "Small figures are shares of the row; shading" if n_shown <= _ROOMY else "Shading"
    shown = f" The {n_shown} most frequent of {n_classes} classes." if n_shown < n_classes else ""
    return f"{shading} grows with the share of the row.{shown}"


# ------------------------------------------------------------------------------------- recall and precision


def _make_class_table(story: ClassificationStory, areas: Sequence[float | None]) -> Markup:
    """Recall and precision with 95 % intervals, and areas under ROC curves where there are any."""
    has_areas = any(area is not None for area in areas)
    rows = []
    for c, name in enumerate(story.classes):
        members, chosen = story.truth == c, story.predicted == c
        n, n_predicted, hits = (int(x.sum()) for x in (members, chosen, members & chosen))
        low, high = wilson_interval(hits, n) if n else (0.0, 0.0)
        area = [DASH if areas[c] is None else f"{areas[c]:.3f}"] if has_areas else []
        bar = bar_cell(100 * hits / max(n, 1), (100 * low, 100 * high))
        shares = [*_format_share(hits, n), *_format_share(hits, n_predicted)]
        cells: list[str | Cell] = [format_number(n), *shares, *area, bar]
        rows.append(few_row(name_cell(name), cells, n < FEW_SAMPLES))
    columns: list[str | Column] = [
        "Class",
        "Samples",
        "Recall",
        Column("95% interval", full="Recall, 95% interval"),
        "Precision",
        Column("95% interval", full="Precision, 95% interval"),
        *(["AUC"] if has_areas else []),
        BAR,
    ]
    return make_table(
        "Recall and precision by class", columns, rows, "patterns classes", file="recall by class"
    )


def _format_share(hits: int, n: int) -> tuple[str, str]:
    """A share and its interval, or dashes where there is nothing to share."""
    if not n:
        return DASH, DASH
    low, high = wilson_interval(hits, n)
    return f"{100 * hits / n:.1f}%", f"{100 * low:.0f} to {100 * high:.0f}%"


# ----------------------------------------------------------------------------------------------- ROC curves


def _compute_areas(truth: Array, scores: Array | None, n_classes: int) -> list[float | None]:
    """The area under each class's curve; None where there is no score, or not both kinds of samples."""
    if scores is None:
        return [None] * n_classes
    has_both = [0 < int((truth == c).sum()) < len(truth) for c in range(n_classes)]
    return [
        float(roc_auc_score(truth == c, scores[:, c])) if has_both[c] else None for c in range(n_classes)
    ]


def _draw_roc(story: ClassificationStory, scores: Array, areas: Sequence[float | None]) -> list[Markup]:
    """Curves of all classes, of two the second's; of many those that are hardest to tell from the rest."""
    known = [(area, c) for c, area in enumerate(areas) if area is not None]
    two = len(areas) == 2
    drawn = known[-1:] if two else sorted(known)[:N_COLOURS]
    frame = _make_square()
    lines, keys = [], []
    for k, (area, c) in enumerate(drawn):
        name = shorten(story.classes[c], _NAME)
        false, true, _ = roc_curve(story.truth == c, scores[:, c])
        path = element("path", d=frame.path(zip(false.tolist(), true.tolist(), strict=True)))
        title = element("title", f"{name}: AUC {area:.3f}")
        lines.append(element("g", path, title, class_=f"line c{k}"))
        keys.append(fill("<li>{}<span>{}</span> <b>{}</b></li>", draw_swatch(f"c{k}"), name, f"{area:.3f}"))
    axes = frame.axes(_SHARES, _SHARES, "false positive rate", "true positive rate (recall)", 12)
    chart = frame.draw(axes, frame.diagonal(), *lines, label="ROC curves", class_="chart square")
    words = "The share found of one class against that of the other taken for it, as the threshold moves."
    if not two:
        words = (
            "One class against the rest: how many of it are found, against how many of the others are "
            "taken for it, as the threshold moves. The mean area under the curves (AUC) of all classes "
            f"is {np.mean([area for area, _ in known]):.3f}."
        )
    given = "scores" if story.probabilities is None else "probabilities"
    words += f" 1 is perfect, 0.5 is chance. The {given} are those given out of fold, all folds together."
    if not two and len(drawn) < len(known):
        words += (
            f" Drawn are the {len(drawn)} classes that are hardest to tell from the rest; the table "
            "above has the areas of all."
        )
    charted = fill('<div class="charted">{}<ul class="key-list">{}</ul></div>', chart, keys)
    return [heading("ROC curves", "roc"), note(words), charted]


def _make_square() -> Frame:
    """The frame of a chart of shares against shares."""
    return Frame.make((368, 360), (0.0, 1.0), (0.0, 1.0), (52.0, 20.0, 12.0, 46.0))


# ---------------------------------------------------------------------------------------------- calibration


def make_calibration_section(story: ClassificationStory) -> Section | None:
    """Samples in ten groups by the probability they were given, and how many of each came true."""
    proba, truth, classes = story.probabilities, story.truth, story.classes
    if proba is None:
        return None
    if len(classes) == 2:
        given, came = proba[:, 1], truth == 1
        what = f"probability of {shorten(classes[1], 28)}"
        described, y_title = f"the {what}", "share that were"
    else:
        given, came = proba.max(axis=1), proba.argmax(axis=1) == truth
        what, y_title = "probability of the class", "share that were right"
        described = "the probability of each sample's most probable class"
    bins = np.minimum((given * _N_BINS).astype(int), _N_BINS - 1)
    groups = [
        (int((bins == b).sum()), given[bins == b].mean(), came[bins == b].mean()) for b in np.unique(bins)
    ]
    error = sum(n * abs(mean - share) for n, mean, share in groups) / len(truth)
    frame = _make_square()
    path = element("path", d=frame.path((mean, share) for _, mean, share in groups))
    line = element("g", path, *(_draw_bin(frame, *group) for group in groups), class_="line c0")
    axes = frame.axes(_SHARES, _SHARES, what, y_title, 12)
    label = "Calibration: given probability against what came true"
    chart = frame.draw(axes, frame.diagonal(), line, label=label, class_="chart square")
    words = "Lines through the dots are 95% intervals."
    if any(n < FEW_SAMPLES for n, _, _ in groups):
        words += f" Hollow dots are groups of fewer than {FEW_SAMPLES} samples."
    words += " A sample without a usable view gets the frequencies of the classes."
    lead = (
        f"Samples in groups by {described}, out of fold, against how many of a group came true. On the "
        "dashed line a probability means what it says; below it, probabilities are too high, above it "
        f"too low. On average it is off by {100 * error:.1f} points (the expected calibration error)."
    )
    return Section("calibration", "Calibration", "Calibration", lead, [chart, note(words)])


def _draw_bin(frame: Frame, n: int, mean: float, share: float) -> Markup:
    low, high = wilson_interval(round(share * n), n)
    title = f"{format_number(n)} samples given {100 * mean:.0f}% on average: {100 * share:.0f}% came true"
    interval = (frame.y(low), frame.y(high))
    return dot(frame.x(mean), frame.y(share), title, 4, interval=interval, hollow=n < FEW_SAMPLES)


# ------------------------------------------------------------------------------------------------- mistakes


def make_mistakes_section(story: ClassificationStory) -> Section:
    """The samples that were classified wrongly: the surest ones on the page, all of them in a download."""
    wrong, scores, measure = _order_mistakes(story)
    if not len(wrong):
        lead = "None: every sample was classified rightly out of fold."
        return Section("mistakes", "Mistakes", "Mistakes", lead)
    rows = []
    for i, values in zip(wrong[:_MAX_MISTAKES].tolist(), scores.tolist(), strict=False):
        labels = (story.classes[story.truth[i]], story.classes[story.predicted[i]])
        numbers = [f"{100 * x:.0f}%" if measure == "probability" else format_number(x) for x in values]
        dots = pattern_cell(story.observed[i].tolist())
        names = [name_cell(story.get_id(i), 40), *(name_cell(label, 32) for label in labels)]
        rows.append(Row([*names, *numbers, dots]))
    columns: Columns = [
        "Sample",
        Column("Truth", numeric=False),
        Column("Predicted", numeric=False),
        *([f"{measure.capitalize()} of predicted", "of true"] if measure else []),
        Column("Views present", numeric=False),
    ]
    lead = f"{format_number(len(wrong))} of {story.n_samples} samples were classified wrongly out of fold."
    if measure:
        lead += " The surest mistakes come first: if labels are wrong, these are the ones to look at."
    table = make_table("Table of mistakes", columns, rows, "mistakes", file=None)
    link = _link_mistakes(story, wrong, scores, measure)
    words = _explain_mistakes(story, wrong)
    return Section("mistakes", "Mistakes", "Mistakes", lead, [table, link, words])


def _order_mistakes(story: ClassificationStory) -> tuple[Array, Array, str]:
    """Positions of mistakes, the surest first, and what says so, a probability or a score.

    The array (mistakes, 2) has that of the predicted and of the true class; without either there are
    no columns.
    """
    wrong = np.flatnonzero(story.predicted != story.truth)
    values, measure = story.probabilities, "probability"
    if values is None:
        values, measure = story.scores, "score"
    if values is None:
        return wrong, np.empty((len(wrong), 0)), ""
    scores = values[wrong[:, None], np.column_stack([story.predicted, story.truth])[wrong]]
    sureness = scores[:, 0]
    if measure == "score":  # scores say something only beside one another
        sureness = scores[:, 0] - scores[:, 1]
    order = np.argsort(-sureness, kind="stable")
    return wrong[order], scores[order], measure


def _explain_mistakes(story: ClassificationStory, wrong: Array) -> Markup:
    words = []
    if len(wrong) > _MAX_MISTAKES:
        words.append(f"Here are {_MAX_MISTAKES} of them.")
    proba = story.probabilities
    if proba is not None and (proba[wrong].argmax(axis=1) != story.predicted[wrong]).any():
        rule = story.rule or (
            "with the highest score, to which the probabilities, calibrated class by class, may give "
            "less than to another"
        )
        words.append(f"What is predicted is the class {rule}.")
    return note(" ".join([*words, "Dots stand for the views, in the order of the strips below."]))


def _link_mistakes(story: ClassificationStory, wrong: Array, scores: Array, measure: str) -> Markup:
    """All mistakes as a table in a link, surest first, or as many as a link may hold."""

    def list_rows() -> Iterator[list[Any]]:
        measured = [f"{measure} of predicted", f"{measure} of true"] if measure else []
        yield ["id", "true", "predicted", *measured, *(f"view={name}" for name in story.names)]
        for i, values in zip(wrong.tolist(), scores.tolist(), strict=True):
            labels = (story.classes[story.truth[i]], story.classes[story.predicted[i]])
            present = [int(x) for x in story.observed[i]]
            yield [story.get_id(i), *labels, *(f"{x:.6g}" for x in values), *present]

    lines, size = [], 0
    for line in csv_rows(list_rows()):
        size += len(line)
        if size > _MAX_LINK_BYTES:
            break
        lines.append(line)
    address = "data:text/csv;charset=utf-8;base64," + base64.b64encode(b"".join(lines)).decode()
    n_written = len(lines) - 1  # the head is no mistake
    which = "all" if n_written == len(wrong) else "the first"
    words = f"Download {which} {n_written} mistakes as CSV"
    return fill('<p class="download"><a download="mistakes.csv" href="{}">{}</a></p>', address, words)
