"""The page about a classification: how often it is right, for whom, which views count, how sure it is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import binomtest

from absentia.app.report._calibration import calibration, wilson
from absentia.app.report._classes import areas, by_class, confusion, roc
from absentia.app.report._contribution import contributions
from absentia.app.report._decisions import class_rows, decisions
from absentia.app.report._mistakes import mistakes
from absentia.app.report._next import measure_next
from absentia.app.report._order import patterns
from absentia.app.report._page import Number, page
from absentia.app.report._presence import TOP_PATTERNS, pattern_words, presence
from absentia.app.report._text import number, p_value, percent, plural
from absentia.core import Array
from absentia.experiment import Gain

FEW = 20  # below, an accuracy says little


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
    """One self-contained HTML page: no network, no other files, and one script, to sort tables."""
    chart = calibration(story.truth, story.probabilities, story.classes)
    said = story.predictions[story.method]
    worth = contributions(story.names, story.observed, story.truth, said, story.without)
    rests, gains = decisions(story), measure_next(story)
    sections = {
        "accuracy": "Accuracy",
        "by-pattern": "By missing pattern",
        "classes": "By class",
        "mistakes": "Mistakes",
        "contribution": "Views" if worth else "",
        "decisions": "Decisions" if rests else "",
        "weights": "" if story.weights is None else "Weights",
        "next": "Measure next" if gains else "",
        "calibration": "Probabilities" if chart else "",
        "presence": "Presence",
        "reading": "How to read this",
    }
    return page(
        "classification.html.j2",
        "classification",
        sections,
        story,
        numbers=_numbers(story),
        methods=[_method(story, name) for name in story.predictions],
        verdicts=list(_verdicts(story)),
        by_count=list(_by_count(story)),
        by_pattern=list(_by_pattern(story)),
        few=FEW,
        weights=[] if story.weights is None else _weights(story.weights, story),
        classes=[] if story.weights is None else class_rows(story.weights, story),
        calibration=chart,
        **_class_by_class(story, said),
        mistakes=mistakes(story),
        worth=worth,
        decisions=rests,
        next=gains,
        presence=presence(story),
        dropped=[(number(count), why) for why, count in story.dropped.items() if count],
    )


def _class_by_class(story: ClassificationStory, said: Array) -> dict[str, Any]:
    numbers = story.scores if story.probabilities is None else story.probabilities
    found = areas(story.truth, numbers, len(story.classes))
    return {
        "confusion": confusion(story.truth, said, story.classes),
        "found": by_class(story.truth, said, story.classes, found),
        "roc": roc(story.truth, numbers, story.classes, found),
    }


def _numbers(story: ClassificationStory) -> list[Number]:
    n = story.n_samples
    right = {name: int(story.right(name).sum()) for name in story.predictions}
    best = max((name for name in right if name != story.method), key=right.__getitem__, default=None)
    others = [Number(percent(right[best], n), f"with the better baseline, {best}")] if best else []
    return [
        Number(percent(right[story.method], n), f"right in cross-validation with {story.method}"),
        *others,
        Number(number(max(story.n_learned, n)), f"samples learned from, of {number(max(story.n_all, n))}"),
        Number(number(len(story.classes)), f"classes, seen in {plural(story.n_views, 'view')}"),
    ]


# ----------------------------------------------------------------------------------------- how often


@dataclass(frozen=True)
class Method:
    name: str
    baseline: bool
    accuracy: str
    interval: str
    balanced: str
    best: bool
    width: float  # percent
    low: float
    high: float


def _method(story: ClassificationStory, name: str) -> Method:
    right = story.right(name)
    hits, n = int(right.sum()), len(right)
    low, high = wilson(hits, n)
    balanced = np.mean([right[story.truth == c].mean() for c in np.unique(story.truth)])
    most = max(int(story.right(other).sum()) for other in story.predictions)
    return Method(
        name,
        name != story.method,
        percent(hits, n),
        f"{100 * low:.1f} to {100 * high:.1f}%",
        f"{100 * balanced:.1f}%",
        hits == most,
        round(100 * hits / n, 2),
        round(100 * low, 2),
        round(100 * high, 2),
    )


def _verdicts(story: ClassificationStory) -> Iterator[str]:
    """The method against each baseline, sample by sample (exact McNemar test)."""
    own = story.right(story.method)
    for name in story.predictions:
        if name == story.method:
            continue
        other = story.right(name)
        wins, losses = int((own & ~other).sum()), int((other & ~own).sum())
        counts = f"Only {story.method} was right on {plural(wins, 'sample')}, "
        counts += f"only the {name} on {number(losses)}"
        if wins + losses == 0:
            yield f"{story.method} and the {name} were right on the same samples."
            continue
        p = float(binomtest(wins, wins + losses).pvalue)
        if p >= 0.05:
            end = "a difference that chance could make"
        else:
            end = f"{story.method if wins > losses else 'the ' + name} is better here"
        yield f"{counts}: {end} ({p_value(p)}, exact McNemar test)."


# ----------------------------------------------------------------------------------------- for whom


@dataclass(frozen=True)
class Group:
    """Samples with the same views, or the same number of them."""

    words: str
    present: Sequence[bool]
    count: str
    accuracies: Sequence[str]
    few: bool
    width: float
    sure: str = ""  # mean probability of what was said
    brier: str = ""


def _group(story: ClassificationStory, words: str, mask: Array, members: Array) -> Group:
    n = int(members.sum())
    hits = [int(story.right(name)[members].sum()) for name in story.predictions]
    shares = [f"{100 * h / n:.0f}%" for h in hits]
    kept = () if story.probabilities is None else _kept(story, members)
    return Group(words, mask.tolist(), number(n), shares, n < FEW, round(100 * hits[0] / n, 1), *kept)


def _kept(story: ClassificationStory, members: Array) -> tuple[str, str]:
    """The mean probability given to what was said, to compare with the share right, and the Brier score."""
    assert story.probabilities is not None
    probabilities, said = story.probabilities[members], story.predictions[story.method][members]
    came = np.eye(len(story.classes))[story.truth[members]]
    given = probabilities[np.arange(len(said)), said].mean()
    return f"{100 * given:.0f}%", f"{((probabilities - came) ** 2).sum(axis=1).mean():.2f}"


def _by_count(story: ClassificationStory) -> Iterator[Group]:
    have = story.observed.sum(axis=1)
    for k in range(story.n_views, 0, -1):
        members = have == k
        if members.any():
            words = f"all {k}" if k == story.n_views else f"{k} of {story.n_views}"
            yield _group(story, words, np.zeros(0, bool), members)


def _by_pattern(story: ClassificationStory) -> Iterator[Group]:
    found = patterns(story.observed)
    top = np.argsort(-found.counts, kind="stable")[:TOP_PATTERNS]
    left = np.ones(story.n_samples, bool)
    for p in top:
        members = found.rank == p
        left &= ~members
        yield _group(story, pattern_words(found.masks[p], story.names), found.masks[p], members)
    if left.any():
        rest = plural(len(found.counts) - len(top), "other pattern")
        yield _group(story, f"{rest} together", np.zeros(0, bool), left)


# ------------------------------------------------------------------------------------------- weights


@dataclass(frozen=True)
class Weight:
    name: str
    value: str
    width: float  # percent of the largest
    share: str


def _weights(weights: Array, story: ClassificationStory) -> list[Weight]:
    mean = weights.mean(axis=0)
    most = float(mean.max()) or 1.0
    return [
        Weight(name, f"{w:.3f}", round(100 * w / most, 2), percent(int(present.sum()), story.n_samples))
        for name, w, present in zip(story.names, mean.tolist(), story.observed.T, strict=True)
    ]
