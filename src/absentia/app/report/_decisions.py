"""What decisions rest on: contributions of views and features, weights, mistakes, what to measure next."""

import base64
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.app.report._blocks import (
    BAR,
    Block,
    Cell,
    Column,
    Row,
    Table,
    bar_cell,
    heading,
    name_cell,
    note,
    pattern_cell,
    text_columns,
)
from absentia.app.report._format import csv_name, format_decimal, format_number, format_percent, shorten
from absentia.app.report._page import Section
from absentia.core import Array
from absentia.core.svg import fill
from absentia.experiment import Gain
from absentia.files import csv_rows

if TYPE_CHECKING:
    from absentia.app.report._classification import ClassificationStory

MAX_CLASSES = 12
_MAX_FEATURES = 10
_MAX_CANDIDATES = 10
_MAX_MISTAKES = 50
MAX_LINK_BYTES = 1_400_000  # browsers refuse links of more than 2 MiB, and base64 adds a third


# -------------------------------------------------------------------------------------------- contributions


def make_decisions_section(story: "ClassificationStory") -> Section | None:
    """How much views add to decisions, and which features count most; None where nothing is known."""
    if story.parts is None and not story.importance:
        return None
    lead, blocks = "", list[Block]()
    if story.parts is not None:
        sizes = average_parts(story.parts, story.observed)
        blocks = _make_part_tables(story, sizes)
        lead = (
            "How much each view adds to the decision about a sample that has it, on average over samples "
            f"and classes and without its sign: exact parts of what {story.method} sums up. Out of fold."
            if story.exact
            else "How much the probabilities of a sample that has a view change when it is hidden, on "
            "average over samples and classes and without its sign. Out of fold."
        )
    if story.importance:
        blocks += _make_feature_table(story)
    return Section("decisions", "Decisions", "What decisions rest on", lead, blocks)


def average_parts(parts: Array, observed: Array) -> Array:
    """Mean absolute contributions, classes x views, over the samples that have the view."""
    total = np.abs(parts * observed[:, :, None]).sum(axis=0)
    return np.asarray((total / np.maximum(observed.sum(axis=0), 1)[:, None]).T)


def _make_part_tables(story: "ClassificationStory", sizes: Array) -> list[Block]:
    mean = sizes.mean(axis=0)
    largest = float(mean.max()) or 1.0
    rows = [
        Row([name_cell(name), format_number(int(has.sum())), f"{size:.3f}", bar_cell(100 * size / largest)])
        for name, size, has in zip(story.names, mean.tolist(), story.observed.T, strict=True)
        if has.any()
    ]
    columns: list[str | Column] = ["View", "Samples with it", "Mean contribution", BAR]
    blocks: list[Block] = [Table("Contributions of views", columns, rows, "patterns decisions")]
    if len(sizes) > 2:  # of two classes, one is the other's mirror
        blocks += make_class_table(sizes, story, "For or against the class", "Contributions by class")
    return blocks


def make_class_table(values: Array, story: "ClassificationStory", head: str, label: str) -> list[Block]:
    """Values of classes x views as shades; of many classes the most frequent ones."""
    counts = np.bincount(story.truth, minlength=len(story.classes))
    shown = np.sort(np.argsort(-counts, kind="stable")[:MAX_CLASSES])
    largest = float(values.max()) or 1.0
    rows = [
        Row(
            [
                shorten(story.classes[c], 28),
                *(
                    Cell(f"{w:.2f}" if w > 0 else "0", style=f"--share:{70 * w / largest:.1f}%")
                    for w in values[c].tolist()
                ),
            ]
        )
        for c in shown
    ]
    names = [
        Column(fill("<span>{}</span>", shorten(name, 22)), full=name, title=name) for name in story.names
    ]
    css = "shaded upright" if len(names) > 8 else "shaded"
    blocks: list[Block] = [Table(label, [Column(head, numeric=False), *names], rows, css)]
    if len(shown) < len(story.classes):
        blocks.append(note(f"The {len(shown)} most frequent of {len(story.classes)} classes."))
    return blocks


def _make_feature_table(story: "ClassificationStory") -> list[Block]:
    top = sorted(story.importance, key=lambda item: -item[2])[:_MAX_FEATURES]
    largest = max(value for *_, value in top) or 1.0
    rows = [
        Row(
            [
                name_cell(feature),
                name_cell(view, 28),
                f"{value / largest:.2f}",
                bar_cell(round(100 * value / largest, 1)),
            ]
        )
        for view, feature, value in top
    ]
    columns: list[str | Column] = ["Feature", *text_columns("View"), "Importance", BAR]
    of_parts = f"; {story.importance_of}" if story.importance_of else ""
    words = (
        f"{len(top)} of {len(story.importance)} features of the model in the file, the largest set to "
        f"1{of_parts}. Features that go together share importance: one that is not here may be as "
        "informative."
    )
    label = "Features that count most"
    return [heading(label, "features"), Table(label, columns, rows, "patterns features"), note(words)]


def make_weights_section(story: "ClassificationStory") -> Section | None:
    """The weights of the views' kernels; None where the method has none."""
    weights = story.weights
    if weights is None:
        return None
    mean = weights.mean(axis=0)
    largest = float(mean.max()) or 1.0
    rows = [
        Row(
            [
                name_cell(name),
                f"{weight:.3f}",
                format_percent(int(has.sum()), story.n_samples),
                bar_cell(100 * weight / largest),
            ]
        )
        for name, weight, has in zip(story.names, mean.tolist(), story.observed.T, strict=True)
    ]
    columns: list[str | Column] = ["View", "Weight", "Samples with it", BAR]
    lead, blocks = "The weight of every view's kernel in the sum that classifies.", list[Block]()
    if len(weights) > 1:
        lead = "Each class has a machine of its own, with its own weights; the bars show their mean."
        blocks = [heading("Class by class"), *make_class_table(weights, story, "Class", "Weights by class")]
    table = Table("Weights", columns, rows, "patterns weights")
    lead += " A weight of zero means the view is not read."
    return Section("weights", "Weights", "Which views count", lead, [table, *blocks])


# ------------------------------------------------------------------------------------------------- mistakes


def make_mistakes_section(story: "ClassificationStory") -> Section:
    """The samples that were classified wrongly: the surest ones on the page, all of them in a download."""
    predicted = story.predictions[story.method]
    wrong, scores, measure = _order_mistakes(story)
    if not len(wrong):
        lead = "None: every sample was classified rightly out of fold."
        return Section("mistakes", "Mistakes", "Mistakes", lead)
    rows = [
        Row(
            [
                name_cell(_get_id(story, i), 40),
                name_cell(story.classes[story.truth[i]], 32),
                name_cell(story.classes[predicted[i]], 32),
                *(
                    f"{100 * x:.0f}%" if measure == "probability" else format_number(float(x))
                    for x in _get_scores(scores, i, predicted[i], story.truth[i])
                ),
                pattern_cell(story.observed[i].tolist()),
            ]
        )
        for i in wrong[:_MAX_MISTAKES].tolist()
    ]
    measured = [f"{measure.capitalize()} of predicted", "of true"] if measure else []
    columns: list[str | Column] = [
        "Sample",
        *text_columns("Truth", "Predicted"),
        *measured,
        *text_columns("Views present"),
    ]
    lead = f"{format_number(len(wrong))} of {story.n_samples} samples were classified wrongly out of fold."
    if measure:
        lead += " The surest mistakes come first: if labels are wrong, these are the ones to look at."
    table = Table("Table of mistakes", columns, rows, "mistakes", file=None)
    link = _make_mistakes_link(story, wrong, scores, measure)
    return Section(
        "mistakes", "Mistakes", "Mistakes", lead, [table, *link, _describe_mistakes(story, wrong)]
    )


def _order_mistakes(story: "ClassificationStory") -> tuple[Array, Array | None, str]:
    """Positions of mistakes, the surest first, and what says so: probabilities, scores, or nothing."""
    scores, measure = story.probabilities, "probability"
    if scores is None:
        scores, measure = story.scores, "score"
    predicted = story.predictions[story.method]
    wrong = np.flatnonzero(predicted != story.truth)
    if scores is None:
        return wrong, None, ""
    lead = scores[wrong, predicted[wrong]]
    if measure == "score":  # scores say something only beside one another
        lead = lead - scores[wrong, story.truth[wrong]]
    return wrong[np.argsort(-lead, kind="stable")], scores, measure


def _get_scores(scores: Array | None, i: int, *classes: int) -> list[float]:
    return [] if scores is None else [float(scores[i, c]) for c in classes]


def _get_id(story: "ClassificationStory", i: int) -> str:
    return str(i if story.ids is None else story.ids[i])


def _describe_mistakes(story: "ClassificationStory", wrong: Array) -> Block:
    words = []
    if len(wrong) > _MAX_MISTAKES:
        words.append(f"Here are {_MAX_MISTAKES} of them.")
    predicted, proba = story.predictions[story.method][wrong], story.probabilities
    if proba is not None and (proba[wrong].argmax(axis=1) != predicted).any():
        rule = story.rule or (
            "with the highest score, to which the probabilities, calibrated class by class, may give "
            "less than to another"
        )
        words.append(f"What is predicted is the class {rule}.")
    return note(" ".join([*words, "Dots stand for the views, in the order of the strips below."]))


def _make_mistakes_link(
    story: "ClassificationStory", wrong: Array, scores: Array | None, measure: str
) -> list[Block]:
    """All mistakes as a table in a link, surest first, or as many as a link may hold."""
    lines, size = [], 0
    for line in csv_rows(_list_mistakes(story, wrong, scores, measure)):
        size += len(line)
        if size > MAX_LINK_BYTES:
            break
        lines.append(line)
    address = "data:text/csv;charset=utf-8;base64," + base64.b64encode(b"".join(lines)).decode()
    n_written = len(lines) - 1  # the head is no mistake
    which = "all" if n_written == len(wrong) else "the first"
    words = f"Download {which} {n_written} mistakes as CSV"
    template = '<p class="download"><a download="{}" href="{}">{}</a></p>'
    return [fill(template, csv_name("mistakes", story.title), address, words)]


def _list_mistakes(
    story: "ClassificationStory", wrong: Array, scores: Array | None, measure: str
) -> Iterator[list[Any]]:
    measured = [f"{measure} of predicted", f"{measure} of true"] if measure else []
    yield ["id", "true", "predicted", *measured, *(f"view={name}" for name in story.names)]
    for i in wrong.tolist():
        truth, predicted = int(story.truth[i]), int(story.predictions[story.method][i])
        values = [f"{x:.6g}" for x in _get_scores(scores, i, predicted, truth)]
        has = [int(x) for x in story.observed[i]]
        yield [_get_id(story, i), story.classes[truth], story.classes[predicted], *values, *has]


# --------------------------------------------------------------------------------------------- measure next


def make_next_section(story: "ClassificationStory") -> Section | None:
    """How much surer the model would be of samples with one more view; None if that was not asked."""
    n_lacking = int((~story.observed.all(axis=1)).sum())
    if not n_lacking or (story.gains is None and not story.why_no_gains):
        return None
    names = ("next", "Measure next", "What to measure next")
    if not story.gains:
        why = story.why_no_gains or "no sample that lacks a view could be lent one"
        return Section(*names, f"Not computed: {why}.")
    n_tried = len({gain.sample for gain in story.gains})
    tried = f"the {format_number(n_tried)} least certain of {n_lacking} samples"
    if n_tried == n_lacking:
        tried = f"all {format_number(n_tried)} samples"
    lead = (
        "How much surer the model would be of a sample with one more view. Similar samples that have the "
        "view lent their values; the gain is the expected drop of the entropy of the sample's "
        f"probabilities, in bits (one bit: from even odds of two classes to certainty). Tried on {tried} "
        "that lack a view, out of fold."
    )
    words = (
        "Surer is not always right: gains are what the model expects of itself. A gain below zero means "
        "that the view would raise doubts."
    )
    blocks = [_make_gain_table(story, story.gains), *_make_candidates(story, story.gains), note(words)]
    return Section(*names, lead, blocks)


def _make_gain_table(story: "ClassificationStory", gains: Sequence[Gain]) -> Table:
    """Mean gain of each absent view, the largest first."""
    means = []
    for v, name in enumerate(story.names):
        of_view = [(gain.gain, gain.changes) for gain in gains if gain.view == v]
        if of_view:
            means.append((name, len(of_view), *np.mean(of_view, axis=0).tolist()))
    means.sort(key=lambda row: -row[2])
    largest = max(means[0][2], 1e-300)
    rows = [
        Row(
            [
                name_cell(name),
                format_number(count),
                _format_bits(gain),
                f"{100 * changes:.0f}%",
                bar_cell(round(float(np.clip(100 * gain / largest, 0, 100)), 1)),
            ]
        )
        for name, count, gain, changes in means
    ]
    numeric = ["Samples tried", "Mean gain, bits", "Class would change"]
    return Table("Gain by absent view", ["Absent view", *numeric, BAR], rows, "patterns gains")


def _make_candidates(story: "ClassificationStory", gains: Sequence[Gain]) -> list[Block]:
    """The samples that would gain most."""
    best = sorted(gains, key=lambda gain: (-gain.gain, gain.sample, gain.view))[:_MAX_CANDIDATES]
    rows = [
        Row(
            [
                name_cell(_get_id(story, gain.sample), 40),
                name_cell(story.names[gain.view], 32),
                name_cell(story.classes[story.predictions[story.method][gain.sample]], 32),
                *(_format_bits(bits) for bits in (gain.entropy, gain.expected, gain.gain)),
                f"{100 * gain.changes:.0f}%",
            ]
        )
        for gain in best
        if gain.gain > 0
    ]
    if not rows:
        return []
    numeric = ["Entropy now", "expected", "Gain", "Class would change"]
    columns: list[str | Column] = ["Sample", *text_columns("Measure", "Predicted now"), *numeric]
    label = "Samples that would gain most"
    return [heading(label), Table(label, columns, rows, "mistakes candidates")]


def _format_bits(value: float) -> str:
    text = format_decimal(value, 2)
    return text.removeprefix("−") if float(text.replace("−", "")) == 0 else text
