"""How good the completion is: errors on cells hidden on purpose, and how sure completed rows are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from absentia.app.report._story import CompletionStory
from absentia.app.report._text import number, p_value, plural, spread
from absentia.core import Array
from absentia.experiment import Quality

FEW = 10  # hidden cells, or completed rows, below which a number says little
MEAN, ZERO = "mean", "zero"


@dataclass(frozen=True)
class Method:
    name: str
    chosen: bool
    baseline: bool
    are: str
    ca: str
    seconds: str
    best: bool
    width: float  # percent of the largest, zero fill apart


@dataclass(frozen=True)
class ViewRow:
    name: str
    hidden: str
    cells: Sequence[tuple[str, bool]]  # ARE of each method, and whether it is the least
    few: bool


@dataclass(frozen=True)
class Sureness:
    """Completed rows, or hidden ones, that have something in common."""

    words: str
    count: str
    middle: str
    range: str
    other: str
    few: bool


@dataclass(frozen=True)
class QualitySection:
    chosen: str
    n_hidden: int
    methods: Sequence[Method]
    verdicts: Sequence[str]
    views: Sequence[ViewRow]
    measured: Sequence[Sureness]
    modelled: Sequence[Sureness]
    left_out: Sequence[tuple[str, str]]
    few: int
    drawn: str


def quality_section(story: CompletionStory) -> QualitySection | None:
    """What was measured on hidden cells, if it was; the story's first method is the chosen one."""
    found, chosen = story.quality, next(iter(story.after), "")
    if found is None:
        return None
    return QualitySection(
        chosen,
        len(found.cells),
        _methods(found, chosen),
        list(_verdicts(found, chosen)),
        list(_views(found)),
        list(_measured(found, chosen)),
        [] if story.unexplained is None else list(_modelled(story, story.unexplained)),
        list(_left_out(found.left_out)),
        FEW,
        found.sentence,
    )


# --------------------------------------------------------------------------------------- method by method


def _methods(found: Quality, chosen: str) -> list[Method]:
    """The best first, by ARE."""
    errors = {name: found.overall(name) for name in found.errors}
    order = sorted(errors, key=lambda name: errors[name][0])
    most = max((are for name, (are, _) in errors.items() if name != ZERO), default=1.0) or 1.0
    return [
        Method(
            name,
            name == chosen,
            name in (MEAN, ZERO),
            number(errors[name][0]),
            number(errors[name][1]),
            f"{found.seconds[name]:.1f}",
            name == order[0] and len(order) > 1,
            round(min(100 * errors[name][0] / most, 100.0), 2),
        )
        for name in order
    ]


def _verdicts(found: Quality, chosen: str) -> Iterator[str]:
    """Is the method better than mean fill here, and is another better still."""
    if chosen not in found.errors:
        if chosen in found.left_out:
            yield f"{chosen} {found.left_out[chosen]}, so nothing can be said of how good it is here."
        return
    if chosen != MEAN and MEAN in found.errors:
        yield _against_mean(found, chosen)
    best = min(found.errors, key=lambda name: found.overall(name)[0])
    least, own = (number(found.overall(name)[0]) for name in (best, chosen))
    if least != own:
        yield (
            f"The least error on these cells has {best}, {least} where {chosen} has {own}; small "
            "differences on few cells are luck."
        )


def _against_mean(found: Quality, chosen: str) -> str:
    own, other = found.errors[chosen], found.errors[MEAN]
    wins, losses = int((own < other).sum()), int((own > other).sum())
    p = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    are, mean = found.overall(chosen)[0], found.overall(MEAN)[0]
    if p >= 0.05:
        verdict = f"{chosen} is not shown to be better than mean fill here"
    elif are < mean and wins > losses:
        verdict = f"{chosen} is better than mean fill here"
    elif are > mean and wins < losses:
        verdict = f"{chosen} is worse than mean fill here: use mean fill, or another method"
    else:
        often = "more often" if wins > losses else "less often"
        verdict = f"{chosen} is nearer than mean fill {often}, but its mean error says otherwise"
    return (
        f"{verdict}: its error is {number(are)}, that of mean fill {number(mean)}; it is nearer to the "
        f"truth on {plural(wins, 'hidden cell')}, mean fill on {number(losses)} ({p_value(p)}, sign test)."
    )


def _left_out(reasons: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Methods without a number, those with the same reason together."""
    for reason in dict.fromkeys(reasons.values()):
        yield ", ".join(name for name, why in reasons.items() if why == reason), reason


# ------------------------------------------------------------------------------------------- view by view


def _views(found: Quality) -> Iterator[ViewRow]:
    """Columns in the order of :func:`_methods`."""
    order = sorted(found.errors, key=lambda name: found.overall(name)[0])
    by_view = np.array([found.are(name) for name in order]).reshape(len(order), len(found.names))
    hidden = np.bincount(found.cells[:, 1], minlength=len(found.names))
    for v, name in enumerate(found.names):
        column = by_view[:, v]
        least = np.nanmin(column) if np.isfinite(column).any() else np.nan
        marks = [bool(x == least) and len(order) > 1 for x in column]
        cells = list(zip([number(float(x)) for x in column], marks, strict=True))
        yield ViewRow(name, number(int(hidden[v])), cells, bool(hidden[v] < FEW))


# ------------------------------------------------------------------------------------------- how sure


def _measured(found: Quality, chosen: str) -> Iterator[Sureness]:
    """Errors on hidden cells by how many views the sample was left with."""
    if chosen not in found.errors:
        return
    errors, mean = found.errors[chosen], found.errors.get(MEAN)
    for k in sorted(set(found.left.tolist()), reverse=True):
        here = (found.left == k) & ~np.isnan(errors)
        if here.any():
            beside = "–" if mean is None or chosen == MEAN else number(float(np.median(mean[here])))
            yield _sureness(plural(k, "other view"), errors[here], beside)


def _modelled(story: CompletionStory, unexplained: Array) -> Iterator[Sureness]:
    """What the model does not explain of the completed rows of each view."""
    for v, name in enumerate(story.names):
        values = unexplained[:, v][~np.isnan(unexplained[:, v])]
        if len(values):
            yield _sureness(name, values, "")


def _sureness(words: str, values: Array, other: str) -> Sureness:
    return Sureness(words, number(len(values)), *spread(values), other, len(values) < FEW)
