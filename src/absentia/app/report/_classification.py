"""The page about a classification: how often it is right, for whom, which views count, what to measure."""

from collections.abc import Iterator, Sequence

import numpy as np

from absentia.app.report._classes import (
    make_calibration_section,
    make_classes_section,
    make_mistakes_section,
)
from absentia.app.report._data import ClassificationStory
from absentia.app.report._format import (
    format_count,
    format_decimal,
    format_number,
    format_p,
    format_percent,
    format_points,
    shorten,
)
from absentia.app.report._page import (
    BAR,
    Cell,
    Column,
    Columns,
    Row,
    Section,
    bar_cell,
    heading,
    make_bar_table,
    make_method_table,
    make_table,
    name_cell,
    note,
    render_page,
    sentences,
)
from absentia.app.report._sections import (
    FEW_NOTE,
    FEW_SAMPLES,
    make_contribution_section,
    make_dropped_section,
    make_patterns_section,
    make_presence_section,
    make_reading_section,
)
from absentia.core import Array
from absentia.core.svg import Markup, fill
from absentia.data.statistics import mcnemar
from absentia.experiment import Gain
from absentia.tasks import balanced_accuracy

_MAX_CLASSES = 12  # of tables by class and view
_MAX_FEATURES = 10
_MAX_CANDIDATES = 10
_READING = {
    "Out of fold": "The samples were dealt into groups; each group was classified by a model that had "
    "not seen it, down to its scales, kernel widths, C and calibration. The model in the file has "
    "learned from all of them. New samples from elsewhere (another clinic, another writer) may fare "
    "worse.",
    "Two baselines": "The averaged kernel SVM gives every view the same weight and reads an absent view "
    "as zero; it is hard to beat. The most frequent class is what one predicts without looking.",
    "Weights": "A weight says how much a view's kernel counts in the sum. Views that hold the same "
    "information share it or one takes it all: a small weight does not mean that a view is uninformative "
    "on its own.",
    "Few samples": "Accuracies come with 95% intervals where there is room. Rows marked few rest on "
    f"fewer than {FEW_SAMPLES} samples and may be luck.",
}


def render_classification(story: ClassificationStory) -> str:
    """The page as HTML."""
    sections = [
        _make_accuracy_section(story),
        _make_groups_section(story),
        make_classes_section(story),
        make_mistakes_section(story),
        _make_views_section(story),
        _make_decisions_section(story),
        _make_weights_section(story),
        _make_next_section(story),
        make_calibration_section(story),
        make_presence_section(story),
        make_dropped_section(story, "a label"),
        _make_reading(story),
    ]
    return render_page("classification", story, _list_figures(story), sections)


def _list_figures(story: ClassificationStory) -> list[tuple[str, str]]:
    n = story.n_samples
    scores = {name: balanced_accuracy(story.truth, story.right(name)).value for name in story.predictions}
    best = max((name for name in scores if name != story.method), key=scores.__getitem__, default=None)
    others = [(f"{100 * scores[best]:.1f}%", f"with the better baseline, {best}")] if best else []
    n_all = format_number(max(story.n_all, n))
    n_views = format_count(story.n_views, "view")
    return [
        *story.figures,
        (f"{100 * scores[story.method]:.1f}%", f"balanced accuracy, cross-validated, with {story.method}"),
        *others,
        (format_number(max(story.n_learned, n)), f"samples learned from, of {n_all}"),
        (format_number(len(story.classes)), f"classes, seen in {n_views}"),
    ]


# ------------------------------------------------------------------------------------------------ accuracy


def _make_accuracy_section(story: ClassificationStory) -> Section:
    """Balanced accuracy of each method, and the share of all samples that is right."""
    scores = {name: balanced_accuracy(story.truth, story.right(name)) for name in story.predictions}

    def describe(name: str) -> list[str | Cell]:
        value, low, high = (100 * number for number in scores[name])
        accuracy = format_percent(int(story.right(name).sum()), story.n_samples)
        return [f"{value:.1f}%", f"{low:.1f} to {high:.1f}%", accuracy, bar_cell(value, (low, high))]

    columns = ["Balanced accuracy", "95% interval", "Accuracy"]
    values = {name: score.value for name, score in scores.items()}
    table = make_method_table("Balanced accuracy", columns, values, describe)
    lead = (
        "Every sample was classified once by a model that had not seen it; the baselines had the same "
        "folds. Balanced accuracy is the share of samples that is right, mean over classes; accuracy is "
        "that of all samples, in which large classes count most."
    )
    blocks = [table, sentences(_compare_with_baselines(story)), *_make_candidates(story)]
    return Section("accuracy", "Accuracy", "How often it is right", lead, blocks)


def _compare_with_baselines(story: ClassificationStory) -> Iterator[str]:
    """The method against each baseline, sample by sample."""
    for name in list(story.predictions)[1:]:
        wins, losses, p = mcnemar(story.right(story.method), story.right(name))
        if wins + losses == 0:
            yield f"{story.method} and the {name} were right on the same samples."
            continue
        end = f"{story.method if wins > losses else 'the ' + name} is better here"
        if p >= 0.05:
            end = "a difference that chance could make"
        yield (
            f"Only {story.method} was right on {format_count(wins, 'sample')}, only the {name} on "
            f"{format_number(losses)}: {end} ({format_p(p)}, exact McNemar test)."
        )


def _make_candidates(story: ClassificationStory) -> list[Markup]:
    """The members of an average."""
    if not story.tried:
        return []
    words = (
        f"Used: {story.used}. Log-loss: of training samples, each predicted by the member without it; the "
        "smaller, the more the member counts."
    )
    columns = ["Member", "Log-loss, left out", "Weight"]
    table = make_table("Members", columns, [Row(row) for row in story.tried])
    return [heading("What is averaged"), note(words), table]


# ------------------------------------------------------------------------------------------------ for whom


def _make_groups_section(story: ClassificationStory) -> Section:
    """Accuracy, mean probability and Brier score by the number of views and by missing pattern."""
    columns, words = [*story.predictions], f"Bars: {story.method}."
    if story.probabilities is not None:
        columns += ["Probability given", "Brier score"]
        words += (
            f" Probability given: the mean probability of the class that {story.method} predicted; where "
            "probabilities are calibrated, it is near the share that is right. Brier score: the mean "
            "squared error of its probabilities, 0 at best."
        )

    def describe(members: Array) -> tuple[list[str | Cell], bool]:
        shares = [100 * story.right(name)[members].mean() for name in story.predictions]
        cells: list[str | Cell] = [f"{share:.0f}%" for share in shares]
        if story.probabilities is not None:
            proba, predicted = story.probabilities[members], story.predicted[members]
            given = proba[np.arange(len(predicted)), predicted].mean()
            truth = np.eye(len(story.classes))[story.truth[members]]
            brier = ((proba - truth) ** 2).sum(axis=1).mean()
            cells += [f"{100 * given:.0f}%", f"{brier:.2f}"]
        return [*cells, bar_cell(shares[0])], members.sum() < FEW_SAMPLES

    return make_patterns_section(
        story,
        "Accuracy among samples that have as many views, and among those that have the same ones.",
        [*columns, BAR],
        describe,
        words,
        FEW_NOTE,
        by_count=True,
    )


def _make_views_section(story: ClassificationStory) -> Section | None:
    """How many samples are still right when a view is hidden from them; None if that was not tried."""
    without, right = story.without, story.right(story.method)
    if without is None:
        return None

    def compare(v: int, has: Array) -> tuple[list[str], float]:
        before, after = right[has], without[has, v] == story.truth[has]
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
        story,
        columns,
        compare,
        did="classified",
        effect="more samples become wrong",
        loss="loss",
        default="most frequent class",
    )


# -------------------------------------------------------------------------------------------- contributions


def _make_decisions_section(story: ClassificationStory) -> Section | None:
    """How much views add to decisions, and which features count most; None where nothing is known."""
    if story.parts is None and not story.importance:
        return None
    lead, blocks = "", list[Markup]()
    if story.parts is not None:
        blocks = _make_part_tables(story, _average_parts(story.parts, story.observed))
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


def _average_parts(parts: Array, observed: Array) -> Array:
    """Mean absolute contributions, classes x views, over the samples that have the view."""
    total = np.abs(parts * observed[:, :, None]).sum(axis=0)
    return np.asarray((total / np.maximum(observed.sum(axis=0), 1)[:, None]).T)


def _make_part_tables(story: ClassificationStory, sizes: Array) -> list[Markup]:
    rows = [
        (Row([name_cell(name), format_number(int(has.sum())), f"{size:.3f}"]), size)
        for name, size, has in zip(story.names, sizes.mean(axis=0).tolist(), story.observed.T, strict=True)
        if has.any()
    ]
    columns = ["View", "Samples with it", "Mean contribution"]
    blocks = [make_bar_table("Contributions of views", columns, rows, "patterns decisions")]
    if len(sizes) > 2:  # of two classes, one is the other's mirror
        blocks += _make_shaded_table(story, sizes, "For or against the class", "Contributions by class")
    return blocks


def _make_shaded_table(story: ClassificationStory, values: Array, head: str, label: str) -> list[Markup]:
    """Values of classes x views as shades; of many classes the most frequent ones."""
    counts = np.bincount(story.truth, minlength=len(story.classes))
    shown = np.sort(np.argsort(-counts, kind="stable")[:_MAX_CLASSES])
    largest = float(values.max()) or 1.0
    rows = []
    for c in shown:
        shades = [(value, f"--share:{70 * value / largest:.1f}%") for value in values[c].tolist()]
        cells = [Cell(f"{value:.2f}" if value > 0 else "0", style=style) for value, style in shades]
        rows.append(Row([shorten(story.classes[c], 28), *cells]))
    names = [
        Column(fill("<span>{}</span>", shorten(name, 22)), full=name, title=name) for name in story.names
    ]
    css = "shaded upright" if len(names) > 8 else "shaded"
    blocks = [make_table(label, [head, *names], rows, css)]
    if len(shown) < len(story.classes):
        blocks.append(note(f"The {len(shown)} most frequent of {len(story.classes)} classes."))
    return blocks


def _make_feature_table(story: ClassificationStory) -> list[Markup]:
    top = sorted(story.importance, key=lambda item: -item[2])[:_MAX_FEATURES]
    largest = max(value for *_, value in top) or 1.0
    rows = [
        (Row([name_cell(feature), name_cell(view, 28), f"{value / largest:.2f}"]), value)
        for view, feature, value in top
    ]
    of_parts = f"; {story.importance_of}" if story.importance_of else ""
    words = (
        f"{len(top)} of {len(story.importance)} features of the model in the file, the largest set to "
        f"1{of_parts}. Features that go together share importance: one that is not here may be as "
        "informative."
    )
    label = "Features that count most"
    columns: Columns = ["Feature", Column("View", numeric=False), "Importance"]
    table = make_bar_table(label, columns, rows, "patterns features")
    return [heading(label, "features"), table, note(words)]


def _make_weights_section(story: ClassificationStory) -> Section | None:
    """The weights of the views' kernels; None where the method has none."""
    weights = story.weights
    if weights is None:
        return None
    rows = []
    for name, weight, has in zip(story.names, weights.mean(axis=0).tolist(), story.observed.T, strict=True):
        share = format_percent(int(has.sum()), story.n_samples)
        rows.append((Row([name_cell(name), f"{weight:.3f}", share]), weight))
    table = make_bar_table("Weights", ["View", "Weight", "Samples with it"], rows, "patterns weights")
    lead, blocks = "The weight of every view's kernel in the sum that classifies.", list[Markup]()
    if len(weights) > 1:
        lead = "Each class has a machine of its own, with its own weights; the bars show their mean."
        blocks = [heading("Class by class")]
        blocks += _make_shaded_table(story, weights, "Class", "Weights by class")
    lead += " A weight of zero means the view is not read."
    return Section("weights", "Weights", "Which views count", lead, [table, *blocks])


# --------------------------------------------------------------------------------------------- measure next


def _make_next_section(story: ClassificationStory) -> Section | None:
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
    blocks = [_make_gain_table(story, story.gains), *_make_sample_gains(story, story.gains), note(words)]
    return Section(*names, lead, blocks)


def _make_gain_table(story: ClassificationStory, gains: Sequence[Gain]) -> Markup:
    """Mean gain of each absent view, the largest first."""
    rows = []
    for v, name in enumerate(story.names):
        of_view = [(gain.gain, gain.changes) for gain in gains if gain.view == v]
        if of_view:
            gain, changes = np.mean(of_view, axis=0).tolist()
            cells = [format_number(len(of_view)), _format_bits(gain), f"{100 * changes:.0f}%"]
            rows.append((Row([name_cell(name), *cells]), gain))
    rows.sort(key=lambda row: -row[1])
    columns = ["Absent view", "Samples tried", "Mean gain, bits", "Class would change"]
    return make_bar_table("Gain by absent view", columns, rows, "patterns gains")


def _make_sample_gains(story: ClassificationStory, gains: Sequence[Gain]) -> list[Markup]:
    """The samples that would gain most."""
    best = sorted(gains, key=lambda gain: (-gain.gain, gain.sample, gain.view))[:_MAX_CANDIDATES]
    rows = []
    for gain in best:
        if gain.gain > 0:
            words = (story.names[gain.view], story.classes[story.predicted[gain.sample]])
            names = [name_cell(story.get_id(gain.sample), 40), *(name_cell(word, 32) for word in words)]
            bits = [_format_bits(value) for value in (gain.entropy, gain.expected, gain.gain)]
            rows.append(Row([*names, *bits, f"{100 * gain.changes:.0f}%"]))
    if not rows:
        return []
    columns: Columns = [
        "Sample",
        *(Column(name, numeric=False) for name in ("Measure", "Predicted now")),
        *("Entropy now", "expected", "Gain", "Class would change"),
    ]
    label = "Samples that would gain most"
    return [heading(label), make_table(label, columns, rows, "mistakes candidates")]


def _format_bits(value: float) -> str:
    text = format_decimal(value, 2)
    return text.removeprefix("−") if float(text.replace("−", "")) == 0 else text


def _make_reading(story: ClassificationStory) -> Section:
    has_weights = story.weights is not None
    paragraphs = {key: words for key, words in _READING.items() if key != "Weights" or has_weights}
    return make_reading_section(paragraphs, story.facts)
