"""The page about a classification: how often it is right, for whom, which views count, what to measure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import confusion_matrix, roc_auc_score

from absentia.app.report._page import (
    BAR,
    DASH,
    Cell,
    Column,
    Columns,
    Row,
    Section,
    bar_cell,
    few_row,
    format_count,
    format_number,
    format_p,
    format_percent,
    format_points,
    get_paragraphs,
    get_words,
    heading,
    interval_column,
    make_bar_table,
    make_method_table,
    make_section,
    make_table,
    name_cell,
    note,
    pattern_cell,
    render_page,
    sentences,
    share_interval,
    shorten,
)
from absentia.app.report._sections import (
    FEW_NOTE,
    FEW_SAMPLES,
    PredictionReport,
    describe_confusion,
    make_absence_section,
    make_confusion_table,
    make_contribution_section,
    make_coverage_section,
    make_patterns_section,
    make_presence_section,
    make_reading_section,
)
from absentia.core import Array
from absentia.core.svg import Frame, Markup, dot, element
from absentia.data.statistics import mcnemar
from absentia.experiment import Gain
from absentia.tasks import balanced_accuracy

_N_BINS = 10
_MAX_MISTAKES = 200
_MAX_FEATURES = 10
_MAX_CANDIDATES = 10
_SHARES = {share: f"{100 * share:.0f}%" for share in (0, 0.25, 0.5, 0.75, 1)}


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassificationReport(PredictionReport):
    """What the page about classes tells, beside what all predictions do.

    Parameters
    ----------
    classes : sequence of str
    truth : (n,) int
        Positions in `classes`.
    predictions : mapping of str to (n,) int
        Positions in `classes` too.
    weights : (machines, V), optional
        Of the views, where the method weighs them: one row for two classes, else one per class.
    probabilities : (n, classes), optional
        Out-of-fold probabilities of the method.
    n_learned : int
        Samples that the model was learned from, if it was judged on some of them only.
    ids : (n,), optional
        Of the samples; their positions by default.
    without : (n, V) int, optional
        What the method says out of fold, as positions in `classes`, if a view is hidden from a sample.
    used : str
        Which members an average has, and their weights.
    figures : sequence of pairs of texts
        A number and what it is, first on the page: the score that counts, if it is no accuracy.
    rule : str
        Which class is predicted, after "What is predicted is the class"; empty: that of the highest score.
    importance : sequence of (view, feature, number)
        How much features count, where the model says so.
    importance_of : str
        Which parts of the model these are of, in words; empty: all of it.
    gains : sequence of Gain, optional
        What samples would gain from views that they lack.
    why_no_gains : str
        Said in their place.
    """

    classes: Sequence[str]
    truth: Array
    weights: Array | None = None
    probabilities: Array | None = None
    n_learned: int = 0
    ids: Sequence[object] | Array | None = None
    without: Array | None = None
    used: str = ""
    rule: str = ""
    figures: Sequence[tuple[str, str]] = ()
    importance: Sequence[tuple[str, str, float]] = ()
    importance_of: str = ""
    gains: Sequence[Gain] | None = None
    why_no_gains: str = ""

    def get_id(self, i: int) -> str:
        return str(i if self.ids is None else self.ids[i])

    def right(self, name: str) -> Array:
        """Which samples a method got right."""
        return np.asarray(self.predictions[name] == self.truth)


def render_classification(data: ClassificationReport) -> str:
    """The page as HTML."""
    sections = [
        _make_accuracy_section(data),
        _make_groups_section(data),
        _make_classes_section(data),
        _make_mistakes_section(data),
        _make_views_section(data),
        _make_features_section(data),
        _make_weights_section(data),
        _make_next_section(data),
        _make_calibration_section(data),
        make_coverage_section(data, "Sets of classes", "Mean classes"),
        make_presence_section(data),
        make_absence_section(data),
        _make_reading(data),
    ]
    return render_page("classification", data, _list_figures(data), sections)


def _list_figures(data: ClassificationReport) -> list[tuple[str, str]]:
    n = data.n_samples
    scores = {name: balanced_accuracy(data.truth, data.right(name)).value for name in data.predictions}
    best = max((name for name in scores if name != data.method), key=scores.__getitem__, default=None)
    others = [(f"{100 * scores[best]:.1f}%", f"with the better baseline, {best}")] if best else []
    n_all = format_number(max(data.n_all, n))
    n_views = format_count(data.n_views, "view")
    return [
        *data.figures,
        (f"{100 * scores[data.method]:.1f}%", f"balanced accuracy, cross-validated, with {data.method}"),
        *others,
        (format_number(max(data.n_learned, n)), f"samples learned from, of {n_all}"),
        (format_number(len(data.classes)), f"classes, seen in {n_views}"),
    ]


# ------------------------------------------------------------------------------------------------ accuracy


def _make_accuracy_section(data: ClassificationReport) -> Section:
    """Balanced accuracy of each method, and the share of all samples that is right."""
    scores = {
        name: balanced_accuracy(data.truth, data.right(name), data.groups) for name in data.predictions
    }

    def describe(name: str) -> list[str | Cell]:
        value, low, high = (100 * number for number in scores[name])
        accuracy = format_percent(int(data.right(name).sum()), data.n_samples)
        return [f"{value:.1f}%", f"{low:.1f} to {high:.1f}%", accuracy, bar_cell(value)]

    columns = ["Balanced accuracy", "95% interval", "Accuracy"]
    values = {name: score.value for name, score in scores.items()}
    table = make_method_table("Balanced accuracy", columns, values, describe)
    blocks = [table, sentences(_compare_with_baselines(data))]
    if data.used:
        blocks.append(note(f"Used: {data.used}."))
    return make_section("classification.accuracy", blocks)


def _compare_with_baselines(data: ClassificationReport) -> Iterator[str]:
    """The method against each baseline, sample by sample."""
    test = "exact McNemar test" if data.groups is None else "McNemar's test by group"
    for name in list(data.predictions)[1:]:
        wins, losses, p = mcnemar(data.right(data.method), data.right(name), data.groups)
        if wins + losses == 0:
            yield f"{data.method} and the {name} were right on the same samples."
            continue
        end = f"{data.method if wins > losses else 'the ' + name} is better here"
        if p >= 0.05:
            end = "a difference that chance could make"
        yield (
            f"Only {data.method} was right on {format_count(wins, 'sample')}, only the {name} on "
            f"{format_number(losses)}: {end} ({format_p(p)}, {test})."
        )


# ------------------------------------------------------------------------------------------------ for whom


def _make_groups_section(data: ClassificationReport) -> Section:
    """Accuracy by missing pattern."""

    def describe(members: Array) -> tuple[list[str | Cell], bool]:
        shares = [100 * data.right(name)[members].mean() for name in data.predictions]
        return [*(f"{share:.0f}%" for share in shares), bar_cell(shares[0])], members.sum() < FEW_SAMPLES

    lead = f"Accuracy among samples that have the same views. Bars: {data.method}."
    return make_patterns_section(data, lead, [*data.predictions, BAR], describe, FEW_NOTE)


# ---------------------------------------------------------------------------------------- class by class


def _make_classes_section(data: ClassificationReport) -> Section:
    """Recall, precision and AUC of each class, and the confusion matrix."""
    words = "Bars: recall."
    if np.bincount(data.truth, minlength=len(data.classes)).min() < FEW_SAMPLES:
        words += f" Rows marked few have fewer than {FEW_SAMPLES} samples."
    counts = confusion_matrix(data.truth, data.predicted, labels=range(len(data.classes)))
    blocks = [
        _make_class_table(data),
        note(words),
        heading("Confusion matrix", "confusion"),
        note(f"Rows are the truth, columns what was predicted. {describe_confusion(counts)}"),
        make_confusion_table(counts, data.classes),
    ]
    return make_section("classification.classes", blocks, method=data.method)


def _make_class_table(data: ClassificationReport) -> Markup:
    """Recall and precision with 95 % intervals, and areas under ROC curves."""
    rows = []
    for c, name in enumerate(data.classes):
        members, chosen = data.truth == c, data.predicted == c
        n, hits = int(members.sum()), int((members & chosen).sum())
        right = data.right(data.method)
        shares = [cell for own in (members, chosen) for cell in _format_share(right, own, data.groups)]
        cells: list[str | Cell] = [
            format_number(n),
            *shares,
            _compute_area(data, c),
            bar_cell(100 * hits / max(n, 1)),
        ]
        rows.append(few_row(name_cell(name), cells, n < FEW_SAMPLES))
    columns: list[str | Column] = [
        "Class",
        "Samples",
        "Recall",
        interval_column("Recall"),
        "Precision",
        interval_column("Precision"),
        "AUC",
        BAR,
    ]
    return make_table(
        "Recall and precision by class", columns, rows, "patterns classes", file="recall by class"
    )


def _format_share(right: Array, members: Array, groups: Array | None) -> tuple[str, str]:
    """The share of members (a mask) that is right and its interval, or dashes if there are none."""
    if not members.any():
        return DASH, DASH
    low, high = share_interval(right[members], None if groups is None else groups[members])
    return f"{100 * right[members].mean():.1f}%", f"{100 * low:.0f} to {100 * high:.0f}%"


def _compute_area(data: ClassificationReport, c: int) -> str:
    """The area under the ROC curve of a class; a dash without probabilities, or both kinds of samples."""
    proba = data.probabilities
    if proba is None or not 0 < int((data.truth == c).sum()) < data.n_samples:
        return DASH
    return f"{roc_auc_score(data.truth == c, proba[:, c]):.3f}"


# ------------------------------------------------------------------------------------------------- mistakes


def _make_mistakes_section(data: ClassificationReport) -> Section:
    """The samples that were classified wrongly: the surest ones, where there are probabilities."""
    wrong = np.flatnonzero(data.predicted != data.truth)
    if not len(wrong):
        return make_section("classification.mistakes", lead=get_words("classification.mistakes.none"))
    proba = np.empty((len(wrong), 0))  # of the predicted and of the true class
    if data.probabilities is not None:
        pairs = np.column_stack([data.predicted, data.truth])[wrong]
        proba = data.probabilities[wrong[:, None], pairs]
        order = np.argsort(-proba[:, 0], kind="stable")
        wrong, proba = wrong[order], proba[order]
    rows = []
    for i, values in zip(wrong[:_MAX_MISTAKES].tolist(), proba.tolist(), strict=False):
        labels = (data.classes[data.truth[i]], data.classes[data.predicted[i]])
        dots = pattern_cell(data.observed[i].tolist())
        names = [name_cell(data.get_id(i), 40), *(name_cell(label, 32) for label in labels)]
        rows.append(Row([*names, *(f"{100 * x:.0f}%" for x in values), dots]))
    columns: Columns = [
        "Sample",
        Column("Truth", numeric=False),
        Column("Predicted", numeric=False),
        *(["Probability of predicted", "of true"] if proba.shape[1] else []),
        Column("Views present", numeric=False),
    ]
    blocks = [make_table("Mistakes", columns, rows, "mistakes"), _explain_mistakes(data, wrong)]
    surest = get_words("classification.mistakes.surest") if proba.shape[1] else ""
    n_wrong, n = format_number(len(wrong)), data.n_samples
    return make_section("classification.mistakes", blocks, wrong=n_wrong, n=n, surest=surest)


def _explain_mistakes(data: ClassificationReport, wrong: Array) -> Markup:
    words = []
    if len(wrong) > _MAX_MISTAKES:
        words.append(f"Here are {_MAX_MISTAKES} of them.")
    proba = data.probabilities
    if proba is not None and (proba[wrong].argmax(axis=1) != data.predicted[wrong]).any():
        rule = data.rule or get_words("classification.mistakes.rule")
        words.append(f"What is predicted is the class {rule}.")
    return note(" ".join([*words, "Dots stand for the views, in the order of the strips below."]))


def _make_views_section(data: ClassificationReport) -> Section | None:
    """How many samples are still right when a view is hidden from them; None if that was not tried."""
    without, right = data.without, data.right(data.method)
    if without is None:
        return None

    def compare(v: int, has: Array) -> tuple[list[str], float]:
        before, after = right[has], without[has, v] == data.truth[has]
        loss = float(before.mean() - after.mean())
        cells = [
            f"{100 * before.mean():.1f}%",
            f"{100 * after.mean():.1f}%",
            format_points(-100 * loss),
            format_number(int((before & ~after).sum())),
            format_number(int((~before & after).sum())),
        ]
        return cells, loss

    columns: Columns = [
        "Right with it",
        Column("without it", full="Right without it"),
        "Change, points",
        "Right only with it",
        Column("only without it", full="Right only without it"),
    ]
    return make_contribution_section(
        data,
        columns,
        compare,
        did="classified",
        effect="more samples become wrong",
        loss="loss",
        default="most frequent class",
    )


# --------------------------------------------------------------------------------- features and weights


def _make_features_section(data: ClassificationReport) -> Section | None:
    """The features that count most; None where the model does not say so."""
    if not data.importance:
        return None
    top = sorted(data.importance, key=lambda item: -item[2])[:_MAX_FEATURES]
    largest = max(value for *_, value in top) or 1.0
    rows = [
        (Row([name_cell(feature), name_cell(view, 28), f"{value / largest:.2f}"]), value)
        for view, feature, value in top
    ]
    of_parts = f"; {data.importance_of}" if data.importance_of else ""
    columns: Columns = ["Feature", Column("View", numeric=False), "Importance"]
    table = make_bar_table("Features that count most", columns, rows, "patterns features")
    n = len(data.importance)
    return make_section("classification.features", [table], n_top=len(top), n=n, of_parts=of_parts)


def _make_weights_section(data: ClassificationReport) -> Section | None:
    """The weights of the views' kernels; None where the method has none."""
    weights = data.weights
    if weights is None:
        return None
    rows = []
    for name, weight, has in zip(data.names, weights.mean(axis=0).tolist(), data.observed.T, strict=True):
        share = format_percent(int(has.sum()), data.n_samples)
        rows.append((Row([name_cell(name), f"{weight:.3f}", share]), weight))
    table = make_bar_table("Weights", ["View", "Weight", "Samples with it"], rows, "patterns weights")
    mean = ", mean of the classes, each of which has a machine of its own" if len(weights) > 1 else ""
    return make_section("classification.weights", [table], mean=mean)


# --------------------------------------------------------------------------------------------- measure next


def _make_next_section(data: ClassificationReport) -> Section | None:
    """How much more probable right classes would be with one more view; None if that was not asked."""
    n_lacking = int((~data.observed.all(axis=1)).sum())
    if not n_lacking or (data.gains is None and not data.why_no_gains):
        return None
    if not data.gains:
        why = data.why_no_gains or "no sample that lacks a view could be lent one"
        return Section("next", "Measure next", "What to measure next", f"Not computed: {why}.")
    n_tried = len({gain.sample for gain in data.gains})
    tried = f"the {format_number(n_tried)} least certain of {n_lacking} samples"
    if n_tried == n_lacking:
        tried = f"all {format_number(n_tried)} samples"
    blocks = [_make_gain_table(data, data.gains), *_make_sample_gains(data, data.gains)]
    return make_section("classification.next", blocks, tried=tried)


def _make_gain_table(data: ClassificationReport, gains: Sequence[Gain]) -> Markup:
    """Mean gain of each absent view, the largest first."""
    rows = []
    for v, name in enumerate(data.names):
        of_view = [(gain.gain, gain.changes) for gain in gains if gain.view == v]
        if of_view:
            gain, changes = np.mean(of_view, axis=0).tolist()
            cells = [
                format_number(len(of_view)),
                format_points(100 * gain).removeprefix("+"),
                f"{100 * changes:.0f}%",
            ]
            rows.append((Row([name_cell(name), *cells]), gain))
    rows.sort(key=lambda row: -row[1])
    columns = ["Absent view", "Samples tried", "Mean gain, points", "Class would change"]
    return make_bar_table("Gain by absent view", columns, rows, "patterns gains")


def _make_sample_gains(data: ClassificationReport, gains: Sequence[Gain]) -> list[Markup]:
    """The samples that would gain most."""
    best = sorted(gains, key=lambda gain: (-gain.gain, gain.sample, gain.view))[:_MAX_CANDIDATES]
    rows = []
    for gain in best:
        if gain.gain > 0:
            words = (data.names[gain.view], data.classes[data.predictions[data.method][gain.sample]])
            names = [name_cell(data.get_id(gain.sample), 40), *(name_cell(word, 32) for word in words)]
            values = [f"{100 * value:.0f}%" for value in (gain.now, gain.expected)]
            rows.append(
                Row(
                    [
                        *names,
                        *values,
                        format_points(100 * gain.gain).removeprefix("+"),
                        f"{100 * gain.changes:.0f}%",
                    ]
                )
            )
    if not rows:
        return []
    columns: Columns = [
        "Sample",
        *(Column(name, numeric=False) for name in ("Measure", "Predicted now")),
        *("Right now", "with it", "Gain, points", "Class would change"),
    ]
    label = "Samples that would gain most"
    return [heading(label), make_table(label, columns, rows, "mistakes candidates")]


# ---------------------------------------------------------------------------------------------- calibration


def _make_calibration_section(data: ClassificationReport) -> Section | None:
    """Samples in ten groups by the probability they were given, and how many of each came true."""
    proba, truth, classes = data.probabilities, data.truth, data.classes
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
    members = [bins == b for b in np.unique(bins)]
    dots = [(int(own.sum()), given[own].mean(), came[own].mean()) for own in members]
    groups = [None if data.groups is None else data.groups[own] for own in members]
    ends = [share_interval(came[own], of) for own, of in zip(members, groups, strict=True)]
    error = sum(n * abs(mean - share) for n, mean, share in dots) / len(truth)
    frame = Frame.make((368, 360), (0.0, 1.0), (0.0, 1.0), (52.0, 20.0, 12.0, 46.0))
    path = element("path", d=frame.path((mean, share) for _, mean, share in dots))
    drawn = [_draw_bin(frame, *one, interval) for one, interval in zip(dots, ends, strict=True)]
    line = element("g", path, *drawn, class_="line c0")
    axes = frame.axes(_SHARES, _SHARES, what, y_title, 12)
    label = "Calibration: given probability against what came true"
    chart = frame.draw(axes, frame.diagonal(), line, label=label, class_="chart square")
    words = "Lines through the dots are 95% intervals."
    if any(n < FEW_SAMPLES for n, _, _ in dots):
        words += f" Hollow dots are groups of fewer than {FEW_SAMPLES} samples."
    words += " A sample without a usable view gets the frequencies of the classes."
    blocks = [chart, note(words)]
    return make_section("classification.calibration", blocks, described=described, error=100 * error)


def _draw_bin(frame: Frame, n: int, mean: float, share: float, ends: tuple[float, float]) -> Markup:
    title = f"{format_number(n)} samples given {100 * mean:.0f}% on average: {100 * share:.0f}% came true"
    interval = (frame.y(ends[0]), frame.y(ends[1]))
    return dot(frame.x(mean), frame.y(share), title, 4, interval=interval, hollow=n < FEW_SAMPLES)


def _make_reading(data: ClassificationReport) -> Section:
    paragraphs = get_paragraphs("classification.reading", few=FEW_SAMPLES)
    if data.weights is None:
        del paragraphs["Weights"]
    return make_reading_section(paragraphs, data.facts)
