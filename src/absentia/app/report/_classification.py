"""The page about a classification: how often it is right, for whom, which views count, how sure it is."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import binomtest

from absentia.app.report._blocks import (
    BAR,
    Block,
    Cell,
    Column,
    Row,
    Table,
    bar_cell,
    heading,
    method_row,
    note,
    sentences,
)
from absentia.app.report._classes import make_calibration_section, make_classes_section
from absentia.app.report._decisions import (
    make_decisions_section,
    make_mistakes_section,
    make_next_section,
    make_weights_section,
)
from absentia.app.report._format import (
    format_count,
    format_number,
    format_p,
    format_percent,
    format_points,
    wilson_interval,
)
from absentia.app.report._page import Figure, Section, make_reading_section, render_page
from absentia.app.report._prediction import (
    FEW_SAMPLES,
    make_contribution_section,
    make_dropped_section,
    make_patterns_section,
)
from absentia.app.report._presence import make_presence_section
from absentia.core import Array
from absentia.experiment import Gain

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


@dataclass(frozen=True, eq=False)
class ClassificationStory:
    """Everything the page tells, as arrays, numbers and sentences.

    Parameters
    ----------
    title, summary : str
    names : sequence of str
        The V views.
    observed : (n, V) bool
        Who has which view, of the samples learned from.
    classes : sequence of str
    truth : (n,) int
        Positions in `classes`.
    predictions : mapping of str to (n,) int
        Out-of-fold predictions of the method, first, and of the baselines.
    weights : (machines, V), optional
        Of the views, where the method weighs them: one row for two classes, else one per class.
    probabilities : (n, classes), optional
        Out-of-fold probabilities of the method.
    n_all : int
        Samples that came, used or not.
    n_learned : int
        Samples that the model was learned from, if it was judged on some of them only.
    dropped : mapping of str to int
        How many were not learned from, and why ("without a label").
    warnings, facts
        As in :class:`CompletionStory`.
    ids : (n,), optional
        Of the samples; their positions by default.
    scores : (n, classes), optional
        Out-of-fold scores of the method, read where there are no probabilities.
    tried : sequence of rows, optional
        Candidates of a chooser: name, accuracy, its mean over classes, log-loss, weight.
    used : str
        What the chooser made of them.
    rule : str
        Which class is predicted, after "What is predicted is the class"; empty: that of the highest score.
    without : (n, V) int, optional
        What the method says out of fold, as positions in `classes`, if a view is hidden from a sample.
    parts : (n, V, classes), optional
        What each view adds to the out-of-fold decisions.
    exact : bool
        Whether `parts` are those of sums, or differences that hiding a view makes to the probabilities.
    importance : sequence of (view, feature, number)
        How much features count, where the model says so.
    importance_of : str
        Which parts of the model these are of, in words; empty: all of it.
    gains : sequence of Gain, optional
        What samples would gain from views that they lack.
    why_no_gains : str
        Said in their place.
    """

    title: str
    summary: str
    names: Sequence[str]
    observed: Array
    classes: Sequence[str]
    truth: Array
    predictions: Mapping[str, Array]
    weights: Array | None = None
    probabilities: Array | None = None
    n_all: int = 0
    n_learned: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    ids: Sequence[object] | Array | None = None
    scores: Array | None = None
    without: Array | None = None
    tried: Sequence[Sequence[str]] = ()
    used: str = ""
    rule: str = ""
    parts: Array | None = None
    exact: bool = False
    importance: Sequence[tuple[str, str, float]] = ()
    importance_of: str = ""
    gains: Sequence[Gain] | None = None
    why_no_gains: str = ""

    @property
    def n_samples(self) -> int:
        return int(self.observed.shape[0])

    @property
    def n_views(self) -> int:
        return int(self.observed.shape[1])

    @property
    def method(self) -> str:
        return next(iter(self.predictions))

    def right(self, name: str) -> Array:
        """Which samples a method got right."""
        return np.asarray(self.predictions[name] == self.truth)


def render_classification(story: ClassificationStory) -> str:
    """The page as HTML."""
    sections = [make(story) for make in SECTIONS.values()]
    return render_page("classification", story, _list_figures(story), sections)


def _list_figures(story: ClassificationStory) -> list[Figure]:
    n = story.n_samples
    hits = {name: int(story.right(name).sum()) for name in story.predictions}
    best = max((name for name in hits if name != story.method), key=hits.__getitem__, default=None)
    others = [Figure(format_percent(hits[best], n), f"with the better baseline, {best}")] if best else []
    n_all = format_number(max(story.n_all, n))
    n_views = format_count(story.n_views, "view")
    return [
        Figure(format_percent(hits[story.method], n), f"right in cross-validation with {story.method}"),
        *others,
        Figure(format_number(max(story.n_learned, n)), f"samples learned from, of {n_all}"),
        Figure(format_number(len(story.classes)), f"classes, seen in {n_views}"),
    ]


# ------------------------------------------------------------------------------------------------ accuracy


def _make_accuracy_section(story: ClassificationStory) -> Section:
    """Accuracy of each method, overall and as the mean over classes."""
    hits = {name: int(story.right(name).sum()) for name in story.predictions}
    n, most = story.n_samples, max(hits.values())
    rows = []
    for name, count in hits.items():
        low, high = (100 * end for end in wilson_interval(count, n))
        right, baseline = story.right(name), name != story.method
        balanced = np.mean([right[story.truth == c].mean() for c in np.unique(story.truth)])
        cells = [f"{low:.1f} to {high:.1f}%", f"{100 * balanced:.1f}%"]
        bar, best = bar_cell(100 * count / n, (low, high), dim=baseline), count == most
        rows.append(method_row(name, format_percent(count, n), [*cells, bar], baseline=baseline, best=best))
    columns: list[str | Column] = ["Method", "Accuracy", "95% interval", "Mean over classes", BAR]
    return Section(
        "accuracy",
        "Accuracy",
        "How often it is right",
        "Every sample was classified once by a model that had not seen it; the baselines had the same "
        "folds.",
        [
            Table("Accuracy", columns, rows, "accuracy"),
            sentences(list(_compare_with_baselines(story))),
            *_make_candidates(story),
        ],
    )


def _compare_with_baselines(story: ClassificationStory) -> Iterator[str]:
    """The method against each baseline, sample by sample (exact McNemar test)."""
    right = story.right(story.method)
    for name in story.predictions:
        if name == story.method:
            continue
        other = story.right(name)
        wins, losses = int((right & ~other).sum()), int((other & ~right).sum())
        if wins + losses == 0:
            yield f"{story.method} and the {name} were right on the same samples."
            continue
        p = float(binomtest(wins, wins + losses).pvalue)
        end = f"{story.method if wins > losses else 'the ' + name} is better here"
        if p >= 0.05:
            end = "a difference that chance could make"
        yield (
            f"Only {story.method} was right on {format_count(wins, 'sample')}, only the {name} on "
            f"{format_number(losses)}: {end} ({format_p(p)}, exact McNemar test)."
        )


def _make_candidates(story: ClassificationStory) -> list[Block]:
    """What a chooser tried."""
    if not story.tried:
        return []
    words = f"Candidates on held-out samples of the training data. Used: {story.used}."
    if any("dropped" in row[-1] for row in story.tried):
        words += " Who was dropped was measured on fewer folds: its numbers stand for those folds alone."
    numeric = ["Accuracy", "Mean over classes", "Log-loss", "Weight"]
    rows = [Row(row) for row in story.tried]
    return [heading("What was tried"), note(words), Table("Candidates", ["Candidate", *numeric], rows)]


# ------------------------------------------------------------------------------------------------ for whom


def make_groups_section(story: ClassificationStory) -> Section:
    """Accuracy, mean probability and Brier score by the number of views and by missing pattern."""

    def describe(members: Array) -> tuple[list[str | Cell], bool]:
        shares = [story.right(name)[members].mean() for name in story.predictions]
        cells: list[str | Cell] = [f"{100 * share:.0f}%" for share in shares]
        if story.probabilities is not None:
            cells += _judge_probabilities(story, story.probabilities[members], members)
        return [*cells, bar_cell(round(100 * shares[0], 1))], members.sum() < FEW_SAMPLES

    columns, words = [*story.predictions], f"Bars: {story.method}."
    if story.probabilities is not None:
        columns += ["Probability given", "Brier score"]
        words += (
            f" Probability given: the mean probability of the class that {story.method} predicted; where "
            "probabilities are calibrated, it is near the share that is right. Brier score: the mean "
            "squared error of its probabilities, 0 at best."
        )
    return make_patterns_section(
        story,
        "Accuracy among samples that have as many views, and among those that have the same ones.",
        [*columns, BAR],
        describe,
        words,
        f"Rows marked few have fewer than {FEW_SAMPLES} samples; one sample more or less moves them by "
        f"{100 // FEW_SAMPLES} points and more, so read no ranking into them.",
        by_count=True,
    )


def _judge_probabilities(story: ClassificationStory, proba: Array, members: Array) -> list[str]:
    """The mean probability given to the predicted class, and the Brier score."""
    predicted = story.predictions[story.method][members]
    truth = np.eye(len(story.classes))[story.truth[members]]
    given = proba[np.arange(len(predicted)), predicted].mean()
    return [f"{100 * given:.0f}%", f"{((proba - truth) ** 2).sum(axis=1).mean():.2f}"]


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

    columns: list[str | Column] = [
        "Right with it",
        Column("without it", full="Right without it"),
        "Change, points",
        "Right only with it",
        Column("only without it", full="Right only without it"),
    ]
    return make_contribution_section(
        story,
        "Each view in turn was hidden from the samples that have it, and the models of the folds, not "
        "fitted again, classified them from the views left. The more samples become wrong, the more "
        f"{story.method} leans on the view.",
        columns,
        compare,
        "Bars: the loss, where there is one. A sample whose only view is hidden gets the most frequent "
        "class. Views that hold the same information stand in for one another: each alone may seem to "
        "contribute little.",
    )


def _make_reading(story: ClassificationStory) -> Section:
    has_weights = story.weights is not None
    paragraphs = {key: words for key, words in _READING.items() if key != "Weights" or has_weights}
    return make_reading_section(paragraphs, story.facts)


#: The sections of the page, in its order, each a function of the report's data.
SECTIONS: dict[str, Callable[[ClassificationStory], Section | None]] = {
    "scores": _make_accuracy_section,
    "patterns": make_groups_section,
    "classes": make_classes_section,
    "mistakes": make_mistakes_section,
    "contributions": _make_views_section,
    "decisions": make_decisions_section,
    "weights": make_weights_section,
    "next": make_next_section,
    "calibration": make_calibration_section,
    "presence": make_presence_section,
    "dropped": lambda story: make_dropped_section(
        story, "Nobody: every sample that came has a label and at least one view."
    ),
    "reading": _make_reading,
}
