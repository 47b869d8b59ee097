"""Why views are absent: whether it can be told who lacks a view, and what who has which view alone tells.

Views that are absent at random can be neither told from anything nor tell anything.  Here who lacks a view
is predicted from the features of the other views, from which of them a sample has, from covariates and from
the label, and the label from the pattern of present views alone.  Values of other views that are missing
tell more than the values at times: who was measured in part is a row of its own.

All predictions are linear, by least squares with a penalty that generalised cross-validation selects within
the training samples, and of samples held out in ten folds.  What is absent counts as the mean, and samples
without any of the views that are predicted from are left out: that they have none of them says something,
but not by these views' features.

The p-value is of a permutation test of the whole procedure, the selection of the penalty too: who lacks the
view (or the label) is permuted within the folds, which have the same share of both in every draw, and all
is learned anew.  Predictions are linear in what is predicted, so that all draws cost little more than one.
(Mann and Whitney's test of held-out predictions would take them for independent, which samples that trained
one another's models are not.)  Where no draw comes up to what was found, the p-value is the tail of a
normal as wide as the draws, or as chance would make it, if that is smaller.  Holm's correction is over all
rows and the pattern.

Intervals (95 %) of areas under the ROC curve are Newcombe's (method 5: the score interval of Hanley and
McNeil's variance; Statistics in Medicine 25, 2006, 559-573), which hold at 1 too; those of what the pattern
tells are of a bootstrap over held-out predictions.  Both take the models as given.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse
from scipy.optimize import brentq
from scipy.stats import norm, rankdata

from absentia.core import Array, RandomState, make_generator
from absentia.data import (
    MAX_DEVIATION,
    Coding,
    KernelViews,
    Views,
    column_scales,
    input_error,
    make_folds,
    order_for_learning,
)
from absentia.data.statistics import holm
from absentia.data.survival import Survival, as_survival, concordance_index
from absentia.methods.learning import Axes, subset

if TYPE_CHECKING:
    import pandas

LEVEL = 0.05  # of corrected p-values that are worth a sentence
_N_FOLDS, _N_DRAWS, _N_BOOTSTRAPS = 10, 199, 200
_CLEAR = 0.7  # area under the ROC curve from which on something can be told
_MIN_GROUP = 5  # samples that lack a view and that have it, or of a class
_MAX_SAMPLES, _MAX_FEATURES = 500, 5000  # more of them are thinned out
_MAX_SINGLE = 4  # views up to which absence is predicted from each other view by itself too
_MAX_CLASSES = 20  # more different whole numbers than these are numbers
#: Times the number of samples, rows having a mean squared length of one.  Infinite: nothing can be told,
#: everybody gets the same score.  Without it scores that are next to nothing would be ranked all the same,
#: and below chance: who is held out is missing on its own side of the training mean.
_PENALTIES = np.array([np.inf, 10.0, 1.0, 0.1, 0.01, 0.001, 0.0001])
_COLUMNS = ("view", "from", "AUC", "low", "high", "p", "p corrected", "n absent", "why not")


class _Score(NamedTuple):
    """What predictions of samples held out reach, its 95 % interval, and how likely it is by chance."""

    value: float
    low: float
    high: float
    p: float


class PatternScore(NamedTuple):
    """How well the pattern of present views alone predicts the label `name`, beside what chance reaches."""

    name: str
    measure: str
    value: float
    chance: float
    low: float
    high: float
    p: float
    p_corrected: float

    @property
    def words(self) -> str:
        """The score, chance beside it, the interval and the p-value in one line."""
        value, chance, low, high = map(self._format, (self.value, self.chance, self.low, self.high))
        interval = f"95 % {low} to {high}, " if self.low == self.low else ""
        p = "<0.001" if self.p_corrected < 0.001 else f"{self.p_corrected:.3f}"
        return f"{self.measure} of {self.name} {value} ({interval}chance {chance}, p, corrected, {p})"

    def _format(self, value: float) -> str:
        return f"{100 * value:.1f} %" if self.measure == "balanced accuracy" else f"{value:.2f}"


@dataclass(frozen=True, eq=False)
class Absence:
    """What is known about why views are absent.

    Attributes
    ----------
    table : DataFrame
        A row for each view that some samples lack and each thing that this is predicted from: ``view``,
        ``from``, ``AUC``, ``low`` and ``high`` (95 %), ``p``, ``p corrected``, ``n absent`` (of the samples
        of the row), and ``why not``, the reason where it cannot be told and the numbers are NaN.
    pattern : PatternScore or None
        How well the label is predicted from who has which view alone, without an interval where nothing is
        predicted; None without a label, or if `notes` say why not.
    notes : tuple of str
        What was left out to save time, and what cannot be told of the label.
    """

    table: "pandas.DataFrame"
    pattern: PatternScore | None = None
    notes: tuple[str, ...] = ()

    @property
    def notable(self) -> "pandas.DataFrame":
        """The rows of `table` whose corrected p-value is below 0.05."""
        return self.table[self.table["p corrected"] < LEVEL]

    @property
    def row_sentences(self) -> list[str]:
        """What the notable rows mean, in words."""
        return [_describe_row(row) for row in self.notable.to_dict("records")]

    @property
    def pattern_sentence(self) -> str:
        """A warning if the pattern alone predicts the label; else nothing."""
        notable = self.pattern is not None and self.pattern.p_corrected < LEVEL
        return _describe_pattern(self.pattern) if notable and self.pattern else ""

    @property
    def sentences(self) -> list[str]:
        """What the notable rows and the pattern mean, in words."""
        return self.row_sentences + ([self.pattern_sentence] if self.pattern_sentence else [])

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain lists and dicts, for JSON: None where there is no number."""
        rows = [_replace_nan(row) for row in self.table.to_dict("records")]
        pattern = _replace_nan(self.pattern._asdict()) if self.pattern else None
        return {"rows": rows, "pattern": pattern, "notes": [*self.notes], "sentences": self.sentences}


def _replace_nan(row: Mapping[Any, Any]) -> dict[Any, Any]:
    return {name: None if cell != cell else cell for name, cell in row.items()}


def absence(
    views: Views | KernelViews, y: Any = None, covariates: Any = None, random_state: RandomState = None
) -> Absence:
    """Whether it can be told who lacks which view, and what who has which view tells of the label.

    Parameters
    ----------
    views : Views or KernelViews
        Samples; more than 500, and more than 5000 features of a view, are thinned out evenly, by id and
        by position.
    y : array of shape (n_samples,), Series, mapping by id, or times and events, optional
        The label: classes (texts, truth values, at most 20 different whole numbers), numbers, or survival
        as a ``Survival``, a structured array or a frame with the columns time and event.  NaN or None:
        unknown.  A table of several labels only tells who lacks a view.
    covariates : DataFrame, or mapping of str to Series or mapping by id, optional
        Columns by the samples' ids, numbers or categories: age, site, batch ...
    random_state : int, Generator or None
        Of folds and permutations; None is 0.

    Returns
    -------
    Absence
        ``table``, ``pattern``, ``notes``, and ``sentences`` about what is notable.

    Examples
    --------
    >>> from absentia import datasets, inspection, missingness
    >>> views, y = datasets.load_digit_views(n_samples=100, return_X_y=True)
    >>> keep = missingness.mar(views, 0.3, y < 5, strength=3.0, random_state=0)
    >>> why = inspection.absence(views.hide(keep), y < 5)
    >>> bool((why.table["from"] == "the label").any()), why.pattern.measure
    (True, 'balanced accuracy')
    """
    if not isinstance(views, Views | KernelViews):
        raise input_error("views", views, "absence")
    target = _Target.read(views, y)
    label = "the label" if getattr(y, "ndim", 1) > 1 else str(getattr(y, "name", None) or "the label")
    label = "survival" if target is not None and target.times is not None else label
    columns = {name: _encode(views.align(values)) for name, values in _name_covariates(covariates)}
    chosen, notes = _thin_out(views)
    data = _Samples.of(subset(views, chosen, chosen), int(make_generator(random_state).integers(2**31)))
    side = {name: column[chosen] for name, column in columns.items()}
    if target is not None:
        target = target.take(chosen)
        side[label] = target.table
    rows = [
        (name, *row)
        for v, name in enumerate(data.names)
        if not data.observed[:, v].all()
        for row in _predict_absence(data, v, side)
    ]
    pattern, why_not = (None, "") if target is None else _predict_label(data, target, label)
    notes += [f"what the pattern alone tells of {label} cannot be told: {why_not}"] if why_not else []
    return _correct(rows, pattern, notes)


def _correct(rows: Sequence[Any], pattern: PatternScore | None, notes: Sequence[str]) -> Absence:
    """The table and the pattern with corrected p-values."""
    import pandas as pd

    unknown = _Score(*[np.nan] * 4)
    scores = [score or unknown for _, _, score, _, _ in rows]
    corrected = holm([*(score.p for score in scores), np.nan if pattern is None else pattern.p])
    cells = [
        (view, source, *score, p, n_absent, why_not)
        for (view, source, _, n_absent, why_not), score, p in zip(rows, scores, corrected[:-1], strict=True)
    ]
    pattern = pattern and pattern._replace(p_corrected=float(corrected[-1]))
    return Absence(pd.DataFrame(cells, columns=list(_COLUMNS)), pattern, tuple(notes))


# ------------------------------------------------------------------------------------------------ inputs


def _name_covariates(covariates: Any) -> Iterator[tuple[str, Any]]:
    """Covariates by name."""
    if covariates is None:
        return
    if not isinstance(covariates, Mapping) and not hasattr(covariates, "columns"):
        raise TypeError(
            f"covariates are a data frame by id, or a dict of columns by name, not "
            f"{type(covariates).__name__}"
        )
    for name in covariates:
        yield str(name), covariates[name]


def _is_number(values: Array) -> bool:
    """Whether values are numbers, and not classes."""
    if values.dtype.kind not in "iuf":
        return False
    known = values[~np.isnan(values.astype(float))]
    return bool((known != np.round(known)).any() or len(np.unique(known)) > _MAX_CLASSES)


def _is_known(values: Array) -> Array:
    """Which values are neither None nor NaN."""
    return np.array([value is not None and value == value for value in values.tolist()], dtype=bool)


def _known_rows(table: Array) -> Array:
    """Which rows of a table have no NaN."""
    return np.asarray(~np.isnan(table).any(axis=1))


def _encode(values: Array) -> Array:
    """Numbers standardised, classes as a column for each, (n, columns); rows of NaN: unknown."""
    if values.ndim > 1 or _is_number(values):
        table = values.astype(float).reshape(len(values), -1)
        return np.where(np.isnan(table).all(axis=1, keepdims=True), np.nan, _standardize(table))
    known = _is_known(values)
    classes, codes = np.unique(values[known].astype(str), return_inverse=True)
    table = np.full((len(values), len(classes)), np.nan)
    table[known] = np.eye(len(classes))[codes]
    return table


@dataclass(frozen=True, eq=False)
class _Target:
    """The label: what absence is predicted from, and what is predicted from the pattern."""

    measure: str  # empty of several labels
    table: Array  # (n, columns), rows of NaN where it is unknown
    aims: Array  # (n, targets), what least squares predict
    strata: Array  # (n,), of which folds have their share
    times: Survival | None = None

    @classmethod
    def read(cls, views: Any, y: Any) -> "_Target | None":
        """The label of samples in whatever form it came, checked."""
        if y is None:
            return None
        y = views.align(y) if isinstance(y, Mapping) else y
        names = getattr(y, "columns", getattr(getattr(y, "dtype", None), "names", None))
        if isinstance(y, Survival) or (names is not None and {"time", "event"} <= set(map(str, names))):
            times = as_survival(y, views)
            residuals = _martingale_residuals(times)[:, None]
            table = _encode(np.column_stack(times).astype(float))
            return cls("concordance", table, residuals, times.event, times)
        views.check_order(y)
        values = np.asarray(y)
        if len(values) != len(views):
            raise ValueError(f"y has {len(values)} values for {len(views)} samples; one for each is wanted")
        table = _encode(values)
        if values.ndim > 1:
            return cls("", table, table, np.zeros(len(table)))
        if not _is_number(values):
            return cls("balanced accuracy", table, table, table @ np.arange(table.shape[1]))
        fifths = np.searchsorted(np.nanquantile(table, [0.2, 0.4, 0.6, 0.8]), table[:, 0])
        return cls("R2", table, values.astype(float)[:, None], fifths)

    def take(self, rows: Array) -> "_Target":
        times = None if self.times is None else Survival(*(column[rows] for column in self.times))
        return _Target(self.measure, self.table[rows], self.aims[rows], self.strata[rows], times)

    def select(self) -> tuple[Array, str]:
        """Positions of the samples whose label can be predicted, and why there are none."""
        known = _known_rows(self.table)
        if self.measure == "balanced accuracy":
            large = self.table[known].sum(axis=0) >= _MIN_GROUP
            known[known] = self.table[known][:, large].any(axis=1)
            why_not = "" if large.sum() > 1 else f"fewer than two classes have {_MIN_GROUP} samples"
        elif self.times is not None:
            n_events = int(self.times.event.sum())
            why_not = "" if n_events >= 2 * _MIN_GROUP else f"there are {n_events} events"
        else:
            why_not = "" if self.measure else "there are several labels; give one"
        if not why_not and known.sum() < 2 * _N_FOLDS:
            why_not = f"{known.sum()} samples have it, {2 * _N_FOLDS} are wanted"
        if not why_not and not np.ptp(self.aims[known], axis=0).any():
            why_not = "it is the same for all"
        return known, why_not

    @property
    def chance(self) -> float:
        """What a prediction reaches that knows nothing."""
        if self.measure == "balanced accuracy":
            return 1 / self.aims.shape[1]
        return 0.5 if self.measure == "concordance" else 0.0

    def score(self, scores: Array, index: Array) -> float:
        """How well `scores` (n, targets) predict the labels of the samples at positions `index` (n,)."""
        aims = self.aims[index]
        if self.measure == "R2":
            return float(1 - ((aims - scores) ** 2).sum() / ((aims - aims.mean()) ** 2).sum())
        if self.times is not None:
            return concordance_index(self.times.time[index], self.times.event[index], scores[:, 0])
        best = scores == scores.max(axis=1, keepdims=True)
        right = (best * (aims > 0)).sum(axis=1) / best.sum(axis=1)  # classes that tie have their share each
        return float(np.mean([right[members].mean() for members in (aims > 0).T if members.any()]))


def _martingale_residuals(y: Survival) -> Array:
    """Events less those expected of all samples alike by then (Nelson and Aalen), (n,)."""
    at = np.unique(y.time[y.event])
    hazard = np.array([(y.event & (y.time == t)).sum() / (y.time >= t).sum() for t in at])
    return np.asarray(y.event - (hazard * (at <= y.time[:, None])).sum(axis=1))


def _thin_out(views: Any) -> tuple[Array, list[str]]:
    """Positions of the samples that are looked at, evenly spaced by id, and what is left out."""
    n, notes = len(views), list[str]()
    if views.groups is not None:
        notes.append("samples of a group count one by one: where they lack views together, p is too small")
    if isinstance(views, Views):
        widths = {name: views.block(name).shape[1] for name in views.names}
        notes += [
            f"{_MAX_FEATURES} of {width} features of {name} are looked at, evenly spaced"
            for name, width in widths.items()
            if width > _MAX_FEATURES
        ]
    if n <= _MAX_SAMPLES:
        return np.arange(n), notes
    order = np.argsort(views.ids.astype(str), kind="stable")
    return np.sort(order[np.linspace(0, n - 1, _MAX_SAMPLES).astype(int)]), [
        f"{_MAX_SAMPLES} of {n} samples are looked at",
        *notes,
    ]


@dataclass(frozen=True, eq=False)
class _Samples:
    """What is known of n samples.

    `observed` (n, V) says who has which view.  By view there are `coordinates` (n, axes), zero, the mean,
    of who lacks it, and `gaps` (n, features with missing values), 1 where the value is missing.  `order`
    holds positions in canonical order.
    """

    names: tuple[str, ...]
    observed: Array
    coordinates: tuple[Array, ...]
    gaps: tuple[Array, ...]
    order: Array
    seed: int

    @classmethod
    def of(cls, views: Any, seed: int) -> "_Samples":
        coded = Coding.learn(views)(views) if isinstance(views, Views) else views
        coordinates, gaps = list[Array](), list[Array]()
        for name, present in zip(views.names, views.observed.T, strict=True):
            rows, missing = _make_coordinates(coded, name) if present.any() else np.zeros((2, 0, 0))
            for table, values in ((coordinates, rows), (gaps, missing)):
                table.append(np.zeros((len(views), values.shape[1])))
                table[-1][present] = values
        order = order_for_learning(views)[1]
        return cls(views.names, views.observed, tuple(coordinates), tuple(gaps), order, seed)


def _make_coordinates(views: Any, name: str) -> tuple[Array, Array]:
    """Samples that have a view along its principal axes, and their missing values.

    Axes are of standardised features, or of the kernel.
    """
    block = views.block(name)
    if isinstance(views, KernelViews):
        return Axes.of_kernel(np.asarray(block)).Z, np.zeros((len(block), 0))
    columns = np.linspace(0, block.shape[1] - 1, min(block.shape[1], _MAX_FEATURES)).astype(int)
    table = block[:, columns]
    table = table.toarray() if scipy.sparse.issparse(table) else table
    axes, missing = Axes.of_table(_standardize(table)), np.isnan(table)
    return axes.Z * axes.size**0.5, missing[:, missing.any(axis=0)].astype(float)


def _standardize(table: Array) -> Array:
    mean, scale = column_scales(table)
    return np.clip(np.where(np.isnan(table), 0.0, (table - mean) / scale), -MAX_DEVIATION, MAX_DEVIATION)


# ------------------------------------------------------------------------------------ who lacks a view


def _predict_absence(data: _Samples, v: int, side: Mapping[str, Array]) -> Iterator[tuple[Any, ...]]:
    """From what the absence of a view is predicted, how well, how many lack it, and why it is not told."""
    absent = ~data.observed[:, v]
    for source, table, known in _list_sources(data, v, side):
        n_absent, n_present = int(absent[known].sum()), int((~absent)[known].sum())
        if n_absent < _MIN_GROUP or n_present < _MIN_GROUP:
            few, verb = (n_absent, "lack") if n_absent < _MIN_GROUP else (n_present, "have")
            yield (
                source,
                None,
                n_absent,
                f"{few} of {known.sum()} samples {verb} it, {_MIN_GROUP} are wanted",
            )
        elif not (table[known] != table[known][:1]).any():
            yield source, None, n_absent, f"{known.sum()} samples do not differ in it"
        else:
            yield source, _measure_area(data, table, known, absent), n_absent, ""


def _list_sources(data: _Samples, v: int, side: Mapping[str, Array]) -> Iterator[tuple[str, Array, Array]]:
    """Names of what absence is predicted from, tables (n, columns), and the samples that have any of it."""
    others = [w for w in range(len(data.names)) if w != v and data.observed[:, w].any()]
    groups = {data.names[w]: [w] for w in others if len(others) == 1 or len(data.names) <= _MAX_SINGLE}
    if len(others) > 1:
        groups["the other views"] = others
    for name, views in groups.items():
        known = np.asarray(data.observed[:, views].any(axis=1))
        yield name, np.hstack([data.coordinates[w] for w in views]), known
        gaps = np.hstack([data.gaps[w] for w in views])
        if gaps.any() and (len(views) == 1 or len(groups) == 1):
            yield f"missing values of {name}", gaps, known
    if len(others) > 1:
        yield "who has the other views", data.observed[:, others].astype(float), known
    for name, table in side.items():
        yield name, table, _known_rows(table)


def _measure_area(data: _Samples, table: Array, known: Array, absent: Array) -> _Score:
    """The area under the ROC curve of predictions of who lacks a view, among the samples `known`."""
    rows, folds, index = _draw(data, known, absent)
    drawn = absent[rows][index]  # samples x draws, the first as it is
    scores = _predict_held_out(table[rows], drawn[:, :, None].astype(float), folds)[:, :, 0]
    m = int(absent[rows].sum())
    n = len(rows) - m
    areas = ((rankdata(scores, axis=0) * drawn).sum(axis=0) - m * (m + 1) / 2) / (m * n)
    p = _find_p(areas, 0.5, ((m + n + 1) / (12 * m * n)) ** 0.5)  # Mann and Whitney's error
    return _Score(float(areas[0]), *_find_area_interval(float(areas[0]), m, n), p)


def _find_area_interval(area: float, m: int, n: int) -> tuple[float, float]:
    """Newcombe's 95 % interval of an area under the ROC curve of `m` samples against `n`."""
    z, half, edge = float(norm.ppf(0.975)), (m + n) / 2 - 1, 1e-9

    def excess(theta: float) -> float:
        spread = 1 + half * (1 - theta) / (2 - theta) + half * theta / (1 + theta)
        return (area - theta) ** 2 - z**2 * theta * (1 - theta) * spread / (m * n)

    low = brentq(excess, 0.0, min(area, 1 - edge)) if area > 0 else 0.0
    return low, brentq(excess, max(area, edge), 1.0) if area < 1 else 1.0


# ------------------------------------------------------------------------------- what the pattern tells


def _predict_label(data: _Samples, target: _Target, label: str) -> tuple[PatternScore | None, str]:
    """How well who has which view predicts the label, or why that cannot be told."""
    known, why_not = target.select()
    if why_not:
        return None, why_not
    if (data.observed[known] == data.observed[known][:1]).all():
        return None, "all samples have the same views"
    rows, folds, index = _draw(data, known, target.strata)
    own = target.take(rows)
    own = replace(own, aims=own.aims[:, own.aims.any(axis=0)])  # without classes that are too small
    aims = own.aims - own.aims.mean(axis=0)
    if own.measure == "balanced accuracy":  # the class that is most frequent by its own measure
        aims = aims / own.aims.mean(axis=0)
    else:
        own = replace(own, aims=aims)
    scores = _predict_held_out(_encode_patterns(data.observed[rows]), aims[index], folds)
    values = np.array([own.score(scores[:, k], index[:, k]) for k in range(index.shape[1])])
    rng = np.random.default_rng(data.seed)
    strata = [np.flatnonzero(own.strata == stratum) for stratum in np.unique(own.strata)]
    strata.sort(key=lambda members: int(members[0]))  # what classes are called decides nothing
    resampled = []
    for _ in range(_N_BOOTSTRAPS):
        some = np.concatenate([rng.choice(members, len(members)) for members in strata])
        resampled.append(own.score(scores[some, 0], some))
    low, high = np.quantile(resampled, [0.025, 0.975]).tolist() if scores[:, 0].any() else (np.nan, np.nan)
    p = _find_p(values, own.chance, float(np.std(resampled)))
    return PatternScore(label, own.measure, float(values[0]), own.chance, low, high, p, np.nan), ""


def _encode_patterns(observed: Array) -> Array:
    """A column for each view, and one for each pattern that some samples have, (n, columns)."""
    patterns, member, counts = np.unique(observed, axis=0, return_inverse=True, return_counts=True)
    return np.hstack([observed, np.eye(len(patterns))[member.ravel()][:, counts >= _MIN_GROUP]])


# ----------------------------------------------------------------------------- folds, draws, predictions


def _draw(data: _Samples, known: Array, strata: Array) -> tuple[Array, list[tuple[Array, Array]], Array]:
    """Positions of the `known` samples in canonical order (n,), folds of these, and draws (n, 1 + draws).

    A draw says whose absence or label a sample has: the first its own, the others that of a sample of the
    same fold.
    """
    rows = data.order[known[data.order]]
    folds = make_folds(np.arange(len(rows)), strata[rows], _N_FOLDS, data.seed)
    index = np.repeat(np.arange(len(rows))[:, None], 1 + _N_DRAWS, axis=1)
    rng = np.random.default_rng(data.seed)
    for _, test in folds:
        index[test, 1:] = rng.permuted(index[test, 1:], axis=0)
    return rows, folds, index


def _predict_held_out(table: Array, aims: Array, folds: Sequence[tuple[Array, Array]]) -> Array:
    """Predictions of `aims` (n, draws, targets) from a table (n, columns), of samples that are held out.

    They are deviations from the mean of the training samples, which moves against those held out.
    """
    scores = np.zeros(aims.shape)
    for train, test in folds:
        axes = Axes.of_table(table[train])
        d = (axes.Z**2).sum(axis=0)  # the axes are orthogonal
        part = aims[train] - aims[train].mean(axis=0)
        moments = np.tensordot(axes.Z.T, part, 1)  # axes x draws x targets
        penalties = len(train) * _PENALTIES
        shrink = d / (d + penalties[:, None])  # penalties x axes
        left = (part**2).sum(axis=(0, 2)) - (shrink * (2 - shrink) / d) @ (moments**2).sum(axis=2)
        loss = left / (len(train) - 1 - shrink.sum(axis=1, keepdims=True)) ** 2
        best = penalties[loss.argmin(axis=0)]  # of each draw
        coef = moments / (d[:, None] + best)[:, :, None]
        scores[test] = np.tensordot((table[test] - axes.center) @ axes.back, coef, 1)
    size = np.abs(scores).max(axis=(0, 2), keepdims=True)
    return np.asarray(np.round(scores / np.where(size > 0, size, 1.0), 9) * size)  # equal samples tie


def _find_p(values: Array, chance: float, error: float) -> float:
    """How likely a value as large as the first is by chance, the others being drawn by chance.

    Beyond all draws it is the tail of a normal around `chance` that is as wide as the draws are, or as the
    standard `error` of the value: draws in which nothing can be told are all alike.
    """
    found, draws = values[0], values[1:]
    n_beyond = int((draws >= found - 1e-12).sum())
    p = (1 + n_beyond) / (1 + len(draws))
    width = max(float(draws.std()), error)
    if n_beyond or width == 0:
        return p
    return min(p, float(norm.sf((found - max(float(draws.mean()), chance)) / width)))


# ---------------------------------------------------------------------------------------------- in words


def _describe_row(row: Mapping[Any, Any]) -> str:
    """What it means that the absence of a view can be told."""
    how_far = "can be told" if row["AUC"] >= _CLEAR else "can be told in part"
    interval = f"95 % {row['low']:.2f} to {row['high']:.2f}"
    return (
        f"{row['view']}: who lacks it {how_far} from {row['from']} (AUC {row['AUC']:.2f}, {interval}): not "
        "absent at random"
    )


def _describe_pattern(pattern: PatternScore) -> str:
    """What it means that the label can be told from the pattern."""
    value, chance = pattern._format(pattern.value), pattern._format(pattern.chance)
    return (
        f"who has which view alone predicts {pattern.name} with {pattern.measure} {value} (chance "
        f"{chance}): a model may live off the pattern, and will not hold where samples are measured for "
        "other reasons"
    )
